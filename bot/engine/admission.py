"""Whether a run may start, or go on: the role of whoever asked, and at the start the App's permissions."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

from bot import log
from bot.engine.graph import End
from bot.engine.permissions import missing
from bot.engine.tools import Tools
from bot.engine.trials import trial_of
from bot.errors import Forbidden, NotFound, Transient, UserError
from bot.github import RepositoryClient
from bot.model.installation import Installation
from bot.model.outcome import Failed
from bot.model.role import Role
from bot.model.state import RunState
from bot.store import Session, deliveries
from bot.store.runs import RunRows
from bot.workflows import Configuration, Workflow

_log = log.get("engine")

#: a role read this recently, when the dispatch was accepted or the run was looked at before, is not asked again
FRESH = timedelta(seconds=10)
#: runs whose last look is remembered; of one that is not, it is long ago
MOST = 10_000
#: whatever has happened of it before: whoever asked may ask no more
REVOKED = "The role of the person who asked changed meanwhile."
#: where a repository's own files lie; those of a base have another name in front
OWN = ".github/"
#: ends whose reason may reach nobody in the thread
_UNHEARD = ("permission_missing: ", "app_suspended: ")


class Admission:
    """Looks before a run's first attempt, and whenever it goes on after it has waited."""

    def __init__(self, tools: Tools) -> None:
        self._t = tools
        self._looked: dict[str, datetime] = {}

    async def ask(self, rows: RunRows, configuration: Configuration, client: RepositoryClient) -> End | None:
        """The end where it must not start or go on, None where it may.

        Raises `Transient` where nobody can tell the role now.
        """
        end = await self._role(rows, configuration, client)
        if end is not None or any(attempt.taken_from is None for attempt in rows.attempts):
            return end
        return await self._permissions(rows, configuration)

    async def _role(self, rows: RunRows, configuration: Configuration, client: RepositoryClient) -> End | None:
        now = self._t.clock.now()
        # the clock may have been set back since
        if abs(now - self._looked.get(rows.run.id, rows.dispatch.created_at)) <= FRESH:
            return None
        if rows.dispatch.actor_role:
            may = await self._may(rows, configuration, client)
        else:
            may = rows.dispatch.actor_id in (await self._now(rows, configuration, client)).bot.allow_bots
        if not may:
            return End(RunState.CANCELLED, None, REVOKED)
        if len(self._looked) >= MOST:
            self._looked.clear()
        self._looked[rows.run.id] = now
        return None

    async def _may(self, rows: RunRows, configuration: Configuration, client: RepositoryClient) -> bool:
        # a branch does not say who may try it
        trial = trial_of(rows.dispatch)
        needed = configuration.role_for(rows.run.workflow) if trial is None else Role(trial.role)
        try:
            role = await client.permission(rows.dispatch.actor, rows.dispatch.actor_id)
        except Forbidden:
            role = Role.NONE
        return role.at_least(needed)

    async def _now(self, rows: RunRows, before: Configuration, client: RepositoryClient) -> Configuration:
        """What the default branch says now, with the base that the run has; `before` where that cannot be used."""
        try:
            commit = await client.head(rows.thread.default_branch)
            raw = await client.configuration_files(commit)
            files = {path: data.decode("utf-8-sig") for path, data in raw.items()}
        except (NotFound, Forbidden, UserError, UnicodeDecodeError):
            return before
        base = {path: text for path, text in rows.snapshot.files.items() if not path.startswith(OWN)}
        version = f"{commit}+{rows.snapshot.commit}" if base else commit
        checked = await asyncio.to_thread(self._t.memo.check, rows.thread.repository_id, version, files | base)
        return checked.configuration or before

    async def _permissions(self, rows: RunRows, configuration: Configuration) -> End | None:
        workflow = configuration.workflow_for(rows.run.workflow)
        if workflow is None:
            return None
        found = await self._installed(rows)
        failed = self._lacking(rows, configuration, workflow, found) if found is not None else None
        if failed is not None:
            # somebody may have granted it a moment ago
            self._t.github.forget_grants(rows.thread.installation_id)
            found = await self._installed(rows)
            failed = self._lacking(rows, configuration, workflow, found) if found is not None else None
        return None if failed is None else End(RunState.FAILED, None, f"{failed.code}: {failed.message}", failed.hint)

    def _lacking(
        self, rows: RunRows, configuration: Configuration, workflow: Workflow, found: Installation
    ) -> Failed | None:
        if found.suspended:
            return Failed("app_suspended", "the App's installation is suspended", "Its owner can unsuspend it.")
        pull_request = rows.thread.is_pull_request
        trial = rows.dispatch.trial
        lacking = missing(configuration, workflow, found.permissions, pull_request=pull_request, trial=trial)
        if not lacking:
            return None
        names = ", ".join(f"`{name}`" for name in lacking)
        message = f"the App has not been granted {names}: {next(iter(lacking.values()))}"
        handle = configuration.bot.handle(self._t.handle())
        hint = (
            "Whoever administers this account accepts it in the App's settings (*GitHub Apps*, *Configure*); where it "
            f"is not asked for there, the App's owner adds it first. Then `{handle} retry r{rows.run.number}`."
        )
        return Failed("permission_missing", message, hint)

    async def _installed(self, rows: RunRows) -> Installation | None:
        """None where GitHub does not tell: the run goes on, and whatever it cannot do says so itself."""
        try:
            return await self._t.github.installed(rows.thread.installation_id)
        except (Transient, NotFound, Forbidden) as error:
            _log.info("grants_unknown", run=rows.run.id, reason=str(error))
            return None


def note_unheard(session: Session, rows: RunRows, end: End) -> None:
    """Keep with the delivery why nothing came of it, where nobody may be able to say so in the thread."""
    if end.reason.startswith(_UNHEARD):
        deliveries.note(session, rows.dispatch.delivery_id, end.reason)
