"""How a run stands, for people: its state in words and each step of its root frame. Pure: rows in, words out."""

from __future__ import annotations

from datetime import datetime

from bot.engine.gates import whose
from bot.model.state import AttemptState, GateState, RunState
from bot.publish import StepState
from bot.publish.footer import duration
from bot.publish.status import Mark
from bot.store.gates import ASKED, asked_in
from bot.store.runs import RunRows
from bot.store.tables import Attempt
from bot.workflows import Workflow

_ENDS: dict[RunState, str] = {
    RunState.SUCCEEDED: "succeeded",
    RunState.FAILED: "failed",
    RunState.CANCELLED: "cancelled",
    RunState.BUDGET_EXCEEDED: "ended at its budget",
    RunState.TIMED_OUT: "ended at its time limit",
    RunState.SET_ASIDE: "set aside",
}
_MARKS: dict[AttemptState, Mark] = {
    AttemptState.RUNNING: "running",
    AttemptState.WAITING: "running",
    AttemptState.SUCCESS: "done",
    AttemptState.FAIL: "failed",
    AttemptState.SKIPPED: "skipped",
    AttemptState.TRANSIENT: "running",
    AttemptState.INTERRUPTED: "running",
    AttemptState.CANCELLED: "stopped",
}


def where(rows: RunRows, now: datetime, *, before: int = 0) -> str:
    """The run's state in words; `before` is how many of its thread go first while it is queued."""
    run = rows.run
    if run.state.ended:
        return _ENDS[run.state]
    if run.state is RunState.QUEUED and run.started_at is None:
        return f"queued, {before} before it" if before else "queued"
    asks = sorted(
        {asked_in(rows, gate).name for gate in rows.gates if gate.state is GateState.OPEN and gate.kind in ASKED}
    )
    if asks:
        return f"waits for an answer to {', '.join(asks)}"
    events = [str(gate.options.get("event")) for gate in rows.gates if gate.state is GateState.OPEN]
    if run.state is RunState.WAITING:
        named = sorted({event for event in events if event not in ("", "None")})
        return f"waits for {', '.join(named)}" if named else "waits"
    # whole minutes: what changes every second would be edited every time anybody looks
    return f"running {duration(60 * max(1, int(run.worked(now) // 60)))}"


def step_states(rows: RunRows, workflow: Workflow) -> list[StepState]:
    """Every step of the root frame in the file's order, as its newest attempt left it."""
    newest: dict[str, Attempt] = {}
    for attempt in rows.attempts:
        if attempt.frame_id == rows.root.id:
            newest[attempt.step] = attempt
    return [_state(rows, step.id, newest.get(step.id)) for step in workflow.steps]


def _state(rows: RunRows, name: str, attempt: Attempt | None) -> StepState:
    if attempt is None:
        return StepState(name, "ahead")
    gate = next((one for one in rows.gates if one.attempt_id == attempt.id and one.kind in ASKED), None)
    if attempt.state is AttemptState.WAITING and gate is not None and gate.state is GateState.OPEN:
        return StepState(name, "asks")
    mark = _MARKS[attempt.state]
    if gate is not None and gate.state is GateState.ANSWERED:
        return StepState(name, mark, whose(gate.answer or {}))
    if mark == "running":
        return StepState(name, mark, _progress(rows, attempt))
    again = f", {attempt.iteration + 1} times" if attempt.iteration else ""
    took = (attempt.ended_at - attempt.started_at).total_seconds() if attempt.ended_at else 0.0
    worked = mark in ("done", "failed") and (took >= 1 or again)
    return StepState(name, mark, f"{duration(took)}{again}" if worked else "")


def _progress(rows: RunRows, attempt: Attempt) -> str:
    """How far a step is that runs others: frames that are over, of those that it opened."""
    opened = [frame for frame in rows.frames if frame.attempt_id == attempt.id]
    if len(opened) < 2:
        return ""
    running = {one.frame_id for one in rows.attempts if not one.state.ended}
    begun = {one.frame_id for one in rows.attempts}
    over = sum(frame.id in begun and frame.id not in running for frame in opened)
    return f"{over} of {len(opened)}"


def check_payload(
    rows: RunRows, workflow: Workflow | None, now: datetime, *, name: str, line: str
) -> dict[str, object]:
    """The check of a run on a pull request (see `Speaker.check`)."""
    run = rows.run
    conclusions = {
        RunState.SUCCEEDED: "success",
        RunState.CANCELLED: "cancelled",
        RunState.TIMED_OUT: "timed_out",
    }
    ended = {"conclusion": conclusions.get(run.state, "failure")} if run.state.ended else {}
    about = workflow.description if workflow is not None else ""
    summary = "\n\n".join(piece for piece in (about, line) if piece)
    return {
        "name": name,
        "status": "completed" if run.state.ended else "in_progress",
        "title": f"r{run.number}: {where(rows, now)}",
        "summary": summary or f"r{run.number} has no steps yet.",
        **ended,
    }
