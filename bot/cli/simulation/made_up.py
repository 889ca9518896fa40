"""Outcomes of steps that nobody performs: as they are given, else made up so that they fit what the step declares."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from bot.cli.simulation.answers import Entry
from bot.engine.commit import Performed
from bot.engine.judge import judged
from bot.errors import UserError
from bot.model.ident import compact
from bot.model.outcome import Done, Failed, Faulted, Outcome
from bot.store.tables import Gate
from bot.workflows import Agent, Workflow
from bot.workflows.answers import taken
from bot.workflows.base_step import WorkingStep
from bot.workflows.each import Each
from bot.workflows.gate_steps import AskStep
from bot.workflows.paths import MISS, resolve
from bot.workflows.readings import readings
from bot.workflows.sample import ELEMENTS, sample
from bot.workflows.schema_types import declared_schema
from bot.workflows.step import NotifyStep, PullRequestStep, ReviewStep, Step
from bot.workflows.template import as_text

_URL = "https://github.com/acme/widgets/pull/8"
_SHA = "0" * 40


@dataclass(slots=True)
class Wanted:
    """What the steps of a workflow read of each other's results, by step: what a made-up result has to hold.

    `lists` are the paths that an `each` goes over, with what is read of each element.
    """

    paths: dict[str, set[tuple[str, ...]]] = field(default_factory=dict)
    lists: dict[str, dict[tuple[str, ...], set[tuple[str, ...]]]] = field(default_factory=dict)

    @classmethod
    def of(cls, workflow: Workflow, agents: Mapping[str, Agent]) -> Wanted:
        """Everything that is read after `result` in the workflow."""
        wanted = cls()
        for step in workflow.every_step:
            found = [*readings(step, agents)]
            for one in found:
                match one.path:
                    case ("steps", owner, "result", *rest) if rest:
                        wanted.paths.setdefault(owner, set()).add(tuple(rest))
                    case ("result", *rest) if rest and one.after:
                        wanted.paths.setdefault(step.id, set()).add(tuple(rest))
            if isinstance(step, WorkingStep) and step.each is not None:
                own = {one.path[1:] for one in found if one.path[0] in ("item", step.each.name)}
                wanted._over(step.each, own)
        return wanted

    def _over(self, each: Each, read: Iterable[tuple[str, ...]]) -> None:
        keys = {path for path in read if path} | ({tuple(each.key.split("."))} if each.key is not None else set())
        for _, template in each.templates():
            for token in template.references:
                if token.path[0] == "steps" and token.path[2:3] == ("result",):
                    self.lists.setdefault(token.path[1], {}).setdefault(token.path[3:], set()).update(keys)


def made_up(step: WorkingStep, wanted: Wanted, workflow: Workflow) -> Any:
    """A result that fits what the step declares, its kind gives, and others read of it; None where nobody does."""
    schema = declared_schema(step) if step.each is None else None
    export = workflow.export
    if schema is None and export is not None and export.sources == (step.id,) and export.checker is not None:
        schema = export.checker.schema
    value = _of_kind(step) if schema is None else sample(schema)
    for path in sorted(wanted.paths.get(step.id, ()), key=len):
        value = _put(value, path, f"{path[-1]}-1")
    for path, keys in wanted.lists.get(step.id, {}).items():
        found = resolve(value, path) if path else value
        elements = found if isinstance(found, list) and found else [f"element-{n}" for n in range(1, ELEMENTS + 1)]
        for key in keys:
            elements = [_put(one, key, f"{key[-1]}-{n}") for n, one in enumerate(elements, 1)]
        value = _put(value, path, elements, over=True)
    return _decided(step, value)


def _of_kind(step: WorkingStep) -> Any:
    match step:
        case ReviewStep():
            counts = {"inline": 1, "outside": 0, "known": 0, "left_out": 0}
            return {"id": 1, "url": _URL, "event": "COMMENT", "head_sha": _SHA, "comments": [], **counts}
        case NotifyStep():
            return {}
        case PullRequestStep():
            return {"branch": "bot/7", "pr_url": _URL, "number": 8, "head_sha": _SHA}
        case _:
            return None


def _put(value: Any, path: tuple[str, ...], leaf: Any, *, over: bool = False) -> Any:
    """The value with something at `path`: what is there stays unless it goes `over` it."""
    if not path:
        return leaf if over or value is None else value
    if not over and value is not None and resolve(value, path) is not MISS:
        return value
    if isinstance(value, list):
        place = int(path[0]) if path[0].isdigit() and int(path[0]) < len(value) else None
        return (
            value
            if place is None
            else [_put(one, path[1:], leaf, over=over) if index == place else one for index, one in enumerate(value)]
        )
    own = dict(value) if isinstance(value, dict) else {}
    own[path[0]] = _put(own.get(path[0]), path[1:], leaf, over=over)
    return own


def _decided(step: WorkingStep, value: Any) -> Any:
    """The value with a `decide` of the step's own result leading somewhere."""
    if not isinstance(step.decide, str) or not step.decide.startswith("result.") or not step.transitions:
        return value
    path = tuple(step.decide.split(".")[1:])
    found = resolve(value, path)
    if found is not MISS and as_text(found) in step.transitions:
        return value
    first: Any = next(iter(step.transitions))
    if isinstance(found, (bool, int, float)):
        with suppress(ValueError):
            first = json.loads(first)
    return _put(value, path, first, over=True)


def performed(step: Step, entry: Entry | None, invented: Any) -> Performed:
    """What an attempt comes to: the entry of the answers, its gaps filled with what is made up."""
    assert isinstance(step, WorkingStep)
    said = entry or {}
    match said.get("outcome", "success"):
        case "fail":
            code = said.get("code", "command_failed" if step.kind == "run" else "failed")
            message = said.get("message", "as the answers say")
            output, exit_code = said.get("output"), 1 if step.kind == "run" else None
            failed = Failed(code, message, output=output, exit_code=exit_code, stdout=output or "")
            return Performed(failed)
        case "transient":
            return Performed(Faulted(said.get("message", "as the answers say")))
    result = said.get("result", invented)
    output = said["output"] if "output" in said else _output(step, said, result)
    outcome: Outcome = Done(
        output=output,
        result=result,
        exit_code=0 if step.kind == "run" else None,
        stdout=output or "" if step.kind in ("run", "code") else "",
    )
    file = compact(result) if step.kind == "run" and result is not None else None
    files = {one.id: b"made up\n" for one in step.produces if one.path is not None}
    return Performed(judged(step, outcome, file), files)


def _output(step: WorkingStep, said: Entry, result: Any) -> str | None:
    if step.kind == "classify":
        return str(result.get("label", "")) if isinstance(result, dict) else ""
    if step.kind in ("notify", "connector"):
        return None
    if step.writes and not (isinstance(result, dict) and all(key in result for key in step.writes)):
        return compact({key: f"{key}-1" for key in step.writes})
    if "result" in said:
        return compact(result)
    does = {"agent": "what it answers", "run": "what it prints", "code": "what it prints"}
    return f"(made up: {does.get(step.kind, 'what it says')}, step {step.id})"


def answer(step: AskStep, gate: Gate, entry: Entry | None) -> dict[str, Any] | None:
    """What is answered at a gate, held against what it asks; None where nobody answers in time.

    Raises `UserError` (`gate_answer`) for an answer that the gate does not take.
    """
    said = entry or {}
    if said.get("outcome") == "timeout":
        return None
    given = {key: said[key] for key in ("answer", "text", "answers") if key in said}
    labels = step.labels
    if not given and labels:
        given = {"answer": labels[0]}
    elif not given and not step.questions:
        given = {"text": "made up"}
    if step.questions:
        form = {one.id: _form(one.type, one.options) for one in step.questions}
        given = {**given, "answers": {**form, **given.get("answers", {})}}
    try:
        return {**taken(gate.options, given), "by": "somebody"}
    except UserError as error:
        raise UserError(error.code, f"the answer to `{step.id}`: {error.message}", error.hint) from error


def _form(kind: str, options: tuple[str, ...]) -> Any:
    return {"text": "made up", "number": 1, "bool": True}.get(kind) or options[0]
