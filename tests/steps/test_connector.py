"""The kind `connector`: one tool of a real server, called once."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bot.model.outcome import Done, Failed, Outcome
from bot.runners.mcp_content import VALUE_MAX
from bot.steps.connector import perform_connector
from bot.workflows.resources import Opened
from bot.workspace.reach import Reach
from bot.workspace.supervised import Supervised
from tests.servers.started import VARIABLES, WithPackages, on_loopback, on_stdio
from tests.workspace.test_sandbox import unique


async def perform(
    tmp_path: Path, tool: str, opened: Opened | None = None, *, timeout: float = 30, **arguments: Any
) -> Outcome:
    return await perform_connector(
        "ask_warehouse",
        opened or on_stdio(),
        tool,
        arguments,
        cwd=tmp_path,
        env=VARIABLES,
        timeout=timeout,
        sandbox=WithPackages(Supervised()),
        reach=Reach.of(["127.0.0.1"]),
        redact=lambda text: text.replace("s3cret", "[redacted]"),
    )


async def failed(tmp_path: Path, tool: str, opened: Opened | None = None, **more: Any) -> Failed:
    outcome = await perform(tmp_path, tool, opened, **more)
    assert isinstance(outcome, Failed), outcome
    return outcome


async def test_what_the_tool_gives_is_the_result(tmp_path: Path) -> None:
    """And there is no output."""
    assert await perform(tmp_path, "add", a=1, b=2) == Done(None, {"result": 3})


async def test_a_tool_s_error_fails_the_step(tmp_path: Path) -> None:
    """With its text, redacted; it is no transient fault."""
    outcome = await failed(tmp_path, "refuse", message="no s3cret")
    assert (outcome.code, outcome.message) == (
        "connector_failed",
        "`refuse` of `tests`: Error executing tool refuse: no [redacted]",
    )
    assert outcome.hint.endswith("may have done something.")


@pytest.mark.parametrize(
    ("tool", "arguments", "what"),
    [
        ("echo", {"value": "x" * VALUE_MAX}, "what it is given has"),
        ("big", {"size": VALUE_MAX}, "what came back has"),
        ("refuse", {"message": "", "size": VALUE_MAX}, "its error has"),
    ],
)
async def test_too_large(tmp_path: Path, tool: str, arguments: dict[str, Any], what: str) -> None:
    """Each direction, error text included: the step's id, the size, and the way out."""
    outcome = await failed(tmp_path, tool, **arguments)
    assert outcome.code == "too_large"
    assert outcome.message.startswith(f"step `ask_warehouse`: {what} 8,38")
    assert outcome.message.endswith("at most 8,388,608 are passed on")
    assert outcome.hint.startswith("Pass a name and a path that the connector reads from its own resource")
    assert len(json.dumps(outcome.message)) < 200


async def test_the_shorter_time_holds(tmp_path: Path) -> None:
    """The step's or the resource's; its tree is dead, over HTTP the server's own work may go on."""
    n = unique()
    outcome = await failed(tmp_path, "hang", on_stdio(timeout=3), seconds=n)
    assert (outcome.code, outcome.message) == ("timeout", "`hang` of `tests` did not answer within 3 s")
    assert outcome.hint.startswith("Raise the resource's `timeout`")
    assert subprocess.run(["pgrep", "-f", f"sleep {n}"], capture_output=True, check=False).returncode == 1
    with on_loopback("http") as server:
        outcome = await failed(tmp_path, "hang", server.opened(), timeout=0.5, seconds="1")
        assert (outcome.code, outcome.hint.startswith("Raise its `timeout`")) == ("timeout", True)


async def test_it_is_called_once(tmp_path: Path) -> None:
    """Also where the answer is lost on the way."""
    with on_loopback("http") as server:
        for _ in range(2):
            await failed(tmp_path, "refuse", server.opened(), message="no")
        outcome = await perform(tmp_path, "count", server.opened())
        assert outcome == Done(None, {"result": 2})
        dead = await failed(tmp_path, "die", server.opened(), code=1)
        assert dead.code == "connector_failed"


async def test_a_tool_that_is_not_there(tmp_path: Path) -> None:
    """The nearest is named."""
    outcome = await failed(tmp_path, "ech")
    assert (outcome.code, outcome.hint) == ("unknown_tool", "Did you mean `echo`?")
