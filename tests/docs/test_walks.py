"""Every workflow of the examples and of the documentation leads to its end, by every way that has an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import pytest

from bot.cli.files import read_files
from bot.cli.local import rows
from bot.cli.simulate import bound_inputs
from bot.cli.simulation import Answers, Report, made_up_thread, walk
from bot.workflows import builtin_files, load
from tests.docs.pages import PAGES, ROOT, fences, files_of, name

EXAMPLES = ROOT / "config" / "examples"


def _sources() -> Iterator[tuple[str, Mapping[str, str]]]:
    for path in sorted(EXAMPLES.iterdir()):
        yield path.stem, read_files(path)[0]
    for page in PAGES:
        for fence in fences(page, "yaml"):
            yield f"{name(page)}:{fence.line}", files_of(fence)


def _walks() -> Iterator[tuple[str, Mapping[str, str], str]]:
    for place, files in _sources():
        configuration = load(files, builtin_files())
        own = {name for name in configuration.agents if name != "ask" or "  ask:" in "".join(files.values())}
        for workflow in sorted({*configuration.workflows, *own}):
            yield f"{place} {workflow}", files, workflow


WALKS = {place: (files, workflow) for place, files, workflow in _walks()}


def _walked(files: Mapping[str, str], workflow: str, answers: Any = None) -> Report:
    configuration = load(files, builtin_files())
    chosen = configuration.workflow_for(workflow)
    assert chosen is not None
    thread = made_up_thread(chosen)
    inputs, _ = bound_inputs({}, chosen)
    made = rows(thread, workflow, {}, files, inputs, thread.newest + timedelta(hours=1))
    return asyncio.run(walk(configuration, chosen, made, thread, Answers.of(answers), None))


@pytest.mark.parametrize("place", WALKS)
def test_every_workflow_comes_to_a_good_end(place: str) -> None:
    """With what is made up, no text lacks a value, no condition misses one, and the run succeeds."""
    report = _walked(*WALKS[place])
    assert report.state == "succeeded", report.reason
    assert [warning for visit in report.visits for warning in visit.warnings] == []


#: further ways through an example: what is answered, and what the walk then passes
WAYS: list[tuple[str, str, Any, list[str]]] = [
    (
        "implement",
        "implement",
        {
            "plan": {"result": {"risk": "high", "files": ["a.py"]}},
            "approve": [{"answer": "revise", "text": "no new setting"}, {"answer": "approve"}],
        },
        ["plan", "approve", "plan", "approve", "push", "open_pr"],
    ),
    ("implement", "implement", {"push": {"answer": "stop"}}, ["plan", "push"]),
    (
        "implement",
        "implement",
        {"plan": {"result": {"risk": "high", "files": []}}, "approve": {"outcome": "timeout"}},
        ["plan", "approve"],
    ),
    (
        "failing-tests",
        "failures",
        {
            "tests": {"outcome": "fail", "output": "FAILED tests/test_a.py::test_one - no\\n"},
            "look[name-2]": {"outcome": "fail"},
        },
        ["tests", "failing", "look", "look[name-1]", "look[name-2]", "summary"],
    ),
    ("reproduce", "reproduce", {"look": {"result": {"shows": "no"}}}, ["look"]),
    ("review", "review", {"read": [{"result": {}}, {}]}, ["read", "read", "post"]),
]


@pytest.mark.parametrize(("example", "workflow", "answers", "passed"), WAYS, ids=str)
def test_examples_go_the_other_ways_too(example: str, workflow: str, answers: Any, passed: list[str]) -> None:
    """As the cookbook says."""
    (place,) = (one for one in WALKS if one == f"{example} {workflow}")
    report = _walked(*WALKS[place], answers)
    assert [visit.name for visit in report.visits] == passed
    assert report.state == "succeeded", report.reason


def test_there_is_something_to_walk() -> None:
    """Of every example, and of the pages that show whole files."""
    places = {place.partition(" ")[0].partition(":")[0] for place in WALKS}
    assert {path.stem for path in EXAMPLES.iterdir()} < places
    pages = {f"docs/{page}.md" for page in ("advanced", "cookbook", "first-workflow", "language", "steps")}
    assert {"README.md", *pages} < places
