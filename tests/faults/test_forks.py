"""What is forked is a process like one that `python -m` starts, its end too."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from pathlib import Path

from tests.faults.forks import fork


def main() -> None:
    """What is forked: whoever is told a file leaves a thread behind that writes it, others wait."""
    if len(sys.argv) == 1:
        signal.pause()
    threading.Thread(target=_linger, args=(Path(sys.argv[1]),)).start()
    raise SystemExit(3)


def _linger(done: Path) -> None:
    threading.main_thread().join()
    done.touch()


async def test_a_thread_that_is_left_keeps_a_process(tmp_path: Path) -> None:
    """Or a bot that does not end by itself would be seen to end."""
    done = tmp_path / "done"
    async with asyncio.timeout(20):
        assert await fork(__name__, str(done), environ={}).wait() == 3
    assert done.exists()


async def test_how_it_ended() -> None:
    """By a signal, as a negative number; and whatever it could not import is a failure."""
    forked = fork(__name__, environ={})
    assert forked.returncode is None
    forked.send_signal(signal.SIGKILL)
    async with asyncio.timeout(20):
        assert set(await asyncio.gather(forked.wait(), forked.wait())) == {-9}
        forked.send_signal(signal.SIGKILL)
        assert await fork("tests.faults.nothing", environ={}).wait() == 1
