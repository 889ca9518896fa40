"""What people do to the comment of a gate: a tick counts once or not at all, everything else is undone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest

from bot.model.state import DeliveryState, GateState, OutboxState, RunState
from bot.model.thread import Account
from bot.publish import say_reminder
from bot.store import Session, deliveries, gates, outbox, spoken
from bot.store.tables import Gate
from tests.dispatch.gate_scene import COMMENT, asking, edits, gate_of, posted, row_of, run_state, ticks
from tests.dispatch.scene import APP_ID, ME, MEG, REPO, SAM, Scene, comment_payload, stamp
from tests.github.fake import answer
from tests.rows import ANA, NOW

DOWN = httpx.Response(500, json={"message": "Server Error"})
OLD, NEW = "a" * 40, "b" * 40


async def test_a_tick_answers(scene: Scene) -> None:
    """The row has who, how and when; its run goes on; the comment is to say so."""
    gate_id = await asking(scene)
    body = await posted(scene, gate_id)
    guid = await ticks(scene, MEG, body)
    gate = await gate_of(scene)
    assert gate.answer == {
        "answer": "approve", "text": "", "by": "meg", "by_id": MEG.id, "channel": "tick", "at": NOW.isoformat(),
    }  # fmt: skip
    assert await run_state(scene) is RunState.QUEUED
    row = await row_of(scene)
    assert (row.state, "✅ Answered by `meg`" in row.body) == (OutboxState.PENDING, True)
    assert (await scene.became(guid))[0] is DeliveryState.PLANNED


async def test_our_own_edit_is_no_answer(scene: Scene) -> None:
    """Whatever boxes it has."""
    body = await posted(scene, await asking(scene))
    await ticks(scene, ME, body)
    assert (await gate_of(scene)).state is GateState.OPEN


async def test_another_app_with_our_text(scene: Scene) -> None:
    """Its comment is not ours, whatever stands in it."""
    body = await posted(scene, await asking(scene))
    new = body.replace("- [ ] approve", "- [x] approve")
    other = Account(81, "other[bot]", "Bot")
    await scene.deliver(comment_payload(new, MEG, author=other, app_id=7, comment_id=901, action="edited", old=body))
    await scene.settle()
    assert (await gate_of(scene)).state is GateState.OPEN


async def test_the_role_is_not_told_yet(scene: Scene) -> None:
    """The delivery waits, and the tick counts when GitHub answers."""
    body = await posted(scene, await asking(scene))
    scene.server.on("GET", scene.permission(MEG), DOWN)
    guid = await ticks(scene, MEG, body)
    assert (await scene.became(guid))[0] is DeliveryState.NEW
    assert (await gate_of(scene)).state is GateState.OPEN
    scene.grant(MEG, "maintain")
    await scene.pass_time(timedelta(seconds=30))
    assert (await gate_of(scene)).state is GateState.ANSWERED


async def test_the_role_is_never_told(scene: Scene) -> None:
    """After 15 minutes it is a no, and the comment is put back."""
    body = await posted(scene, await asking(scene))
    scene.server.on("GET", scene.permission(MEG), DOWN)
    guid = await ticks(scene, MEG, body)
    for _ in range(12):
        await scene.pass_time(timedelta(minutes=3))
    assert (await scene.became(guid))[0] is DeliveryState.PLANNED
    assert (await gate_of(scene)).state is GateState.OPEN
    assert (await row_of(scene)).state is OutboxState.PENDING


@pytest.mark.parametrize("state", [OutboxState.PENDING, OutboxState.SENDING, OutboxState.POSTED])
async def test_put_back_whatever_we_are_about_to_say(scene: Scene, state: OutboxState) -> None:
    """Also where our own edit is under way, which may have come before the change."""
    body = await posted(scene, await asking(scene))

    def being(session: Session) -> str:
        row = spoken.standing(session, (found := session.get_one(type(kept), kept.id)).thread_id, COMMENT, None)
        assert row is not None
        row.state = state
        session.add(row)
        return found.digest

    kept = await row_of(scene)
    sent = await scene.store.write(being)
    await edits(scene, SAM, body, "gone")

    def done(session: Session) -> None:
        if state is OutboxState.SENDING:
            outbox.posted(session, kept.id, COMMENT, "", NOW, sent)

    await scene.store.write(done)
    row = await row_of(scene)
    assert (row.state, row.body) == (OutboxState.PENDING, kept.body)


async def test_a_stranger_gets_no_word(scene: Scene) -> None:
    """Only the comment back."""
    body = await posted(scene, await asking(scene))
    await ticks(scene, SAM, body)
    gate = await gate_of(scene)
    assert (gate.state, gate.note) == (GateState.OPEN, "")


async def test_the_box_of_somebody_else_is_not_ticked_twice(scene: Scene) -> None:
    """Before the bot has looked: ana's tick does not count, meg's does, and it is one box."""
    body = await posted(scene, await asking(scene))
    first = body.replace("- [ ] reject", "- [x] reject")
    await scene.deliver(
        comment_payload(first, ANA, author=ME, app_id=APP_ID, comment_id=COMMENT, action="edited", old=body)
    )
    await edits(scene, MEG, first, first.replace("- [ ] approve", "- [x] approve"), at=NOW + timedelta(seconds=1))
    gate = await gate_of(scene)
    assert gate.answer is not None
    assert (gate.answer["by"], gate.answer["answer"]) == ("meg", "approve")


async def test_a_box_taken_off(scene: Scene) -> None:
    """It is no answer, and nothing to be told."""
    body = await posted(scene, await asking(scene))
    await edits(scene, MEG, body.replace("- [ ] approve", "- [x] approve"), body)
    gate = await gate_of(scene)
    assert (gate.state, gate.note) == (GateState.OPEN, "")


async def test_a_box_of_what_is_shown(scene: Scene) -> None:
    """A task list in a plan is text of ours: a tick there is a change."""
    options = {"options": {"approve": None}, "questions": [], "text": False, "show": "- [ ] write it"}
    body = await posted(scene, await asking(scene, options=options))
    await ticks(scene, MEG, body, "write it")
    gate = await gate_of(scene)
    assert (gate.state, gate.altered_by) == (GateState.OPEN, "meg")


async def test_a_mention_in_our_comment_asks_for_nothing(scene: Scene) -> None:
    """What stands there is ours to say."""
    body = await posted(scene, await asking(scene))
    await edits(scene, MEG, body, f"@bot approve\n\n{body}")
    gate = await gate_of(scene)
    assert (gate.state, gate.altered_by) == (GateState.OPEN, "meg")
    assert len(await scene.dispatched()) == 1


async def test_an_approval_while_the_text_is_changed_is_void(scene: Scene) -> None:
    """Said before our text stood there again; said later, it counts."""
    gate_id = await asking(scene)
    body = await posted(scene, gate_id)
    await edits(scene, MEG, body, body.replace("Fine?", "Lunch?"))
    await scene.says(MEG, "@bot approve", comment_id=700)
    gate = await gate_of(scene)
    assert (gate.state, gate.note) == (GateState.VOID, "its text had been changed by `meg` when it was answered")
    assert await run_state(scene) is RunState.QUEUED


async def test_an_approval_after_our_text_stands_again(scene: Scene) -> None:
    """It is about what was asked."""
    gate_id = await asking(scene)
    body = await posted(scene, gate_id)
    await edits(scene, MEG, body, body.replace("Fine?", "Lunch?"))
    await posted(scene, gate_id)
    later = NOW + timedelta(seconds=1)
    await scene.says(MEG, "@bot approve", comment_id=700, at=later, created_at=stamp(later))
    assert (await gate_of(scene)).state is GateState.ANSWERED


async def test_looked_at_again(scene: Scene) -> None:
    """A delivery that is replayed answers nothing twice, and says nothing new."""
    gate_id = await asking(scene)
    body = await posted(scene, gate_id)
    guid = await ticks(scene, MEG, body)
    before = await posted(scene, gate_id)
    first = await gate_of(scene)
    new = body.replace("- [ ] approve", "- [x] approve")
    await edits(scene, MEG, body, new)
    gate = await gate_of(scene)
    assert (gate.answer, gate.note) == (first.answer, "")
    assert await posted(scene, gate_id) == before
    assert (await scene.became(guid))[0] is DeliveryState.PLANNED


# -- deletions


def deletion(body: str, sender: Account = MEG) -> dict[str, Any]:
    return comment_payload(body, sender, author=ME, app_id=APP_ID, comment_id=COMMENT, action="deleted")


async def test_deleted_while_it_asks(scene: Scene) -> None:
    """It is to be said in a new comment."""
    body = await posted(scene, await asking(scene))
    await scene.deliver(deletion(body))
    await scene.settle()
    row = await row_of(scene)
    assert (row.state, row.posted_id) == (OutboxState.PENDING, None)


async def test_deleted_while_we_change_it(scene: Scene) -> None:
    """Nobody knows yet what becomes of the change, so the deletion is looked at again."""
    body = await posted(scene, await asking(scene))

    kept = await row_of(scene)

    def sending(session: Session) -> None:
        row = session.get_one(type(kept), kept.id)
        row.state = OutboxState.SENDING
        session.add(row)

    await scene.store.write(sending)
    guid = await scene.deliver(deletion(body))
    await scene.settle()
    assert (await scene.became(guid))[0] is DeliveryState.NEW
    await scene.store.write(lambda session: outbox.posted(session, kept.id, COMMENT, "", NOW, kept.digest))
    await scene.pass_time(timedelta(seconds=3))
    assert (await row_of(scene)).posted_id is None


async def test_deleted_when_it_is_settled(scene: Scene) -> None:
    """It stays away."""
    gate_id = await asking(scene)
    await ticks(scene, MEG, await posted(scene, gate_id))
    body = await posted(scene, gate_id)
    await scene.deliver(deletion(body))
    await scene.settle()
    assert (await row_of(scene)).posted_id == COMMENT


# -- the head


def pull(head: str) -> httpx.Response:
    side = {"ref": "fix", "sha": head, "repo": {"id": 501}}
    user = {"id": 12, "login": "meg", "type": "User"}
    return answer(
        {
            "number": 1,
            "title": "Fix",
            "body": "",
            "user": user,
            "state": "open",
            "html_url": "https://github.test/acme/widgets/pull/1",
            "head": side,
            "base": side | {"ref": "main"},
        }
    )


async def test_ticked_at_a_head_that_moved(scene: Scene) -> None:
    """Nothing counts; the new head is shown, and what is ticked then is about that."""
    gate_id = await asking(scene, head_sha=OLD)
    body = await posted(scene, gate_id)
    assert "at head aaaaaaa" in body
    scene.server.on("GET", f"{REPO}/pulls/1", pull(NEW))
    await ticks(scene, MEG, body)
    gate = await gate_of(scene)
    assert (gate.state, gate.head_sha, gate.asked) == (GateState.OPEN, NEW, 1)
    assert gate.note == "the head moved from aaaaaaa to bbbbbbb"
    # a tick on the older text is about the older head: it counts as little
    await edits(scene, MEG, await posted(scene, gate_id), body.replace("- [ ] approve", "- [x] approve"))
    gate = await gate_of(scene)
    assert (gate.state, gate.altered_by) == (GateState.OPEN, "")
    assert gate.note == "the tick by `meg` was about an older commit"
    await ticks(scene, MEG, await posted(scene, gate_id))
    assert (await gate_of(scene)).state is GateState.ANSWERED


async def test_a_no_at_a_head_that_moved(scene: Scene) -> None:
    """It stays a no."""
    body = await posted(scene, await asking(scene, head_sha=OLD))
    scene.server.on("GET", f"{REPO}/pulls/1", pull(NEW))
    await ticks(scene, MEG, body, "reject")
    assert (await gate_of(scene)).state is GateState.ANSWERED


async def test_a_head_that_cannot_be_read(scene: Scene) -> None:
    """Nothing counts while nobody can say what it would be about."""
    body = await posted(scene, await asking(scene, head_sha=OLD))
    scene.server.on("GET", f"{REPO}/pulls/1", answer({"message": "Not Found"}, 404))
    await ticks(scene, MEG, body)
    gate = await gate_of(scene)
    assert gate.state is GateState.OPEN
    assert "the head cannot be read" in gate.note


async def test_a_delivery_is_kept(scene: Scene) -> None:
    """What was done to our comment is known afterwards."""
    body = await posted(scene, await asking(scene))
    guid = await edits(scene, SAM, body, "gone")
    found = await scene.store.read(lambda session: deliveries.find(session, guid))
    assert found is not None
    assert found.reason == "a comment of ours that asks was changed"


async def test_an_end_at_a_head_that_moved(scene: Scene) -> None:
    """An option that leads to the end is a no as well."""
    options = {"options": {"approve": "build", "stop": "end"}, "questions": [], "text": False}
    body = await posted(scene, await asking(scene, head_sha=OLD, options=options))
    scene.server.on("GET", f"{REPO}/pulls/1", pull(NEW))
    await ticks(scene, MEG, body, "stop")
    assert (await gate_of(scene)).state is GateState.ANSWERED


async def test_a_tick_in_the_comment_of_the_time_before(scene: Scene) -> None:
    """It asks no more: the comment is put back, and the question that stands now is not answered by it."""
    gate_id = await asking(scene)
    body = await posted(scene, gate_id)

    def asked_again(session: Session) -> None:
        gate = session.get_one(Gate, gate_id)
        gate.asked = 2
        session.add(gate)

    await scene.store.write(asked_again)
    await ticks(scene, MEG, body)
    gate = await gate_of(scene)
    assert (gate.state, gate.note) == (GateState.OPEN, "")
    assert (await row_of(scene)).state is OutboxState.PENDING


@pytest.mark.parametrize(
    ("who", "named"),
    [
        ({"role": "write"}, "@ana "),
        ({"role": "write", "not_requester": True}, ""),
        ({"role": "maintain"}, ""),
        ({"logins": ["meg", "sam"]}, "@meg @sam "),
        ({"logins": ["Ana", "meg"], "not_requester": True}, "@meg "),
    ],
)
async def test_whom_a_reminder_names(scene: Scene, who: dict[str, Any], named: str) -> None:
    """Those who are asked for by name, else whoever asked, if they may answer."""
    gate_id = await asking(scene, who=who)
    await posted(scene, gate_id)

    def remind(session: Session) -> None:
        found = gates.get(session, gate_id)
        assert found is not None
        found.gate.options = {**found.gate.options, "mentions": ["ana", "meg", "sam"]}
        say_reminder(session, scene.speaker, found)

    await scene.store.write(remind)
    assert (await scene.said())[-1].startswith(f"{named}`r1.ok` still waits for an answer: ")
