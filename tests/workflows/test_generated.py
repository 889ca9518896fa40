"""Generated files: written, compared, and up to date in the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.generated import FILES, drifted, main, write


def test_the_repository_is_up_to_date() -> None:
    """`make generate` would change nothing."""
    assert drifted() == []


def test_writing_mends_what_differs(tmp_path: Path) -> None:
    """A missing file is made, an old one replaced, one that is right left alone."""
    files = {"a/new.txt": lambda: "new", "old.txt": lambda: "now", "same.txt": lambda: "same"}
    (tmp_path / "old.txt").write_text("then")
    (tmp_path / "same.txt").write_text("same")
    assert drifted(tmp_path, files) == ["a/new.txt", "old.txt"]
    assert write(tmp_path, files) == ["a/new.txt", "old.txt"]
    assert drifted(tmp_path, files) == []
    assert (tmp_path / "a" / "new.txt").read_text() == "new"


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    """`--check` succeeds here; anything else on the line is refused."""
    assert main(["--check"]) == 0
    assert main(["--chekc"]) == 2
    assert "usage" in capsys.readouterr().err


@pytest.mark.parametrize("path", FILES)
def test_generated_text_ends_with_a_line(path: str) -> None:
    """And is the same every time."""
    assert FILES[path]().endswith("\n")
    assert FILES[path]() == FILES[path]()
