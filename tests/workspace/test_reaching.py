"""Commands get the hosts of their repository, unless they have some of their own."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from bot.workspace import Command, Reach
from bot.workspace.live import Live
from bot.workspace.process import Completed
from bot.workspace.reaching import Reaching

OURS, THEIRS = Reach.of(["a.example"]), Reach.of(["b.example"])


class Seen:
    """A sandbox that notes what it is given."""

    isolated = True

    def __init__(self) -> None:
        self.given: list[Reach] = []

    def describe(self) -> str:
        return "noted"

    async def run(self, command: Command) -> Completed:
        self.given.append(command.network)
        return Completed(0, "", "", 0.0)

    def open(self, command: Command) -> AbstractAsyncContextManager[Live]:
        self.given.append(command.network)
        raise LookupError


async def test_what_a_command_may_reach(tmp_path: Path) -> None:
    """Run or talked with."""
    seen = Seen()
    sandbox = Reaching(seen, OURS)
    await sandbox.run(Command(("true",), tmp_path))
    await sandbox.run(Command(("true",), tmp_path, network=THEIRS))
    for network in (Reach(), THEIRS):
        try:
            sandbox.open(Command(("true",), tmp_path, network=network))
        except LookupError:
            continue
    assert seen.given == [OURS, THEIRS, OURS, THEIRS]
    assert (sandbox.isolated, sandbox.describe()) == (True, "noted")
