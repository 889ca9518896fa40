"""`run_command`: a shell command in the workspace."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.runners import ToolAnswer
from bot.workspace import Command, Sandbox, shell

#: bytes of each stream that are kept: head and tail beyond this, with a mark
STDOUT_MAX = 48 * 1024
STDERR_MAX = 16 * 1024
#: seconds, unless the model says otherwise
TIMEOUT = 60.0


async def run_command(
    sandbox: Sandbox,
    folder: Path,
    env: Mapping[str, str],
    timeout_max: float,
    arguments: dict[str, Any],
    *,
    readable: tuple[Path, ...] = (),
) -> ToolAnswer:
    """Run it in the sandbox and tell exit code and output; a failing command is an answer like any other.

    Raises UserError for what no process can be given, OperatorError where the instance cannot start processes.
    """
    timeout = min(float(arguments.get("timeout", TIMEOUT)), timeout_max)
    done = await sandbox.run(
        Command(
            shell(arguments["command"]),
            folder,
            env=env,
            timeout=timeout,
            max_stdout=STDOUT_MAX,
            max_stderr=STDERR_MAX,
            readable=readable,
        )
    )
    if done.missing:
        return ToolAnswer(f"the program `{done.missing}` was not found", failed=True)
    how = f"stopped after {timeout:g} s" if done.timed_out else f"exit code {done.exit_code}"
    parts = [f"[{how}, {done.duration:.1f} s]"]
    parts += [f"[{name}]\n{text}" for name, text in (("stdout", done.stdout), ("stderr", done.stderr)) if text]
    return ToolAnswer("\n".join(parts), failed=done.timed_out)
