"""The product's own files and the examples load as they are, and do what their comments say."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.cli.files import read_files
from bot.runners.providers import PROVIDERS as RUNNERS_PROVIDERS
from bot.workflows import AgentStep, RunStep, builtin_files, check, load
from bot.workflows.agent import PROVIDERS
from bot.workflows.builtin import builtin_files as read_builtin
from tests.generated import ROOT
from tests.workflows.yaml_cases import BOT, exec_input

EXAMPLES = sorted((ROOT / "config" / "examples").iterdir())


def test_there_are_examples() -> None:
    """One for each page of the cookbook."""
    assert {path.stem for path in EXAMPLES} == {
        *("answer", "answer-with-inputs", "digest", "failing-tests", "implement", "release", "reproduce", "review"),
        *("run-tests", "triage", "welcome"),
    }


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_each_example_loads_without_a_finding(path: Path) -> None:
    """They can be copied as they are."""
    files, unread = read_files(path)
    configuration, found = check(files, builtin_files())
    assert (unread, found) == ([], ())
    assert configuration is not None
    assert configuration.workflow_for(configuration.bot.default) is not None


def test_the_answer_example_keeps_words_out_of_the_shell() -> None:
    """The issue's title travels as a variable, the param as one argument."""
    text = (ROOT / "config" / "examples" / "answer-with-inputs.yml").read_text(encoding="utf-8")
    step = load({BOT: text}).workflows["explain"].steps[0]
    assert isinstance(step, AgentStep)
    scope = {"issue": {"title": "$(rm -rf /)"}, "params": {"since": "1 day ago"}}
    assert exec_input(step, "matches").environment(scope) == {"WORDS": "$(rm -rf /)"}
    assert "$(rm" not in "".join(exec_input(step, "matches").argv(scope).argv)
    assert exec_input(step, "recent_changes").argv(scope).argv[-1] == "1 day ago"


def test_the_test_example_takes_a_target() -> None:
    """`target=…` of a comment is one quoted word."""
    text = (ROOT / "config" / "examples" / "run-tests.yml").read_text(encoding="utf-8")
    step = load({BOT: text}).workflows["test"].steps[1]
    assert isinstance(step, RunStep)
    assert "pytest -q 'a; rm b' 2>&1" in step.argv({"params": {"target": "a; rm b"}}).argv[2]


def test_the_builtin_files_are_read_from_the_package_or_the_checkout() -> None:
    """`ask` and its prompt, which holds no templates."""
    files = read_builtin()
    assert set(files) >= {"bot.yml", "prompts/ask.md"}
    configuration, found = check({}, files)
    assert found == ()
    assert configuration is not None
    system = configuration.agents["ask"].system
    assert system is not None
    assert system.text == files["prompts/ask.md"]
    assert system.references == ()


def test_a_fault_in_the_builtin_files_names_them() -> None:
    """They are told apart from the repository's."""
    _, found = check({}, {"bot.yml": "version: 1\nagents: {ask: {prompt: prompts/no.md}}"})
    assert [(one.file, one.code) for one in found] == [("config/bot.yml", "missing_file")]


def test_providers_are_those_of_the_runners() -> None:
    """The check and the runners know the same names."""
    assert set(PROVIDERS) == set(RUNNERS_PROVIDERS)
