"""`threadsmith replay`: look at a kept delivery again."""

from __future__ import annotations

from typing import Annotated

import typer

from bot.cli.console import out
from bot.cli.database import look
from bot.errors import UserError
from bot.model.state import DeliveryState
from bot.store import Session, deliveries


def replay(delivery: Annotated[str, typer.Argument(help="GUID or row id of a delivery.")]) -> None:
    """Look at a delivery again that was ignored or failed; a running `serve` takes it up at its next look."""
    out(look(lambda session: _again(session, delivery), write=True))


def _again(session: Session, key: str) -> str:
    found = deliveries.find(session, key)
    if found is None:
        raise UserError(
            "unknown_delivery",
            f"no delivery {key} is kept",
            "the log and GitHub's list of recent deliveries show GUIDs",
        )
    if found.state is DeliveryState.PLANNED:
        raise UserError(
            "already_planned",
            f"{key} led to a dispatch: replaying it would say things twice",
            "ask again in the thread",
        )
    if not found.body:
        raise UserError(
            "purged",
            f"what {key} said is kept no longer: what it was about was deleted, or its time is over",
            "ask again in the thread; BOT_KEEP_DAYS says how long it is kept",
        )
    was = f"{found.state}: {found.reason}" if found.reason else str(found.state)
    deliveries.replay(session, found.id)
    return f"{found.event} {found.guid} will be looked at again (it was {was})"
