"""What is wrong when an episode has come to rest: what was lost, what was said twice, what is out of order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from sqlalchemy import create_engine
from sqlmodel import Session

from bot.dispatch import schedules
from bot.model.event import HANDLED
from bot.model.slot import Slot
from bot.model.state import AttemptState, DeliveryState, OutboxState, RunState
from bot.publish import set_aside
from bot.store.tables import Outbox, Run
from bot.webhook.identity import content_key
from tests.faults.evidence import Evidence
from tests.faults.granted import Granted
from tests.faults.people import People
from tests.faults.place import Place
from tests.faults.verdict import Verdict

#: what of a run is its end, seen by people
_ENDS = frozenset({"result", "output", "error", "cancelled", "action"})

#: why something was dropped, and nobody misses it: it need not be said any more, ...
_OVERTAKEN = frozenset({"ended before it was seen", "the run ended first"})
#: ... what it belongs to was deleted, ...
_DELETED = frozenset({"comment_deleted"})
#: ... or it was not possible, which its run says
_TOLD = frozenset({"none of them can be assigned here", "head_moved"})


class Judge:
    """Notes in a verdict everything that does not fit together, whatever was asked."""

    def __init__(self, evidence: Evidence, verdict: Verdict) -> None:
        self._e = evidence
        self._place = evidence.place
        self._verdict = verdict

    def look(self, acknowledged: Collection[str]) -> None:
        """At all of it; `acknowledged` are the GUIDs of deliveries that were answered with 2xx."""
        self._rests()
        self._kept(acknowledged)
        self._slots()
        self._order()
        self._attempts()
        self._reviews()
        self._checks()
        for run in self._e.runs.values():
            self._end(run)

    def _lost(self, words: str) -> None:
        self._verdict.lost.append(words)

    def _doubled(self, words: str) -> None:
        self._verdict.doubled.append(words)

    def _odd(self, words: str) -> None:
        self._verdict.odd.append(words)

    def _rests(self) -> None:
        """No row is under way."""
        purged = {run.id for run in self._e.runs.values() if run.purged_at is not None}
        for run in self._e.runs.values():
            if run.state in (RunState.QUEUED, RunState.RUNNING, RunState.WAITING):
                self._lost(f"{self._e.name(run)} ({run.workflow}) is {run.state} still")
        for row in self._e.outbox:
            if row.state not in (OutboxState.POSTED, OutboxState.DROPPED):
                self._lost(f"{row.slot} is {row.state} still: {row.reason}")
            elif not row.reason and (row.run_id in purged or (row.run_id is None and not row.body)):
                continue  # its texts went with the comment that asked, or that it may have quoted
            elif row.reason == set_aside.REASON:
                self._set_aside(row)
            elif row.state is OutboxState.DROPPED and row.reason not in _OVERTAKEN | _DELETED | _TOLD:
                self._lost(f"{row.slot} ({row.action}) was dropped: {row.reason}")
        for attempt in self._e.attempts:
            if not attempt.state.ended:
                self._lost(f"an attempt of {attempt.step} in {attempt.run_id} is {attempt.state} still")

    def _set_aside(self, row: Outbox) -> None:
        """A post over which three processes ended: whoever waits for it is told."""
        self._verdict.ends["post set aside"] += 1
        told = any(said.slot is not None and said.slot.scope == f"outbox/{row.id}" for said in self._e.said)
        if row.purpose in set_aside.TOLD and not told:
            self._lost(f"{row.slot} was set aside and nobody was told")

    def _kept(self, acknowledged: Collection[str]) -> None:
        """Every acknowledged delivery is on the disk and was looked at."""
        kept = {one.guid for one in self._e.deliveries.values()}
        contents = {one.content_key for one in self._e.deliveries.values()}
        for guid in acknowledged:
            told = self._place.world.delivery(guid)
            # all checks of a commit end again with each of them: within a second, that is the same told twice
            again = told.event == "check_suite" and content_key(told.payload()) in contents
            if guid not in kept and not again and (told.action or "") in HANDLED.get(told.event, ()):
                self._lost(f"the delivery {guid} ({told.event} {told.action}) was acknowledged and is not there")
        newest = max(self._e.deliveries, default="")
        for one in self._e.deliveries.values():
            if one.id == newest and one.event == schedules.EVENT and one.state is DeliveryState.NEW:
                continue  # it came due while the last bot was stopped
            # nobody can be told anything of whom GitHub does not say what he may; what is set aside because processes
            # end over it is no loss by itself: what somebody asked for there is looked at with the wishes
            excused = "/collaborators/sam/" in one.reason or one.reason.startswith("set aside: ")
            unknown = one.state is DeliveryState.FAILED and excused
            if one.state in (DeliveryState.NEW, DeliveryState.FAILED) and not unknown:
                self._lost(f"the delivery {one.guid} ({one.event} {one.action}) is {one.state}: {one.reason}")

    def _slots(self) -> None:
        """One comment for each slot, and one slot for each comment."""
        filled = Counter(str(said.slot) for said in self._e.said if said.slot is not None)
        for slot, count in filled.items():
            if count > 1:
                self._doubled(f"{count} comments fill {slot}")
        for said in self._e.said:
            if said.slot is None:
                self._odd(f"a comment of ours in #{said.number} has no marker: {said.comment.body[:80]!r}")
        for row in self._e.outbox:
            stands = row.action == "comment" and row.state is OutboxState.POSTED and row.target_id is None
            if stands and filled[row.slot] == 0:
                self._lost(f"{row.slot} was posted as {row.posted_id} and is not there")

    def _order(self) -> None:
        """Results of a thread stand in the order of its dispatches.

        A run that waits lets others go ahead, and one that is called off before its turn ends at once.
        """
        waited = {gate.run_id for gate in self._e.gates}
        rows = {row.slot: row for row in self._e.outbox}
        stand: dict[int, list[int]] = {}
        for said in self._e.said:  # as they stand in their threads
            row = rows.get(str(said.slot))
            if row is None or row.purpose not in _ENDS or not row.slot.endswith("|0"):
                continue
            run = self._e.runs.get(row.run_id or "")
            if run is not None and run.started_at is not None and run.id not in waited:
                stand.setdefault(said.number, []).append(run.sequence)
        for number, sequences in stand.items():
            if sequences != sorted(sequences):
                self._odd(f"the results in #{number} stand in the order {sequences}")

    def _attempts(self) -> None:
        """What succeeded is not done again."""
        done = Counter(
            (one.run_id, self._e.frames[one.frame_id], one.step, one.iteration)
            for one in self._e.attempts
            if one.state is AttemptState.SUCCESS
        )
        for place, count in done.items():
            if count > 1:
                self._doubled(f"{place} succeeded {count} times")

    def _reviews(self) -> None:
        """One review for each run that found something new, and no remark twice."""
        pull = self._place.pull
        # a reply to a remark makes a review of its own, without a text
        ours = [one for one in pull.reviews if one.author is self._place.app.bot and one.body.strip()]
        posted = [row for row in self._e.outbox if row.action == "review" and row.state is OutboxState.POSTED]
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
        # of one over which processes ended nobody knows how far it came; the run's end tells of it
        # (its reason went with the comment that asked, where that was deleted)
        checks = [row for row in self._e.outbox if row.action == "check"]
        unsaid = {
            row.slot for row in checks if row.state is OutboxState.DROPPED and row.reason in ("", set_aside.REASON)
        }
        for check in self._place.repo.checks:
            if check.status != "completed" and check.external_id not in unsaid:
                self._lost(f"the check {check.name} ({check.external_id}) is {check.status} still")
        # one that was called off after it was claimed and before its first step has none, or has one already
        pulls = [run for run in self._e.runs.values() if self._e.threads[run.thread_id].is_pull_request]
        begun = {one.run_id for one in self._e.attempts if one.taken_from is None}
        stand = {name.removeprefix("run/").partition("|")[0] for name in seen.keys() | unsaid}
        if lacking := {run.id for run in pulls if run.id in begun} - stand:
            self._lost(f"{len(lacking)} runs of the pull request began and have no check: {', '.join(lacking)}")
        if more := stand - {run.id for run in pulls if run.started_at is not None}:
            self._odd(f"{len(more)} checks stand for what never began: {', '.join(more)}")

    def _end(self, run: Run) -> None:
        """An end that people see: one end comment where it did not succeed, the results where it did."""
        if not run.state.ended:
            return
        rows = [row for row in self._e.outbox if row.run_id == run.id and row.state is OutboxState.POSTED]
        name = self._e.name(run)
        if not any(row.purpose in _ENDS for row in rows) and not any(row.action == "reaction" for row in rows):
            self._lost(f"{name} ({run.workflow}, {run.state}) has no end that anybody sees")
        if sum(Slot.parse(row.slot).purpose == "end" for row in rows) > 1:
            self._doubled(f"{name} has several ends")
        if sum(row.purpose == "status" and row.action == "comment" for row in rows) > 1:
            self._doubled(f"{name} has several status comments")


def judge(place: Place, database: str, people: People, acknowledged: Collection[str]) -> Verdict:
    """Look at everything. The database is read from outside."""
    verdict = Verdict()
    engine = create_engine(database)
    try:
        with Session(engine) as session:
            evidence = Evidence(place, session)
            verdict.dispatches = len(evidence.dispatches)
            verdict.ends.update(str(run.state) for run in evidence.runs.values())
            Judge(evidence, verdict).look(acknowledged)
            granted = Granted(evidence, verdict)
            for wish in people.wishes:
                granted.look(wish)
            for token, number in people.gone.items():
                if (count := evidence.results_with(number, token)) > 1:
                    verdict.doubled.append(f"{token} in #{number}, which was deleted, stands in {count} results")
    finally:
        engine.dispose()
    return verdict
