"""Changes requested on a pull request of the bot's: one request with all its comments, and what starts nothing."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from sqlmodel import select

from bot.dispatch.owed import UNANSWERED
from bot.dispatch.review_loop import _names
from bot.dispatch.review_request import NOT_SHOWN
from bot.model.state import DeliveryState, OutboxState
from bot.store import Session
from bot.store.tables import Outbox
from bot.workflows import Configuration
from tests import rows
from tests.dispatch.reviews import HUNK, has_remarks, has_state, remark_json, remarks, reviews
from tests.dispatch.scene import MEG, REPO, SAM, Scene
from tests.github.fake import answer
from tests.rows import ANA, NOW

BOT_YML = """\
version: 1
default: triage
agents:
  triage: {model: "demo:helper", prompt: You triage.}
workflows:
  mend: {steps: [{id: a, run: date}]}
"""


async def start(scene: Scene, text: str = BOT_YML, *comments: dict[str, Any]) -> None:
    scene.configure(text)
    has_remarks(scene, *comments)


async def opened(scene: Scene, workflow: str, number: int = 1) -> None:
    """A run of that workflow has opened a pull request of this number from issue 7."""

    def work(session: Session) -> None:
        run = rows.run(session, 7, guid=f"opened-{workflow}", workflow=workflow)
        session.add(
            Outbox(
                slot=f"run/{run.id}|/|open|0|pull_request|0", thread_id=run.thread_id, run_id=run.id,
                action="pull_request", purpose="action", body="{}", digest="", state=OutboxState.POSTED,
                posted_id=number, created_at=NOW,
            )
        )  # fmt: skip

    await scene.store.write(work)


async def asked(scene: Scene) -> list[str]:
    """What reviews have started, in order."""
    return [one.command for one in await scene.dispatched() if one.target_kind == "review"]


async def test_one_request_with_all_comments(scene: Scene) -> None:
    """Places and texts are the request; hunks are kept beside it and stand in `trigger.text`."""
    await start(scene, BOT_YML, remark_json(801, "Use `or`."), remark_json(802, "Why?", path="b.py"))
    guid = await reviews(scene, "Please mend these.")
    (made,) = await scene.dispatched()
    assert made.request == ("Please mend these.\n\n**`src/size.py:2`**\n\nUse `or`.\n\n**`b.py:2`**\n\nWhy?")
    assert (made.command, made.actor, made.target_kind, made.comment_id) == ("triage", "ana", "review", 700)
    assert made.trigger["name"] == "review_submitted"
    assert HUNK in made.trigger["text"]
    # several threads: an answer in one of them would say nothing to the others
    assert made.reply_to is None
    assert await scene.became(guid) == (DeliveryState.PLANNED, "changes requested: triage")
    assert await scene.said("reaction") == ["eyes"]
    assert len(scene.asked("/reviews/700/comments")) == 1


async def test_one_thread_is_answered_in(scene: Scene) -> None:
    """The answers' place is the thread of the only comment."""
    await start(scene, BOT_YML, remark_json(802, "Still not.", root=801))
    await reviews(scene, "")
    (made,) = await scene.dispatched()
    assert made.reply_to == 801


async def test_the_workflow_that_opened_it(scene: Scene) -> None:
    """It made the pull request, so it mends it; one that is there no more leaves it to the default."""
    await start(scene)
    await opened(scene, "mend")
    await reviews(scene, "Please mend this.")
    assert await asked(scene) == ["mend"]
    await opened(scene, "removed")
    await reviews(scene, "And this.", at=NOW + timedelta(seconds=1))
    assert await asked(scene) == ["mend", "triage"]


async def test_a_pull_request_that_a_run_opened_for_somebody(scene: Scene) -> None:
    """Its author is not the App, but a row of ours made it."""
    await start(scene)
    await reviews(scene, "Please mend this.", author=MEG)
    assert await asked(scene) == []
    await opened(scene, "mend", 2)
    await reviews(scene, "Please mend this.", author=MEG, at=NOW + timedelta(seconds=2))
    assert await asked(scene) == []
    await opened(scene, "triage")
    await reviews(scene, "Please mend this.", author=MEG, at=NOW + timedelta(seconds=1))
    assert await asked(scene) == ["triage"]


@pytest.mark.parametrize("state", ["approved", "commented", "dismissed"])
async def test_other_reviews_start_nothing(scene: Scene, state: str) -> None:
    """Approvals and reviews that only comment are no requests."""
    await start(scene)
    guid = await reviews(scene, "Well done.", state=state)
    assert await scene.dispatched() == []
    assert (await scene.became(guid))[0] is DeliveryState.IGNORED


async def test_an_edited_review_starts_nothing(scene: Scene) -> None:
    """It was heard when it was submitted."""
    await start(scene)
    await reviews(scene, "more", action="edited", old="less")
    assert await scene.dispatched() == []


async def test_who_may_not_command(scene: Scene) -> None:
    """Nothing at all; the reason stays with the delivery, and nothing of the review is read."""
    await start(scene)
    guid = await reviews(scene, "Please mend this.", SAM)
    assert await scene.dispatched() == []
    assert await scene.said() == await scene.said("reaction") == []
    state, reason = await scene.became(guid)
    assert state is DeliveryState.IGNORED
    assert "sam" in reason
    assert scene.asked("/reviews/700/comments") == []


async def test_a_mention_is_the_request(scene: Scene) -> None:
    """A review whose text mentions the bot is asked for by that, once, with all its comments."""
    await start(scene, BOT_YML, remark_json(801, "Use `or`."), remark_json(802, "Why?", path="b.py"))
    await reviews(scene, "@bot mend all of these")
    (made,) = await scene.dispatched()
    assert (made.command, made.trigger["name"], made.trigger["text"]) == ("mend", "mention", "all of these")
    assert made.request == "@bot mend all of these\n\n**`src/size.py:2`**\n\nUse `or`.\n\n**`b.py:2`**\n\nWhy?"
    # what a review's own text asks for is answered in the conversation
    assert made.reply_to is None


async def test_github_does_not_tell_the_role(scene: Scene) -> None:
    """It is looked at again, and after 15 minutes it is a denial."""
    await start(scene)
    scene.server.on("GET", scene.permission(ANA), answer({}, 502))
    guid = await reviews(scene, "Please mend this.")
    assert (await scene.became(guid))[0] is DeliveryState.NEW
    scene.grant(ANA, "write")
    await scene.pass_time(timedelta(minutes=1))
    assert len(await scene.dispatched()) == 1
    scene.server.on("GET", scene.permission(MEG), answer({}, 502))
    guid = await reviews(scene, "And this.", MEG)
    for _ in range(40):
        await scene.pass_time(timedelta(minutes=1))
    assert (await scene.became(guid))[0] is DeliveryState.IGNORED


async def test_a_broken_configuration_is_told(scene: Scene) -> None:
    """As to a mention: 😕 on the review, and one comment."""
    await start(scene, "version: 1\nagnets: {}\n")
    await reviews(scene, "Please mend this.")
    assert await scene.dispatched() == []
    assert await scene.said("reaction") == ["confused"]
    assert "cannot be used" in (await scene.said())[0]


async def test_limits_hold(scene: Scene) -> None:
    """The quota of a day counts it as it counts mentions."""
    await start(scene, BOT_YML + "limits: {per_actor_day: {dispatches: 1}}\n", remark_json(801, "x"))
    await reviews(scene, "Please mend this.")
    await reviews(scene, "And this.", at=NOW + timedelta(seconds=1))
    assert [str(one.state) for one in await scene.dispatched()] == ["queued", "refused"]
    query = select(Outbox).where(Outbox.purpose == "error")
    (told,) = await scene.store.read(lambda session: list(session.exec(query)))
    assert (told.target_kind, told.target_id) == ("review_comment", 801)


async def test_remarks_of_it_are_not_requests_by_themselves(scene: Scene) -> None:
    """Their events come too, and start nothing without a mention."""
    await start(scene, BOT_YML, remark_json(801, "Use `or`."))
    await remarks(scene, "Use `or`.")
    await reviews(scene, "")
    assert len(await scene.dispatched()) == 1


GUARDED = BOT_YML + "  deploy: {trigger_role: maintain, steps: [{id: a, run: date}]}\n"


async def test_builtins_act_beside_it(scene: Scene) -> None:
    """The changes are requested all the same, with every comment."""
    await start(scene, BOT_YML, remark_json(801, "Use `or`."))
    await reviews(scene, "@bot status")
    (made,) = await scene.dispatched()
    assert (made.command, made.trigger["name"]) == ("triage", "review_submitted")
    assert "Use `or`." in made.request
    assert "under way" in (await scene.said())[0]
    assert sorted(await scene.said("reaction")) == ["+1", "eyes"]


async def test_a_mistyped_command_beside_it(scene: Scene) -> None:
    """It is asked about, and the changes are requested all the same."""
    await start(scene, BOT_YML, remark_json(801, "Use `or`."))
    await reviews(scene, "@bot statsu")
    (made,) = await scene.dispatched()
    assert made.trigger["name"] == "review_submitted"
    assert "Did you mean `@bot status`?" in (await scene.said())[0]


async def test_a_mention_that_may_not_be_is_no_request(scene: Scene) -> None:
    """Whoever names a workflow in passing that is not for them has requested changes like anybody else."""
    await start(scene, GUARDED, remark_json(801, "Use `or`."))
    await reviews(scene, "Please mend this. cc @bot deploy")
    assert await asked(scene) == ["triage"]


@pytest.mark.parametrize("first", [True, False])
async def test_a_mention_in_a_remark_is_part_of_it(scene: Scene, first: bool) -> None:
    """One dispatch with all comments, whichever event is told first, though two remarks say the same."""
    await start(scene, BOT_YML, remark_json(801, "@bot mend"), remark_json(802, "@bot mend", path="b.py"))
    has_state(scene)
    if not first:
        await reviews(scene, "Both, please.")
    guid = await remarks(scene, "@bot mend")
    await remarks(scene, "@bot mend", number=802)
    if first:
        await reviews(scene, "Both, please.")
    (made,) = await scene.dispatched()
    assert (made.command, made.target_kind) == ("triage", "review")
    assert made.request.count("@bot mend") == 2
    assert await scene.became(guid) == (DeliveryState.IGNORED, "part of what its review asks for")


async def test_builtins_in_a_remark_act(scene: Scene) -> None:
    """They are no request for changes."""
    await start(scene, BOT_YML, remark_json(801, "@bot status"))
    has_state(scene)
    await remarks(scene, "@bot status")
    assert len(await scene.said()) == 1


@pytest.mark.parametrize("state", ["COMMENTED", "APPROVED", "DISMISSED"])
async def test_a_mention_in_a_remark_of_another_review(scene: Scene, state: str) -> None:
    """Only changes that are requested are one request."""
    await start(scene, BOT_YML, remark_json(801, "@bot mend"))
    has_state(scene, state)
    await remarks(scene, "@bot mend")
    assert [one.command for one in await scene.dispatched()] == ["mend"]


async def test_a_remark_that_is_edited_later(scene: Scene) -> None:
    """What is added to it is a request of its own."""
    await start(scene, BOT_YML, remark_json(801, "Use `or`."))
    has_state(scene)
    await remarks(scene, "@bot mend", action="edited", old="Use `or`.")
    assert [one.command for one in await scene.dispatched()] == ["mend"]


async def test_a_remark_by_whose_author_no_changes_may_be_requested(scene: Scene) -> None:
    """The review asks for nothing then, so the mention does."""
    await start(scene, BOT_YML.replace("{steps", "{trigger_role: read, steps"), remark_json(801, "@bot mend"))
    has_state(scene)
    await remarks(scene, "@bot mend", SAM)
    assert [one.command for one in await scene.dispatched()] == ["mend"]


async def test_comments_that_github_does_not_show(scene: Scene) -> None:
    """The request does not vanish with them, though there is no other text."""
    await start(scene)
    scene.server.on("GET", f"{REPO}/pulls/1/reviews/700/comments", answer({}, 404))
    await reviews(scene, "")
    (made,) = await scene.dispatched()
    assert made.request == NOT_SHOWN


async def test_a_builtin_alone_reads_no_comments(scene: Scene) -> None:
    """Nothing can come between it and its answer."""
    await start(scene)
    await reviews(scene, "@bot status", state="commented")
    assert len(await scene.said()) == 1
    assert scene.asked("/reviews/700/comments") == []


async def test_comments_that_cannot_be_read_for_fifteen_minutes(scene: Scene) -> None:
    """Whoever requested changes, and may, is told in one sentence; nobody else is."""
    await start(scene)
    scene.server.on("GET", f"{REPO}/pulls/1/reviews/700/comments", answer({}, 502))
    guid = await reviews(scene, "Please mend this.")
    for _ in range(20):
        await scene.pass_time(timedelta(minutes=1))
    assert (await scene.became(guid))[0] is DeliveryState.FAILED
    (said,) = await scene.said()
    assert UNANSWERED in said


def test_workflows_that_listen_come_first() -> None:
    """All that say `on: {review_submitted: …}`, by name; else the one that opened it; else the default."""

    def usable(**listening: bool) -> Configuration:
        workflows = {name: SimpleNamespace(on=SimpleNamespace(review_submitted=on)) for name, on in listening.items()}
        made = SimpleNamespace(workflows=workflows, workflow_for=workflows.get, bot=SimpleNamespace(default="triage"))
        return cast("Configuration", made)

    assert _names(usable(mend=False, b=True, a=True), "mend") == ("a", "b")
    assert _names(usable(mend=False), "mend") == ("mend",)
    assert _names(usable(mend=False), "gone") == ("triage",)
    assert _names(usable(mend=False), "") == ("triage",)
