"""Step 6: what is accepted becomes rows, in one transaction and without I/O."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from bot.dispatch import admission
from bot.dispatch.admission import NO_CEILINGS, Ceilings
from bot.dispatch.cause import Cause
from bot.dispatch.commands import Command
from bot.dispatch.configuration import Configured
from bot.dispatch.identity import Identity
from bot.dispatch.review_request import ReviewRequest
from bot.model.event import Event
from bot.model.role import Role
from bot.model.slot import Slot
from bot.publish import Speaker, configuration_body, note_body
from bot.store import Session, outbox
from bot.store.tables import Delivery, Thread
from bot.store.threads import Kind
from bot.workflows.extends import REPOSITORY

#: requests that are taken from one comment
REQUESTS_MAX = 20

#: built-ins that act however often a person was answered; what they would say is left out
ALWAYS = frozenset({"stop", "cancel", "resume", "approve", "reject", "answer"})


#: what a built-in does to the rows; whatever it had to ask GitHub was asked before
Act = Callable[[Session, Thread], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request that its sender may make. `role` is None for another bot; `cause` is what asks without words."""

    ordinal: int
    command: Command
    role: Role | None
    cause: Cause | None = None

    @property
    def for_workflow(self) -> bool:
        """Whether a workflow is to run: no built-in acts, and nobody is asked first which command was meant."""
        return self.command.kind != "builtin" and self.command.suggestion is None


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What the requests of one delivery have in common."""

    delivery: Delivery
    event: Event
    identity: Identity
    configured: Configured | None
    now: datetime
    ceilings: Ceilings = NO_CEILINGS
    #: what is asked for, where it is more than the event's own text
    said: ReviewRequest | None = None
    #: whether this instance can ask a model; None where nobody knows
    can_ask: Callable[[str], bool] | None = None

    def slot(self, asked: Asked, purpose: str) -> Slot:
        """The slot of what is said about one request."""
        return Slot(f"dispatch/{self.delivery.id}", purpose, step=asked.command.name, iteration=asked.ordinal)

    @property
    def handle(self) -> str:
        """How people call the bot here: the file's first handle, else the App's own."""
        usable = self.configured.configuration if self.configured else None
        return usable.bot.handle(self.identity.handle) if usable else self.identity.handle

    @property
    def target_id(self) -> int | None:
        """The comment that asked; None for the issue's body."""
        return self.event.comment.id if self.event.comment else None

    @property
    def target_kind(self) -> Kind:
        """What `target_id` names."""
        return self.event.comment.kind if self.event.comment else "comment"

    @property
    def reply_to(self) -> int | None:
        """The review comment that begins the thread which is answered in; None: in the conversation."""
        if self.said is not None and self.said.answers_in_thread:
            return self.said.root_id
        comment = self.event.comment
        return comment.place.root_id if comment is not None and comment.place is not None else None

    @property
    def review_id(self) -> int | None:
        """The review that the event's text belongs to."""
        comment = self.event.comment
        if comment is None or comment.kind == "comment":
            return None
        return comment.id if comment.place is None else comment.place.review_id


def react(
    session: Session, thread: Thread, acceptance: Acceptance, asked: Asked, content: str, speaker: Speaker
) -> None:
    """React to what asked: 👀 `eyes`, 👍 `+1`, 😕 `confused`; once, however many requests the comment holds."""
    if asked.cause is not None and not asked.cause.has_subject:
        return
    slot = Slot(f"dispatch/{acceptance.delivery.id}", f"reaction-{content}")
    speaker.reaction(
        session, thread, slot, content=content, target_id=acceptance.target_id, target_kind=acceptance.target_kind
    )


def tell_surplus(session: Session, thread: Thread, acceptance: Acceptance, surplus: int, speaker: Speaker) -> None:
    """One sentence about the requests of a comment that are beyond the number that is taken."""
    if not admission.answers(session, thread, acceptance.event.sender, speaker, acceptance.now):
        return
    slot = Slot(f"dispatch/{acceptance.delivery.id}", "surplus")
    body = note_body(f"One comment can ask for {REQUESTS_MAX} things; {surplus} more were left out.")
    speaker.comment(session, thread, slot, purpose="error", body=body, target_id=acceptance.reply_to)


def tell_broken(session: Session, thread: Thread, acceptance: Acceptance, asked: Asked, speaker: Speaker) -> None:
    """A reaction for whoever asks, and one comment per thread and commit."""
    configured = acceptance.configured
    assert configured is not None, "nothing is asked before the configuration is read"
    react(session, thread, acceptance, asked, "confused", speaker)
    slot = Slot(f"thread/{thread.id}", "config", step=configured.version)
    if outbox.find(session, slot) is None:
        body = broken_body(acceptance)
        speaker.comment(session, thread, slot, purpose="error", body=body, target_id=acceptance.reply_to)


def broken_body(acceptance: Acceptance) -> str:
    """The findings of a configuration, each linked to its line."""
    configured = acceptance.configured
    assert configured is not None, "nothing is asked before the configuration is read"
    # the issue's own address says where this GitHub has its pages
    home = acceptance.event.issue.url.partition("/issues/")[0].partition("/pull/")[0]

    def link(file: str, line: int) -> str:
        base = configured.base
        if base is not None and (path := file.removeprefix(f"{base.source}:")) != file:
            site = home.rpartition("/")[0].rpartition("/")[0]
            return f"{site}/{base.owner}/{REPOSITORY}/blob/{base.commit}/{quote(path)}#L{line}"
        return f"{home}/blob/{configured.commit}/{quote(file)}#L{line}"

    return configuration_body(configured.findings, commit=configured.commit, link=link if configured.commit else None)
