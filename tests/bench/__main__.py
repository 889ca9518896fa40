"""`make bench`: every row of the benchmark table in one run; the results go to docs/benchmarks.json and .md.

`--quick` is a short run that shows whether everything works; `--only NAME` measures a part. Neither writes anything,
except a short run that is told to: its page says what it is.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.bench import machine
from tests.bench.figures import Pace, Row
from tests.bench.report import rendered

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: beside the sources, so that it is the disk that people work on; a temporary folder may be memory
WORK = ROOT / ".bench"
ROWS = ("receiver", "posted", "reads", "assembly", "runs", "overhead", "footprint", "cluster", "language")


def main() -> int:
    """1 where a goal does not hold."""
    parser = argparse.ArgumentParser(prog="make bench", description="Measure what docs/benchmarks.md says.")
    parser.add_argument("--quick", action="store_true", help="a short run; its figures mean little")
    parser.add_argument("--only", choices=ROWS, action="append", help="measure this row (may be repeated)")
    parser.add_argument("--write", action="store_true", help="write the results of a short run too")
    given = parser.parse_args()
    names = [name for name in ROWS if given.only is None or name in given.only]
    WORK.mkdir(exist_ok=True)
    rows = []
    for name in names:
        begun = time.monotonic()
        rows.append(measured(name, Pace(given.quick)))
        sys.stderr.write(f"{name}: {time.monotonic() - begun:.0f} s\n")
    results = {
        "quick": given.quick,
        "taken": datetime.now(UTC).date().isoformat(),
        "machine": machine.described(WORK),
        "rows": [row.to_json() for row in rows],
    }
    page = rendered(json.loads(json.dumps(results)))
    if given.only or (given.quick and not given.write):
        sys.stdout.write(page)
    else:
        written(results, page)
    failed = [goal for row in rows for goal in row.goals if not goal.holds]
    for goal in failed:
        sys.stderr.write(f"does not hold: {goal.what}: {goal.value:.3g}, {goal.sense} {goal.limit:g} {goal.unit}\n")
    return 1 if failed else 0


def measured(name: str, pace: Pace) -> Row:
    """One row, in a folder of its own that is gone afterwards."""
    module = import_module(f"tests.bench.{name}")
    for contestant in getattr(module, "NEEDS", ()):
        contestant.ready()
    with TemporaryDirectory(dir=WORK) as folder:
        row: Row = asyncio.run(module.measure(pace, Path(folder)))
    return row


def written(results: dict[str, Any], page: str) -> None:
    """Both files."""
    text = json.dumps(results, indent=1, ensure_ascii=False)
    (DOCS / "benchmarks.json").write_text(text + "\n", encoding="utf-8")
    (DOCS / "benchmarks.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
