"""Boxes that people tick in the comments that ask them, and whatever else they do to those."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from bot.dispatch import shown
from bot.dispatch.answering import person
from bot.dispatch.authorise import Allowed, Denied
from bot.dispatch.heads import head_of, show_head
from bot.dispatch.occasion import Heard, Occasion, Postponed
from bot.errors import Transient, UserError
from bot.model.event import Event
from bot.model.patience import patient
from bot.model.role import Role
from bot.model.state import GateState, OutboxState
from bot.model.thread import Comment
from bot.publish import Marker, Standing, bound_to, inline_code, plainly, say_gate, standing, ticked
from bot.publish.marker import shown_digest, strip
from bot.store import Session, gates, outbox, threads
from bot.store.answering import Answering, answer, became
from bot.store.gates import Asked
from bot.store.tables import Thread
from bot.workflows.answers import NO, YES, Person, barred, choices, chosen

#: after which a deletion is looked at again that met a post under way
_PAUSE = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class Change:
    """What somebody made of a comment that asks.

    `stands`: it is what we want to stand there. `ours`: but for its boxes it is something that we said; `before`: so
    was the text that was changed. `same`: it asks what is asked now, about the same commit. `ticks` are the choices
    whose boxes were ticked; `only_ticked`: that was all.
    """

    stands: bool
    ours: bool
    same: bool
    before: bool
    ticks: frozenset[int]
    only_ticked: bool


async def hear_tick(occasion: Occasion) -> Heard | None:
    """An answer by a tick; any other change of a comment that asks is undone, and nothing is inferred from it."""
    event, parts = occasion.event, occasion.parts
    comment = event.comment
    if (
        event.subject not in ("comment", "review_comment")
        or event.action not in ("edited", "deleted")
        or comment is None
    ):
        return None
    if not parts.identities.mine(comment):
        return None
    found = await parts.store.read(partial(_standing, event, parts.marker))
    if found is None:
        return None
    if event.action == "deleted":
        return _deleted(occasion, found)
    change = _change(event, parts.marker, found)
    if change.stands:
        return None
    who: Person | None = None
    head: str | None = ""
    may_command, present = False, dict[shown.Place, Comment | None]()
    try:
        who, may_command = await _who(occasion)
        head = await _head(occasion, found, change)
        present.update(await _others(occasion, found, change))
    except Transient as error:
        # whatever GitHub keeps to itself, the text is put back, and a tick that cannot be looked at does not count
        if patient(occasion.delivery.trying_since, parts.clock.now(), error):
            raise

    def act(session: Session, thread: Thread) -> None:
        _Undoing(occasion, session, change, who, may_command, head, present).act()

    return Heard("a comment of ours that asks was changed", act)


async def _head(occasion: Occasion, found: Standing, change: Change) -> str | None:
    asked = found.answerable
    if asked is None or asked.gate.head_sha is None or len(change.ticks) != 1:
        return None
    return await head_of(occasion.client, occasion.event.issue.number)


async def _others(occasion: Occasion, found: Standing, change: Change) -> shown.Present:
    """What stands in the other parts of the comment: they are asked as much as the one that has the box."""
    asked = found.answerable
    if asked is None or len(change.ticks) != 1:
        return {}
    places = await occasion.parts.store.read(lambda session: shown.places_of(session, asked))
    return await shown.read(occasion.client, [place for place in places if place[0] != found.row.posted_id])


def _standing(event: Event, marker: Marker, session: Session) -> Standing | None:
    assert event.comment is not None
    thread = threads.find(session, event.repository.id, event.issue.number)
    if thread is None:
        return None
    mark = marker.find(event.comment.body, repository_id=event.repository.id, thread=event.issue.number)
    return standing(session, thread, event.comment.id, mark.slot if mark is not None else None)


def _change(event: Event, marker: Marker, found: Standing) -> Change:
    now, old, count = event.text, event.old_text or "", len(found.places)
    ticks, before = ticked(now, count), ticked(old, count)
    places = ticks - before
    return Change(
        stands=shown_digest(strip(now)) == shown_digest(found.row.body),
        ours=_ours(event, marker, found, now),
        same=_same(found, now),
        before=_ours(event, marker, found, old),
        ticks=frozenset(found.places[place] for place in places),
        only_ticked=len(places) == 1 and shown_digest(plainly(now, count)) == shown_digest(plainly(old, count)),
    )


def _ours(event: Event, marker: Marker, found: Standing, text: str) -> bool:
    """Whether a text, its boxes aside, is one that we said there, now or before."""
    plain = plainly(text, len(found.places))
    return shown.ours(marker, found.row, plain, repository_id=event.repository.id, number=event.issue.number)


def _same(found: Standing, text: str) -> bool:
    """Whether a text of ours asks the same about the same commit."""
    if found.asked is None:
        return True
    bound = bound_to(found.asked.gate.digest, found.asked.gate.head_sha)
    # a part without that line says nothing about it: the one that has it is read besides
    return not shown.says(found.row.body, bound) or shown.says(text, bound)


async def _who(occasion: Occasion) -> tuple[Person | None, bool]:
    """Whoever changed it, None for what is no person, and whether they may command here. Raises `Postponed`."""
    usable = (await occasion.configured()).configuration
    needed = usable.bot.trigger_role if usable is not None else Role.WRITE
    match await occasion.authorised(needed):
        case Allowed(role=role):
            return person(occasion.event.sender, role), True
        case Denied(role=role):
            return person(occasion.event.sender, role), False


def _deleted(occasion: Occasion, found: Standing) -> Heard | None:
    """A comment that still asks is said again."""
    parts, comment = occasion.parts, occasion.event.comment
    assert comment is not None
    if found.answerable is None:
        return None
    if found.row.state is OutboxState.SENDING:
        now = parts.clock.now()
        raise Postponed(now + _PAUSE, "the comment is being changed")

    def act(session: Session, thread: Thread) -> None:
        again = standing(session, thread, comment.id, None)
        if again is None:
            return
        outbox.deleted(session, again.row)
        if (asked := again.answerable) is not None:
            by = inline_code(occasion.event.sender.login)
            asked.gate.note = f"{by} had deleted this question; it is asked here again"
            session.add(asked.gate)
            session.flush()
            say_gate(session, parts.speaker, asked)

    return Heard("a comment of ours that asks was deleted", act)


class _Undoing:
    """What becomes of one change, in the transaction of its delivery."""

    def __init__(
        self,
        occasion: Occasion,
        session: Session,
        change: Change,
        who: Person | None,
        may_command: bool,
        head: str | None,
        present: shown.Present,
    ) -> None:
        self._occasion, self._session, self._change = occasion, session, change
        self._who, self._may_command, self._head, self._present = who, may_command, head, present
        self._speaker = occasion.parts.speaker

    def act(self) -> None:
        """Whatever it was, our text has to stand there again; a tick that counts is an answer."""
        event, change = self._occasion.event, self._change
        found = _standing(event, self._occasion.parts.marker, self._session)
        if found is None:
            return
        outbox.restate(self._session, found.row)
        asked = found.asked
        if asked is None or not found.current:
            return
        if asked.gate.state is not GateState.OPEN:
            self._settled(asked)
        elif change.ours and not change.same:
            if change.ticks:
                self._tell(asked, f"the tick by {self._name} was about an older commit")
        elif change.ours or (not change.before and change.only_ticked):
            self._ticked(found, asked)
        else:
            asked.gate.altered_by = event.sender.login
            self._session.add(asked.gate)
            self._tell(asked, f"{self._name} had changed this text; it stands here as it was asked")

    @property
    def _name(self) -> str:
        return inline_code(self._occasion.event.sender.login)

    def _settled(self, asked: Asked) -> None:
        """Somebody was late. Who is told of the same click twice has answered once."""
        given, who = asked.gate.answer or {}, self._who
        labels = [self._given(asked, place) for place in self._change.ticks]
        if who is not None and given.get("by_id") == who.id and all(_is(given, label) for label in labels):
            return
        if labels:
            self._tell(asked, f"the tick by {self._name} came late: {became(asked)}")

    def _ticked(self, found: Standing, asked: Asked) -> None:
        """One box is an answer."""
        change, session = self._change, self._session
        if not change.ticks:
            return
        if self._who is None:
            self._tell(asked, f"the tick by {self._name} does not count: GitHub does not tell the role of {self._name}")
            return
        if len(change.ticks) > 1:
            self._tell(asked, f"{self._name} had ticked {len(change.ticks)} boxes, and one is an answer")
            return
        (place,) = change.ticks
        altered = "" if change.ours else asked.gate.altered_by or "somebody"
        parts, event = self._occasion.parts, self._occasion.event
        stood = shown.held(session, parts.marker, asked.thread, asked, self._present, event.at, but=found.row.id)
        stood.mend(session)
        by = Answering(self._who, "tick", self._head, altered or stood.altered, stood.unshown)
        try:
            answer(session, asked, self._given(asked, place), by, self._occasion.parts.clock.now())
        except UserError as error:
            if error.code == "gate_moved" and self._head:
                show_head(self._session, self._speaker, asked, self._head)
            else:
                self._tell(asked, f"the tick by {self._name} does not count: {error.message}")
        else:
            say_gate(self._session, self._speaker, asked)

    def _given(self, asked: Asked, place: int) -> dict[str, Any]:
        return chosen(asked.gate.options, choices(asked.gate.options)[place])

    def _tell(self, asked: Asked, note: str) -> None:
        """Why it did not count, below the question; strangers get no word."""
        who = self._who
        if not self._named(asked):
            if who is None:
                return
            if not self._may_command and barred(asked.gate.who, who, gates.requesters(self._session, asked)):
                return
        asked.gate.note = note
        self._session.add(asked.gate)
        self._session.flush()
        say_gate(self._session, self._speaker, asked)

    def _named(self, asked: Asked) -> bool:
        """Whether it is a person whom the gate asks for by name, whatever their role."""
        sender = self._occasion.event.sender
        logins = {str(login).casefold() for login in asked.gate.who.get("logins") or ()}
        return sender.type == "User" and sender.login.casefold() in logins


def _is(given: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether an answer that is kept is the one that a box means."""
    if "answer" in wanted:
        return bool(given.get("answer") == wanted["answer"])
    kept = given.get("answers") or {}
    return all(_word(kept.get(key)) == value for key, value in wanted["answers"].items())


def _word(value: object) -> object:
    return (YES if value else NO) if isinstance(value, bool) else value
