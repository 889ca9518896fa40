"""A sandbox whose commands may reach the hosts that a repository opens for all of them."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace

from bot.workspace.live import Live
from bot.workspace.process import Command, Completed
from bot.workspace.reach import Reach
from bot.workspace.sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class Reaching:
    """See `Sandbox`. A command that names hosts of its own, as that of a resource does, keeps them."""

    sandbox: Sandbox
    reach: Reach

    @property
    def isolated(self) -> bool:
        return self.sandbox.isolated

    def describe(self) -> str:
        return self.sandbox.describe()

    async def run(self, command: Command) -> Completed:
        return await self.sandbox.run(self._with(command))

    def open(self, command: Command) -> AbstractAsyncContextManager[Live]:
        return self.sandbox.open(self._with(command))

    def _with(self, command: Command) -> Command:
        return command if command.network else replace(command, network=self.reach)
