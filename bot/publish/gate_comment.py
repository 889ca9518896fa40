"""A gate's comment in its thread: said from its row alone, and found again from what stands on GitHub."""

from __future__ import annotations

from dataclasses import dataclass

from bot.model.role import Role
from bot.model.slot import Slot
from bot.model.state import GateState
from bot.publish.body import inline_code
from bot.publish.boxes import spread
from bot.publish.footer import Footer
from bot.publish.gate import bound_to, for_whom, gate_body, gate_slot, reminder_body, settled_gate_body
from bot.publish.speaker import Speaker
from bot.store import Session, gates, outbox, spoken
from bot.store.gates import Asked
from bot.store.tables import Frame, Outbox, Thread
from bot.workflows.answers import Person, barred, choices
from bot.workflows.gate_steps import ASKED_MAX


@dataclass(frozen=True, slots=True)
class Standing:
    """A comment of ours that asks, and the gate that it is of; None where that has made room for another one.

    `current` says whether it is the newest of that gate; `places` are the choices whose boxes it has.
    """

    row: Outbox
    asked: Asked | None = None
    current: bool = False
    places: range = range(0)

    @property
    def answerable(self) -> Asked | None:
        """The gate, if people can still answer it here: it is open, and asks in this comment."""
        open_here = self.current and self.asked is not None and self.asked.gate.state is GateState.OPEN
        return self.asked if open_here else None


def say_gate(session: Session, speaker: Speaker, asked: Asked) -> None:
    """Make sure that the newest comment of a gate says how it stands."""
    speaker.comment(
        session,
        asked.thread,
        slot_of(session, asked),
        purpose="gate",
        body=gate_text(asked),
        run=asked.run,
        mentions=asked.gate.options.get("mentions") or (),
    )


def gate_text(asked: Asked) -> str:
    """The body for how it stands."""
    gate = asked.gate
    kept = gate.options
    footer = Footer(asked.run.number, url=kept.get("run_url") or "")
    bound = bound_to(gate.digest, gate.head_sha)
    if gate.state is GateState.OPEN:
        return gate_body(
            name=asked.name,
            asked=kept,
            question=gate.question,
            show=kept.get("show") or "",
            who=for_whom(gate.who, asked.dispatch.actor),
            until=gate.deadline,
            then=_then(asked, "is taken", "the step fails"),
            note=gate.note,
            time=gate.asked,
            handle=kept.get("handle") or "@bot",
            bound=bound,
            footer=footer,
        )
    void = gate.state is GateState.VOID
    last = "Not asked again" if gate.asked >= ASKED_MAX else "Asked again below"
    return settled_gate_body(
        name=asked.name,
        question=gate.question,
        show=kept.get("show") or "",
        answer=gate.answer if gate.state is GateState.ANSWERED else None,
        expired=gate.deadline if gate.state is GateState.EXPIRED else None,
        void=gate.note or "what it asked about changed" if void else "",
        then=last if void else _then(asked, "was taken", "the step failed"),
        note="" if void else gate.note,
        bound=bound,
        footer=footer,
    )


def say_reminder(session: Session, speaker: Speaker, asked: Asked) -> None:
    """One comment at half time that names who is asked for: only a new comment is told to people."""
    gate = asked.gate
    assert gate.deadline is not None, "what is open for ever has no half time"
    named = [str(login) for login in gate.who.get("logins") or ()]
    shut_out = asked.dispatch.actor.casefold() if gate.who.get("not_requester") else ""
    whom = [login for login in named if login.casefold() != shut_out] if named else _requester(asked)
    row = outbox.find(session, slot_of(session, asked))
    body = reminder_body(
        name=asked.name,
        question=gate.question,
        whom=whom,
        link=row.url if row is not None else "",
        until=gate.deadline,
        then=_then(asked, "is taken", "the step fails"),
    )
    speaker.comment(
        session,
        asked.thread,
        slot_of(session, asked, what="reminder"),
        purpose="gate",
        body=body,
        run=asked.run,
        mentions=gate.options.get("mentions") or (),
    )


def _requester(asked: Asked) -> list[str]:
    """Whoever asked for the run, if they may answer: by the role that they had then; other bots never do."""
    dispatch, who = asked.dispatch, asked.gate.who
    if not dispatch.actor_role:
        return []
    person = Person(dispatch.actor_id, dispatch.actor, Role(dispatch.actor_role))
    return [] if barred(who, person, [dispatch.actor_id]) else [dispatch.actor]


def slot_of(session: Session, asked: Asked, time: int | None = None, *, what: str = "gate") -> Slot:
    """The slot of a gate's comment; of the newest unless `time` says which time it asked."""
    gate, attempt = asked.gate, asked.attempt
    path = session.get_one(Frame, attempt.frame_id).path
    approval = gate.id if gate.kind == "approval" else ""
    return gate_slot(
        asked.run.id, attempt.step, attempt.number, path, approval=approval, asked=time or gate.asked, what=what
    )


def standing(session: Session, thread: Thread, comment_id: int, slot: Slot | None) -> Standing | None:
    """What a comment of ours asks; `slot` is that of its marker. None for a comment that asks nothing."""
    row = spoken.standing(session, thread.id, comment_id, str(slot) if slot is not None else None)
    if row is None or row.purpose != "gate" or row.run_id is None:
        return None
    wanted = Slot.parse(row.slot)
    if wanted.purpose.partition(".")[0] != "gate":
        return None
    for asked in gates.of_run(session, row.run_id):
        for time in range(asked.gate.asked, 0, -1):
            whole = slot_of(session, asked, time)
            parts = outbox.parts(session, whole)
            if wanted.part < len(parts) and parts[wanted.part].id == row.id:
                places = spread([part.body for part in parts], len(choices(asked.gate.options)))
                return Standing(row, asked, time == asked.gate.asked, places[wanted.part])
    return Standing(row)


def _then(asked: Asked, option: str, none: str) -> str:
    """What follows where nobody answers; `option` and `none` are words for a step that asks."""
    gate = asked.gate
    if gate.kind == "approval":
        return "the call does not run" if gate.state is GateState.OPEN else "the call did not run"
    label = gate.options.get("on_timeout")
    return f"{inline_code(label)} {option}" if label else none
