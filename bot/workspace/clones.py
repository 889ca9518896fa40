"""A run's folders: private clones that no child can use to reach the mirror, the token, or the next step's trust."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from bot.model.ident import new_id
from bot.workspace import luggage
from bot.workspace.clone import Clone, Kept, Left, load, save, tracked_of
from bot.workspace.files import write_file
from bot.workspace.folder import discard
from bot.workspace.git import Git
from bot.workspace.mirrors import Mirrors
from bot.workspace.remote import Origin, check_url, full_ref

WorkspaceMode = Literal["none", "read"]

_RUN = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder for a step's commands. `commit` is what is checked out, None for `none`."""

    path: Path
    commit: str | None
    mode: WorkspaceMode


@dataclass(slots=True)
class _Use:
    """Who is in a run's clone now: parallel steps share it, the last one out restores it."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    #: whether the clone here was held against what rows know, since the run was last taken
    known: bool = False


class Workspaces:
    """The mirrors and runs under a data folder. `allowed_host` is `scheme://host[:port]` of the clones' server."""

    def __init__(self, directory: Path, git: Git, *, allowed_host: str) -> None:
        # children are given these paths; with a link in them they would be refused
        self._directory = directory.resolve()
        self._git = git
        self._allowed_host = allowed_host
        self._mirrors = Mirrors(self._directory / "mirrors", git)
        self._uses: dict[str, _Use] = {}

    @asynccontextmanager
    async def open(
        self,
        mode: WorkspaceMode,
        *,
        run_id: str,
        repository_id: int,
        origin: Origin,
        ref: str,
        kept: Kept | None = None,
    ) -> AsyncIterator[Workspace]:
        """A folder for one attempt.

        `none` is empty and gone afterwards. `read` is the run's private clone at the commit that `ref` (a branch or
        `refs/pull/N/head`) had when the run first came; afterwards tracked files return to that commit, untracked and
        ignored ones stay. Where the run comes from elsewhere, `kept` says what the clone was there, and so it is here.
        Raises OperatorError for an address elsewhere and for faults of this machine, UserError for an impossible ref
        and for files that are lost with another machine, NotFound, Forbidden or Transient for what the remote said.
        """
        run = self._run(run_id)
        if mode == "none":
            run.mkdir(mode=0o700, parents=True, exist_ok=True)
            empty = Path(tempfile.mkdtemp(prefix="empty-", dir=run))
            try:
                yield Workspace(empty, None, mode)
            finally:
                await discard(empty)
            return
        clone = Clone(self._git, self._mirrors, run, self._checked(origin))
        ref = full_ref(ref)
        use = self._uses.setdefault(run_id, _Use())
        async with use.lock:
            commit = await clone.enter(repository_id, ref, alone=use.users == 0, kept=None if use.known else kept)
            use.known = True
            use.users += 1
        try:
            yield Workspace(clone.path, commit, mode)
        finally:
            use.users -= 1
            async with use.lock:
                if use.users == 0:
                    await clone.leave()

    def _checked(self, origin: Origin) -> Origin:
        """The same, with every address held against the clones' server before git sees it."""

        async def renamed() -> str:
            return check_url(await origin.renamed(), self._allowed_host)

        return Origin(check_url(origin.url, self._allowed_host), origin.token, renamed)

    async def write(self, run_id: str, path: str, make: Callable[[], Awaitable[bytes]]) -> bool:
        """Put a file into the run's clone, where it has one here; links and what else is in its way go.

        Whether there is a clone. `make` is asked for the content when nobody else writes, so that the newest stays.
        Raises Unreadable and OSError.
        """
        run = self._run(run_id)
        if load(run) is None:
            return False
        async with self._uses.setdefault(run_id, _Use()).writing:
            await asyncio.to_thread(write_file, run / "workspace", path, await make(), force=True)
        return True

    def arrive(self, run_id: str) -> None:
        """The run was taken from the queue: what is here of it may be older than what rows know."""
        self._uses.setdefault(run_id, _Use()).known = False

    async def left(self, run_id: str) -> Left | None:
        """What the run's steps have left in its clone here, None where there is none or nothing new.

        Raises OSError.
        """
        run = self._run(run_id)
        use = self._uses.setdefault(run_id, _Use())
        async with use.lock:
            state = load(run)
            if state is None:
                return None
            tracked = tracked_of(run)
            seen = await asyncio.to_thread(luggage.mark_of, run / "workspace", tracked)
            if seen == state.seen:
                return None
            try:
                data: bytes | None = await asyncio.to_thread(luggage.pack, run / "workspace", tracked) if seen else b""
            except luggage.TooMuch:
                data = None
            mark = new_id() if seen else ""
            save(run, state.model_copy(update={"mark": mark, "seen": seen}))
            return Left(mark, data)

    def folder(self, run_id: str) -> Path:
        """Where everything of a run is on this machine, until it is removed; it may not be there yet."""
        return self._run(run_id)

    async def remove(self, run_id: str) -> None:
        """Everything of a run goes; the mirror stays. Nothing to remove is fine."""
        run = self._run(run_id)
        if state := load(run):
            async with self._mirrors.open(state.repository_id) as mirror:
                if mirror.path.is_dir():
                    await mirror.release(run_id)
        await discard(run)
        self._uses.pop(run_id, None)

    def known(self) -> list[str]:
        """Ids of the runs that have a folder here."""
        runs = self._directory / "runs"
        return sorted(entry.name for entry in runs.iterdir() if _RUN.fullmatch(entry.name)) if runs.is_dir() else []

    def _run(self, run_id: str) -> Path:
        if not _RUN.fullmatch(run_id):
            raise ValueError(f"{run_id!r} is no run id")
        return self._directory / "runs" / run_id
