"""The command line, run in this process through its own entry point, with nothing of this machine's environment."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.cli.main import main
from bot.settings import Settings
from tests.plain_log import log_plainly

BOT_YML = """\
version: 1
agents:
  helper:
    description: Answers from what it sees.
    model: demo:helper
    prompt: You help with issues.
"""


@dataclass(frozen=True, slots=True)
class Said:
    """What a command came to."""

    code: int
    out: str
    err: str


Threadsmith = Callable[..., Said]


def variables() -> set[str]:
    """Every variable that the product reads."""
    names = {str(field.alias) for field in Settings.model_fields.values()}
    return names | {f"{name}_FILE" for name in names}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty folder, no variable set, and logging as it was afterwards."""
    for name in variables():
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(logging.root, "handlers", [])
    monkeypatch.setattr(logging.root, "level", logging.root.level)
    yield
    log_plainly()


@pytest.fixture
def threadsmith(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Threadsmith:
    """`threadsmith("validate", ".")` as a shell would call it."""

    def call(*arguments: str | os.PathLike[str]) -> Said:
        monkeypatch.setattr(sys, "argv", ["threadsmith", *(os.fspath(argument) for argument in arguments)])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return call


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A folder with a good configuration."""
    made = tmp_path / "repository"
    (made / ".github").mkdir(parents=True)
    (made / ".github" / "bot.yml").write_text(BOT_YML)
    (made / "README.md").write_text("# widgets\n")
    return made
