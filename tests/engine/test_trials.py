"""What a trial leaves out."""

from __future__ import annotations

import pytest

from bot.engine.trials import budget_of, stand_in, tool_writes, trial_of, writes
from bot.model.trial import Trial
from bot.store.tables import Dispatch
from bot.workflows import Budget, load
from bot.workflows.step import AgentStep

TOOLS = """\
version: 1
agents:
  one: {model: "demo:echo", prompt: Help.}
resources:
  box: {url: "https://box.example.org/mcp"}
workflows:
  flow:
    steps:
      - id: a
        agent: one
        tools:
          [read_file, read_thread, run_command, add_labels, pin_comment, dispatch, write_file, {name: put, from: box}]
"""


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("{id: a, notify: {comment: Hello}}", False),
        ("{id: a, notify: {comment: Hello, labels: {add: [bug]}}}", False),
        ("{id: a, notify: {labels: {add: [bug]}}}", True),
        ("{id: a, notify: {close: true}}", True),
        ("{id: a, review: {findings: []}}", True),
        ("{id: a, pull_request: {title: New}}", True),
        ("{id: a, connector: {resource: box, tool: put}}", True),
        ("{id: a, agent: one}", False),
        ("{id: a, run: make}", False),
        ("{id: a, ask: May I?, options: {yes: end}}", False),
    ],
)
def test_steps(step: str, expected: bool) -> None:
    """Those that do nothing but write."""
    head = TOOLS.partition("workflows:")[0]
    configuration = load({".github/bot.yml": f"{head}workflows:\n  flow:\n    steps:\n      - {step}\n"})
    workflow = configuration.workflow_for("flow")
    assert workflow is not None
    assert writes(workflow.steps[0]) is expected


async def test_tools() -> None:
    """Built-in ones by what they need; of a resource's nobody knows what they do."""
    workflow = load({".github/bot.yml": TOOLS}).workflow_for("flow")
    assert workflow is not None
    step = workflow.steps[0]
    assert isinstance(step, AgentStep)
    found = {entry.name: tool_writes(entry) for entry in step.offered}
    read = {"read_file": False, "read_thread": False, "run_command": False}
    assert found == read | dict.fromkeys(("add_labels", "pin_comment", "dispatch", "write_file", "put"), True)
    tools = {entry.name: stand_in(entry) for entry in step.offered if tool_writes(entry)}
    assert tools["put"].parameters == {"type": "object"}
    assert "labels" in tools["add_labels"].parameters["properties"]
    answer = await tools["put"].call({})
    assert (answer.failed, answer.intents) == (False, ())
    assert "`put` did nothing" in answer.text


def dispatch(trial: Trial) -> Dispatch:
    """A dispatch that is this trial."""
    return Dispatch(
        thread_id="t",
        delivery_id="d",
        sequence=1,
        snapshot_id="s",
        actor_id=11,
        actor="ana",
        actor_role="write",
        request="",
        command="flow",
        trigger={"trial": trial.to_row()},
        trial=True,
    )


def test_what_a_dispatch_keeps() -> None:
    """Where it is from, and what binds it; any other dispatch keeps none of it."""
    trial = Trial("topic", "4be1d02" + "0" * 33, "write", usd=1.0, minutes=5)
    row = dispatch(trial)
    assert trial_of(row) == trial
    assert str(trial) == "tried from topic at 4be1d02, nothing written"
    assert budget_of(trial) == Budget(usd=1.0, minutes=5)
    row.trial = False
    assert trial_of(row) is None
    assert budget_of(None) == Budget()
