"""`threadsmith forget`: everything that is kept of a repository, or of a person."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from typing import Annotated, Literal

import typer

from bot.cli.console import err, out, settings
from bot.cli.database import opened
from bot.engine.upkeep import Upkeep
from bot.errors import OperatorError, Transient, UserError
from bot.model.clock import SystemClock
from bot.settings import Settings
from bot.store import Store, forgetting
from bot.store.forgetting import Forgotten

#: how often it is tried where another process holds the database
TRIES = 5
_STAYS = {
    "repository": "what was spent stays, by numbers; so do digests of deliveries, for 90 days",
    "user": "their number stays; what they wrote on GitHub stays there",
}


def forget(
    repository: Annotated[str, typer.Option(help="OWNER/NAME as last seen, or GitHub's number of it.")] = "",
    user: Annotated[str, typer.Option(help="LOGIN as last seen, or GitHub's number of the account.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Forget a repository or a person: show what is kept, ask, and purge it; a running `serve` may go on meanwhile."""
    if bool(repository) == bool(user):
        raise typer.BadParameter("say either --repository or --user")
    found, _ = settings()
    asyncio.run(_forget(found, "repository" if repository else "user", repository or user, yes))


async def _forget(found: Settings, kind: Literal["repository", "user"], name: str, yes: bool) -> None:
    store = opened(found)
    try:
        what = await _meant(store, kind, name)
        kept = await store.read(lambda session: forgetting.counts(session, what))
        spent = await store.read(lambda session: forgetting.spent(session, what))
        _show(what, kept, spent)
        if not yes and not typer.confirm("Forget it?", err=True):
            raise UserError("nothing_done", "nothing was forgotten", "--yes answers the question")
        if await _done(store, what, found.keep_days):
            out("forgotten")
            return
        left = "runs, posts and deliveries under way have to end first; what is left goes then"
        out(f"forgotten, but for what is under way: {left}")
        err("  a running `serve` does that by itself; without one, call `forget` again")
    finally:
        await store.close()


async def _done(store: Store, what: Forgotten, keep_days: int) -> bool:
    """Ask for it, and do what can be done now. Where others hold the database it is tried again."""
    for again in range(TRIES):
        try:
            await store.write(lambda session: forgetting.ask(session, what))
            return await Upkeep(store, SystemClock(), keep_days).forget(what)
        except Transient as error:
            if again == TRIES - 1:
                raise OperatorError(
                    str(error), "a running `serve` goes on with it; else call `forget` again"
                ) from error
            await asyncio.sleep(1)
    raise AssertionError("the last try returns or raises")


async def _meant(store: Store, kind: Literal["repository", "user"], name: str) -> Forgotten:
    known = forgetting.repositories if kind == "repository" else forgetting.users
    meant = await store.read(lambda session: known(session, name))
    if not meant:
        raise UserError(f"unknown_{kind}", f"nothing is kept of {name}", "a name counts as it was last seen")
    if len(meant) > 1:
        each = ", ".join(f"{number} ({called})" for number, called in sorted(meant.items()))
        raise UserError(f"ambiguous_{kind}", f"several were called {name}", f"say which by number: {each}")
    ((number, called),) = meant.items()
    return Forgotten(kind, number, called, SystemClock().now())


def _show(what: Forgotten, kept: Mapping[str, int], spent: int) -> None:
    out(f"{what.kind} {what.name} ({what.id})")
    for name, count in kept.items():
        out(f"  {count:>8,}  {name}")
    if not kept:
        out("            nothing but numbers")
    if spent:
        out(f"  {spent:>8,}  rows of spend, which stay")
    # where it is no terminal: all of it before the question
    sys.stdout.flush()
    err(f"  {_STAYS[what.kind]}")
