"""What is accepted becomes rows: dispatch, snapshot, run, what is said; template values."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlmodel import select

from bot.dispatch.acceptance import react
from bot.dispatch.commands import Command
from bot.dispatch.starting import accept, issue_values, trigger
from bot.model.slot import Slot
from bot.publish import Redactor, Speaker
from bot.store import Session, Store
from bot.store.tables import Dispatch, Outbox, Run, Snapshot, Thread
from tests import rows
from tests.dispatch.scene import COMMIT, acceptance, asked, configured, event
from tests.github.fake import FakeClock
from tests.rows import NOW

SPEAKER = Speaker(Redactor([]), FakeClock(NOW))
HELLO = Command("default", "ask", {"depth": "2"}, "hello")


async def test_two_requests_of_one_delivery_are_two_dispatches_of_one_snapshot(store: Store) -> None:
    """In order, with params, role and the commit's files; the comment has one reaction."""
    files = configured()

    def work(session: Session) -> None:
        thread = rows.thread(session)
        about = acceptance(session, event("@bot hello"), files)
        for ordinal in (0, 1):
            accept(session, thread, about, asked(HELLO, ordinal), None, SPEAKER)

    await store.write(work)
    found = await store.read(lambda s: s.exec(select(Dispatch)).all())
    assert [(d.ordinal, d.sequence, d.command, d.params, d.actor_role) for d in found] == [
        (0, 1, "ask", {"depth": "2"}, "write"),
        (1, 2, "ask", {"depth": "2"}, "write"),
    ]
    (snapshot,) = await store.read(lambda s: s.exec(select(Snapshot)).all())
    assert (snapshot.commit, snapshot.files) == (COMMIT, files.files)
    assert {d.snapshot_id for d in found} == {snapshot.id}
    assert [r.number for r in await store.read(lambda s: s.exec(select(Run)).all())] == [1, 2]
    reactions = await store.read(lambda s: s.exec(select(Outbox)).all())
    assert [(o.body, o.target_id) for o in reactions] == [("eyes", 501)]


@pytest.mark.parametrize(("progress", "seen"), [("none", 0), ("reaction", 1), ("status", 1)])
async def test_reactions_can_be_left_out(store: Store, progress: str, seen: int) -> None:
    """`publish.progress: none` is silent while it works; it is dispatched all the same."""
    files = configured(f"version: 1\npublish: {{progress: {progress}}}\n")

    def work(session: Session) -> None:
        about = acceptance(session, event(), files)
        accept(session, rows.thread(session), about, asked(HELLO), None, SPEAKER)

    await store.write(work)
    assert len(await store.read(lambda s: s.exec(select(Outbox)).all())) == seen
    assert len(await store.read(lambda s: s.exec(select(Dispatch)).all())) == 1


async def test_an_act_is_all_there_is_of_a_builtin(store: Store) -> None:
    """It never queues, also where the configuration is broken."""
    acted: list[int] = []

    def act(session: Session, thread: Thread) -> None:
        acted.append(thread.number)

    def work(session: Session) -> None:
        about = acceptance(session, event(), configured("version: 9\n"))
        accept(session, rows.thread(session), about, asked(Command("builtin", "help")), act, SPEAKER)

    await store.write(work)
    assert acted == [1]
    assert await store.read(lambda s: s.exec(select(Run)).all()) == []
    assert await store.read(lambda s: s.exec(select(Outbox)).all()) == []


async def test_another_bots_dispatch_has_no_role(store: Store) -> None:
    """It was admitted by its number, so nothing is checked again at the start."""

    def work(session: Session) -> None:
        about = acceptance(session, event())
        accept(session, rows.thread(session), about, asked(HELLO, role=None), None, SPEAKER)

    await store.write(work)
    (found,) = await store.read(lambda s: s.exec(select(Dispatch)).all())
    assert found.actor_role == ""


async def test_a_reaction_on_an_issue_that_asked(store: Store) -> None:
    """There is no comment to react to."""

    def work(session: Session) -> Slot:
        about = acceptance(session, replace(event(), comment=None))
        react(session, rows.thread(session), about, asked(HELLO, 3), "confused", SPEAKER)
        return about.slot(asked(HELLO, 3), "x")

    slot = await store.write(work)
    (found,) = await store.read(lambda s: s.exec(select(Outbox)).all())
    assert (found.target_id, found.body, found.action) == (None, "confused", "reaction")
    assert (slot.step, slot.iteration, slot.scope.split("/")[0]) == ("ask", 3, "dispatch")


def test_template_values() -> None:
    """As the pages on templates promise them; the event's own extras are there too."""
    about = replace(event("@bot hello"), fields={"label": "urgent", "text": "not mine"})
    assert trigger(about, HELLO) == {
        "label": "urgent",
        "name": "mention",
        "text": "hello",
        "actor": "ana",
        "comment_id": 501,
        "url": "https://github.test/acme/widgets/issues/1#issuecomment-501",
        "at": NOW.isoformat(),
    }
    assert issue_values(about.issue) == {
        "number": 1,
        "title": "Crash on empty input",
        "body": "It crashes.",
        "author": "ana",
        "labels": ["bug"],
        "url": "https://github.test/acme/widgets/issues/1",
        "state": "open",
        "is_pull_request": False,
    }
