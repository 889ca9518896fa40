"""A case of the promises without a test, or with one that went, fails (`cases` and `text_cases` have them)."""

from __future__ import annotations

import pytest

from tests.faults.cases import EXEC_INPUTS, FRONT_DOOR, POSTING, PROCESS
from tests.faults.text_cases import CONFIGURATION, CONTEXT, OUTPUT
from tests.stories.refusals import names_below

CASES = FRONT_DOOR | CONTEXT | EXEC_INPUTS | CONFIGURATION | PROCESS | OUTPUT | POSTING
ROOMS = (
    ".",
    "acceptance",
    "cli",
    "context",
    "contract",
    "dispatch",
    "engine",
    "faults",
    "github",
    "publish",
    "stories",
    "webhook",
    "workflows",
    "workspace",
)


@pytest.mark.parametrize("case", CASES)
def test_every_case_has_its_tests(case: str) -> None:
    """By name."""
    assert CASES[case]
    assert set(CASES[case]) <= names_below(*ROOMS)


def test_no_case_hides_another() -> None:
    """Each table counts whole."""
    assert len(CASES) == sum(map(len, (FRONT_DOOR, CONTEXT, EXEC_INPUTS, CONFIGURATION, PROCESS, OUTPUT, POSTING)))
