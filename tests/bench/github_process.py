"""The look-alike as a process of its own: people comment when it is told to, and it says when the answers came.

Arguments: its folder, the milliseconds that every request takes longer than it would, and how many owners there are.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bot.demo.deliveries import Deliverer
from bot.demo.records import App, Repository
from bot.demo.server import Loopback, lookalike
from bot.demo.world import World
from tests.bench import child
from tests.bench.load import SECRET

#: deliveries under way at once
TOGETHER = 10
#: workflows whose one step does nothing but say something, reads the thread for a model, or takes as long as a model
FILES = {
    ".github/bot.yml": """\
version: 1
agents:
  helper: {model: 'demo:helper', prompt: Look.}
workflows:
  go:
    steps:
      - {id: tell, notify: {comment: All of it is done.}}
  look:
    steps:
      - {id: look, agent: helper}
  take:
    steps:
      - {id: take, run: sleep 2}
      - {id: done, end: {message: All of it is done.}}
  greet:
    on: {opened: true}
    steps:
      - {id: done, end: {message: All of it is done.}}
""",
    "README.md": "# widgets\n",
}


class GitHub:
    """A world of owners with one repository and one installation each, on a loopback port."""

    def __init__(self, folder: Path, delay: float = 0.0, owners: int = 1) -> None:
        self.world = World(folder)
        self.world.rate_limit = 1_000_000_000
        self.delay = delay
        #: bytes of answers so far
        self.sent = 0
        for login in ("ana", "operator"):
            self.world.add_user(login)
        self.app: App = self.world.add_app("bot", "operator", webhook_secret=SECRET)
        self.repositories: list[Repository] = []
        #: the look-alike itself, which counts and is slow as told
        self.served_app = self._measured(lookalike(self.world))
        for number in range(owners):
            owner = f"owner-{number}"
            self.world.add_user(owner, type="Organization")
            repository = self.world.add_repository(owner, "widgets", FILES)
            self.world.set_role(repository, "ana", "write")
            self.world.install(self.app, owner)
            self.world.open_issue(repository, "ana", "Crash on empty input", "It crashes when the input is empty.")
            self.repositories.append(repository)

    @asynccontextmanager
    async def served(self) -> AsyncIterator[GitHub]:
        """On a free port, until it is left."""
        async with Loopback(self.served_app) as served:
            self.world.move_to(served.url)
            yield self
            self.world.feed.close()

    def _measured(self, app: ASGIApp) -> ASGIApp:
        async def measured(scope: Scope, receive: Receive, send: Send) -> None:
            async def counted(message: Message) -> None:
                self.sent += len(message.get("body", b""))
                await send(message)

            if self.delay:
                await asyncio.sleep(self.delay)
            await app(scope, receive, counted)

        return measured

    def facts(self) -> dict[str, str]:
        """What a bot has to be told."""
        return {
            "BOT_GITHUB_URL": self.world.api_url,
            "BOT_GITHUB_APP_ID": str(self.app.id),
            "BOT_GITHUB_APP_SLUG": self.app.slug,
            "BOT_GITHUB_PRIVATE_KEY": self.app.private_key,
            "BOT_GITHUB_WEBHOOK_SECRET": SECRET,
            "BOT_ALLOWED_OWNERS": "*",
            "BOT_DEFAULT_MODEL": "demo:helper",
        }

    def open_threads(self, first: int, count: int) -> list[tuple[Repository, int]]:
        """One more issue in each of so many repositories."""
        with self.world.silence():
            return [
                (each, self.world.open_issue(each, "ana", "Another crash", "It crashes again.").number)
                for each in self.repositories[first : first + count]
            ]

    async def open_issues(self, times: int) -> None:
        """Ana opens so many issues in every repository, as fast as they are delivered."""
        for _ in range(times):
            for repository in self.repositories:
                self.world.open_issue(repository, "ana", "Another crash", "It crashes again.")
                await asyncio.sleep(0)

    def said(self, threads: list[tuple[Repository, int]]) -> int:
        """How many comments of the bot stand in these threads."""
        comments = (self.world.comments(repository, number) for repository, number in threads)
        return sum(comment.author is self.app.bot for each in comments for comment in each)

    async def ask(self, threads: list[tuple[Repository, int]], text: str, times: int = 1) -> dict[str, Any]:
        """Ana says `text` in every thread, `times` times; the seconds until all are answered, and what was asked.

        The requests are those of all of it, in the order in which they were made.
        """
        before, sent, wanted = len(self.world.requests), self.sent, self.said(threads) + len(threads) * times
        open_ = wanted - self.said(threads)
        begun = time.monotonic()
        with self.world.feed.subscribe() as changes:
            for _ in range(times):
                for repository, number in threads:
                    self.world.comment(repository, number, "ana", text)
            async with asyncio.timeout(120):
                while open_:
                    change = await changes.next()
                    assert change is not None
                    if change.kind == "comment":
                        open_ = wanted - self.said(threads)
        seconds = time.monotonic() - begun
        return {
            "seconds": seconds,
            "requests": [(seen.method, seen.path, seen.query) for seen in self.world.requests[before:]],
            "threads": [(repository.full_name, number) for repository, number in threads],
            "bytes": self.sent - sent,
        }


async def _main() -> None:
    github = GitHub(Path(sys.argv[1]), float(sys.argv[2]) / 1e3, int(sys.argv[3]))
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(github.served())
        child.tell({"facts": github.facts()})
        threads: list[tuple[Repository, int]] = []

        async def answer(asked: dict[str, Any]) -> dict[str, Any]:
            match asked:
                case {"deliver": [*urls]}:
                    for url in urls:
                        deliverer = Deliverer(github.world, url, concurrency=TOGETHER)
                        await stack.enter_async_context(deliverer)
                    return {}
                case {"threads": count, "first": first}:
                    threads[:] = github.open_threads(first, count)
                    return {}
                case {"open": times}:
                    await github.open_issues(times)
                    return {}
                case {"mint": _}:
                    rows = github.world.installations.values()
                    return {"tokens": [github.world.mint(row).value for row in rows]}
                case {"ask": text, "times": times}:
                    return await github.ask(threads, text, times)
            raise ValueError(asked)

        await child.serve(answer)


if __name__ == "__main__":
    asyncio.run(_main())
