"""What a benchmark comes to: goals with what was measured, and the figures behind them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from math import ceil
from statistics import median
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Goal:
    """One promise held against a measured value; `sense` says on which side of `limit` the value has to be."""

    what: str
    value: float
    sense: Literal["at least", "at most"]
    limit: float
    unit: str = ""

    @property
    def holds(self) -> bool:
        return self.value >= self.limit if self.sense == "at least" else self.value <= self.limit


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the benchmark table: what is measured, against what, its goals, its figures, and what to know.

    `figures` is a table: `columns`, then lines of as many cells; numbers are medians over the rounds.
    """

    name: str
    title: str
    against: str
    goals: tuple[Goal, ...]
    columns: tuple[str, ...]
    figures: tuple[tuple[str | float | int, ...], ...]
    notes: tuple[str, ...] = ()
    #: single rounds as they were measured, by what was measured
    rounds: dict[str, list[float]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As it stands in docs/benchmarks.json."""
        goals = [asdict(goal) | {"value": shown(goal.value), "holds": goal.holds} for goal in self.goals]
        return asdict(self) | {"goals": goals}


@dataclass(frozen=True, slots=True)
class Pace:
    """How much is measured: all of it, or a short run that shows whether everything works."""

    quick: bool = False

    def of(self, full: int, quick: int) -> int:
        """So many, or so few."""
        return quick if self.quick else full


def middle(values: Iterable[float]) -> float:
    """The median."""
    return median(values)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that a share of the values does not exceed (nearest rank)."""
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]


def counted(number: int, noun: str) -> str:
    """`1 round`, `3 rounds`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def shown(value: float) -> float | int:
    """Three significant digits, or the whole number where it is larger."""
    if value == 0 or abs(value) >= 1000:
        return round(value)
    digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
    if abs(value) < 0.1:
        return float(f"{value:.2g}")
    rounded = round(value, digits)
    return int(rounded) if digits == 0 else rounded
