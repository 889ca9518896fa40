"""Five steps that do nothing on DBOS with SQLite, as its documentation writes them. Runs in a venv of its own.

Argument: a folder. Questions and answers are those of `tests.bench.child`, without the project's code.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from dbos import DBOS  # type: ignore[import-not-found,unused-ignore]  # of its own environment

STEPS = 5


def main() -> None:
    """Answer every line: so many runs by so many workers."""
    config = {"name": "bench", "system_database_url": f"sqlite:///{sys.argv[1]}/dbos.db", "run_admin_server": False}
    DBOS(config={**config, "log_level": "ERROR"})

    @DBOS.step()
    def step(number: int) -> str:
        return "ok"

    @DBOS.workflow()
    def workflow(_: int) -> str:
        for number in range(STEPS):
            step(number)
        return "ok"

    DBOS.launch()
    for line in sys.stdin:
        asked = json.loads(line)
        begun = time.perf_counter()
        with ThreadPoolExecutor(asked["workers"]) as workers:
            list(workers.map(workflow, range(asked["runs"])))
        print(json.dumps({"seconds": time.perf_counter() - begun}), flush=True)  # its answer
    DBOS.destroy()


if __name__ == "__main__":
    main()
