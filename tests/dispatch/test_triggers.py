"""Events on threads start workflows: which, in whose name, once, and what is silent."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.dispatch.cause import caused
from bot.dispatch.events import normalise
from bot.dispatch.owed import SET_ASIDE
from bot.model.event import Event, ReviewState
from bot.model.patience import PATIENCE
from bot.model.state import DeliveryState
from bot.model.thread import Account
from tests.dispatch.happenings import (
    ACTIONS,
    NEWER,
    SHA,
    head_is,
    issue_event,
    listening,
    pull_event,
)
from tests.dispatch.scene import COMMIT, ME, MEG, REPO, SAM, Scene, open_scene
from tests.github.fake import answer
from tests.rows import ANA

LABEL: dict[str, Any] = {"label": {"name": "Ready"}}


async def told(scene: Scene, name: str, payload: dict[str, Any]) -> tuple[DeliveryState, str]:
    """A delivery comes; what became of it."""
    guid = await scene.deliver(payload, name)
    await scene.settle()
    return await scene.became(guid)


async def commands(scene: Scene) -> list[str]:
    """What was dispatched, in order."""
    return [one.command for one in await scene.dispatched()]


@pytest.mark.parametrize(
    ("on", "event", "payload", "fields"),
    [
        ("opened: true", "issues", issue_event("opened"), {}),
        ("labeled: [ready]", "issues", issue_event("labeled", **LABEL), {"label": "Ready"}),
        ("closed: true", "issues", issue_event("closed"), {}),
        ("opened: true", "pull_request", pull_event("opened"), {"sha": SHA, "ref": "topic"}),
        (
            "labeled: [x, ready]",
            "pull_request",
            pull_event("labeled", **LABEL),
            {"sha": SHA, "ref": "topic", "label": "Ready"},
        ),
        (
            "closed: true",
            "pull_request",
            pull_event("closed", merged=True, merge_commit_sha=NEWER),
            {"sha": NEWER, "ref": "topic"},
        ),
        ("ready_for_review: true", "pull_request", pull_event("ready_for_review"), {"sha": SHA, "ref": "topic"}),
    ],
)
async def test_each_event(scene: Scene, on: str, event: str, payload: dict[str, Any], fields: dict[str, str]) -> None:
    """One dispatch in the sender's name; the workflow sees the trigger's name and the event's own fields."""
    scene.configure(listening(f"w: {{on: {{{on}}}}}", "other: {on: {review_submitted: true}}"))
    head_is(scene, SHA)
    name = on.partition(":")[0]
    assert await told(scene, event, payload) == (DeliveryState.PLANNED, f"{name}: w")
    (made,) = await scene.dispatched()
    assert (made.command, made.actor, made.actor_role, made.comment_id, made.depth) == ("w", "ana", "write", None, 0)
    known = {key: made.trigger.get(key) for key in ("name", "text", "actor", *fields)}
    assert known == {"name": name, "text": "", "actor": "ana"} | fields
    assert not {"label", "sha", "ref"} - set(fields) & set(made.trigger)


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("issues", issue_event("reopened")),
        ("issues", issue_event("edited")),
        ("issues", issue_event("unlabeled", **LABEL)),
        ("issues", issue_event("labeled", label={"name": "other"})),
        ("issues", issue_event("labeled", label=None)),
        ("pull_request", pull_event("edited")),
        ("pull_request", pull_event("reopened")),
    ],
)
async def test_what_starts_nothing(scene: Scene, event: str, payload: dict[str, Any]) -> None:
    """Other actions, and other labels."""
    every = "opened: true, labeled: [ready], closed: true, ready_for_review: true, synchronize: true"
    scene.configure(listening(f"w: {{on: {{{every}}}}}"))
    head_is(scene, SHA)
    assert (await told(scene, event, payload))[0] is DeliveryState.IGNORED
    assert await commands(scene) == []


async def test_where_nothing_listens(scene: Scene) -> None:
    """Mentions alone: an event is no request."""
    scene.configure(listening("w: {on: {mention: true}}"))
    assert await told(scene, "issues", issue_event("opened")) == (DeliveryState.IGNORED, "no mention")
    assert scene.asked("permission") == []


async def test_several_in_the_order_of_the_file(scene: Scene) -> None:
    """And the request of the new issue's own text before them, for which the event starts nothing more."""
    scene.configure(listening(*(f"{name}: {{on: {{opened: true}}}}" for name in ("zebra", "ape", "mule"))))
    await told(scene, "issues", issue_event("opened", body="@bot ape, please"))
    made = await scene.dispatched()
    assert [(one.command, one.trigger["name"]) for one in made] == [
        ("ape", "mention"),
        ("zebra", "opened"),
        ("mule", "opened"),
    ]
    assert len({one.ordinal for one in made}) == 3


async def test_a_mistyped_command_is_no_request(scene: Scene) -> None:
    """It is asked about; the event starts what it starts, though free text would have gone there."""
    scene.configure(listening("ape: {on: {opened: true}}", head="default: ape\n"))
    await told(scene, "issues", issue_event("opened", body="@bot statsu"))
    assert [(one.command, one.trigger["name"]) for one in await scene.dispatched()] == [("ape", "opened")]
    assert "Did you mean `@bot status`?" in (await scene.said())[0]


async def test_a_mention_that_may_not_start_it_is_no_request(scene: Scene) -> None:
    """The event of the same text starts what it may."""
    scene.configure(listening("ape: {on: {opened: true}, trigger_role: read}", "mule: {trigger_role: maintain}"))
    await told(scene, "issues", issue_event("opened", body="@bot mule, please"))
    assert [(one.command, one.trigger["name"]) for one in await scene.dispatched()] == [("ape", "opened")]


async def test_a_pull_requests_own_text_asks_as_an_issues(scene: Scene) -> None:
    """When it was opened, and when an edit adds a request; the title never."""
    scene.configure(listening("w: {on: {mention: true}}"))
    head_is(scene, SHA)
    await told(scene, "pull_request", pull_event("opened", body="@bot w", title="@bot w again"))
    await told(scene, "pull_request", pull_event("edited", body="@bot w") | {"changes": {"title": {"from": "x"}}})
    await told(scene, "pull_request", pull_event("edited", body="@bot w") | {"changes": {"body": {"from": "x"}}})
    made = await scene.dispatched()
    assert [(one.command, one.trigger["name"]) for one in made] == [("w", "mention")] * 2


@pytest.mark.parametrize(
    ("sender", "role", "allowed"),
    [(SAM, "", False), (SAM, "trigger_role: read, ", True), (ANA, "trigger_role: maintain, ", False), (MEG, "", True)],
)
async def test_the_senders_role_decides(scene: Scene, sender: Account, role: str, allowed: bool) -> None:
    """Against the workflow's own `trigger_role`; a no is silent, with the reason in the record."""
    scene.configure(listening(f"w: {{{role}on: {{opened: true}}}}"))
    state, reason = await told(scene, "issues", issue_event("opened", sender))
    assert (await commands(scene) == ["w"]) is allowed
    assert state is (DeliveryState.PLANNED if allowed else DeliveryState.IGNORED)
    assert allowed or reason.startswith(f"opened: w was not started: {sender.login} has the role")
    assert await scene.said() == []
    assert await scene.said("reaction") == (["eyes"] if allowed else [])


async def test_each_workflow_has_its_own_role(scene: Scene) -> None:
    """What is allowed starts, what is not is recorded."""
    scene.configure(
        listening("a: {trigger_role: maintain, on: {closed: true}}", "b: {trigger_role: read, on: {closed: true}}")
    )
    state, reason = await told(scene, "issues", issue_event("closed", SAM))
    assert (state, await commands(scene)) == (DeliveryState.PLANNED, ["b"])
    assert reason == "closed: b; closed: a was not started: sam has the role read, maintain is needed"


@pytest.mark.parametrize("allowed", [True, False])
async def test_other_bots_by_their_id(scene: Scene, allowed: bool) -> None:
    """As for mentions; roles do not count for them."""
    bots = f"allow_bots: [{ACTIONS.id if allowed else 7}]\n"
    scene.configure(listening("w: {on: {opened: true}}", head=bots))
    await told(scene, "issues", issue_event("opened", ACTIONS))
    assert await commands(scene) == (["w"] if allowed else [])
    assert scene.asked("permission") == []


@pytest.mark.parametrize(
    ("event", "payload", "owed"),
    [
        ("issues", issue_event("labeled", **LABEL), True),
        ("issues", issue_event("labeled", SAM, **LABEL), False),
        ("issues", issue_event("labeled", label={"name": "other"}), False),
        ("issues", issue_event("opened"), False),
        ("pull_request", pull_event("synchronize"), True),
        ("pull_request", pull_event("synchronize", sha=NEWER), False),
    ],
)
async def test_what_is_set_aside_is_told_to_whoever_may_start_it(
    scene: Scene, event: str, payload: dict[str, Any], owed: bool
) -> None:
    """In the thread, once; of what would have started nothing, nothing is said."""
    scene.configure(listening("w: {on: {labeled: [ready], synchronize: true}}"))
    head_is(scene, SHA)
    guid = await scene.deliver(payload, event)
    await scene.ended_over(guid)
    await scene.settle()
    assert (await scene.became(guid))[0] is DeliveryState.FAILED
    assert [SET_ASIDE in said for said in await scene.said()] == [True] * owed
    assert await commands(scene) == []


@pytest.mark.parametrize("outage", [timedelta(minutes=5), timedelta(minutes=20)])
async def test_what_is_set_aside_is_told_after_an_outage(scene: Scene, outage: timedelta) -> None:
    """What an event starts stands in the configuration: that is waited for, as long as GitHub is asked for anything."""
    scene.configure(listening("w: {on: {labeled: [ready]}}"))
    ends = scene.clock.now() + outage

    def commit(_request: httpx.Request) -> httpx.Response:
        return answer({}, 503) if scene.clock.now() < ends else httpx.Response(200, text=COMMIT)

    scene.server.on("GET", f"{REPO}/commits/main", commit)
    guid = await scene.deliver(issue_event("labeled", **LABEL), "issues")
    await scene.ended_over(guid)
    await scene.settle()
    while (row := await scene.delivery(guid)).state is DeliveryState.NEW:
        assert row.not_before is not None
        await scene.pass_time(row.not_before)
    assert (await scene.became(guid))[0] is DeliveryState.FAILED
    assert [SET_ASIDE in said for said in await scene.said()] == [True] * (outage < PATIENCE)


async def test_what_is_set_aside_is_told_once_we_know_who_we_are(tmp_path: Path) -> None:
    """The settings leave it to GitHub, which does not answer a process that has just begun."""
    async with open_scene(tmp_path, slug="", owners=()) as scene:
        app = {"id": 42, "slug": "bot", "owner": {"id": 10, "login": "acme", "type": "Organization"}}
        scene.server.on("GET", "/app", answer({}, 502, retry_after="30"), answer(app))
        scene.configure(listening("w: {on: {labeled: [ready]}}"))
        guid = await scene.deliver(issue_event("labeled", **LABEL), "issues")
        await scene.ended_over(guid)
        await scene.settle()
        row = await scene.delivery(guid)
        assert (row.state, len(await scene.said())) == (DeliveryState.NEW, 0)
        assert row.not_before is not None
        await scene.pass_time(row.not_before)
        assert (await scene.became(guid))[0] is DeliveryState.FAILED
        assert [SET_ASIDE in said for said in await scene.said()] == [True]


async def test_what_we_do_starts_nothing(scene: Scene) -> None:
    """Labels that our own runs set, issues that they open; whatever `allow_bots` says."""
    scene.configure(listening("w: {on: {opened: true, labeled: [ready]}}", head=f"allow_bots: [{ME.id}]\n"))
    for payload in (issue_event("opened", ME), issue_event("labeled", ME, **LABEL)):
        assert await told(scene, "issues", payload) == (DeliveryState.IGNORED, "our own")
    assert await commands(scene) == []


@pytest.mark.parametrize(("action", "reactions"), [("opened", ["eyes"]), ("closed", [])])
async def test_only_what_was_opened_is_reacted_to(scene: Scene, action: str, reactions: list[str]) -> None:
    """Nobody's other text asked for anything."""
    scene.configure(listening(f"w: {{on: {{{action}: true}}}}"))
    await told(scene, "issues", issue_event(action))
    assert await scene.said("reaction") == reactions


async def test_an_issue_moved_here_is_opened_here(scene: Scene) -> None:
    """Its text was read where it came from, and is no request; that it is new here starts what new issues start."""
    scene.configure(listening("w: {on: {opened: true}}"))
    moved = issue_event("opened", body="@bot w") | {"changes": {"old_issue": {"id": 1}}}
    await told(scene, "issues", moved)
    (made,) = await scene.dispatched()
    assert (made.trigger["name"], made.request) == ("opened", "The issue was opened by ana.")


async def test_the_same_delivery_twice(scene: Scene) -> None:
    """A second event of the same label is another one; the same GUID is not taken again."""
    scene.configure(listening("w: {on: {labeled: [ready]}}"))
    await told(scene, "issues", issue_event("labeled", **LABEL))
    await told(scene, "issues", issue_event("labeled", **LABEL))
    assert await commands(scene) == ["w", "w"]


async def test_a_broken_configuration_is_silent(scene: Scene) -> None:
    """Nobody asked for anything; the record has it."""
    scene.configure("version: 1\nworkflows: {w: {on: {opened: true}}}\n")
    state, reason = await told(scene, "issues", issue_event("opened"))
    assert (state, reason) == (DeliveryState.IGNORED, "opened: the configuration cannot be used")
    assert await scene.said() == []


async def test_inputs_that_no_event_gives_are_told_once(scene: Scene) -> None:
    """In each thread, as long as the configuration is the same; there is nobody to react to."""
    text = listening("w: {inputs: {area: {type: text}}, on: {labeled: [ready]}}")
    scene.configure(text)
    for _ in range(2):
        await told(scene, "issues", issue_event("labeled", **LABEL))
    (said,) = await scene.said()
    assert "area" in said
    assert await scene.said("reaction") == []
    scene.configure(text.replace("date", "pwd"), "dead" * 10)
    await told(scene, "issues", issue_event("labeled", **LABEL))
    assert len(await scene.said()) == 2


async def test_limits_hold_as_for_mentions(scene: Scene) -> None:
    """Told once; without a reaction on what nobody wrote."""
    limit = "limits: {per_actor_day: {dispatches: 1}}\n"
    scene.configure(listening("w: {on: {closed: true}}", head=limit))
    for _ in range(3):
        await told(scene, "issues", issue_event("closed"))
    assert len(await scene.runs()) == 1
    (said,) = await scene.said()
    assert "Nothing was started" in said
    assert await scene.said("reaction") == []


async def test_a_role_that_cannot_be_read_is_asked_for_again(scene: Scene) -> None:
    """The delivery waits, and nobody waits for it."""
    scene.configure(listening("w: {on: {opened: true}}"))
    scene.server.on("GET", scene.permission(ANA), answer({}, 503))
    guid = await scene.deliver(issue_event("opened"), "issues")
    await scene.settle()
    waiting = await scene.delivery(guid)
    assert (waiting.state, waiting.trying_since is not None) == (DeliveryState.NEW, True)
    scene.grant(ANA, "write")
    await scene.pass_time(timedelta(minutes=2))
    assert await scene.became(guid) == (DeliveryState.PLANNED, "opened: w")


# -- pushes -----------------------------------------------------------------------------------------------------------

PUSHED = listening("w: {on: {synchronize: true}}")


async def test_a_push_is_held_for_half_a_minute(scene: Scene) -> None:
    """Then it starts the workflow with the commit; until then nobody else waits."""
    scene.configure(PUSHED)
    head_is(scene, SHA)
    guid = await scene.deliver(pull_event("synchronize"), "pull_request")
    await scene.settle()
    assert (await scene.delivery(guid)).reason == "held: more pushes may follow"
    await scene.pass_time(timedelta(seconds=29))
    assert await commands(scene) == []
    await scene.says(ANA, "@bot w")
    assert await commands(scene) == ["w"]
    await scene.pass_time(timedelta(seconds=1))
    assert await scene.became(guid) == (DeliveryState.PLANNED, "synchronize: w")
    assert (await scene.dispatched())[-1].trigger["sha"] == SHA


async def test_several_pushes_are_one_dispatch(scene: Scene) -> None:
    """For the newest head."""
    scene.configure(PUSHED)
    head_is(scene, SHA)
    first = await scene.deliver(pull_event("synchronize"), "pull_request")
    await scene.settle()
    await scene.pass_time(timedelta(seconds=20))
    head_is(scene, NEWER)
    second = await scene.deliver(pull_event("synchronize", sha=NEWER), "pull_request")
    await scene.settle()
    await scene.pass_time(timedelta(seconds=10))
    assert await scene.became(first) == (DeliveryState.IGNORED, "superseded: the head has moved on")
    await scene.pass_time(timedelta(seconds=20))
    assert (await scene.became(second))[0] is DeliveryState.PLANNED
    (made,) = await scene.dispatched()
    assert made.trigger["sha"] == NEWER


async def test_a_pull_request_that_was_closed_meanwhile(scene: Scene) -> None:
    """Is not looked at."""
    scene.configure(PUSHED)
    head_is(scene, SHA, state="closed")
    await scene.deliver(pull_event("synchronize"), "pull_request")
    await scene.settle()
    await scene.pass_time(timedelta(seconds=30))
    assert await commands(scene) == []


async def test_pushes_that_nothing_listens_to_are_not_held(scene: Scene) -> None:
    """They mean nothing at once."""
    scene.configure(listening("w: {on: {opened: true}}"))
    head_is(scene, SHA)
    assert (await told(scene, "pull_request", pull_event("synchronize")))[0] is DeliveryState.IGNORED


def test_a_review() -> None:
    """Whoever submits it starts what listens to reviews."""
    event = normalise("pull_request", pull_event("labeled", **LABEL))
    assert isinstance(event, Event)
    review = replace(event, name="pull_request_review", action="submitted", review=ReviewState(9, "changes_requested"))
    cause = caused(review)
    assert cause is not None
    assert (cause.name, cause.text) == ("review_submitted", "ana submitted a review: changes requested.")
    assert cause.has_subject
    assert caused(replace(review, action="dismissed")) is None
