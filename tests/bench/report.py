"""docs/benchmarks.md out of docs/benchmarks.json: the same figures, to read."""

from __future__ import annotations

from typing import Any

_HEAD = """\
# Benchmarks

Made by `make bench`, which measures everything that is compared side by side in one run. A ratio means something on
another machine too; a rate does not. Goals that do not hold are shown as such. The figures with every single round are
in [benchmarks.json](benchmarks.json).
"""

_QUICK = """\
**These are the figures of a short run**: one or two rounds of each, and 200 dispatches where the growth of memory is
measured. Whether a goal holds that is held or missed by little has to be seen in a full run, on a machine that does
nothing else.
"""


def rendered(results: dict[str, Any]) -> str:
    """The page for the results of one run."""
    machine, rows = results["machine"], results["rows"]
    lines = [
        _HEAD,
        *([_QUICK] if results["quick"] else []),
        (
            f"Measured on {results['taken']}: {machine['cpu']}, {machine['cores']} cores, {machine['ram_gib']} GiB,"
            f" {machine['kernel']}, Python {machine['python']}, SQLite {machine['sqlite']}; the disk syncs 4 KiB in"
            f" {_cell(machine['fsync_ms'])} ms (median)."
        ),
        "",
        *_table(
            ("what", "measured", "goal", ""),
            [
                (
                    goal["what"],
                    f"{_cell(goal['value'])}{_unit(goal)}",
                    f"{goal['sense']} {_cell(goal['limit'])}{_unit(goal)}",
                    "holds" if goal["holds"] else "**does not hold**",
                )
                for row in rows
                for goal in row["goals"]
            ],
        ),
    ]
    for row in rows:
        lines += ["", f"## {row['title']}", ""]
        lines += [f"Against {row['against']}.", ""] if row["against"] != "nothing" else []
        lines += _table(row["columns"], [tuple(_cell(cell) for cell in line) for line in row["figures"]])
        lines += ["", *(f"- {note}" for note in row["notes"])] if row["notes"] else []
    return "\n".join(lines) + "\n"


def _table(columns: tuple[str, ...], lines: list[tuple[str, ...]]) -> list[str]:
    return [
        "| " + " | ".join(columns) + " |",
        "|" + "---|" * len(columns),
        *("| " + " | ".join(line) + " |" for line in lines),
    ]


def _unit(goal: dict[str, Any]) -> str:
    return f" {goal['unit']}" if goal["unit"] else ""


def _cell(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"
