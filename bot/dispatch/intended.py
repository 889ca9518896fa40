"""What a run wants done in its own thread: pins, and dispatches of other workflows in the name of whoever asked.

These are actions of the outbox like labels are, but of our own rows: each is committed once. A dispatch has the id of
the outbox row that asks for it, so that a second try finds what the first one made, whoever died in between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from bot import publish
from bot.context.snapshot import ref
from bot.dispatch import admission, inputs
from bot.dispatch.authorise import Allowed, Denied, Later, Rules, authorise
from bot.dispatch.caps import capped, rest
from bot.dispatch.parts import Parts
from bot.dispatch.pinning import comment_of
from bot.dispatch.pins import pin, say_index
from bot.dispatch.roles import AskedRoles
from bot.dispatch.starting import issue_values
from bot.errors import Transient, UserError
from bot.github import RepositoryClient
from bot.model.role import Role
from bot.model.slot import Slot
from bot.model.state import OutboxState
from bot.model.thread import Account, Comment, Repository
from bot.publish import Performer, Undone, note_body
from bot.publish.body import inline_code
from bot.publish.performer import Act, Made
from bot.store import Session, dispatches, outbox, snapshots, threads
from bot.store.tables import Dispatch, Run, Snapshot, Thread
from bot.workflows import Configuration

#: how many dispatches may follow from one that a person made
DEPTH_MAX = 3
#: seconds between looks whether the comment that is to be pinned stands in the thread
LOOK_EVERY = 1.0


@dataclass(frozen=True, slots=True)
class _Asking:
    """The run that asks, and the dispatch that it executes: its actor is the one at the root of the chain."""

    run: Run
    dispatch: Dispatch


class ThreadIntents:
    """Performs `pin`, `unpin` and `dispatch`; `repository_of` reads the repository off a thread's row."""

    def __init__(self, parts: Parts, repository_of: Callable[[Thread], Repository]) -> None:
        self._p = parts
        self._repository_of = repository_of

    @property
    def performers(self) -> Mapping[str, Performer]:
        """By kind of intent: each finds what an earlier try has made."""
        return {
            "pin": Performer(self._pin, again=_always),
            "unpin": Performer(self._unpin, again=_always),
            "dispatch": Performer(self._dispatch, again=_always),
        }

    # -- pins ---------------------------------------------------------------------------------------------------------

    async def _pin(self, act: Act) -> Made:
        comment_id = int(act.payload["comment_id"])
        thread = act.thread
        comment = await self._client(thread).said(thread.number, comment_id, pull_request=thread.is_pull_request)
        try:
            here = comment_of(comment.url, f"{thread.owner}/{thread.name}", thread.number) == ref(comment)
        except UserError:
            here = False
        if not here:
            raise Undone("that comment stands in another thread")

        def work(session: Session) -> bool:
            return self._pinned(session, act.thread, comment, _asking(session, act))

        return Made({"comment_id": comment_id, "changed": await publish.write(self._p.store, work)})

    def _pinned(self, session: Session, thread: Thread, comment: Comment, asking: _Asking) -> bool:
        """Pin it in the name of whoever asked; False if it is pinned already."""
        first, handle = asking.dispatch, self._handle(session, asking)
        by, role = actor_of(first), first.actor_role
        return pin(session, thread, comment, by, role, self._p.speaker, handle, self._p.clock.now())

    async def _unpin(self, act: Act) -> Made:
        comment_id = int(act.payload["comment_id"])

        def work(session: Session) -> bool:
            gone = threads.unpin(session, act.thread.id, comment_id)
            if gone:
                say_index(session, act.thread, self._p.speaker, self._handle(session, _asking(session, act)))
            return gone

        return Made({"comment_id": comment_id, "changed": await publish.write(self._p.store, work)})

    def _handle(self, session: Session, asking: _Asking) -> str:
        """How people call the bot, as the run's own configuration says."""
        snapshot = session.get_one(Snapshot, asking.run.snapshot_id)
        usable = self._p.memo.check(snapshot.repository_id, snapshot.commit, snapshot.files).configuration
        return usable.bot.handle(self._p.identities.handle) if usable else self._p.identities.handle

    # -- dispatches ---------------------------------------------------------------------------------------------------

    async def _dispatch(self, act: Act) -> Made:
        """Start the workflow as a mention of its actor would, or say in the thread why not."""
        asking, made = await self._p.store.read(lambda session: (_asking(session, act), _made(session, act)))
        if made is not None:
            return made
        wanted = act.payload
        name, parent = str(wanted["workflow"]), asking.dispatch
        if parent.depth >= DEPTH_MAX:
            raise await self._refused(act, asking, f"a chain of dispatches is at most {DEPTH_MAX} deep", "depth")
        repository, client = self._repository_of(act.thread), self._client(act.thread)
        configured = await self._p.configured(client)
        usable = configured.configuration
        if usable is None:
            raise await self._refused(
                act, asking, "the configuration cannot be used; `config` says why", "configuration"
            )
        if usable.workflow_for(name) is None:
            why = "there is nothing of that name any more; `help` lists what there is"
            raise await self._refused(act, asking, why, "unknown_workflow")
        role = await self._authorised(act, asking, usable, repository, client)
        issue = await client.issue(act.thread.number)
        signed = self._signed(usable, name, wanted.get("params") or {})
        if isinstance(signed, str):
            raise await self._refused(act, asking, signed, "inputs")
        comment = await self._request(act, asking, client) if wanted.get("pin") else None

        def work(session: Session) -> Made | admission.Refusal:
            if (made := _made(session, act)) is not None:
                return made
            now = self._p.clock.now()
            thread, handle = session.get_one(Thread, act.thread.id), self._handle(session, asking)
            refused = admission.refusal(
                session, thread, actor_of(parent), usable.bot.limits, self._p.ceilings, handle, now
            )
            if refused is not None:
                return refused
            snapshot = snapshots.keep(session, repository.id, configured.version, configured.files, now)
            request = str(wanted.get("request") or "")
            dispatch = Dispatch(
                id=act.row.id,
                thread_id=thread.id,
                delivery_id=parent.delivery_id,
                ordinal=dispatches.next_ordinal(session, parent.delivery_id),
                sequence=0,
                snapshot_id=snapshot.id,
                actor_id=parent.actor_id,
                actor=parent.actor,
                actor_role=str(role or ""),
                comment_id=parent.comment_id,
                comment_count=issue.comment_count,
                request=request,
                command=name,
                params=capped(signed.params, rest(session, parent)),
                inputs=dict(signed.inputs),
                trigger=_trigger(parent, request, now),
                issue=issue_values(issue),
                depth=parent.depth + 1,
                target_kind=parent.target_kind,
                reply_to=parent.reply_to,
                created_at=now,
            )
            run = dispatches.accept(session, dispatch, name, now)
            if comment is not None:
                self._pinned(session, thread, comment, asking)
            return _told(run)

        came = await publish.write(self._p.store, work)
        if isinstance(came, admission.Refusal):
            raise await self._refused(act, asking, came.told, came.key, once=came.once)
        return came

    async def _authorised(
        self, act: Act, asking: _Asking, usable: Configuration, repository: Repository, client: RepositoryClient
    ) -> Role | None:
        """The role, now, of whoever is at the root of the chain; None for another bot. Raises Undone or Transient."""
        identity = await self._p.identities.get()
        needed = usable.role_for(str(act.payload["workflow"]))
        rules = Rules(needed, identity.login, allow_bots=usable.bot.allow_bots)
        actor, now = actor_of(asking.dispatch), self._p.clock.now()
        match await authorise(AskedRoles(client), repository, actor, rules, since=act.row.created_at, now=now):
            case Denied(reason=reason):
                raise await self._refused(act, asking, reason, "role")
            case Later(not_before=at, reason=reason):
                raise Transient(reason, max(1.0, (at - now).total_seconds()))
            case Allowed(role=role):
                return role

    def _signed(self, usable: Configuration, name: str, given: Mapping[str, Any]) -> inputs.Signed | str:
        """What it is given, as a request's words would be; in words where it does not fit."""
        workflow = usable.workflow_for(name)
        assert workflow is not None
        words = {str(key): str(value) for key, value in given.items()}
        foreign = [key for key in words if key not in workflow.params and key not in workflow.inputs]
        if foreign:
            return f"`{name}` has no param or input {', '.join(map(inline_code, foreign))}"
        signed = inputs.sign(workflow, words)
        return inputs.told(name, signed.violations) if signed.violations else signed

    async def _request(self, act: Act, asking: _Asking, client: RepositoryClient) -> Comment:
        """The request as a comment of ours that can be pinned. Raises Transient until it stands there."""
        slot = replace(act.slot, purpose=f"{act.slot.purpose}.request", part=0)
        text = str(act.payload.get("request") or "").strip()
        head = f"r{asking.run.number} starts {inline_code(str(act.payload['workflow']))} for {asking.dispatch.actor}:"

        def work(session: Session) -> tuple[int, str] | None:
            self._p.speaker.comment(
                session,
                session.get_one(Thread, act.thread.id),
                slot,
                purpose="request",
                body=note_body(f"{head}\n\n{text}" if text else head),
                run=session.get_one(Run, asking.run.id),
                max_parts=1,
            )
            row = outbox.find(session, slot)
            if row is not None and row.state is OutboxState.DROPPED:
                raise Undone(f"its request could not be posted: {row.reason}")
            if row is None or row.posted_id is None or row.state is not OutboxState.POSTED:
                return None
            return row.posted_id, row.target_kind

        posted = await publish.write(self._p.store, work)
        if posted is None:
            raise Transient("its request is not posted yet", LOOK_EVERY)
        number, kind = posted
        return await (client.review_comment(number) if kind == "review_comment" else client.comment(number))

    async def _refused(self, act: Act, asking: _Asking, why: str, reason: str, *, once: str = "") -> Undone:
        """Nobody who was accepted is left without a word: one comment says what was not started."""
        slot = replace(act.slot, purpose=f"{act.slot.purpose}.refused", part=0)
        if once:
            slot = Slot(f"thread/{act.thread.id}", "limit", step=once)
        name = inline_code(str(act.payload["workflow"]))

        def work(session: Session) -> None:
            if outbox.find(session, slot) is not None:
                return
            body = note_body(f"r{asking.run.number} wanted to start {name}. It was not started: {why}.")
            thread = session.get_one(Thread, act.thread.id)
            self._p.speaker.comment(
                session, thread, slot, purpose="error", body=body, target_id=asking.dispatch.reply_to
            )

        await publish.write(self._p.store, work)
        return Undone(reason, {"workflow": act.payload["workflow"]})

    def _client(self, thread: Thread) -> RepositoryClient:
        return self._p.github.repository(thread.installation_id, self._repository_of(thread))


def actor_of(dispatch: Dispatch) -> Account:
    """Whoever asked for a dispatch, at the root of its chain. Another bot was admitted by its id and has no role."""
    return Account(dispatch.actor_id, dispatch.actor, "User" if dispatch.actor_role else "Bot")


def _asking(session: Session, act: Act) -> _Asking:
    if act.row.run_id is None:
        raise Undone("no run asks for it")
    run = session.get_one(Run, act.row.run_id)
    return _Asking(run, dispatches.get(session, run.dispatch_id))


def _made(session: Session, act: Act) -> Made | None:
    """What an earlier try has made."""
    run = dispatches.first_run(session, act.row.id)
    return None if run is None else _told(run)


def _told(run: Run) -> Made:
    return Made({"run": f"r{run.number}", "workflow": run.workflow, "dispatch": run.dispatch_id})


def _trigger(parent: Dispatch, request: str, now: datetime) -> dict[str, Any]:
    """The template namespace `trigger` of what a run has asked for."""
    return {
        "name": "dispatch",
        "text": request,
        "actor": parent.actor,
        "comment_id": parent.comment_id,
        "url": parent.trigger.get("url", ""),
        "at": now.isoformat(),
    }


def _always(_act: Act) -> bool:
    return True
