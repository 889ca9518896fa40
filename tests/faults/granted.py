"""What became of what people wanted: each wish beside the rows and the thread that it led to."""

from __future__ import annotations

import json
from collections.abc import Collection

from bot.demo.records import Comment, Issue, Review
from bot.dispatch.owed import SET_ASIDE
from bot.model.state import RunState
from bot.store.suspects import SILENT
from bot.store.tables import Delivery, Dispatch, Run
from tests.faults.evidence import Evidence
from tests.faults.verdict import Verdict
from tests.faults.wishes import Subject, Wish

#: how a run may end all the same, as people see: on a machine so slow that its minutes, or GitHub's patience, are over
#: in our haste; and where its repository got another name between a look at it and its clone, which follows no redirect
_EXCUSED = ("github_unavailable", "minutes are over", "github_refused")


class Granted:
    """Holds wishes against the evidence and notes in a verdict what is missing, and what is there too often."""

    def __init__(self, evidence: Evidence, verdict: Verdict) -> None:
        self._e = evidence
        self._verdict = verdict

    def look(self, wish: Wish) -> None:
        """At one of them."""
        found, deliveries = self._of(wish)
        name = f"{wish.kind} in #{wish.number} ({getattr(wish.subject, 'id', '')})"
        if len(found) < wish.dispatches + wish.answers and self._left_alone(wish):
            self._verdict.ends["delivery set aside"] += 1
            return
        self._verdict.counts(f"{name} made {len(found)} dispatches, not {wish.dispatches}", len(found), wish.dispatches)
        asked = {one.id for one in found}
        runs = [run for run in self._e.runs.values() if run.dispatch_id in asked]
        excused = [run for run in runs if _is_excused(run)]
        for run in runs:
            if str(run.state) not in wish.ends and run not in excused:
                self._verdict.lost.append(f"{name}: {self._e.name(run)} ended as {run.state}: {run.reason}")
        scopes = {f"dispatch/{each}" for each in (*asked, *(one.id for one in deliveries))}
        unsaid = not self._e.unsaid.isdisjoint(scopes | {f"run/{run.id}" for run in runs})
        self._done(name, wish, excused=bool(excused) or unsaid)
        if wish.answers:
            self._answered(name, wish, scopes, excused=unsaid)
        if wish.subject is not None and wish.dispatches and not unsaid:
            self._reacted(name, wish.subject, runs)

    def _done(self, name: str, wish: Wish, *, excused: bool) -> None:
        """What it wanted to have said and done; where its run was excused it may be missing, and never there twice."""
        for token, wanted in wish.tokens.items():
            count = self._e.results_with(wish.number, token)
            self._verdict.counts(f"{name}: {token} stands in {count} results", max(count, excused * wanted), wanted)
        if wish.label:
            labels = [label.name for label in self._e.place.repo.issues[wish.number].labels]
            count = labels.count(wish.label)
            self._verdict.counts(f"{name}: the label {wish.label} stands {count} times", max(count, excused), 1)
        if wish.kind == "pin":
            count = sum(pin.comment_id == getattr(wish.subject, "id", 0) for pin in self._e.pins)
            self._verdict.counts(f"{name}: pinned {count} times", count, 1)

    def _left_alone(self, wish: Wish) -> bool:
        """Whether what asked is set aside because three processes ended over it, and its thread says so.

        Where ten did, telling may be what ends them, and the log alone says so. A remark belongs to its review, which
        may have been answered before.
        """
        told = {said.slot.scope for said in self._e.said if said.slot is not None and SET_ASIDE in said.comment.body}
        told |= self._e.unsaid  # three ended over those words too, which is told in their place
        asked = {getattr(wish.subject, "id", 0)}
        for one in self._e.deliveries.values():
            if one.reason.startswith("set aside: ") and (body := json.loads(one.body or b"{}")):
                about = body.get("review") or body.get("comment") or body.get("issue") or {}
                remark = isinstance(wish.subject, Review) and about.get("pull_request_review_id") in asked
                label = wish.subject is None and body.get("action") == "labeled" and about.get("number") == wish.number
                said = f"dispatch/{one.id}" in told or one.interruptions >= SILENT
                if remark or ((label or about.get("id") in asked) and said):
                    return True
        return False

    def _of(self, wish: Wish) -> tuple[list[Dispatch], list[Delivery]]:
        """The dispatches that a wish made, and the deliveries that told of it."""
        here = [one for one in self._e.dispatches if self._e.threads[one.thread_id].number == wish.number]
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
            asking |= {one.id for one in self._e.deliveries.values() if one.comment_id == wish.subject.id}
        return found, [one for one in self._e.deliveries.values() if one.id in asking]

    def _answered(self, name: str, wish: Wish, scopes: Collection[str], *, excused: bool) -> None:
        told = [said for said in self._e.said if said.slot is not None and said.slot.scope in scopes]
        assert isinstance(wish.subject, Comment)
        if len(told) > 1:
            self._verdict.doubled.append(f"{name} was answered by {len(told)} comments")
        if not told and not excused and not self._e.reactions(wish.subject):
            self._verdict.lost.append(f"{name} was not answered")

    def _reacted(self, name: str, subject: Subject, runs: Collection[Run]) -> None:
        """👀 is gone, and every kind of end stands there once."""
        contents = [reaction.content for reaction in self._e.reactions(subject)]
        if "eyes" in contents:
            self._verdict.odd.append(f"{name} has 👀 still: {contents}")
        wanted = {"rocket" if run.state is RunState.SUCCEEDED else "confused" for run in runs
                  if run.state is not RunState.CANCELLED}  # fmt: skip
        if not isinstance(subject, Review) and set(contents) - {"+1"} != wanted:
            self._verdict.lost.append(f"{name} has the reactions {contents}, not {sorted(wanted)}")


def _is_excused(run: Run) -> bool:
    return run.state is RunState.SET_ASIDE or any(words in run.reason for words in _EXCUSED)
