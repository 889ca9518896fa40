"""`threadsmith doctor`: every setting with its source, and whether what it names works."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table
from rich.text import Text

from bot.app import providers
from bot.cli.console import console, settings
from bot.cli.validate import read_files
from bot.errors import BotError, OperatorError
from bot.github import GitHub
from bot.model.clock import SystemClock
from bot.publish import Redactor
from bot.runners import default_model
from bot.settings import Settings, Source, missing_to_serve
from bot.store import open_store
from bot.workflows import builtin_files, check
from bot.workspace import Git, open_sandbox

Level = Literal["ok", "warn", "fail"]
_SIGNS: dict[Level, tuple[str, str]] = {"ok": ("ok", "green"), "warn": ("warn", "yellow"), "fail": ("FAIL", "red")}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `mend` says what to do about it."""

    level: Level
    what: str
    said: str
    mend: str = ""


def doctor(
    path: Annotated[
        Path | None, typer.Argument(help="A repository whose configuration is checked too.", exists=True)
    ] = None,
) -> None:
    """Show every setting with its source, and check what it names; exit code 1 where serving would fail."""
    found, sources = settings()
    out = console()
    out.print(_settings_table(found, sources))
    out.print()
    with console(stderr=True).status("looking …"):
        findings = asyncio.run(_look(found, path))
    for finding in findings:
        sign, colour = _SIGNS[finding.level]
        out.print(Text.assemble((f"{sign:>4}", colour), f"  {finding.what}: {finding.said}"))
        if finding.mend:
            out.print(Text(f"      {finding.mend}", style="dim"))
    if any(finding.level == "fail" for finding in findings):
        raise typer.Exit(1)


def _settings_table(found: Settings, sources: dict[str, Source]) -> Table:
    table = Table(box=None, pad_edge=False)
    redact = Redactor(found.secrets)
    for head in ("setting", "value", "from", "meaning"):
        table.add_column(head, overflow="fold", no_wrap=head == "setting")
    for name, field in Settings.model_fields.items():
        value = getattr(found, name)
        extra = field.json_schema_extra
        secret = isinstance(extra, dict) and bool(extra.get("secret"))
        # a URL may hold a password
        shown = ("set" if value else "–") if secret else redact(_shown(value))
        table.add_row(str(field.alias), shown, sources[str(field.alias)].where, field.description or "")
    return table


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "–"
    return str(value) or "–"


async def _look(found: Settings, path: Path | None) -> list[Finding]:
    missing = missing_to_serve(found)
    findings = [
        Finding("fail", "to serve", f"not set: {', '.join(missing)}", "set them in the environment or in `.env`")
        if missing
        else Finding("ok", "to serve", "everything required is set")
    ]
    findings.append(await _database(found))
    findings.append(await _sandbox(found))
    findings.append(await _git())
    if found.app_id and found.private_key:
        findings.append(await _github(found))
    model = found.default_model or default_model(providers(found))
    findings.append(
        Finding("ok", "default model", model)
        if model
        else Finding("warn", "default model", "none: no provider has a key", "set OPENAI_API_KEY or ANTHROPIC_API_KEY")
    )
    if path is not None:
        findings.append(_configuration(path))
    return findings


async def _database(found: Settings) -> Finding:
    try:
        store = open_store(found.database)
    except OperatorError as error:
        return Finding("fail", "database", error.message, error.mend)
    except OSError as error:
        return Finding("fail", "database", str(error), "check BOT_DATA_DIR and its permissions")
    await store.close()
    return Finding("ok", "database", Redactor()(found.database))


async def _sandbox(found: Settings) -> Finding:
    sandbox = await open_sandbox(found.sandbox)
    if sandbox.isolated:
        return Finding("ok", "isolation", sandbox.describe())
    if found.sandbox == "off":
        said = "off: every writer of every served repository can reach this machine"
        return Finding("warn", "isolation", said, "install bubblewrap and set BOT_SANDBOX=required")
    return Finding("fail", "isolation", sandbox.describe(), "until then steps that start processes fail")


async def _git() -> Finding:
    try:
        version = (await Git().run("version", cwd=Path("/"))).decode().strip()
    except OperatorError as error:
        return Finding("fail", "git", error.message, error.mend)
    return Finding("ok", "git", version)


async def _github(found: Settings) -> Finding:
    github = GitHub(
        base_url=found.github_url,
        app_id=str(found.app_id),
        private_key=found.private_key,
        clock=SystemClock(),
        timeout=10,
    )
    try:
        app = await github.app()
    except BotError as error:
        return Finding("fail", "GitHub", str(error), "check BOT_GITHUB_URL, BOT_GITHUB_APP_ID and the private key")
    finally:
        await github.aclose()
    owners = ", ".join(found.allowed_owners) or app.owner.login
    return Finding("ok", "GitHub", f"@{app.slug} (App {app.id}), serves the repositories of {owners}")


def _configuration(path: Path) -> Finding:
    files, findings = read_files(path)
    configuration, found = check(files, builtin_files())
    everything = [*findings, *found]
    if configuration is None or findings:
        return Finding(
            "fail", "configuration", f"{len(everything)} findings", f"`threadsmith validate {path}` lists them"
        )
    return Finding("ok", "configuration", f"{', '.join(configuration.names())}")
