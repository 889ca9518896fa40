"""A run that is tried again from one of its steps: what the earlier run came to before that step is taken over.

The walk of the root frame up to its newest coming to the step is copied as it stands, with the frames that its attempts
opened, so that `steps.*`, `ctx`, joins, exports and `run.json` read as they did; the new walk goes on at the step.
Everything but `Takeover.write` is pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.engine.evidence import restate
from bot.engine.frames import Find, Level, Tree
from bot.errors import UserError
from bot.model.ident import new_id
from bot.model.state import GateState
from bot.store import Session, run_context, runs
from bot.store.run_context import OVER, Written
from bot.store.runs import RunRows, copied
from bot.store.tables import Attempt, Run
from bot.workflows import Configuration, Step, Workflow
from bot.workflows.step import UsesStep, walk


@dataclass(frozen=True, slots=True)
class Takeover:
    """What a retry takes over: the attempts of the earlier run's root frame before the step, and all that is below."""

    rows: RunRows
    values: Sequence[Written]
    attempts: tuple[Attempt, ...]
    workflow: Workflow
    find: Find

    def write(self, session: Session, run: Run) -> None:
        """Copy the rows into a run that has only its root frame."""
        fresh = runs.rows(session, run.id)
        fresh.root.given = dict(self.rows.root.given)
        made = copies(self, run, fresh)
        session.add_all([fresh.root, *made.frames])
        session.flush()
        # every other row refers to a frame or an attempt
        session.add_all(made.attempts)
        session.flush()
        session.add_all([*made.gates, *made.artifacts, *made.exports])
        session.flush()
        run_context.keep(session, made.values)


def take_over(
    rows: RunRows,
    values: Sequence[Written],
    before: Configuration,
    now: Configuration,
    step: str,
    head: str | None = None,
    actor_id: int | None = None,
) -> Callable[[Session, Run], None]:
    """What writes into a new run whatever the run of `rows` came to before `step`; `values` are all that it wrote.

    `before` is the configuration that it ran with, `now` the one that the new run has; `head` is the head of the pull
    request now, `actor_id` whoever asks for the new run. Raises `UserError` `retry_refused` where the step is none of
    the workflow's own row, was never come to, where what ran before it is another step now, where an answer before it
    was bound to another head, or is that of whoever asks although the gate has `not_requester`.
    """
    old, new = before.workflow_for(rows.run.workflow), now.workflow_for(rows.run.workflow)
    name = f"r{rows.run.number}"
    if old is None or new is None:
        raise UserError("retry_refused", f"`{rows.run.workflow}` is not in the configuration any more", "")
    _known(new, step)
    tree = Tree.of(rows, old, before.workflow_for)
    attempts = _earlier(tree.root, step)
    if attempts is None:
        came = ", ".join(f"`{each}`" for each in dict.fromkeys(one.step for one in tree.root.attempts))
        hint = f"it came to {came}" if came else f"`retry {name}` begins it anew"
        raise UserError("retry_refused", f"{name} never came to `{step}`, so nothing before it is known", hint)
    _unchanged(tree.root, attempts, (old, before.workflow_for), (new, now.workflow_for), step, name)
    _bound(rows, attempts, head, actor_id, name)
    return Takeover(rows, values, attempts, new, now.workflow_for).write


def _known(workflow: Workflow, step: str) -> None:
    if any(one.id == step for one in workflow.steps):
        return
    inside = next((one.id for one in workflow.steps if any(each.id == step for each in walk([one]))), None)
    if inside is not None:
        hint = f"it stands within `{inside}`; say `from {inside}`"
        raise UserError("retry_refused", f"`{step}` is no step of the workflow's own row", hint)
    names = ", ".join(f"`{one.id}`" for one in workflow.steps)
    raise UserError("retry_refused", f"`{workflow.called}` has no step `{step}`", f"its steps are {names}")


def _earlier(root: Level, step: str) -> tuple[Attempt, ...] | None:
    """The attempts of the row before its newest coming to `step`; None where it never came there."""
    attempts = root.attempts
    if attempts and attempts[-1].route.get("to") == step:  # it ended before that could begin
        return tuple(attempts)
    visits = [one.iteration for one in attempts if one.step == step]
    if not visits:
        return () if not attempts and root.steps[0].id == step else None
    first = next(place for place, one in enumerate(attempts) if one.step == step and one.iteration == visits[-1])
    return tuple(attempts[:first])


def _unchanged(
    root: Level,
    attempts: Sequence[Attempt],
    old: tuple[Workflow, Find],
    new: tuple[Workflow, Find],
    step: str,
    name: str,
) -> None:
    """Hold what ran, or stands, before the step against what stands there now."""
    ran = dict.fromkeys(one.step for one in attempts)
    was, now = _before(old[0], step), _before(new[0], step)
    hint = f"`retry {name}` begins it anew"
    for one in (*was, *(each for each in ran if each not in was)):
        if not any(each.id == one for each in new[0].steps):
            raise UserError("retry_refused", f"`{one}`, which stood before `{step}`, is gone", hint)
        if _text(_own(old[0], one), old[1]) != _text(_own(new[0], one), new[1]):
            raise UserError("retry_refused", f"`{one}`, which comes before `{step}`, has changed since", hint)
    fresh = [one for one in now if one not in was]
    if fresh:
        raise UserError("retry_refused", f"`{fresh[0]}`, which comes before `{step}`, is new", hint)
    if was != now:
        raise UserError("retry_refused", f"the steps before `{step}` stand in another order", hint)


def _bound(rows: RunRows, attempts: Sequence[Attempt], head: str | None, actor_id: int | None, name: str) -> None:
    """Nobody's answer holds for another head than the one it was given at, nor for a run that they must not approve."""
    for one in attempts:
        _, inside = _below(rows, [one])
        for gate in rows.gates:
            if gate.attempt_id not in inside or gate.state is not GateState.ANSWERED:
                continue
            if gate.who.get("not_requester") and actor_id is not None and (gate.answer or {}).get("by_id") == actor_id:
                message = f"the answer in `{one.step}` is yours, and whoever asks may not answer it (`not_requester`)"
                raise UserError("retry_refused", message, f"`retry {name} from {one.step}` asks again")
            if gate.head_sha not in (None, head):
                message = (
                    f"the answer in `{one.step}` was given at head {str(gate.head_sha)[:7]}, which is not the head now"
                )
                raise UserError("retry_refused", message, f"`retry {name} from {one.step}` asks again")


def _before(workflow: Workflow, step: str) -> list[str]:
    names = [one.id for one in workflow.steps]
    return names[: names.index(step)] if step in names else names


def _own(workflow: Workflow, step: str) -> Step:
    return next(one for one in workflow.steps if one.id == step)


def _text(step: Step, find: Find, seen: frozenset[str] = frozenset()) -> list[Any]:
    """A step as it is written, with the workflows that it uses."""
    found: list[Any] = [step.model_dump()]
    for one in walk([step]):
        if isinstance(one, UsesStep) and one.uses not in seen and (used := find(one.uses)) is not None:
            within = seen | {one.uses}
            found.append([used.params, used.goal, *(_text(each, find, within) for each in used.steps)])
    return found


def copies(taken: Takeover, run: Run, fresh: RunRows) -> RunRows:
    """The rows of `run`, whose own are `fresh`, with new ids in the old order: what was written by what is taken over.

    Artifacts and exports stand as they did before the step: what happened later is not known yet.
    """
    old = taken.rows
    frames, attempts = _below(old, taken.attempts)
    names: dict[str, str] = {old.root.id: fresh.root.id}
    names |= {one.id: new_id() for one in old.frames if one.id in frames}
    names |= {one.id: new_id() for one in old.attempts if one.id in attempts}
    over = {one.id for one in old.frames if one.cursor == OVER}

    def own(row: Any) -> bool:
        return row.attempt_id in attempts

    newest = {(one.frame_id, one.key, one.step): one for one in taken.values if own(one) and one.frame_id not in over}
    kept = sorted(newest.values(), key=lambda one: one.id)
    made = RunRows(
        run=run,
        dispatch=fresh.dispatch,
        thread=fresh.thread,
        snapshot=fresh.snapshot,
        frames=[
            copied(
                one,
                run_id=run.id,
                id=names[one.id],
                parent_id=names[one.parent_id or ""],
                attempt_id=names[one.attempt_id or ""],
            )
            for one in old.frames
            if one.id in frames
        ],
        attempts=[
            copied(one, run_id=run.id, id=names[one.id], frame_id=names[one.frame_id], taken_from=one.id)
            for one in old.attempts
            if one.id in attempts
        ],
        values=[
            one._replace(
                id=new_id(), run_id=run.id, frame_id=names[one.frame_id], attempt_id=names[one.attempt_id or ""]
            )
            for one in kept
        ],
        gates=[copied(one, run_id=run.id, attempt_id=names[one.attempt_id]) for one in old.gates if own(one)],
        artifacts=[
            copied(one, run_id=run.id, attempt_id=names[one.attempt_id], frame_id=names[one.frame_id or old.root.id])
            for one in old.artifacts
            if own(one)
        ],
        exports=[
            copied(
                one,
                run_id=run.id,
                frame_id=names[one.frame_id or old.root.id],
                attempts=[names[each] for each in one.attempts],
            )
            for one in old.exports
            if attempts.issuperset(one.attempts)
        ],
    )
    whole = RunRows(
        run, fresh.dispatch, fresh.thread, fresh.snapshot, [fresh.root, *made.frames], made.attempts, made.values,
        made.gates, {}, made.artifacts, made.exports,
    )  # fmt: skip
    restate(whole, Tree.of(whole, taken.workflow, taken.find).root)
    return made


def _below(rows: RunRows, attempts: Sequence[Attempt]) -> tuple[set[str], set[str]]:
    """The frames that attempts opened, at any depth, and the attempts with all that are in those."""
    found, frames = {one.id for one in attempts}, set[str]()
    inside: Mapping[str, list[str]] = {one.id: [] for one in rows.frames}
    for one in rows.attempts:
        inside[one.frame_id].append(one.id)
    for frame in rows.frames:  # what is outside stands before what is in it
        if frame.attempt_id in found:
            frames.add(frame.id)
            found.update(inside[frame.id])
    return frames, found
