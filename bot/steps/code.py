"""The kind `code`: the body of a Python function in a process of its own; its result is what it returns.

The body and its inputs reach the process as JSON on standard input: no value goes through source text, a shell or the
environment, so none is scanned or quoted. The interpreter is isolated: the standard library, and neither the engine's
packages nor any other.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.model.outcome import Done, Failed, Outcome
from bot.steps.result_file import READ_MAX, read_result, result_file
from bot.steps.run import STDOUT_MAX, last_lines
from bot.workspace import Command, Completed, Sandbox, interpreter

#: bytes of JSON (in ASCII) that a body may return; a result that is larger does not fit in any case
RETURN_MAX = 1_000_000
#: characters of an exception's message that are shown; the whole is in the traceback
MESSAGE_CHARS = 500

_PROGRAM = Path(__file__).with_name("code_program.py")


async def perform_code(
    body: str,
    inputs: Mapping[str, Any],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
    sandbox: Sandbox,
    where: str,
    name: str = "code",
    writable: tuple[Path, ...] = (),
    readable: tuple[Path, ...] = (),
) -> Outcome:
    """Run the body; what it returns is the result, what it prints the output.

    `inputs` are its local variables, JSON of any depth. `name` is what its traceback calls it, `where` the step's place
    in the YAML. Codes: `code_failed` (it raised, or its process died), `result_mismatch` (what it returns is no JSON),
    `too_large`, `timeout`.
    """
    python = interpreter()
    program = await asyncio.to_thread(_PROGRAM.read_text, encoding="utf-8")
    given = {"body": body, "inputs": dict(inputs), "name": name, "most": RETURN_MAX}
    async with result_file() as file:
        done = await sandbox.run(
            Command(
                python.argv(program, str(file)),
                cwd,
                env=env,
                stdin=json.dumps(given).encode("ascii"),
                timeout=timeout,
                max_stdout=STDOUT_MAX,
                writable=(*writable, file.parent),
                readable=(*readable, *python.folders),
            )
        )
        left = await asyncio.to_thread(read_result, file)
    if done.timed_out:
        return _failed(done, "timeout", f"it did not end within {timeout:g} s", "Raise its `timeout`", where)
    return _outcome(done, _told(left), where)


def _told(left: str | None) -> Mapping[str, Any]:
    """What the program left; nothing where the body kept it from doing so, or wrote something else there."""
    try:
        told = json.loads(left) if left is not None and len(left) <= READ_MAX else None
    except (ValueError, RecursionError):
        told = None
    return told if isinstance(told, dict) and len(told) == 1 else {}


def _outcome(done: Completed, told: Mapping[str, Any], where: str) -> Outcome:
    mend = "Mend the body"
    match told:
        case {"value": value} if done.exit_code == 0:
            return Done(output=done.stdout, result=value, exit_code=0, stdout=done.stdout, stderr=done.stderr)
        case {"mismatch": {"path": str(path), "found": str(found)}}:
            at = f"`{path}` is {found}" if path else f"it is {found}"
            hint = "Return text, numbers, `True`, `False`, `None`, lists, and mappings with text as keys"
            return _failed(done, "result_mismatch", f"what the body returned is no JSON: {at}", hint, where)
        case {"large": int(size)}:
            hint = "Write it to a file of the workspace and return its path"
            message = f"the body returned {size:,} bytes of JSON; at most {RETURN_MAX:,} are taken"
            return _failed(done, "too_large", message, hint, where)
        case {"raised": {"message": str(message), "traceback": str(trace)}}:
            short = message if len(message) <= MESSAGE_CHARS else f"{message[:MESSAGE_CHARS]} […]"
            return _failed(done, "code_failed", " ".join(short.split()), mend, where, trace)
    message = f"its process ended with exit code {done.exit_code} before the body returned"
    return _failed(done, "code_failed", message, mend, where)


def _failed(done: Completed, code: str, message: str, hint: str, where: str, trace: str = "") -> Failed:
    return Failed(
        code,
        message,
        f"{hint} in `{where}`." if where else f"{hint}.",
        output=done.stdout,
        exit_code=done.exit_code,
        stdout=done.stdout,
        stderr=last_lines(trace or done.stderr),
    )
