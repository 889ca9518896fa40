"""The values that templates may name, built from a run's rows."""

from __future__ import annotations

from typing import Any

from bot.model.state import AttemptState
from bot.store.runs import RunRows
from bot.workflows import Workflow

#: `steps.<id>.output` in a template is the first 64 KiB, with a mark
OUTPUT_MAX = 65_536

_OUTCOMES = {AttemptState.SUCCESS: "success", AttemptState.FAIL: "fail", AttemptState.SKIPPED: "skipped"}


def scope(rows: RunRows, workflow: Workflow, *, attempt: int) -> dict[str, Any]:
    """Namespaces `trigger, issue, run, params, steps`. `steps.<id>` is the step's newest ended attempt."""
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
        "steps": _steps(rows),
    }


def _without_misses(trigger: dict[str, Any]) -> dict[str, Any]:
    """Empty free text counts as a miss, so that `trigger.text ?? "…"` has its default."""
    return {key: value for key, value in trigger.items() if not (key == "text" and not str(value).strip())}


def _steps(rows: RunRows) -> dict[str, Any]:
    steps: dict[str, Any] = {}
    for attempt in rows.attempts:
        if attempt.state not in _OUTCOMES:
            continue
        values: dict[str, Any] = {"outcome": _OUTCOMES[attempt.state]}
        if attempt.output is not None:
            values["output"] = attempt.output  # cut when it was recorded
        if attempt.exit_code is not None:
            values["exit_code"] = attempt.exit_code
        if attempt.error:
            values["error"] = f"{attempt.error.get('code', '')}: {attempt.error.get('message', '')}"
        steps[attempt.step] = values
    return steps


def cut(text: str, limit: int = OUTPUT_MAX) -> str:
    """The first `limit` bytes of a text, with a mark that says how much is missing. No database takes a surrogate."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit:
        return raw.decode()
    head = raw[:limit].decode("utf-8", "ignore")
    return f"{head}\n[… {len(raw) - limit} bytes left out]"
