"""`retry`: a run of a request that has been made before, whole or from one of its steps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bot.dispatch import inputs
from bot.dispatch.acceptance import Acceptance, Act, Asked, tell_broken
from bot.dispatch.commands import Command
from bot.dispatch.replies import Prepare, Replies
from bot.dispatch.starting import Wanted, start
from bot.errors import UserError
from bot.github import RepositoryClient
from bot.model.event import Event
from bot.model.role import Role
from bot.publish import inline_code
from bot.store import Session, dispatches, purging, run_context, runs, threads
from bot.store.tables import Dispatch, Run, Snapshot, Thread
from bot.workflows import Configuration, Workflow
from bot.workflows.template import as_text


@dataclass(frozen=True, slots=True)
class _Meant:
    """The run that is to be tried again, with its dispatch and the configuration that it ran with."""

    run: Run
    dispatch: Dispatch
    snapshot: Snapshot


def needed(session: Session, configuration: Configuration, event: Event, command: Command) -> Role:
    """The least role for a retry: that of the run's workflow; `trigger_role` where no run is meant."""
    found = _found(session, event, command)
    return configuration.role_for(found.run.workflow) if isinstance(found, _Meant) else configuration.bot.trigger_role


async def _retry(replies: Replies, asked: Asked, acceptance: Acceptance, client: RepositoryClient) -> Act:
    """Decide which run is meant; whether it may be tried again is decided on the rows."""
    configured = acceptance.configured
    assert configured is not None, "a command is heard by a mention, which reads the configuration"
    usable = configured.configuration
    if usable is None:
        return lambda session, thread: tell_broken(session, thread, acceptance, asked, replies.speaker)
    found = await replies.store.read(lambda session: _found(session, acceptance.event, asked.command))
    if isinstance(found, _Meant):
        # what the configuration of then says is kept in memory, so that the act need not read it
        await asyncio.to_thread(_before, replies, found.run, found.snapshot)

    head: str | None = None
    if "from" in asked.command.params and acceptance.event.issue.is_pull_request:
        # an answer that is taken over is bound to the head that it was given at
        head = (await client.pull_request(acceptance.event.issue.number)).head_sha

    def act(session: Session, thread: Thread) -> None:
        try:
            # what was asked for before it in the same comment may have ended a run
            meant = _found(session, acceptance.event, asked.command)
            if isinstance(meant, UserError):
                raise meant
            if asked.role is not None and not asked.role.at_least(usable.role_for(meant.run.workflow)):
                # another run has ended since the role was asked for
                raise UserError("retry_refused", "another run has ended meanwhile", "name the run that you mean")
            before = _before(replies, meant.run, meant.snapshot)
            _again(session, thread, replies, asked, acceptance, meant.run.id, before, head)
        except UserError as error:
            replies.refusal(asked, acceptance, error)(session, thread)

    return act


def _before(replies: Replies, run: Run, snapshot: Snapshot) -> Configuration | None:
    """The configuration that a run ran with; None where it cannot be used any more, or is kept no longer."""
    if run.purged_at is not None:
        return None
    return replies.memo.check(snapshot.repository_id, snapshot.commit, snapshot.files).configuration


def _found(session: Session, event: Event, command: Command) -> _Meant | UserError:
    """The run that is meant: the one named, else the newest that has ended."""
    thread = threads.find(session, event.repository.id, event.issue.number)
    named = command.params.get("run")
    if thread is None:
        run = None
    elif named is None:
        run = dispatches.newest_ended(session, thread.id)
    else:
        run = dispatches.numbered(session, thread.id, int(named[1:]))
    if run is None:
        message = f"there is no {named} in this thread" if named else "nothing has ended here that could be tried again"
        return UserError(
            "retry_refused", message, "`status` names the newest" if named else "`help` lists what there is"
        )
    return _Meant(run, dispatches.get(session, run.dispatch_id), session.get_one(Snapshot, run.snapshot_id))


def _again(
    session: Session,
    thread: Thread,
    replies: Replies,
    asked: Asked,
    acceptance: Acceptance,
    run_id: str,
    before: Configuration | None,
    head: str | None,
) -> None:
    """Start it. Raises `UserError`, before anything is written, where it cannot be."""
    assert acceptance.configured is not None
    assert acceptance.configured.configuration is not None
    usable = acceptance.configured.configuration
    rows = runs.rows(session, run_id)
    run, first = rows.run, rows.dispatch
    name = f"r{run.number}"
    if first.trial:
        hint = f"ask for it anew with `{acceptance.handle} try`"
        raise UserError("retry_refused", f"{name} was a trial", hint)
    # one that was cancelled a moment ago is ending: what begins anew waits its turn behind it
    if not run.state.ended and (run.cancelled_by is None or "from" in asked.command.params):
        raise UserError("retry_refused", f"{name} is still under way", f"`{acceptance.handle} cancel {name}` ends it")
    if (other := dispatches.retrying(session, run.id)) is not None:
        hint = f"`{acceptance.handle} cancel r{other.number}` ends that"
        raise UserError("retry_refused", f"r{other.number} is trying {name} again already", hint)
    workflow = usable.workflow_for(run.workflow)
    if workflow is None:
        raise UserError(
            "retry_refused",
            f"{inline_code(run.workflow)} is not in the configuration any more",
            f"`{acceptance.handle} help` lists what is",
        )
    comment = first.trigger.get("comment_id", first.comment_id)
    if comment is not None and threads.is_deleted(session, thread.id, comment):
        raise UserError("retry_refused", f"the comment that asked for {name} was deleted", "ask again in a new one")
    step = asked.command.params.get("from")
    if not purging.has_words(first):
        raise UserError(
            "retry_refused", f"what was asked for in {name} is kept no longer", "ask again in a new comment"
        )
    if step is not None and run.purged_at is not None:
        hint = f"`{acceptance.handle} retry {name}` begins it anew"
        raise UserError("retry_refused", f"what {name} came to before `{step}` is kept no longer", hint)
    take_over: Callable[[Session, Run], None] | None = None
    if step is not None:
        if before is None:
            raise UserError("retry_refused", f"the configuration of {name} cannot be read any more", "leave out `from`")
        values, actor_id = run_context.every(session, run.id), acceptance.event.sender.id
        take_over = replies.take_over(rows, values, before, usable, step.lower(), head, actor_id)
    was = before.workflow_for(run.workflow) if before is not None else None
    signed = inputs.sign(workflow, words(first, was))
    if take_over is not None and not signed.violations and dict(signed.inputs) != first.inputs:
        hint = f"`{acceptance.handle} retry {name}` begins it anew"
        raise UserError("retry_refused", f"the defaults of its inputs are others than when {name} ran", hint)
    wanted = Wanted(
        run.workflow,
        first.request,
        signed,
        # the thread is read as it stands now
        {**first.trigger, "at": acceptance.event.at.isoformat()},
        repeats=first,
        retry_of=run.id,
    )
    made = start(session, thread, acceptance, asked, wanted, replies.speaker)
    if made is not None and take_over is not None:
        take_over(session, made)


def words(dispatch: Dispatch, was: Workflow | None) -> dict[str, str]:
    """The `key=value` words of a request. A value that only was the default of `was` is left to the default of now."""
    defaults = {} if was is None else inputs.sign(was, {}).inputs
    given = {key: value for key, value in dispatch.inputs.items() if key not in defaults or defaults[key] != value}
    return {**dispatch.params, **{key: as_text(value) for key, value in given.items()}}


PREPARES: Mapping[str, Prepare] = {"retry": _retry}
