"""What a trial leaves out: every step and tool that would write anywhere."""

from __future__ import annotations

from typing import Any

from bot.model.trial import Trial
from bot.runners import Tool, ToolAnswer
from bot.store.tables import Dispatch
from bot.workflows import Budget, Step
from bot.workflows.github_steps import NotifyStep, PullRequestStep, ReviewStep
from bot.workflows.step import ConnectorStep
from bot.workflows.tools import BUILTIN_TOOLS, Need, ToolEntry

#: what a tool needs that writes
_WRITES: frozenset[Need] = frozenset({"write", "intents"})


def trial_of(dispatch: Dispatch) -> Trial | None:
    """The trial that a dispatch is; None for any other."""
    return Trial.of(dispatch.trigger) if dispatch.trial else None


def budget_of(trial: Trial | None) -> Budget:
    """What the default branch lets one run spend, where it is a trial."""
    return Budget() if trial is None else Budget(usd=trial.usd, tokens=trial.tokens, minutes=trial.minutes)


def writes(step: Step) -> bool:
    """Whether a step does nothing but write. The comment of a notice is the run's own, and is said."""
    match step:
        case ReviewStep() | PullRequestStep() | ConnectorStep():
            return True
        case NotifyStep():
            return not step.notify.comment
    return False


def tool_writes(entry: ToolEntry) -> bool:
    """Whether a tool may write. What one of a resource does nobody knows."""
    return entry.resource is not None or bool(entry.needs & _WRITES)


def stand_in(entry: ToolEntry) -> Tool:
    """What a model is offered instead: it may call it, and is told that nothing was done."""
    row = BUILTIN_TOOLS.get(entry.name) if entry.resource is None else None

    async def call(_arguments: dict[str, Any]) -> ToolAnswer:
        return ToolAnswer(f"This is a trial, which writes nothing: `{entry.name}` did nothing. Go on without.")

    return Tool(
        name=entry.name,
        description=row.what if row is not None else f"A tool of the resource `{entry.resource}`.",
        parameters=row.parameters if row is not None else {"type": "object"},
        call=call,
        budget=entry.budget,
    )
