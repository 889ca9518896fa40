"""The files to deploy with: they can be read, and every command and variable in them is one that there is."""

from __future__ import annotations

import configparser
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml
from typer.core import TyperGroup

from bot.cli.main import commands
from bot.settings import Settings, unknown
from tests.docs.pages import ROOT

DEPLOY = ROOT / "docs" / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"), key=lambda unit: unit.name)
#: host names of registries, and anything else that images or packages may come from
_REGISTRY = re.compile(
    r"(?<![\w@])[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:io|com|org|net|dev)\b(?:[:/]\d+)?/|--index-url|https?://"
)
#: what systemd and Docker set beside the bot's own
_NOT_OURS = {"PATH", "PYTHONUNBUFFERED"}
SECRETS = {
    str(field.alias)
    for field in Settings.model_fields.values()
    if isinstance(field.json_schema_extra, dict) and field.json_schema_extra.get("secret")
}


def options_of(command: str) -> set[str]:
    """The options of a command of `threadsmith`."""
    group = typer.main.get_command(commands())
    assert isinstance(group, TyperGroup)
    found = group.commands[command]
    return {name for option in found.params for name in (*option.opts, *option.secondary_opts)}


def assert_command(arguments: list[str]) -> None:
    """A command that there is, with options that it has."""
    options = options_of(arguments[0])
    for argument in arguments[1:]:
        if argument.startswith("--"):
            assert argument in options, arguments


def assert_variables(names: set[str]) -> None:
    """Settings that there are; with `_FILE` only secrets."""
    ours = names - _NOT_OURS
    assert all(name.startswith("BOT_") for name in ours), ours
    assert unknown(dict.fromkeys(ours, "x")) == []
    assert {name.removesuffix("_FILE") for name in ours if name.endswith("_FILE")} <= SECRETS


def unit(path: Path) -> configparser.ConfigParser:
    """A unit's settings; of a key that is set several times the last."""
    parser = configparser.ConfigParser(interpolation=None, strict=False, delimiters=("=",), comment_prefixes=("#",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # configparser's own way to keep case
    parser.read_string(path.read_text(encoding="utf-8"))
    return parser


def compose() -> dict[str, Any]:
    """The compose file, with what its services share."""
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    return found


def test_there_are_units() -> None:
    """Else the tests below would hold of nothing."""
    assert [path.name for path in UNITS] == ["threadsmith-worker@.service", "threadsmith.service"]


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_unit_starts_what_there_is_hardened(path: Path) -> None:
    """As a user of its own, with nothing but its state to write to, and time to hand over."""
    service = unit(path)["Service"]
    program, *arguments = shlex.split(service["ExecStart"])
    assert program == "/opt/threadsmith/bin/threadsmith"
    assert_command(arguments)
    assert_variables({service["Environment"].partition("=")[0]})
    assert service["Environment"] == f"BOT_DATA_DIR=/var/lib/{service['StateDirectory']}"
    assert (service["User"], service["CapabilityBoundingSet"]) == ("threadsmith", "")
    for key, value in (("NoNewPrivileges", "yes"), ("ProtectSystem", "strict"), ("ProtectHome", "yes")):
        assert service[key] == value
    assert int(service["TimeoutStopSec"]) > 10
    # its children are the bot's to end: the signal is for the bot alone
    assert service["KillMode"] == "mixed"
    # bubblewrap makes namespaces, names its host, and mounts a /proc where nothing is mounted over the old one
    barred = {"RestrictNamespaces", "ProtectHostname", "ProtectKernelTunables", "ProtectKernelLogs", "ProtectProc"}
    assert not barred & set(service)


def test_both_units_are_hardened_alike() -> None:
    """They differ in what they start and where they write."""
    own = {"ExecStart", "StateDirectory", "WorkingDirectory", "Environment"}
    first, second = ({k: v for k, v in unit(path)["Service"].items() if k not in own} for path in UNITS)
    assert first == second


def test_compose_starts_a_receiver_and_two_workers() -> None:
    """With settings that there are, folders of their own, and health that is asked where it is answered."""
    file = compose()
    services = {name: one for name, one in file["services"].items() if name != "database"}
    assert [one["command"][0] for one in services.values()] == ["serve", "worker", "worker"]
    for one in services.values():
        assert_command(one["command"])
        assert_variables(set(one["environment"]))
        assert one["depends_on"] == {"database": {"condition": "service_healthy"}}
        assert int(one["stop_grace_period"].removesuffix("s")) > 10
        port = one["command"][2] if one["command"][0] == "worker" else "8000"
        assert f"http://127.0.0.1:{port}/readyz" in one["healthcheck"]["test"][-1]
        compile(one["healthcheck"]["test"][-1], "healthcheck", "exec")
        assert set(one["secrets"]) <= set(file["secrets"])
        assert {f"/run/secrets/{name}" for name in one["secrets"]} == set(one["environment"].values())
    folders = [one["volumes"][0].partition(":")[0] for name, one in services.items() if name != "receiver"]
    assert len(set(folders)) == 2
    assert {*folders, "database"} == set(file["volumes"])
    # only this machine's proxy reaches it
    assert services["receiver"]["ports"] == ["127.0.0.1:8000:8000"]
    assert file["services"]["database"]["healthcheck"]["test"][1] == "pg_isready"


def test_the_image_runs_as_nobody_else_and_has_what_steps_need() -> None:
    """git and bubblewrap, a user of its own, and a command that there is."""
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    steps = [(kind, rest) for kind, rest in lines]
    assert {rest.split()[0] for kind, rest in steps if kind == "FROM"} == {"python:3.13-slim"}
    assert any("bubblewrap git" in rest for kind, rest in steps if kind == "RUN")
    assert [rest for kind, rest in steps if kind == "USER"] == ["threadsmith"]
    (entry,) = (json.loads(rest) for kind, rest in steps if kind == "ENTRYPOINT")
    (command,) = (json.loads(rest) for kind, rest in steps if kind == "CMD")
    assert entry == ["threadsmith"]
    assert_command(command)
    set_ = {pair.partition("=")[0] for kind, rest in steps if kind == "ENV" for pair in rest.split()}
    assert_variables(set_)
    volumes = [rest for kind, rest in steps if kind == "VOLUME"]
    assert volumes == [one.partition(":")[2] for name, one in _volumes() if name.startswith("worker")][:1]
    for name in re.findall(r"-r (\S+)", text):
        assert (ROOT / name).is_file()


def _volumes() -> list[tuple[str, str]]:
    return [(name, one["volumes"][0]) for name, one in compose()["services"].items() if "volumes" in one]


@pytest.mark.parametrize("path", sorted(DEPLOY.iterdir()), ids=lambda path: path.name)
def test_nothing_names_a_registry(path: Path) -> None:
    """Whoever deploys says where images and packages come from."""
    assert _REGISTRY.findall(path.read_text(encoding="utf-8").replace("http://127.0.0.1", "")) == []


def test_the_guide_names_files_and_variables_that_there_are() -> None:
    """Every unit, and every setting that it speaks of."""
    text = (DEPLOY / "README.md").read_text(encoding="utf-8")
    assert {path.name for path in DEPLOY.iterdir()} - {"README.md"} <= set(re.findall(r"\[([\w@.-]+)\]\(", text))
    assert_variables(set(re.findall(r"`(BOT_[A-Z_]+)", text)))
