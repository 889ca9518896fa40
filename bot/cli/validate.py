"""`threadsmith validate`: the checks that a dispatch makes, on files of this machine."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.console import err, out
from bot.cli.files import read_files
from bot.workflows import builtin_files, check
from bot.workflows.configuration import BOT_FILE
from bot.workflows.extends import below
from bot.workflows.report import FORMATS


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"
    GITHUB = "github"


def validate(
    path: Annotated[Path, typer.Argument(help="A repository, its .github, or a file of it.", exists=True)] = Path(),
    format_: Annotated[Format, typer.Option("--format", help="How findings are printed.")] = Format.TEXT,
    base: Annotated[
        Path | None, typer.Option(help="A checkout of the repository that `extends` names.", exists=True)
    ] = None,
) -> None:
    """Check a repository's configuration; exit code 3 where an error forbids its use."""
    files, findings = read_files(path)
    if base is not None:
        under, odd = read_files(base)
        files, findings = below(files, under, BOT_FILE), [*findings, *odd]
    if not files and not findings:
        err(f"there is no .github/bot.yml below {path.resolve()}; without one the product's own `ask` agent serves")
        return
    configuration, found = check(files, builtin_files())
    everything = tuple(sorted([*findings, *found]))
    text = FORMATS[format_](everything)
    if text:
        out(text.rstrip("\n"))
    if configuration is None or any(finding.severity == "error" for finding in everything):
        raise typer.Exit(3)
    if format_ is Format.TEXT:
        err(
            f"{len(files)} file{'s' if len(files) != 1 else ''} checked, nothing to mend"
            if not everything
            else "usable"
        )
