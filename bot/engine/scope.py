"""The values that templates may name, built from a run's rows."""

from __future__ import annotations

from typing import Any

from bot.engine.values import LABEL, RunContext
from bot.model.state import AttemptState
from bot.store.runs import RunRows
from bot.store.tables import Attempt
from bot.workflows import Workflow

#: `steps.<id>.output` in a template is the first 64 KiB, with a mark
OUTPUT_MAX = 65_536

OUTCOMES = {AttemptState.SUCCESS: "success", AttemptState.FAIL: "fail", AttemptState.SKIPPED: "skipped"}


def scope(rows: RunRows, workflow: Workflow, *, attempt: int, iteration: int = 0) -> dict[str, Any]:
    """Every namespace that templates may name, but `agent`. `steps.<id>` is the step's newest ended attempt.

    `attempt` and `iteration` are those of the step that asks.
    """
    context = RunContext.of(rows.values, workflow.goal)
    return {
        "trigger": _without_misses(rows.dispatch.trigger),
        "issue": rows.dispatch.issue,
        "run": {
            "id": rows.run.id,
            # where the run can be followed: the comment that asked
            "url": rows.dispatch.trigger.get("url", ""),
            "workflow": rows.run.workflow,
            "goal": workflow.goal,
            "attempt": attempt,
        },
        "params": {**workflow.params, **rows.dispatch.params},
        "inputs": rows.dispatch.inputs,
        "steps": _steps(rows, context),
        "ctx": context.newest,
        "loop": {"index": iteration},
    }


def condition_scope(rows: RunRows, workflow: Workflow, context: RunContext, step: str | None = None) -> dict[str, Any]:
    """What conditions and `decide` may name. `result` is the newest of `step`, whose routes are asked for.

    `outcome` and `preferred_label` are the run context's: those of the step that ended last.
    """
    steps = _steps(rows, context)
    own = steps.get(step or "", {})
    return {
        "outcome": context.newest.get("outcome", ""),
        "preferred_label": context.newest.get(LABEL, ""),
        "steps": steps,
        "ctx": context.newest,
        "inputs": rows.dispatch.inputs,
        "params": {**workflow.params, **rows.dispatch.params},
        "trigger": _without_misses(rows.dispatch.trigger),
        "issue": rows.dispatch.issue,
        **({"result": own["result"]} if "result" in own else {}),
    }


def _without_misses(trigger: dict[str, Any]) -> dict[str, Any]:
    """Empty free text counts as a miss, so that `trigger.text ?? "…"` has its default."""
    return {key: value for key, value in trigger.items() if not (key == "text" and not str(value).strip())}


def _steps(rows: RunRows, context: RunContext) -> dict[str, Any]:
    """By id: the newest ended attempt of each step, with what the step ever wrote."""
    newest = {attempt.step: attempt for attempt in rows.attempts if attempt.state in OUTCOMES}
    steps = {name: _attempt(attempt) for name, attempt in newest.items()}
    for name, values in context.by_step.items():
        if name in steps:
            steps[name]["ctx"] = values
    return steps


def _attempt(attempt: Attempt) -> dict[str, Any]:
    values: dict[str, Any] = {"outcome": OUTCOMES[attempt.state]}
    if attempt.output is not None:
        values["output"] = attempt.output  # cut when it was recorded
        values["summary"] = first_paragraph(attempt.output)
    if attempt.exit_code is not None:
        values["exit_code"] = attempt.exit_code
    if attempt.error:
        values["error"] = f"{attempt.error.get('code', '')}: {attempt.error.get('message', '')}"
    if attempt.result is not None:
        values["result"] = attempt.result
    if attempt.cost is not None:
        values["cost"] = attempt.cost
    return values


def first_paragraph(text: str) -> str:
    """A summary that nobody was asked for: the text up to its first empty line."""
    lines = text.strip().splitlines()
    end = next((index for index, line in enumerate(lines) if not line.strip()), len(lines))
    return "\n".join(lines[:end])


def cut(text: str, limit: int = OUTPUT_MAX) -> str:
    """The first `limit` bytes of a text, with a mark that says how much is missing. No database takes a surrogate."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit:
        return raw.decode()
    head = raw[:limit].decode("utf-8", "ignore")
    return f"{head}\n[… {len(raw) - limit} bytes left out]"
