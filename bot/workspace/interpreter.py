"""The Python that runs `code` steps: this process's own, as a command in the sandbox can see it."""

from __future__ import annotations

import os
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

#: folders that every sandbox shows (see `bubblewrap`)
_SHOWN = tuple(Path(place) for place in ("/usr", "/bin", "/lib", "/lib64"))


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A program, and the folders that it needs beside the system's own. All paths are real ones."""

    program: Path
    folders: tuple[Path, ...]

    def argv(self, program: str, *arguments: str) -> tuple[str, ...]:
        """Runs the text `program`: isolated (`-I`), with the standard library alone (`-S`), writing no bytecode."""
        return (str(self.program), "-I", "-S", "-B", "-X", "utf8", "-c", program, *arguments)


def interpreter() -> Interpreter:
    """The interpreter that this process runs on; of a virtual environment the one it was made from.

    Its program and its library are shown, nothing else of where it is installed: there may lie anything.
    """
    program = Path(os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable))
    libraries = (Path(os.path.realpath(sysconfig.get_path(name))).parent for name in ("stdlib", "platstdlib"))
    wanted = dict.fromkeys((program.parent, *libraries))
    return Interpreter(program, tuple(path for path in wanted if not any(map(path.is_relative_to, _SHOWN))))
