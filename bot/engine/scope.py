"""The values that templates and conditions may name, built from a run's rows."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from bot.engine.evidence import reference
from bot.engine.frames import Level, Tree
from bot.engine.run_inputs import NOTHING, beginning, inputs
from bot.engine.values import LABEL, RunContext
from bot.model.state import ArtifactState, AttemptState
from bot.store.runs import RunRows
from bot.store.tables import Artifact, Attempt
from bot.workflows.base_step import WorkingStep

#: `steps.<id>.output` in a template is the first 64 KiB, with a mark
OUTPUT_MAX = 65_536

OUTCOMES = {AttemptState.SUCCESS: "success", AttemptState.FAIL: "fail", AttemptState.SKIPPED: "skipped"}


def context_of(rows: RunRows, tree: Tree, level: Level) -> RunContext:
    """The run context as a frame sees it."""
    return RunContext.of(tree.seen(level, rows.values), level.workflow.goal)


def scope(
    rows: RunRows,
    tree: Tree,
    level: Level,
    *,
    attempt: int,
    iteration: int = 0,
    content: Mapping[str, str] = MappingProxyType({}),
    files: Mapping[str, bytes] = NOTHING,
) -> dict[str, Any]:
    """Every namespace that templates may name, but `agent`, `resources` and `secrets`.

    `steps.<id>` is the step's newest ended attempt. `attempt` and `iteration` are those of the step that asks;
    `content` is the text of artifacts by blob, of those that may be handed out; `files` the content of
    the run's own files by blob, where it is named.
    """
    context = context_of(rows, tree, level)
    return {
        "trigger": _without_misses(rows.dispatch.trigger),
        "issue": rows.dispatch.issue,
        "run": {
            "id": rows.run.id,
            # where the run can be followed: the comment that asked
            "url": rows.dispatch.trigger.get("url", ""),
            "workflow": rows.run.workflow,
            "goal": level.workflow.goal,
            "attempt": attempt,
        },
        "params": params(rows, level),
        "inputs": inputs(rows, level, files),
        "steps": _steps(level, context),
        "ctx": context.newest,
        "artifacts": artifacts(rows, level, content),
        "loop": {"index": _index(level, iteration)},
        **_elements(level),
    }


def condition_scope(rows: RunRows, level: Level, context: RunContext, step: str | None = None) -> dict[str, Any]:
    """What conditions and `decide` may name. `result` is the newest of `step`, whose routes are asked for.

    `outcome` and `preferred_label` are the run context's: those of the step that ended last.
    """
    steps = _steps(level, context)
    own = steps.get(step or "", {})
    return {
        "outcome": context.newest.get("outcome", ""),
        "preferred_label": context.newest.get(LABEL, ""),
        "steps": steps,
        "ctx": context.newest,
        "inputs": inputs(rows, level),
        "params": params(rows, level),
        "trigger": _without_misses(rows.dispatch.trigger),
        "issue": rows.dispatch.issue,
        **_elements(level),
        **({"result": own["result"]} if "result" in own else {}),
    }


def params(rows: RunRows, level: Level) -> dict[str, Any]:
    """The params that hold in a frame: a command sets those of the run's own workflow."""
    given = rows.dispatch.params if beginning(level).parent is None else {}
    return {**level.workflow.params, **given}


def _without_misses(trigger: dict[str, Any]) -> dict[str, Any]:
    """Empty free text counts as a miss, so that `trigger.text ?? "…"` has its default."""
    return {key: value for key, value in trigger.items() if not (key == "text" and not str(value).strip())}


def _index(level: Level, iteration: int) -> int:
    """Of the nearest repetition around a step: an element's place, a group's repetition, else the step's own visits."""
    for one in level.lineage(within_workflow=True):
        if one.is_element:
            return one.frame.place
        if isinstance(one.owner, WorkingStep) and one.owner.kind == "steps" and one.owner.own_loop is not None:
            return one.frame.iteration
    return iteration


def _elements(level: Level) -> dict[str, Any]:
    """The elements around a step by their names; `item` is the innermost."""
    found: dict[str, Any] = {}
    for one in level.lineage(within_workflow=True):
        if one.frame.item is not None and one.owner is not None and one.owner.each is not None:
            found.setdefault("item", one.frame.item["item"])
            found.setdefault(one.owner.each.name, one.frame.item["item"])
    return found


def _steps(level: Level, context: RunContext) -> dict[str, Any]:
    """By id: the newest ended attempt of each step of this frame and of those it is in, with what it ever wrote."""
    newest: dict[str, Attempt] = {}
    for one in level.lineage(within_workflow=True):
        own = {attempt.step: attempt for attempt in one.attempts if attempt.state in OUTCOMES}
        newest = {**own, **newest}
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
    if attempt.kind == "pull_request" and isinstance(attempt.result, dict):
        values |= {key: attempt.result[key] for key in ("branch", "pr_url") if attempt.result.get(key) is not None}
    if attempt.cost is not None:
        values["cost"] = attempt.cost
    return values


def artifacts(rows: RunRows, level: Level, content: Mapping[str, str]) -> dict[str, Any]:
    """The `artifacts` namespace: by id the newest of each; `content` by blob, where it may be handed out."""
    steps = {attempt.id: attempt.step for attempt in rows.attempts}
    found: dict[str, Any] = {}
    for row in visible_artifacts(rows, level).values():
        values = {
            "kind": row.kind,
            "uri": reference(rows, row),
            "validity": str(row.state),
            "step": steps.get(row.attempt_id, ""),
        }
        if row.state is ArtifactState.CURRENT and row.blob in content:
            values["content"] = content[row.blob]
        found[row.name] = values
    return found


def visible_artifacts(rows: RunRows, level: Level) -> dict[str, Artifact]:
    """By id the newest artifact that a frame sees: its own and those of the frames that it is in."""
    frames = {one.frame.id for one in level.lineage(within_workflow=True)}
    return {row.name: row for row in rows.artifacts if row.frame_id in frames}


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
