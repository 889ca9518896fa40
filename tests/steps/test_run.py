"""The kind `run`: real commands, and what their ends mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.model.outcome import Done, Failed, Outcome
from bot.steps import perform_run
from bot.steps.run import STDERR_LINES, STDOUT_MAX, last_lines
from bot.workspace.supervised import Supervised


async def perform(
    tmp_path: Path, script: str, *, timeout: float = 20, where: str = ".github/bot.yml line 3"
) -> Outcome:
    """A shell script as a step."""
    return await perform_run(
        ("sh", "-c", script), cwd=tmp_path, env={"NAME": "x y"}, timeout=timeout, sandbox=Supervised(), where=where
    )


async def test_the_output_is_what_it_printed(tmp_path: Path) -> None:
    """In its folder, with its variables; standard error is kept apart."""
    (tmp_path / "file").touch()
    outcome = await perform(tmp_path, 'ls; echo "$NAME"; echo words >&2')
    assert outcome == Done("file\nx y\n", exit_code=0, stdout="file\nx y\n", stderr="words\n")


async def test_an_exit_code_that_is_not_zero_fails(tmp_path: Path) -> None:
    """With what it printed and its last words; whether there is anything to mend is not known."""
    outcome = await perform(tmp_path, "echo out; echo last words >&2; exit 3")
    assert outcome == Failed(
        "command_failed",
        "its command ended with exit code 3",
        "",
        output="out\n",
        exit_code=3,
        stdout="out\n",
        stderr="last words",
    )


async def test_without_words_on_standard_error_the_output_speaks(tmp_path: Path) -> None:
    """Test runners print their failures there; the place is left out where there is none."""
    outcome = await perform(tmp_path, "echo only this; exit 1", where="")
    assert isinstance(outcome, Failed)
    assert (outcome.stderr, outcome.hint) == ("only this", "")


async def test_too_long_and_missing(tmp_path: Path) -> None:
    """Each has its own code."""
    outcome = await perform(tmp_path, "echo begun; sleep 60", timeout=0.3)
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.message, outcome.output) == ("timeout", "it did not end within 0.3 s", "begun\n")
    missing = await perform_run(("no-such-program",), cwd=tmp_path, env={}, timeout=20, sandbox=Supervised(), where="x")
    assert isinstance(missing, Failed)
    assert (missing.code, missing.message) == ("missing_program", "the program `no-such-program` was not found")
    assert missing.hint == "Mend the command in `x`."


async def test_an_endless_output_is_bounded(tmp_path: Path) -> None:
    """Head and tail are kept."""
    outcome = await perform(tmp_path, f"echo head; head -c {3 * STDOUT_MAX} /dev/zero | tr '\\0' x; echo tail")
    assert isinstance(outcome, Done)
    assert outcome.output is not None
    assert outcome.output.startswith("head\n")
    assert outcome.output.endswith("tail\n")
    assert len(outcome.output) < STDOUT_MAX + 200


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, ""), (STDERR_LINES, "0"), (STDERR_LINES + 1, "… 1 lines left out …"), (50, "… 30 lines left out …")],
)
def test_last_lines(count: int, expected: str) -> None:
    """As many as fit, with a mark where some are missing."""
    lines = last_lines("\n".join(map(str, range(count))) + "\n\n").splitlines()
    assert (lines[0] if lines else "") == expected
    assert len(lines) == min(count, STDERR_LINES + 1)
    if count:
        assert lines[-1] == str(count - 1)
