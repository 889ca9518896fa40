"""A file that was made to take long is read no further than a person would read what is wrong with it."""

from __future__ import annotations

import pytest

from bot.workflows import builtin_files
from bot.workflows.configuration import check
from bot.workflows.findings import FINDINGS_MAX

_HEAD = "version: 1\nworkflows:\n  main:\n    steps:\n"


def step(number: int, more: str) -> str:
    return f"      - {{id: s{number}, run: 'true'{more}}}\n"


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (", next: s0", "unreachable"),
        (", next: nowhere", "route"),
        (", when: \"steps.later.outcome == 'fail'\"", "unknown_step"),
        (', when: "outcome =="', "condition"),
        (', env: {A: "${{ params.none }}"}', "unknown_param"),
    ],
)
def test_no_more_findings_than_a_person_reads(more: str, code: str) -> None:
    """One step adds a few beyond the bound at most."""
    text = _HEAD + "".join(step(number, more) for number in range(3 * FINDINGS_MAX))
    configuration, findings = check({".github/bot.yml": text}, builtin_files())
    assert configuration is None
    assert code in {finding.code for finding in findings}
    assert FINDINGS_MAX <= len(findings) < FINDINGS_MAX + 5


def test_no_more_references_than_can_be_checked() -> None:
    """An agent's templates count with each step that asks it."""
    prompt = "${{ trigger.text }}" * 150
    head = f'version: 1\nagents:\n  helper: {{model: "demo:x", prompt: "{prompt}"}}\nworkflows:\n  main:\n    steps:\n'

    def codes(steps: int) -> set[str]:
        text = head + "".join(f"      - {{id: s{number}, agent: helper}}\n" for number in range(steps))
        return {finding.code for finding in check({".github/bot.yml": text}, builtin_files())[1]}

    assert codes(133) == set()
    assert codes(134) == {"too_many"}
