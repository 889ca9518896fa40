"""What a bot does for ten comments, by hand: the same requests to GitHub, and as many commits, and nothing else.

Arguments: a folder, and GitHub's REST base. Questions and answers are those of `tests.bench.child`.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
import time
from typing import Any

import httpx

#: what one commit writes: a row of about the size of a delivery
_ROW = "x" * 11_000


class Script:
    """One HTTP client and one database."""

    def __init__(self, folder: str, base: str) -> None:
        self._base = base
        self._client = httpx.AsyncClient(trust_env=False)
        self._database = sqlite3.connect(f"{folder}/by-hand.db", isolation_level=None, check_same_thread=False)
        self._database.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE kept (id INTEGER PRIMARY KEY, text TEXT)"
        )

    async def posted(self, asked: dict[str, Any]) -> float:
        """Seconds that it takes for all threads, side by side."""
        each: dict[str, list[tuple[str, str, str]]] = {name: [] for name, _ in asked["threads"]}
        for method, path, query in asked["requests"]:
            owner = next((name for name in each if path.startswith(f"/repos/{name}/")), None)
            if owner is not None:
                each[owner].append((method, path, query))
        commits, more = divmod(asked["commits"], len(each))
        begun = time.monotonic()
        await asyncio.gather(
            *(
                self._thread(requests, token, commits + (index < more))
                for index, (requests, token) in enumerate(zip(each.values(), asked["tokens"], strict=True))
            )
        )
        return time.monotonic() - begun

    async def _thread(self, requests: list[tuple[str, str, str]], token: str, commits: int) -> None:
        headers = {"authorization": f"Bearer {token}", "accept": "application/vnd.github+json"}
        # a commit first, as a delivery is kept before anything else; the others between the requests
        for number in range(max(commits, len(requests))):
            if number < commits:
                await asyncio.to_thread(self._commit)
            if number < len(requests):
                method, path, query = requests[number]
                await self._client.request(
                    method,
                    f"{self._base}{path}{'?' if query else ''}{query}",
                    headers=headers,
                    json=_body(method, path),
                )

    def _commit(self) -> None:
        self._database.execute("INSERT INTO kept (text) VALUES (?)", (_ROW,))


def _body(method: str, path: str) -> dict[str, str] | None:
    if method != "POST":
        return None
    return {"content": "eyes"} if path.endswith("/reactions") else {"body": "All of it is done."}


async def _main() -> None:
    script = Script(*sys.argv[1:3])
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps({"seconds": await script.posted(json.loads(line))}), flush=True)  # its answer


if __name__ == "__main__":
    asyncio.run(_main())
