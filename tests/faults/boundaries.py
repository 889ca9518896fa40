"""Every commit boundary of the product, read from its source: the functions that make what is written.

A boundary has the name that a failpoint is told (`bot.store.database`): the function that a work was made in. A
function that only passes on a work that it was given makes none; those that call it do.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

#: `before` or `after`, and the boundary
Edge = tuple[str, str]
BOT = Path(__file__).resolve().parents[2] / "bot"
#: rooms whose writes are no part of what `serve` does: commands with a database of their own, and the look-alike
ELSEWHERE = ("cli", "demo")
#: names of what has `write`, as the rooms call it; channels to GitHub and files have one too
_STORES = frozenset({"store", "_store", "_duty", "publish"})
#: what has functions that pass a work on
_PASSING_ON = frozenset({"self", "_records"})

_KEEPING = "what is kept no longer goes bit by bit, after days or at `forget`: each may be done again (test_upkeep)"
#: boundaries that no kill of the storm meets, and why; where they are held instead
UNREACHED: Mapping[str, str] = {
    "ThreadIntents._pin": "a model's tool: killed around it in test_kill_tools",
    "ThreadIntents._unpin": "a model's tool, as `_pin` in the other direction",
    "ThreadIntents._dispatch": "a model's tool: killed around it in test_kill_tools",
    "ThreadIntents._request": "a model's tool: killed around it in test_kill_tools",
    "ThreadIntents._refused": "a model's tool whose dispatch is refused: rows as `_dispatch` writes them",
    "Records.spent": "a second comment is taken back: a storm that meets it has failed already (test_sender)",
    "Workers._fail": "a run that breaks by a fault of ours ends as any other (tests/engine/test_worker)",
    "Upkeep._purge": _KEEPING,
    "Upkeep._sweep_runs": _KEEPING,
    "_asking": _KEEPING,
    "_settling": _KEEPING,
    "_calling_off": _KEEPING,
    "_marking": _KEEPING,
    "_through": _KEEPING,
    "reach": "traces, which somebody has to ask for: what is sent twice is the same span (tests/traces)",
    "probe": "`/readyz` asks whether the disk takes a write, which changes nothing",
}


@dataclass
class Coverage:
    """At which commit boundaries bots were killed, over all episodes of a run; `met` is where they came by.

    `every` are those at which somebody has to be killed.
    """

    every: frozenset[Edge] = frozenset()
    met: set[Edge] = field(default_factory=set)
    killed: Counter[Edge] = field(default_factory=Counter)

    def wanted(self) -> set[Edge]:
        """The edges at which nobody was killed yet."""
        return {edge for edge in self.every | self.met if not self.killed[edge]}


def boundaries(root: Path = BOT) -> dict[str, str]:
    """Names of boundaries, each with the module that it is in."""
    found: dict[str, str] = {}
    for path in sorted(root.rglob("*.py")):
        module = path.relative_to(root).with_suffix("").as_posix()
        if module.split("/")[0] not in ELSEWHERE:
            for name in _Reader(ast.parse(path.read_text(encoding="utf-8"))).names():
                found[name] = module
    return found


def edges() -> set[Edge]:
    """Before and after every boundary that a storm has to kill at."""
    return {(when, name) for name in boundaries() if name not in UNREACHED for when in ("before", "after")}


class _Reader:
    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        #: what is called here with a work that it writes, and in which place: `commit` of the records, and functions of
        #: this module
        self._passing_on = {"commit": 0} | {
            node.name: place
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            for place, given in enumerate([each for each in node.args.args if each.arg != "self"])
            if given.arg == "work" and given.annotation and ast.unparse(given.annotation).startswith("Callable")
        }

    def names(self) -> Iterator[str]:
        """The boundaries of one module."""
        yield from self._of(self._tree, "", "", {})

    def _of(self, node: ast.AST, owner: str, function: str, made: Mapping[str, str]) -> Iterator[str]:
        """`owner` is the class around, `function` the outermost function with it; `made` says who makes what a name
        stands for, nobody here for a parameter.
        """
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                yield from self._of(child, child.name, "", {})
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                name = function or ".".join(filter(None, (owner, child.name)))
                yield from self._of(child, owner, name, _made(child, name, made))
            else:
                work = self._work(child)
                if work is not None and (name := _maker(work, owner, function, made)):
                    yield name
                yield from self._of(child, owner, function, made)

    def _work(self, node: ast.AST) -> ast.expr | None:
        """What a call hands over to be written."""
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            return None
        on, called = node.func.value, node.func.attr
        last = on.attr if isinstance(on, ast.Attribute) else on.id if isinstance(on, ast.Name) else ""
        if called == "write" and last in _STORES:
            return node.args[1 if last == "publish" else 0]
        return node.args[self._passing_on[called]] if called in self._passing_on and last in _PASSING_ON else None


def _made(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str, outer: Mapping[str, str]) -> dict[str, str]:
    """What names stand for inside a function: its parameters are somebody else's, its own functions are made here."""
    inner = {
        node.name: name for node in ast.walk(function) if isinstance(node, ast.FunctionDef) and node is not function
    }
    return {**outer, **{given.arg: "" for given in (*function.args.args, *function.args.kwonlyargs)}, **inner}


def _maker(work: ast.expr, owner: str, function: str, made: Mapping[str, str]) -> str:
    """Who makes a work; empty for one that is only passed on."""
    match work:
        case ast.Lambda():
            return function
        case ast.Name(id=name):
            return made.get(name, name)
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return f"{owner}.{name}"
        case ast.Attribute(attr=name):
            return name
        case ast.Call(func=ast.Name(id="partial"), args=[inner, *_]):
            return _maker(inner, owner, function, made)
        case ast.Call(func=ast.Name(id="named_as")):
            return ""
        case ast.Call(func=ast.Name(id=name)):
            return made.get(name, name)
        case _:
            return ast.unparse(work)
