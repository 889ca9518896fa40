"""What happens on a thread answers the runs that wait for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.dispatch.waits import SKEW
from bot.model.pull import CheckRun, concluded
from bot.model.state import DeliveryState, GateState, RunState
from bot.store.tables import Gate
from tests.dispatch.scene import (
    APP_ID,
    ME,
    REPO,
    SAM,
    Scene,
    account_json,
    around,
    comment_payload,
    issue_fields,
    open_scene,
    stamp,
)
from tests.engine.play import Play
from tests.github.fake import answer
from tests.rows import ANA, NOW

SHA = "ab" * 20
#: an event is later than the gate by this much
LATER = NOW + timedelta(minutes=1)

THREE = [("x", "labeled"), ("y", "labeled"), ("z", "merged")]


class Waiting:
    """A run that waits for an event, and what its thread is told."""

    def __init__(self, scene: Scene, play: Play) -> None:
        self.scene, self.play = scene, play

    async def tell(self, name: str, payload: dict[str, Any]) -> tuple[DeliveryState, str]:
        """A delivery comes; what became of it."""
        self.scene.clock.advance(60)
        guid = await self.scene.deliver(payload, name)
        await self.scene.settle()
        return await self.scene.became(guid)

    async def gate(self) -> Gate:
        """The gate's row."""
        (gate,) = (await self.play.case.rows()).gates
        return gate

    async def still_waits(self) -> bool:
        run = await self.play.case.run()
        return run.state is RunState.WAITING and (await self.gate()).state is GateState.OPEN

    async def result(self) -> Any:
        """What the step came to, after the run went on."""
        self.play.now = self.scene.clock.now()
        await self.play.claim()
        await self.play.go()
        assert self.play.end == "succeeded"
        return await self.play.result("w")


@asynccontextmanager
async def waiting(directory: Path, event: str, more: str = "") -> AsyncIterator[Waiting]:
    """A run on thread 1 that waits since `NOW`."""
    async with open_scene(directory) as scene:
        play = await (await Play.of(scene.store, f"- {{id: w, wait: {{event: {event}}}{more}}}")).go()
        yield Waiting(scene, play)


def labeled(sender: Any = ANA, *, number: int = 1, at: datetime = LATER, action: str = "labeled") -> dict[str, Any]:
    issue = issue_fields(number) | {"updated_at": stamp(at)}
    return {"action": action, "issue": issue, "label": {"name": "ready"}, **around(sender)}


def pull(action: str, *, merged: bool = False, sender: Any = ANA, **more: Any) -> dict[str, Any]:
    fields = issue_fields() | {
        "head": {"ref": "b", "sha": SHA},
        "html_url": "https://github.test/acme/widgets/pull/1",
        "updated_at": stamp(LATER),
        "merged": merged,
        "merged_at": stamp(LATER) if merged else None,
        "merge_commit_sha": "cd" * 20,
    }
    return {"action": action, "number": 1, "pull_request": fields, **around(sender), **more}


def check(key: str = "check_run", *, app: int = 15368, head: str = SHA, sender: Any = SAM) -> dict[str, Any]:
    fields = {
        "id": 5,
        "head_sha": SHA,
        "conclusion": "success",
        "completed_at": stamp(LATER),
        "updated_at": stamp(LATER),
        "html_url": "https://github.test/acme/widgets/runs/5",
        "app": {"id": app},
        "pull_requests": [{"number": 1, "head": {"sha": head}}],
    }
    return {"action": "completed", key: fields, **around(sender)}


async def test_a_label(tmp_path: Path) -> None:
    """Its name, who set it and where are the step's result."""
    async with waiting(tmp_path, "labeled") as here:
        assert await here.tell("issues", labeled()) == (DeliveryState.PLANNED, "answered r1.w")
        url = "https://github.test/acme/widgets/issues/1"
        assert await here.result() == {"event": "labeled", "label": "ready", "actor": "ana", "url": url}
        assert (await here.gate()).answer is not None


async def test_only_what_is_waited_for(tmp_path: Path) -> None:
    """Another action, another thread, another event, our own doing."""
    async with waiting(tmp_path, "labeled") as here:
        await here.tell("issues", labeled(action="unlabeled"))
        await here.tell("issues", labeled(number=2))
        await here.tell("issue_comment", comment_payload("hello", at=LATER))
        assert (await here.tell("issues", labeled(ME)))[1] == "our own"
        assert (await here.tell("pull_request", pull("labeled", sender=ME)))[1] == "our own"
        assert await here.still_waits()


async def test_a_label_on_a_pull_request(tmp_path: Path) -> None:
    """GitHub tells of it by another event."""
    async with waiting(tmp_path, "labeled") as here:
        found = await here.tell("pull_request", pull("labeled", label={"name": "go"}))
        assert found == (DeliveryState.PLANNED, "answered r1.w")
        assert (await here.result())["label"] == "go"


async def test_a_merge(tmp_path: Path) -> None:
    """With the commit; a pull request that is closed without is none."""
    async with waiting(tmp_path, "merged") as here:
        closed = await here.tell("pull_request", pull("closed"))
        assert closed == (DeliveryState.IGNORED, "no mention")
        assert await here.still_waits()
        await here.tell("pull_request", pull("closed", merged=True))
        url = "https://github.test/acme/widgets/pull/1"
        assert await here.result() == {"event": "merged", "sha": "cd" * 20, "actor": "ana", "url": url}


async def test_a_comment(tmp_path: Path) -> None:
    """Of a person, whatever the role, and no command."""
    async with waiting(tmp_path, "comment") as here:
        payload = comment_payload("done, have a look", SAM, comment_id=777, at=LATER)
        payload["comment"]["created_at"] = stamp(LATER)
        assert await here.tell("issue_comment", payload) == (DeliveryState.PLANNED, "answered r1.w")
        url = payload["comment"]["html_url"]
        assert await here.result() == {"event": "comment", "comment_id": "777", "actor": "sam", "url": url}


def bot_json() -> dict[str, Any]:
    return {"id": 99, "login": "other[bot]", "type": "Bot"}


@pytest.mark.parametrize(
    ("said", "change"),
    [
        ("@bot help", {}),
        ("see @bot help, please", {}),
        ("a build", {"sender": bot_json()}),
        ("our own", {"sender": account_json(ME)}),
        ("edited", {"action": "edited"}),
        ("deleted", {"action": "deleted"}),
    ],
)
@pytest.mark.parametrize("person", [ANA, SAM])
async def test_comments_that_are_no_answer(tmp_path: Path, said: str, change: dict[str, Any], person: Any) -> None:
    """Commands, whoever gives them, what programs say, and what is no new comment."""
    async with waiting(tmp_path, "comment") as here:
        here.scene.configure("version: 1\n")
        payload = comment_payload(said, person, comment_id=777, at=LATER) | change
        payload["comment"]["created_at"] = stamp(LATER)
        await here.tell("issue_comment", payload)
        assert await here.still_waits()


@pytest.mark.parametrize(
    ("before", "answers"), [(timedelta(0), True), (SKEW, True), (SKEW + timedelta(seconds=1), False)]
)
async def test_an_old_event_that_is_told_late(tmp_path: Path, before: timedelta, answers: bool) -> None:
    """It happened before the gate was opened; GitHub's whole seconds are given the benefit of the doubt."""
    async with waiting(tmp_path, "labeled") as here:
        await here.tell("issues", labeled(at=NOW - before))
        assert await here.still_waits() is not answers


async def test_a_delivery_that_came_before_the_gate(tmp_path: Path) -> None:
    """It waited to be looked at, and is no answer."""
    async with open_scene(tmp_path) as scene:
        scene.clock.advance(-1)
        guid = await scene.deliver(labeled(at=NOW), "issues")
        scene.clock.advance(1)
        here = Waiting(scene, await (await Play.of(scene.store, "- {id: w, wait: {event: labeled}}")).go())
        await scene.settle()
        assert (await scene.became(guid))[0] is DeliveryState.IGNORED
        assert await here.still_waits()


async def test_not_after_its_time(tmp_path: Path) -> None:
    """The time-out has won, also where nobody has noticed it yet."""
    async with waiting(tmp_path, "labeled", ", timeout: 30s") as here:
        await here.tell("issues", labeled())
        assert await here.still_waits()


async def test_every_run_that_waits_goes_on(tmp_path: Path) -> None:
    """Two branches of one run wait for the same."""
    async with open_scene(tmp_path) as scene:
        waits = [f"{step}s: [{{id: {step}, wait: {{event: {event}}}}}]" for step, event in THREE]
        fan = f"{{{', '.join(waits)}}}"
        play = await (await Play.of(scene.store, f"- {{id: fan, parallel: {{branches: {fan}}}}}")).go()
        here = Waiting(scene, play)
        _, reason = await here.tell("issues", labeled())
        assert reason in ("answered r1.x, r1.y", "answered r1.y, r1.x")
        states = [gate.state for gate in (await play.case.rows()).gates]
        assert sorted(states) == [GateState.ANSWERED, GateState.ANSWERED, GateState.OPEN]


def runs_answer(*conclusions: str | None, app: int = 15368) -> Any:
    rows = [
        {
            "id": n,
            "name": f"c{n}",
            "status": "completed" if each else "in_progress",
            "conclusion": each,
            "app": {"id": app},
        }
        for n, each in enumerate(conclusions)
    ]
    return {"total_count": len(rows), "check_runs": rows}


@pytest.mark.parametrize("key", ["check_run", "check_suite"])
async def test_checks(tmp_path: Path, key: str) -> None:
    """They wait for all checks of the head; the conclusion is that of all."""
    path = f"{REPO}/commits/{SHA}/check-runs"
    async with waiting(tmp_path, "checks_completed") as here:
        here.scene.server.on("GET", path, answer(runs_answer("success", None)))
        assert (await here.tell(key, check(key)))[1] == "other checks of the commit still run"
        assert await here.still_waits()
        here.scene.server.on("GET", path, answer(runs_answer("success", "failure", "skipped")))
        assert await here.tell(key, check(key)) == (DeliveryState.PLANNED, "answered r1.w")
        found = await here.result()
        url = "https://github.test/acme/widgets/runs/5"
        told = {"event": "checks_completed", "sha": SHA, "conclusion": "failure", "actor": "sam", "url": url}
        assert found == told


async def test_checks_of_our_own(tmp_path: Path) -> None:
    """They neither answer nor hold anything up; a check after our own push is another's, though we are the sender."""
    path = f"{REPO}/commits/{SHA}/check-runs"
    async with waiting(tmp_path, "checks_completed") as here:
        assert (await here.tell("check_run", check(app=APP_ID)))[1] == "our own"
        both = runs_answer("success")
        both["check_runs"] += runs_answer(None, app=APP_ID)["check_runs"]
        here.scene.server.on("GET", path, answer(both))
        assert (await here.tell("check_run", check(sender=ME)))[0] is DeliveryState.PLANNED


async def test_checks_of_another_commit(tmp_path: Path) -> None:
    """The head has moved on; GitHub is not asked."""
    async with waiting(tmp_path, "checks_completed") as here:
        assert (await here.tell("check_run", check(head="ef" * 20)))[1] == "a check of no open pull request's head"
        assert here.scene.asked("check-runs") == []


async def test_checks_that_nobody_waits_for(tmp_path: Path) -> None:
    """GitHub is not asked; no thread is made up."""
    async with open_scene(tmp_path) as scene:
        guid = await scene.deliver(check(), "check_run")
        await scene.settle()
        assert await scene.became(guid) == (DeliveryState.IGNORED, "nothing waits for it")
        assert scene.asked("check-runs") == []


@pytest.mark.parametrize(
    ("conclusions", "said"),
    [
        ((), "success"),
        (("success", "neutral", "skipped"), "success"),
        (("success", None), None),
        (("failure", None), None),
        (("cancelled", "timed_out"), "failure"),
        (("cancelled", "action_required"), "action_required"),
        (("stale", "success"), "stale"),
    ],
)
def test_what_checks_come_to(conclusions: tuple[str | None, ...], said: str | None) -> None:
    """The worst of them; nothing while one runs."""
    checks = [CheckRun(n, "c", "completed" if each else "queued", each) for n, each in enumerate(conclusions)]
    assert concluded(checks) == said
