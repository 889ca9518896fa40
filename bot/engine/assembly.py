"""Puts an agent step's context together: thread, roles, inputs, prompt; the thread is read once a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from bot.context import (
    Anchor,
    ExecInput,
    PinnedComment,
    Request,
    RunFacts,
    StoredVersion,
    ThreadSnapshot,
    WindowPolicy,
    assemble,
    authors_needed,
    compute,
    fence_value,
    read_thread,
    select,
)
from bot.engine.commit import Begun, Terms, keep_thread
from bot.engine.roles import Roles
from bot.engine.tools import Tools
from bot.github import RepositoryClient
from bot.model.codec import comment_from_json
from bot.model.context import Context
from bot.model.role import Role
from bot.model.slot import Slot
from bot.model.thread import Account, Comment
from bot.runners import Call, Limits, prompt_bound
from bot.store import Session, deliveries, outbox, snapshots, threads
from bot.store.runs import RunRows
from bot.store.tables import CommentVersion, Pin
from bot.workflows import Agent, AgentStep
from bot.workflows import ExecInput as Declared
from bot.workspace import Workspace

Environment = Callable[[Mapping[str, str | None]], dict[str, str]]


class Assembler:
    """Reads what a step must know and has `context` put it together."""

    def __init__(self, tools: Tools) -> None:
        self._t = tools
        self._roles = Roles(tools.clock)

    async def context(
        self,
        begun: Begun,
        terms: Terms,
        step: AgentStep,
        agent: Agent,
        *,
        client: RepositoryClient,
        workspace: Workspace,
        env: Mapping[str, str],
        scope: Mapping[str, object],
        resolve: Environment,
    ) -> Context:
        """The context of one attempt. Raises `UserError` where a required input fails or the prompt is too large."""
        rows, bot = begun.rows, terms.configuration.bot
        snapshot = await self._thread(rows, terms, client)
        policy = WindowPolicy(
            count=bot.history_comment_count,
            authors=bot.history.authors,
            bots=bot.history.bots,
            public=not rows.thread.private,
            # a step that names a variable of the engine's holds something that is not everybody's
            secrets=any(value is None for value in _named(step, terms).values()),
            network=bool(bot.workspace.network),
            asked_by=Role(rows.dispatch.actor_role) if rows.dispatch.actor_role else Role.NONE,
        )
        roles: dict[int, Role] = {}
        while needed := authors_needed(snapshot, policy, roles):
            roles |= {account.id: await self._roles.of(client, account) for account in needed}
        inputs = await compute(
            [_exec_input(name, each, scope, resolve) for name, each in step.inputs.items()],
            sandbox=self._t.sandbox,
            workspace=workspace.path,
            env=env,
            commit=workspace.commit or "",
            retry=f"{self._t.handle()} {rows.run.workflow}",
            redact=self._t.redact,
        )
        system, task, warnings = self._texts(agent, step, scope)
        thread = rows.thread
        return assemble(
            key=self._t.nonce_key,
            agent_prompt=system,
            facts=RunFacts(
                repository=f"{thread.owner}/{thread.name}",
                workflow=rows.run.workflow,
                step=step.id,
                asked_by=rows.dispatch.actor,
                goal=terms.workflow.goal,
            ),
            snapshot=snapshot,
            selection=select(snapshot, policy, roles),
            inputs=inputs,
            request=_request(rows),
            task=task,
            limit=bot.limits.prompt_tokens or self._bound(agent),
            warnings=warnings,
        )

    async def _thread(self, rows: RunRows, terms: Terms, client: RepositoryClient) -> ThreadSnapshot:
        """The thread at this run's anchor: kept if it was read before, else read and kept."""
        kept = rows.run.thread_blob
        if kept is not None:
            return ThreadSnapshot.from_json(await self._t.store.read(lambda session: snapshots.get_blob(session, kept)))
        anchor, versions, pins, purposes = await self._t.store.read(lambda session: _known(session, rows))
        handles = terms.configuration.bot.mention or (self._t.handle(),)
        snapshot = await read_thread(
            client,
            number=rows.thread.number,
            anchor=anchor,
            window=terms.configuration.bot.history_comment_count,
            known_count=rows.dispatch.comment_count,
            versions=versions,
            pins=pins,
            is_ours=lambda comment: self._ours(comment, rows, purposes),
            is_command_only=lambda text: self._t.command_only(text, handles),
        )
        data = snapshot.to_json().encode()
        await self._t.store.write(lambda session: keep_thread(session, rows.run.id, data, self._t.clock.now()))
        rows.run.thread_blob = snapshots.digest_of(data)
        return snapshot

    def _ours(self, comment: Comment, rows: RunRows, purposes: Mapping[int, str]) -> Slot | str | None:
        """The slot of a comment of ours; its purpose alone where the marker is gone; None for everybody else's."""
        if not self._t.mine(comment):
            return None
        mark = self._t.marker.find(comment.body, repository_id=rows.thread.repository_id, thread=rows.thread.number)
        return mark.slot if mark else purposes.get(comment.id, "other")

    def _texts(self, agent: Agent, step: AgentStep, scope: Mapping[str, object]) -> tuple[str, str, Sequence[str]]:
        """System and task with their templates filled; foreign values stand in fences of their own."""

        def fenced(path: str, text: str) -> str:
            return "\n" + fence_value(self._t.nonce_key, "value", path, "untrusted", text)

        texts: list[str] = []
        warnings: list[str] = []
        for template in (agent.system, step.task):
            if template is None:
                texts.append("")
                continue
            rendered = template.render(scope, fence=fenced)
            texts.append(rendered.text)
            warnings.extend(rendered.warnings)
        return texts[0], texts[1], warnings

    def _bound(self, agent: Agent) -> int:
        limits = Limits(tokens=0, requests=0, usd=None, seconds=0)
        argv = agent.runner.exec if agent.runner else ()
        call = Call("", "", limits, model=agent.model or "", fallback=agent.fallback, argv=argv)
        return prompt_bound(self._t.runners.models_of(call), self._t.runners.providers)


def _named(step: AgentStep, terms: Terms) -> dict[str, str | None]:
    """Every variable that the step's commands are given by name."""
    names: dict[str, str | None] = dict(terms.configuration.bot.workspace.env)
    for each in step.inputs.values():
        names |= each.env
    return names


def _request(rows: RunRows) -> Request:
    dispatch = rows.dispatch
    what = "issue body" if dispatch.comment_id is None else f"comment {dispatch.comment_id}"
    role = Role(dispatch.actor_role) if dispatch.actor_role else Role.NONE
    return Request(
        dispatch.request,
        f"{what} by {dispatch.actor} ({role})",
        "writer" if role.at_least(Role.WRITE) else "reader",
    )


def _exec_input(name: str, each: Declared, scope: Mapping[str, object], resolve: Environment) -> ExecInput:
    return ExecInput(
        name=name,
        argv=each.argv(scope).argv,
        where=str(each.mark),
        command=each.command_text,
        timeout=each.timeout,
        required=each.required,
        max_bytes=each.max_bytes,
        env=resolve(each.environment(scope)),
    )


def _known(session: Session, rows: RunRows) -> tuple[Anchor, list[StoredVersion], list[PinnedComment], dict[int, str]]:
    """What the store holds of the thread: the anchor, every text, every pin, our comments' purposes."""
    dispatch, thread = rows.dispatch, rows.thread
    arrived = deliveries.received_at(session, dispatch.delivery_id)
    purposes = outbox.by_posted(session, thread.id)
    anchor = Anchor(dispatch.comment_id, datetime.fromisoformat(dispatch.trigger["at"]), arrived)
    versions = [_version(row, purposes) for row in threads.versions(session, thread.id)]
    return anchor, versions, [_pin(row) for row in threads.pins(session, thread.id)], purposes


def _version(row: CommentVersion, purposes: Mapping[int, str]) -> StoredVersion:
    purpose = Slot.parse(row.slot).purpose if row.slot else purposes.get(row.comment_id)
    return StoredVersion(
        comment_id=row.comment_id,
        author=Account(row.author_id, row.author, row.author_type),
        role=Role(row.role) if row.role else None,
        body=row.body,
        created_at=row.created_at,
        updated_at=row.updated_at,
        seen_at=row.seen_at,
        deleted_at=row.deleted_at,
        minimized=row.minimized,
        url=row.url,
        purpose=purpose,
        slot=row.slot,
    )


def _pin(row: Pin) -> PinnedComment:
    return PinnedComment(
        comment=comment_from_json(row.comment),
        pinned_by=row.pinned_by,
        pinned_at=row.pinned_at,
        native=row.native,
        role=Role(row.pinned_by_role) if row.pinned_by_role else None,
    )
