"""Shortcuts for the tests of this room."""

from __future__ import annotations

from bot.finding import Finding
from bot.workflows import AgentStep, Configuration, ExecInput, check, load

BOT = ".github/bot.yml"


def findings(text: str, **files: str) -> tuple[Finding, ...]:
    """The findings for a `bot.yml`; further files are named by their stem, as prompts."""
    return check({BOT: text, **{f".github/bot/prompts/{name}.md": one for name, one in files.items()}})[1]


def only(text: str, **files: str) -> Finding:
    """The one finding."""
    found = findings(text, **files)
    assert len(found) == 1, found
    return found[0]


def place(finding: Finding) -> tuple[int, int]:
    return finding.line, finding.column


def marked(text: str) -> tuple[str, tuple[int, int]]:
    """The text without its `^`, and the line and column of what followed it."""
    before, _, after = text.partition("^")
    return before + after, (before.count("\n") + 1, len(before) - before.rfind("\n"))


def configured(text: str, **files: str) -> Configuration:
    return load({BOT: text, **{f".github/bot/prompts/{name}.md": one for name, one in files.items()}})


def exec_input(step: AgentStep, name: str) -> ExecInput:
    """An input of a step that is a command."""
    found = step.inputs[name]
    assert isinstance(found, ExecInput)
    return found
