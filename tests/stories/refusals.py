"""Every refusal that people can be told in a thread, as the source has it: its code, and its words."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: where answers to people are made
SOURCES = (
    *sorted((ROOT / "bot" / "dispatch").glob("*.py")),
    ROOT / "bot" / "store" / "answering.py",
    ROOT / "bot" / "workflows" / "answers.py",
)
#: what makes one: its first two arguments are the code and the words
MADE_BY = frozenset({"UserError", "Refusal"})


def refusals() -> frozenset[tuple[str, str]]:
    """Code and words of each; `…` stands for what is put in."""
    return frozenset(found for source in SOURCES for found in _in(source))


def _in(source: Path) -> Iterator[tuple[str, str]]:
    tree = ast.parse(source.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MADE_BY:
            code, words = (_words(argument) for argument in node.args[:2])
            yield code, words


def _words(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(str(one.value) if isinstance(one, ast.Constant) else "…" for one in parts)
        case _:
            return "…"


@cache
def names_below(*rooms: str) -> frozenset[str]:
    """Every test of some folders of tests, as `room/test_module::test_name`."""
    return frozenset(
        f"{room}/{path.stem}::{node.name}"
        for room in rooms
        for path in (ROOT / "tests" / room).glob("test_*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    )
