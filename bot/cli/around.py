"""What is around the steps of a local run: a thread from a file, this machine's commands, and no GitHub."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NoReturn

from bot.cli.console import out
from bot.cli.local import ThreadFile
from bot.context import Selection, Sources, ThreadSnapshot, Unavailable, WindowPolicy, authors_needed, estimate, select
from bot.engine.around import Reviewed
from bot.engine.assembly import Bench
from bot.engine.grant import environment
from bot.engine.terms import Begun
from bot.errors import UserError
from bot.model.context import Context
from bot.model.outcome import Done, Failed, Outcome
from bot.model.role import Role
from bot.model.thread import Account
from bot.publish import Redactor
from bot.runners import Call, Runners, Said
from bot.settings import Settings
from bot.steps.pull_request import Remote
from bot.steps.tools import CommentPage, ThreadAccess
from bot.store import Store, snapshots
from bot.workflows import Configuration
from bot.workflows.resources import Opened, resolve
from bot.workspace import Reach, Sandbox, Secrets
from bot.workspace.reaching import Reaching

_HERE = "a local run has no GitHub"


@dataclass(frozen=True, slots=True)
class LocalSources:
    """Inputs that need GitHub are not to be had; the comments are those of the file."""

    file: ThreadFile
    snapshot: ThreadSnapshot
    policy: WindowPolicy

    async def diff(self) -> NoReturn:
        raise Unavailable(_HERE)

    async def failed_logs(self) -> NoReturn:
        raise Unavailable(_HERE)

    async def unresolved_threads(self) -> NoReturn:
        raise Unavailable(_HERE)

    async def linked_issues(self) -> NoReturn:
        raise Unavailable(_HERE)

    async def comments(self, count: int) -> Selection:
        roles: dict[int, Role] = {}
        while needed := authors_needed(self.snapshot, self.policy, roles):
            roles |= {account.id: self.file.role(account) for account in needed}
        return select(self.snapshot, self.policy, roles)


class LocalComments:
    """A file's thread has no comments beyond those in the prompt, and nothing to pin."""

    async def page(self, before: int | None, count: int) -> CommentPage:
        return CommentPage("", 0, None)

    async def objection(self, what: str, comment_id: int) -> str:
        return _HERE


@dataclass(frozen=True, slots=True)
class Local:
    """See `engine.around.Surroundings`. With `dry_run` prompts are printed and nobody is asked."""

    settings: Settings
    file: ThreadFile
    configuration: Configuration
    snapshot: ThreadSnapshot
    sandbox: Sandbox
    runners: Runners
    store: Store
    redactor: Redactor
    dry_run: bool

    @property
    def bench(self) -> Bench:
        hosts = self.configuration.bot.workspace.hosts
        return Bench(
            sandbox=Reaching(self.sandbox, Reach.of(hosts).under(self.reach)) if hosts else self.sandbox,
            runners=Unasked.of(self) if self.dry_run else self.runners,
            nonce_key=b"local",
            redact=self.redactor,
            handle="@bot",
        )

    @property
    def reach(self) -> Reach:
        return Reach.of(self.settings.network)

    async def role_of(self, account: Account) -> Role:
        return self.file.role(account)

    async def thread(self) -> ThreadSnapshot:
        return self.snapshot

    async def blob(self, digest: str) -> bytes:
        return await self.store.read(lambda session: snapshots.get_blob(session, digest))

    async def attach(self, begun: Begun, context: Context) -> None:
        if self.dry_run and context.prompt:
            out(f"{context.system}\n{context.prompt}")

    def environment(self, names: Mapping[str, str | None]) -> dict[str, str]:
        return environment(names, self.settings.export_env, os.environ)

    def sources(self, policy: WindowPolicy) -> Sources:
        return LocalSources(self.file, self.snapshot, policy)

    def comments(self, policy: WindowPolicy) -> ThreadAccess:
        return LocalComments()

    def opened(self, resource: str) -> Opened:
        return resolve(resource, self.configuration.bot.resources[resource], self.secret)

    def secret(self, name: str) -> str:
        """A secret of the folder that the settings name, bound to the repository of the thread's file."""
        repository = self.file.repository
        folder = self.settings.secrets_dir
        return Secrets(folder, self.redactor.add).of(repository.id, repository.owner.id)(name)

    async def reviewed(self) -> Reviewed:
        raise UserError("not_possible_here", _HERE, "Try it on a pull request of a test repository.")

    async def happened(self, event: str) -> None:
        """Nothing ever happens on a thread from a file."""

    async def listen(self, begun: Begun, known: Collection[str]) -> Sequence[Said]:
        """Nobody says anything to a local run."""
        return ()

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def remote(self) -> Remote:
        raise UserError("not_possible_here", _HERE, "Try it on an issue of a test repository.")


class Unasked(Runners):
    """Runners that ask nobody."""

    @classmethod
    def of(cls, local: Local) -> Unasked:
        """Those of a local run, silenced."""
        return cls(local.runners.providers, local.sandbox, local.runners.default_model)

    def check(self, call: Call) -> Failed | None:
        return None

    async def run(self, call: Call) -> Outcome:
        tokens = estimate(call.system) + estimate(call.prompt)
        return Done(f"(dry run: {call.agent} was not asked; its prompt has about {tokens:,} tokens)")
