"""`threadsmith doctor`: every setting with its source, and whether what it names works."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import typer
from rich.table import Table
from rich.text import Text

from bot.cli.console import configure_log, console
from bot.cli.files import read_files
from bot.errors import BotError, OperatorError, Transient
from bot.github import GitHub
from bot.made import providers
from bot.model.clock import SystemClock
from bot.publish import Redactor
from bot.runners import default_model
from bot.settings import Settings, Source, look, missing_to_serve, unknown
from bot.store import Store, is_postgres, look_at_postgres, migrate, open_store
from bot.store.stuck import stuck, told
from bot.workflows import builtin_files, check
from bot.workspace import Git, Secrets, open_sandbox

#: characters below which a secret is none
SHORT_SECRET = 16
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
    """Show every setting with its source, and check what it names; exit code 1 where something of it fails."""
    found, sources, faults = look(os.environ, Path(".env"))
    configure_log(found, sources)
    out = console()
    out.print(_settings_table(found, sources))
    out.print()
    findings = [Finding("fail", "settings", fault, "below, it counts as not set") for fault in faults]
    findings += [Finding("warn", "settings", odd) for odd in unknown(os.environ, Path(".env"))]
    with console(stderr=True).status("looking …"):
        findings += asyncio.run(_look(found, path))
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
        shown = ("set" if value else "–") if secret else redact(_shown(None if value == field.default == 0 else value))
        table.add_row(str(field.alias), shown, sources[str(field.alias)].where, field.description or "")
    return table


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "–"
    return "–" if value is None else str(value) or "–"


async def _look(found: Settings, path: Path | None) -> list[Finding]:
    missing = missing_to_serve(found)
    findings = [
        Finding("fail", "to serve", f"not set: {', '.join(missing)}", "set them in the environment or in `.env`")
        if missing
        else Finding("ok", "to serve", "everything required is set")
    ]
    short = [secret for secret in found.webhook_secrets if len(secret) < SHORT_SECRET]
    if short:
        said = f"BOT_GITHUB_WEBHOOK_SECRET has fewer than {SHORT_SECRET} characters and can be guessed"
        findings.append(Finding("warn", "webhook secret", said, "make one with `openssl rand -hex 32`"))
    findings.append(_api(found))
    findings += await _database(found)
    findings.append(await _sandbox(found))
    findings.append(await _git())
    findings += _secrets(found)
    if found.app_id and found.private_key:
        findings.append(await _github(found))
    findings.append(_model(found))
    if path is not None:
        findings.append(_configuration(path))
    return findings


def _model(found: Settings) -> Finding:
    known = providers(found)
    model = found.default_model or default_model(known)
    if model is None:
        said = "none: no provider has a key; agents that name no model cannot answer"
        return Finding("warn", "default model", said, "set OPENAI_API_KEY, ANTHROPIC_API_KEY or BOT_DEFAULT_MODEL")
    if (barred := known.check(model)) is not None:
        return Finding("fail", "default model", f"{model}: {barred.message}", barred.hint)
    how = "as BOT_DEFAULT_MODEL says" if found.default_model else "the small model of the first provider with a key"
    return Finding("ok", "default model", f"{model} ({how}; it was not asked)")


def _api(found: Settings) -> Finding:
    """Who can use the API."""
    if not found.dashboard_password:
        return Finding("ok", "API", "no BOT_DASHBOARD_PASSWORD: only requests made on this machine are served")
    if len(found.dashboard_password) < SHORT_SECRET:
        said = f"BOT_DASHBOARD_PASSWORD has fewer than {SHORT_SECRET} characters and can be guessed"
        return Finding("warn", "API", said, "make one with `openssl rand -hex 32`")
    return Finding("ok", "API", "takes BOT_DASHBOARD_PASSWORD as a bearer token")


async def _database(found: Settings) -> list[Finding]:
    if (empty := _no_database(found)) is not None:
        return [empty]
    try:
        if is_postgres(found.database):
            # looking makes no tables there, and how many runs all processes work on is not known here
            store, said = await asyncio.to_thread(look_at_postgres, found.database)
            places = None
        else:
            store, said = open_store(found.database), Redactor()(found.database)
            places = found.workers
    except OperatorError as error:
        return [Finding("fail", "database", error.message, error.mend)]
    except OSError as error:
        return [Finding("fail", "database", str(error), "check BOT_DATA_DIR and its permissions")]
    try:
        return [Finding("ok", "database", said), *await _stuck(store, places)]
    finally:
        await store.close()


async def _stuck(store: Store, places: int | None) -> list[Finding]:
    """What should have moved and has not, whoever serves this database."""
    now = SystemClock().now()
    try:
        at = await store.read(migrate.revision)
        if at is None:
            return []
        if at != migrate.HEAD:
            said = f"not looked at: the tables are at {at}, this version needs {migrate.HEAD}"
            older = at < migrate.HEAD
            mend = "`serve` of this version brings them up to date" if older else "use the version that `serve` is of"
            return [Finding("warn", "work", said, mend)]
        kinds = await store.read(lambda session: stuck(session, now, places=places))
    except Transient as error:
        return [Finding("warn", "work", str(error), "is another process writing for long?")]
    mend = "is `serve` running? its log says what holds it up; docs/operating.md says what each kind means"
    return [Finding("warn", "stuck", told(kind, one, now), mend) for kind, one in kinds.items()] or [
        Finding("ok", "work", "nothing is stuck")
    ]


def _no_database(found: Settings) -> Finding | None:
    """Whether `serve` could make its database where none is yet: looking must leave nothing behind."""
    file = Path(found.database.removeprefix("sqlite:///"))
    if not found.database.startswith("sqlite:///") or file.exists():
        return None
    folder = file.parent
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        return Finding("fail", "database", f"{folder} cannot be written to", "check BOT_DATA_DIR and its permissions")
    return Finding("ok", "database", f"none yet; `serve` makes it in {folder}")


async def _sandbox(found: Settings) -> Finding:
    sandbox = await open_sandbox(found.sandbox)
    if sandbox.isolated:
        return Finding("ok", "isolation", sandbox.describe())
    if found.sandbox == "off":
        said = "off: every writer of every served repository can reach this machine"
        return Finding("warn", "isolation", said, "install bubblewrap and set BOT_SANDBOX=required")
    return Finding("fail", "isolation", sandbox.describe(), "until then steps that start processes fail")


def _secrets(found: Settings) -> list[Finding]:
    """What is wrong in the folder of secrets; never whether a repository has one."""
    if found.secrets_dir is None:
        return []
    store = Secrets(found.secrets_dir, lambda _value: None)
    findings = [
        Finding("fail" if each.refused else "warn", "secrets", f"{each.path} {each.reason}", each.mend)
        for each in store.blemishes()
    ]
    return findings or [Finding("ok", "secrets", f"{found.secrets_dir}: everything in it can be used")]


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
        return Finding("fail", "GitHub", str(error), _github_mend(found, error))
    finally:
        await github.aclose()
    owners = ", ".join(found.allowed_owners) or app.owner.login
    return Finding("ok", "GitHub", f"@{app.slug} (App {app.id}), serves the repositories of {owners}")


def _github_mend(found: Settings, error: BotError) -> str:
    if isinstance(error, OperatorError):
        return error.mend
    if isinstance(error, Transient):
        return f"is BOT_GITHUB_URL right, and can this machine reach {urlsplit(found.github_url).netloc}?"
    return "does the private key belong to the App with the id BOT_GITHUB_APP_ID?"


def _configuration(path: Path) -> Finding:
    files, findings = read_files(path)
    configuration, found = check(files, builtin_files())
    everything = [*findings, *found]
    if configuration is None or findings:
        told = "1 finding" if len(everything) == 1 else f"{len(everything)} findings"
        return Finding("fail", "configuration", told, f"`threadsmith validate {path}` lists them")
    return Finding("ok", "configuration", f"{', '.join(configuration.names())}")
