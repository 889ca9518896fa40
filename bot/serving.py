"""One bot behind HTTP, or without: front door, API and what probes ask, until a signal ends it."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from fastapi import FastAPI
from starlette.types import ASGIApp

from bot import __version__, log, webhook
from bot.app import INTAKE, LOOK_AT, OUTBOX, Bot, Part, open_bot
from bot.engine import repository_of
from bot.errors import Forbidden, NotFound, Transient
from bot.github import GitHub
from bot.model.clock import SystemClock
from bot.settings import Settings
from bot.store.inbox import StoreInbox
from bot.store.tables import Thread
from bot.web import gates, health, metrics
from bot.web.access import Access
from bot.web.metrics import Metrics, Own
from bot.web.readiness import Readiness
from bot.web.server import MEND, Server, configured

_log = log.get("app")

#: how long a process stays after it was told to stop: what has not ended by then ends as it would by a kill
GONE_SECONDS = 9.5


def _cut_short() -> None:
    """Rows are right whenever a process ends, and its children end with it."""
    _log.warning("stop_cut_short", seconds=GONE_SECONDS)
    os._exit(0)


@dataclass(frozen=True, slots=True)
class Listening:
    """Where a process answers over HTTP, and who is told the port once it is open; `mend`: what sets another one."""

    host: str
    port: int
    told: Callable[[int], None]
    mend: str = MEND


def serve(
    settings: Settings,
    *,
    at: Listening | None,
    part: Part = "serve",
    environ: Mapping[str, str] | None = None,
    look_at: Sequence[float] = LOOK_AT,
    ready: Callable[[], None] = lambda: None,
) -> None:
    """One bot until SIGTERM or SIGINT, with a front door at `at` (a worker: health only); `ready` is called at work.

    Raises `OperatorError` where `open_bot` does, and where it cannot listen.
    """
    app, server = FastAPI(title="Threadsmith", version=__version__), None
    if at is not None:
        told = at.told

        def listens(port: int) -> None:
            # not before: who cannot listen does not work
            ready()
            told(port)

        server = Server(configured(app, at.host, at.port), listens, mend=at.mend)

    async def until_stopped() -> None:
        stopped = asyncio.Event()
        last = threading.Timer(GONE_SECONDS, _cut_short)
        last.daemon = True

        def stop(number: int) -> None:
            if not stopped.is_set():
                last.start()
            stopped.set()
            if server is not None:
                server.handle_exit(number, None)

        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop, number)
        async with open_bot(settings, environ=environ, look_at=look_at, part=part) as bot:
            if server is None:
                ready()
                await stopped.wait()
                return
            if part == "worker":
                attach_health(app, bot)
            else:
                server.config.app = attach(app, bot)
            pass_over_made()
            await server.serve()

    loop_factory = server.config.get_loop_factory() if server is not None else None
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(until_stopped())


def pass_over_made() -> None:
    """Whatever was made before the first request stays: the search for garbage never looks at it again.

    What the command line loaded is left out already. The rest would hold every answer up for some ten milliseconds at
    each full search, in which next to nothing is found.
    """
    gc.freeze()


def attach(app: FastAPI, bot: Bot) -> ASGIApp:
    """Put the bot's routes on the application, and the look at who asks around all of them.

    What is returned is the application behind the door: there a delivery passes nothing else.
    """
    secrets = [secret.encode() for secret in bot.settings.webhook_secrets]
    door = webhook.door(StoreInbox(bot.store, SystemClock()), secrets=secrets, app_id=bot.settings.app_id)
    app.include_router(webhook.route(door))
    attach_health(app, bot)
    app.include_router(gates.router(bot.store, SystemClock(), partial(_head_of, bot.github)))
    return webhook.Front(app, door)


def attach_health(app: FastAPI, bot: Bot) -> None:
    """The same for what probes ask: all that a worker answers."""
    app.add_middleware(Access, password=bot.settings.dashboard_password)
    app.include_router(health.router(*_checks(bot), refused=lambda: bot.store.refused))
    app.include_router(metrics.router(Metrics(bot.store, SystemClock(), partial(_own, bot), SystemClock().now())))


def _checks(bot: Bot) -> tuple[dict[str, health.Check], dict[str, health.Check]]:
    """What `/readyz` looks at: what it cannot do without, and what is told besides."""
    # a receiver works on nothing, and leaves deliveries to others; of one process that is alone the loops tell all
    works = "workers" in bot.loops
    rows = Readiness(
        bot.store,
        SystemClock(),
        idle=lambda: works and bot.workers.held == 0,
        hears=lambda: works and bot.presence.duty(INTAKE).held,
        duties=() if bot.settings.database.startswith("sqlite:") else (INTAKE, OUTBOX),
        away=lambda: bot.github.away,
    )

    async def github() -> str | None:
        return await rows.answers() or await bot.github_fault()

    vital: dict[str, health.Check] = {
        "database": bot.store_fault,
        "schema": rows.schema,
        "loops": bot.loops_fault,
        "queue": rows.moves,
    }
    outside: dict[str, health.Check] = {
        "github": github,
        "limits": rows.limits,
        "stuck": rows.stands,
        "beside": bot.beside_fault,
    }
    # while nobody works, a receiver goes on taking in: whoever kept deliveries from it would lose them
    (vital if works else outside)["duties"] = rows.held
    return vital, outside


def _own(bot: Bot) -> Own:
    """What this process did itself, for the metrics."""
    away = bot.github.away is not None
    return Own(bot.presence.id, bot.github.answers, away, bot.settings.workers, bot.workers.held)


async def _head_of(github: GitHub, thread: Thread) -> str:
    """The head of a pull request now; empty where GitHub does not show it."""
    try:
        client = github.repository(thread.installation_id, repository_of(thread))
        return (await client.pull_request(thread.number)).head_sha
    except (NotFound, Forbidden, Transient):
        return ""
