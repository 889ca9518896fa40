"""What the bot knows of a thread besides what it wrote there: its pins, its questions, whether it is at work."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from bot.demo.records import Comment, Issue
from bot.dispatch.builtins import BUILTINS
from bot.model.state import GateState
from bot.publish.gate_comment import slot_of
from bot.store import Session, dispatches, gates, threads
from bot.store.gates import Asked
from bot.store.tables import Thread

_SLOT = re.compile(r"^<!-- threadsmith slot=(\S+) digest=", re.MULTILINE)
#: how many of a thread's newest questions are looked through: a demo has few
_NEWEST = 200


@dataclass(frozen=True, slots=True)
class Gate:
    """A question in a comment of the bot's, and what became of it."""

    state: GateState
    by: str = ""
    answer: str = ""

    @property
    def told(self) -> str:
        """That in a few words."""
        match self.state:
            case GateState.OPEN:
                return "waits for an answer"
            case GateState.ANSWERED:
                return f"answered by {self.by or 'nobody'}{f': {self.answer}' if self.answer else ''}"
            case GateState.EXPIRED:
                return "nobody answered in time"
            case GateState.VOID:
                return "void: asked again"
            case _:
                return "need not be answered"


@dataclass(frozen=True, slots=True)
class Known:
    """Who had the bot pin which comments, its questions by comment, and commands that apply now."""

    pins: Mapping[int, str] = field(default_factory=dict)
    gates: Mapping[int, Gate] = field(default_factory=dict)
    offers: tuple[str, ...] = ()


def known(session: Session, issue: Issue) -> Known:
    """What the bot's own records say about a thread."""
    thread = threads.find(session, issue.repository.id, issue.number)
    if thread is None:
        return Known()
    asked = gates.newest(session, thread.id, _NEWEST)
    by_slot = {slot: gate for each in asked for slot, gate in _comments(session, each)}
    found = {row.id: gate for row in issue.comments if (gate := by_slot.get(_filled(row))) is not None}
    pins = {row.comment_id: row.pinned_by for row in threads.pins(session, thread.id) if not row.native}
    return Known(pins, found, _offers(session, thread, any(gate.state is GateState.OPEN for gate in found.values())))


def _comments(session: Session, asked: Asked) -> Iterator[tuple[str, Gate]]:
    """The slots of a question's comments, each with what became of it: only the newest can be answered."""
    gate = asked.gate
    for time in range(1, gate.asked):
        yield str(slot_of(session, asked, time)), Gate(GateState.VOID)
    answer = gate.answer or {}
    yield str(slot_of(session, asked)), Gate(gate.state, str(answer.get("by") or ""), str(answer.get("answer") or ""))


def _filled(comment: Comment) -> str:
    """The slot in a comment of the bot's: the page learns of a comment before the bot has noted that it was posted."""
    marked = _SLOT.findall(comment.body) if comment.author.type == "Bot" else []
    return unquote(marked[-1]) if marked else ""


def _offers(session: Session, thread: Thread, waits: bool) -> tuple[str, ...]:
    """Commands that do something now, of those that there are."""
    at_work = bool(dispatches.open_of_thread(session, thread.id))
    apply = {"approve": waits, "stop": at_work and not thread.paused, "resume": thread.paused}
    return tuple(each.name for each in BUILTINS if apply.get(each.name))
