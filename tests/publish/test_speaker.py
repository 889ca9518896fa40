"""What the speaker puts into the outbox: nothing that did not pass the policy, one row a part."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import col, select

from bot.model.outcome import Intent
from bot.model.slot import Slot
from bot.model.state import OutboxState
from bot.publish import Redactor, Speaker
from bot.publish.split import CHARACTERS
from bot.store import Session, Store, open_store, outbox
from bot.store.tables import Dispatch, Outbox
from tests import rows
from tests.databases import DATABASES
from tests.github.fake import FakeClock
from tests.sending import claim_next

SECRET = "canary-of-the-tests"
SLOT = Slot("thread/1", "index")


class Desk:
    """A speaker on an empty database."""

    def __init__(self, store: Store) -> None:
        self.store, self.clock = store, FakeClock()
        self.speaker = Speaker(Redactor([SECRET]), self.clock)

    async def say(self, body: str, slot: Slot = SLOT, *, by_run: bool = False, **more: Any) -> list[Outbox]:
        """Say it on thread 1; every row there is then."""

        def work(session: Session) -> None:
            run = rows.run(session, guid="g") if by_run else None
            purpose = more.pop("purpose", "index")
            self.speaker.comment(session, rows.thread(session), slot, purpose=purpose, body=body, run=run, **more)

        await self.store.write(work)
        return await self.rows()

    async def rows(self) -> list[Outbox]:
        return await self.store.read(lambda session: list(session.exec(select(Outbox).order_by(col(Outbox.id)))))

    async def posted(self) -> None:
        """The next row goes out."""

        def work(session: Session) -> None:
            claimed = claim_next(session, "me", self.clock.now() + timedelta(hours=1))
            assert claimed is not None
            outbox.posted(session, claimed.row.id, 77, "https://github.test/77", self.clock.now(), claimed.row.digest)

        await self.store.write(work)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    store = open_store(DATABASES.of_folder(tmp_path))
    yield Desk(store)
    await store.close()


async def test_who_may_be_notified(desk: Desk) -> None:
    """The requester, and nobody else that a text names."""
    (row,) = await desk.say("@ana and @bob, fixes #1", mentions=["ana"])
    assert row.body == "@ana and `@bob`, fixes `#1`"


async def test_everybody_may_be_notified_where_that_was_configured(desk: Desk) -> None:
    """Closing keywords stay without effect."""
    (row,) = await desk.say("@ana and @bob, fixes #1", every_mention=True)
    assert row.body == "@ana and @bob, fixes `#1`"


async def test_no_secret_is_said(desk: Desk) -> None:
    """In a fence neither."""
    (row,) = await desk.say(f"it is {SECRET}\n\n```\n{SECRET}\n```")
    assert row.body == "it is [redacted]\n\n```\n[redacted]\n```"


async def test_a_row_knows_its_thread_purpose_and_run(desk: Desk) -> None:
    """From which order and priority follow."""
    (row,) = await desk.say("done", Slot("run/1", "result"), purpose="result", by_run=True)
    assert (row.state, row.action, row.purpose, row.priority) == (OutboxState.PENDING, "comment", "result", 0)
    assert row.run_id is not None
    assert row.sequence == 1
    assert row.created_at == desk.clock.now()
    assert Slot.parse(row.slot) == Slot("run/1", "result")


async def test_a_long_text_is_split_into_slots(desk: Desk) -> None:
    """In order, each within GitHub's bound, nothing lost in between."""
    lines = [f"line {n} {'of the text ' * 20}" for n in range(400)]
    parts = await desk.say("\n".join(lines))
    assert [Slot.parse(row.slot).part for row in parts] == [0, 1]
    assert all(len(row.body) < CHARACTERS for row in parts)
    assert "".join(row.body for row in parts).split("\n") == lines


async def test_what_is_too_long_ends_with_where_the_rest_is(desk: Desk) -> None:
    """At most as many parts as allowed."""
    body = "\n".join(f"line {n} {'of the text ' * 20}" for n in range(900))
    parts = await desk.say(body, rest="The rest is elsewhere.")
    assert [Slot.parse(row.slot).part for row in parts] == [0, 1, 2]
    assert [row.body.endswith("The rest is elsewhere.") for row in parts] == [False, False, True]
    row = (await desk.say(body, Slot("thread/1", "status"), max_parts=1, purpose="status", rest="Elsewhere."))[-1]
    assert len(await desk.rows()) == 4
    assert row.body.endswith("Elsewhere.")


async def test_the_same_again_changes_nothing(desk: Desk) -> None:
    """A step that is repeated says it once."""
    first = await desk.say("one")
    await desk.posted()
    (row,) = await desk.say("one")
    assert row.id == first[0].id
    assert (row.state, row.posted_id) == (OutboxState.POSTED, 77)


async def test_an_edit_stays_one_row(desk: Desk) -> None:
    """The index comment: the posted row waits again, with what it is on GitHub."""
    (first,) = await desk.say("one pin")
    await desk.posted()
    (row,) = await desk.say("two pins")
    assert (row.id, row.slot) == (first.id, first.slot)
    assert (row.state, row.posted_id, row.body) == (OutboxState.PENDING, 77, "two pins")


async def test_other_slots_are_other_rows(desk: Desk) -> None:
    """The text may be the same."""
    await desk.say("same")
    assert len(await desk.say("same", Slot("thread/2", "index"))) == 2


@pytest.mark.parametrize("target", [None, 5])
async def test_a_reaction(desk: Desk, target: int | None) -> None:
    """To a comment, or to the issue; once, whoever asks again."""

    def work(session: Session) -> None:
        slot = Slot("dispatch/1", "reaction")
        desk.speaker.reaction(session, rows.thread(session), slot, content="eyes", target_id=target)

    await desk.store.write(work)
    await desk.store.write(work)
    (row,) = await desk.rows()
    assert (row.action, row.purpose, row.body, row.target_id) == ("reaction", "reaction", "eyes", target)


async def test_said_where_it_was_asked_for(desk: Desk) -> None:
    """Whatever a run says goes where its dispatch came from, the actions aside; else where it is told to."""

    def work(session: Session) -> None:
        thread, run = rows.thread(session), rows.run(session, guid="g")
        session.get_one(Dispatch, run.dispatch_id).reply_to = 801
        for number, purpose in enumerate(("result", "error", "status", "gate")):
            desk.speaker.comment(
                session, thread, Slot("run/1", purpose, part=number), purpose=purpose, body=purpose, run=run
            )
        desk.speaker.output(session, thread, Slot("run/1", "output"), purpose="output", text="x", run=run)
        desk.speaker.intend(session, thread, Slot("run/1", "x"), Intent("comment", {"body": "y"}), run=run)
        desk.speaker.intend(session, thread, Slot("run/1", "x"), Intent("labels", {"add": ["y"]}), run=run)
        desk.speaker.comment(session, thread, SLOT, purpose="index", body="index")
        desk.speaker.comment(session, thread, Slot("thread/1", "command"), purpose="command", body="z", target_id=802)
        desk.speaker.reaction(
            session, thread, Slot("run/1", "reaction-eyes"), content="eyes", target_id=700, target_kind="review"
        )

    await desk.store.write(work)
    said = [(row.purpose, row.target_kind, row.target_id) for row in await desk.rows()]
    assert said == [
        *((purpose, "review_comment", 801) for purpose in ("result", "error", "status", "gate", "output", "output")),
        ("action", "comment", None),
        ("index", "comment", None),
        ("command", "review_comment", 802),
        ("reaction", "review", 700),
    ]
