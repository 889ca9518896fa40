"""The same commits by hand: rows of about the same size, written by a loop that knows nothing.

Argument: a folder. Questions and answers are those of `tests.bench.child`, without the project's code.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

_TABLES = """
PRAGMA journal_mode=WAL;
PRAGMA synchronous=FULL;
CREATE TABLE run (id INTEGER PRIMARY KEY, state TEXT NOT NULL, at REAL NOT NULL);
CREATE TABLE attempt (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, step TEXT NOT NULL, state TEXT NOT NULL, at REAL);
CREATE TABLE value (id INTEGER PRIMARY KEY, attempt INTEGER NOT NULL, key TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX attempt_run ON attempt (run);
CREATE INDEX value_attempt ON value (attempt);
"""


class Script:
    """One connection, one lock: what a person writes who needs nothing else."""

    def __init__(self, path: str) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.executescript(_TABLES)
        self._turn = threading.Lock()

    def run(self, commits: int) -> None:
        """One run: it is taken, then each commit records what a step came to and that the next one begins."""
        with self._turn:
            self._begin()
            run = self._connection.execute(
                "INSERT INTO run (state, at) VALUES ('running', ?)", (time.time(),)
            ).lastrowid
            attempt = self._attempt(run, 0)
            self._connection.execute("COMMIT")
        for number in range(1, commits):
            with self._turn:
                self._begin()
                self._connection.execute("UPDATE attempt SET state = 'success' WHERE id = ?", (attempt,))
                for key in ("output", "outcome", "label"):
                    self._connection.execute(
                        "INSERT INTO value (attempt, key, text) VALUES (?, ?, 'ok')", (attempt, key)
                    )
                attempt = self._attempt(run, number)
                if number == commits - 1:
                    self._connection.execute("UPDATE run SET state = 'succeeded' WHERE id = ?", (run,))
                self._connection.execute("COMMIT")

    def _begin(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def _attempt(self, run: int | None, step: int) -> int | None:
        query = "INSERT INTO attempt (run, step, state, at) VALUES (?, ?, 'running', ?)"
        return self._connection.execute(query, (run, f"s{step}", time.time())).lastrowid


def main() -> None:
    """Answer every line: so many runs by so many workers."""
    script = Script(f"{sys.argv[1]}/script.db")
    for line in sys.stdin:
        asked = json.loads(line)
        begun = time.perf_counter()
        with ThreadPoolExecutor(asked["workers"]) as workers:
            list(workers.map(script.run, [asked["commits"]] * asked["runs"]))
        print(json.dumps({"seconds": time.perf_counter() - begun}), flush=True)  # its answer


if __name__ == "__main__":
    main()
