"""What a verdict is made from: the rows of an episode's bots, and what stands in its world."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlmodel import Session, select

from bot.demo.records import Comment, Reaction
from bot.model.slot import Slot
from bot.publish.set_aside import REASON
from bot.store.tables import Attempt, Delivery, Dispatch, Frame, Gate, Outbox, Pin, Run, Thread
from tests.faults.place import Place
from tests.faults.wishes import Subject

#: what of a run is no result
_BESIDE = frozenset({"gate", "request", "status", "check"})


@dataclass(frozen=True)
class Said:
    """A comment of the bot's, with the slot that its marker names."""

    number: int
    comment: Comment
    slot: Slot | None


class Evidence:
    """Everything, read once; the rows may not be changed any more."""

    def __init__(self, place: Place, session: Session) -> None:
        self.place = place
        self.said = list(_said(place))
        self.threads = {thread.id: thread for thread in session.exec(select(Thread))}
        self.outbox = list(session.exec(select(Outbox)))
        self.runs = {run.id: run for run in session.exec(select(Run))}
        self.dispatches = list(session.exec(select(Dispatch)))
        self.deliveries = {one.id: one for one in session.exec(select(Delivery))}
        self.attempts = list(session.exec(select(Attempt)))
        self.frames = {frame.id: frame.path for frame in session.exec(select(Frame))}
        self.gates = list(session.exec(select(Gate)))
        self.pins = list(session.exec(select(Pin)))
        #: runs and requests (as a slot's scope has them) of which something was not said, as processes ended over it
        self.unsaid = {Slot.parse(row.slot).scope for row in self.outbox if row.reason == REASON}

    def results_with(self, number: int, word: str) -> int:
        """In how many results of a thread a word stands: comments and replies to remarks."""
        issue = self.place.repo.issues[number]
        texts = [
            said.comment.body
            for said in self.said
            if said.number == number
            and said.slot is not None
            and said.slot.scope.startswith("run/")
            and said.slot.purpose not in _BESIDE
        ]
        if issue.pull is not None:
            texts += [
                comment.body
                for thread in issue.pull.review_threads
                for comment in thread.comments
                if comment.author is self.place.app.bot
            ]
        return sum(word in text for text in texts)

    def reactions(self, subject: Subject) -> list[Reaction]:
        """The bot's."""
        return [one for one in subject.reactions if one.user is self.place.app.bot]

    def name(self, run: Run) -> str:
        """What people call a run."""
        return f"r{run.number} in #{self.threads[run.thread_id].number}"


def _said(place: Place) -> Iterator[Said]:
    for number, issue in place.repo.issues.items():
        for comment in issue.comments:
            if comment.author is place.app.bot:
                mark = place.marker.find(comment.body, repository_id=place.repo.id, thread=number)
                yield Said(number, comment, None if mark is None else mark.slot)
