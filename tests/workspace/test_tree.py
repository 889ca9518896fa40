"""Cancellation while a tree is dying."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bot.workspace import tree
from bot.workspace.process import Command
from bot.workspace.sandbox import Sandbox


async def test_waiting_goes_on_through_cancellations() -> None:
    """However often: it ends when what it waits for has come, and says that it was cancelled."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()
    waiting = asyncio.create_task(tree._settle([future], 60))
    for _ in range(5):
        await asyncio.sleep(0)
        waiting.cancel()
    await asyncio.sleep(0)
    assert not waiting.done()
    future.set_result(None)
    assert await waiting is True
    assert await tree._settle([future], 60) is False


async def test_waiting_has_a_limit() -> None:
    """A process stuck in the kernel does not hold us for ever."""
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    assert await tree._settle([future], 0.01) is False
    assert not future.done()


async def test_a_cancellation_after_a_normal_end_still_counts(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = tree.Tree.stop

    async def cancelled_meanwhile(self: tree.Tree) -> bool:
        await stop(self)
        return True

    monkeypatch.setattr(tree.Tree, "stop", cancelled_meanwhile)
    with pytest.raises(asyncio.CancelledError):
        await sandbox.run(Command(("true",), tmp_path))
