"""The run context: one map of text per run, and beside it what each step ever wrote. Built from rows; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bot.model.outcome import Done, Failed
from bot.store.run_context import Written
from bot.workflows import Step
from bot.workflows.step import AskStep, SwitchStep

#: set by the engine before any step runs
GOAL = "graph.goal"
LABEL = "preferred_label"


@dataclass(slots=True)
class RunContext:
    """`newest` is the run context; `by_step` the newest value of each key that a step ever wrote.

    A label that was cleared is kept as empty text and is not among the newest, nor is a goal that there is not.
    """

    newest: dict[str, str] = field(default_factory=dict)
    by_step: dict[str, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Iterable[Written], goal: str) -> RunContext:
        """From the newest rows, oldest first. The goal is the workflow's: nothing writes it, so it has no row."""
        context = cls({GOAL: goal} if goal else {})
        for value in values:
            context.wrote(value.step, {value.key: value.text})
        return context

    def wrote(self, step: str, values: Mapping[str, str]) -> None:
        """Add what a step wrote."""
        self.newest.update(values)
        if step:
            self.by_step.setdefault(step, {}).update(values)
        if not self.newest.get(LABEL, "-"):
            del self.newest[LABEL]


def written(step: Step, outcome: Done | Failed, state: str) -> dict[str, str]:
    """What an attempt puts into the run context: the engine's keys, whatever the outcome, and its own `writes`.

    `state` is `success`, `fail` or `skipped`.
    """
    values = {"outcome": state, LABEL: ""}
    if isinstance(step, SwitchStep) and isinstance(outcome, Done) and isinstance(outcome.result, str):
        values[LABEL] = outcome.result
    if isinstance(step, AskStep):
        values |= answered(outcome)
    elif step.kind == "classify" and outcome.output is not None:
        values[LABEL] = outcome.output
    if step.kind in ("agent", "ask") and outcome.output is not None:
        values |= {"last_response": outcome.output, f"response.{step.id}": outcome.output}
    if step.kind in ("run", "code") and state != "skipped":  # what did not run printed nothing, not even nothing
        values |= {"tool_stdout": outcome.stdout, "tool_stderr": outcome.stderr}
    values |= outcome.writes
    return {key: storable(text) for key, text in values.items()}


def answered(outcome: Done | Failed) -> dict[str, str]:
    """What an answer to a gate puts into the run context beside its `writes`: its label and free text."""
    if not isinstance(outcome, Done) or not isinstance(outcome.result, dict):
        return {LABEL: outcome.writes.get(LABEL, "")}
    label, text = outcome.result.get("answer"), outcome.result.get("text")
    if outcome.writes.get("interview_answers"):  # a form's ids are its author's
        return {LABEL: ""}
    return {LABEL: label or "", **({"human_response": text} if text else {})}


def normal(question: str) -> str:
    """A question's text as a key: lower case, words joined by `_`."""
    return "_".join(re.findall(r"\w+", question.casefold()))


def storable(text: str) -> str:
    """Lone surrogates, which no database takes, become `?`."""
    return text.encode("utf-8", "replace").decode()
