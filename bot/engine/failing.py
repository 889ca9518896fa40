"""What a run that failed says: what was asked, why it failed, where that stands, and what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

from bot.engine.gates import reason_of
from bot.engine.graph import End
from bot.model.state import RunState
from bot.publish import Footer, failure_body, inline_code, stopped_body
from bot.store.runs import RunRows
from bot.store.tables import Attempt
from bot.workflows import Step

#: ends without a step's own error, in words
_CODES: Mapping[RunState, str] = {
    RunState.BUDGET_EXCEEDED: "budget_exceeded",
    RunState.TIMED_OUT: "timed_out",
    RunState.SET_ASIDE: "set_aside",
}
_HINTS: Mapping[str, str] = {
    "budget_exceeded": "Raise the limit in `.github/bot.yml` (its operator's ceiling holds besides), or ask for less.",
    "timed_out": "Raise `minutes` of the workflow's `budget` or of `limits.per_run`, or ask for less.",
    "rework_exhausted": "Raise `rework.max_loops`, say what follows with `on_exhaust`, or ask again in other words.",
    "loop_exhausted": "Raise `loop.max`, say what follows with `on_exhaust`, or mend what it is waiting for.",
    "file": "Nothing was started. Attach a file that fits, or name one of the repository, and ask again.",
    "set_aside": "The process ended each time this step ran; whoever runs the bot finds why in its log.",
}
#: what a required input that failed kept from happening, by the kind of its step
_NOT_RUN: Mapping[str, str] = {
    "agent": "the model was not called",
    "classify": "the model was not called",
    "run": "the command did not run",
    "code": "the body did not run",
}
#: the code of a gate that somebody answered with no
_REJECTED = "rejected"
#: `.github/bot.yml line 31` in a text of ours, with the file alone or all of it as code
_PLACE = re.compile(r"`(?P<file>[^`\s]+\.ya?ml)`? line (?P<line>[0-9]+)`?")


def was_refused(rows: RunRows, end: End) -> bool:
    """Whether a person's no ended it: nothing broke."""
    failed = failed_attempt(rows, end)
    return failed is not None and failed.kind == "ask" and failed.error.get("code") == _REJECTED and not _route(failed)


def failing_body(rows: RunRows, end: End, steps: Mapping[str, Step], handle: str, footer: Footer) -> str:
    """The comment. `steps` are those of the root frame, `handle` is how the bot is called here."""
    if was_refused(rows, end):
        return _refusal(rows, end, footer)
    attempt = _newest(rows, end)
    failed = failed_attempt(rows, end)
    route = _route(attempt) if end.state is RunState.FAILED else {}
    if route:
        # the step may have failed besides; what ends the run is that nothing more follows
        code, message = route["code"], route.get("message", "")
        own = attempt.error if attempt is not None else {}
        detail = own.get("detail", "") or own.get("message", "")
        hint = _HINTS.get(code, "")
    elif failed is not None:
        code, message = failed.error.get("code", "failed"), failed.error.get("message", "")
        detail, hint = failed.error.get("detail", ""), failed.error.get("hint", "")
        if code == "command_failed" and not hint:
            again = f"`{handle} retry r{rows.run.number}` runs it again."
            hint = f"See its last lines; {again}" if detail.strip() else f"It printed nothing; {again}"
    elif end.state in _CODES:
        code, message, detail = _CODES[end.state], end.reason, ""
        hint = _HINTS[code]
    else:
        code, _, message = end.reason.partition(": ")
        detail, hint = "", end.hint or _HINTS.get(code, "")
    required = code == "input_failed" and failed is not None
    notes = [
        _where(rows, end, None if _PLACE.search(hint) else steps.get(end.step or "")),
        f"required, so {_NOT_RUN[failed.kind]}" if required and failed is not None else "",
    ]
    return failure_body(
        name=rows.run.workflow,
        code=code,
        message=message,
        note="; ".join(filter(None, notes)),
        detail=detail,
        hint=_PLACE.sub(lambda found: _linked(rows, found["file"], int(found["line"])), hint),
        footer=footer,
    )


def _newest(rows: RunRows, end: End) -> Attempt | None:
    # what ends a run as failed is a step of the root frame; its elements have its id too, and so may a used workflow's
    return next((a for a in reversed(rows.attempts) if a.step == end.step and a.frame_id == rows.root.id), None)


def failed_attempt(rows: RunRows, end: End) -> Attempt | None:
    """The attempt whose own error ended the run."""
    attempt = _newest(rows, end)
    return attempt if attempt is not None and attempt.error and end.state is RunState.FAILED else None


def _route(attempt: Attempt | None) -> Mapping[str, str]:
    """Why nothing follows the attempt; empty where the route is not the reason."""
    return attempt.route if attempt is not None and attempt.route.get("code") else {}


def _refusal(rows: RunRows, end: End, footer: Footer) -> str:
    failed = failed_attempt(rows, end)
    gate = next((one for one in rows.gates if failed is not None and one.attempt_id == failed.id), None)
    by = str((gate.answer or {}).get("by") or "") if gate is not None else ""
    return stopped_body(
        name=rows.run.workflow,
        by=by,
        words=reason_of(gate) if gate is not None else "",
        footer=footer,
    )


def _where(rows: RunRows, end: End, step: Step | None) -> str:
    """The step, unless it is named like what was asked, and its place in the file."""
    named = f"step {inline_code(end.step)}" if end.step and end.step != rows.run.workflow else ""
    place = _linked(rows, step.mark.file, step.mark.line) if step is not None and end.state is RunState.FAILED else ""
    return ", ".join(filter(None, (named, place)))


def _linked(rows: RunRows, file: str, line: int) -> str:
    """A line of a configuration file, as a link where it is known where this GitHub shows it at that commit."""
    words = f"{inline_code(file)} line {line}"
    address = str(rows.dispatch.trigger.get("url") or "")
    home = next((address.partition(part)[0] for part in ("/issues/", "/pull/") if part in address), "")
    commit = rows.snapshot.commit.partition("+")[0]
    # a file of a base is called after its owner, and lies elsewhere
    if not home or not commit or ":" in file:
        return words
    return f"[{words}]({home}/blob/{commit}/{quote(file)}#L{line})"
