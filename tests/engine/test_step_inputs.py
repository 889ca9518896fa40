"""Inputs as declared → as they are computed."""

from __future__ import annotations

from typing import Any

import pytest

from bot.context import ExecInput, ReadInput
from bot.engine.step_inputs import wanted_inputs
from bot.errors import UserError
from bot.workflows import AgentStep, load

TEXT = """\
version: 1
agents:
  reader: {model: "openai:gpt-5-mini", prompt: Read.}
workflows:
  look:
    params: {count: "7"}
    steps:
      - id: first
        run: echo 1
      - id: second
        agent: reader
        inputs:
          command: {exec: "echo ${{ params.count }}", timeout: 5s, env: {A: "${{ params.count }}"}, required: false}
          value: {value: {n: ["${{ steps.first.exit_code }}"]}, type: object, max_bytes: 9}
          missing: {value: "${{ steps.first.error }}", required: false}
          file: {file: docs/a.md}
          diff: {diff: true}
          checks: {checks: failed_logs}
          reviews: {review_threads: unresolved}
          linked: {linked: issues}
          thread: {thread: {comments: 20}}
"""


def wanted(scope: dict[str, Any]) -> list[ExecInput | ReadInput]:
    step = load({".github/bot.yml": TEXT}).workflows["look"].steps[1]
    assert isinstance(step, AgentStep)
    return wanted_inputs(step.inputs, scope, lambda names: {name: str(value) for name, value in names.items()})


def test_each_in_the_declared_order() -> None:
    """With its templates filled, its bounds and its place."""
    command, value, missing, *others = wanted({"params": {"count": "7"}, "steps": {"first": {"exit_code": 0}}})
    assert isinstance(command, ExecInput)
    assert (command.argv, command.timeout, command.env) == (("bash", "-c", "echo '7'"), 5.0, {"A": "7"})
    assert (command.required, command.where) == (False, ".github/bot.yml line 13")
    assert isinstance(value, ReadInput)
    assert (value.name, value.kind, value.value, value.type, value.max_bytes) == (
        "value",
        "value",
        {"n": [0]},
        "object",
        9,
    )
    assert isinstance(missing, ReadInput)
    assert missing.missing is not None
    assert missing.missing.code == "template_undefined"
    kinds = ["file", "diff", "checks", "review_threads", "linked", "thread"]
    assert [one.kind for one in others if isinstance(one, ReadInput) and one.required] == kinds
    assert (others[0].path, others[-1].comments) == ("docs/a.md", 20)  # type: ignore[union-attr]  # they are read


def test_a_value_that_no_command_takes() -> None:
    """Is refused before anything runs."""
    with pytest.raises(UserError, match="command_value"):
        wanted({"params": {"count": "-rf"}, "steps": {}})
