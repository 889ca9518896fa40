"""What a run may still spend: the tightest of the operator's ceilings, the file's limits and the workflow's budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.store.tables import Attempt
from bot.workflows import Budget


@dataclass(frozen=True, slots=True)
class Spent:
    """What the attempts of a run used so far."""

    usd: float
    tokens: int

    @classmethod
    def of(cls, attempts: Sequence[Attempt]) -> Spent:
        """What was taken over from an earlier run was spent there."""
        own = [a for a in attempts if a.taken_from is None]
        return cls(sum(a.cost or 0.0 for a in own), sum(a.input_tokens + a.output_tokens for a in own))


def exceeded(budget: Budget, spent: Spent) -> str | None:
    """Which bound is reached, in words for the thread; None if none is."""
    if budget.usd is not None and spent.usd >= budget.usd:
        return f"its budget of ${budget.usd:g} is spent (${spent.usd:.2f})"
    if budget.tokens is not None and spent.tokens >= budget.tokens:
        return f"its budget of {budget.tokens:,} tokens is spent ({spent.tokens:,})"
    return None


def left(budget: Budget, spent: Spent) -> Budget:
    """What remains of a budget; never below nothing."""
    return Budget(
        usd=None if budget.usd is None else max(0.0, budget.usd - spent.usd),
        tokens=None if budget.tokens is None else max(0, budget.tokens - spent.tokens),
        minutes=budget.minutes,
    )
