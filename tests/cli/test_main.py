"""The entry point: version, help, exit codes, and the command as a shell finds it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot import __version__
from bot.cli.main import commands
from tests.cli.conftest import Threadsmith

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = {
    "simulate": ("--answers", "--param", "--input"),
    "schema": ("bot", "workflow"),
    "demo": ("--once", "--port"),
    "serve": ("--host", "--port", "--no-worker"),
    "worker": ("--health-port",),
    "doctor": ("[path]",),
    "validate": ("--format", "json", "github"),
    "run": ("--thread", "--config", "--param", "--dry-run"),
    "prompt": ("--manifest",),
    "runs": ("--limit", "--follow"),
    "replay": ("delivery",),
    "redeliver": ("--since", "--dry-run", "--accepted", "--send"),
    "forget": ("--repository", "--user", "--yes"),
}


#: what takes its time to be loaded and is not needed before the first delivery, run, or request of the kind
LATER = (
    "alembic",
    "anthropic",
    "bot.cli.doctor",
    "bot.cli.simulation",
    "bot.demo",
    "genai_prices",
    "githubkit",
    "jsonschema",
    "mcp",
    "openai",
    "opentelemetry.sdk",
    "psycopg",
    "pydantic_ai",
    "sqlalchemy.dialects.postgresql",
)
_START = """
import gc, json, sys
from bot.cli.main import commands
commands(["serve"])
from bot.store import open_store
open_store(sys.argv[1])
from bot.store.tables import Run
from bot.workflows import BotFile
from bot.workflows.step import GroupStep
built = [one.__name__ for one in (Run, BotFile, GroupStep) if one.__pydantic_complete__]
print(json.dumps([sorted(sys.modules), built, gc.isenabled(), gc.get_freeze_count()]))
"""


def test_what_a_start_leaves_for_later(tmp_path: Path) -> None:
    """A process that serves, with a new database, has loaded none of it and built no validator of rows and files."""
    said = subprocess.run(
        [sys.executable, "-c", _START, f"sqlite:///{tmp_path / 'bot.db'}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    loaded, built, collects, frozen = json.loads(said.stdout)
    assert "bot.serving" in loaded
    # a name that nothing has would never be loaded
    assert [name for name in LATER if find_spec(name) is None] == []
    assert [name for name in LATER if name in loaded] == []
    assert built == []
    assert collects
    assert frozen > 100_000


def test_version(threadsmith: Threadsmith) -> None:
    """Name and version in one line."""
    assert threadsmith("--version").out == f"threadsmith {__version__}\n"


def test_the_table_of_commands() -> None:
    """Without a command the help; every command is in it, and no command is missing from this test."""
    told = CliRunner().invoke(commands(), []).output
    assert {command.name for command in commands().registered_commands} == set(COMMANDS)
    for name in COMMANDS:
        assert f"\n  {name} " in told


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_each_command(name: str) -> None:
    """What it does, its options, and no traceback."""
    told = CliRunner().invoke(commands(), [name, "--help"])
    assert told.exit_code == 0
    assert f"threadsmith {name}" in told.output or f" {name} " in told.output.splitlines()[0]
    assert all(option.lower() in told.output.lower() for option in COMMANDS[name])


@pytest.mark.parametrize("arguments", [("nonsense",), ("run",), ("validate", "--format", "xml"), ("runs", "--limit=0")])
def test_a_wrong_call(threadsmith: Threadsmith, arguments: tuple[str, ...]) -> None:
    """Exit code 2, as everywhere."""
    said = threadsmith(*arguments)
    assert (said.code, said.out) == (2, "")
    assert "Error" in said.err


def test_a_setting_that_cannot_be_read(threadsmith: Threadsmith, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every variable at fault and what it should be; doctor goes on and shows the rest."""
    monkeypatch.setenv("BOT_WORKERS", "many")
    monkeypatch.setenv("BOT_PORT", "99999")
    said = threadsmith("runs")
    assert (said.code, said.out) == (1, "")
    assert said.err.splitlines()[:2] == ["BOT_PORT: expected at most 65535", "BOT_WORKERS: expected a whole number"]
    assert len(said.err.splitlines()) == 3
    said = threadsmith("doctor")
    assert "FAIL  settings: BOT_WORKERS: expected a whole number" in said.out


@pytest.mark.parametrize(
    "command", [(sys.executable, "-m", "bot"), (str(Path(sys.executable).with_name("threadsmith")),)]
)
def test_as_a_shell_calls_it(command: tuple[str, ...], tmp_path: Path) -> None:
    """`python -m bot` and the installed script are the same program; exit codes reach the shell."""
    (tmp_path / "bot.yml").write_text("version: 1\nagents: [\n")
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(
        [*command, "validate", "bot.yml"], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 3
    assert ended.stdout.startswith(".github/bot.yml:")
    assert "Traceback" not in ended.stderr
