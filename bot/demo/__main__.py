"""`threadsmith demo`: plays the conversation, then serves the thread page until Ctrl-C."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rich.console import Console

from bot import log
from bot.demo.screen import Screen
from bot.errors import OperatorError

#: what shells take for an end by Ctrl-C
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; the exit code: 0 if the conversation went as expected, 1 if not, 130 if it was interrupted."""
    parser = argparse.ArgumentParser("threadsmith demo", description="A GitHub look-alike and the bot on loopback.")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--once", action="store_true", help="play the conversation, check it, and stop")
    parser.add_argument(
        "--port", type=int, default=8765, help="port of the thread page, unused with --once; 0: a free one"
    )
    way.add_argument("--no-bot", type=Path, metavar="FILE", help="no bot; settings for bots go to FILE")
    options = parser.parse_args(arguments)
    screen = Screen(Console(highlight=False))
    # what a real bot would log is told in better words on the screen
    log.configure("error")
    try:
        if options.no_bot is not None:
            return asyncio.run(stand(screen, port=options.port, file=options.no_bot))
        # whoever plays it once is shown no page, so no other demo need be in the way
        return asyncio.run(perform(screen, once=options.once, port=0 if options.once else options.port))
    except OperatorError as error:
        screen.fault(error.message, error.mend)
        return 1
    except KeyboardInterrupt:
        return _INTERRUPTED


async def perform(screen: Screen, *, once: bool, port: int) -> int:
    """Start everything, play, and unless `once` serve the page until SIGINT or SIGTERM; returns the exit code."""
    me, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert me is not None
    played = False
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, me.cancel)
    try:
        screen.opening()
        with screen.waiting("starting"):
            # seconds of imports, which nobody should wait for in front of an empty screen
            from bot.demo.stage import open_stage
            from bot.demo.story import Story
        async with open_stage(port) as stage:
            repo = stage.issue.repository
            screen.set_up(
                isolated=stage.isolation.isolated,
                isolation=stage.isolation.describe(),
                issue=f"{repo.full_name} #{stage.issue.number} {stage.issue.title}",
                url=stage.url,
            )
            began = time.monotonic()
            faults = await Story(stage, screen).play()
            screen.verdict(faults, len(stage.issue.comments), time.monotonic() - began)
            if once:
                return 1 if faults else 0
            played = True
            screen.closing(stage.url)
            await asyncio.Event().wait()
            raise AssertionError("nothing sets this event")
    except asyncio.CancelledError:
        # the only one who cancels this task is a signal
        me.uncancel()
        with suppress(OSError):
            screen.farewell()
        return 0 if played else _INTERRUPTED


async def stand(screen: Screen, *, port: int, file: Path) -> int:
    """Serve the look-alike alone, for bots that are processes of their own, until SIGINT or SIGTERM."""
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    with screen.waiting("starting"):
        from bot.demo.alone import FRONT_DOOR, open_alone
    async with open_alone(port, file) as url:
        screen.alone(url, str(file), FRONT_DOOR)
        await stopped.wait()
    with suppress(OSError):
        screen.farewell()
    return 0


if __name__ == "__main__":
    sys.exit(main())
