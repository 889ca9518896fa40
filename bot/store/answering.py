"""One answer to a gate, decided and recorded in one place, whichever way it came: a tick, a command, the API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlmodel import Session

from bot.errors import UserError
from bot.model.state import GateState
from bot.store import gates
from bot.store.gates import Asked
from bot.store.tables import Gate
from bot.workflows.answers import Person, barred, refused, taken
from bot.workflows.gate_steps import REJECT
from bot.workflows.routing import END

#: the actor of whoever answers over the API: it is not known which person has the password
OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Seen:
    """What whoever answers over the API has read: the gate's digest and head, None for what they do not say."""

    digest: str | None = None
    head: str | None = None


@dataclass(frozen=True, slots=True)
class Answering:
    """Who answers, how, and on what. `person` is None for the operator.

    `head` is the commit that the pull request points at now: None where nobody has looked, as of an issue, empty where
    GitHub does not show it. `altered` says who had changed the text that the answer was given on; empty where it stood
    as it was said. `unshown` says why what stood there is not what is asked now. `seen` is what the answer itself says
    that it is about.
    """

    person: Person | None
    channel: Literal["tick", "command", "api"]
    head: str | None = None
    altered: str = ""
    unshown: str = ""
    seen: Seen | None = None


def answer(session: Session, asked: Asked, given: Mapping[str, Any], by: Answering, now: datetime) -> bool:
    """Whether the answer counts; if not, it was void: the gate asks again.

    Look and record are one transaction: of two answers at once the second sees the first. Raises `UserError`:
    `gate_settled` (answered, void, or out of time), `not_allowed`, `gate_answer` (it is none), `gate_unread`,
    `gate_moved` (the head is another than the one shown), `gate_unshown` (the question stood there otherwise). Nothing
    is changed then.
    """
    gate = asked.gate
    if gate.state is not GateState.OPEN:
        raise UserError("gate_settled", became(asked), "Nothing was changed.")
    if gate.deadline is not None and gate.deadline <= now:
        raise UserError("gate_settled", f"`{asked.name}` is out of time", "Nothing was changed.")
    if by.person is None and not gate.who.get("dashboard"):
        message = f"`{asked.name}` takes no answer over the API"
        raise UserError("not_allowed", message, "Its step would have to say `who: {dashboard: true}`.")
    if by.person is not None and (bar := barred(gate.who, by.person, gates.requesters(session, asked))):
        them, requester = by.channel == "command", asked.dispatch.actor
        said = refused(bar, gate.who, by.person, asked.name, requester, to_them=them)
        raise UserError("not_allowed", said)
    kept = taken(gate.options, given)
    if by.head == "" and binds(gate, kept):
        raise UserError("gate_unread", "the head cannot be read, and an answer is bound to it", "Answer again later.")
    if moved(gate, kept, by.head):
        raise UserError("gate_moved", moved_words(str(gate.head_sha), str(by.head)), "Look again, and answer again.")
    if by.seen is not None:
        _hold(asked, kept, by.seen)
    if by.altered:
        gates.void(session, gate, f"its text had been changed by `{by.altered}` when it was answered")
        return False
    if by.unshown and not is_no(gate, kept):
        raise UserError("gate_unshown", by.unshown, "Look again, and answer again.")
    name = OPERATOR if by.person is None else by.person.login
    record = {**kept, "by": name, "channel": by.channel, "at": now.isoformat()}
    if by.person is not None:
        record["by_id"] = by.person.id
    gates.settle(session, gate, record)
    return True


def _hold(asked: Asked, kept: Mapping[str, Any], seen: Seen) -> None:
    """Raises `gate_moved` for an answer about something else than what is asked now, or not known to be about it."""
    gate = asked.gate
    if seen.digest is not None and seen.digest != gate.digest:
        raise UserError("gate_moved", f"`{asked.name}` asks something else now", "Look again, and answer again.")
    if seen.head is not None and seen.head != (gate.head_sha or ""):
        message = moved_words(seen.head, gate.head_sha) if gate.head_sha else f"`{asked.name}` is about no head"
        raise UserError("gate_moved", message, "Look again, and answer again.")
    if seen.head is None and gate.options.get("moved") and binds(gate, kept):
        message = f"the head has moved to {str(gate.head_sha)[:7]} since it was asked"
        raise UserError("gate_moved", message, "Look again, and answer with the `head_sha` that you see.")


def show(gate: Gate, head: str) -> None:
    """An open gate is about another head from now on. Who read it before has not seen that one: it is marked so."""
    gate.note, gate.head_sha = moved_words(str(gate.head_sha), head), head
    gate.options = {**gate.options, "moved": True}


def is_no(gate: Gate, kept: Mapping[str, Any]) -> bool:
    """Whether an answer lets nothing happen. A no stays a no, whatever is pushed."""
    label = kept.get("answer")
    leads = (gate.options.get("options") or {}).get(label)
    return bool(leads == END or (label == REJECT and leads is None))


def binds(gate: Gate, kept: Mapping[str, Any]) -> bool:
    """Whether an answer is bound to the head that was shown."""
    return gate.head_sha is not None and not is_no(gate, kept)


def moved(gate: Gate, kept: Mapping[str, Any], head: str | None) -> bool:
    """Whether an answer was given on another head than the one that is there now."""
    return head is not None and head != gate.head_sha and binds(gate, kept)


def moved_words(old: str, new: str) -> str:
    """What happened to the head."""
    return f"the head moved from {old[:7]} to {new[:7]}"


def became(asked: Asked) -> str:
    """What a gate that is not open came to, in words."""
    gate, given = asked.gate, asked.gate.answer
    if gate.state is GateState.ANSWERED and given is not None:
        said = f": `{given['answer']}`" if given.get("answer") else ""
        return f"`{asked.name}` was answered by `{given.get('by') or 'nobody'}`{said}"
    words = {GateState.EXPIRED: "out of time", GateState.CANCELLED: "not asked any more: its run has ended"}
    return f"`{asked.name}` is {words.get(gate.state, str(gate.state))}"
