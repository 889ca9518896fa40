"""Wires the rooms into one bot: the only place that knows them all. Nothing here decides anything."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import uvicorn
from fastapi import FastAPI

from bot import __version__, log, webhook
from bot.dispatch import (
    DEBOUNCE,
    Actions,
    Ceilings,
    Identities,
    Intake,
    Parts,
    ThreadIntents,
    Timetable,
    is_builtin_only,
)
from bot.engine import Desk, HookTargets, Progress, Tools, Workers, repository_of
from bot.engine.progress import AFTER, EVERY
from bot.engine.takeover import take_over
from bot.errors import BotError, Forbidden, NotFound, OperatorError, Transient
from bot.github import GitHub, RepositoryClient
from bot.model.clock import Clock, SystemClock
from bot.publish import Checks, Comments, Hooks, Marker, Performer, Redactor, Sender, Speaker, ThreadActions
from bot.queue import EmbeddedQueue
from bot.runners import Providers, Runners
from bot.settings import Settings, missing_to_serve
from bot.store import Store, deliveries, open_store
from bot.store.inbox import StoreInbox
from bot.store.lock import hold
from bot.store.tables import Thread
from bot.web import gates, health
from bot.web.access import Access
from bot.web.server import Server
from bot.workflows import Memo, builtin_files
from bot.workspace import Git, Reach, Sandbox, Secrets, Workspaces, open_sandbox

_log = log.get("app")

#: seconds after an unanswered write at which its marker is looked for; only then is it written again
LOOK_AT = (5.0, 30.0, 90.0)
#: how long GitHub may take to answer `/readyz`, where it does not count: who asks there gives up after a second
GITHUB_SECONDS = 0.8
#: seconds between warnings while GitHub does not say who this App is
GREETING_SECONDS = 30.0
#: how long a stop waits for posts under way
STOP_SECONDS = 8.0


@dataclass(frozen=True, slots=True)
class Bot:
    """One running instance. Made by `open_bot`, which also ends it."""

    settings: Settings
    store: Store
    github: GitHub
    sandbox: Sandbox
    runners: Runners
    workers: Workers
    identities: Identities
    loops: tuple[asyncio.Task[None], ...]

    async def loops_fault(self) -> str | None:
        """Which of intake, workers and outbox has stopped, None if all of them go on."""
        stopped = [loop.get_name() for loop in self.loops if loop.done()]
        return f"stopped: {', '.join(stopped)}; the log says why, a restart goes on" if stopped else None

    async def store_fault(self) -> str | None:
        """What is wrong with the database, None if it answers."""
        try:
            async with asyncio.timeout(5):
                await self.store.read(deliveries.next_due)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is what `/readyz` is asked for
            return f"{type(error).__name__}: {error}"
        return None

    async def github_fault(self) -> str | None:
        """Why GitHub cannot be reached, None if who we are is known."""
        try:
            async with asyncio.timeout(GITHUB_SECONDS):
                await self.identities.get()
        except TimeoutError:
            return f"it did not say within {GITHUB_SECONDS} s who this App is"
        except BotError as error:
            return str(error)
        return None


@asynccontextmanager
async def open_bot(
    settings: Settings,
    *,
    transport: httpx.AsyncBaseTransport | None = None,
    clock: Clock | None = None,
    look_at: Sequence[float] = LOOK_AT,
    status: tuple[float, float] = (AFTER, EVERY),
    environ: Mapping[str, str] | None = None,
    debounce: timedelta = DEBOUNCE,
) -> AsyncIterator[Bot]:
    """Open the database, start intake, workers and outbox; on leaving, end them in order.

    Raises `OperatorError` where a setting is missing or another process uses the data folder.
    """
    if missing := missing_to_serve(settings):
        raise OperatorError(
            f"not set: {', '.join(missing)}", "set them in the environment or in `.env`, then start again"
        )
    clock = clock or SystemClock()
    data = settings.data_dir.resolve()
    async with AsyncExitStack() as stack:
        stack.callback(os.close, hold(data / "lock", f"the data folder {data}"))
        if settings.database.startswith("sqlite:///"):
            file = Path(settings.database.removeprefix("sqlite:///"))
            stack.callback(os.close, hold(file.with_name(f"{file.name}.lock"), f"the database {file}"))
        store = open_store(settings.database)
        stack.push_async_callback(store.close)
        github = GitHub(
            base_url=settings.github_url,
            app_id=str(settings.app_id),
            private_key=settings.private_key,
            transport=transport,
            clock=clock,
        )
        stack.push_async_callback(github.aclose)
        await asyncio.to_thread(github.check_key)
        sandbox = await open_sandbox(settings.sandbox)
        runners = await stack.enter_async_context(Runners(providers(settings), sandbox, settings.default_model or None))
        keys = marker_keys(settings)
        marker = Marker(keys)
        environ = os.environ if environ is None else environ
        redact = Redactor(settings.secrets_with(environ))
        stack.enter_context(log.redacted_with(redact))
        secrets = Secrets(settings.secrets_dir, redact.add)
        await asyncio.to_thread(secrets.warm)
        speaker = Speaker(redact, clock)
        identities = Identities(github, settings.app_id, settings.app_slug, settings.allowed_owners)
        memo = Memo(builtin_files())
        queue = EmbeddedQueue(store, clock)
        tools = Tools(
            store=store,
            github=github,
            sandbox=sandbox,
            workspaces=Workspaces(data / "work", Git(), allowed_host=_host(settings.github_url)),
            runners=runners,
            memo=memo,
            speaker=speaker,
            marker=marker,
            clock=clock,
            nonce_key=hmac.digest(keys[0], b"nonce", "sha256"),
            redact=redact,
            secrets=secrets,
            reach=Reach.of(settings.network),
            handle=lambda: identities.handle,
            mine=identities.mine,
            command_only=is_builtin_only,
            max_usd_day=settings.max_usd_day,
            max_run_usd=settings.max_run_usd,
            result_max_bytes=settings.result_max_bytes,
            export_env=settings.export_env,
            environ=environ,
        )
        workers = Workers(store, queue, Desk(tools), clock, settings.workers)
        ceilings = Ceilings(settings.max_usd_day, settings.max_run_usd)

        def can_ask(model: str) -> bool:
            return runners.providers.check(model) is None

        parts = Parts(store, github, identities, memo, marker, speaker, clock, ceilings, debounce, can_ask=can_ask)
        targets = HookTargets(store, memo, secrets, tools.reach)
        done_by = {
            **performers(github, marker, identities, targets),
            **ThreadIntents(parts, repository_of).performers,
        }
        sender = Sender(store, done_by, clock, owner=queue.owner, looks=look_at)
        after, every = status
        progress = Progress(store, speaker, memo, clock, lambda: identities.handle, after=after, every=every)
        timetable = Timetable(parts, settings.app_id)
        loops = [
            asyncio.create_task(progress.run(), name="progress"),
            asyncio.create_task(timetable.follow(), name="scan"),
            asyncio.create_task(timetable.run(), name="timetable"),
            asyncio.create_task(Intake(parts, Actions(parts, take_over)).run(), name="intake"),
            asyncio.create_task(workers.run(), name="workers"),
            asyncio.create_task(sender.run(), name="outbox"),
        ]
        for loop in loops:
            loop.add_done_callback(_tell)
        greeting = asyncio.create_task(_greet(identities, clock), name="greeting")
        stack.push_async_callback(_stop, [greeting])
        stack.push_async_callback(_stop, loops)
        yield Bot(settings, store, github, sandbox, runners, workers, identities, tuple(loops))


async def _greet(identities: Identities, clock: Clock) -> None:
    """Say in the log who we are, or why GitHub does not tell: an instance that cannot reach it must not look idle."""
    while True:
        try:
            known = await identities.get()
        except BotError as error:
            _log.warning("github_unreachable", reason=str(error))
            await clock.sleep(GREETING_SECONDS)
        else:
            _log.info("serving", handle=known.handle, owners=sorted(known.owners))
            return


def _tell(loop: asyncio.Task[None]) -> None:
    """A loop that ends by itself is a bug of ours: it is told at once, and `/readyz` says 503 from then on."""
    if not loop.cancelled():
        _log.error("loop_stopped", loop=loop.get_name(), exc_info=loop.exception())


async def _stop(loops: Sequence[asyncio.Task[None]]) -> None:
    """End intake and workers first, so that what they hand back can still be said, then the outbox."""
    for loop in loops:
        loop.cancel()
        await asyncio.wait([loop], timeout=STOP_SECONDS)


def serve(
    settings: Settings,
    *,
    host: str,
    port: int,
    listens: Callable[[int], None],
    environ: Mapping[str, str] | None = None,
    look_at: Sequence[float] = LOOK_AT,
) -> None:
    """Front door and health around one bot, until SIGTERM or SIGINT; `listens` is told the port once it is open.

    Raises `OperatorError` where `open_bot` does, and where it cannot listen.
    """
    app = FastAPI(title="Threadsmith", version=__version__)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=10,
        # a forwarding header is believed from nobody: signatures, not addresses, decide here
        proxy_headers=False,
        server_header=False,
    )
    server = Server(config, listens)

    async def until_stopped() -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, server.handle_exit, number, None)
        async with open_bot(settings, environ=environ, look_at=look_at) as bot:
            attach(app, bot)
            await server.serve()

    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(until_stopped())


def attach(app: FastAPI, bot: Bot) -> None:
    """Put the bot's routes on the application, and the look at who asks around all of them."""
    app.add_middleware(Access, password=bot.settings.dashboard_password)
    secrets = [secret.encode() for secret in bot.settings.webhook_secrets]
    door = webhook.door(StoreInbox(bot.store, SystemClock()), secrets=secrets, app_id=bot.settings.app_id)
    app.include_router(webhook.route(door))
    app.add_middleware(webhook.Front, door=door)
    app.include_router(
        health.router({"database": bot.store_fault, "loops": bot.loops_fault}, {"github": bot.github_fault})
    )
    app.include_router(gates.router(bot.store, SystemClock(), partial(_head_of, bot.github)))


async def _head_of(github: GitHub, thread: Thread) -> str:
    """The head of a pull request now; empty where GitHub does not show it."""
    try:
        client = github.repository(thread.installation_id, repository_of(thread))
        return (await client.pull_request(thread.number)).head_sha
    except (NotFound, Forbidden, Transient):
        return ""


def performers(github: GitHub, marker: Marker, identities: Identities, targets: HookTargets) -> Mapping[str, Performer]:
    """How each kind of action is done."""

    def port(thread: Thread) -> RepositoryClient:
        return github.repository(thread.installation_id, repository_of(thread))

    mine = identities.mine
    return {
        **Comments(port, marker, mine).performers,
        **ThreadActions(port, marker, mine).performers,
        **Checks(port).performers,
        **Hooks(targets).performers,
    }


def providers(settings: Settings) -> Providers:
    """The models' providers as the settings name them."""
    return Providers(
        openai_key=settings.openai_key,
        openai_base_url=settings.openai_url,
        anthropic_key=settings.anthropic_key,
        anthropic_base_url=settings.anthropic_url,
    )


def marker_keys(settings: Settings) -> list[bytes]:
    """The keys that sign markers: those set, else one derived from the App's private key."""
    if settings.marker_keys:
        return [key.encode() for key in settings.marker_keys]
    return [hashlib.sha256(b"threadsmith marker\0" + settings.private_key.encode()).digest()]


def _host(github_url: str) -> str:
    """Scheme and host that clones may come from; github.com serves its API from a host of its own."""
    parts = urlsplit(github_url)
    host = "github.com" if parts.netloc == "api.github.com" else parts.netloc
    return f"{parts.scheme}://{host}"
