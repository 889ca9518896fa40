"""Gathering findings."""

from __future__ import annotations

from bot.workflows import Mark
from bot.workflows.findings import Findings, nearest


def test_one_finding_a_place_and_an_error_beats_a_warning() -> None:
    """The first error stays; order is that of the file."""
    findings = Findings()
    findings.warning(Mark("a", 2, 1), "w", "warned")
    findings.error(Mark("a", 1, 1), "e", "other place")
    assert not any(one.code == "x" for one in findings.sorted())
    findings.error(Mark("a", 2, 1), "x", "wrong")
    findings.error(Mark("a", 2, 1), "y", "wrong too")
    findings.warning(Mark("a", 2, 1), "z", "warned again")
    assert [one.code for one in findings.sorted()] == ["e", "x"]


def test_warnings_alone_are_no_failure() -> None:
    """Only an error stands in the way."""
    findings = Findings()
    findings.warning(Mark("a"), "w", "warned")
    assert not findings.failed
    findings.error(Mark("b"), "e", "wrong")
    assert findings.failed


def test_nearest() -> None:
    """The closest known word, else all; capitals do not matter."""
    assert nearest("Modle", ["model", "runner"]) == "did you mean `model`?"
    assert nearest("xyz", ["b", "a"]) == "expected one of `a`, `b`"
    assert nearest("xyz", []) == ""
