"""A workflow that is due: in whose name it runs, on which thread, and that it is started once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from bot.dispatch import admission, schedules
from bot.dispatch.admission import Refusal
from bot.dispatch.authorise import Allowed, Denied, Later, Rules, authorise
from bot.dispatch.cause import Cause
from bot.dispatch.identity import Identity
from bot.dispatch.occasion import Heard, Occasion, Postponed, silent
from bot.dispatch.parts import Parts
from bot.dispatch.roles import AskedRoles
from bot.dispatch.schedules import Due, Place
from bot.dispatch.triggers import started
from bot.errors import NotFound, Unsure
from bot.github import RepositoryClient
from bot.model.event import Event
from bot.model.role import Role
from bot.model.slot import Slot
from bot.model.thread import Account, Issue
from bot.publish import inline_code
from bot.store import Session, deliveries
from bot.store.tables import Delivery, Thread
from bot.workflows import Configuration, Workflow
from bot.workflows.configuration import BOT_FILE

NAME = "schedule"
#: the role that a commit speaks for at most: whoever may push can make one that names somebody else
MOST = Role.WRITE
#: after this time an issue that was opened is found, if it was
LOOK_AFTER = timedelta(seconds=90)
#: how far GitHub's clock may be off ours
_SKEW = timedelta(minutes=10)
#: the thread that the marker of an issue is signed for: it has no number before it is opened
_UNNUMBERED = 0


async def hear(
    parts: Parts, delivery: Delivery, due: Due, identity: Identity, client: RepositoryClient
) -> tuple[Event | None, Heard]:
    """What a time starts, by the event on its thread; without one where it starts nothing. Raises `Postponed`."""
    due = await schedules.present(parts.store, due)
    client.follow(due.repository)
    configured = await parts.configured(client)
    usable = configured.configuration
    if usable is None:
        return None, silent(f"{NAME}: the configuration cannot be used")
    said = schedules.wanted(usable).get(due.workflow)
    if said is None or (said.cron, said.thread) != (due.cron, due.thread):
        return None, silent(f"{NAME}: {due.workflow} is not wanted at this time any more")
    workflow = usable.workflows[due.workflow]
    file = workflow.mark.file if workflow.mark.file.startswith(".github/") else BOT_FILE
    actor = await client.last_committer(file)
    if actor is None:
        return None, silent(f"{NAME}: whoever last changed {file} has no account on GitHub")
    roles = AskedRoles(client)
    # nobody is to see an issue that leads to nothing
    if (refused := await _refused(parts, delivery, due, usable, identity, roles, actor)) is not None:
        return None, silent(f"{NAME}: {due.workflow} was not started: {refused}")
    if due.thread is None:
        day = partial(
            admission.day,
            actor=actor,
            limits=usable.bot.limits,
            ceilings=parts.ceilings,
            now=parts.clock.now(),
            repository_id=due.repository.id,
        )
        issue: Issue | str | None = await _opened(parts, delivery, due, identity, client, workflow, day)
    else:
        issue = await _thread(client, due.thread)
    if issue is None:
        return None, silent(f"{NAME}: there is no thread {due.thread}")
    if isinstance(issue, str):
        return None, silent(f"{NAME}: {due.workflow} was not started: {issue}")
    # the time that has passed is not the end of what is read of the thread
    event = _event(due, actor, issue, parts.clock.now())
    occasion = Occasion(parts, delivery, event, identity, client, configured=configured, roles=roles)
    cause = Cause(NAME, f"It is time: {due.cron} (UTC), {due.at:%Y-%m-%d %H:%M}.")
    heard = await started(occasion, cause, (due.workflow,), most=MOST)

    def act(session: Session, thread: Thread) -> None:
        heard.act(session, thread)
        schedules.follow(session, Place(due.repository, due.installation_id), configured, parts.clock.now())

    return event, Heard(heard.reason, act, heard.silent)


async def _refused(
    parts: Parts,
    delivery: Delivery,
    due: Due,
    usable: Configuration,
    identity: Identity,
    roles: AskedRoles,
    actor: Account,
) -> str | None:
    """Why the last committer may not start it; None where they may."""
    needed = usable.role_for(due.workflow)
    if not MOST.at_least(needed):
        return f"it needs {needed}, and a commit, which can be made to name anybody, counts for {MOST} and no more"
    rules = Rules(needed, identity.login, parts.identities.accounts, usable.bot.allow_bots)
    now = parts.clock.now()
    since = delivery.trying_since or now
    match await authorise(roles, due.repository, actor, rules, since=since, now=now):
        case Denied(reason=reason):
            return reason
        case Later() as later:
            raise Postponed(later.not_before, later.reason, trying=True)
        case Allowed():
            return None


async def _thread(client: RepositoryClient, number: int) -> Issue | None:
    try:
        return await client.issue(number)
    except NotFound:
        return None


async def _opened(
    parts: Parts,
    delivery: Delivery,
    due: Due,
    identity: Identity,
    client: RepositoryClient,
    workflow: Workflow,
    day: Callable[[Session], Refusal | None],
) -> Issue | str:
    """The issue that is opened for this time: found where an earlier try has opened it, whatever became of that.

    Why none is opened, where nothing may be started now: nobody is to see an issue for every time that it is not.

    Before it is opened the next look is put off, in the database, until an issue would be found: whoever dies in
    between, it is looked for before another one is opened.
    """
    slot = Slot(f"dispatch/{delivery.id}", "issue", step=due.workflow)
    repository = due.repository.id
    for one in await client.issues_since(delivery.received_at - _SKEW, identity.login):
        mark = parts.marker.find(one.body, repository_id=repository, thread=_UNNUMBERED)
        if mark is not None and mark.slot == slot:
            return one
    if (refused := await parts.store.read(day)) is not None:
        return f"{refused.key}: {refused.told}"
    until = parts.clock.now() + LOOK_AFTER
    reason = "an issue is opened"
    await parts.store.write(
        lambda session: deliveries.postpone(session, delivery.id, until, delivery.trying_since, reason)
    )
    title, body = parts.speaker.issue(
        f"{workflow.description or due.workflow} ({due.at:%Y-%m-%d})",
        f"Opened for {inline_code(due.workflow)}, which runs at {inline_code(due.cron)} (UTC).",
    )
    try:
        return await client.open_issue(
            title, parts.marker.sign(body, repository_id=repository, thread=_UNNUMBERED, slot=slot)
        )
    except Unsure as error:
        raise Postponed(until, f"nobody knows whether the issue was opened: {error}") from error


def _event(due: Due, actor: Account, issue: Issue, now: datetime) -> Event:
    return Event(
        name=schedules.EVENT,
        action=schedules.ACTION,
        at=now,
        sender=actor,
        repository=due.repository,
        installation_id=due.installation_id,
        issue=issue,
        fields={"cron": due.cron},
        subject="schedule",
    )
