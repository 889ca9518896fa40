"""Issues, repositories and installations that go: what was under way in them ends, with one reason."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlmodel import select

from bot.dispatch import lifecycle
from bot.dispatch.identity import Identity
from bot.model.event import Notice
from bot.model.slot import Slot
from bot.model.state import OutboxState, RunState
from bot.model.thread import Account, Repository
from bot.publish import Redactor, Speaker
from bot.store import Session, Store, lives, runs, schedules
from bot.store.tables import Outbox, Run, Schedule, Thread
from tests import rows
from tests.engine.scene import StillClock
from tests.rows import ANA, NOW, REPOSITORY

IDENTITY = Identity(42, "bot", frozenset({"acme"}))
OTHER = Repository(502, Account(10, "acme", "Organization"), "gadgets")


def notice(name: str, action: str, *repositories: Repository, installation: int = 77) -> Notice:
    """An event of a repository or an installation."""
    return Notice(name, action, NOW, ANA, installation, repositories)


async def under_way(store: Store) -> None:
    """A run that works, one that is queued behind it, something to be said, a schedule."""

    def work(session: Session) -> None:
        first = rows.run(session, guid="a")
        rows.run(session, guid="b")
        assert runs.claim(session, "me", NOW) == first.id
        thread = session.get_one(Thread, first.thread_id)
        speaker = Speaker(Redactor([]), StillClock(NOW))
        speaker.comment(session, thread, Slot(f"thread/{thread.id}", "index"), purpose="index", body="pins")
        session.add(
            Schedule(
                repository_id=REPOSITORY.id, installation_id=77, workflow="w", cron="0 0 * * *", next_at=NOW, thread=1
            )
        )

    await store.write(work)


async def follow(store: Store, told: Notice) -> str:
    """What came of a notice."""
    return await store.write(lambda session: lifecycle.follow(session, told, IDENTITY, NOW))


async def found(store: Store) -> tuple[list[tuple[RunState, str | None]], list[tuple[OutboxState, str]], list[str]]:
    """Runs with who called them off, posts with their reason, threads with theirs."""

    def look(
        session: Session,
    ) -> tuple[list[tuple[RunState, str | None]], list[tuple[OutboxState, str]], list[str]]:
        ledger = [(run.state, run.cancelled_by) for run in session.exec(select(Run)).all()]
        posts = [(row.state, row.reason) for row in session.exec(select(Outbox)).all()]
        return ledger, posts, [thread.gone for thread in session.exec(select(Thread)).all()]

    return await store.read(look)


ENDS = [
    (notice("repository", "deleted", REPOSITORY), "repository_removed"),
    (notice("repository", "archived", REPOSITORY), "archived"),
    (notice("installation", "deleted"), "app_removed"),
    (notice("installation", "suspend"), "suspended"),
    (notice("installation_repositories", "removed", REPOSITORY, OTHER), "repository_removed"),
]


@pytest.mark.parametrize(("told", "reason"), ENDS, ids=[f"{told.name}.{told.action}" for told, _ in ENDS])
async def test_what_is_under_way_ends_with_one_reason(store: Store, told: Notice, reason: str) -> None:
    """The running one is called off, the queued one is cancelled, nothing is left to be said, no clock starts more."""
    await under_way(store)
    assert await follow(store, told) == f"{reason}: 2 runs ended"
    ledger, posts, gone = await found(store)
    assert [state for state, _ in ledger] == [RunState.RUNNING, RunState.CANCELLED]
    assert all(by for _, by in ledger)
    assert posts == [(OutboxState.DROPPED, reason)]
    assert gone == [reason]
    assert await store.read(lambda session: schedules.due(session, NOW + timedelta(days=99))) == []
    rests = reason in ("archived", "suspended")
    assert len(await store.read(lambda session: session.exec(select(Schedule)).all())) == rests
    assert await follow(store, told) == f"{reason}: 0 runs ended"


@pytest.mark.parametrize(
    "told", [notice("repository", "deleted", OTHER), notice("installation", "deleted", installation=78)]
)
async def test_others_go_on(store: Store, told: Notice) -> None:
    """What happens to one repository or installation is nothing to the others."""
    await under_way(store)
    assert (await follow(store, told)).endswith(": 0 runs ended")
    _, posts, gone = await found(store)
    assert posts == [(OutboxState.PENDING, "")]
    assert gone == [""]


@pytest.mark.parametrize(
    ("end", "again"),
    [
        (notice("repository", "archived", REPOSITORY), notice("repository", "unarchived", REPOSITORY)),
        (notice("installation", "suspend"), notice("installation", "unsuspend")),
    ],
)
async def test_what_rested_goes_on(store: Store, end: Notice, again: Notice) -> None:
    """Threads may be spoken in again, the clock goes on at its next time; what was dropped stays dropped."""
    await under_way(store)
    await follow(store, end)
    await follow(store, again)
    (row,) = await store.read(lambda session: session.exec(select(Schedule)).all())
    assert row.next_at == NOW.replace(hour=0) + timedelta(days=1)
    _, posts, gone = await found(store)
    assert gone == [""]
    assert posts[0][0] is OutboxState.DROPPED


async def test_unsuspended_does_not_bring_back_what_was_deleted(store: Store) -> None:
    """Only what ended for that reason goes on."""
    await under_way(store)
    await follow(store, notice("repository", "deleted", REPOSITORY))
    await follow(store, notice("installation", "unsuspend"))
    assert (await found(store))[2] == ["repository_removed"]


async def test_a_renamed_repository_goes_on_by_its_new_name(store: Store) -> None:
    """Rows are keyed by number; names are attributes."""
    await under_way(store)
    renamed = Repository(REPOSITORY.id, Account(10, "acme", "Organization"), "sprockets")
    await follow(store, notice("repository", "renamed", renamed))
    ledger, posts, gone = await found(store)
    assert [by for _, by in ledger] == [None, None]
    assert (posts, gone) == ([(OutboxState.PENDING, "")], [""])
    (row,) = await store.read(lambda session: session.exec(select(Schedule)).all())
    assert (row.repository["name"], row.repository["owner"]["login"]) == ("sprockets", "acme")
    names = await store.read(lambda s: [(t.owner, t.name) for t in lives.of_repository(s, REPOSITORY.id)])
    assert names == [("acme", "sprockets")]


async def test_a_repository_that_went_to_a_stranger_ends(store: Store) -> None:
    """Only allowed owners are served, whatever was under way."""
    await under_way(store)
    moved = Repository(REPOSITORY.id, Account(99, "elsewhere", "Organization"), "widgets")
    assert await follow(store, notice("repository", "transferred", moved)) == "repository_removed: 2 runs ended"
    assert (await found(store))[1] == [(OutboxState.DROPPED, "repository_removed")]
