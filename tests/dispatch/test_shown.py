"""An answer counts only for what stood on GitHub when it was given, whenever we hear of what and whatever our clock."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest

from bot.dispatch.heads import show_head
from bot.model.slot import Slot
from bot.model.state import DeliveryState, GateState, OutboxState
from bot.model.thread import Account
from bot.publish import say_gate
from bot.publish.gate_comment import slot_of
from bot.store import Session, gates, outbox
from tests.dispatch.gate_scene import (
    APPROVE,
    COMMENT,
    asking,
    edits,
    gate_of,
    on_github,
    posted,
    row_of,
    ticks,
)
from tests.dispatch.scene import APP_ID, MARKER, ME, MEG, REPO, Scene, comment_payload, stamp
from tests.dispatch.test_ticks import NEW, OLD, pull
from tests.github.fake import answer
from tests.rows import ANA, NOW, REPOSITORY

DOWN = httpx.Response(500, json={"message": "Server Error"})


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


async def approves(scene: Scene, at: datetime, who: Account = MEG, *, on_pull: bool = False) -> str:
    """Somebody says so at a time of GitHub's clock; the delivery's GUID."""
    payload = comment_payload("@bot approve", who, at=at, comment_id=601, created_at=stamp(at))
    if on_pull:
        payload["issue"]["pull_request"] = {"url": ""}
    guid = await scene.deliver(payload)
    await scene.settle()
    return guid


async def pushed(scene: Scene, gate_id: str) -> None:
    """We have heard of a push, and are about to say so."""

    def work(session: Session) -> None:
        found = gates.get(session, gate_id)
        assert found is not None
        show_head(session, scene.speaker, found, NEW)

    await scene.store.write(work)


async def never(scene: Scene) -> None:
    """GitHub's fault outlasts our patience."""
    for _ in range(12):
        await scene.pass_time(timedelta(minutes=3))


# -- the head


async def test_approved_before_the_new_head_stood_there(scene: Scene) -> None:
    """We know of the push, but whoever approved read the older head: said while it stood, or before ours came."""
    gate_id = await asking(scene, head_sha=OLD)
    await posted(scene, gate_id)
    scene.server.on("GET", f"{REPO}/pulls/1", pull(NEW))
    await pushed(scene, gate_id)
    await approves(scene, after(5), on_pull=True)
    gate = await gate_of(scene)
    assert (gate.state, gate.head_sha) == (GateState.OPEN, NEW)
    assert "did not stand here yet" in (await scene.said())[-1]
    assert await scene.said("reaction") == ["confused"]


@pytest.mark.parametrize(("seconds", "state"), [(9, GateState.OPEN), (10, GateState.OPEN), (11, GateState.ANSWERED)])
async def test_approved_before_and_after_the_new_head_was_posted(scene: Scene, seconds: int, state: GateState) -> None:
    """By GitHub's times of the two comments; in the second of our edit nobody has read it."""
    gate_id = await asking(scene, head_sha=OLD)
    await posted(scene, gate_id)
    scene.server.on("GET", f"{REPO}/pulls/1", pull(NEW))
    await pushed(scene, gate_id)
    body = await posted(scene, gate_id)
    on_github(scene, body, at=after(10))
    await approves(scene, after(seconds), on_pull=True)
    assert (await gate_of(scene)).state is state


# -- what others did to the text


async def test_an_alteration_that_is_told_late(scene: Scene) -> None:
    """What stands there is looked at: the answer is void, and our text is put back."""
    body = await posted(scene, await asking(scene))
    on_github(scene, body.replace("Fine?", "Is lunch good?"), at=NOW)
    await approves(scene, after(20))
    gate = await gate_of(scene)
    assert (gate.state, gate.note) == (GateState.VOID, "its text had been changed by `somebody` when it was answered")
    assert (await row_of(scene)).state is OutboxState.PENDING
    await edits(scene, ANA, body, body.replace("Fine?", "Is lunch good?"))
    assert (await gate_of(scene)).state is GateState.VOID


async def test_altered_and_put_back_before_we_looked(scene: Scene) -> None:
    """The text is ours, but it has stood so only since after the answer."""
    body = await posted(scene, await asking(scene))
    on_github(scene, body, at=after(30))
    await approves(scene, after(20))
    assert (await gate_of(scene)).state is GateState.OPEN
    assert "answer again" in (await scene.said())[-1]


async def test_our_clock_is_behind(scene: Scene) -> None:
    """Restored at a time that is earlier by our clock than the answer, and later by GitHub's."""
    gate_id = await asking(scene)
    body = await posted(scene, gate_id)
    ahead = NOW + timedelta(minutes=5)
    await edits(scene, ANA, body, body.replace("Fine?", "Is lunch good?"), at=ahead)
    scene.clock.advance(3)
    await posted(scene, gate_id)
    on_github(scene, body, at=ahead + timedelta(seconds=3))
    await approves(scene, ahead + timedelta(seconds=1))
    assert (await gate_of(scene)).state is GateState.VOID


async def test_a_comment_that_is_gone(scene: Scene) -> None:
    """Nobody has told us; the answer does not count, and the question is said again."""
    await posted(scene, await asking(scene))
    scene.server.on("GET", f"{REPO}/issues/comments/{COMMENT}", answer({"message": "Not Found"}, 404))
    await approves(scene, after(5))
    assert (await gate_of(scene)).state is GateState.OPEN
    row = await row_of(scene)
    assert (row.state, row.posted_id) == (OutboxState.PENDING, None)


# -- a question of several parts


async def long(scene: Scene, **gate: Any) -> list[str]:
    """A question that needs several comments, the boxes in the last one; their texts."""
    show = "\n\n".join(f"Paragraph {number}: " + "word " * 100 for number in range(200))
    options = {"options": APPROVE, "questions": [], "text": False, "handle": "@bot", "show": show}
    gate_id = await asking(scene, options=options, **gate)

    def work(session: Session) -> list[str]:
        found = gates.get(session, gate_id)
        assert found is not None
        say_gate(session, scene.speaker, found)
        bodies = []
        for place, row in enumerate(outbox.parts(session, slot_of(session, found))):
            row.state, row.posted_id = OutboxState.POSTED, COMMENT + place
            session.add(row)
            bodies.append(MARKER.sign(row.body, repository_id=REPOSITORY.id, thread=1, slot=Slot.parse(row.slot)))
            on_github(scene, bodies[-1], comment_id=COMMENT + place)
        session.flush()
        return bodies

    return await scene.store.write(work)


async def changes(scene: Scene, who: Account, place: int, old: str, new: str, at: datetime) -> None:
    """Somebody edits one part."""
    on_github(scene, new, comment_id=COMMENT + place, at=at)
    payload = comment_payload(new, who, author=ME, app_id=APP_ID, comment_id=COMMENT + place, action="edited", old=old)
    payload["comment"]["updated_at"] = stamp(at)
    await scene.deliver(payload)
    await scene.settle()


async def ticks_last(scene: Scene, parts: list[str], at: datetime) -> None:
    new = parts[-1].replace("- [ ] approve", "- [x] approve")
    await changes(scene, MEG, len(parts) - 1, parts[-1], new, at)


async def test_a_tick_below_a_part_that_was_changed(scene: Scene) -> None:
    """The box's own comment is as we said it, and what it is about is not."""
    parts = await long(scene)
    assert len(parts) > 1
    await changes(scene, ANA, 0, parts[0], parts[0].replace("Paragraph 0:", "Harmless:"), NOW)
    await ticks_last(scene, parts, after(2))
    gate = await gate_of(scene)
    assert (gate.state, gate.note) == (GateState.VOID, "its text had been changed by `ana` when it was answered")


async def test_a_tick_below_a_part_whose_change_is_not_told(scene: Scene) -> None:
    """It is void all the same, and the part is put back."""
    parts = await long(scene)
    on_github(scene, parts[0].replace("Paragraph 0:", "Harmless:"))
    await ticks_last(scene, parts, after(2))
    assert (await gate_of(scene)).state is GateState.VOID

    def states(session: Session) -> list[OutboxState]:
        found = gates.listed(session, None)[0]
        return [row.state for row in outbox.parts(session, slot_of(session, found))]

    assert (await scene.store.read(states))[0] is OutboxState.PENDING


async def test_a_tick_on_a_question_of_several_parts(scene: Scene) -> None:
    """As each part was said it counts, also where it is about a head."""
    parts = await long(scene, head_sha=OLD)
    scene.server.on("GET", f"{REPO}/pulls/1", pull(OLD))
    await ticks_last(scene, parts, after(2))
    assert (await gate_of(scene)).state is GateState.ANSWERED


async def test_an_approval_of_a_question_with_a_changed_part(scene: Scene) -> None:
    """Every part is what is approved."""
    parts = await long(scene)
    await changes(scene, ANA, 1, parts[1], parts[1].replace("Paragraph", "Harmless"), after(1))
    await approves(scene, after(2))
    gate = await gate_of(scene)
    assert (gate.state, gate.note) == (GateState.VOID, "its text had been changed by `ana` when it was answered")


# -- what GitHub does not tell


@pytest.mark.parametrize("fault", [DOWN, answer({"message": "Forbidden"}, 403)])
async def test_somebody_by_name_whose_role_is_not_told(scene: Scene, fault: httpx.Response) -> None:
    """A tick counts no more than a command; the comment is put back and says why."""
    body = await posted(scene, await asking(scene, who={"logins": ["meg"]}))
    scene.server.on("GET", scene.permission(MEG), fault)
    await ticks(scene, MEG, body)
    await never(scene)
    gate = await gate_of(scene)
    assert gate.state is GateState.OPEN
    assert gate.note == "the tick by `meg` does not count: GitHub does not tell the role of `meg`"
    assert (await row_of(scene)).state is OutboxState.PENDING


async def test_somebody_by_name_who_has_left(scene: Scene) -> None:
    """No role at all is no answer, whoever is named."""
    body = await posted(scene, await asking(scene, who={"logins": ["meg"]}))
    scene.server.on("GET", scene.permission(MEG), answer({"message": "Not Found"}, 404))
    await ticks(scene, MEG, body)
    gate = await gate_of(scene)
    assert (gate.state, "`meg` has no role here" in gate.note) == (GateState.OPEN, True), gate.note


async def test_a_tick_while_the_head_cannot_be_read(scene: Scene) -> None:
    """After patience it is undone, with a note; the delivery has not failed."""
    body = await posted(scene, await asking(scene, head_sha=OLD))
    scene.server.on("GET", f"{REPO}/pulls/1", DOWN)
    guid = await ticks(scene, MEG, body)
    assert (await scene.became(guid))[0] is DeliveryState.NEW
    await never(scene)
    gate = await gate_of(scene)
    assert (gate.state, "the head cannot be read" in gate.note) == (GateState.OPEN, True)
    assert (await row_of(scene)).state is OutboxState.PENDING
    assert (await scene.became(guid))[0] is DeliveryState.PLANNED


@pytest.mark.parametrize("ticked", [True, False])
async def test_a_limit_costs_nobody_an_answer(scene: Scene, ticked: bool) -> None:
    """Forty minutes later it counts, by a tick as in words."""
    body = await posted(scene, await asking(scene, head_sha=OLD))
    limit = answer({"message": "rate limit"}, 429, retry_after="1200")
    scene.server.on("GET", f"{REPO}/pulls/1", limit, limit, pull(OLD))
    guid = await (ticks(scene, MEG, body) if ticked else approves(scene, after(5), on_pull=True))
    for _ in range(2):
        assert (await scene.became(guid))[0] is DeliveryState.NEW
        await scene.pass_time(timedelta(minutes=20, seconds=1))
    assert (await gate_of(scene)).state is GateState.ANSWERED


@pytest.mark.parametrize("path", ["pulls/1", f"issues/comments/{COMMENT}"])
async def test_an_approval_while_github_does_not_answer(scene: Scene, path: str) -> None:
    """After patience it is told, whatever could not be read."""
    await posted(scene, await asking(scene, head_sha=OLD))
    scene.server.on("GET", f"{REPO}/pulls/1", pull(OLD))
    scene.server.on("GET", f"{REPO}/{path}", DOWN)
    guid = await approves(scene, after(5), on_pull=True)
    assert (await scene.became(guid))[0] is DeliveryState.NEW
    await never(scene)
    assert (await gate_of(scene)).state is GateState.OPEN
    assert await scene.said("reaction") == ["confused"]
    assert "again" in (await scene.said())[-1]
    assert (await scene.became(guid))[0] is DeliveryState.PLANNED
