"""What is kept and for how long, as the documentation shows it: made from `bot.store.kept`."""

from __future__ import annotations

from bot.store.kept import KEPT, whole
from bot.store.kind import Goes, What


def kept() -> str:
    """One row for each part of a table that goes at the same time: what stays comes last."""
    lines = ["| table | what | when it goes |", "|---|---|---|"]
    for name, columns in KEPT.items():
        for goes in sorted({kept.goes for kept in columns.values()}, key=lambda goes: (goes is Goes.STAYS, goes)):
            of = {column: kept for column, kept in columns.items() if kept.goes is goes}
            if len(of) == len(columns):
                what = "all of it"
            elif whole(name, goes) and goes is not Goes.STAYS:
                what = "the row"
            elif goes is Goes.STAYS:
                what = ", ".join(_plural(kind) for kind in What if any(kept.what is kind for kept in of.values()))
            else:
                what = ", ".join(_column(column, kept.rest is not None) for column, kept in of.items())
            lines.append(f"| `{name}` | {what} | {goes} |")
    return "\n".join(lines)


def _column(name: str, in_part: bool) -> str:
    return f"`{name}` but for codes and numbers" if in_part else f"`{name}`"


def _plural(kind: What) -> str:
    return {What.IDENTITY: "identities"}.get(kind, f"{kind}s")
