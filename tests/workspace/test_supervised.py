"""What is particular to running without isolation."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from bot.errors import OperatorError
from bot.workspace.process import Command, shell
from bot.workspace.sandbox import open_sandbox


async def test_it_says_that_there_is_no_isolation() -> None:
    sandbox = await open_sandbox("off")
    assert not sandbox.isolated
    assert "no isolation" in sandbox.describe()


async def test_a_launcher_that_cannot_start_is_the_operator_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    before = sorted(os.listdir("/proc/self/fd"))
    with pytest.raises(OperatorError, match="cannot start"):
        await (await open_sandbox("off")).run(Command(("true",), tmp_path))
    assert sorted(os.listdir("/proc/self/fd")) == before


async def test_a_supervisor_that_was_killed_is_no_success(tmp_path: Path) -> None:
    """Here a child can reach its supervisor; that ends the command without an exit code."""
    done = await (await open_sandbox("off")).run(Command(shell("kill -9 $PPID; sleep 0.2"), tmp_path))
    assert done.exit_code is None
