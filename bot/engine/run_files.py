"""What a run's steps can read of the run itself: `.bot/run.json` in its clone, and the folder of what steps left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from bot import log
from bot.engine.frames import Tree
from bot.engine.projection import RUN_FILE, projection, to_bytes
from bot.engine.run_folder import RunFolder
from bot.engine.terms import Begun, Terms
from bot.errors import BotError
from bot.store import Store, runs, snapshots
from bot.workspace import Workspaces
from bot.workspace.files import Unreadable

_log = log.get("engine")


class RunFiles:
    """Of all runs that this process works on. `redact` takes secrets out of texts."""

    def __init__(self, store: Store, workspaces: Workspaces, redact: Callable[[str], str]) -> None:
        self._store, self._workspaces, self._redact = store, workspaces, redact
        self._folders: dict[str, RunFolder] = {}

    async def note(self, run_id: str, terms: Terms) -> None:
        """Write the run as it stands now into its clone, where it has one here. What fails costs no step."""

        async def content() -> bytes:
            rows = await self._store.read(lambda session: runs.rows(session, run_id))
            tree = Tree.of(rows, terms.workflow, terms.find)
            return await asyncio.to_thread(lambda: to_bytes(projection(rows, tree), self._redact))

        try:
            await self._workspaces.write(run_id, RUN_FILE, content)
        except (BotError, OSError, Unreadable) as error:
            _log.warning("run_file_not_written", run=run_id, reason=str(error))

    async def lay_out(self, begun: Begun) -> Path:
        """The folder of what steps left before an attempt. Raises OperatorError where the disk refuses."""
        run_id = begun.rows.run.id
        folder = self._folders.get(run_id)
        if folder is None:
            folder = self._folders[run_id] = RunFolder(self._workspaces.folder(run_id), self._redact)
        return await folder.lay_out(begun.tree, self._blob)

    def forget(self, run_id: str) -> None:
        """The run's folders are gone."""
        self._folders.pop(run_id, None)

    async def _blob(self, digest: str) -> bytes:
        return await self._store.read(lambda session: snapshots.get_blob(session, digest))
