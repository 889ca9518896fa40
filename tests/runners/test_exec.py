"""Agents that are programs, with real processes."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bot.model.outcome import Done, Failed
from bot.runners.exec import Exec
from bot.runners.tool import Tool, ToolAnswer
from bot.workspace.sandbox import Sandbox, open_sandbox
from tests.runners.calls import LIMITS, call


@pytest.fixture
async def sandbox() -> Sandbox:
    """Supervised processes: isolation has its own tests."""
    return await open_sandbox("off")


def python(source: str) -> tuple[str, ...]:
    """An argv that runs a line of Python."""
    return (sys.executable, "-c", source)


async def test_prompt_on_stdin_answer_on_stdout(sandbox: Sandbox, tmp_path: Path) -> None:
    """The program reads system text, a blank line and the prompt; what it prints is the answer."""
    argv = python("import sys; sys.stdout.write(sys.stdin.read().upper() + '\\n'); print('noise', file=sys.stderr)")
    outcome = await Exec(sandbox).run(call(argv=argv, system="be brief", prompt="why äß?\n", cwd=tmp_path))
    assert isinstance(outcome, Done)
    assert outcome.output == "BE BRIEF\n\nWHY ÄSS?"
    assert outcome.exit_code == 0
    assert outcome.stderr == "noise\n"
    assert outcome.model == f"exec:{Path(sys.executable).name}"


async def test_without_system_text(sandbox: Sandbox, tmp_path: Path) -> None:
    """Without a system text the prompt stands alone."""
    outcome = await Exec(sandbox).run(call(argv=("cat",), system="", cwd=tmp_path))
    assert outcome == Done(output="ping", exit_code=0, stdout="ping", model="exec:cat")


async def test_place_and_environment(sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs in the given folder and sees the given variables, none of the engine's."""
    monkeypatch.setenv("ENGINE_CANARY", "leaked")
    argv = python("import os; print(os.getcwd(), os.environ.get('MODE'), os.environ.get('ENGINE_CANARY'))")
    outcome = await Exec(sandbox).run(call(argv=argv, cwd=tmp_path, env={"MODE": "fast"}))
    assert isinstance(outcome, Done)
    assert outcome.output == f"{tmp_path} fast None"


async def test_empty_folder_by_default(sandbox: Sandbox) -> None:
    """Without a folder it gets an empty one, which is gone afterwards."""
    outcome = await Exec(sandbox).run(call(argv=python("import os; print(os.getcwd(), os.listdir())")))
    assert isinstance(outcome, Done)
    assert outcome.output is not None
    folder, _, listing = outcome.output.rpartition(" ")
    assert listing == "[]"
    assert not Path(folder).exists()


async def test_prompt_is_never_in_argv(sandbox: Sandbox, tmp_path: Path) -> None:
    """Other processes of the machine cannot read the prompt from the process list."""
    argv = python("import sys; print(open('/proc/self/cmdline').read())")
    outcome = await Exec(sandbox).run(call(argv=argv, prompt="secret words", cwd=tmp_path))
    assert isinstance(outcome, Done)
    assert "secret" not in str(outcome.output)


async def test_failure_shows_the_last_lines(sandbox: Sandbox, tmp_path: Path) -> None:
    """A non-zero exit fails the step with its code and the end of standard error."""
    argv = python("import sys; print('half'); [print(f'line {n}', file=sys.stderr) for n in range(50)]; sys.exit(3)")
    outcome = await Exec(sandbox).run(call(argv=argv, cwd=tmp_path))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.exit_code, outcome.stdout) == ("agent_failed", 3, "half\n")
    assert outcome.stderr.splitlines() == [f"line {n}" for n in range(30, 50)]
    assert "exit code 3" in outcome.message


async def test_silent_failure(sandbox: Sandbox, tmp_path: Path) -> None:
    """A failure without a word says that there was none."""
    outcome = await Exec(sandbox).run(call(argv=("false",), cwd=tmp_path))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.hint) == ("agent_failed", "it wrote nothing to standard error")


async def test_timeout(sandbox: Sandbox, tmp_path: Path) -> None:
    """A program that does not end is stopped when the call's time is up."""
    limits = replace(LIMITS, seconds=0.3)
    outcome = await Exec(sandbox).run(call(argv=("sleep", "600"), cwd=tmp_path, limits=limits))
    assert isinstance(outcome, Failed)
    assert outcome.code == "timeout"
    assert "0.3 s" in outcome.message


async def test_missing_program(sandbox: Sandbox, tmp_path: Path) -> None:
    """A program that is not there is named."""
    outcome = await Exec(sandbox).run(call(argv=("no-such-agent", "--now"), cwd=tmp_path))
    assert isinstance(outcome, Failed)
    assert outcome.code == "agent_missing"
    assert "`no-such-agent`" in outcome.message
    assert "`ask`" in outcome.message


@pytest.mark.parametrize("source", ["", "print(); print('  ')"])
async def test_empty_answer(sandbox: Sandbox, tmp_path: Path, source: str) -> None:
    """A program that says nothing did not answer."""
    outcome = await Exec(sandbox).run(call(argv=python(source), cwd=tmp_path))
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.exit_code) == ("empty_answer", 0)


async def test_impossible_command(sandbox: Sandbox, tmp_path: Path) -> None:
    """A command that no process can be given fails with the reason."""
    outcome = await Exec(sandbox).run(call(argv=("cat", "a\0b"), cwd=tmp_path))
    assert isinstance(outcome, Failed)
    assert outcome.code == "nul_in_command"


async def test_a_program_cannot_be_given_tools(sandbox: Sandbox, tmp_path: Path) -> None:
    """It is told before anything starts."""

    async def nothing(_arguments: dict[str, object]) -> ToolAnswer:
        return ToolAnswer("")

    tool = Tool("t", "", {"type": "object"}, nothing)
    outcome = await Exec(sandbox).run(call(argv=("touch", str(tmp_path / "ran")), tools=(tool,), cwd=tmp_path))
    assert isinstance(outcome, Failed)
    assert outcome.code == "tools_unsupported"
    assert not (tmp_path / "ran").exists()
