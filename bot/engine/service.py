"""What is around an attempt in the service: GitHub, the store, the operator's secrets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.context import ThreadSnapshot, WindowPolicy
from bot.engine.around import Reviewed
from bot.engine.assembly import Bench, RoleOf
from bot.engine.comments import ThreadComments
from bot.engine.commit import attach
from bot.engine.grant import environment
from bot.engine.reading import Reading
from bot.engine.sources import GitHubSources
from bot.engine.steering import listen
from bot.engine.terms import Begun, Terms
from bot.engine.tools import Tools
from bot.errors import UserError
from bot.github import RepositoryClient
from bot.model.context import Context
from bot.model.pull import Diff, concluded
from bot.publish import told_findings
from bot.runners import Said
from bot.steps.pull_request import Remote
from bot.store import snapshots, threads
from bot.workflows.resources import Opened, resolve
from bot.workspace import Reach


@dataclass(frozen=True, slots=True)
class Service:
    """The surroundings of one attempt; see `around.Surroundings`."""

    tools: Tools
    reading: Reading
    begun: Begun
    terms: Terms
    client: RepositoryClient
    bench: Bench
    role_of: RoleOf
    #: reads an operator's secret for this repository; raises UserError `secret_unavailable`
    secret: Callable[[str], str]
    #: the checkout is a fork's head
    foreign: bool = False

    @property
    def reach(self) -> Reach:
        return Reach() if self.foreign else self.tools.reach

    async def thread(self) -> ThreadSnapshot:
        return await self.reading.thread(self.begun.rows, self.terms, self.client)

    async def blob(self, digest: str) -> bytes:
        return await self.tools.store.read(lambda session: snapshots.get_blob(session, digest))

    async def attach(self, begun: Begun, context: Context) -> None:
        texts = (context.system, context.prompt)
        prompt = "\n\n".join(texts).encode("utf-8", "replace") if any(texts) else b""
        manifest = context.manifest.model_dump(mode="json")
        now = self.tools.clock.now()
        await self.tools.store.write(lambda session: attach(session, begun.attempt.id, prompt, manifest, now))

    def environment(self, names: Mapping[str, str | None]) -> dict[str, str]:
        return environment(names, () if self.foreign else self.tools.export_env, self.tools.environ)

    def sources(self, policy: WindowPolicy) -> GitHubSources:
        rows = self.begun.rows
        return GitHubSources(
            self.client,
            number=rows.thread.number,
            is_pull_request=rows.thread.is_pull_request,
            read_thread=lambda count: self.reading.window(rows, self.terms, self.client, count),
            policy=policy,
            role_of=self.role_of,
        )

    def comments(self, policy: WindowPolicy) -> ThreadComments:
        rows = self.begun.rows
        return ThreadComments(
            self.client,
            number=rows.thread.number,
            thread=self.thread,
            read=lambda anchor, count, position: self.reading.window(
                rows, self.terms, self.client, count, anchor, position
            ),
            policy=policy,
            role_of=self.role_of,
            pinned=self._pinned,
            least=self.terms.configuration.bot.trigger_role,
            nonce_key=self.bench.nonce_key,
        )

    async def _pinned(self) -> frozenset[int]:
        thread = self.begun.rows.thread.id
        rows = await self.tools.store.read(lambda session: threads.pins(session, thread))
        return frozenset(row.comment_id for row in rows if not row.native)

    def opened(self, resource: str) -> Opened:
        return resolve(resource, self.terms.configuration.bot.resources[resource], self.secret)

    async def reviewed(self) -> Reviewed:
        thread = self.begun.rows.thread
        if not thread.is_pull_request:
            message = "this thread is an issue, so there is nothing to review"
            raise UserError("review_thread", message, "Use `review` in a workflow for pull requests.")
        pull = await self.client.pull_request(thread.number)
        diff = Diff(pull.number, pull.base, pull.head_sha, await self.client.diff(pull.number))
        said = (*await self.client.reviews(pull.number), *await self.client.review_comments(pull.number))
        known = told_findings(
            self.tools.marker, said, repository_id=thread.repository_id, thread=thread.number, mine=self.tools.mine
        )
        url = str(self.begun.rows.dispatch.issue.get("url", "")).rpartition("/pull/")[0]
        return Reviewed(diff, known, f"{url}/blob/{pull.head_sha}" if url else "")

    async def happened(self, event: str) -> dict[str, Any] | None:
        thread = self.begun.rows.thread
        if not thread.is_pull_request:
            return None
        pull = await self.client.pull_request(thread.number)
        if event == "merged":
            return {"event": event, "sha": pull.head_sha, "url": pull.url} if pull.merged else None
        # our own checks say how runs stand, this one too: nobody waits for them
        own = self.client.app_id
        checks = [one for one in await self.client.check_runs(pull.head_sha) if own is None or one.app_id != own]
        # a commit without any check may get its first in a moment
        conclusion = concluded(checks) if checks else None
        return None if conclusion is None else {"event": event, "sha": pull.head_sha, "conclusion": conclusion}

    async def listen(self, begun: Begun, known: Collection[str]) -> Sequence[Said]:
        tools = self.tools
        return await listen(tools.store, tools.clock, self.bench, self.role_of, begun.attempt.id, known)

    def now(self) -> datetime:
        return self.tools.clock.now()

    async def remote(self) -> Remote:
        return self.client
