"""The budget that a request sets for itself (`usd=1 tokens=5000 minutes=10`), in what its run starts.

Each start is bound by what is left of it then: what the run of the request has spent is taken off, the minutes are the
same again. Where what is started has words of its own, the stricter ones hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_DOWN, Decimal

from bot.store import Session, spending
from bot.store.tables import Dispatch
from bot.workflows import Budget
from bot.workflows.request import request_budget
from bot.workflows.workflow import REQUEST_WORDS


def rest(session: Session, dispatch: Dispatch) -> dict[str, str]:
    """What a dispatch leaves to what it starts now, as words of a request; none where it set no budget."""
    budget, _ = request_budget(dispatch.params)
    usd, tokens = spending.of_dispatch(session, dispatch.id)
    return _words(
        Budget(
            usd=None if budget.usd is None else max(0.0, budget.usd - usd),
            tokens=None if budget.tokens is None else max(0, budget.tokens - tokens),
            minutes=budget.minutes,
        )
    )


def capped(params: Mapping[str, str], cap: Mapping[str, str]) -> dict[str, str]:
    """Params whose own budget goes no further than `cap`."""
    own, _ = request_budget(params)
    bound, _ = request_budget(cap)
    others = {key: value for key, value in params.items() if key not in REQUEST_WORDS}
    return others | _words(own.within(bound))


def _words(budget: Budget) -> dict[str, str]:
    """A budget as a command says it; an amount is never rounded up."""
    found = {key: value for key in sorted(REQUEST_WORDS) if (value := getattr(budget, key)) is not None}
    return {key: _amount(value) for key, value in found.items()}


def _amount(value: float) -> str:
    text = str(Decimal(str(value)).quantize(Decimal("0.0001"), ROUND_DOWN))
    return text.rstrip("0").rstrip(".")
