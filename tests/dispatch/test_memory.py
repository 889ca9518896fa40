"""What is kept of each event: texts, deletions, pins, and which comment of ours fills which slot."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlmodel import select

from bot.dispatch.memory import observe
from bot.model.role import Role
from bot.model.slot import Slot
from bot.model.state import DeliveryState, DispatchState, OutboxState, RunState
from bot.model.thread import Account
from bot.publish import Redactor, Speaker
from bot.store import Session, Store, outbox, threads
from bot.store.tables import CommentVersion, Dispatch, Outbox, Pin, Run, Thread
from tests import rows
from tests.dispatch.scene import (
    APP_ID,
    MARKER,
    ME,
    MEG,
    REPO,
    SAM,
    Scene,
    around,
    comment,
    comment_payload,
    event,
    issue_fields,
)
from tests.github.fake import FakeClock, answer
from tests.rows import ANA, NOW, REPOSITORY

SLOT = Slot("run/r1", "result", step="ask")
SPEAKER = Speaker(Redactor([]), FakeClock(NOW))


def signed(body: str = "an answer", slot: Slot = SLOT, number: int = 1) -> str:
    return MARKER.sign(body, repository_id=REPOSITORY.id, thread=number, slot=slot)


def want(session: Session, state: OutboxState = OutboxState.UNSURE) -> str:
    """A comment that was sent, and nobody knows whether it arrived."""
    thread = rows.thread(session)
    row = outbox.ensure(
        session, SLOT, thread_id=thread.id, action="comment", purpose="result", body="an answer", now=NOW
    )
    row.state = state
    session.add(row)
    return row.id


async def slot(scene: Scene) -> Outbox:
    """The row of the slot."""
    found = await scene.store.read(lambda s: outbox.find(s, SLOT))
    assert found is not None
    return found


def own(comment_id: int, body: str | None = None, **more: Any) -> dict[str, Any]:
    """Our own comment, come back."""
    return comment_payload(body or signed(), ME, comment_id=comment_id, app_id=APP_ID, **more)


# -- our own comments


async def test_our_own_comment_confirms_its_slot(scene: Scene) -> None:
    """What was unsure is posted, with id and address; GitHub is asked nothing."""
    await scene.store.write(want)
    guid = await scene.deliver(own(900))
    await scene.settle()
    row = await slot(scene)
    assert (row.state, row.posted_id, row.url[-3:]) == (OutboxState.POSTED, 900, "900")
    assert await scene.became(guid) == (DeliveryState.IGNORED, "our own")
    kept = await scene.store.read(lambda s: s.exec(select(CommentVersion.slot)).all())
    assert kept == [str(SLOT)]
    assert scene.server.requests == []


@pytest.mark.parametrize(("first", "second"), [(900, 901), (901, 900)])
async def test_of_two_in_one_slot_the_younger_is_deleted(scene: Scene, first: int, second: int) -> None:
    """Whichever came back first; the slot is the older's afterwards."""
    await scene.store.write(want)
    scene.server.on("DELETE", f"{REPO}/issues/comments/901", httpx.Response(204))
    await scene.deliver(own(first))
    await scene.settle()
    guid = await scene.deliver(own(second))
    await scene.settle()
    assert [r.url.path for r in scene.server.sent("DELETE")] == [f"{REPO}/issues/comments/901"]
    row = await slot(scene)
    assert (row.posted_id, row.url[-3:], row.state) == (900, "900", OutboxState.POSTED)
    assert (await scene.became(guid))[0] is DeliveryState.IGNORED


@pytest.mark.parametrize(("first", "second"), [(900, 901), (901, 900)])
async def test_a_second_one_is_deleted_although_github_is_down(scene: Scene, first: int, second: int) -> None:
    """It is tried again later; one that is gone already is fine."""
    await scene.store.write(want)
    path = f"{REPO}/issues/comments/901"
    scene.server.on("DELETE", path, answer({}, 502), answer({}, 404))
    await scene.deliver(own(first))
    await scene.settle()
    guid = await scene.deliver(own(second))
    await scene.settle()
    assert (await scene.became(guid))[0] is DeliveryState.NEW
    await scene.pass_time(timedelta(seconds=30))
    assert (await scene.became(guid))[0] is DeliveryState.IGNORED
    assert len(scene.asked("/issues/comments/901")) == 2
    assert (await slot(scene)).posted_id == 900


async def test_an_edit_or_deletion_by_us_fills_nothing(scene: Scene) -> None:
    """Only `created` does; a deleted text of ours is purged too."""
    await scene.store.write(want)
    for action in ("edited", "deleted"):
        await scene.deliver(own(900, action=action, at=NOW + timedelta(seconds=1)))
        await scene.settle()
    assert (await slot(scene)).posted_id is None
    bodies = await scene.store.read(lambda s: s.exec(select(CommentVersion.body)).all())
    assert bodies == [""]


async def test_a_copied_marker_fills_no_slot(scene: Scene) -> None:
    """A person's comment with our marker in it, and ours from another thread."""
    await scene.store.write(want)
    await scene.says(SAM, signed(), comment_id=900)
    await scene.deliver(own(901, signed(number=2)))
    await scene.settle()
    row = await slot(scene)
    assert (row.state, row.posted_id) == (OutboxState.UNSURE, None)
    kept = await scene.store.read(lambda s: s.exec(select(CommentVersion.slot)).all())
    assert kept == [None, None]


async def test_a_persons_edit_of_our_comment_confirms_it(scene: Scene) -> None:
    """The comment is still the App's, so it was posted."""
    await scene.store.write(want)
    body = signed().replace("an answer", "an answer, corrected")
    await scene.says(MEG, body, author=ME, app_id=APP_ID, comment_id=900, action="edited", old=signed())
    row = await slot(scene)
    assert (row.state, row.posted_id) == (OutboxState.POSTED, 900)
    assert await scene.dispatched() == []


async def test_another_apps_comment_with_our_marker_fills_no_slot(scene: Scene) -> None:
    """A marker is worth nothing under somebody else's name, whichever App that is."""
    await scene.store.write(want)
    await scene.says(Account(81, "other[bot]", "Bot"), signed(), app_id=7, comment_id=900)
    assert (await slot(scene)).posted_id is None


# -- everybody else's


async def test_every_text_is_kept_whether_or_not_anything_is_asked(scene: Scene) -> None:
    """Also of those who may not command; an edit is another version, the same one again is not."""
    await scene.says(SAM, "first", comment_id=501)
    await scene.says(SAM, "second", comment_id=501, action="edited", old="first", at=NOW + timedelta(seconds=1))
    await scene.says(SAM, "second", comment_id=501, action="edited", old="first", at=NOW + timedelta(seconds=1))
    await scene.deliver({"action": "opened", "issue": issue_fields()} | around(SAM), "issues")
    await scene.settle()

    def texts(session: Session) -> list[tuple[int, str, str]]:
        found = session.exec(select(CommentVersion))
        return sorted((v.comment_id, v.author, v.body) for v in found)

    assert await scene.store.read(texts) == [
        (0, "sam", "It crashes."),
        (501, "sam", "first"),
        (501, "sam", "second"),
    ]


async def test_a_deleted_comment_is_purged_and_its_pin_goes(scene: Scene) -> None:
    """The text at once; the index of pins is brought up to date."""
    scene.configure("version: 1\n")
    await scene.says(ANA, "@bot pin never drop 3.9", comment_id=501)
    assert "never drop" in (await scene.said())[0]
    await scene.says(ANA, "@bot pin never drop 3.9", comment_id=501, action="deleted")
    assert await scene.store.read(lambda s: s.exec(select(CommentVersion.body)).all()) == [""]
    assert await scene.store.read(lambda s: s.exec(select(Pin)).all()) == []
    (index,) = await scene.said()
    assert "Nothing is pinned" in index
    await scene.says(ANA, "unpinned", comment_id=502, action="deleted")
    assert len(await scene.said()) == 1


async def test_a_deleted_trigger_cancels_what_has_not_started(scene: Scene) -> None:
    """Only what that comment asked for, and its end is told: somebody else may have deleted it."""
    await scene.says(ANA, "@bot one\n@bot two", comment_id=501)
    await scene.says(MEG, "@bot three", comment_id=502)

    def start(session: Session) -> None:
        run = session.exec(select(Run).where(Run.number == 1)).one()
        run.state = RunState.RUNNING
        session.add(run)
        dispatch = next(d for d in session.exec(select(Dispatch)) if d.id == run.dispatch_id)
        dispatch.state = DispatchState.STARTED
        session.add(dispatch)

    await scene.store.write(start)
    await scene.says(ANA, "@bot one\n@bot two", comment_id=501, action="deleted")
    states = [(d.sequence, d.state) for d in await scene.dispatched()]
    assert states == [(1, DispatchState.STARTED), (2, DispatchState.CANCELLED), (3, DispatchState.QUEUED)]
    assert [r.state for r in await scene.runs()] == [RunState.RUNNING, RunState.CANCELLED, RunState.QUEUED]
    assert [r.cancelled_by is None for r in await scene.runs()] == [True, False, True]
    assert (await scene.runs())[1].reason == "cancelled by the deletion of the comment that asked"
    assert await scene.said() == ["r2 `ask` was cancelled by the deletion of the comment that asked."]


async def test_githubs_own_pins_are_kept(store: Store) -> None:
    """Who, when, the text; `unpinned` takes that one away and leaves the bot's own; an edit refreshes both."""
    said = comment(501, "keep 3.9", SAM)
    pinned = replace(event(sender=MEG, action="pinned", said=said), at=NOW + timedelta(seconds=9))

    def work(session: Session) -> None:
        thread = observe(session, pinned, MARKER, SPEAKER, "@bot", NOW, ours=False)
        threads.pin(session, thread.id, 501, {}, by_id=1, by="ana", role=str(Role.WRITE), when=NOW)
        edited = replace(said, body="keep 3.10", updated_at=NOW + timedelta(seconds=20))
        observe(session, event(sender=SAM, action="edited", said=edited), MARKER, SPEAKER, "@bot", NOW, ours=False)

    await store.write(work)
    both = await store.read(lambda s: s.exec(select(Pin)).all())
    (native,) = [pin for pin in both if pin.native]
    assert (native.pinned_by, native.pinned_at, native.pinned_by_role) == ("meg", NOW + timedelta(seconds=9), None)
    assert [pin.comment["body"] for pin in both] == ["keep 3.10"] * 2
    await store.write(
        lambda s: observe(s, replace(pinned, action="unpinned"), MARKER, SPEAKER, "@bot", NOW, ours=False)
    )
    assert [pin.native for pin in await store.read(lambda s: s.exec(select(Pin)).all())] == [False]


async def test_a_renamed_repository_is_the_same_thread(scene: Scene) -> None:
    """Names are attributes: the row follows, and what is asked is asked under the new name."""
    await scene.says(ANA, "hello", comment_id=501)
    payload = comment_payload("@bot hello", ANA, comment_id=502)
    payload["repository"]["name"] = "gadgets"
    payload["repository"]["private"] = True
    scene.server.on(
        "GET", "/repos/acme/gadgets/collaborators/ana/permission", answer({"permission": "write", "role_name": "write"})
    )
    await scene.deliver(payload)
    await scene.settle()
    (found,) = await scene.store.read(lambda s: s.exec(select(Thread)).all())
    assert (found.name, found.private, found.number) == ("gadgets", True, 1)
    assert len(await scene.dispatched()) == 1


async def test_another_repository_under_an_old_name_is_another_thread(scene: Scene) -> None:
    """Keyed by number: what was kept of the first is not shown to the second."""
    await scene.says(ANA, "secret of the first", comment_id=501)
    payload = comment_payload("hello", ANA, comment_id=502)
    payload["repository"]["id"] = 777
    await scene.deliver(payload)
    await scene.settle()
    found = await scene.store.read(lambda s: s.exec(select(Thread)).all())
    assert sorted(t.repository_id for t in found) == [501, 777]
    second = next(t for t in found if t.repository_id == 777)
    kept = await scene.store.read(lambda s: threads.versions(s, second.id))
    assert [version.body for version in kept] == ["hello"]
