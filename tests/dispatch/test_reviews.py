"""Mentions in reviews and review comments: what they ask for, where that is answered, and what comes back."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlmodel import col, select

from bot.model.slot import Slot
from bot.model.state import DeliveryState, DispatchState, OutboxState
from bot.store import Session, outbox, threads
from bot.store.tables import CommentVersion, Delivery, Dispatch, Outbox, Pin
from tests import rows
from tests.dispatch.reviews import SITE, has_remarks, remark_json, remark_payload, remarks, review_payload, reviews
from tests.dispatch.scene import MARKER, ME, MEG, REPO, SAM, Scene, comment_payload
from tests.github.fake import answer
from tests.rows import ANA, NOW, REPOSITORY

BOT_YML = """\
version: 1
default: triage
agents:
  triage: {model: "demo:helper", prompt: You triage.}
workflows:
  check: {steps: [{id: a, run: date}]}
"""


async def rows_of(scene: Scene, action: str) -> list[Outbox]:
    query = select(Outbox).where(Outbox.action == action).order_by(col(Outbox.id))
    return await scene.store.read(lambda session: list(session.exec(query)))


async def versions(scene: Scene) -> list[CommentVersion]:
    query = select(CommentVersion).order_by(col(CommentVersion.id))
    return await scene.store.read(lambda session: list(session.exec(query)))


async def test_a_mention_at_a_line(scene: Scene) -> None:
    """👀 on the review comment; what the dispatch says is for its thread."""
    scene.configure(BOT_YML)
    await remarks(scene, "@bot check", root=800)
    (made,) = await scene.dispatched()
    assert (made.command, made.request, made.comment_id) == ("check", "@bot check", 801)
    assert (made.target_kind, made.reply_to) == ("review_comment", 800)
    (eyes,) = await rows_of(scene, "reaction")
    assert (eyes.body, eyes.target_kind, eyes.target_id) == ("eyes", "review_comment", 801)
    (kept,) = await versions(scene)
    assert (kept.kind, kept.comment_id) == ("review_comment", 801)
    assert kept.place is not None
    assert (kept.place["path"], kept.place["root_id"], kept.place["review_id"]) == ("src/size.py", 800, 700)


async def test_a_mention_in_a_review(scene: Scene) -> None:
    """👀 on the review; answers in the conversation; nobody else's pull request is needed for that."""
    scene.configure(BOT_YML)
    has_remarks(scene, remark_json(801, "Use `or`."))
    await reviews(scene, "@bot check this", state="commented", author=MEG)
    (made,) = await scene.dispatched()
    assert (made.command, made.target_kind, made.comment_id, made.reply_to) == ("check", "review", 700, None)
    assert made.request == "@bot check this\n\n**`src/size.py:2`**\n\nUse `or`."
    (eyes,) = await rows_of(scene, "reaction")
    assert (eyes.target_kind, eyes.target_id) == ("review", 700)


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [("Nearly.", "@bot check", 1), ("@bot hello", "@bot check", 1), ("@bot check", "@bot check now and then", 0)],
)
async def test_an_edit_counts_if_it_adds_a_request(scene: Scene, old: str, new: str, count: int) -> None:
    """In a review as in a review comment."""
    scene.configure(BOT_YML)
    has_remarks(scene, review_id=701)
    await remarks(scene, new, action="edited", old=old)
    assert len(await scene.dispatched()) == count
    await reviews(scene, new, action="edited", old=old, state="commented", review_id=701)
    assert len(await scene.dispatched()) == 2 * count


async def test_an_edited_review_that_adds_one(scene: Scene) -> None:
    """It is asked for once."""
    scene.configure(BOT_YML)
    has_remarks(scene)
    await reviews(scene, "@bot check", action="edited", old="Nearly.", state="commented")
    assert [one.command for one in await scene.dispatched()] == ["check"]


async def test_a_review_and_its_comment_count_once_each(scene: Scene) -> None:
    """Two requests are two, whichever event comes first; the same words in both are one."""
    scene.configure(BOT_YML)
    has_remarks(scene, remark_json(801, "@bot check"))
    await remarks(scene, "@bot check")
    await reviews(scene, "@bot what is this?", state="commented")
    assert [one.command for one in await scene.dispatched()] == ["check", "triage"]
    await remarks(scene, "@bot what is this?", number=802)
    await remarks(scene, "@bot what is this?", number=803, review_id=701)
    await reviews(scene, "@bot check", state="commented", action="edited", old="x")
    assert [(one.command, one.comment_id) for one in await scene.dispatched()] == [
        ("check", 801),
        ("triage", 700),
        # the same words in another review are another request
        ("triage", 803),
    ]


async def test_the_same_words_at_two_places_are_two(scene: Scene) -> None:
    """Each is about its own lines."""
    scene.configure(BOT_YML)
    await remarks(scene, "@bot check", number=801)
    await remarks(scene, "@bot check", number=802)
    assert len(await scene.dispatched()) == 2


async def test_builtins_and_refusals_answer_in_the_thread(scene: Scene) -> None:
    """Where they were asked; a review's are in the conversation."""
    scene.configure(BOT_YML)
    has_remarks(scene)
    await remarks(scene, "@bot status", root=800)
    await remarks(scene, "@bot unpin 3", number=802, root=800)
    await reviews(scene, "@bot status", state="commented")
    said = await rows_of(scene, "comment")
    assert [(row.target_kind, row.target_id) for row in said] == [
        ("review_comment", 800),
        ("review_comment", 800),
        ("comment", None),
    ]
    confused = [row for row in await rows_of(scene, "reaction") if row.body == "confused"]
    assert [(row.target_kind, row.target_id) for row in confused] == [("review_comment", 802)]


async def test_a_broken_configuration_and_a_limit_are_told_there(scene: Scene) -> None:
    """Once each."""
    scene.configure("version: 1\nagnets: {}\n")
    await remarks(scene, "@bot check", root=800)
    scene.configure(BOT_YML + "limits: {per_actor_day: {dispatches: 1}}\n", "beef" + "0" * 36)
    await remarks(scene, "@bot check", number=802, root=800)
    await remarks(scene, "@bot check", number=803, root=800)
    said = await rows_of(scene, "comment")
    assert [(row.target_kind, row.target_id) for row in said] == [("review_comment", 800)] * 2


async def test_who_may_not_command(scene: Scene) -> None:
    """Nothing, as in the conversation; the text is kept all the same."""
    scene.configure(BOT_YML)
    guid = await remarks(scene, "@bot check", SAM)
    assert await scene.dispatched() == []
    assert await scene.said() == await scene.said("reaction") == []
    assert (await scene.became(guid))[0] is DeliveryState.IGNORED
    assert len(await versions(scene)) == 1


async def test_a_deleted_review_comment(scene: Scene) -> None:
    """It cancels what has not started, and its text is nowhere: not even that of the same number elsewhere goes."""
    scene.configure(BOT_YML)
    await scene.says(ANA, "@bot check the conversation", comment_id=801)
    asked = await remarks(scene, "@bot check this secret")
    await scene.deliver(remark_payload("@bot check this secret", action="deleted"), "pull_request_review_comment")
    await scene.settle()
    states = {one.target_kind: one for one in await scene.dispatched()}
    assert states["review_comment"].state is DispatchState.CANCELLED
    assert states["review_comment"].request == ""
    assert states["comment"].state is DispatchState.QUEUED
    assert {row.kind: row.body for row in await versions(scene)} == {
        "comment": "@bot check the conversation",
        "review_comment": "",
    }
    assert (await scene.delivery(asked)).body == b""
    bodies = await scene.store.read(
        lambda s: list(s.exec(select(Delivery.body).where(Delivery.event == "issue_comment")))
    )
    assert b"the conversation" in bodies[0]


async def test_a_deleted_comment_of_a_review_that_asked(scene: Scene) -> None:
    """What the review led to holds its text too, and loses it once it has ended."""
    scene.configure(BOT_YML)
    has_remarks(scene, remark_json(801, "a secret"))
    await reviews(scene, "Please mend this.")

    def end(session: Session) -> None:
        for dispatch in session.exec(select(Dispatch)):
            dispatch.state = DispatchState.DONE
            session.add(dispatch)

    await scene.store.write(end)
    await scene.deliver(remark_payload("a secret", action="deleted"), "pull_request_review_comment")
    await scene.settle()
    (made,) = await scene.dispatched()
    assert (made.request, made.trigger["text"]) == ("", "")


async def test_our_reply_comes_back(scene: Scene) -> None:
    """It confirms its slot; a second one of the same slot is taken back, by the call for review comments."""
    scene.configure(BOT_YML)
    await remarks(scene, "@bot status")
    (row,) = await rows_of(scene, "comment")
    slot = Slot.parse(row.slot)
    body = MARKER.sign(row.body, repository_id=REPOSITORY.id, thread=1, slot=slot)
    first = await remarks(scene, body, ME, number=900, root=801)
    assert await scene.became(first) == (DeliveryState.IGNORED, "our own")
    row = (await rows_of(scene, "comment"))[0]
    assert (row.posted_id, row.url) == (900, f"{SITE}#discussion_r900")
    scene.server.on("DELETE", f"{REPO}/pulls/comments/901", answer(None, 204))
    await remarks(scene, body, ME, number=901, root=801)
    assert scene.asked("/pulls/comments/901")
    assert (await rows_of(scene, "comment"))[0].posted_id == 900
    kinds = {version.comment_id: version.kind for version in await versions(scene)}
    assert kinds[900] == "review_comment"


async def test_our_review_comes_back(scene: Scene) -> None:
    """Where its answer was lost it is looked for at once."""

    def work(session: Session) -> str:
        slot = Slot("run/1", "review", step="a")
        thread_id = rows.thread(session).id
        row = outbox.ensure(session, slot, thread_id=thread_id, action="review", purpose="action", body="{}", now=NOW)
        row.state, row.not_before = OutboxState.UNSURE, NOW + timedelta(hours=1)
        return str(slot)

    slot = await scene.store.write(work)
    body = MARKER.sign("Findings", repository_id=REPOSITORY.id, thread=1, slot=Slot.parse(slot))
    guid = await reviews(scene, body, ME, state="commented")
    assert await scene.became(guid) == (DeliveryState.IGNORED, "our own")
    (row,) = await rows_of(scene, "review")
    assert row.not_before == NOW


async def test_pins_of_review_comments_and_reviews(scene: Scene) -> None:
    """By link, the one before in the thread, and the index links to where they stand."""
    scene.configure(BOT_YML)
    scene.server.on("GET", f"{REPO}/pulls/comments/801", answer(remark_json(801, "Keep 3.9.", SAM)))
    scene.server.on("GET", f"{REPO}/pulls/1/reviews/700", answer(review_payload("As agreed.", MEG)["review"]))
    scene.server.on("GET", f"{REPO}/pulls/1/reviews/701", answer(review_payload("", MEG, review_id=701)["review"]))
    await scene.says(ANA, f"@bot pin {SITE}#discussion_r801")
    await scene.says(ANA, f"@bot pin {SITE}#pullrequestreview-700", comment_id=502)
    await scene.says(ANA, f"@bot pin {SITE}#pullrequestreview-701", comment_id=503)
    pins = await scene.store.read(lambda s: list(s.exec(select(Pin).order_by(col(Pin.id)))))
    assert [(pin.comment["kind"], pin.comment_id) for pin in pins] == [("review_comment", 801), ("review", 700)]
    said = await scene.said()
    assert any("that review has no text of its own" in body for body in said)
    index = next(body for body in said if "always sees here" in body)
    assert f"({SITE}#discussion_r801)" in index
    await scene.says(ANA, f"@bot unpin {SITE}#issuecomment-801", comment_id=504)
    assert "not pinned here" in (await scene.said())[-1]
    await scene.says(ANA, f"@bot unpin {SITE}#discussion_r801", comment_id=505)
    left = await scene.store.read(lambda s: list(s.exec(select(Pin.comment_id))))
    assert left == [700]


async def test_pin_means_the_comment_before_in_the_thread(scene: Scene) -> None:
    """In a review thread; the first of a thread has none before it."""
    scene.configure(BOT_YML)
    listed = [
        remark_json(700, "x", root=None),
        remark_json(801, "Keep 3.9.", SAM),
        remark_json(802, "@bot pin", root=801),
    ]
    scene.server.on("GET", f"{REPO}/pulls/1/comments", answer(listed))
    await remarks(scene, "@bot pin", number=802, root=801)
    pins = await scene.store.read(lambda s: list(s.exec(select(Pin.comment_id))))
    assert pins == [801]
    await remarks(scene, "@bot pin", number=801)
    assert "there is no comment before yours" in (await scene.said())[-1]


async def test_a_pinned_review_comment_is_edited_and_deleted(scene: Scene) -> None:
    """The pin follows its text, and goes with it; one of the same number in the conversation is another."""
    scene.configure(BOT_YML)
    scene.server.on("GET", f"{REPO}/pulls/comments/801", answer(remark_json(801, "Keep 3.9.")))
    await scene.says(ANA, f"@bot pin {SITE}#discussion_r801")
    await scene.deliver(comment_payload("other", action="deleted", comment_id=801))
    await scene.settle()
    later = NOW + timedelta(minutes=1)
    await remarks(scene, "Keep 3.10.", action="edited", old="Keep 3.9.", at=later)
    (pin,) = await scene.store.read(lambda s: list(s.exec(select(Pin))))
    assert pin.comment["body"] == "Keep 3.10."
    await scene.deliver(remark_payload("Keep 3.10.", action="deleted", at=later), "pull_request_review_comment")
    await scene.settle()
    assert await scene.store.read(lambda s: list(s.exec(select(Pin)))) == []
    thread = await scene.store.read(lambda s: threads.find(s, REPOSITORY.id, 1))
    assert thread is not None
    assert thread.is_pull_request


async def test_a_review_without_a_text_is_not_kept(scene: Scene) -> None:
    """GitHub makes one of every reply; one that is emptied later is."""
    scene.configure(BOT_YML)
    await reviews(scene, None, state="commented")
    await reviews(scene, None, ME, state="commented", review_id=701)
    assert await versions(scene) == []
    await reviews(scene, "", action="edited", old="x", state="commented")
    assert [row.body for row in await versions(scene)] == [""]
