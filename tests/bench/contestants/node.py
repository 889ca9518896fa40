"""Node's packages for the contestants: installed as tests/bench/package.json pins them, built where npm does not."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1]
_MODULES = FOLDER / "node_modules"
_BUILT = _MODULES / "better-sqlite3" / "build" / "Release" / "better_sqlite3.node"


def ready() -> None:
    """Install what is missing. Raises `SystemExit` with the mend where Node is."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        raise SystemExit("the receiver is measured against a Node program: install Node 20 or newer, with npm")
    if not (_MODULES / "probot").is_dir():
        say("installing Probot (first time only)")
        subprocess.run(
            ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"],
            cwd=FOLDER, check=True, stdout=sys.stderr,
        )  # fmt: skip
    if not _BUILT.is_file():
        # its own script would fetch a binary from elsewhere
        say("building better-sqlite3 (first time only; takes a minute)")
        command = [node, str(_MODULES / "node-gyp" / "bin" / "node-gyp.js"), "rebuild", "--release"]
        headers = Path(node).resolve().parents[1]
        if (headers / "include" / "node" / "node.h").is_file():
            command.append(f"--nodedir={headers}")
        subprocess.run(command, cwd=_MODULES / "better-sqlite3", check=True, capture_output=True)


def app(name: str) -> tuple[str, ...]:
    """The command that runs a program of this folder."""
    return ("node", str(FOLDER / "contestants" / name))


def say(text: str) -> None:
    """Tell whoever waits."""
    sys.stderr.write(f"{text}\n")
