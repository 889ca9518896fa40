"""What a workflow needs of the App's permissions."""

from __future__ import annotations

import pytest

from bot.engine.permissions import missing
from bot.workflows import load

HEAD = 'version: 1\nagents:\n  one: {model: "demo:echo", prompt: Help.}\nworkflows:\n'
FLOW = HEAD + "  flow:\n    steps:\n      - %s\n"
ISSUES = {"issues": "write", "contents": "read"}


def lacking(yml: str, granted: dict[str, str], *, pull_request: bool = False) -> list[str]:
    """What is missing for `flow`."""
    configuration = load({".github/bot.yml": yml})
    workflow = configuration.workflow_for("flow")
    assert workflow is not None
    return list(missing(configuration, workflow, granted, pull_request=pull_request))


@pytest.mark.parametrize(
    ("step", "granted", "expected"),
    [
        ("{id: a, agent: one}", {}, ["issues: write"]),
        ("{id: a, agent: one}", {"issues": "read"}, ["issues: write"]),
        ("{id: a, agent: one}", {"issues": "admin"}, []),
        ("{id: a, agent: one}", {"issues": "write"}, []),
        ("{id: a, run: make}", {"issues": "write"}, ["contents: read"]),
        ("{id: a, run: make, workspace: none}", {"issues": "write"}, []),
        ("{id: a, pull_request: {title: T}}", ISSUES, ["pull_requests: write"]),
        ("{id: a, pull_request: {title: T}}", {**ISSUES, "pull_requests": "read"}, ["pull_requests: write"]),
        ("{id: a, wait: {event: merged}}", ISSUES, ["pull_requests: read"]),
        ("{id: a, wait: {event: checks_completed}}", ISSUES, ["checks: read"]),
        ("{id: a, wait: {event: labeled}}", ISSUES, []),
        ("{id: a, agent: one, inputs: {x: {diff: true}}}", ISSUES, ["pull_requests: read"]),
        ("{id: a, agent: one, inputs: {x: {diff: true, required: false}}}", ISSUES, []),
        ("{id: a, agent: one, inputs: {x: {checks: failed_logs}}}", ISSUES, ["checks: read", "actions: read"]),
        ("{id: a, agent: one, inputs: {x: {review_threads: unresolved}}}", ISSUES, ["pull_requests: read"]),
        ("{id: a, steps: [{id: b, wait: {event: merged}}]}", ISSUES, ["pull_requests: read"]),
    ],
)
def test_each_kind(step: str, granted: dict[str, str], expected: list[str]) -> None:
    """Of steps within steps too; what is granted more than enough is enough."""
    assert lacking(FLOW % step, granted) == expected


def test_on_a_pull_request() -> None:
    """Whatever is said there takes both; who lacks `write` does not hear of `read` besides."""
    yml = FLOW % "{id: a, agent: one, inputs: {x: {diff: true}}}"
    assert lacking(yml, {"contents": "read"}, pull_request=True) == ["issues: write", "pull_requests: write"]


def test_a_workflow_that_is_used() -> None:
    """Its steps count, once, also where two workflows name each other's."""
    used = "  used:\n    steps:\n      - {id: b, wait: {event: merged}}\n    export: {from: [b]}\n"
    yml = FLOW % "{id: a, uses: used}" + used
    assert lacking(yml, ISSUES) == ["pull_requests: read"]
