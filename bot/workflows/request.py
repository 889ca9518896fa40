"""A request's own budget: `usd=2 tokens=50000 minutes=10` in a command. It can only tighten what holds already."""

from __future__ import annotations

import re
from collections.abc import Mapping

from bot.workflows.agent import Budget
from bot.workflows.node import describe
from bot.workflows.signature import InputViolation
from bot.workflows.workflow import REQUEST_WORDS

_AMOUNT = re.compile(r"\$?([0-9]{1,9}(?:\.[0-9]{1,4})?)")


def request_budget(words: Mapping[str, str]) -> tuple[Budget, tuple[InputViolation, ...]]:
    """The budget that words of a command set, other words left aside; with everything that is no amount."""
    amounts: dict[str, float] = {}
    wrong: list[InputViolation] = []
    for key in sorted(REQUEST_WORDS & words.keys()):
        match = _AMOUNT.fullmatch(words[key].strip())
        if match is None or (key == "tokens" and "." in match[1]):
            noun = "a whole number" if key == "tokens" else "an amount"
            wrong.append(InputViolation(key, "type_mismatch", f"`{key}` is {noun}, got {describe(words[key])}"))
        else:
            amounts[key] = float(match[1])
    tokens = amounts.get("tokens")
    budget = Budget(
        usd=amounts.get("usd"), tokens=None if tokens is None else int(tokens), minutes=amounts.get("minutes")
    )
    return budget, tuple(wrong)
