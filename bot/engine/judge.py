"""Holds what a step gave against what it declares: its result, then its `writes`. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from bot.model.outcome import Done, Failed, Outcome
from bot.workflows import Result, Step, extract, extract_tagged
from bot.workflows.base_step import WorkingStep
from bot.workflows.results import BYTES_MAX, TAG
from bot.workflows.writes import Extraction, find_object, pick

#: how each kind hands over a result, for the hint where there is none
_TRANSPORTS = {
    "agent": f"the last closed fenced block tagged `{TAG}` of its answer",
    "run": "JSON in the file that `$BOT_RESULT_FILE` names",
    "code": "what the body returns",
    "connector": "what the tool gives",
    "uses": "the export of the workflow that is used",
    "parallel": "an object with a key for each branch",
    "steps": "the result of its last step",
}
#: kinds whose work gives its result as such
_DIRECT = frozenset({"code", "connector", "uses", "parallel", "steps", "classify", "pull_request"})


@dataclass(frozen=True, slots=True)
class _Given:
    """What was handed over: a value, nothing, or text that is no JSON (`fault` says why)."""

    value: Any = None
    fault: str = ""


def judged(step: Step, outcome: Outcome, file: str | None = None, most: int = BYTES_MAX) -> Outcome:
    """The outcome with its result checked and its `writes` extracted; a failure where either does not fit.

    `file` is what a command left in `$BOT_RESULT_FILE`, None where there is nothing. An agent's result is what its
    model gave as such, else the tagged block, which is no part of its output. `most` bounds it, in bytes.
    """
    if not isinstance(outcome, Done) or not isinstance(step, WorkingStep):
        return outcome
    declared = step.result
    if step.kind in _DIRECT or step.kind not in _TRANSPORTS:
        if declared is not None and (failed := _refused(step.kind, declared, _Given(outcome.result), outcome, most)):
            return failed
    elif declared is None:
        given = _parsed(file) if step.kind == "run" else _Given()
        outcome = replace(outcome, result=None if given.fault else given.value)
    else:
        outcome, given = _handed_over(step.kind, outcome, file)
        if (failed := _refused(step.kind, declared, given, outcome, most)) is not None:
            return failed
        outcome = replace(outcome, result=given.value)
    return _with_writes(step, outcome) if step.writes else outcome


def _handed_over(kind: str, outcome: Done, file: str | None) -> tuple[Done, _Given]:
    if kind != "agent":
        return outcome, _parsed(file)
    if outcome.result is not None:
        return outcome, _Given(outcome.result)
    tagged = extract_tagged(outcome.output or "")
    return replace(outcome, output=tagged.rest), _parsed(tagged.result)


def _parsed(text: str | None) -> _Given:
    if text is None or not text.strip():
        return _Given()
    try:
        return _Given(json.loads(text, parse_constant=_no_constant))
    except (ValueError, RecursionError) as error:
        return _Given(fault=str(error).partition("\n")[0] or type(error).__name__)


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")


def _refused(kind: str, declared: Result, given: _Given, outcome: Done, most: int) -> Failed | None:
    transport = _TRANSPORTS.get(kind, "its result")
    if given.fault:
        message = f"the result is no JSON: {given.fault}"
        return failed_instead(outcome, "result_mismatch", message, f"It is {transport}.")
    if given.value is None:
        if not declared.required:
            return None
        return failed_instead(outcome, "result_missing", "there is no result", f"It is {transport}.")
    violations = declared.checker.check(given.value, max_bytes=most)
    if not violations:
        return None
    more = f" and {len(violations) - 3} more" if len(violations) > 3 else ""
    return failed_instead(outcome, "result_mismatch", "; ".join(map(str, violations[:3])) + more, f"It is {transport}.")


def _with_writes(step: WorkingStep, outcome: Done) -> Outcome:
    text = outcome.output or ""
    found: Extraction
    if find_object(text) is None and isinstance(outcome.result, dict):
        found = pick(outcome.result, step.writes)
    else:
        found = extract(text, step.writes)
    if found.error:
        told = {"writes_error": found.error}
        hint = f"Its `writes` wants {', '.join(f'`{key}`' for key in step.writes)} in one JSON object."
        return replace(failed_instead(outcome, "writes_error", found.error, hint), writes=told)
    warning = {"writes_warning": found.warning} if found.warning else {}
    return replace(outcome, writes={**outcome.writes, **found.values, **warning})


def failed_instead(outcome: Done, code: str, message: str, hint: str) -> Failed:
    """The same as a failure: what it said and cost stays."""
    return Failed(
        code,
        message,
        hint,
        output=outcome.output,
        exit_code=outcome.exit_code,
        stdout=outcome.stdout,
        usage=outcome.usage,
        model=outcome.model,
        writes=outcome.writes,
        episode=outcome.episode,
    )
