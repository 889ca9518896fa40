"""A bot whose data folder is a small disk of its own, which can be filled."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.faults.process import BotProcess

#: mounts a file system that only the bot sees (its own mount namespace), then becomes the bot
_MOUNTED = 'mount -t tmpfs -o size="$1" small "$2" && shift 2 && exec "$@"'


_ASK = """\
import json, sqlite3, sys
asked = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True, timeout=10)
print(json.dumps(asked.execute(sys.argv[2]).fetchall()))
"""


@cache
def why_not() -> str:
    """Why no such disk can be made here; empty where it can. What forbids it forbids isolation as well."""
    if shutil.which("unshare") is None or shutil.which("nsenter") is None:
        return "`unshare` and `nsenter` (util-linux) are not installed"
    tried = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "small", "/mnt"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return f"no disk may be mounted in a namespace here: {tried.stderr.strip()}" if tried.returncode else ""


@dataclass
class SmallDisk(BotProcess):
    """The disk goes with the process."""

    size: str = "4m"
    #: each look at its rows is a process
    pause: float = 0.2

    def __post_init__(self) -> None:
        self.data.mkdir(parents=True, exist_ok=True)
        unshare = ("unshare", "--user", "--map-root-user", "--mount")
        self.around = (*unshare, "sh", "-ec", _MOUNTED, "sh", self.size, str(self.data))

    @property
    def folder(self) -> Path:
        """Through the bot's own view of the file system."""
        assert self.process is not None
        return Path(f"/proc/{self.process.pid}/root{self.data}")

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Asked within the bot's namespaces: SQLite resolves a name by itself, and would look at our own folder."""
        assert self.process is not None
        inside = ("nsenter", "--user", "--mount", "--preserve-credentials", "--target", str(self.process.pid))
        # it may have been put on a disk of its own
        database = self.more.get("BOT_DATABASE_URL", f"sqlite:///{self.data / 'bot.db'}").removeprefix("sqlite:///")
        asked = subprocess.run(
            [*inside, sys.executable, "-Sc", _ASK, database, query],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return [tuple(row) for row in json.loads(asked.stdout)]

    def fill(self) -> None:
        """Until not one byte fits."""
        with (self.folder / "filler").open("ab", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(4096))
            except OSError:
                return

    async def make_room(self) -> None:
        await asyncio.to_thread((self.folder / "filler").unlink)
