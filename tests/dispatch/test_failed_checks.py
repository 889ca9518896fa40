"""Failed checks start workflows: when all have ended, once a commit, in whose name, and not for ever."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import col, select

from bot.dispatch.failed_checks import IN_A_ROW
from bot.model.state import DeliveryState, OutboxState
from bot.model.thread import Account
from bot.store import Session
from bot.store.tables import Outbox, Run, Thread
from tests.dispatch.happenings import (
    ACTIONS,
    NEWER,
    SHA,
    check_event,
    checks_are,
    head_is,
    listening,
    nobody,
    pull_fields,
)
from tests.dispatch.scene import APP_ID, ME, MEG, REPO, SAM, Scene, issue_fields
from tests.github.fake import answer
from tests.rows import ANA, NOW

HALF_A_MINUTE = timedelta(seconds=30)
FIX = "fix: {on: {checks_failed: true}}"
UNKNOWN = "checks_failed: no run is known to have pushed this commit, so nobody asked for it"


async def ended(scene: Scene, payload: dict[str, Any] | None = None) -> tuple[DeliveryState, str]:
    """A check ends, and half a minute passes; what became of it."""
    guid = await scene.deliver(payload or check_event(), "check_run")
    await scene.settle()
    await scene.pass_time(HALF_A_MINUTE)
    return await scene.became(guid)


def failing(scene: Scene, sha: str = SHA) -> None:
    """All checks of the head have ended, one of them badly."""
    head_is(scene, sha)
    checks_are(scene, "success", "failure", sha=sha)


async def shas(scene: Scene) -> list[str]:
    """The commits that something was started for."""
    return [one.trigger["sha"] for one in await scene.dispatched() if one.trigger["name"] == "checks_failed"]


async def test_it_is_held_and_starts_once_a_commit(scene: Scene) -> None:
    """With commit, branch and conclusion, in the sender's name, on the pull request."""
    scene.configure(listening(FIX, "later: {on: {checks_failed: true}}"))
    failing(scene)
    guid = await scene.deliver(check_event(), "check_run")
    await scene.settle()
    assert (await scene.delivery(guid)).reason == "held: more pushes may follow"
    await scene.pass_time(HALF_A_MINUTE)
    assert await scene.became(guid) == (DeliveryState.PLANNED, "checks_failed: fix, later")
    made = await scene.dispatched()
    assert [(one.command, one.actor, one.depth) for one in made] == [("fix", "ana", 0), ("later", "ana", 0)]
    trigger = made[0].trigger
    wanted = {"name": "checks_failed", "sha": SHA, "ref": "topic", "conclusion": "failure"}
    assert {key: trigger[key] for key in wanted} == wanted
    assert made[0].issue["number"] == 1
    assert await ended(scene) == (DeliveryState.IGNORED, "checks_failed: this commit was told of")
    assert len(await scene.dispatched()) == 2
    assert await scene.said("reaction") == []


async def test_two_pull_requests_with_one_head(scene: Scene) -> None:
    """Each is told of it, on its own thread; the record says no more than was done."""
    scene.configure(listening(FIX))
    failing(scene)
    scene.server.on("GET", f"{REPO}/pulls/2", answer(pull_fields() | {"number": 2}))
    scene.server.on("GET", f"{REPO}/issues/2", answer(issue_fields(2) | {"pull_request": {"url": ""}}))
    payload = check_event()
    first = payload["check_run"]["pull_requests"][0]
    payload["check_run"]["pull_requests"].append(first | {"number": 2})
    assert await ended(scene, payload) == (DeliveryState.PLANNED, "checks_failed: fix; checks_failed: fix")
    assert sorted(one.issue["number"] for one in await scene.dispatched()) == [1, 2]


async def test_the_last_check_may_be_a_good_one(scene: Scene) -> None:
    """What counts is what all of them come to; our own does not count."""
    scene.configure(listening(FIX))
    failing(scene)
    assert (await ended(scene, check_event(conclusion="success")))[0] is DeliveryState.PLANNED


@pytest.mark.parametrize("checks", [("failure", None), ("success", "skipped"), ("cancelled",), ("action_required",)])
async def test_what_is_no_failure(scene: Scene, checks: tuple[str | None, ...]) -> None:
    """While one still runs, and where nothing is wrong."""
    scene.configure(listening(FIX))
    head_is(scene, SHA)
    checks_are(scene, *checks)
    assert (await ended(scene))[0] is DeliveryState.IGNORED
    assert await scene.dispatched() == []


async def test_our_own_check(scene: Scene) -> None:
    """Says what we know already."""
    scene.configure(listening(FIX))
    failing(scene)
    assert await ended(scene, check_event(app=APP_ID)) == (DeliveryState.IGNORED, "our own")


async def test_where_nothing_listens(scene: Scene) -> None:
    """The checks are not asked for."""
    scene.configure(listening("w: {on: {opened: true}}"))
    assert (await ended(scene))[0] is DeliveryState.IGNORED
    assert scene.asked("check-runs") == []


async def test_a_head_that_has_moved_on(scene: Scene) -> None:
    """Nothing is started for what nobody looks at any more."""
    scene.configure(listening(FIX))
    failing(scene)
    head_is(scene, NEWER)
    assert await ended(scene) == (DeliveryState.IGNORED, "superseded: the head has moved on")
    scene.server.on("GET", f"{REPO}/pulls/1", nobody())
    assert await ended(scene) == (DeliveryState.IGNORED, "superseded: the head has moved on")


@pytest.mark.parametrize(("sender", "head", "allowed"), [(SAM, "", False), (SAM, "trigger_role: read\n", True)])
async def test_the_senders_role_decides(scene: Scene, sender: Account, head: str, allowed: bool) -> None:
    """Who pushed is the sender of a check."""
    scene.configure(listening(FIX, head=head))
    failing(scene)
    state, _ = await ended(scene, check_event(sender))
    assert (state is DeliveryState.PLANNED) is allowed


async def has_branch(scene: Scene, branch: str) -> None:
    """The thread's work stands on this branch."""

    def work(session: Session) -> None:
        row = session.get_one(Thread, made.thread_id)
        row.branch = branch
        session.add(row)

    made = (await scene.dispatched())[-1]
    await scene.store.write(work)


async def pushes(scene: Scene, sha: str) -> None:
    """The newest run has pushed a commit, and it is on record."""

    def work(session: Session) -> None:
        run = session.exec(select(Run).order_by(col(Run.id).desc()).limit(1)).one()
        slot = f"run/{run.id}/{sha}"
        row = Outbox(slot=slot, thread_id=run.thread_id, run_id=run.id, action="commit", purpose="action", body="{}",
                     digest="", created_at=NOW)  # fmt: skip
        row.state, row.outcome = OutboxState.POSTED, {"pushed": sha}
        session.add(row)

    await scene.store.write(work)


async def test_a_commit_of_ours_in_the_name_of_whoever_asked(scene: Scene) -> None:
    """The person at the root, authorised anew; the chain is counted."""
    scene.configure(listening(FIX))
    failing(scene)
    await scene.says(ANA, "@bot fix usd=1.5", number=7)
    await has_branch(scene, "topic")
    await pushes(scene, SHA)
    assert (await ended(scene, check_event(ME)))[0] is DeliveryState.PLANNED
    made = (await scene.dispatched())[-1]
    assert (made.actor, made.actor_role, made.depth) == ("ana", "write", 1)
    assert made.issue["number"] == 1
    assert made.params == {"usd": "1.5"}
    await pushes(scene, NEWER)
    scene.grant(ANA, "read")
    failing(scene, NEWER)
    state, reason = await ended(scene, check_event(ME, sha=NEWER))
    assert (state, "ana has the role read" in reason) == (DeliveryState.IGNORED, True)


async def test_a_commit_of_ours_that_nobody_asked_for(scene: Scene) -> None:
    """There is no person to authorise."""
    scene.configure(listening(FIX))
    failing(scene)
    _, reason = await ended(scene, check_event(ME))
    assert reason == UNKNOWN


async def test_whoever_asked_last_asked_for_no_commit(scene: Scene) -> None:
    """Neither a request for something else nor a louder role makes somebody the one who asked for the push."""
    guarded = FIX.replace("{on:", "{trigger_role: maintain, on:")
    scene.configure(listening(guarded, "a: {description: x}", "b: {description: y}"))
    failing(scene)
    await scene.says(ANA, "@bot a")
    assert await ended(scene, check_event(ME)) == (DeliveryState.IGNORED, UNKNOWN)
    await pushes(scene, SHA)
    await scene.says(MEG, "@bot b", comment_id=502)
    _, reason = await ended(scene, check_event(ME))
    assert reason == "checks_failed: fix was not started: ana has the role write, maintain is needed"
    assert {one.command for one in await scene.dispatched()} == {"a", "b"}


async def test_a_push_of_another_thread_is_not_it(scene: Scene) -> None:
    """Whatever the record of somebody else's thread says."""
    scene.configure(listening(FIX))
    failing(scene)
    await scene.says(ANA, "@bot fix", number=7)
    await pushes(scene, SHA)
    assert await ended(scene, check_event(ME)) == (DeliveryState.IGNORED, UNKNOWN)


def commit(number: int) -> str:
    return f"{number:040x}"


async def test_not_for_ever(scene: Scene) -> None:
    """Three times in a row after commits of ours; then one sentence, once; a person's request begins anew."""
    scene.configure(listening(FIX, "w: {on: {mention: true}}"))
    await scene.says(ANA, "@bot fix")
    for number in range(1, 6):
        failing(scene, commit(number))
        await pushes(scene, commit(number))
        await ended(scene, check_event(ME, sha=commit(number)))
    assert await shas(scene) == [commit(number) for number in range(1, IN_A_ROW + 1)]
    (said,) = await scene.said()
    assert said.startswith("The checks failed again. I tried 3 times in a row")
    await scene.says(ANA, "@bot fix once more", comment_id=502)
    failing(scene, commit(6))
    await pushes(scene, commit(6))
    await ended(scene, check_event(ME, sha=commit(6)))
    assert (await shas(scene))[-1] == commit(6)


async def test_a_persons_push_begins_anew(scene: Scene) -> None:
    """And is the first of the row itself."""
    scene.configure(listening(FIX))
    senders = [ANA, ME, ME, ME, ANA, ME, ME, ME]
    for number, sender in enumerate(senders):
        failing(scene, commit(number))
        if sender is ME:
            await pushes(scene, commit(number))
        await ended(scene, check_event(sender, sha=commit(number)))
    assert await shas(scene) == [commit(number) for number in (0, 1, 2, 4, 5, 6)]
    assert len(await scene.said()) == 2


async def test_another_bots_pushes_are_no_persons(scene: Scene) -> None:
    """It may start something by its id, three times in a row."""
    scene.configure(listening(FIX, head=f"allow_bots: [{ACTIONS.id}]\n"))
    for number in range(5):
        failing(scene, commit(number))
        await ended(scene, check_event(ACTIONS, sha=commit(number)))
    assert len(await shas(scene)) == IN_A_ROW


async def test_github_that_does_not_answer(scene: Scene) -> None:
    """The end of a check is looked at again."""
    scene.configure(listening(FIX))
    failing(scene)
    scene.server.on("GET", f"{REPO}/pulls/1", answer({}, 502))
    guid = await scene.deliver(check_event(), "check_run")
    await scene.settle()
    await scene.pass_time(HALF_A_MINUTE)
    assert (await scene.became(guid))[0] is DeliveryState.NEW
    head_is(scene, SHA)
    await scene.pass_time(timedelta(minutes=2))
    assert (await scene.became(guid))[0] is DeliveryState.PLANNED


async def test_a_pull_request_of_a_fork_is_not_told_of(scene: Scene) -> None:
    """GitHub lists none for its checks."""
    scene.configure(listening(FIX))
    payload = check_event()
    payload["check_run"]["pull_requests"] = []
    assert await ended(scene, payload) == (DeliveryState.IGNORED, "a check of no open pull request's head")
