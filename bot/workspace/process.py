"""What a step runs and what came of it: the two nouns every back end shares."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bot.errors import UserError
from bot.workspace.reach import Reach

#: the child's search path, the same on every machine
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Command:
    """One process tree to start.

    `argv` is run without a shell (see `shell`), in `cwd`. The child's environment is `PATH`, `LANG`, `HOME` (an empty
    folder of its own) and `env`, nothing else. `cwd` is writable unless it lies in a folder of `writable` or
    `readable`, which are absolute and free of symbolic links. `timeout` is in seconds, `max_stdout` and `max_stderr` in
    bytes. `network` are the hosts that it may reach, through the proxy that its environment names. Raises UserError for
    what no process can be given (a NUL byte, an impossible variable name).
    """

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    timeout: float = 60.0
    max_stdout: int = 65536
    max_stderr: int = 65536
    network: Reach = field(default_factory=Reach)
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        if not self.argv or not self.argv[0]:
            raise UserError("empty_command", "there is no command to run")
        if any("\0" in word for word in self.argv):
            raise UserError("nul_in_command", "a command cannot hold a NUL character")
        for name, value in self.env.items():
            if not _NAME.fullmatch(name):
                raise UserError("env_name", f"`{name}` cannot be the name of an environment variable")
            if "\0" in value:
                raise UserError("nul_in_env", f"the value of `{name}` holds a NUL character")

    def words(self) -> tuple[str, ...]:
        """`argv` as a process can be given it."""
        return tuple(map(_encodable, self.argv))

    def environment(self, home: str) -> dict[str, str]:
        """The child's whole environment. What the step names wins over the fixed values."""
        named = {name: _encodable(value) for name, value in self.env.items()}
        return {"PATH": PATH, "LANG": "C.UTF-8", "HOME": home, **named}


@dataclass(frozen=True, slots=True)
class Completed:
    """What a command came to. By now its whole process tree is dead.

    `exit_code` is None where it timed out or could not start, 128 + n where signal n ended it. `stdout` and `stderr`
    are decoded with replacement and keep head and tail. `duration` is in seconds. `missing` is the program that is not
    there. `stdout_bytes` counts what was written before cutting.
    """

    exit_code: int | None
    stdout: str
    stderr: str
    duration: float
    timed_out: bool = False
    missing: str = ""
    stdout_bytes: int = 0


def _encodable(text: str) -> str:
    """Lone surrogates (JSON may hold them) become `?`; the escapes of undecodable file names (PEP 383) stay."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def shell(text: str) -> tuple[str, ...]:
    """The argv that runs a line of shell, without `-e` or `pipefail`."""
    return ("bash", "-c", text)
