"""The inputs of a step, of every sort, in the declared order: commands are run, the rest is read by the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bot.context.inputs import ExecInput, InputResult, compute, place
from bot.context.sources import (
    Reading,
    Sources,
    Unavailable,
    comments_text,
    cut,
    diff_text,
    linked_text,
    logs_text,
    threads_text,
    visible,
)
from bot.errors import Forbidden, NotFound, Transient, UserError
from bot.model.context import Block, InputRecord
from bot.model.ident import compact, digest
from bot.workspace.files import Unreadable, read_file
from bot.workspace.sandbox import Sandbox

Kind = Literal["value", "file", "diff", "checks", "review_threads", "linked", "thread"]

#: what JSON values are, by the words of a declared type
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (dict,),
    "json": (object,),
}


@dataclass(frozen=True, slots=True)
class ReadInput:
    """One input that no command computes. `max_bytes` of its text are shown; `where` is its place in the configuration.

    `path` is of a `file`, `comments` of a `thread`; `value` of a `value`, with `type` as declared, and `missing` says
    why there is none.
    """

    name: str
    kind: Kind
    where: str
    required: bool = True
    max_bytes: int = 65536
    path: str = ""
    comments: int = 0
    value: Any = None
    type: str | None = None
    missing: UserError | None = None


async def gather(
    inputs: Sequence[ExecInput | ReadInput],
    *,
    sources: Sources,
    sandbox: Sandbox,
    workspace: Path,
    env: Mapping[str, str],
    commit: str = "",
    retry: str = "@bot retry",
    redact: Callable[[str], str] = str,
    writable: Sequence[Path] = (),
    readable: Sequence[Path] = (),
) -> tuple[InputResult, ...]:
    """Each input once, in the declared order; for commands see `compute`. Call it once per attempt.

    Raises UserError `input_failed` at the first required input that cannot be had; those after it are not looked at.
    One that is not required gets a block that says `unavailable` and why. Transient passes through where the input is
    required: the attempt may be repeated.
    """
    results: list[InputResult] = []
    for wanted in inputs:
        if isinstance(wanted, ExecInput):
            results += await compute(
                [wanted],
                sandbox=sandbox,
                workspace=workspace,
                env=env,
                commit=commit,
                retry=retry,
                redact=redact,
                writable=writable,
                readable=readable,
            )
            continue
        try:
            reading, reason = await _read(wanted, sources, workspace, commit, redact), ""
        except Unavailable as error:
            reading, reason = None, str(error)
        except NotFound as error:
            reading, reason = None, f"GitHub has no such thing, or does not show it ({error})"
        except Forbidden as error:
            reading, reason = None, f"GitHub refuses it ({error})"
        except Transient as error:
            if wanted.required:
                raise
            reading, reason = None, f"GitHub gave no answer ({error})"
        if reason and wanted.required:
            raise _failed(wanted, reason, retry)
        results.append(_result(wanted, reading, reason, redact))
    return tuple(results)


async def _read(
    wanted: ReadInput, sources: Sources, workspace: Path, commit: str, redact: Callable[[str], str]
) -> Reading:
    match wanted.kind:
        case "value":
            return _value(wanted)
        case "file":
            return await _file(wanted, workspace, commit)
        case "diff":
            return diff_text(await sources.diff())
        case "checks":
            return logs_text(await sources.failed_logs(), wanted.max_bytes, redact)
        case "review_threads":
            return threads_text(await sources.unresolved_threads())
        case "linked":
            return linked_text(await sources.linked_issues())
        case "thread":
            return comments_text(await sources.comments(wanted.comments))


def _value(wanted: ReadInput) -> Reading:
    if wanted.missing is not None:
        # the template's own fault, with its own hint
        raise wanted.missing if wanted.required else Unavailable(wanted.missing.message)
    value, declared = wanted.value, wanted.type
    if declared is not None and (
        not isinstance(value, _TYPES[declared]) or (isinstance(value, bool) and declared == "number")
    ):
        raise Unavailable(f"is of type {_word(value)}, expected {declared}")
    text = value if isinstance(value, str) else compact(value)
    facts = (f"type {_word(value)}",)
    return Reading("value", text, len(text.encode("utf-8", "replace")), facts)


def _word(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return next(word for word, types in _TYPES.items() if isinstance(value, types))


async def _file(wanted: ReadInput, workspace: Path, commit: str) -> Reading:
    if not commit:
        raise Unavailable("the step has no workspace; give it `workspace: read`")
    try:
        capture = await asyncio.to_thread(read_file, workspace, wanted.path, wanted.max_bytes)
    except Unreadable as error:
        raise Unavailable(str(error)) from None
    text, removed = visible(capture.text())
    return Reading(f"file {wanted.path}", text, capture.size, (f"commit {commit[:12]}",), removed, is_cut=True)


def _failed(wanted: ReadInput, reason: str, retry: str) -> UserError:
    hint = f"Mend it in {place(wanted.where)}, or set `required: false`; then `{retry}`."
    verb = "" if reason.startswith("is ") else "cannot be had: "
    return UserError("input_failed", f"`{wanted.name}` {verb}{reason}", hint)


def _result(wanted: ReadInput, reading: Reading | None, reason: str, redact: Callable[[str], str]) -> InputResult:
    head = [f"input: {wanted.name}"]
    text, size = "", 0
    if reading is not None:
        text, size = redact(reading.text), reading.size
        text = text if reading.is_cut else cut(text, wanted.max_bytes)
        head += [f"source: {redact(reading.source)}", " · ".join([*reading.facts, f"{size} bytes"])]
    else:
        head.append(f"unavailable: {redact(reason)}")
    return InputResult(
        InputRecord(
            name=wanted.name,
            kind=wanted.kind,
            source=redact(reading.source) if reading else "",
            bytes=size,
            digest=digest(text) if reading else "",
            status="ok" if reading else "unavailable",
            reason=redact(reason),
            removed=reading.removed if reading else (),
        ),
        Block("input", wanted.name, "untrusted", "\n".join(head) + "\n\n" + text, wanted.name),
        text,
    )
