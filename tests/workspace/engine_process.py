"""An engine in a process of its own, for tests that look at it from outside or kill it.

`engine_process.py MODE CWD SHELL_TEXT` runs the command and prints `{"stdout", "bytes", "grown_kib", "exit_code"}`.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
from pathlib import Path
from typing import cast

from bot.workspace.process import Command, shell
from bot.workspace.sandbox import SandboxMode, open_sandbox


async def main(mode: SandboxMode, cwd: str, text: str) -> None:
    sandbox = await open_sandbox(mode)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = await sandbox.run(Command(shell(text), Path(cwd), max_stdout=1 << 20))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    json.dump(
        {"stdout": done.stdout, "bytes": done.stdout_bytes, "grown_kib": grown, "exit_code": done.exit_code}, sys.stdout
    )


if __name__ == "__main__":
    asyncio.run(main(cast("SandboxMode", sys.argv[1]), sys.argv[2], sys.argv[3]))
