"""Which kind of step takes which key: the one table behind the checks, the error texts and the documentation.

It is that of the design's page *The repository YAML*, whole. What a kind's model has by descent and the table does not
give it is refused as meaning nothing there, and is no part of the JSON Schema.
"""

from __future__ import annotations

from collections.abc import Mapping

from bot.workflows.findings import listing

#: every kind of the language
KINDS = (
    *("agent", "run", "code", "ask", "classify", "review", "notify", "connector", "pull_request"),
    *("uses", "parallel", "steps", "switch", "wait", "end"),
)

_ALL = frozenset(KINDS)
#: kinds that do work of their own; a `switch` only routes, an `end` only ends
_WORKING = _ALL - {"switch", "end"}
_RESULTLESS = frozenset({"ask", "review", "notify", "switch", "wait", "end"})

#: by key: the kinds that take it
MODIFIERS: Mapping[str, frozenset[str]] = {
    "when": _ALL,
    "each": _WORKING,
    "loop": _ALL - {"end"},
    "retry": _WORKING,
    "timeout": _WORKING,
    "budget": _WORKING,
    "inputs": frozenset({"agent", "classify", "run", "code", "connector", "uses"}),
    "reads": _WORKING,
    "next": _WORKING,
    "decide": _WORKING,
    "transitions": _WORKING,
    "rework": _WORKING,
    "produces": _WORKING,
    "publish": _ALL - {"switch"},
    "format": _ALL - {"switch"},
    "workspace": _WORKING,
    "on_interrupt": _WORKING,
    "context": frozenset({"agent", "classify"}),
    "fidelity": frozenset({"agent", "classify"}),
    "injection_cap": frozenset({"agent", "classify"}),
    "writes": frozenset({"agent", "run", "code", "ask"}),
    "result": _ALL - _RESULTLESS,
}

#: keys that belong to the work itself, by the kinds that have them
OWN: Mapping[str, frozenset[str]] = {
    "prompt": frozenset({"agent"}),
    "tools": frozenset({"agent"}),
    "shell": frozenset({"run"}),
    "env": frozenset({"run", "code"}),
    **dict.fromkeys(("show", "options", "questions", "text", "who", "on_timeout"), frozenset({"ask"})),
}


def takers(key: str) -> frozenset[str]:
    """The kinds that take a key of a step; none for a word that is no such key."""
    return MODIFIERS.get(key) or OWN.get(key) or frozenset()


def taken_by(key: str) -> str:
    """The kinds that take a key, for a sentence: `agent`, `run`; or *every kind but …*."""
    kinds = takers(key)
    rest = [kind for kind in KINDS if kind not in kinds]
    if not rest:
        return "every kind"
    if len(rest) < len(kinds):
        return f"every kind but {listing(rest)}"
    return listing(kind for kind in KINDS if kind in kinds)
