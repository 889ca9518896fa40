"""`threadsmith redeliver`: what GitHub could not deliver, listed and taken now."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from datetime import timedelta
from typing import Annotated

import typer
from rich.table import Table

from bot import webhook
from bot.cli.console import console, err, out, settings
from bot.cli.database import opened
from bot.dispatch import LANDMARK, LogReading, Missing
from bot.errors import Forbidden, NotFound, OperatorError, Transient
from bot.github import GitHub
from bot.model.clock import Clock, SystemClock
from bot.settings import Settings
from bot.store import landmarks

_SINCE = re.compile(r"(\d{1,4})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
#: pages of the log between two signs of life
_PAGES = 10


def _ago(text: str) -> timedelta:
    """`90m`, `2h`, `3d`."""
    match = _SINCE.fullmatch(text.strip())
    if match is None:
        raise typer.BadParameter("say how long ago as minutes, hours or days: 90m, 2h, 3d")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def redeliver(
    since: Annotated[
        timedelta | None,
        typer.Option(parser=_ago, metavar="AGO", help="How far back: 90m, 2h, 3d. As far as the log goes if left out."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what is missing and take nothing.")] = False,
    accepted: Annotated[
        bool,
        typer.Option(
            "--accepted",
            help="Also what GitHub says this bot accepted and the database does not have, as after its loss: "
            "what was answered already may be answered again.",
        ),
    ] = False,
    send: Annotated[
        bool, typer.Option("--send", help="Let GitHub send it again to the webhook instead of fetching it.")
    ] = False,
) -> None:
    """Take what GitHub could not deliver; a running `serve` does so every ten minutes by itself."""
    found, _ = settings()
    wanting = [
        name
        for name, value in (("BOT_GITHUB_APP_ID", found.app_id), ("BOT_GITHUB_PRIVATE_KEY", found.private_key))
        if not value
    ]
    if wanting:
        raise OperatorError(f"not set: {', '.join(wanting)}", "set what `serve` uses; `threadsmith doctor` shows it")
    if not asyncio.run(_redeliver(found, SystemClock(), since, dry_run, accepted, send)):
        raise typer.Exit(1)


async def _redeliver(
    found: Settings, clock: Clock, since: timedelta | None, dry_run: bool, accepted: bool, send: bool
) -> bool:
    """Whether everything that was wanted could be had."""
    store = opened(found)
    github = GitHub(base_url=found.github_url, app_id=str(found.app_id), private_key=found.private_key, clock=clock)
    try:
        reached = await store.read(lambda session: landmarks.reached(session, LANDMARK))
        reading = LogReading(
            store,
            github.hook_log,
            found.app_id,
            webhook.admit,
            clock,
            since=None if since is None else clock.now() - since,
            answered=reached is not None,
            accepted=accepted,
        )
        while not await reading.list(_PAGES):
            err(f"{reading.seen} attempts read …")
        missing = reading.missing()
        err(f"{reading.seen} attempts in GitHub's log, {len(missing)} deliveries missing here")
        if missing:
            console().print(_table(missing))
        if dry_run or not missing:
            return True
        if send:
            # what somebody answered may be ours: only its fetching tells
            wanted = [one for one in missing if accepted or not one.answered]
            return await _send(github, wanted, len(missing) - len(wanted))
        await _take(reading)
        return _tell(reading.tally)
    except (Transient, NotFound, Forbidden) as error:
        raise OperatorError(
            f"GitHub's log of deliveries cannot be read: {error}",
            "what was taken by now is kept; run it again later, or `threadsmith doctor`, which checks the App",
        ) from error
    finally:
        await github.aclose()
        await store.close()


async def _take(reading: LogReading) -> None:
    """Everything: what GitHub fails to show once is asked for again."""
    while not reading.finished:
        try:
            await reading.take(len(reading.missing()))
        except Transient as error:
            if error.limited:
                raise
            err(f"asking again: {error}")


async def _send(github: GitHub, missing: list[Missing], left: int) -> bool:
    for one in missing:
        await github.hook_log.redeliver(one.attempt_id)
    out(f"GitHub was asked to send {_count(len(missing))} again")
    if left:
        err(f"{_count(left)} left that somebody answered")
        err("  add --accepted to have them sent, too; what was answered already may be answered again")
    return True


def _tell(tally: Counter[str]) -> bool:
    out(f"{_count(tally['taken'])} taken; a running `serve` looks at them within seconds")
    if tally["duplicate"]:
        out(f"{_count(tally['duplicate'])} had arrived otherwise")
    if tally["left"]:
        out(f"{_count(tally['left'])} left: nothing in them is acted on")
    if tally["accepted"]:
        err(f"{_count(tally['accepted'])} left that this bot accepted once and the database does not have")
        err("  add --accepted to take them; what was answered already may be answered again")
    lost = tally["gone"] + tally["given up"]
    if lost:
        err(f"{_count(lost)} could not be had: GitHub does not show them")
    return not lost


def _count(number: int) -> str:
    return f"{number} {'delivery' if number == 1 else 'deliveries'}"


def _table(missing: list[Missing]) -> Table:
    table = Table(box=None, pad_edge=False)
    for head in ("sent at (UTC)", "event", "GUID", "answer"):
        table.add_column(head, overflow="fold")
    for one in missing:
        table.add_row(f"{one.at:%Y-%m-%d %H:%M:%S}", one.name, one.guid, one.status)
    return table
