"""Where the command line writes: results to standard output, everything about them to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from rich.console import Console

from bot import log
from bot.publish import Redactor
from bot.settings import Settings, Source, load


def out(text: str = "") -> None:
    """A line of the result."""
    sys.stdout.write(f"{text}\n")


def err(text: str) -> None:
    """A line about it."""
    sys.stderr.write(f"{text}\n")


Level = Literal["info", "error"]
#: of commands that people read: what they say is enough
QUIET: Level = "error"
#: columns where nobody looks at a terminal: programs want one line a row
_WIDE = 10_000


def console(*, stderr: bool = False) -> Console:
    """For tables and progress; plain text, never folded, where nobody looks at a terminal."""
    terminal = (sys.stderr if stderr else sys.stdout).isatty()
    # what is printed comes from settings and threads: brackets and colons in it mean nothing
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, width=None if terminal else _WIDE)


def settings(*, level: Level = QUIET) -> tuple[Settings, dict[str, Source]]:
    """The settings of this process, with logging set up; `level` is the least that is logged without `BOT_LOG`."""
    found, sources = load(os.environ, Path(".env"))
    configure_log(found, sources, level)
    return found, sources


def configure_log(found: Settings, sources: Mapping[str, Source], level: Level = QUIET) -> None:
    """Set up logging so that no secret reaches a line."""
    wanted = level if sources["BOT_LOG"].where == "default" else found.log
    log.configure(wanted, redact=Redactor(found.secrets_with(os.environ)))
