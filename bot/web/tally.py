"""Counters and histograms of what came to an end, added up as long as the process lives."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from bot.model.state import AttemptState, RunState
from bot.store import Session, happened
from bot.store.happened import Cursor
from bot.web.metric_table import SECONDS
from bot.workflows.modifiers import KINDS

#: values of one label; what comes later is counted as `OTHER`, so that no repository can make as many as it likes
MOST = 64
OTHER = "other"
_WORD = re.compile(r"[a-z][a-z0-9_]{0,39}")


class Histogram:
    """Observations by upper bound."""

    def __init__(self, bounds: Sequence[float] = SECONDS) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(self._bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """One more."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self.sum += value

    @property
    def buckets(self) -> list[tuple[str, float]]:
        """Bound as text and how many are at most that, the last `+Inf`."""
        told, total = [], 0
        for bound, count in zip((*map(str, self._bounds), "+Inf"), self._counts, strict=True):
            total += count
            told.append((bound, float(total)))
        return told


class Names:
    """The values that a label has taken, `MOST` at most."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def of(self, name: str) -> str:
        """The name, or `OTHER` for one too many."""
        if name in self._known or len(self._known) < MOST:
            self._known.add(name)
            return name
        return OTHER


def word(text: str) -> str:
    """A stable word as it is, without what follows its colon; `OTHER` for words of others, which may be anything."""
    name = text.partition(":")[0].strip()
    return name if _WORD.fullmatch(name) else OTHER


def counted(pairs: Iterable[tuple[str, int]]) -> Mapping[str, int]:
    """Numbers by word, at most `MOST` of them."""
    names, found = Names(), Counter[str]()
    for text, count in pairs:
        found[names.of(word(text))] += count
    return found


class Tally:
    """What has ended since `start`. `look` reads what is new.

    Of what is known by name there is a figure from the beginning: the first failure is one more, not one that was
    always there.
    """

    def __init__(self, start: datetime) -> None:
        self._attempts = Cursor(happened.attempts, start)
        self._runs = Cursor(happened.runs, start)
        self._posted = Cursor(happened.posted, start)
        self._spent = Cursor(happened.spent, start)
        self._models, self._codes = Names(), Names()
        self.counters: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        self.dollars: dict[str, float] = defaultdict(float)
        self.histograms: dict[str, dict[tuple[str, ...], Histogram]] = defaultdict(lambda: defaultdict(Histogram))
        self._begin()

    def _begin(self) -> None:
        runs = {(str(state),): 0 for state in RunState if state.ended}
        attempts = {(kind, str(state)): 0 for kind in KINDS for state in AttemptState if state.ended}
        self.counters["threadsmith_runs_ended"].update(runs)
        self.counters["threadsmith_attempts_ended"].update(attempts)
        # codes are too many to name; `other` makes the sum of a kind begin
        self.counters["threadsmith_step_failures"].update({(kind, OTHER): 0 for kind in KINDS})
        for name in ("threadsmith_run_seconds", "threadsmith_result_seconds"):
            self.histograms[name][()] = Histogram()
        self.histograms["threadsmith_step_seconds"].update({(kind,): Histogram() for kind in KINDS})

    def look(self, session: Session) -> None:
        """Read what has ended since the last look, and add it."""
        for attempt in self._attempts.next(session):
            self.counters["threadsmith_attempts_ended"][attempt.kind, attempt.state] += 1
            self.histograms["threadsmith_step_seconds"][(attempt.kind,)].observe(attempt.seconds)
            if attempt.code:
                code = self._codes.of(word(attempt.code))
                self.counters["threadsmith_step_failures"][attempt.kind, code] += 1
        for run in self._runs.next(session):
            self.counters["threadsmith_runs_ended"][(run.state,)] += 1
            self.histograms["threadsmith_run_seconds"][()].observe(run.seconds)
        for post in self._posted.next(session):
            self.counters["threadsmith_posted"][(post.action,)] += 1
            if post.seconds is not None:
                self.histograms["threadsmith_result_seconds"][()].observe(post.seconds)
        for one in self._spent.next(session):
            model = self._models.of(one.model)
            self.counters["threadsmith_model_tokens"][model, "input"] += one.input_tokens
            self.counters["threadsmith_model_tokens"][model, "output"] += one.output_tokens
            self.dollars[model] += one.cost or 0.0
