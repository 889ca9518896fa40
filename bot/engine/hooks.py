"""Where a webhook of a run's configuration goes, found at the moment it is sent."""

from __future__ import annotations

from urllib.parse import urlsplit

from bot.errors import UserError
from bot.publish import Act, Target
from bot.store import Store
from bot.store.tables import Run, Snapshot
from bot.workflows import Memo
from bot.workflows.resources import resolve
from bot.workspace import Reach, Secrets


class HookTargets:
    """Finds the target in the configuration that the run is pinned to; its secrets are read now, and kept nowhere.

    `reach` is the operator's ceiling: a host that is not open gets nothing.
    """

    def __init__(self, store: Store, memo: Memo, secrets: Secrets, reach: Reach) -> None:
        self._store = store
        self._memo = memo
        self._secrets = secrets
        self._reach = reach

    async def __call__(self, act: Act, resource: str) -> Target:
        """Raises UserError `resource_unavailable`, which names the resource and the reason, never a secret."""
        snapshot = await self._snapshot(act.row.run_id)
        checked = snapshot and self._memo.check(snapshot.repository_id, snapshot.commit, snapshot.files)
        known = checked.configuration.bot.resources if checked and checked.configuration else {}
        if resource not in known or known[resource].kind != "webhook":
            message = f"`{resource}` is no webhook of this configuration"
            raise UserError("resource_unavailable", message, "Add it to `resources`.")
        opened = resolve(resource, known[resource], self._secrets.of(act.thread.repository_id, act.thread.owner_id))
        parts = urlsplit(opened.address)
        host = parts.hostname or ""
        if not self._reach.to(host, parts.port or (443 if parts.scheme == "https" else 80)):
            message = f"the resource `{resource}` cannot be used: the operator has not opened `{host}`"
            raise UserError("resource_unavailable", message, "the operator opens hosts by name with BOT_NETWORK")
        return Target(opened.address, opened.headers)

    async def _snapshot(self, run_id: str | None) -> Snapshot | None:
        if run_id is None:
            return None
        return await self._store.read(lambda session: session.get(Snapshot, session.get_one(Run, run_id).snapshot_id))
