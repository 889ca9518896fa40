"""Step 6, second half: a request becomes a dispatch and its run, or is refused, recorded and told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.dispatch import admission, inputs
from bot.dispatch.acceptance import ALWAYS, Acceptance, Act, Asked, react, tell_broken
from bot.dispatch.cause import Cause
from bot.dispatch.commands import Command
from bot.dispatch.configuration import Configured
from bot.model.event import Event
from bot.model.role import Role
from bot.model.slot import Slot
from bot.model.thread import Issue
from bot.model.trial import KEY as TRIAL
from bot.model.trial import Trial
from bot.publish import Speaker, note_body
from bot.store import Session, dispatches, outbox, snapshots
from bot.store.tables import Dispatch, Run, Thread
from bot.workflows import Configuration, Limits

#: why nothing is started where nothing could be said
LOCKED = "locked: the conversation is locked, so nothing can be said in it"


def accept(
    session: Session, thread: Thread, acceptance: Acceptance, asked: Asked, act: Act | None, speaker: Speaker
) -> None:
    """Record one request: a built-in acts at once, a suggestion is made, anything else is dispatched."""
    broken = acceptance.configured is not None and acceptance.configured.configuration is None
    if thread.gone and (act is not None or broken):  # it was told late, and nobody can be answered
        return
    if act is not None:
        sender = acceptance.event.sender
        hushed = admission.hushed(session, thread, sender, acceptance.now)
        if hushed is not None and (sender.is_bot or asked.command.name not in ALWAYS):
            admission.tell(session, thread, hushed, speaker, "Nothing more is said", target_id=acceptance.reply_to)
            react(session, thread, acceptance, asked, "confused", speaker)
            return
        act(session, thread)
        return
    configured = acceptance.configured
    assert configured is not None, "nothing is asked before the configuration is read"
    if configured.configuration is None:
        tell_broken(session, thread, acceptance, asked, speaker)
        return
    _dispatch(session, thread, acceptance, asked, configured, speaker)


def _dispatch(
    session: Session, thread: Thread, acceptance: Acceptance, asked: Asked, configured: Configured, speaker: Speaker
) -> None:
    command = asked.command
    assert configured.configuration is not None
    if asked.cause is None and _asked_already(session, thread, acceptance, command):
        return
    wanted = wanted_of(acceptance, asked, command, configured.configuration)
    start(session, thread, acceptance, asked, wanted, speaker)


@dataclass(frozen=True, slots=True)
class Tried:
    """A trial, and the limits of the default branch, which hold beside those of the branch that is tried."""

    trial: Trial
    limits: Limits


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a dispatch is to run, whoever asks: the request's words, what they are bound to, and where they came from.

    `repeats` is the dispatch whose request it is, where a run is tried again.
    """

    workflow: str
    request: str
    signed: inputs.Signed
    trigger: Mapping[str, Any]
    repeats: Dispatch | None = None
    retry_of: str | None = None
    tried: Tried | None = None


def wanted_of(
    acceptance: Acceptance, asked: Asked, command: Command, usable: Configuration, tried: Tried | None = None
) -> Wanted:
    """What a request asks for, with the names of a configuration; `tried`, where that is a branch's."""
    workflow = usable.workflow_for(command.name)
    signed = inputs.sign(workflow, command.params) if workflow else inputs.Signed(command.params, {})
    event, cause = acceptance.event, asked.cause
    text = event.text if cause is None else cause.text
    if acceptance.said is not None:
        text = acceptance.said.text
    kept = trigger(event, command, cause) | _of_review(acceptance)
    if tried is not None:
        kept[TRIAL] = tried.trial.to_row()
    return Wanted(command.name, text, signed, kept, tried=tried)


def start(
    session: Session, thread: Thread, acceptance: Acceptance, asked: Asked, wanted: Wanted, speaker: Speaker
) -> Run | None:
    """Queue a run with its 👀, or record and tell why not: the run, None where it is refused."""
    configured, event = acceptance.configured, acceptance.event
    assert configured is not None
    assert configured.configuration is not None
    bot = configured.configuration.bot
    snapshot = snapshots.keep(session, event.repository.id, configured.version, configured.files, acceptance.now)
    first = wanted.repeats
    dispatch = Dispatch(
        thread_id=thread.id,
        delivery_id=acceptance.delivery.id,
        ordinal=asked.ordinal,
        sequence=0,
        snapshot_id=snapshot.id,
        actor_id=event.sender.id,
        actor=event.sender.login,
        actor_role=_role(asked, first),
        comment_id=acceptance.target_id,
        comment_count=event.issue.comment_count,
        request=wanted.request,
        command=wanted.workflow,
        params=dict(wanted.signed.params),
        inputs=dict(wanted.signed.inputs),
        trigger=dict(wanted.trigger),
        issue=issue_values(event.issue),
        depth=_depth(asked, first),
        target_kind=acceptance.target_kind,
        reply_to=acceptance.reply_to,
        trial=wanted.tried is not None,
        created_at=acceptance.now,
    )
    if event.issue.locked:  # nothing can be said there, not even by a reaction
        dispatches.refuse(session, dispatch, LOCKED)
        return None
    if thread.gone:
        dispatches.refuse(session, dispatch, f"gone: the thread has ended ({thread.gone})")
        return None
    limits = bot.limits if wanted.tried is None else bot.limits.within(wanted.tried.limits)
    refused = admission.refusal(
        session, thread, event.sender, limits, acceptance.ceilings, acceptance.handle, acceptance.now
    )
    if refused is not None:
        dispatches.refuse(session, dispatch, f"{refused.key}: {refused.told}")
        react(session, thread, acceptance, asked, "confused", speaker)
        admission.tell(session, thread, refused, speaker, target_id=acceptance.reply_to)
        return None
    if wanted.signed.violations:
        dispatches.refuse(session, dispatch, f"inputs: {'; '.join(each.message for each in wanted.signed.violations)}")
        workflow = configured.configuration.workflow_for(wanted.workflow) if wanted.tried is None else None
        usage = inputs.usage(acceptance.handle, wanted.workflow, workflow) if workflow is not None else ""
        body = note_body(inputs.told(wanted.workflow, wanted.signed.violations, usage))
        slot = acceptance.slot(asked, "inputs")
        if asked.cause is not None:  # whoever causes events asks for nothing: told once as long as the file is the same
            slot = Slot(f"thread/{thread.id}", "inputs", step=f"{wanted.workflow}-{configured.version}")
        fresh = outbox.find(session, slot) is None
        if fresh and admission.answers(session, thread, event.sender, speaker, acceptance.now):
            speaker.comment(session, thread, slot, purpose="error", body=body, target_id=acceptance.reply_to)
        react(session, thread, acceptance, asked, "confused", speaker)
        return None
    run = dispatches.accept(session, dispatch, wanted.workflow, acceptance.now, retry_of=wanted.retry_of)
    if bot.publish.progress != "none":
        react(session, thread, acceptance, asked, "eyes", speaker)
    return run


def _depth(asked: Asked, first: Dispatch | None) -> int:
    """How many dispatches led to it."""
    if first is not None:
        return first.depth
    return asked.cause.depth if asked.cause is not None else 0


def _role(asked: Asked, first: Dispatch | None) -> str:
    """The role that a dispatch goes by; the lesser one where it repeats a request, whose words are another's."""
    if asked.role is None or first is None:
        return str(asked.role or "")
    before = Role(first.actor_role) if first.actor_role else Role.NONE
    return str(before if asked.role.at_least(before) else asked.role)


def _asked_already(session: Session, thread: Thread, acceptance: Acceptance, command: Command) -> bool:
    """Whether a review's own text and one of its comments ask for the same in the same words: that is one request."""
    review_id = acceptance.review_id
    if review_id is None:
        return False
    for earlier in dispatches.of_review(session, thread.id, review_id):
        same = (earlier.command, earlier.trigger.get("text")) == (command.name, command.text)
        if same and earlier.target_kind != acceptance.target_kind:
            return True
    return False


def _of_review(acceptance: Acceptance) -> dict[str, Any]:
    """What a dispatch keeps of the review that led to it, beside the namespace `trigger`."""
    review_id = acceptance.review_id
    if review_id is None:
        return {}
    kept: dict[str, Any] = {"review_id": review_id}
    if acceptance.said is not None:
        kept |= acceptance.said.trigger
    return kept


def trigger(event: Event, command: Command, cause: Cause | None = None) -> dict[str, Any]:
    """The template namespace `trigger`; `text` is the free text behind the command and its params."""
    return {
        **event.fields,
        "name": "mention" if cause is None else cause.name,
        "text": command.text,
        "actor": event.sender.login,
        "comment_id": event.comment.id if event.comment else None,
        "url": event.comment.url if event.comment else event.issue.url,
        "at": event.at.isoformat(),
    }


def issue_values(found: Issue) -> dict[str, Any]:
    """The template namespace `issue`."""
    return {
        "number": found.number,
        "title": found.title,
        "body": found.body,
        "author": found.author.login,
        "labels": list(found.labels),
        "url": found.url,
        "state": found.state,
        "is_pull_request": found.is_pull_request,
    }
