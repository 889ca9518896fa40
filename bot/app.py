"""Wires the rooms into one bot: the only place that knows them all. Nothing here decides anything."""

from __future__ import annotations

import asyncio
import hmac
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Literal

import httpx

from bot import log, webhook
from bot.dispatch import (
    DEBOUNCE,
    Actions,
    Ceilings,
    Identities,
    Intake,
    Missed,
    Parts,
    ThreadIntents,
    Timetable,
    is_builtin_only,
)
from bot.engine import Desk, HookTargets, Progress, Tools, Workers, repository_of
from bot.engine.alarm import Alarm
from bot.engine.progress import AFTER, EVERY
from bot.engine.takeover import take_over
from bot.engine.upkeep import Upkeep
from bot.errors import BotError, OperatorError, Transient
from bot.github import GitHub, RepositoryClient
from bot.loops import Loops
from bot.made import clones_host, exporter_of, marker_keys, providers
from bot.model.clock import Clock, SystemClock
from bot.publish import Checks, Comments, Hooks, Marker, Performer, Redactor, Sender, Speaker, ThreadActions
from bot.queue import Presence, RunQueue
from bot.runners import Runners
from bot.settings import Settings, missing_to_serve
from bot.store import Store, deliveries, open_store
from bot.store.allowances import SharedAllowances
from bot.store.lock import hold
from bot.store.probe import probe
from bot.store.tables import Thread
from bot.traces import Traces
from bot.workflows import Memo, builtin_files
from bot.workspace import Git, Reach, Sandbox, Secrets, Workspaces, open_sandbox

_log = log.get("app")

#: seconds after an unanswered write at which its marker is looked for; only then is it written again
LOOK_AT = (5.0, 30.0, 90.0)
#: how long the database may take to answer `/readyz`; whoever holds it for longer keeps out deliveries as well
STORE_SECONDS = 3.0
#: how long GitHub may take to answer `/readyz`, where it does not count: who asks there gives up after a second
GITHUB_SECONDS = 0.8
#: seconds between warnings while GitHub does not say who this App is
GREETING_SECONDS = 30.0
#: what one process at a time does (docs/adr: processes, leases and duties)
INTAKE, OUTBOX, TRACES = "intake", "outbox", "traces"


#: what a process is for
Part = Literal["serve", "receiver", "worker"]


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
    presence: Presence
    loops: Loops

    async def loops_fault(self) -> str | None:
        """Which of its loops (presence, intake, workers, outbox) has stopped, None if all of them go on."""
        stopped = self.loops.stopped
        return f"stopped: {', '.join(stopped)}; the log says why, a restart goes on" if stopped else None

    async def beside_fault(self) -> str | None:
        """What of the rest failed lately; it comes again by itself."""
        failing = [f"{name}: {what}" for name, what in self.loops.failing.items()]
        return "; ".join(failing) or None

    async def store_fault(self) -> str | None:
        """What is wrong with the database, None if it can be read and takes writes."""
        try:
            async with asyncio.timeout(STORE_SECONDS):
                await self.store.read(lambda session: deliveries.find(session, ""))
                await self.store.write(probe)
        except TimeoutError:
            return f"it took no write within {STORE_SECONDS:g} s"
        except Transient as error:
            return str(error)
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
    part: Part = "serve",
) -> AsyncIterator[Bot]:
    """Open the database, start what `part` does; on leaving, end it in order.

    `serve` does everything, `worker` too: only that nothing is delivered to it. A `receiver` takes in and answers, and
    leaves the work to others. Raises `OperatorError` where a setting is missing, another process uses the data folder,
    or the database cannot be shared.
    """
    if missing := missing_to_serve(settings, delivered=part != "worker"):
        raise OperatorError(
            f"not set: {', '.join(missing)}", "set them in the environment or in `.env`, then start again"
        )
    alone = settings.database.startswith("sqlite:")
    if alone and part != "serve":
        raise OperatorError(
            "SQLite is one process's own",
            "run `threadsmith serve` alone, or set BOT_DATABASE_URL to postgresql://… to share the work",
        )
    clock = clock or SystemClock()
    data = settings.data_dir.resolve()
    async with AsyncExitStack() as stack:
        if part != "receiver":
            stack.callback(os.close, hold(data / "lock", f"the data folder {data}"))
        if alone:
            file = Path(settings.database.removeprefix("sqlite:///"))
            stack.callback(os.close, hold(file.with_name(f"{file.name}.lock"), f"the database {file}"))
        store = open_store(settings.database)
        stack.push_async_callback(store.close)
        allowances = SharedAllowances(store)
        stack.push_async_callback(allowances.close)
        github = GitHub(
            base_url=settings.github_url,
            app_id=str(settings.app_id),
            private_key=settings.private_key,
            transport=transport,
            clock=clock,
            allowances=allowances,
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
        works = part != "receiver"
        exporter = exporter_of(settings) if works else None
        if exporter is not None:
            stack.callback(exporter.close)
        duties = (INTAKE, OUTBOX, *((TRACES,) if exporter is not None else ())) if works else ()
        presence = Presence(store, kind=part, wanted=duties, alone=alone)
        queue = RunQueue(store, clock, presence)
        tools = Tools(
            store=store,
            github=github,
            sandbox=sandbox,
            workspaces=Workspaces(data / "work", Git(), allowed_host=clones_host(settings.github_url)),
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
            shared=not alone,
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
        await presence.join()
        stack.push_async_callback(presence.leave)
        loops = Loops(clock)
        # the last group is the first to end: what intake and workers hand back can still be said
        stack.push_async_callback(loops.stop)
        loops.start({"presence": presence.run})
        if works:
            hears, says = presence.duty(INTAKE), presence.duty(OUTBOX)
            under = replace(parts, store=hears.store)

            def away() -> float:
                return github.away_for

            sender = Sender(store, done_by, clock, owner=presence.id, looks=look_at, duty=says.store, away=away)
            after, every = status
            progress = Progress(says.store, speaker, memo, clock, lambda: identities.handle, after=after, every=every)
            timetable = Timetable(under, settings.app_id)
            # how many runs the others could work on is not known here
            alarm = Alarm(store, clock, settings.workers if alone else None)
            loops.start({"outbox": lambda: says.follow(sender.run)})
            loops.start({"workers": workers.run})
            loops.start(
                {"intake": lambda: hears.follow(lambda: Intake(under, Actions(under, take_over)).run())},
                beside={
                    "progress": lambda: says.follow(progress.run),
                    "scan": lambda: hears.follow(timetable.follow),
                    "timetable": lambda: hears.follow(timetable.run),
                    # whoever takes the duty over begins anew, at the landmark
                    "missed": lambda: hears.follow(lambda: Missed(under, settings.app_id, webhook.admit).run()),
                    "upkeep": lambda: hears.follow(lambda: Upkeep(hears.store, clock, settings.keep_days).run()),
                    "alarm": lambda: hears.follow(alarm.run),
                },
            )
        if exporter is not None:
            traces = Traces(presence.duty(TRACES).store, exporter, clock)
            loops.start({}, beside={"traces": lambda: presence.duty(TRACES).follow(traces.run)})
        stack.push_async_callback(_cancelled, asyncio.create_task(_greet(identities, clock, memo), name="greeting"))
        yield Bot(settings, store, github, sandbox, runners, workers, identities, presence, loops)


async def _greet(identities: Identities, clock: Clock, memo: Memo) -> None:
    """Say in the log who we are, or why GitHub does not tell: an instance that cannot reach it must not look idle.

    Then the product's own files are read, as the first file makes the language's validators: not before we are ready,
    and not while the event loop waits for it.
    """
    while True:
        try:
            known = await identities.get()
        except BotError as error:
            _log.warning("github_unreachable", reason=str(error))
            await clock.sleep(GREETING_SECONDS)
        else:
            _log.info("serving", handle=known.handle, owners=sorted(known.owners))
            await asyncio.to_thread(memo.defaults)
            return


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


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
