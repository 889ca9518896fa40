"""What is wrong when an episode has come to rest: what was lost, what was said twice, what is out of order."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from sqlalchemy import create_engine
from sqlmodel import Session, select

from bot.demo.records import Comment, Issue, Reaction, Review
from bot.dispatch.owed import SET_ASIDE
from bot.model.slot import Slot
from bot.model.state import AttemptState, DeliveryState, OutboxState, RunState
from bot.store.tables import Attempt, Delivery, Dispatch, Frame, Gate, Outbox, Pin, Run, Thread
from tests.faults.doings import Doings, Wish
from tests.faults.place import Place

#: what of a run is its end, seen by people
_ENDS = frozenset({"result", "output", "error", "cancelled", "action"})
#: what of a run is no result
_BESIDE = frozenset({"gate", "request", "status", "check"})


#: why something need not be said any more
_OVERTAKEN = frozenset({"ended before it was seen", "the run ended first"})


#: why something cannot be said: what it belongs to was deleted
_DELETED = frozenset({"comment_deleted"})
#: why something was not done, which its run says
_TOLD = frozenset({"none of them can be assigned here", "head_moved"})


#: how a run may end all the same, as people see: on a machine so slow that its minutes, or GitHub's patience, are over
#: in our haste; and where its repository got another name between a look at it and its clone, which follows no redirect
_EXCUSED = ("github_unavailable", "minutes are over", "github_refused")


@dataclass
class Verdict:
    """What was found. `lost` and `doubled` are sentences, one for each."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)
    dispatches: int = 0
    #: runs by how they ended
    ends: Counter[str] = field(default_factory=Counter)

    @property
    def faults(self) -> list[str]:
        return [*self.lost, *self.doubled, *self.odd]


@dataclass(frozen=True)
class Said:
    """A comment of the bot's, with the slot that its marker names."""

    number: int
    comment: Comment
    slot: Slot | None


class Judge:
    """Compares a world with the rows of its bots."""

    def __init__(self, place: Place, session: Session) -> None:
        self._place = place
        self._s = session
        self._verdict = Verdict()
        self._said = list(self._comments())
        self._threads = {thread.id: thread for thread in session.exec(select(Thread))}
        self._outbox = list(session.exec(select(Outbox)))
        self._runs = list(session.exec(select(Run)))
        self._dispatches = list(session.exec(select(Dispatch)))
        self._deliveries = {one.id: one for one in session.exec(select(Delivery))}

    def _comments(self) -> Iterator[Said]:
        place = self._place
        for number, issue in place.repo.issues.items():
            for comment in issue.comments:
                if comment.author is place.app.bot:
                    mark = place.marker.find(comment.body, repository_id=place.repo.id, thread=number)
                    yield Said(number, comment, None if mark is None else mark.slot)

    def judge(self, doings: Doings, acknowledged: Collection[str]) -> Verdict:
        """Everything that is wrong."""
        self._verdict.dispatches = len(self._dispatches)
        self._verdict.ends.update(str(run.state) for run in self._runs)
        self._rests()
        self._kept(acknowledged)
        self._slots()
        self._order()
        self._attempts()
        self._reviews()
        self._checks()
        for run in self._runs:
            self._end(run)
        for wish in doings.wishes:
            self._wish(wish)
        for token, number in doings.gone.items():
            if (count := self._count(number, token)) > 1:
                self._doubled(f"{token} in #{number}, which was deleted, stands in {count} results")
        return self._verdict

    def _lost(self, words: str) -> None:
        self._verdict.lost.append(words)

    def _doubled(self, words: str) -> None:
        self._verdict.doubled.append(words)

    def _odd(self, words: str) -> None:
        self._verdict.odd.append(words)

    def _rests(self) -> None:
        """No row is under way."""
        purged = {run.id for run in self._runs if run.purged_at is not None}
        for run in self._runs:
            if run.state in (RunState.QUEUED, RunState.RUNNING, RunState.WAITING):
                self._lost(f"{self._name(run)} ({run.workflow}) is {run.state} still")
        for row in self._outbox:
            if row.state not in (OutboxState.POSTED, OutboxState.DROPPED):
                self._lost(f"{row.slot} is {row.state} still: {row.reason}")
            elif row.run_id in purged and not row.reason:  # its texts went with the comment that asked
                continue
            elif row.state is OutboxState.DROPPED and row.reason not in _OVERTAKEN | _DELETED | _TOLD:
                self._lost(f"{row.slot} ({row.action}) was dropped: {row.reason}")
        for attempt in self._s.exec(select(Attempt)):
            if not attempt.state.ended:
                self._lost(f"an attempt of {attempt.step} in {attempt.run_id} is {attempt.state} still")

    def _kept(self, acknowledged: Collection[str]) -> None:
        """Every acknowledged delivery is on the disk, by its GUID or its content, and was looked at."""
        kept = {one.guid for one in self._deliveries.values()}
        for guid in acknowledged:
            told = self._place.world.delivery(guid)
            handled = told.event in {"issue_comment", "issues", "pull_request", "pull_request_review",
                                     "pull_request_review_comment"}  # fmt: skip
            if guid not in kept and handled and told.action not in _UNHEARD.get(told.event, ()):
                self._lost(f"the delivery {guid} ({told.event} {told.action}) was acknowledged and is not there")
        for one in self._deliveries.values():
            # nobody can be told anything of whom GitHub does not say what he may; what is set aside because processes
            # end over it is no loss by itself: what somebody asked for there is looked at with the wishes
            excused = "/collaborators/sam/" in one.reason or one.reason.startswith("set aside: ")
            unknown = one.state is DeliveryState.FAILED and excused
            if one.state in (DeliveryState.NEW, DeliveryState.FAILED) and not unknown:
                self._lost(f"the delivery {one.guid} ({one.event} {one.action}) is {one.state}: {one.reason}")

    def _slots(self) -> None:
        """One comment for each slot, and one slot for each comment."""
        filled = Counter(str(said.slot) for said in self._said if said.slot is not None)
        for slot, count in filled.items():
            if count > 1:
                self._doubled(f"{count} comments fill {slot}")
        for said in self._said:
            if said.slot is None:
                self._odd(f"a comment of ours in #{said.number} has no marker: {said.comment.body[:80]!r}")
        for row in self._outbox:
            stands = row.action == "comment" and row.state is OutboxState.POSTED and row.target_id is None
            if stands and filled[row.slot] == 0:
                self._lost(f"{row.slot} was posted as {row.posted_id} and is not there")

    def _order(self) -> None:
        """Results of a thread stand in the order of its dispatches.

        A run that waits lets others go ahead, and one that is called off before its turn ends at once.
        """
        waited = {gate.run_id for gate in self._s.exec(select(Gate))}
        runs = {run.id: run for run in self._runs}
        stand: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for row in self._outbox:
            run = runs.get(row.run_id or "")
            first = row.purpose in _ENDS and row.action == "comment" and row.slot.endswith("|0")
            if run is None or run.started_at is None or run.id in waited:
                continue
            if first and row.posted_id is not None and row.target_id is None:
                stand[row.thread_id].append((row.posted_id, run.sequence))
        for thread_id, found in stand.items():
            sequences = [sequence for _, sequence in sorted(found)]
            if sequences != sorted(sequences):
                self._odd(f"the results in #{self._threads[thread_id].number} stand in the order {sequences}")

    def _attempts(self) -> None:
        """What succeeded is not done again."""
        frames = {frame.id: frame.path for frame in self._s.exec(select(Frame))}
        done = Counter(
            (one.run_id, frames[one.frame_id], one.step, one.iteration)
            for one in self._s.exec(select(Attempt).where(Attempt.state == AttemptState.SUCCESS))
        )
        for place, count in done.items():
            if count > 1:
                self._doubled(f"{place} succeeded {count} times")

    def _reviews(self) -> None:
        """One review for each run that found something new, and no remark twice."""
        pull = self._place.pull
        # a reply to a remark makes a review of its own, without a text
        ours = [one for one in pull.reviews if one.author is self._place.app.bot and one.body.strip()]
        posted = [row for row in self._outbox if row.action == "review" and row.state is OutboxState.POSTED]
        said = [row for row in posted if row.posted_id is not None]
        if len(ours) > len(posted):
            self._doubled(f"{len(ours)} reviews stand for {len(posted)} that were wanted")
        if len({row.posted_id for row in said}) > len(ours):
            self._lost(f"{len(said)} reviews were posted, {len(ours)} stand")
        remarks = Counter(
            (thread.path, thread.line, comment.body.partition("<!--")[0])
            for thread in pull.review_threads
            for comment in thread.comments
            if comment.author is self._place.app.bot and "Say why." in comment.body
        )
        for remark, count in remarks.items():
            if count > 1:
                self._doubled(f"the remark {remark} stands {count} times")

    def _checks(self) -> None:
        """One check of each run on the pull request, and it has ended."""
        seen = Counter(check.external_id for check in self._place.repo.checks if check.app is self._place.app)
        for name, count in seen.items():
            if count > 1:
                self._doubled(f"{count} checks are {name}")
        for check in self._place.repo.checks:
            if check.status != "completed":
                self._lost(f"the check {check.name} ({check.external_id}) is {check.status} still")
        pulls = {thread.id for thread in self._threads.values() if thread.is_pull_request}
        wanted = [run for run in self._runs if run.thread_id in pulls and run.started_at is not None]
        if len(seen) != len(wanted):
            self._lost(f"{len(seen)} checks stand for {len(wanted)} runs of the pull request that began")

    def _end(self, run: Run) -> None:
        """An end that people see: one end comment where it did not succeed, the results where it did."""
        if not run.state.ended:
            return
        rows = [row for row in self._outbox if row.run_id == run.id and row.state is OutboxState.POSTED]
        ends = [row for row in rows if Slot.parse(row.slot).purpose == "end"]
        if not any(row.purpose in _ENDS for row in rows) and not any(row.action == "reaction" for row in rows):
            self._lost(f"{self._name(run)} ({run.workflow}, {run.state}) has no end that anybody sees")
        if len(ends) > 1:
            self._doubled(f"{self._name(run)} has {len(ends)} ends")
        if sum(row.purpose == "status" and row.action == "comment" for row in rows) > 1:
            self._doubled(f"{self._name(run)} has several status comments")

    def _wish(self, wish: Wish) -> None:
        deliveries, dispatches = self._of(wish)
        name = f"{wish.kind} in #{wish.number} ({getattr(wish.subject, 'id', '')})"
        if len(dispatches) < wish.dispatches + wish.answers and self._left_alone(wish):
            self._verdict.ends["delivery set aside"] += 1
            return
        if len(dispatches) != wish.dispatches:
            (self._lost if len(dispatches) < wish.dispatches else self._doubled)(
                f"{name} made {len(dispatches)} dispatches, not {wish.dispatches}"
            )
        runs = [run for run in self._runs if run.dispatch_id in {one.id for one in dispatches}]
        aside = [
            run for run in runs if run.state is RunState.SET_ASIDE or any(words in run.reason for words in _EXCUSED)
        ]
        for run in runs:
            if str(run.state) not in wish.ends and run not in aside:
                self._lost(f"{name}: {self._name(run)} ended as {run.state}: {run.reason}")
        set_aside = bool(aside)
        for token, wanted in wish.tokens.items():
            count = self._count(wish.number, token)
            if count != wanted and not set_aside:
                (self._doubled if count > wanted else self._lost)(f"{name}: {token} stands in {count} results")
        if wish.label:
            labels = [label.name for label in self._place.repo.issues[wish.number].labels]
            if labels.count(wish.label) != 1 and not set_aside:
                self._lost(f"{name}: the label {wish.label} stands {labels.count(wish.label)} times")
        if wish.answers:
            self._answered(name, wish, deliveries)
        if wish.subject is not None and wish.dispatches:
            self._reacted(name, wish.subject, runs)
        if wish.kind == "pin":
            found = [pin for pin in self._s.exec(select(Pin)) if pin.comment_id == getattr(wish.subject, "id", 0)]
            if len(found) != 1:
                self._lost(f"{name}: pinned {len(found)} times")

    def _left_alone(self, wish: Wish) -> bool:
        """Whether what asked is set aside because three processes ended over it, and its thread says so.

        A remark belongs to its review, which may have been answered before.
        """
        told = {said.slot.scope for said in self._said if said.slot is not None and SET_ASIDE in said.comment.body}
        asked = {getattr(wish.subject, "id", 0)}
        for one in self._deliveries.values():
            if one.reason.startswith("set aside: ") and (body := json.loads(one.body or b"{}")):
                about = body.get("review") or body.get("comment") or body.get("issue") or {}
                remark = isinstance(wish.subject, Review) and about.get("pull_request_review_id") in asked
                label = wish.subject is None and body.get("action") == "labeled" and about.get("number") == wish.number
                if remark or ((label or about.get("id") in asked) and f"dispatch/{one.id}" in told):
                    return True
        return False

    def _of(self, wish: Wish) -> tuple[list[Delivery], list[Dispatch]]:
        numbers = {thread.id: thread.number for thread in self._threads.values()}
        here = [one for one in self._dispatches if numbers[one.thread_id] == wish.number]
        match wish.subject:
            case None:
                found = [one for one in here if one.command == wish.command]
            case Issue():
                found = [one for one in here if one.comment_id is None and one.trigger["name"] == "mention"]
            case Review():
                ids = {wish.subject.id, *(c.id for t in wish.subject.pull.review_threads for c in t.comments
                                          if c.review is wish.subject)}  # fmt: skip
                found = [one for one in here if one.comment_id in ids and one.target_kind != "comment"]
            case _:
                found = [one for one in here if one.comment_id == wish.subject.id and one.target_kind == "comment"]
        asking = {one.delivery_id for one in found}
        if isinstance(wish.subject, Comment):
            asking |= {one.id for one in self._deliveries.values() if one.comment_id == wish.subject.id}
        return [self._deliveries[one] for one in asking], found

    def _count(self, number: int, token: str) -> int:
        """In how many results a word stands: comments and review replies of ours."""
        issue = self._place.repo.issues[number]
        texts = [
            said.comment.body
            for said in self._said
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
                if comment.author is self._place.app.bot
            ]
        return sum(token in text for text in texts)

    def _answered(self, name: str, wish: Wish, deliveries: Collection[Delivery]) -> None:
        scopes = {f"dispatch/{one.id}" for one in deliveries}
        told = [said for said in self._said if said.slot is not None and said.slot.scope in scopes]
        assert isinstance(wish.subject, Comment)
        reactions = self._ours(wish.subject)
        if len(told) > 1:
            self._doubled(f"{name} was answered by {len(told)} comments")
        if not told and not reactions:
            self._lost(f"{name} was not answered")

    def _reacted(self, name: str, subject: Comment | Issue | Review, runs: Collection[Run]) -> None:
        """👀 is gone, and every kind of end stands there once."""
        contents = [reaction.content for reaction in self._ours(subject)]
        if "eyes" in contents:
            self._odd(f"{name} has 👀 still: {contents}")
        wanted = {"rocket" if run.state is RunState.SUCCEEDED else "confused" for run in runs
                  if run.state is not RunState.CANCELLED}  # fmt: skip
        if not isinstance(subject, Review) and set(contents) - {"+1"} != wanted:
            self._lost(f"{name} has the reactions {contents}, not {sorted(wanted)}")

    def _ours(self, subject: Comment | Issue | Review) -> list[Reaction]:
        return [one for one in subject.reactions if one.user is self._place.app.bot]

    def _name(self, run: Run) -> str:
        return f"r{run.number} in #{self._threads[run.thread_id].number}"


#: actions that are acknowledged and not kept
_UNHEARD: dict[str, frozenset[str]] = {}


def judge(place: Place, database: str, doings: Doings, acknowledged: Collection[str]) -> Verdict:
    """Look at everything. The database is read from outside."""
    engine = create_engine(database)
    try:
        with Session(engine) as session:
            return Judge(place, session).judge(doings, acknowledged)
    finally:
        engine.dispose()
