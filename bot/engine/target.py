"""Where an outgoing webhook goes: a resource of the run's own configuration, with the operator's secrets put in."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from bot.errors import UserError
from bot.publish import Act, Target
from bot.store import Session, Store, runs
from bot.workflows import Memo
from bot.workflows.resources import Resource, resolve
from bot.workspace import Reach, Secrets

_PORTS = {"http": 80, "https": 443}


class Targets:
    """Resolves a webhook's target at the moment it is sent, so that nothing of it is ever kept."""

    def __init__(self, store: Store, memo: Memo, secrets: Secrets, reach: Reach) -> None:
        self._store, self._memo, self._secrets, self._reach = store, memo, secrets, reach

    async def __call__(self, act: Act, name: str) -> Target:
        """The target of the resource `name` for a row of the outbox.

        Raises UserError `resource_unavailable` where it is gone, lacks a secret, or lies outside `BOT_NETWORK`.
        """
        resources = await self._store.read(lambda session: self._resources(session, act))
        resource = resources.get(name)
        if resource is None or resource.webhook is None:
            raise UserError("resource_unavailable", f"the configuration of the run has no webhook `{name}`", "")
        parts = urlsplit(resource.webhook)
        if not self._reach.to(parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)):
            message = f"the resource `{name}` cannot be used: the operator has not opened `{parts.hostname}`"
            raise UserError("resource_unavailable", message, "the operator opens hosts by name with BOT_NETWORK")
        opened = resolve(name, resource, self._secrets.of(act.thread.repository_id, act.thread.owner_id))
        return Target(opened.address, opened.headers)

    def _resources(self, session: Session, act: Act) -> Mapping[str, Resource]:
        if act.row.run_id is None:
            return {}
        snapshot = runs.rows(session, act.row.run_id).snapshot
        usable = self._memo.check(snapshot.repository_id, snapshot.commit, snapshot.files).configuration
        return usable.bot.resources if usable is not None else {}
