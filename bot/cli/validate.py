"""`threadsmith validate`: the checks that a dispatch makes, on files of this machine."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.console import err, out
from bot.finding import Finding
from bot.workflows import builtin_files, check
from bot.workflows.configuration import BOT_FILE
from bot.workflows.extends import below
from bot.workflows.report import FORMATS


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"
    GITHUB = "github"


def read_files(path: Path) -> tuple[dict[str, str], list[Finding]]:
    """The configuration files below `path`: a repository's root, its `.github`, or a `bot.yml` itself.

    Keys are repository paths. A file that is not UTF-8 is a finding.
    """
    if path.is_file():
        top, extra = path, path.parent / "bot"
    else:
        base = path if path.resolve().name == ".github" else path / ".github"
        top, extra = base / "bot.yml", base / "bot"
    # the other ending is not read, and the checks say so
    names = [(top, ".github/bot.yml"), (top.with_name("bot.yaml"), ".github/bot.yaml")]
    candidates = [(file, name) for file, name in names if file.is_file() and (file == top or not path.is_file())]
    candidates += [
        (found, f".github/bot/{found.relative_to(extra).as_posix()}")
        for found in sorted(extra.rglob("*"))
        if found.is_file()
    ]
    files: dict[str, str] = {}
    findings: list[Finding] = []
    for found, name in candidates:
        try:
            files[name] = found.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            findings.append(
                Finding(name, 1, 1, "error", "not_utf8", f"byte {error.start} is not UTF-8", "save it as UTF-8")
            )
    return files, findings


def validate(
    path: Annotated[Path, typer.Argument(help="A repository's root, or a bot.yml.", exists=True)] = Path(),
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
