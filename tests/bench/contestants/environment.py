"""DBOS, pinned, in an environment of its own: its requirements are not ours."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

from tests.bench.contestants.node import say

_ROOT = Path(__file__).resolve().parents[3]
_ENVIRONMENT = _ROOT / ".bench" / "dbos"
VERSION = "3.4.0"


def ready() -> None:
    """Make the environment where it is missing."""
    if (_ENVIRONMENT / f"has-{VERSION}").exists():
        return
    say(f"installing DBOS {VERSION} (first time only)")
    venv.create(_ENVIRONMENT, with_pip=True, clear=True)
    pip = [str(_ENVIRONMENT / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    subprocess.run([*pip, f"dbos=={VERSION}"], check=True, stdout=sys.stderr)
    (_ENVIRONMENT / f"has-{VERSION}").touch()


def app(folder: Path) -> tuple[str, ...]:
    """The command that runs it on a folder."""
    return (str(_ENVIRONMENT / "bin" / "python"), str(Path(__file__).with_name("dbos_app.py")), str(folder))
