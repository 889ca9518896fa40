"""Commands that the engine runs before the model is called."""

from __future__ import annotations

import re
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from bot.context import ExecInput, compute
from bot.errors import UserError
from bot.workspace.live import Live
from bot.workspace.process import Command, Completed, shell
from bot.workspace.sandbox import Sandbox, open_sandbox

WHERE = ".github/bot.yml line 31"


class Counting:
    """A real sandbox that remembers what it ran."""

    isolated = False

    def __init__(self, inner: Sandbox) -> None:
        self.inner = inner
        self.ran: list[tuple[str, ...]] = []

    def describe(self) -> str:
        return self.inner.describe()

    async def run(self, command: Command) -> Completed:
        self.ran.append(command.argv)
        return await self.inner.run(command)

    def open(self, command: Command) -> AbstractAsyncContextManager[Live]:
        return self.inner.open(command)


@pytest.fixture
async def sandbox() -> Counting:
    return Counting(await open_sandbox("off"))


def wanted(name: str, command: str, **changes: object) -> ExecInput:
    fields: dict[str, object] = {"name": name, "argv": shell(command), "where": WHERE, "command": command}
    return ExecInput(**(fields | changes))  # type: ignore[arg-type]  # a builder for tests


async def test_in_order_once(sandbox: Counting, tmp_path: Path) -> None:
    """Each once, in the declared order, in the workspace, with what it printed."""
    (tmp_path / "seen.txt").write_text("from the workspace\n")
    inputs = [wanted("second", "cat seen.txt"), wanted("first", "echo $WORD", env={"WORD": "hello"})]
    results = await compute(inputs, sandbox=sandbox, workspace=tmp_path, env={"WORD": "x"}, commit="0f3c9a1" * 5)
    assert sandbox.ran == [shell("cat seen.txt"), shell("echo $WORD")]
    assert [result.record.name for result in results] == ["second", "first"]
    block = results[0].block
    assert (block.kind, block.source, block.trust) == ("input", "second", "untrusted")
    assert re.fullmatch(
        r"input: second\ncommand: cat seen\.txt\nexit code 0 · \d+\.\d s · commit 0f3c9a10f3c9 · 19 bytes\n\n"
        r"from the workspace\n",
        block.text,
    )
    assert results[1].block.text.endswith("\n\nhello\n")
    record = results[0].record
    assert (record.exit_code, record.bytes, record.status, record.command) == (0, 19, "ok", "cat seen.txt")
    assert record.digest
    assert record.duration_s is not None


async def test_required_fails(sandbox: Counting, tmp_path: Path) -> None:
    """Told as the conversation shows it; what comes after it does not run."""
    inputs = [
        wanted("failing_tests", "echo out; echo 'ERROR: not found: tests/unit' >&2; exit 2"),
        wanted("other", "echo x"),
    ]
    with pytest.raises(UserError) as caught:
        await compute(inputs, sandbox=sandbox, workspace=tmp_path, env={}, retry="@bot retry r6")
    error = caught.value
    assert (error.code, error.message) == ("input_failed", "`failing_tests` exited with 2")
    assert error.detail == "ERROR: not found: tests/unit"
    assert error.hint == (
        "Mend the command in `.github/bot.yml` line 31, or set `required: false`; then `@bot retry r6`."
    )
    assert len(sandbox.ran) == 1


async def test_last_lines_of_stderr(sandbox: Counting, tmp_path: Path) -> None:
    """The end of it, within bounds."""
    with pytest.raises(UserError) as caught:
        await compute([wanted("a", "seq 1 5000 >&2; exit 1")], sandbox=sandbox, workspace=tmp_path, env={})
    assert caught.value.detail.split("\n") == [str(n) for n in range(4981, 5001)]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"argv": shell("sleep 60"), "timeout": 0.3}, "timed out after 0.3 s"),
        ({"argv": ("no-such-program-here",)}, "could not start: there is no program `no-such-program-here`"),
        ({"argv": ("a\0b",)}, "could not start: a command cannot hold a NUL character"),
        ({"argv": shell("kill -9 $$")}, "exited with 137"),
    ],
)
async def test_reasons(sandbox: Counting, tmp_path: Path, changes: dict[str, object], reason: str) -> None:
    """Time-out, missing program, impossible command, signal: required ends it, optional says `unavailable` and why."""
    with pytest.raises(UserError) as caught:
        await compute([wanted("it", "x", **changes)], sandbox=sandbox, workspace=tmp_path, env={})
    assert caught.value.message == f"`it` {reason}"
    inputs = [wanted("it", "x", required=False, **changes), wanted("next", "echo on")]
    results = await compute(inputs, sandbox=sandbox, workspace=tmp_path, env={})
    assert f"\nunavailable: {reason}\n" in results[0].block.text
    assert (results[0].record.status, results[0].record.reason) == ("unavailable", reason)
    assert results[0].record.digest == ""
    assert results[1].record.status == "ok"


async def test_optional_shows_stderr_only_on_failure(sandbox: Counting, tmp_path: Path) -> None:
    """Standard error helps to see why; else it is noise, and half an output is no output."""
    inputs = [
        wanted("bad", "echo half; echo why >&2; exit 3", required=False),
        wanted("good", "echo whole; echo noise >&2"),
    ]
    bad, good = await compute(inputs, sandbox=sandbox, workspace=tmp_path, env={})
    assert "why" in bad.block.text
    assert "half" not in bad.block.text.split("unavailable")[1]
    assert good.block.text.endswith("\n\nwhole\n")


async def test_empty_output(sandbox: Counting, tmp_path: Path) -> None:
    """A valid, empty block."""
    (result,) = await compute([wanted("quiet", "true")], sandbox=sandbox, workspace=tmp_path, env={})
    assert result.record.status == "ok"
    assert result.block.text.endswith(" · 0 bytes\n\n")


async def test_much_output(sandbox: Counting, tmp_path: Path) -> None:
    """Head and tail with a mark; the size is the whole."""
    code = "import sys; sys.stdout.write('first\\n' + 'x' * 3_000_000 + '\\nlast')"
    (result,) = await compute(
        [wanted("much", "python", argv=(sys.executable, "-c", code), max_bytes=1000)],
        sandbox=sandbox,
        workspace=tmp_path,
        env={},
    )
    assert result.record.bytes == 3_000_011
    text = result.block.text
    assert "\n\nfirst\n" in text
    assert text.endswith("x\nlast")
    assert re.search(r"\[… \d+ of 3000011 bytes cut …\]", text)
    assert len(text) < 1300


async def test_binary_and_invisible_output(sandbox: Counting, tmp_path: Path) -> None:
    """Undecodable bytes, control characters and hidden characters show; the rest is as printed."""
    (result,) = await compute(
        [wanted("binary", r"printf 'a\xff\x00\x1b[31mb\xe2\x80\xae <!-- c --> &lt;\r\n'")],
        sandbox=sandbox,
        workspace=tmp_path,
        env={},
    )
    assert result.block.text.endswith("\n\na\ufffd\\u{0}\\u{1b}[31mb\\u{202e} <!-- c --> &lt;\n")
    assert "2 control characters (2 bytes)" in result.record.removed


async def test_secrets_are_redacted(sandbox: Counting, tmp_path: Path) -> None:
    """In output, in the command, in the last lines of a failure."""

    def redact(text: str) -> str:
        return text.replace("hunter2", "[secret]")

    inputs = [wanted("a", "echo $S; : hunter2"), wanted("b", "echo $S >&2; exit 1", required=False)]
    results = await compute(inputs, sandbox=sandbox, workspace=tmp_path, env={"S": "hunter2"}, redact=redact)
    assert "hunter2" not in repr(results)
    assert all("[secret]" in result.block.text for result in results)
    with pytest.raises(UserError) as caught:
        await compute(
            [wanted("c", "echo $S >&2; exit 1")],
            sandbox=sandbox,
            workspace=tmp_path,
            env={"S": "hunter2"},
            redact=redact,
        )
    assert caught.value.detail == "[secret]"


def test_shown_command() -> None:
    """An argv is shown as a shell would read it."""
    assert ExecInput("a", ("grep", "a b"), WHERE).shown == "grep 'a b'"
