"""Templates of other languages: told, and only those that are ours but for their braces."""

from __future__ import annotations

import pytest

from bot.workflows.look_alike import look_alike
from tests.workflows.yaml_cases import findings, marked, only, place

STEP = "version: 1\nagents: {helper: {model: openai:x}}\nworkflows:\n  main:\n    steps:\n      - "


@pytest.mark.parametrize("text", ["a {{ issue.title }}", "a {{issue.title}}", "a ${issue.title}", "a ${ issue.title }"])
def test_what_is_one(text: str) -> None:
    """With the reference that was meant, and where it begins."""
    found = look_alike(text)
    assert found is not None
    assert (found.path, found.offset, found.written) == ("issue.title", 2, text[2:])


@pytest.mark.parametrize(
    "text", ["", "${{ issue.title }}", "$${{ issue.title }}", "${HOME}", "{{ a.b }}", "{{ issue }}", "{ issue.title }"]
)
def test_what_is_none(text: str) -> None:
    """Ours, a literal of ours, a shell's variable, another language's own names."""
    assert look_alike(text) is None


def test_it_is_warned_of_where_templates_are_read() -> None:
    """In a prompt; a description is text."""
    text, where = marked(STEP + '{id: a, agent: helper, prompt: ^"About {{ issue.title }}"}\n')
    found = only(text)
    assert (found.severity, found.code, place(found)) == ("warning", "template_like", where)
    assert found.hint == "write `${{ issue.title }}`"
    assert (
        findings(STEP.replace("steps:", 'description: "{{ issue.title }}"\n    steps:') + "{id: a, run: make}\n") == ()
    )


@pytest.mark.parametrize(
    ("on", "token", "codes"),
    [
        ("{labeled: [x]}", "trigger.text", ["trigger_text"]),
        ("{opened: true, mention: false}", "trigger.text", ["trigger_text"]),
        ("{labeled: [x]}", 'trigger.text ?? \\"all\\"', []),
        ("{labeled: [x]}", "trigger.label", []),
        ("{mention: true}", "trigger.text", []),
    ],
)
def test_an_event_brings_no_words(on: str, token: str, codes: list[str]) -> None:
    """So that a prompt which needs them would fail."""
    text = (
        STEP.replace("steps:", f"on: {on}\n    steps:") + f'{{id: a, agent: helper, prompt: "Do ${{{{ {token} }}}}"}}\n'
    )
    assert [(one.code, one.severity) for one in findings(text)] == [(code, "warning") for code in codes]
