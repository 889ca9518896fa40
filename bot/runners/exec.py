"""The runner of programs: the prompt on standard input, the answer on standard output."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bot.errors import UserError
from bot.model.outcome import Done, Failed, Outcome, Usage
from bot.runners.call import Call
from bot.workspace.process import Command, Completed

if TYPE_CHECKING:
    from bot.workspace.sandbox import Sandbox

#: an answer may be this large; what publish makes of it is another matter
MAX_STDOUT = 1024 * 1024
MAX_STDERR = 64 * 1024
#: lines of standard error that a failure shows
STDERR_LINES = 20


class Exec:
    """Runs `call.argv` in the sandbox, in `call.cwd` (None: an empty folder), with no environment but `call.env`."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def run(self, call: Call) -> Outcome:
        """System text, a blank line and the prompt go to standard input, never into argv.

        Codes: `agent_failed` (non-zero exit), `agent_missing` (no such program), `timeout`, `empty_answer`, and those
        of a command that cannot be. Nothing is known of what a program spends, so of the limits only the time binds it.
        Raises OperatorError where the instance cannot start processes. A program has no tools of ours:
        `tools_unsupported`.
        """
        if call.tools:
            message = f"`{call.argv[0]}` is a program, and a program cannot be given tools"
            return Failed("tools_unsupported", message, "remove `tools`, or use a `model`", model=_model(call))
        if call.cwd is not None:
            return await self._run(call, call.cwd)
        folder = await asyncio.to_thread(tempfile.TemporaryDirectory)
        try:
            # the real path: back ends want one without symbolic links
            return await self._run(call, await asyncio.to_thread(Path(folder.name).resolve))
        finally:
            await asyncio.to_thread(folder.cleanup)

    async def _run(self, call: Call, cwd: Path) -> Outcome:
        text = f"{call.system}\n\n{call.prompt}" if call.system else call.prompt
        try:
            command = Command(
                argv=call.argv,
                cwd=cwd,
                env=call.env,
                # a lone surrogate cannot be told to a program otherwise
                stdin=text.encode("utf-8", "replace"),
                timeout=call.limits.seconds,
                max_stdout=MAX_STDOUT,
                max_stderr=MAX_STDERR,
                readable=call.readable,
            )
        except UserError as error:
            return Failed(error.code, error.message, error.hint)
        return _outcome(call, await self._sandbox.run(command))


def _outcome(call: Call, completed: Completed) -> Outcome:
    name = f"`{call.argv[0]}`"
    failed = Failed(
        "agent_failed",
        f"{name} ended with exit code {completed.exit_code}",
        "the last lines of its standard error are below",
        exit_code=completed.exit_code,
        stdout=completed.stdout,
        stderr=_tail(completed.stderr),
        model=_model(call),
    )
    if completed.missing:
        message = f"there is no program {name} to run {f'agent `{call.agent}`' if call.agent else 'the agent'}"
        return replace(failed, code="agent_missing", message=message, hint="install it, or mend `runner.exec`")
    if completed.timed_out:
        message = f"{name} did not end within {call.limits.seconds:g} s and was stopped"
        return replace(failed, code="timeout", message=message, hint="raise the agent's `timeout`")
    if completed.exit_code != 0:
        return failed if completed.stderr.strip() else replace(failed, hint="it wrote nothing to standard error")
    if not completed.stdout.strip():
        return replace(failed, code="empty_answer", message=f"{name} answered without any text", hint="")
    return Done(
        output=completed.stdout.strip("\n"),
        exit_code=0,
        stdout=completed.stdout,
        stderr=completed.stderr,
        usage=Usage(),
        model=_model(call),
    )


def _model(call: Call) -> str:
    """How a footer calls it: the program without its path and arguments, which may hold anything."""
    return f"exec:{Path(call.argv[0]).name}"


def _tail(text: str) -> str:
    return "\n".join(text.rstrip().splitlines()[-STDERR_LINES:])
