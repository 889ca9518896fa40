"""The six steps of *Who may command*, in order, and what GitHub's faults do to them."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.dispatch.intake import LOOK_EVERY
from bot.dispatch.owed import LIMITED, SET_ASIDE, UNANSWERED
from bot.model.state import DeliveryState, RunState
from bot.model.thread import Account
from bot.store import Session, deliveries
from tests.databases import on_both
from tests.dispatch.scene import (
    ME,
    MEG,
    REPO,
    SAM,
    Scene,
    around,
    comment_payload,
    issue_fields,
    open_scene,
    role_answer,
    stamp,
)
from tests.github.fake import answer
from tests.rows import ANA, NOW, locked

pytestmark = on_both


PLANNED, IGNORED, FAILED = DeliveryState.PLANNED, DeliveryState.IGNORED, DeliveryState.FAILED
DEPLOY = Account(80, "deploy[bot]", "Bot")
STRANGER = Account(99, "stranger", "Organization")
DOWN = httpx.Response(500, json={"message": "Server Error"})


# -- the order of the six steps --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payload", "asked", "reason"),
    [
        (comment_payload("@bot hello", ME, app_id=42), [], "our own"),
        (comment_payload("@bot hello", owner=STRANGER), [], "the owner stranger is not in BOT_ALLOWED_OWNERS"),
        (comment_payload("hello"), [], "no mention"),
        (comment_payload("@bot hello", action="deleted"), [], "no mention"),
        (comment_payload("hello @meg"), ["commits"], "no mention"),
        (comment_payload("`@bot hello`"), ["commits"], "no mention"),
        (comment_payload("@bot hello", ANA) | {"installation": None}, [], "the delivery names no installation"),
        (comment_payload("@bot hello", DEPLOY), ["commits"], "the bot deploy[bot] (80) is not in `allow_bots`"),
        (comment_payload("@bot hello", SAM), ["commits", "collaborators"], "sam has the role read, write is needed"),
    ],
)
async def test_each_step_ends_what_it_refuses(
    scene: Scene, payload: dict[str, Any], asked: list[str], reason: str
) -> None:
    """Nothing is asked that an earlier step makes needless: no token for our own, for strangers, for small talk."""
    guid = await scene.deliver(payload)
    await scene.settle()
    assert await scene.became(guid) == (IGNORED, reason)
    assert [path.removeprefix(REPO).split("/")[1] for path in scene.asked()] == asked
    assert bool(scene.server.minted) == bool(asked)
    assert (await scene.dispatched(), await scene.said(), await scene.said("reaction")) == ([], [], [])


async def test_an_accepted_request_is_a_dispatch_with_all_that_is_needed(scene: Scene) -> None:
    """Actor with role, request, anchor, template values, snapshot, a queued run, and 👀 on the comment."""
    guid = await scene.says(MEG, "see below\n\n@bot what is this?", comment_id=777)
    assert await scene.became(guid) == (PLANNED, "")
    (dispatch,) = await scene.dispatched()
    assert (dispatch.actor, dispatch.actor_id, dispatch.actor_role) == ("meg", 12, "maintain")
    assert (dispatch.comment_id, dispatch.comment_count, dispatch.command, dispatch.sequence) == (777, 1, "ask", 1)
    assert dispatch.request == "see below\n\n@bot what is this?"
    assert (dispatch.trigger["text"], dispatch.trigger["actor"]) == ("what is this?", "meg")
    assert dispatch.issue["labels"] == ["bug"]
    (run,) = await scene.runs()
    assert (run.number, run.workflow, run.state, run.queued_at) == (1, "ask", RunState.QUEUED, NOW)
    assert await scene.said("reaction") == ["eyes"]


async def test_the_role_counts_not_the_association(scene: Scene) -> None:
    """GitHub shows an organisation's admin as NONE; the effective role decides, and it is asked once a delivery."""
    scene.grant(SAM, "admin")
    await scene.says(SAM, "@bot one\n@bot two\n@bot three", author_association="NONE")
    assert [d.trigger["text"] for d in await scene.dispatched()] == ["one", "two", "three"]
    assert len(scene.asked("collaborators")) == 1
    await scene.says(ANA, "@bot no", comment_id=502, author_association="OWNER")
    assert len(await scene.dispatched()) == 4
    scene.grant(MEG, "triage")
    guid = await scene.says(MEG, "@bot no", comment_id=503, author_association="OWNER")
    assert await scene.became(guid) == (IGNORED, "meg has the role triage, write is needed")


async def test_words_of_an_answer_are_a_request_where_nobody_was_asked(scene: Scene) -> None:
    """And no answer, which there is nothing for."""
    await scene.says(ANA, "@bot approve of nothing that is slow")
    (dispatch,) = await scene.dispatched()
    assert (dispatch.command, dispatch.trigger["text"]) == ("ask", "approve of nothing that is slow")


async def test_what_is_refused_beside_what_is_done(scene: Scene) -> None:
    """The reason is kept, though something else of the same comment is done, or something else is told of it."""
    scene.configure("version: 1\nworkflows: {deploy: {trigger_role: maintain, steps: [{id: a, run: date}]}}\n")
    guid = await scene.says(ANA, "@bot help\n\n@bot deploy")
    assert await scene.became(guid) == (PLANNED, "ana has the role write, maintain is needed")
    assert (await scene.dispatched(), len(await scene.said())) == ([], 1)


# -- order -----------------------------------------------------------------------------------------------------------


async def test_a_threads_deliveries_go_by_payload_time(scene: Scene) -> None:
    """Whatever order they came in; equal times by arrival."""
    for number, seconds in ((1, 30), (2, 10), (3, 20), (4, 20)):
        at = NOW + timedelta(seconds=seconds)
        await scene.deliver(comment_payload(f"@bot number {number}", comment_id=500 + number, at=at))
    await scene.settle()
    assert [d.trigger["text"][-1] for d in await scene.dispatched()] == ["2", "3", "4", "1"]


async def test_a_thread_that_hangs_holds_up_no_other(scene: Scene) -> None:
    """Not even with more deliveries than one look takes."""
    hold = scene.gate.held[scene.permission(MEG)] = asyncio.Event()
    for number in range(130):
        await scene.deliver(comment_payload("@bot mine", MEG, comment_id=1000 + number))
    scene.start()
    await scene.until(lambda: _met(scene), 1)
    guid = await scene.deliver(comment_payload("@bot other", ANA, number=2, comment_id=2000))
    async with asyncio.timeout(LOOK_EVERY - 1):
        await scene.until(lambda: _state(scene, guid), PLANNED)
    assert await scene.open() == 130
    hold.set()
    del scene.gate.held[scene.permission(MEG)]
    await scene.until(scene.open, 0)


def _waits(scene: Scene) -> list[float | None]:
    """For how long each wait for the bell was to be."""
    waits: list[float | None] = []
    bell = scene.store.bell("delivery")
    wait = bell.wait

    async def noted(seen: int, timeout: float | None = None) -> None:
        waits.append(timeout)
        await wait(seen, timeout)

    bell.wait = noted  # type: ignore[method-assign]  # the test counts
    return waits


async def test_what_is_put_off_wakes_whoever_looks(scene: Scene) -> None:
    """Nothing has to ring when its time has come."""
    waits = _waits(scene)
    later = await scene.delivery(await scene.deliver(comment_payload("@bot later", ANA)))
    due = NOW + timedelta(seconds=2)
    await scene.store.write(lambda s: deliveries.postpone(s, later.id, due, None, "busy"))
    scene.start()
    await scene.until(lambda: _last(waits), 2.0)


async def test_what_was_put_off_is_looked_at_at_once_where_its_comment_is_deleted(scene: Scene) -> None:
    """Its text is kept no longer, and whoever settled the deletion is not who looks: somebody has to ring."""
    waits = _waits(scene)
    scene.server.on("GET", scene.permission(ANA), answer({"message": "rate limit"}, 429, retry_after="600"))
    guid = await scene.says(ANA, "@bot a secret")
    await scene.until(lambda: _last(waits), LOOK_EVERY)
    assert (await scene.delivery(guid)).not_before == NOW + timedelta(seconds=600)
    await scene.deliver(comment_payload("@bot a secret", ANA, action="deleted"))
    async with asyncio.timeout(LOOK_EVERY - 1):
        await scene.until(lambda: _state(scene, guid), IGNORED)
    assert (await scene.delivery(guid)).body == b""


async def test_one_that_could_not_be_settled_is_looked_at_again_at_once(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is done with its thread rings, though nothing came in behind it."""
    failures = [OSError("the disk"), OSError("the disk, still")]  # of the delivery, and of saying that it failed
    settled = deliveries.settle

    def settle(session: Session, delivery_id: str, new: DeliveryState, reason: str = "") -> None:
        if failures:
            raise failures.pop()
        settled(session, delivery_id, new, reason)

    monkeypatch.setattr(deliveries, "settle", settle)
    waits = _waits(scene)
    scene.start()
    await scene.until(lambda: _last(waits), LOOK_EVERY)
    guid = await scene.deliver(comment_payload("@bot mine", ANA))
    async with asyncio.timeout(LOOK_EVERY - 1):
        await scene.until(lambda: _state(scene, guid), PLANNED)


async def test_what_is_due_in_a_thread_that_hangs_is_not_looked_for_all_the_time(scene: Scene) -> None:
    """Whoever is done with the thread rings."""
    waits, bell = _waits(scene), scene.store.bell("delivery")
    scene.start()
    await scene.until(lambda: _last(waits), LOOK_EVERY)
    hold = scene.gate.held[scene.permission(MEG)] = asyncio.Event()
    await scene.deliver(comment_payload("@bot mine", MEG, comment_id=1000))
    await scene.until(lambda: _met(scene), 1)
    behind = await scene.delivery(await scene.deliver(comment_payload("@bot behind", ANA, comment_id=1001)))
    due = NOW + timedelta(seconds=2)
    await scene.store.write(lambda s: deliveries.postpone(s, behind.id, due, None, "busy"))
    scene.clock.advance(3)
    waits.clear()
    bell.ring()
    await scene.until(lambda: _last(waits), LOOK_EVERY)
    assert await scene.open(due=True) == 2
    hold.set()
    del scene.gate.held[scene.permission(MEG)]
    await scene.until(scene.open, 0)


async def _last(waits: list[float | None]) -> float | None:
    return waits[-1] if waits else None


async def _met(scene: Scene) -> int:
    return len(scene.gate.met)


async def _state(scene: Scene, guid: str) -> DeliveryState:
    return (await scene.became(guid))[0]


# -- GitHub's faults -------------------------------------------------------------------------------------------------


async def test_a_role_that_cannot_be_read_is_asked_again_and_holds_up_nobody(scene: Scene) -> None:
    """The delivery waits, its thread goes on, and it takes its place in the order when it is accepted."""
    scene.server.on("GET", scene.permission(MEG), answer({}, 502, retry_after="30"), role_answer("maintain"))
    late = await scene.says(MEG, "@bot late", comment_id=501)
    row = await scene.delivery(late)
    assert (row.state, row.trying_since) == (DeliveryState.NEW, NOW)
    assert row.not_before == NOW + timedelta(seconds=30)
    assert await scene.dispatched() == []
    await scene.says(ANA, "@bot soon", comment_id=502)
    await scene.pass_time(timedelta(seconds=30))
    assert await scene.became(late) == (PLANNED, "")
    assert [(d.trigger["text"], d.sequence) for d in await scene.dispatched()] == [("soon", 1), ("late", 2)]


@pytest.mark.parametrize(
    ("path", "state", "reason"),
    [
        ("permission", IGNORED, "the role could not be read within 15 minutes"),
        (f"{REPO}/commits/main", FAILED, "GitHub did not answer for 15 minutes"),
    ],
)
async def test_after_fifteen_minutes_of_faults_it_is_a_no(
    scene: Scene, path: str, state: DeliveryState, reason: str
) -> None:
    """Within a bounded number of tries, the last at the deadline. Told is who is known to be allowed, nobody else."""
    known = path != "permission"
    path = path if known else scene.permission(MEG)
    scene.server.on("GET", path, DOWN)
    guid = await scene.deliver(comment_payload("@bot hello", MEG))
    await scene.settle()
    tries = 1
    while (row := await scene.delivery(guid)).not_before is not None:
        assert row.trying_since is not None
        assert row.trying_since - NOW < timedelta(seconds=4)
        await scene.pass_time(row.not_before)
        tries += 1
    assert row.state is state
    assert row.reason.startswith(reason)
    assert timedelta(minutes=15) <= scene.clock.now() - NOW < timedelta(minutes=16)
    assert 5 <= tries <= 20
    assert (await scene.dispatched(), await scene.said("reaction")) == ([], [])
    assert [UNANSWERED in said for said in await scene.said()] == [True] * known


async def test_after_two_hours_of_limits_it_is_told(scene: Scene) -> None:
    """In words of its own, and not before; it is a limit of something else than what tells roles."""
    elsewhere = {"retry_after": "3599", "x_ratelimit_remaining": "0", "x_ratelimit_resource": "search"}
    scene.server.on("GET", f"{REPO}/commits/main", answer({"message": "rate limit"}, 429, **elsewhere))
    guid = await scene.deliver(comment_payload("@bot hello", MEG))
    await scene.settle()
    while (row := await scene.delivery(guid)).not_before is not None:
        await scene.pass_time(row.not_before)
    assert (row.state, row.reason[:40]) == (FAILED, "GitHub's limit held it up for 120 minute")
    assert scene.clock.now() - NOW == timedelta(hours=2)
    assert [LIMITED in said for said in await scene.said()] == [True]


@pytest.mark.parametrize("waits", [1, 5, 6])
async def test_what_is_set_aside_is_told_behind_a_limit(scene: Scene, waits: int) -> None:
    """Whoever asked is told once GitHub says that they may; after two hours of limits nobody is."""
    limit = answer({"message": "rate limit"}, 429, retry_after="1200")
    scene.server.on("GET", scene.permission(MEG), *[limit] * (waits + 1), role_answer("maintain"))
    guid = await scene.deliver(comment_payload("@bot hello", MEG))
    await scene.ended_over(guid)
    await scene.settle()
    while (row := await scene.delivery(guid)).not_before is not None:
        await scene.pass_time(row.not_before)
    assert (row.state, row.reason[:9]) == (FAILED, "set aside")
    assert [SET_ASIDE in said for said in await scene.said()] == [True] * (waits < 6)
    assert await scene.dispatched() == []


@pytest.mark.parametrize("path", ["permission", f"{REPO}/commits/main"])
async def test_what_github_asks_for_is_waited(scene: Scene, path: str) -> None:
    """A rate limit names a time: it is not asked before then, and nobody sleeps."""
    path = scene.permission(ANA) if path == "permission" else path
    good = role_answer("write") if path == scene.permission(ANA) else answer({"message": "Not Found"}, 404)
    scene.server.on("GET", path, answer({"message": "rate limit"}, 429, retry_after="600"), good)
    guid = await scene.says(ANA, "@bot hello")
    assert (await scene.delivery(guid)).not_before == NOW + timedelta(seconds=600)
    await scene.pass_time(timedelta(seconds=599))
    assert len(scene.asked(path)) == 1
    await scene.pass_time(timedelta(seconds=1))
    assert len(await scene.dispatched()) == 1
    assert scene.clock.slept == []


@pytest.mark.parametrize("status", [403, 404])
async def test_a_definite_no_denies_at_once(scene: Scene, status: int) -> None:
    """GitHub shows no role: nothing is asked twice, nobody is told."""
    scene.server.on("GET", scene.permission(MEG), answer({"message": "no"}, status))
    guid = await scene.says(MEG, "@bot hello")
    state, reason = await scene.became(guid)
    assert (state, "meg" in reason) == (IGNORED, True)
    assert len(scene.asked("collaborators")) == 1
    assert (await scene.dispatched(), await scene.said()) == ([], [])


async def test_who_we_are_is_asked_when_it_is_needed(tmp_path: Path) -> None:
    """Handle and allowed owners come from the App; while that cannot be asked, deliveries wait."""
    app = {"id": 42, "slug": "robot", "owner": {"id": 10, "login": "acme", "type": "Organization"}}
    async with open_scene(tmp_path, slug="", owners=()) as scene:
        scene.server.on("GET", "/app", answer({}, 502, retry_after="30"), answer(app))
        guid = await scene.says(ANA, "@robot hello")
        assert (await scene.became(guid))[0] is DeliveryState.NEW
        assert scene.server.minted == []
        await scene.pass_time(timedelta(seconds=30))
        assert await scene.became(guid) == (PLANNED, "")
        await scene.says(ANA, "@robot again", comment_id=502)
        assert len(await scene.dispatched()) == 2
        assert len(scene.asked("/app")) == 2
        other = await scene.deliver(comment_payload("@robot hello", owner=STRANGER))
        await scene.settle()
        assert (await scene.became(other))[0] is IGNORED


async def test_one_broken_delivery_stops_no_other(scene: Scene) -> None:
    """A body that is no JSON, no object, or of odd shape; and a fault of ours in the middle of one."""

    def crash(request: httpx.Request) -> httpx.Response:
        raise RuntimeError("a bug of ours")

    scene.server.on("GET", scene.permission(MEG), crash)
    odd = comment_payload("@bot odd")
    odd["issue"] = "an issue"
    broken = [
        await scene.deliver(body) for body in (b"{", b"[]", b"\xff", b'{"comment": {"updated_at": 5}}', odd)
    ]  # fmt: skip
    crashed = await scene.deliver(comment_payload("@bot crash", MEG, number=3))
    good = await scene.deliver(comment_payload("@bot good", ANA, number=2))
    await scene.settle()
    assert await scene.became(good) == (PLANNED, "")
    assert {(await scene.became(guid))[0] for guid in broken} <= {FAILED, IGNORED}
    state, reason = await scene.became(crashed)
    assert (state, reason) == (FAILED, "RuntimeError: a bug of ours")


async def test_a_database_that_refuses_for_a_while_loses_nothing(scene: Scene) -> None:
    """The delivery is looked at again; the intake goes on."""
    guid = await scene.deliver(comment_payload("@bot hello"))
    async with locked(scene.store):
        scene.start()
        await scene.until(lambda: _slept(scene), True)
    await scene.pass_time(timedelta(minutes=1))
    assert await scene.became(guid) == (PLANNED, "")
    assert len(await scene.dispatched()) == 1


async def _slept(scene: Scene) -> bool:
    return len(scene.clock.slept) >= 3


# -- who -------------------------------------------------------------------------------------------------------------


@pytest.fixture
async def configured(scene: Scene) -> Scene:
    """A scene whose repository has roles, a bot that may command, and refusals that show."""
    scene.configure("""\
version: 1
default: open
trigger_role: triage
allow_bots: [80]
publish: {refusals: react}
agents:
  open: {model: "demo:echo", trigger_role: read}
  strict: {model: "demo:echo", trigger_role: maintain}
workflows:
  plain:
    steps: [{id: one, run: "true"}]
""")
    return scene


@pytest.mark.parametrize(
    ("who", "command", "allowed"),
    [
        (SAM, "open x", True),
        (SAM, "free text", True),
        (SAM, "plain", False),
        (SAM, "help", False),
        (SAM, "strict x", False),
        (ANA, "plain", True),
        (ANA, "help", True),
        (ANA, "strict x", False),
        (MEG, "strict x", True),
        (DEPLOY, "plain", True),
        (DEPLOY, "strict x", True),
        (Account(81, "other[bot]", "Bot"), "open x", False),
        (Account(80, "acme", "Organization"), "open x", False),
    ],
)
async def test_the_role_for_a_command_is_its_own(configured: Scene, who: Account, command: str, allowed: bool) -> None:
    """The agent's or workflow's `trigger_role`, else the file's; built-ins take the file's; bots only by number.

    Who may not gets 😕 where the file says so, except other bots.
    """
    guid = await configured.says(who, f"@bot {command}")
    assert (await configured.became(guid))[0] is (PLANNED if allowed else IGNORED)
    started = await configured.dispatched()
    assert len(started) == (allowed and command != "help")
    if started:
        assert started[0].actor_role == ("" if who is DEPLOY else {SAM: "read", ANA: "write", MEG: "maintain"}[who])
    refused = ["confused"] if not allowed and not who.is_bot else []
    assert [r for r in await configured.said("reaction") if r == "confused"] == refused


async def test_an_allowed_and_a_refused_request_of_one_comment(configured: Scene) -> None:
    """Each is decided by itself, in order."""
    await configured.says(ANA, "@bot strict no\n@bot open yes")
    (dispatch,) = await configured.dispatched()
    assert (dispatch.command, dispatch.ordinal) == ("open", 1)
    assert sorted(await configured.said("reaction")) == ["confused", "eyes"]


async def test_only_what_an_edit_adds_is_asked(scene: Scene) -> None:
    """By whoever edits, not by the author; the same text again, or with other words around it, asks nothing."""
    await scene.says(SAM, "it crashes", comment_id=501)
    at = NOW + timedelta(seconds=60)
    edit: dict[str, Any] = {"action": "edited", "comment_id": 501}
    await scene.says(ANA, "it crashes\n@bot look", author=SAM, old="it crashes", at=at, **edit)
    (dispatch,) = await scene.dispatched()
    assert (dispatch.actor, dispatch.trigger["text"], dispatch.trigger["at"]) == ("ana", "look", at.isoformat())
    old = "it crashes\n@bot look"
    await scene.says(ANA, "it crashes badly\n@bot look", author=SAM, old=old, at=at + timedelta(seconds=1), **edit)
    await scene.says(SAM, "@bot look\n@bot more", old=old, at=at + timedelta(seconds=2), **edit)
    assert len(await scene.dispatched()) == 1


async def test_a_tick_or_a_mended_word_asks_for_nothing(scene: Scene) -> None:
    """What stood behind the mention is another text, and the same request."""
    old = "@bot implement this\n\n- [ ] the parser\n- [ ] tihs"
    await scene.says(ANA, old, comment_id=501)
    at = NOW + timedelta(seconds=60)
    edit: dict[str, Any] = {"action": "edited", "comment_id": 501}
    for seconds, new in enumerate((old.replace("[ ] the", "[x] the"), old.replace("tihs", "this"))):
        await scene.says(ANA, new, old=old, at=at + timedelta(seconds=seconds), **edit)
    assert len(await scene.dispatched()) == 1


async def test_an_issues_body_asks_when_it_is_opened(scene: Scene) -> None:
    """There is no comment then: the anchor is the issue."""
    payload = {"action": "opened", "issue": issue_fields() | {"body": "@bot look", "title": "@bot no"}} | around(ANA)
    guid = await scene.deliver(payload, "issues")
    await scene.settle()
    assert await scene.became(guid) == (PLANNED, "")
    (dispatch,) = await scene.dispatched()
    assert (dispatch.comment_id, dispatch.request) == (None, "@bot look")
    assert dispatch.trigger["url"] == "https://github.test/acme/widgets/issues/1"
    assert dispatch.trigger["at"] == (NOW - timedelta(days=1)).isoformat()
    labeled = {"action": "labeled", "issue": issue_fields() | {"body": "@bot look"}, "label": {"name": "x"}}
    await scene.deliver(labeled | around(ANA), "issues")
    await scene.settle()
    assert len(await scene.dispatched()) == 1


async def test_a_broken_file_needs_write_and_suggests_nothing(scene: Scene) -> None:
    """One comment for a thread and commit, whoever asks whatever of it; another commit tells again."""
    scene.configure("version: 1\ntrigger_role: read\nagents: [")
    await scene.says(SAM, "@bot hello", comment_id=501)
    assert await scene.said() == []
    await scene.says(ANA, "@bot statsu hello", comment_id=502)
    (told,) = await scene.said()
    assert "`.github/bot.yml` at c0ffee0 cannot be used" in told
    await scene.says(MEG, "@bot hello", comment_id=503)
    assert (len(await scene.said()), await scene.said("reaction")) == (1, ["confused", "confused"])
    await scene.says(ANA, "@bot hello", comment_id=504, number=2)
    assert len(await scene.said()) == 2
    scene.configure("version: 1\nagents: [x", commit="d" * 40)
    await scene.says(ANA, "@bot hello", comment_id=505)
    assert len(await scene.said()) == 3
    await scene.says(ANA, "@bot status", comment_id=506)
    assert (await scene.said())[-1] == "Nothing is under way here."
    assert await scene.dispatched() == []


async def test_other_handles_can_be_configured(scene: Scene) -> None:
    """Then the App's own name is none, and hints name the handle that works."""
    scene.configure('version: 1\nmention: ["@robot", "@helper"]\n')
    guid = await scene.says(ANA, "@bot help", comment_id=501)
    assert await scene.became(guid) == (IGNORED, "no mention")
    await scene.says(ANA, "@helper help", comment_id=502)
    await scene.says(ANA, "@robot statsu", comment_id=503)
    await scene.says(ANA, "@robot pin keep this", comment_id=504)
    helped, meant, index = await scene.said()
    assert "| `@robot help` |" in helped
    assert "`@robot status`" in meant
    assert "`@robot unpin" in index
    assert "@bot" not in helped + meant + index


async def test_rows_are_read_by_people(scene: Scene) -> None:
    """A delivery keeps its body byte for byte, whatever became of it."""
    payload = comment_payload("@bot hello ✓")
    guid = await scene.deliver(payload)
    await scene.settle()
    row = await scene.delivery(guid)
    assert json.loads(row.body) == payload
    assert stamp(row.received_at) == stamp(NOW)


async def test_a_comment_of_too_many_requests(configured: Scene) -> None:
    """The first 20 are taken, with one reaction, and one sentence tells how many were left out."""
    guid = await configured.says(ANA, "\n".join(f"@bot pin text {number} {'x' * 100}" for number in range(23)))
    assert (await configured.became(guid))[0] is PLANNED
    assert next(said for said in await configured.said() if "left out" in said).count("3 more") == 1
    assert await configured.said("reaction") == ["+1", "confused"]  # pinned already, from the second on


async def test_a_stranger_gets_one_reaction(configured: Scene) -> None:
    """However many requests a comment holds, and no sentence about the surplus."""
    guid = await configured.says(SAM, "\n".join(f"@bot strict {number} {'x' * 100}" for number in range(50)))
    assert (await configured.became(guid))[0] is IGNORED
    assert await configured.said("reaction") == ["confused"]
    assert await configured.said() == []
