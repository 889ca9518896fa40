"""Fetches what runs are given, in the service, and puts it where steps find it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bot.engine.attachments import asking_comment, asking_kind, fetcher
from bot.engine.commit import Performed, keep_inputs
from bot.engine.graph import End
from bot.engine.rendering import rendering
from bot.engine.run_folder import has_commands
from bot.engine.run_inputs import fetched, fetched_for_use, is_kept, names_file, seen_files, told
from bot.engine.terms import Begun, Terms
from bot.engine.tools import Tools, workspace_of
from bot.errors import Forbidden, NotFound, OperatorError, UserError
from bot.github import RepositoryClient
from bot.model.state import RunState
from bot.store import snapshots
from bot.store.runs import RunRows
from bot.workflows import Configuration
from bot.workflows.step import UsesStep
from bot.workspace import Workspace
from bot.workspace.files import Unreadable
from bot.workspace.staging import Fetch, stage


class Giving:
    """One for the instance."""

    def __init__(self, tools: Tools) -> None:
        self._t = tools

    async def begin(self, rows: RunRows, terms: Terms, client: RepositoryClient) -> End | None:
        """Fetch the files of a run before its first step, once; why it must not begin where one does not do.

        Raises Transient where GitHub gave no answer.
        """
        declared = {name: one for name, one in terms.workflow.inputs.items() if one.type == "file"}
        # what was taken over has its files with it, where there were any
        if rows.attempts or is_kept(rows.root) or not declared.keys() & rows.dispatch.inputs.keys():
            return None
        try:
            files, violations = await fetched(
                declared,
                rows.dispatch.inputs,
                checkout=lambda: self._checkout(rows, client),
                fetch=_fetcher(client, rows),
            )
        except UserError as error:
            return End(RunState.FAILED, None, f"{error.code}: {error.message}", error.hint)
        except OperatorError as error:
            return End(RunState.FAILED, None, f"not_possible_here: {error.message}", error.mend)
        except (NotFound, Forbidden) as error:
            return End(RunState.FAILED, None, f"github_refused: {error}")
        if violations:
            return End(RunState.FAILED, None, told(violations))
        now = self._t.clock.now()
        await self._t.store.write(lambda session: keep_inputs(session, rows.run.id, files, now))
        return None

    async def use(self, begun: Begun, terms: Terms, client: RepositoryClient) -> Performed:
        """Read the files of a workflow that is about to be used. Raises what `bot.errors` has."""
        step, rows = begun.step, begun.rows
        assert isinstance(step, UsesStep)
        used = terms.find(step.uses)
        assert used is not None, "a workflow that is not there is refused at load"
        values: Mapping[str, Any] = await self._t.store.read(
            lambda session: rendering(session, rows, begun.tree, begun.level, step, begun.attempt)
        )
        outcome, files = await fetched_for_use(
            step,
            begun.level,
            values,
            used,
            checkout=lambda: self._checkout(rows, client, begun),
            fetch=_fetcher(client, rows),
        )
        return Performed(outcome, given=files)

    @asynccontextmanager
    async def _checkout(
        self, rows: RunRows, client: RepositoryClient, begun: Begun | None = None
    ) -> AsyncIterator[Path]:
        async with workspace_of(self._t, rows, client, "read") as workspace:
            if begun is not None:  # a path may be that of a file which the caller was given
                await self.lay(begun, workspace)
            yield workspace.path

    async def lay(self, begun: Begun, workspace: Workspace, configuration: Configuration | None = None) -> None:
        """Put the files that a step may see into its folder; an empty one gets them where the step can look at them.

        Raises UserError where what is there cannot make room, or the disk refuses.
        """
        if workspace.mode == "none":
            step, workflow = begun.step, begun.level.workflow
            if configuration is None or not (
                has_commands(step, configuration) or names_file(step, workflow, configuration)
            ):
                return
        for path, digest in seen_files(begun.level).items():
            make = partial(self._content, digest)
            try:
                if workspace.mode == "none":
                    await asyncio.to_thread(stage, workspace.path, {path: await make()})
                else:
                    await self._t.workspaces.write(begun.rows.run.id, path, make)
            except (Unreadable, OSError) as error:
                raise UserError("file", f"`{path}` cannot be put into the workspace: {error}") from error

    async def _content(self, digest: str) -> bytes:
        return await self._t.store.read(lambda session: snapshots.get_blob(session, digest))


def _fetcher(client: RepositoryClient, rows: RunRows) -> Fetch:
    """Reads attachments of what asked for the run."""
    return fetcher(client, asking_comment(rows), rows.thread.number, asking_kind(rows))
