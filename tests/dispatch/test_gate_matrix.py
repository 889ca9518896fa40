"""Nobody answers what is not asked of them: kinds of gates, accounts, roles and ways to answer, against a table.

Each gate has a thread of its own. What is compared is the gate's row: answered by whom, or still open.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import count, product
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import col, select

from bot.model.delivery import NewDelivery
from bot.model.slot import Slot
from bot.model.state import AttemptState, GateState, OutboxState
from bot.model.thread import Account
from bot.publish import say_gate
from bot.publish.gate_comment import slot_of
from bot.store import Session, deliveries, gates, outbox, runs
from bot.store.tables import Attempt, Dispatch, Gate, Outbox, Run, Thread
from tests import rows
from tests.dispatch.matrix import ACTORS, FILE, ORDER, OTHERS, PEOPLE, WITH_ROLE, Actor
from tests.dispatch.scene import APP_ID, MARKER, ME, Scene, account_json, issue_fields, open_scene, stamp
from tests.dispatch.spoken import commented, sent_by
from tests.github.fake import answer
from tests.rows import NOW, REPOSITORY

TRIGGER_ROLE = "maintain"
#: kinds of gates by `who` of their rows, as a step without `who` is kept too
WHO: Mapping[str, dict[str, Any]] = {
    "for whoever may command": {"role": TRIGGER_ROLE},
    "for readers": {"role": "read"},
    "for admins": {"role": "admin"},
    "for people by name": {"logins": ["P-Read", "p-none"]},
    "for people by name or maintainers": {"logins": ["p-read"], "role": "maintain"},
    "for nobody who asked": {"role": "read", "not_requester": True},
    "for the one who asked by name, which is refused": {"logins": ["p-read", "p-admin"], "not_requester": True},
    # people by name; these are none
    "for programs by name": {"logins": ["deploy[bot]", "other[bot]", "bot[bot]", "ghost", "import", "acme", "corp"]},
    "for whoever runs the bot": {"logins": ["operator"], "dashboard": True},
}
WAYS = ("tick", "approve", "approve by its name", "answer")


@dataclass(frozen=True, slots=True)
class Case:
    """One gate, who asked for its run, and who answers it how."""

    number: int
    kind: str
    requester: Actor
    actor: Actor
    way: str

    @property
    def name(self) -> str:
        return f"{self.actor.name} answers a gate {self.kind} by {self.way}, asked for by {self.requester.name}"

    @property
    def expected(self) -> bool:
        """By the specification's words: people alone, by name or role, and never who asked where that is refused."""
        who, actor = WHO[self.kind], self.actor
        if actor.kind not in WITH_ROLE or actor.account is None:
            return False
        if who.get("not_requester") and actor is self.requester:
            return False
        if ORDER.index(actor.role) < ORDER.index("read"):  # whoever has left answers nothing, by name neither
            return False
        if actor.account.login.lower() in [login.lower() for login in who.get("logins", ())]:
            return True
        return "role" in who and ORDER.index(actor.role) >= ORDER.index(who["role"])


def cases() -> Iterator[Case]:
    """People with every kind, way and requester; everybody else with a requester of their own and the widest gates."""
    numbers = count(1)
    reader, admin = PEOPLE[1], PEOPLE[-1]
    for kind, requester, actor, way in product(WHO, (reader, admin), PEOPLE, WAYS):
        # with which words it is answered does not touch whom it is for: one kind with all of them is enough
        if way not in ("tick", "approve") and (kind != "for nobody who asked" or requester is not reader):
            continue
        # who asked matters where it is refused
        if requester is reader or "not_requester" in WHO[kind]:
            yield Case(next(numbers), kind, requester, actor, way)
    for kind, actor, way in product(("for readers", "for programs by name"), OTHERS, ("tick", "approve")):
        yield Case(next(numbers), kind, reader, actor, way)


def ask(scene: Scene, session: Session, case: Case) -> str:
    """A run waits for an answer, and its comment stands; the comment's text."""
    run = rows.run(session, case.number, guid=f"asked-{case.number}")
    dispatch = session.get_one(Dispatch, run.dispatch_id)
    assert case.requester.account is not None
    dispatch.actor_id, dispatch.actor = case.requester.account.id, case.requester.account.login
    session.add(dispatch)
    runs.claim(session, "me", NOW)
    attempt = Attempt(
        run_id=run.id,
        frame_id=runs.rows(session, run.id).root.id,
        step="ok",
        kind="ask",
        number=1,
        state=AttemptState.WAITING,
        started_at=NOW,
    )
    session.add(attempt)
    session.flush()
    gate = Gate(
        run_id=run.id,
        attempt_id=attempt.id,
        question="Fine?",
        options={"options": {"approve": None, "reject": None}, "questions": [], "text": False, "handle": "@bot"},
        who=WHO[case.kind],
        digest="0f3c9a1" + "0" * 57,
        deadline=NOW + timedelta(days=3),
        opened_at=NOW,
    )
    session.add(gate)
    session.flush()
    runs.wait(session, run, NOW, gate.deadline)
    found = gates.get(session, gate.id)
    assert found is not None
    say_gate(session, scene.speaker, found)
    row = outbox.find(session, slot_of(session, found))
    assert row is not None
    row.state, row.posted_id, row.posted_at = OutboxState.POSTED, 900_000 + case.number, NOW
    session.add(row)
    session.flush()
    return MARKER.sign(row.body, repository_id=REPOSITORY.id, thread=case.number, slot=Slot.parse(row.slot))


def asked_comment(case: Case, body: str) -> dict[str, Any]:
    """The gate's comment as GitHub has it."""
    return {
        "id": 900_000 + case.number,
        "user": account_json(ME),
        "body": body,
        "html_url": f"https://github.test/acme/widgets/issues/{case.number}#issuecomment-{900_000 + case.number}",
        "created_at": stamp(NOW),
        "updated_at": stamp(NOW),
        "performed_via_github_app": {"id": APP_ID},
    }


def payload(case: Case, body: str) -> dict[str, Any]:
    """What GitHub tells when somebody answers so."""
    words = {"approve": "approve", "approve by its name": "approve r1.ok", "answer": "answer approve"}
    if case.way != "tick":
        return commented(f"@bot {words[case.way]}", case.actor, case.number)
    comment = asked_comment(case, body.replace("- [ ] approve", "- [x] approve"))
    comment["author_association"] = case.actor.association
    change = {"changes": {"body": {"from": body}}}
    issue = issue_fields(case.number)
    return {"action": "edited", "issue": issue, "comment": comment, **sent_by(case.actor), **change}


async def played(scene: Scene, given: list[Case]) -> dict[int, Gate]:
    """Ask, answer, and read the gates by their threads."""

    def keep(session: Session) -> None:
        for case in given:
            body = ask(scene, session, case)
            # whoever answers by a command is held against what stands there
            path = f"/repos/acme/widgets/issues/comments/{900_000 + case.number}"
            scene.server.on("GET", path, answer(asked_comment(case, body)))
            sent = payload(case, body)
            guid = f"answer-{case.number}"
            raw = json.dumps(sent).encode()
            new = NewDelivery(APP_ID, guid, "issue_comment", sent["action"], guid, REPOSITORY.id, raw)
            assert deliveries.take(session, new, NOW) == "accepted"

    await scene.store.write(keep)
    await scene.settle()

    def read(session: Session) -> dict[int, Gate]:
        query = select(Thread.number, Gate).join(Run, col(Run.thread_id) == Thread.id)
        return dict(session.exec(query.join(Gate, col(Gate.run_id) == Run.id)).all())

    return await scene.store.read(read)


async def test_who_answers(tmp_path: Path) -> None:
    """A box, a command, a name: the gate decides by its own `who`, and only people answer."""
    given = list(cases())
    async with open_scene(tmp_path) as scene:
        for actor in ACTORS:
            if actor.account is not None:
                scene.grant(actor.account, actor.role)
        scene.configure(FILE.format(role=TRIGGER_ROLE))
        found = await played(scene, given)
        wrong = []
        for case in given:
            gate = found[case.number]
            answered = gate.state is GateState.ANSWERED
            if answered is not case.expected or (not answered and gate.state is not GateState.OPEN):
                wrong.append(f"unexpected {gate.state}: {case.name}: {gate.answer}")
            elif answered and case.actor.account is not None:
                assert gate.answer is not None
                assert (gate.answer["by_id"], gate.answer["answer"]) == (case.actor.account.id, "approve")
        assert "\n".join(wrong) == ""
        said = await scene.store.read(strangers_are_told)
        assert said.isdisjoint(case.number for case in given if not told(case)), "strangers get no word"


def told(case: Case) -> bool:
    """Whether somebody may hear why an answer does not count: who may command, or whom the gate is for."""
    commands = case.actor.kind in WITH_ROLE and ORDER.index(case.actor.role) >= ORDER.index(TRIGGER_ROLE)
    logins = [login.lower() for login in WHO[case.kind].get("logins", ())]
    login = case.actor.account.login.lower() if case.actor.account is not None else "ghost"
    named = case.way == "tick" and login in logins
    # other bots by number may command, but they are no people
    return (
        case.expected
        or named
        or commands
        or "allowed bot" in case.actor.kind
        or "bot that is allowed" in case.actor.kind
    )


def strangers_are_told(session: Session) -> set[int]:
    """Threads in which anything was said besides the question, or a note stands below it."""
    query = select(Thread.number).join(Outbox, col(Outbox.thread_id) == Thread.id)
    said = set(session.exec(query.where(col(Outbox.purpose) != "gate")).all())
    noted = select(Thread.number).join(Run, col(Run.thread_id) == Thread.id).join(Gate, col(Gate.run_id) == Run.id)
    return said | set(session.exec(noted.where(col(Gate.note) != "")).all())


@pytest.mark.parametrize("login", ["p-read", "P-READ"])
def test_names_are_read_in_any_case(login: str) -> None:
    """The table's own reading of names is GitHub's."""
    reader = Actor("person", Account(201, login), "read")
    assert Case(1, "for people by name", PEOPLE[-1], reader, "tick").expected
