"""A whole bot and a whole (look-alike) GitHub around it, for stories: comment in, comment out.

Everything between is real: signed deliveries through the ASGI application, a database, git over HTTP, subprocesses.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import httpx
from fastapi import FastAPI
from sqlalchemy import text

from bot.app import Bot, open_bot
from bot.demo.deliveries import Deliverer
from bot.demo.records import App, Comment, Installation, Repository
from bot.demo.server import LookAlikeServer
from bot.demo.world import World
from bot.engine.progress import AFTER, EVERY
from bot.publish.marker import strip
from bot.serving import attach
from bot.settings import Settings
from bot.store import Session
from tests.databases import DATABASES, Kind

#: a private key costs a second to make, so stories of one process share it
_KEY: list[str] = []

SECRET = "a webhook secret of the tests"


@dataclass
class Stage:
    """What a story plays on. People: ana (write), meg (maintain), sam (read), in `acme/widgets`."""

    world: World
    repo: Repository
    app: App
    installation: Installation
    deliverer: Deliverer
    bot: Bot
    settings: Settings
    _restart: Callable[[], object] = field(repr=False, default=lambda: None)

    async def says(self, author: str, body: str, number: int = 1) -> Comment:
        """Somebody comments; returns when the bot has nothing left to do."""
        made = self.world.comment(self.repo, number, author, body)
        await self.settle()
        return made

    async def configures(self, text: str, author: str = "meg", path: str = ".github/bot.yml") -> str:
        """Somebody commits a file to the default branch."""
        sha = self.world.write_file(self.repo, path, text, author, f"Update {path}")
        await self.settle()
        return str(sha)

    def replies(self, number: int = 1) -> list[str]:
        """The bot's comments on an issue, oldest first, without their markers."""
        return [strip(c.body) for c in self.world.comments(self.repo, number) if c.author is self.app.bot]

    def reactions(self, comment: Comment) -> list[str]:
        """The bot's reactions on a comment."""
        return sorted(r.content for r in comment.reactions if r.user is self.app.bot)

    async def settle(self, timeout: float = 30) -> None:
        """Wait until deliveries, runs and outbox have all come to rest."""
        async with asyncio.timeout(timeout):
            while True:
                await self.deliverer.settle()
                if await self.bot.store.read(_open) == 0:
                    return
                await asyncio.sleep(0.01)

    def reads(self, pattern: str) -> list[str]:
        """Paths of the bot's GET requests that contain `pattern`."""
        return [seen.path for seen in self.world.requests if seen.method == "GET" and pattern in seen.path]


#: how many deliveries, runs and posts are not at rest; one statement, as a story asks a hundred times a second
_OPEN = text("""\
SELECT (SELECT count(*) FROM delivery WHERE state = 'new' AND not_before IS NULL)
     + (SELECT count(*) FROM run WHERE state IN ('queued', 'running') AND not_before IS NULL)
     + (SELECT count(*) FROM outbox WHERE state IN ('pending', 'sending', 'unsure'))
""")


def _open(session: Session) -> int:
    return int(session.connection().execute(_OPEN).scalar_one())


def app_key() -> str:
    """The private key of the App of this process's tests."""
    if not _KEY:
        from bot.demo.keys import new_key

        _KEY.append(new_key())
    return _KEY[0]


def make_world(directory: Path, files: dict[str, str] | None = None) -> tuple[World, Repository, App, Installation]:
    """The look-alike with its people, one repository with one issue, and the App installed."""
    world = World(directory)
    world.add_user("acme", type="Organization")
    for login in ("ana", "meg", "sam"):
        world.add_user(login)
    repo = world.add_repository("acme", "widgets", files or {"README.md": "# widgets\n"})
    world.set_role(repo, "ana", "write")
    world.set_role(repo, "meg", "maintain")
    world.set_role(repo, "sam", "read")
    app = world.add_app("bot", "acme", webhook_secret=SECRET, private_key=app_key())
    installation = world.install(app, "acme")
    world.open_issue(repo, "sam", "Crash on empty input", "It crashes when the input is empty.")
    return world, repo, app, installation


def make_settings(world: World, app: App, directory: Path, **overrides: object) -> Settings:
    """Settings of a bot for that world."""
    values: dict[str, object] = {
        "github_url": world.api_url,
        "app_id": app.id,
        "private_key": app.private_key,
        "webhook_secrets": (SECRET,),
        "allowed_owners": ("acme",),
        "app_slug": app.slug,
        "data_dir": directory,
        "default_model": "demo:helper",
    }
    return Settings.model_validate(values | overrides)


@asynccontextmanager
async def open_stage(
    tmp_path: Path,
    files: dict[str, str] | None = None,
    *,
    look_at: Sequence[float] = (0.05, 0.1, 0.2),
    status: tuple[float, float] = (AFTER, EVERY),
    transport: httpx.AsyncBaseTransport | None = None,
    environ: Mapping[str, str] | None = None,
    debounce: timedelta = timedelta(),
    database: Kind | None = None,
    **overrides: object,
) -> AsyncIterator[Stage]:
    """A stage with `files` in the repository; `overrides` are settings. `debounce`: how long pushes are held.

    It is on a database of that kind, on what `--database` says by default; one folder is on one as long as its tests.
    """
    world, repo, app, installation = make_world(tmp_path / "github", files)
    async with AsyncExitStack() as stack:
        overrides.setdefault("database_url", DATABASES.of_folder(tmp_path / "data", database))
        await stack.enter_async_context(LookAlikeServer(world))
        settings = make_settings(world, app, tmp_path / "data", **overrides)
        bot = await stack.enter_async_context(
            open_bot(
                settings,
                look_at=look_at,
                status=status,
                environ=environ or {},
                transport=transport,
                debounce=debounce,
            )
        )
        front = FastAPI()
        attach(front, bot)
        deliverer = await stack.enter_async_context(
            Deliverer(world, "http://bot.test/webhook", transport=httpx.ASGITransport(front))
        )
        stage = Stage(world, repo, app, installation, deliverer, bot, settings)
        await stage.settle()
        yield stage
