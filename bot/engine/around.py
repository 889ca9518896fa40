"""What is around the steps of one run: GitHub and the store, or files on a laptop."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from bot.context import Sources, ThreadSnapshot, WindowPolicy
from bot.engine.assembly import Bench, RoleOf
from bot.engine.terms import Begun
from bot.model.context import Context
from bot.model.pull import Diff
from bot.runners import Said
from bot.steps.pull_request import Remote
from bot.steps.tools import ThreadAccess
from bot.workflows.resources import Opened
from bot.workspace import Reach, Workspace


@dataclass(frozen=True, slots=True)
class Place:
    """What a step works with: its folder, the variables its commands get, the template values.

    `readable` are folders that its commands may read besides.
    """

    workspace: Workspace
    env: Mapping[str, str]
    scope: Mapping[str, Any]
    readable: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What a review is held against: the diff at the head, what reviews of ours said before, where files are read."""

    diff: Diff
    known: Collection[str]
    blob_url: str


class Surroundings(Protocol):
    """What the work of an attempt may ask for. Errors are those of `bot.errors`."""

    @property
    def bench(self) -> Bench: ...

    @property
    def role_of(self) -> RoleOf: ...

    @property
    def reach(self) -> Reach:
        """The hosts that the operator and the repository open."""
        ...

    async def thread(self) -> ThreadSnapshot:
        """The thread at the run's anchor; read once a run."""
        ...

    async def blob(self, digest: str) -> bytes:
        """Bytes of the store."""
        ...

    async def attach(self, begun: Begun, context: Context) -> None:
        """Keep what an agent is about to be given."""
        ...

    def environment(self, names: Mapping[str, str | None]) -> dict[str, str]:
        """Variables as the YAML names them; None is the engine's own of that name, where the operator exports it."""
        ...

    def sources(self, policy: WindowPolicy) -> Sources:
        """Where inputs are read, for what a step may see."""
        ...

    def comments(self, policy: WindowPolicy) -> ThreadAccess:
        """The thread's comments, for the tools of an agent."""
        ...

    def opened(self, resource: str) -> Opened:
        """A resource with its secrets in. Raises UserError `resource_unavailable`."""
        ...

    async def reviewed(self) -> Reviewed:
        """What a review is held against. Raises UserError on an issue."""
        ...

    async def happened(self, event: str) -> dict[str, Any] | None:
        """What is waited for, where it is so already: `merged`, or `checks_completed` of the head; else None."""
        ...

    async def listen(self, begun: Begun, known: Collection[str]) -> Sequence[Said]:
        """What people said to an attempt since, where its conversation holds `known`; recorded as read."""
        ...

    def now(self) -> datetime:
        """The time."""
        ...

    async def remote(self) -> Remote:
        """The repository's branches."""
        ...
