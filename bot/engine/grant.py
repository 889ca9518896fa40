"""What a step is granted: its variables and its limits. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from bot.engine.budget import Spent, left
from bot.model.state import AttemptState
from bot.runners import Limits
from bot.store.runs import RunRows
from bot.store.tables import Attempt
from bot.workflows import Budget, Step
from bot.workflows.base_step import BaseStep, WorkingStep
from bot.workflows.node import Node
from bot.workspace import Workspace, allowed_env

#: model requests in one step at most; a dollar limit alone binds nothing where a model's price is unknown
REQUESTS = 50
#: tokens of a step where nothing sets a limit
TOKENS = 400_000


def step_limits(
    step: WorkingStep, budget: Budget, attempts: Sequence[Attempt], seconds: float, around: Budget | None = None
) -> Limits:
    """What one step may spend: what is left of the run's budget and of those `around` it, and the step's own.

    Steps that ask models at the same time share what is left.
    """
    sharing = 1 + sum(each.state is AttemptState.RUNNING and each.kind in ("agent", "classify") for each in attempts)
    rest = left(budget, Spent.of(attempts)).within(around or Budget())
    allowance = Budget(
        usd=None if rest.usd is None else rest.usd / sharing,
        tokens=None if rest.tokens is None else rest.tokens // sharing,
        minutes=rest.minutes,
    ).within(step.budget)
    return Limits(
        tokens=allowance.tokens if allowance.tokens is not None else TOKENS,
        requests=REQUESTS,
        usd=allowance.usd,
        seconds=seconds,
    )


def own_variables(rows: RunRows, step: Step, workspace: Workspace, run_folder: Path | None = None) -> dict[str, str]:
    """The variables that the engine sets for every command; `run_folder` is what earlier steps left."""
    thread = rows.thread
    return {
        **({} if run_folder is None else {"BOT_RUN_DIR": str(run_folder)}),
        "BOT_RUN_ID": rows.run.id,
        "BOT_STEP_ID": step.id,
        "BOT_WORKSPACE": str(workspace.path),
        "BOT_ISSUE_NUMBER": str(thread.number),
        "BOT_REPOSITORY": f"{thread.owner}/{thread.name}",
    }


def names_secret(step: BaseStep, inputs: Collection[str] = ()) -> bool:
    """Whether templates of a step name a secret; `inputs` are the run's own that are secrets."""
    nodes = [step, *getattr(step, "inputs", {}).values()]
    return any(
        token.path[0] == "secrets" or (token.path[0] == "inputs" and token.path[1] in inputs)
        for node in nodes
        if isinstance(node, Node)
        for _, template in node.templates()
        for token in template.references
    )


def environment(
    names: Mapping[str, str | None], export_env: Collection[str], environ: Mapping[str, str]
) -> dict[str, str]:
    """Variables as the YAML names them; None is the engine's own of that name, where the operator exports it."""
    given = {name: value for name, value in names.items() if value is not None}
    wanted = [name for name, value in names.items() if value is None]
    return {**given, **allowed_env(wanted, export_env, environ)}
