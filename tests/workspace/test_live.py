"""Talking with a command while it runs, the same promises for both back ends."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.errors import OperatorError
from bot.workspace.bubblewrap import Unusable
from bot.workspace.live import Live
from bot.workspace.process import Command, shell
from bot.workspace.sandbox import Sandbox, Unavailable
from tests.workspace.test_sandbox import LEAVE, unique, until

Find = Callable[[str], list[int]]


async def line(live: Live) -> bytes:
    """Up to the end of a line."""
    found = b""
    while not found.endswith(b"\n"):
        chunk = await live.read()
        assert chunk, "it ended"
        found += chunk
    return found


async def test_it_answers_while_it_runs(sandbox: Sandbox, tmp_path: Path) -> None:
    """Question by question; with its folder, its variables, and what it says on standard error."""
    text = 'echo "$NAME" >&2; pwd; while read -r word; do echo "got $word"; done; echo bye; exit 3'
    async with sandbox.open(Command(shell(text), tmp_path, {"NAME": "x y"})) as live:
        assert await line(live) == f"{tmp_path}\n".encode()
        for word in ("one", "two"):
            assert await live.write(f"{word}\n".encode())
            assert await line(live) == f"got {word}\n".encode()
        done = await live.end(20)
        assert await line(live) == b"bye\n"
        assert await live.read() == b""
    assert (done.exit_code, done.stderr, done.stdout, done.timed_out) == (3, "x y\n", "", False)


async def test_both_sides_may_be_slow(sandbox: Sandbox, tmp_path: Path) -> None:
    """More than any pipe holds, in both directions at once."""
    data = b"x" * 999_999 + b"\n"
    async with sandbox.open(Command(("cat",), tmp_path)) as live:
        writing = asyncio.create_task(live.write(data))
        assert await line(live) == data
        assert await writing


async def test_one_that_is_gone_takes_nothing(sandbox: Sandbox, tmp_path: Path) -> None:
    """It is told, not raised."""
    async with sandbox.open(Command(("true",), tmp_path)) as live:
        assert await live.read() == b""
        assert not await live.write(b"x" * 1_000_000)
        assert (await live.end(20)).exit_code == 0


async def test_one_that_never_was(sandbox: Sandbox, tmp_path: Path) -> None:
    """It says which program is not there."""
    async with sandbox.open(Command(("no-such-program",), tmp_path)) as live:
        assert await live.read() == b""
        done = await live.end(20)
    assert (done.missing, done.exit_code) == ("no-such-program", None)
    assert "No such file" in done.stderr


async def test_one_that_does_not_end_is_told(sandbox: Sandbox, tmp_path: Path, processes: Find) -> None:
    """And is dead when the block is left, with everything it started."""
    n = unique()
    async with sandbox.open(Command(shell(f"{LEAVE.format(n=n)}; sleep {n}"), tmp_path)) as live:
        await asyncio.to_thread(until, (tmp_path / "started").exists)
        done = await live.end(0.01)
    assert (done.timed_out, done.exit_code) == (True, None)
    assert processes(n) == []


async def test_a_cancellation_kills_the_tree(sandbox: Sandbox, tmp_path: Path, processes: Find) -> None:
    """While it is read from, which has no end by itself."""
    n = unique()

    async def talk() -> None:
        async with sandbox.open(Command(shell(f"{LEAVE.format(n=n)}; sleep {n}"), tmp_path)) as live:
            await live.read()

    task = asyncio.create_task(talk())
    await asyncio.to_thread(until, (tmp_path / "started").exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert processes(n) == []


async def test_an_error_in_the_block_is_the_block_s(sandbox: Sandbox, tmp_path: Path, processes: Find) -> None:
    """It is not taken for ours, and the tree is dead."""
    n = unique()
    with pytest.raises(OSError, match="mine"):
        async with sandbox.open(Command(("sleep", n), tmp_path)):
            raise OSError("mine")
    assert processes(n) == []


async def test_no_descriptor_is_left(sandbox: Sandbox, tmp_path: Path) -> None:
    """However it ended."""
    async with sandbox.open(Command(("true",), tmp_path)) as live:
        await live.read()
    before = sorted(os.listdir("/proc/self/fd"))
    for argv in (("cat",), ("no-such-program",), ("sleep", "100")):
        async with sandbox.open(Command(argv, tmp_path)) as live:
            await live.write(b"x\n")
    async with sandbox.open(Command(("cat",), tmp_path)) as live:
        await live.end(20)
    assert sorted(os.listdir("/proc/self/fd")) == before


async def test_without_isolation_it_is_refused(tmp_path: Path) -> None:
    """As every command is."""
    with pytest.raises(OperatorError, match="isolation is required, but it is missing"):
        Unavailable(Unusable("it is missing", "mend it")).open(Command(("true",), tmp_path))
