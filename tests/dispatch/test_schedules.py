"""The clock starts workflows: rows that follow the configuration, times that come in once, in whose name they run."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from sqlmodel import select

from bot.dispatch import Parts, Timetable, schedules
from bot.dispatch.scheduled import LOOK_AFTER
from bot.model.slot import Slot
from bot.model.state import DeliveryState
from bot.model.thread import Account
from bot.publish.marker import strip
from bot.store import Session
from bot.store.schedules import NEVER
from bot.store.tables import Delivery, Schedule, Thread
from tests.dispatch.happenings import ACTIONS, committed_by, issue_event, listening, nobody, opened_issue
from tests.dispatch.scene import (
    APP_ID,
    INSTALLATION,
    MARKER,
    ME,
    MEG,
    REPO,
    SAM,
    Scene,
    account_json,
    around,
    issue_fields,
    role_answer,
    stamp,
)
from tests.github.fake import answer
from tests.rows import ANA, NOW, REPOSITORY

CRON = "0 6 * * *"
NIGHTLY = f'nightly: {{on: {{schedule: {{cron: "{CRON}", thread: 1}}}}}}'
FRESH = f'fresh: {{description: What is new, on: {{schedule: {{cron: "{CRON}", thread: new}}}}}}'
#: the first time that comes after the tests' own
DUE = (NOW.replace(hour=6, minute=0, second=0, microsecond=0)) + timedelta(days=1 if NOW.hour >= 6 else 0)


def timetable(scene: Scene) -> Timetable:
    """The loop's work, to be called by hand."""
    parts = Parts(scene.store, scene.github, scene.identities, scene.memo, MARKER, scene.speaker, scene.clock)
    return Timetable(parts, APP_ID)


async def rows(scene: Scene) -> list[Schedule]:
    return await scene.store.read(lambda s: list(s.exec(select(Schedule).order_by(Schedule.workflow))))


async def came(scene: Scene) -> list[Delivery]:
    """What the clock has let come in."""
    query = select(Delivery).where(Delivery.event == schedules.EVENT)
    return await scene.store.read(lambda s: list(s.exec(query)))


async def read_by_an_event(scene: Scene) -> None:
    """Somebody mentions the bot, which reads the configuration."""
    await scene.says(ANA, "@bot help")


async def looked_at(scene: Scene) -> Delivery:
    """What has come in, after the look that is due now: no issue is being opened any more."""

    async def opening() -> bool:
        return any(one.reason == "an issue is opened" for one in await came(scene))

    await scene.settle()
    await scene.until(opening, False)
    (found,) = await came(scene)
    return found


async def due(scene: Scene, workflow: str, person: Account | None = ANA) -> Delivery:
    """The configuration was read, the time comes, and what came in is looked at."""
    scene.configure(listening(workflow))
    committed_by(scene, person)
    scene.server.on("GET", f"{REPO}/issues/1", answer(issue_fields()))
    await read_by_an_event(scene)
    await scene.pass_time(DUE)
    assert await timetable(scene).look() == 1
    return await looked_at(scene)


# -- rows -------------------------------------------------------------------------------------------------------------


async def test_whoever_reads_the_configuration_reads_the_schedules(scene: Scene) -> None:
    """Rows come, change and go with it; a time that stays as it was stays due."""
    scene.configure(listening(NIGHTLY, FRESH))
    await read_by_an_event(scene)
    fresh, nightly = await rows(scene)
    assert (fresh.workflow, fresh.cron, fresh.thread, fresh.next_at) == ("fresh", CRON, None, DUE)
    assert (nightly.thread, nightly.installation_id, nightly.repository["name"]) == (1, INSTALLATION, "widgets")
    await scene.pass_time(timedelta(days=3))
    scene.configure(listening(NIGHTLY.replace("thread: 1", "thread: 2"), FRESH.replace(CRON, "0 7 * * *")), "12" * 20)
    await scene.says(ANA, "@bot help", comment_id=502)
    fresh, nightly = await rows(scene)
    assert (nightly.thread, nightly.next_at) == (2, DUE)
    assert (fresh.cron, fresh.next_at > scene.clock.now()) == ("0 7 * * *", True)
    scene.configure("version: 1\nbroken: [\n", "34" * 20)
    await scene.says(ANA, "@bot help", comment_id=503)
    assert len(await rows(scene)) == 2
    scene.configure("version: 1\n", "56" * 20)
    await scene.says(ANA, "@bot help", comment_id=504)
    assert await rows(scene) == []


async def test_an_event_for_which_nobody_reads_it_leaves_them(scene: Scene) -> None:
    """No request is made for the rows' sake."""
    scene.configure(listening(NIGHTLY))
    await scene.says(ANA, "hello")
    assert scene.asked("commits/main") == []
    assert await rows(scene) == []


@pytest.mark.parametrize(
    ("ref", "file", "read"),
    [
        ("main", ".github/bot.yml", True),
        ("main", ".github/bot/workflows/x.yml", True),
        ("main", "README.md", False),
        ("topic", ".github/bot.yml", False),
    ],
)
async def test_a_push(scene: Scene, ref: str, file: str, read: bool) -> None:
    """To the default branch that touches the configuration."""
    scene.configure(listening(NIGHTLY))
    payload = {
        "ref": f"refs/heads/{ref}",
        "before": "ab" * 20,
        "after": "cd" * 20,
        "head_commit": {"timestamp": "2026-01-01T00:00:00Z"},
        "commits": [{"added": [], "removed": [], "modified": [file]}],
        **around(ANA),
    }
    guid = await scene.deliver(payload, "push")
    await scene.settle()
    assert (await scene.became(guid))[0] is DeliveryState.IGNORED
    assert bool(await rows(scene)) is read
    assert bool(scene.asked("commits/main")) is read


def installed(
    scene: Scene, *repositories: dict[str, Any], suspended: bool = False, owner: Account | None = None
) -> None:
    """Where GitHub says that the App is installed."""
    one = {
        "id": INSTALLATION,
        "account": account_json(owner or REPOSITORY.owner),
        "permissions": {},
        "events": [],
        "suspended_at": "2026-01-01T00:00:00Z" if suspended else None,
    }
    scene.server.on("GET", "/app/installations", answer([one]))
    scene.server.on("GET", "/installation/repositories", answer({"repositories": list(repositories)}))


HERE = around(ANA)["repository"]


async def test_a_scan_reads_every_repository(scene: Scene) -> None:
    """What was pushed while the bot was away; what is gone is forgotten."""
    scene.configure(listening(NIGHTLY))
    installed(scene, HERE)
    await timetable(scene).scan()
    assert [row.workflow for row in await rows(scene)] == ["nightly"]
    installed(scene)
    await timetable(scene).scan()
    assert await rows(scene) == []


async def test_a_scan_leaves_strangers_alone(scene: Scene) -> None:
    """No token is minted for owners that are not served, nor for suspended installations, whose rows rest."""
    scene.configure(listening(NIGHTLY))
    installed(scene, HERE, owner=Account(99, "stranger", "Organization"))
    await timetable(scene).scan()
    assert scene.asked("installation/repositories") == []
    installed(scene, HERE)
    await timetable(scene).scan()
    installed(scene, HERE, suspended=True)
    await timetable(scene).scan()
    assert [row.next_at for row in await rows(scene)] == [NEVER]


async def test_an_archived_repository_rests(scene: Scene) -> None:
    """Nothing of it is due; once it is no longer archived, whoever reads it wakes it, told of that or not."""
    scene.configure(listening(NIGHTLY))
    installed(scene, HERE)
    await timetable(scene).scan()
    installed(scene, HERE | {"archived": True})
    await timetable(scene).scan()
    await scene.pass_time(timedelta(days=3))
    assert await timetable(scene).look() == 0
    installed(scene, HERE)
    await timetable(scene).scan()
    assert [row.next_at for row in await rows(scene)] == [DUE + timedelta(days=3)]


def repository_event(action: str, **changed: Any) -> dict[str, Any]:
    """A `repository` payload."""
    found = {"action": action, **around(ANA)}
    return found | {"repository": found["repository"] | {"updated_at": stamp(NOW)} | changed}


async def test_a_renamed_repository_keeps_its_new_name(scene: Scene) -> None:
    """The old one is written nowhere, be it that a time came in before the renaming; nobody is asked by it."""
    scene.configure(listening(NIGHTLY))
    committed_by(scene, ANA)
    scene.server.on("GET", f"{REPO}/issues/1", answer(issue_fields()))
    await read_by_an_event(scene)
    scene.server.on("GET", scene.permission(ANA), answer({}, 503))
    await scene.pass_time(DUE)
    await timetable(scene).look()
    await scene.settle()
    scene.server.moves(REPO, "/repos/acme/gadgets")
    await scene.deliver(repository_event("renamed", name="gadgets"), "repository")
    await scene.settle()
    scene.server.on("GET", scene.permission(ANA).replace("widgets", "gadgets"), role_answer("write"))
    for day in range(2):
        await scene.pass_time(timedelta(days=day) or timedelta(minutes=5))
        await timetable(scene).look()
        await scene.settle()
        found = await came(scene)
        assert [one.reason for one in found] == ["schedule: nightly"] * (day + 1)
        assert await scene.store.read(lambda session: session.exec(select(Thread.name)).all()) == ["gadgets"]


async def test_a_repository_that_cannot_be_read(scene: Scene) -> None:
    """Keeps what it wanted, and holds up no other."""
    scene.configure(listening(NIGHTLY))
    installed(scene, HERE)
    await timetable(scene).scan()
    scene.server.on("GET", f"{REPO}/commits/main", answer({}, 500))
    await timetable(scene).scan()
    assert len(await rows(scene)) == 1
    scene.server.on("GET", "/installation/repositories", answer({}, 403))
    await timetable(scene).scan()
    assert len(await rows(scene)) == 1


# -- times ------------------------------------------------------------------------------------------------------------


async def test_nothing_before_its_time(scene: Scene) -> None:
    """Nor twice at it."""
    scene.configure(listening(NIGHTLY))
    await read_by_an_event(scene)
    await scene.pass_time(DUE - timedelta(seconds=1))
    assert await timetable(scene).look() == 0
    await scene.pass_time(timedelta(seconds=1))
    assert [await timetable(scene).look() for _ in range(2)] == [1, 0]
    (row,) = await rows(scene)
    assert row.next_at == DUE + timedelta(days=1)


async def test_of_missed_times_the_newest_counts(scene: Scene) -> None:
    """A bot that was away for days does it once."""
    scene.configure(listening(NIGHTLY))
    await read_by_an_event(scene)
    await scene.pass_time(DUE + timedelta(days=4, hours=2))
    assert await timetable(scene).look() == 1
    (found,) = await came(scene)
    assert json.loads(found.body)["schedule"]["at"] == (DUE + timedelta(days=4)).isoformat()


async def test_a_time_comes_in_once_whatever_dies(scene: Scene) -> None:
    """Its identity is made of repository, workflow and time."""
    scene.configure(listening(NIGHTLY))
    await read_by_an_event(scene)
    await scene.pass_time(DUE)
    await timetable(scene).look()

    def back(session: Session) -> None:
        (row,) = session.exec(select(Schedule))
        row.next_at = DUE
        session.add(row)

    await scene.store.write(back)
    await timetable(scene).look()
    assert len(await came(scene)) == 1


# -- what a time starts -----------------------------------------------------------------------------------------------


async def test_it_runs_in_the_last_committers_name(scene: Scene) -> None:
    """On its thread, with the expression."""
    found = await due(scene, NIGHTLY)
    assert (found.state, found.reason) == (DeliveryState.PLANNED, "schedule: nightly")
    (made,) = await scene.dispatched()
    assert (made.command, made.actor, made.actor_role, made.issue["number"]) == ("nightly", "ana", "write", 1)
    assert (made.trigger["name"], made.trigger["cron"], made.comment_id) == ("schedule", CRON, None)
    assert datetime.fromisoformat(made.trigger["at"]).astimezone(UTC) == DUE
    assert "eyes" not in await scene.said("reaction")
    sent = [r.url.params["path"] for r in scene.server.sent("GET", f"{REPO}/commits")]
    assert sent == [".github/bot.yml"]


@pytest.mark.parametrize(
    ("person", "reason"),
    [
        (SAM, "schedule: nightly was not started: sam has the role read, write is needed"),
        (ACTIONS, "schedule: nightly was not started: the bot github-actions[bot] (41898282) is not in `allow_bots`"),
        (ME, "schedule: nightly was not started: the bot does not command itself"),
        (None, "schedule: whoever last changed .github/bot.yml has no account on GitHub"),
    ],
)
@pytest.mark.parametrize("workflow", [NIGHTLY, FRESH.replace("fresh:", "nightly:")])
async def test_whose_name_is_not_enough(scene: Scene, person: Account | None, reason: str, workflow: str) -> None:
    """Recorded, told nowhere in a thread, and no issue is opened."""
    found = await due(scene, workflow, person)
    assert (found.state, found.reason) == (DeliveryState.IGNORED, reason)
    assert (await scene.dispatched(), await scene.runs()) == ([], [])
    assert scene.server.sent("POST", f"{REPO}/issues") == []


async def test_a_commit_speaks_for_write_and_no_more(scene: Scene) -> None:
    """Whoever may push can make one that names a maintainer."""
    found = await due(scene, NIGHTLY, MEG)
    assert found.state is DeliveryState.PLANNED
    (made,) = await scene.dispatched()
    assert (made.actor, made.actor_role) == ("meg", "write")


async def test_what_needs_more_than_a_commit_can_say(scene: Scene) -> None:
    """Is started by no clock, whoever committed."""
    found = await due(scene, NIGHTLY.replace("{on:", "{trigger_role: maintain, on:"), MEG)
    assert found.reason.startswith("schedule: nightly was not started: it needs maintain, and a commit,")
    assert await scene.dispatched() == []


async def test_a_role_that_cannot_be_read_is_asked_for_again(scene: Scene) -> None:
    """As for a mention."""
    scene.configure(listening(NIGHTLY))
    committed_by(scene, SAM)
    await read_by_an_event(scene)
    scene.server.on("GET", scene.permission(SAM), answer({}, 503))
    await scene.pass_time(DUE)
    await timetable(scene).look()
    await scene.settle()
    (found,) = await came(scene)
    assert (found.state, found.trying_since is not None) == (DeliveryState.NEW, True)


async def test_what_is_not_wanted_any_more(scene: Scene) -> None:
    """The configuration has changed between the row and its time."""
    scene.configure(listening(NIGHTLY))
    await read_by_an_event(scene)
    scene.configure(listening(NIGHTLY.replace("thread: 1", "thread: 2")), "12" * 20)
    await scene.pass_time(DUE)
    await timetable(scene).look()
    await scene.settle()
    (found,) = await came(scene)
    assert found.reason == "schedule: nightly is not wanted at this time any more"
    assert await scene.dispatched() == []


async def test_a_thread_that_is_not_there(scene: Scene) -> None:
    """The record says so."""
    scene.configure(listening(NIGHTLY))
    committed_by(scene, ANA)
    scene.server.on("GET", f"{REPO}/issues/1", nobody())
    await read_by_an_event(scene)
    await scene.pass_time(DUE)
    await timetable(scene).look()
    await scene.settle()
    (found,) = await came(scene)
    assert (found.state, found.reason) == (DeliveryState.IGNORED, "schedule: there is no thread 1")


def opens(scene: Scene, reply: httpx.Response | Exception | None = None) -> list[dict[str, Any]]:
    """GitHub opens issue 9, or answers so; what it was sent, which it lists afterwards."""
    sent: list[dict[str, Any]] = []

    def post(request: httpx.Request) -> httpx.Response:
        given = json.loads(request.content)
        sent.append(given)
        made = opened_issue(8 + len(sent), given["body"], ME, scene.clock.now())
        scene.server.on("GET", f"{REPO}/issues", answer([made]))
        if isinstance(reply, Exception):
            raise reply
        return reply if reply is not None else answer(made, 201)

    scene.server.on("GET", f"{REPO}/issues", answer([]))
    scene.server.on("POST", f"{REPO}/issues", post)
    return sent


async def test_an_issue_of_its_own(scene: Scene) -> None:
    """Its title has the description and the date, its body a marker of ours."""
    sent = opens(scene)
    found = await due(scene, FRESH)
    assert found.state is DeliveryState.PLANNED
    (made,) = await scene.dispatched()
    assert (made.command, made.issue["number"]) == ("fresh", 9)
    (issue,) = sent
    assert issue["title"] == f"What is new ({DUE:%Y-%m-%d})"
    assert strip(issue["body"]) == f"Opened for `fresh`, which runs at `{CRON}` (UTC)."
    mark = MARKER.find(issue["body"], repository_id=REPOSITORY.id, thread=0)
    assert mark is not None
    assert mark.slot == Slot(f"dispatch/{found.id}", "issue", step="fresh")


async def test_no_issue_beyond_the_limits(scene: Scene) -> None:
    """One of the time that is allowed; of the others the record says why, and nobody is shown an issue."""
    sent = opens(scene)
    scene.configure(listening(FRESH, head="limits: {per_actor_day: {dispatches: 1}}\n"))
    committed_by(scene, ANA)
    await scene.says(ANA, "@bot fresh")
    await scene.pass_time(DUE)
    await timetable(scene).look()
    assert (await looked_at(scene)).reason == (
        "schedule: fresh was not started: per_actor_day: ana has used up the 1 requests that `limits.per_actor_day` "
        "allows in 24 hours; ask again later, or raise that limit"
    )
    assert sent == []
    await scene.pass_time(timedelta(days=1))
    await timetable(scene).look()
    await scene.settle()

    async def states() -> list[DeliveryState]:
        return [one.state for one in await came(scene)]

    await scene.until(states, [DeliveryState.IGNORED, DeliveryState.PLANNED])
    assert len(sent) == 1


async def test_an_issue_is_gone_on_with_beyond_the_limits(scene: Scene) -> None:
    """One that an earlier try has opened does not stay without a word."""
    sent = opens(scene, httpx.ReadTimeout("lost"))
    scene.configure(listening(FRESH, head="limits: {per_actor_day: {dispatches: 1}}\n"))
    committed_by(scene, ANA)
    await read_by_an_event(scene)
    await scene.pass_time(DUE)
    await timetable(scene).look()
    await looked_at(scene)
    await scene.says(ANA, "@bot fresh", comment_id=502, number=3)
    await scene.pass_time(LOOK_AFTER)
    assert ((await looked_at(scene)).state, len(sent)) == (DeliveryState.PLANNED, 1)
    assert "`limits.per_actor_day`" in (await scene.said())[-1]


async def test_an_issue_whose_reply_was_lost(scene: Scene) -> None:
    """It is looked for after a while, and not opened twice."""
    sent = opens(scene, httpx.ReadTimeout("lost"))
    found = await due(scene, FRESH)
    assert (found.state, len(sent)) == (DeliveryState.NEW, 1)
    assert found.reason.startswith("nobody knows whether the issue was opened")
    await scene.pass_time(LOOK_AFTER)
    assert ((await looked_at(scene)).state, len(sent)) == (DeliveryState.PLANNED, 1)
    (made,) = await scene.dispatched()
    assert made.issue["number"] == 9


async def test_an_issue_that_was_not_opened_after_all(scene: Scene) -> None:
    """Another one is, once it would have been found."""
    sent = opens(scene, httpx.ReadTimeout("lost"))
    await due(scene, FRESH)
    opens(scene)
    await scene.pass_time(LOOK_AFTER)
    assert ((await looked_at(scene)).state, len(sent)) == (DeliveryState.PLANNED, 1)
    assert len(scene.server.sent("POST", f"{REPO}/issues")) == 2


async def test_another_ones_marker_is_no_proof(scene: Scene) -> None:
    """A copy of it in an issue by somebody else is passed over."""
    sent = opens(scene, httpx.ReadTimeout("lost"))
    await due(scene, FRESH)
    copy = opened_issue(9, sent[0]["body"], SAM, scene.clock.now())
    opens(scene)
    scene.server.on("GET", f"{REPO}/issues", answer([copy]))
    await scene.pass_time(LOOK_AFTER)
    await looked_at(scene)
    assert len(scene.server.sent("POST", f"{REPO}/issues")) == 2


async def test_issues_that_may_not_be_opened(scene: Scene) -> None:
    """The delivery has failed, with GitHub's words."""
    opens(scene, answer({"message": "Resource not accessible by integration"}, 403))
    found = await due(scene, FRESH)
    assert (found.state, "not accessible" in found.reason) == (DeliveryState.FAILED, True)


@pytest.mark.parametrize("body", [b'{"action": "due"}', b'{"schedule": {"workflow": "x"}, "repository": {}}'])
async def test_a_body_that_is_none_of_ours(scene: Scene, body: bytes) -> None:
    """Whatever stands in the database, it is settled."""
    guid = await scene.deliver(body, schedules.EVENT)
    await scene.settle()
    assert await scene.became(guid) == (DeliveryState.IGNORED, "no schedule of ours")


async def test_a_trigger_reads_the_schedules_too(scene: Scene) -> None:
    """Any event for which the configuration is read."""
    scene.configure(listening(NIGHTLY, "w: {on: {closed: true}}"))
    guid = await scene.deliver(issue_event("closed"), "issues")
    await scene.settle()
    assert await scene.became(guid) == (DeliveryState.PLANNED, "closed: w")
    assert len(await rows(scene)) == 1
