"""Regular expressions of repositories, matched in time linear in the text: no pattern can hold up the bot.

They run on CEL's `matches`, whose syntax is that of RE2: no look-around and no back-references.
"""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def _program() -> Any:
    # late: it takes a quarter of a second
    from cel import compile as compile_cel

    return compile_cel("text.matches(pattern)")


def search(pattern: str, text: str) -> bool:
    """Whether the pattern matches anywhere in the text. Raises ValueError for what is no pattern."""
    try:
        return bool(_program().execute({"text": text, "pattern": pattern}))
    except (RuntimeError, TypeError) as error:
        raise ValueError(_reason(str(error))) from error


def pattern_fault(pattern: str) -> str:
    """Why a text is no pattern; empty if it is one."""
    try:
        search(pattern, "")
    except ValueError as error:
        return _reason(str(error))
    return ""


def _reason(message: str) -> str:
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return lines[-1].removeprefix("error: ") if lines else "it cannot be read"
