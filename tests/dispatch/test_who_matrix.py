"""Nobody gets in: every role, kind of account, event and command against a table written down from the specification.

What is compared is what is left in the rows, not what a function says: somebody is let in where a dispatch or anything
to be said came of a delivery, and is not where nothing at all did.

Pruned by equivalence: the whole product of events and commands is not played. An event decides only which text is heard
and who its sender is, a command only which role is needed; so each actor is played with each command under each
`trigger_role` in one event, and in every event with a command of each way in which a role is found.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

from sqlmodel import select

from bot.dispatch.acceptance import REQUESTS_MAX
from bot.dispatch.builtins import BUILTINS
from bot.model.delivery import NewDelivery
from bot.model.slot import Slot
from bot.model.state import DeliveryState
from bot.store import Session, deliveries
from bot.store.tables import Delivery, Dispatch, Outbox
from tests.dispatch import spoken
from tests.dispatch.matrix import (
    ACTORS,
    BROKEN,
    BROKEN_LINES,
    BUILTIN_LINES,
    FILE,
    LISTENERS,
    LISTENING,
    NAMED_LINES,
    PEOPLE,
    PLACE_LINES,
    TRIGGER_ROLES,
    WITH_ROLE,
    Actor,
    Line,
    may,
)
from tests.dispatch.scene import APP_ID, REPO, Scene, open_scene
from tests.github.fake import answer
from tests.rows import REPOSITORY


@dataclass(frozen=True, slots=True)
class Case:
    """One delivery that asks for several things, and which of them, by their place, may be done."""

    name: str
    event: str
    payload: dict[str, Any]
    expected: frozenset[int]


@dataclass(frozen=True, slots=True)
class Came:
    """What came of one delivery: the places of the requests that led to anything, and how much is said at all."""

    state: DeliveryState
    reason: str
    done: frozenset[int]
    rows: int


async def play(scene: Scene, cases: Sequence[Case], prefix: str) -> list[Came]:
    """Keep every delivery at once, let the intake look at all of them, and read what is left."""
    now = scene.clock.now()

    def keep(session: Session) -> None:
        for place, case in enumerate(cases):
            guid = f"{prefix}-{place}"
            raw = json.dumps(case.payload).encode()
            new = NewDelivery(APP_ID, guid, case.event, case.payload["action"], guid, REPOSITORY.id, raw)
            assert deliveries.take(session, new, now) == "accepted"

    await scene.store.write(keep)
    await scene.settle()
    return await read_back(scene, cases, prefix)


async def read_back(scene: Scene, cases: Sequence[Case], prefix: str) -> list[Came]:
    """What is left in the rows."""

    def read(session: Session) -> list[Came]:
        rows = {row.guid: row for row in session.exec(select(Delivery))}
        done: dict[str, set[int]] = {}
        for dispatch in session.exec(select(Dispatch)):
            done.setdefault(dispatch.delivery_id, set()).add(dispatch.ordinal)
        said: dict[str, int] = {}
        for row in session.exec(select(Outbox)):
            slot = Slot.parse(row.slot)
            of = slot.scope.removeprefix("dispatch/")
            said[of] = said.get(of, 0) + 1
            if row.action == "comment":
                done.setdefault(of, set()).add(slot.iteration)
        found = [rows[f"{prefix}-{place}"] for place in range(len(cases))]
        return [
            Came(
                row.state, row.reason, frozenset(done.get(row.id, ())), len(done.get(row.id, ())) + said.get(row.id, 0)
            )
            for row in found
        ]

    return await scene.store.read(read)


def wrong(cases: Sequence[Case], came: Sequence[Came]) -> str:
    """Every unexpected yes and every unexpected no."""
    found = []
    for case, one in zip(cases, came, strict=True):
        if one.done - case.expected:
            found.append(f"unexpected yes: {case.name}: {sorted(one.done - case.expected)}: {one}")
        if case.expected - one.done:
            found.append(f"unexpected no: {case.name}: {sorted(case.expected - one.done)}: {one}")
        if not case.expected and one.rows:
            found.append(f"something came of nothing: {case.name}: {one}")
        if bool(case.expected) is not (one.state is DeliveryState.PLANNED):
            found.append(f"the delivery says otherwise: {case.name}: {one}")
    return "\n".join(found)


def peopled(scene: Scene) -> None:
    """GitHub tells everybody's role, also of those that nobody should ask about."""
    for actor in ACTORS:
        if actor.account is not None:
            scene.grant(actor.account, actor.role)


def asking(lines: Iterable[Line]) -> str:
    """A comment of several requests."""
    return "\n".join(f"@bot {line.text}".rstrip() for line in lines)


def allowed(actor: Actor, lines: Iterable[Line], trigger_role: str) -> frozenset[int]:
    """The places of what somebody may ask for."""
    return frozenset(place for place, line in enumerate(lines) if may(actor, line.needed(trigger_role)))


async def test_every_actor_with_every_command(tmp_path: Path) -> None:
    """Under every `trigger_role`: a command's own role, else the file's; other bots by number; nobody else."""
    async with open_scene(tmp_path) as scene:
        peopled(scene)
        failed, numbers = "", count(1)
        for place, trigger_role in enumerate(TRIGGER_ROLES):
            scene.configure(FILE.format(role=trigger_role), commit=f"{place:040x}")
            cases = [
                Case(
                    f"{actor.name}: {kind}, trigger_role {trigger_role}",
                    "issue_comment",
                    spoken.commented(asking(lines), actor, next(numbers)),
                    allowed(actor, lines, trigger_role),
                )
                # the role of the command counts for people alone; where least is asked and where most, all are played
                for actor in (ACTORS if trigger_role in ("read", "admin") else PEOPLE)
                for kind, lines in (("built-ins", BUILTIN_LINES), ("named", NAMED_LINES))
            ]
            failed += wrong(cases, await play(scene, cases, trigger_role))
        assert failed == ""


async def test_every_actor_in_every_place(tmp_path: Path) -> None:
    """New, edited, opened, reviewed: the sender decides, never who wrote what was edited."""
    async with open_scene(tmp_path) as scene:
        peopled(scene)
        scene.configure(FILE.format(role="write"))
        failed, numbers = "", count(1)
        # a new comment comes first, as it does for the bot itself: by it the bot knows its account under any name
        for name, place in spoken.PLACES.items():
            cases = [
                Case(
                    f"{actor.name}: {name}",
                    place.event,
                    place.make(asking(PLACE_LINES), actor, next(numbers)),
                    allowed(actor, PLACE_LINES, "write"),
                )
                for actor in ACTORS
            ]
            failed += wrong(cases, await play(scene, cases, name))
        assert failed == ""


async def test_every_actor_and_what_starts_by_itself(tmp_path: Path) -> None:
    """Whoever opens, labels, pushes, closes starts what they might have asked for, and nothing else; without a word."""
    async with open_scene(tmp_path) as scene:
        peopled(scene)
        scene.configure(LISTENING)
        numbers = count(1)
        cases = []
        for name, place in spoken.TRIGGERS.items():
            for actor in ACTORS:
                payload = place.make("It crashes.", actor, number := next(numbers))
                wanted = sum(may(actor, role) for role in LISTENERS.values())
                cases.append(Case(f"{actor.name}: {name}", place.event, payload, frozenset(range(wanted))))
                if name == "a push":
                    scene.server.on("GET", f"{REPO}/pulls/{number}", answer(payload["pull_request"]))
        scene.server.on("GET", f"{REPO}/pulls", answer([]))
        # the bot has said something before, by which it knows its account under any name
        await play(scene, [introduction()], "first")
        await play(scene, cases, "starts")
        await scene.pass_time(timedelta(minutes=1))
        came = await read_back(scene, cases, "starts")
        first = [replace(one, done=frozenset(place - REQUESTS_MAX for place in one.done)) for one in came]
        assert wrong(cases, first) == ""
        by_actor = {(one.actor, one.command) for one in await scene.dispatched()}
        assert by_actor == {
            (actor.account.login, name)
            for actor in ACTORS
            for name, role in LISTENERS.items()
            if actor.account is not None and may(actor, role)
        }


async def test_every_actor_who_requests_changes(tmp_path: Path) -> None:
    """On the bot's own pull request it is a request to the default, of whoever may make one."""
    async with open_scene(tmp_path) as scene:
        peopled(scene)
        scene.configure(FILE.format(role="triage"))
        cases = []
        for number, actor in enumerate(ACTORS, 1):
            payload = spoken.changes_requested("Please mend it.", actor, number)
            expected = frozenset({0}) if may(actor, "triage") else frozenset()
            cases.append(Case(actor.name, "pull_request_review", payload, expected))
            scene.server.on("GET", f"{REPO}/pulls/{number}/reviews/{payload['review']['id']}/comments", answer([]))
        await play(scene, [introduction()], "first")
        assert wrong(cases, await play(scene, cases, "changes")) == ""


def introduction() -> Case:
    """A comment of the renamed App's own."""
    (renamed,) = [actor for actor in ACTORS if actor.kind == "this App renamed"]
    return Case("it introduces itself", "issue_comment", spoken.commented("Hello.", renamed, 99_999), frozenset())


async def test_where_nobody_is_heard(tmp_path: Path) -> None:
    """Titles, labels, deletions, what an edit did not add: nothing is asked there, by whomever."""
    async with open_scene(tmp_path) as scene:
        peopled(scene)
        scene.configure(FILE.format(role="read"))
        numbers = count(1)
        cases = [
            Case(f"{actor.name}: {name}", place.event, place.make("@bot help", actor, next(numbers)), frozenset())
            for actor in ACTORS
            for name, place in spoken.DEAF.items()
        ]
        assert wrong(cases, await play(scene, cases, "deaf")) == ""


async def test_every_actor_under_a_broken_configuration(tmp_path: Path) -> None:
    """It asks for `read` and allows a bot, and neither counts: people need `write`, and no other bot is let in."""
    async with open_scene(tmp_path) as scene:
        peopled(scene)
        scene.configure(BROKEN)
        numbers = count(1)
        cases = [
            Case(
                f"{actor.name}: {line.text}",
                "issue_comment",
                spoken.commented(asking([line]), actor, next(numbers)),
                frozenset({0}) if actor.kind in WITH_ROLE and may(actor, "write") else frozenset(),
            )
            for actor in ACTORS
            for line in BROKEN_LINES
        ]
        came = await play(scene, cases, "broken")
        # one comment for a thread and commit tells of it, in a slot of the thread
        told = [replace(one, done=frozenset({0}) if one.rows else one.done) for one in came]
        assert wrong(cases, told) == ""
        assert await scene.dispatched() == []
        assert len(await scene.said()) == sum(bool(case.expected) for case in cases)


def test_every_builtin_is_in_the_table() -> None:
    """A new command has to be written down here before it is let in."""
    assert {line.text.split()[0] for line in BUILTIN_LINES} == {one.name for one in BUILTINS}
    declared = {one.name: str(one.role) for one in BUILTINS if one.role is not None}
    assert {line.text.split()[0]: line.least for line in BUILTIN_LINES if line.least != "none"} == declared
