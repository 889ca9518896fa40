"""The kind `run`: a shell command in the workspace; its output is its standard output."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bot.model.outcome import Done, Failed, Outcome
from bot.workspace import Command, Sandbox

#: bytes of standard output kept: head and tail beyond this, with a mark
STDOUT_MAX = 1024 * 1024
#: lines of standard error that a failure shows
STDERR_LINES = 20


async def perform_run(
    argv: tuple[str, ...],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    sandbox: Sandbox,
    where: str,
    writable: tuple[Path, ...] = (),
    readable: tuple[Path, ...] = (),
) -> Outcome:
    """Run the command; exit code 0 is success. `where` is the step's place in the YAML, for the reader's hint.

    `writable` and `readable` are folders that it gets beside its workspace.
    """
    done = await sandbox.run(
        Command(argv, cwd, env=env, timeout=timeout, max_stdout=STDOUT_MAX, writable=writable, readable=readable)
    )
    if done.missing:
        reason, code = f"the program `{done.missing}` was not found", "missing_program"
    elif done.timed_out:
        reason, code = f"it did not end within {timeout:g} s", "timeout"
    elif done.exit_code != 0:
        how = "did not end" if done.exit_code is None else f"ended with exit code {done.exit_code}"
        reason, code = f"its command {how}", "command_failed"
    else:
        return Done(output=done.stdout, exit_code=0, stdout=done.stdout, stderr=done.stderr)
    return Failed(
        code,
        reason,
        # a command that says no with its exit code may well be right; whoever tells it says how to go on
        f"Mend the command in `{where}`." if where and code != "command_failed" else "",
        output=done.stdout,
        exit_code=done.exit_code,
        stdout=done.stdout,
        stderr=last_lines(done.stderr or done.stdout),
    )


def last_lines(text: str, count: int = STDERR_LINES) -> str:
    """The last lines of what a command wrote, with a mark where some are left out."""
    lines = text.rstrip().splitlines()
    if len(lines) <= count:
        return "\n".join(lines)
    return "\n".join([f"… {len(lines) - count} lines left out …", *lines[-count:]])
