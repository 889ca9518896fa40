"""A gate that stands in a thread, for tests of what people do to it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlmodel import select

from bot.model.slot import Slot
from bot.model.state import AttemptState, OutboxState, RunState
from bot.model.thread import Account
from bot.publish import say_gate
from bot.publish.gate_comment import slot_of
from bot.store import Session, gates, outbox, runs
from bot.store.tables import Attempt, Gate, Outbox, Run
from tests import rows
from tests.dispatch.scene import APP_ID, MARKER, ME, REPO, Scene, comment_payload
from tests.github.fake import answer
from tests.rows import NOW, REPOSITORY

#: GitHub's id of the comment that asks
COMMENT = 900
APPROVE = {"approve": None, "reject": None}


async def asking(scene: Scene, **gate: Any) -> str:
    """A run of ana's waits for an answer, and its comment stands; the gate's id."""

    def work(session: Session) -> str:
        run = rows.run(session, guid="asked")
        runs.claim(session, "me", NOW)
        attempt = Attempt(
            run_id=run.id,
            frame_id=runs.rows(session, run.id).root.id,
            step="ok",
            kind="ask",
            number=1,
            state=AttemptState.WAITING,
            started_at=NOW,
        )
        session.add(attempt)
        session.flush()
        values: dict[str, Any] = {
            "question": "Fine?",
            "options": {"options": APPROVE, "questions": [], "text": False, "handle": "@bot"},
            "who": {"role": "maintain"},
            "digest": "0f3c9a1" + "0" * 57,
            "deadline": NOW + timedelta(days=3),
            "opened_at": NOW,
        }
        made = Gate(run_id=run.id, attempt_id=attempt.id, **(values | gate))
        session.add(made)
        session.flush()
        runs.wait(session, run, NOW, made.deadline)
        stands(scene, session, made.id)
        return made.id

    return await scene.store.write(work)


def stands(scene: Scene, session: Session, gate_id: str) -> Outbox:
    """What the gate says now was posted."""
    found = gates.get(session, gate_id)
    assert found is not None
    say_gate(session, scene.speaker, found)
    row = outbox.find(session, slot_of(session, found))
    assert row is not None
    row.state, row.posted_id, row.posted_at = OutboxState.POSTED, row.posted_id or COMMENT, scene.clock.now()
    session.add(row)
    session.flush()
    on_github(scene, MARKER.sign(row.body, repository_id=REPOSITORY.id, thread=1, slot=Slot.parse(row.slot)))
    return row


def on_github(scene: Scene, body: str, *, comment_id: int = COMMENT, at: datetime | None = None) -> None:
    """The comment stands so on GitHub since `at`, by GitHub's clock."""
    since = at or scene.clock.now()
    said = comment_payload(body, ME, comment_id=comment_id, at=since, app_id=APP_ID)["comment"]
    scene.server.on("GET", f"{REPO}/issues/comments/{comment_id}", answer(said))


async def posted(scene: Scene, gate_id: str) -> str:
    """The comment's text on GitHub, with its marker, as soon as all is said."""

    def work(session: Session) -> str:
        row = stands(scene, session, gate_id)
        return MARKER.sign(row.body, repository_id=REPOSITORY.id, thread=1, slot=Slot.parse(row.slot))

    return await scene.store.write(work)


async def edits(scene: Scene, person: Account, old: str, new: str, **more: Any) -> str:
    """Somebody changes the comment; the delivery's GUID."""
    on_github(scene, new, at=more.get("at"))
    guid = await scene.deliver(
        comment_payload(new, person, author=ME, app_id=APP_ID, comment_id=COMMENT, action="edited", old=old, **more)
    )
    await scene.settle()
    return guid


async def ticks(scene: Scene, person: Account, body: str, label: str = "approve") -> str:
    """Somebody ticks a box."""
    return await edits(scene, person, body, body.replace(f"- [ ] {label}", f"- [x] {label}"))


async def gate_of(scene: Scene) -> Gate:
    """The gate as it is."""
    return await scene.store.read(lambda session: session.exec(select(Gate)).one())


async def row_of(scene: Scene) -> Outbox:
    """The row of its comment."""

    def work(session: Session) -> Outbox:
        return session.exec(select(Outbox).where(Outbox.purpose == "gate")).one()

    return await scene.store.read(work)


async def run_state(scene: Scene) -> RunState:
    """Where its run is."""
    return await scene.store.read(lambda session: session.exec(select(Run)).one().state)
