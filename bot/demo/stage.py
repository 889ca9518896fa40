"""Look-alike and bot in one process, each on a loopback port, in a temporary folder that goes when they do."""

from __future__ import annotations

import asyncio
import secrets
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from fastapi import FastAPI

from bot.app import Bot, open_bot
from bot.demo import repository
from bot.demo.deliveries import Deliverer
from bot.demo.keys import new_key
from bot.demo.records import App, Comment, Issue
from bot.demo.saw import Sight
from bot.demo.server import LookAlikeServer, Loopback
from bot.demo.silence import Silences
from bot.demo.world import World
from bot.errors import OperatorError
from bot.model.clock import SystemClock
from bot.publish.marker import strip
from bot.serving import attach
from bot.settings import Settings
from bot.store.rest import unfinished
from bot.workspace import Sandbox, open_sandbox

#: between two looks at whether the bot is at rest, in seconds
_LOOK_EVERY = 0.02


class ShiftedClock(SystemClock):
    """The machine's clock, `back` in the past: comments from last week are written with it."""

    def __init__(self) -> None:
        self.back = timedelta()

    def now(self) -> datetime:
        return super().now() - self.back


@dataclass(frozen=True, slots=True)
class Stage:
    """What the story plays on. `isolation` is the sandbox that was looked for; without a working one it is off."""

    world: World
    issue: Issue
    app: App
    bot: Bot
    deliverer: Deliverer
    isolation: Sandbox
    directory: Path

    @property
    def url(self) -> str:
        """The thread page."""
        return f"{self.world.site_url}/{self.issue.repository.full_name}/issues/{self.issue.number}"

    def said(self) -> list[Comment]:
        """The bot's comments, oldest first."""
        return [comment for comment in self.issue.comments if comment.author is self.app.bot]

    async def rest(self) -> None:
        """Wait until deliveries, runs and outbox have all come to rest."""
        while True:
            await self.deliverer.settle()
            made = len(self.world.deliveries)
            if not await self.bot.store.read(unfinished) and made == len(self.world.deliveries):
                return
            await asyncio.sleep(_LOOK_EVERY)


def shown(comment: Comment) -> str:
    """A comment's text without its marker: what people see."""
    return strip(comment.body)


@asynccontextmanager
async def open_stage(port: int = 0) -> AsyncIterator[Stage]:
    """Everything started and at rest, the issue with its first comments there; the page answers at `port` (0: any).

    Raises OperatorError where the port is taken.
    """
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="threadsmith-demo-")))
        clock = ShiftedClock()
        world = World(directory / "github", clock=clock)
        sight = Sight(world)
        await stack.enter_async_context(answering(world, port, sight))
        issue, app = await furnish(world, clock)
        isolation = await open_sandbox("required")
        settings = Settings.model_validate(
            {
                "github_url": world.api_url,
                "app_id": app.id,
                "private_key": app.private_key,
                "webhook_secrets": (app.webhook_secret,),
                "allowed_owners": ("acme",),
                "app_slug": app.slug,
                "data_dir": directory / "bot",
                "default_model": "demo:helper",
                # what runs is the configuration bundled here, and whatever this machine's user makes of it
                "sandbox": "required" if isolation.isolated else "off",
            }
        )
        bot = await stack.enter_async_context(open_bot(settings, environ={}))
        sight.store = bot.store
        sight.silences = await stack.enter_async_context(Silences(world, bot.store))
        front = FastAPI()
        attach(front, bot)
        served = await stack.enter_async_context(Loopback(front))
        deliverer = await stack.enter_async_context(Deliverer(world, f"{served.url}/webhook", app=app))
        made = Stage(world, issue, app, bot, deliverer, isolation, directory)
        await made.rest()
        yield made


@asynccontextmanager
async def answering(world: World, port: int, sight: Sight | None = None) -> AsyncIterator[None]:
    """The look-alike answers at `port` (0: any). Raises OperatorError where the port is taken."""
    server = LookAlikeServer(world, port=port, saw=sight, personas=tuple(repository.PEOPLE))
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(server)
        except OSError as error:
            raise OperatorError(
                f"port {port} cannot be used: {error.strerror}",
                'take another: `make demo ARGS="--port 0"` or `threadsmith demo --port 0` picks a free one',
            ) from error
        yield


async def furnish(world: World, clock: ShiftedClock) -> tuple[Issue, App]:
    """People, repository, App and the issue as it stood before the demo; nothing of it is told to the bot."""
    key = await asyncio.to_thread(new_key)
    with world.silence():
        clock.back = timedelta(days=30)
        world.add_user("acme", type="Organization")
        for login in repository.PEOPLE:
            world.add_user(login)
        repo = world.add_repository("acme", "widgets", repository.FILES, description="Sizes of all sorts")
        for login, role in repository.PEOPLE.items():
            world.set_role(repo, login, role)
        app = world.add_app("bot", "acme", webhook_secret=secrets.token_hex(20), private_key=key)
        world.install(app, "acme")
        clock.back = timedelta(days=12)
        world.write_files(repo, repository.MEGABYTES, "ana", repository.MEGABYTES_MESSAGE)
        clock.back = timedelta(days=8.3)
        issue = world.open_issue(repo, "sam", repository.TITLE, repository.BODY)
        world.set_labels(repo, issue.number, "meg", repository.LABELS)
        for who, days, text in repository.COMMENTS:
            clock.back = timedelta(days=days)
            world.comment(repo, issue.number, who, text)
    clock.back = timedelta()
    return issue, app
