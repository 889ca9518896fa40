"""Exec inputs: commands that the engine runs, after the thread is read and before the model is called."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.context.invisible import make_visible
from bot.context.tally import Tally
from bot.errors import UserError
from bot.model.context import Block, InputRecord
from bot.model.ident import digest
from bot.workspace.process import Command, Completed
from bot.workspace.sandbox import Sandbox

_DETAIL_LINES = 20
_DETAIL_CHARACTERS = 4000
_MAX_STDERR = 16384


@dataclass(frozen=True, slots=True)
class ExecInput:
    """One input as declared. `argv` is run without a shell; `command` is what is shown for it (default: `argv` quoted).

    `timeout` in seconds, `max_bytes` of standard output. `env` is added to the step's. `where` is the place in the
    configuration: `.github/bot.yml line 31`.
    """

    name: str
    argv: tuple[str, ...]
    where: str
    command: str = ""
    timeout: float = 60.0
    required: bool = True
    max_bytes: int = 65536
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        return self.command or shlex.join(self.argv)


@dataclass(frozen=True, slots=True)
class InputResult:
    """What came of an input: its block of the prompt, its record in the manifest, and its text without the heading.

    `text` is empty where the input is unavailable.
    """

    record: InputRecord
    block: Block
    text: str = ""


async def compute(
    inputs: Sequence[ExecInput],
    *,
    sandbox: Sandbox,
    workspace: Path,
    env: Mapping[str, str],
    commit: str = "",
    retry: str = "@bot retry",
    redact: Callable[[str], str] = str,
    writable: Sequence[Path] = (),
    readable: Sequence[Path] = (),
) -> tuple[InputResult, ...]:
    """Each input once, in the declared order, in `workspace` at `commit`. Call it once per attempt.

    `redact` takes secrets out of what a command printed; `retry` is the command that repeats the run. Raises UserError
    `input_failed` at the first required input that exits non-zero, times out or has no program; those after it do not
    run. One that is not required gets a block that says `unavailable` and why. OperatorError from the sandbox passes
    through: no repository can mend the instance.
    """
    results: list[InputResult] = []
    for wanted in inputs:
        try:
            command = Command(
                wanted.argv,
                workspace,
                env={**env, **wanted.env},
                timeout=wanted.timeout,
                max_stdout=wanted.max_bytes,
                max_stderr=_MAX_STDERR,
                writable=tuple(writable),
                readable=tuple(readable),
            )
        except UserError as error:
            completed, reason = None, f"could not start: {error.message}"
        else:
            completed = await sandbox.run(command)
            reason = failure(completed, wanted.timeout)
        if reason and wanted.required:
            raise _failed(wanted, reason, completed, redact, retry)
        results.append(_result(wanted, completed, reason, commit, redact))
    return tuple(results)


def failure(completed: Completed, timeout: float) -> str:
    """Why a command did not give its input, empty if it did: `exited with 2`, `timed out after 60 s`."""
    if completed.timed_out:
        return f"timed out after {timeout:g} s"
    if completed.missing:
        return f"could not start: there is no program `{completed.missing}`"
    if completed.exit_code != 0:
        code = completed.exit_code
        return "did not end" if code is None else f"exited with {code}"
    return ""


def _failed(
    wanted: ExecInput, reason: str, completed: Completed | None, redact: Callable[[str], str], retry: str
) -> UserError:
    stderr = plain(redact(completed.stderr))[0] if completed else ""
    lines = stderr.strip("\n").split("\n")[-_DETAIL_LINES:]
    return UserError(
        "input_failed",
        f"`{wanted.name}` {reason}",
        f"Mend the command in {place(wanted.where)}, or set `required: false`; then `{retry}`.",
        "\n".join(lines)[-_DETAIL_CHARACTERS:],
    )


def place(where: str) -> str:
    """`.github/bot.yml line 31` as Markdown."""
    file, separator, line = where.rpartition(" line ")
    return f"`{file}` line {line}" if separator else f"`{where}`"


def _result(
    wanted: ExecInput, completed: Completed | None, reason: str, commit: str, redact: Callable[[str], str]
) -> InputResult:
    head = [f"input: {wanted.name}", f"command: {plain(redact(wanted.shown))[0]}"]
    facts: list[str] = []
    if completed and completed.exit_code is not None:
        facts.append(f"exit code {completed.exit_code}")
    if completed:
        facts.append(f"{completed.duration:.1f} s")
    if commit:
        facts.append(f"commit {commit[:12]}")
    output, removed = ("", ()) if reason or not completed else plain(redact(completed.stdout))
    size = 0 if reason or not completed else completed.stdout_bytes
    facts.append(f"{size} bytes")
    head.append(" · ".join(facts))
    if reason:
        head.append(f"unavailable: {reason}")
        if completed and completed.stderr.strip():
            # standard error is shown on failure only
            output = plain(redact(completed.stderr))[0]
    return InputResult(
        InputRecord(
            name=wanted.name,
            kind="exec",
            command=redact(wanted.shown),
            exit_code=completed.exit_code if completed else None,
            duration_s=round(completed.duration, 3) if completed else None,
            bytes=size,
            digest="" if reason else digest(output),
            status="unavailable" if reason else "ok",
            reason=reason,
            removed=removed,
        ),
        Block("input", wanted.name, "untrusted", "\n".join(head) + "\n\n" + output, wanted.name),
        "" if reason else output,
    )


def plain(text: str) -> tuple[str, tuple[str, ...]]:
    """Output as text: control characters and invisible ones as in a comment, everything else as it was printed."""
    tally = Tally()
    return make_visible(text, tally), tally.lines()
