"""Files that a step produces, read from its workspace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bot.engine import produced
from bot.engine.produced import with_files
from bot.model.outcome import Done, Failed, Usage
from bot.workflows import Step
from tests.engine.test_route import steps


def step(path: str = "out/report.txt") -> Step:
    """One that produces this file, and its output."""
    more = f"produces: [{{id: report, kind: log, path: {path}}}, {{id: said, kind: log}}]"
    return steps(f"- {{id: make, run: make, {more}}}")[0]


def clean(text: str) -> str:
    return text.replace("s3cret", "[redacted]")


def test_the_bytes_of_a_plain_file(tmp_path: Path) -> None:
    """As they are; out of a text secrets are taken; an output is no file."""
    (tmp_path / "out").mkdir()
    for content, kept in ((b"\xff s3cret \0", b"\xff s3cret \0"), ("ä s3cret".encode(), "ä [redacted]".encode())):
        (tmp_path / "out/report.txt").write_bytes(content)
        outcome, files = with_files(step(), Done("x"), tmp_path, clean)
        assert (outcome, files) == (Done("x"), {"report": kept})


@pytest.mark.parametrize("way", ["missing", "link", "folder link", "folder", "pipe"])
def test_a_file_that_is_none_fails_the_attempt(tmp_path: Path, way: str) -> None:
    """Its path is named, and what the step said and cost stays."""
    (tmp_path / "outside.txt").write_text("mine")
    workspace = tmp_path / "workspace"
    (workspace / "out").mkdir(parents=True)
    file = workspace / "out/report.txt"
    match way:
        case "link":
            file.symlink_to(tmp_path / "outside.txt")
        case "folder link":
            (workspace / "out").rmdir()
            (workspace / "out").symlink_to(tmp_path)
            (tmp_path / "report.txt").write_text("mine")
        case "folder":
            file.mkdir()
        case "pipe":
            os.mkfifo(file)
    outcome, files = with_files(step(), Done("said", exit_code=0, usage=Usage(3)), workspace, clean)
    assert isinstance(outcome, Failed)
    assert (outcome.code, files) == ("artifact_missing", {})
    assert "`out/report.txt`" in outcome.message
    assert (outcome.output, outcome.exit_code, outcome.usage) == ("said", 0, Usage(3))


def test_a_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What no blob can hold is not cut."""
    monkeypatch.setattr(produced, "BLOB_MAX", 10)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/report.txt").write_bytes(b"0123456789")
    assert with_files(step(), Done(), tmp_path, clean)[1] == {"report": b"0123456789"}
    (tmp_path / "out/report.txt").write_bytes(b"0123456789a")
    outcome, _ = with_files(step(), Done(), tmp_path, clean)
    assert isinstance(outcome, Failed)
    assert (outcome.code, "has 11 bytes; 10 are the most" in outcome.message) == ("artifact_too_large", True)


def test_a_failure_produces_nothing(tmp_path: Path) -> None:
    """Nor is it looked for."""
    assert with_files(step(), Failed("x", "no"), tmp_path, clean) == (Failed("x", "no"), {})
