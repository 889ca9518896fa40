"""Schedules of a repository: rows that follow its configuration, and what comes in when one is due.

What is due comes in as any other delivery, so that it is looked at once whatever dies: its GUID is made of repository,
workflow and time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from bot.dispatch.configuration import Configured
from bot.dispatch.events import Ignored
from bot.dispatch.occasion import Heard, Occasion
from bot.github import parse
from bot.model.codec import repository_to_json
from bot.model.delivery import NewDelivery
from bot.model.ident import digest
from bot.model.thread import Repository
from bot.store import Session, Store, schedules
from bot.store.schedules import Wanted
from bot.store.tables import Schedule, Thread
from bot.workflows import Configuration
from bot.workflows.triggers import last_time, next_time

#: the name of such a delivery's event; the front door keeps none of this name
EVENT = "schedule"
ACTION = "due"


@dataclass(frozen=True, slots=True)
class Place:
    """A repository, and the installation that serves it."""

    repository: Repository
    installation_id: int


@dataclass(frozen=True, slots=True)
class Due:
    """A workflow is due. `thread` is None where an issue is opened for it."""

    repository: Repository
    installation_id: int
    workflow: str
    cron: str
    thread: int | None
    at: datetime


def wanted(usable: Configuration) -> dict[str, Wanted]:
    """What the workflows say, by name."""
    found = {}
    for name, workflow in usable.workflows.items():
        if (schedule := workflow.on.schedule) is not None:
            found[name] = Wanted(schedule.cron, None if schedule.thread == "new" else schedule.thread)
    return found


def follow(session: Session, place: Place, configured: Configured, now: datetime) -> None:
    """Bring the rows of a repository up to date. A configuration that cannot be used leaves them as they are."""
    if configured.configuration is None:
        return
    schedules.keep(
        session,
        place.repository.id,
        wanted(configured.configuration),
        partial(next_time, after=now),
        installation_id=place.installation_id,
        repository=repository_to_json(place.repository),
        commit=configured.version,
    )


async def hear(occasion: Occasion) -> Heard | None:
    """An ear that asks nothing: whoever read the configuration has read the schedules."""
    configured, event = occasion.known, occasion.event
    if configured is None:
        return None

    def act(session: Session, _thread: Thread) -> None:
        place = Place(event.repository, event.installation_id)
        follow(session, place, configured, occasion.parts.clock.now())

    return Heard("", act, silent=True)


def delivery_of(row: Schedule, app_id: int, now: datetime) -> NewDelivery:
    """What comes in for a row that is due. Of several times that have passed it is the newest."""
    at = max(row.next_at, last_time(row.cron, now))
    body = {
        "action": ACTION,
        "repository": row.repository,
        "installation": {"id": row.installation_id},
        "schedule": {"workflow": row.workflow, "cron": row.cron, "thread": row.thread, "at": at.isoformat()},
    }
    name = digest(EVENT, row.repository_id, row.workflow, at.isoformat())
    return NewDelivery(
        app_id=app_id,
        guid=f"{EVENT}-{name[:32]}",
        event=EVENT,
        action=ACTION,
        content=name,
        repository_id=row.repository_id,
        body=json.dumps(body).encode(),
    )


async def present(store: Store, due: Due) -> Due:
    """The same by the repository's present name: it may have come in before a renaming."""
    row = await store.read(lambda session: schedules.find(session, due.repository.id, due.workflow))
    return due if row is None else replace(due, repository=parse.repository(row.repository))


def due_of(payload: Mapping[str, Any]) -> Due | Ignored:
    """What such a delivery says."""
    try:
        told = payload["schedule"]
        return Due(
            parse.repository(payload["repository"]),
            int(payload["installation"]["id"]),
            str(told["workflow"]),
            str(told["cron"]),
            None if told["thread"] is None else int(told["thread"]),
            datetime.fromisoformat(told["at"]),
        )
    except (KeyError, TypeError, ValueError):
        return Ignored("no schedule of ours")
