"""The one door to child processes: which isolation back end there is, and running a command in it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol

from bot.errors import OperatorError
from bot.workspace.bubblewrap import Bubblewrap, Unusable, probe
from bot.workspace.live import Live
from bot.workspace.process import Command, Completed
from bot.workspace.supervised import Supervised

SandboxMode = Literal["required", "off"]


class Sandbox(Protocol):
    """Runs commands; every process of a command is dead when `run` returns, raises or is cancelled."""

    @property
    def isolated(self) -> bool:
        """Whether children have namespaces of their own."""
        ...

    def describe(self) -> str:
        """One sentence for `doctor` and the demo."""
        ...

    async def run(self, command: Command) -> Completed:
        """Run it to its end or its time-out. Raises OperatorError where the instance cannot."""
        ...

    def open(self, command: Command) -> AbstractAsyncContextManager[Live]:
        """Start it to talk with, for as long as the block takes. Its `stdin`, `timeout` and `max_stdout` mean nothing.

        Raises OperatorError where the instance cannot.
        """
        ...


class Unavailable:
    """Stands where isolation is required and there is none: refuses every command with the mend."""

    isolated = False

    def __init__(self, found: Unusable) -> None:
        self._found = found

    def describe(self) -> str:
        return f"no isolation: {self._found.reason}. {self._found.mend}"

    async def run(self, command: Command) -> Completed:
        raise self._refusal()

    def open(self, command: Command) -> AbstractAsyncContextManager[Live]:
        raise self._refusal()

    def _refusal(self) -> OperatorError:
        return OperatorError(f"isolation is required, but {self._found.reason}", self._found.mend)


async def open_sandbox(mode: SandboxMode) -> Sandbox:
    """The back end for `BOT_SANDBOX`. `required` tries bubblewrap with the flags that every command gets."""
    if mode == "off":
        return Supervised()
    found = await probe()
    return Bubblewrap() if found is None else Unavailable(found)
