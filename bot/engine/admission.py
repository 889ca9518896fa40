"""Whether a run may start: the role of whoever asked, and the App's permissions, before anything of it runs."""

from __future__ import annotations

from datetime import timedelta

from bot import log
from bot.engine.graph import End
from bot.engine.permissions import missing
from bot.engine.tools import Tools
from bot.engine.trials import trial_of
from bot.errors import Forbidden, NotFound, Transient
from bot.github import RepositoryClient
from bot.model.installation import Installation
from bot.model.outcome import Failed
from bot.model.role import Role
from bot.model.state import RunState
from bot.store import Session, deliveries
from bot.store.runs import RunRows
from bot.workflows import Configuration, Workflow

_log = log.get("engine")

#: a role read this recently, when the dispatch was accepted, is not asked again at the start
FRESH = timedelta(seconds=10)
#: ends whose reason may reach nobody in the thread
_UNHEARD = ("permission_missing: ", "app_suspended: ")


class Admission:
    """Looks before a run's first attempt. What has begun goes on."""

    def __init__(self, tools: Tools) -> None:
        self._t = tools

    async def ask(self, rows: RunRows, configuration: Configuration, client: RepositoryClient) -> End | None:
        """The end where it must not start, None where it may. Raises `Transient` where nobody can tell the role now."""
        if any(attempt.taken_from is None for attempt in rows.attempts):
            return None
        return await self._role(rows, configuration, client) or await self._permissions(rows, configuration)

    async def _role(self, rows: RunRows, configuration: Configuration, client: RepositoryClient) -> End | None:
        if not rows.dispatch.actor_role or self._t.clock.now() - rows.dispatch.created_at <= FRESH:
            return None
        # a branch does not say who may try it
        trial = trial_of(rows.dispatch)
        needed = configuration.role_for(rows.run.workflow) if trial is None else Role(trial.role)
        try:
            role = await client.permission(rows.dispatch.actor, rows.dispatch.actor_id)
        except (NotFound, Forbidden):
            role = Role.NONE
        if role.at_least(needed):
            return None
        return End(RunState.CANCELLED, None, "The role of the person who asked changed before this started.")

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
        mention = configuration.bot.mention
        handle = f"@{mention[0]}" if mention else self._t.handle()
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
