"""The review loop: "Request changes" on a pull request that this App opened is one request with all its comments."""

from __future__ import annotations

from dataclasses import replace

from bot.dispatch.acceptance import Asked
from bot.dispatch.authorise import Allowed, Denied
from bot.dispatch.cause import REVIEWED
from bot.dispatch.commands import Command
from bot.dispatch.occasion import Heard, Occasion, silent
from bot.dispatch.review_request import read_review
from bot.dispatch.starting import accept
from bot.errors import Forbidden, NotFound
from bot.model.event import Event
from bot.model.role import Role
from bot.store import Session, dispatches, spoken
from bot.store.tables import Run, Thread
from bot.workflows import Configuration

#: GitHub's word, in small letters
CHANGES_REQUESTED = "changes_requested"


async def changes_requested(occasion: Occasion) -> Heard | None:
    """The ear of the review loop.

    What runs: the workflows with `on: {review_submitted: …}`, else the one whose run opened the pull request, else the
    `default`. Where the review's own text asks for a workflow, that is the request, with all its comments; built-ins in
    it act beside it. Approvals, reviews that only comment, and reviews by those who may not command start nothing.
    """
    if not _requests_changes(occasion.event) or any(one.for_workflow for one in occasion.asked):
        return None
    opened_by = await opener(occasion)
    if opened_by is None:
        return None
    asked, refused = await _allowed(occasion, opened_by)
    if not asked:
        return silent(refused)
    event = occasion.event
    assert event.comment is not None, "a review has its own text, though it may be empty"
    review_read = await read_review(occasion.client, event.issue.number, event.comment)
    said = replace(review_read, answers_in_thread=True, name=REVIEWED)
    acceptance = replace(occasion.acceptance(), said=said)

    def act(session: Session, thread: Thread) -> None:
        first = dispatches.next_ordinal(session, occasion.delivery.id)
        for ordinal, (name, role) in enumerate(asked, first):
            request = Asked(ordinal, Command("named", name, {}, said.text), role)
            accept(session, thread, acceptance, request, None, occasion.parts.speaker)

    return Heard(f"changes requested: {', '.join(name for name, _ in asked)}", act)


async def owed(occasion: Occasion) -> bool:
    """Whether an event is a review whose request is accepted, though nobody mentions the bot in it."""
    if not _requests_changes(occasion.event) or (opened_by := await opener(occasion)) is None:
        return False
    return bool((await _allowed(occasion, opened_by))[0])


async def covers(occasion: Occasion) -> bool:
    """Whether a remark belongs to a review that is one request with all its remarks, whichever is told first.

    What somebody writes into a remark later is a request of its own. Raises `Postponed` and `Transient`.
    """
    event, place = occasion.event, occasion.event.comment.place if occasion.event.comment is not None else None
    if (event.name, event.action) != ("pull_request_review_comment", "created") or place is None:
        return False
    review_id = place.review_id
    if review_id is None or (opened_by := await opener(occasion)) is None:
        return False
    try:
        review = await occasion.client.review(event.issue.number, review_id)
    except (NotFound, Forbidden):
        return False
    return review.review_state.lower() == CHANGES_REQUESTED and bool((await _allowed(occasion, opened_by))[0])


def _requests_changes(event: Event) -> bool:
    if (event.name, event.action) != ("pull_request_review", "submitted") or event.comment is None:
        return False
    return event.review is not None and event.review.state == CHANGES_REQUESTED


async def _allowed(occasion: Occasion, opened_by: str) -> tuple[list[tuple[str, Role | None]], str]:
    """What the sender may have run by a review, each with the role, and why not where it may not."""
    broken, usable = (await occasion.configured()).configuration is None, await occasion.usable()
    asked: list[tuple[str, Role | None]] = []
    refused = ""
    for name in _names(usable, opened_by):
        match await occasion.authorised(Role.WRITE if broken else usable.role_for(name)):
            case Allowed(role=role):
                asked.append((name, role))
            case Denied(reason=reason):
                refused = reason
    return asked, refused


async def opener(occasion: Occasion) -> str | None:
    """The workflow whose run opened the pull request of an event, empty where the App opened it and no run is known.

    None for a pull request of somebody else's, whose reviews are no matter of the review loop.
    """
    event = occasion.event
    repository_id, number = event.repository.id, event.issue.number
    opened_by = await occasion.parts.store.read(lambda session: _opened_by(session, repository_id, number))
    if opened_by is None and event.pull is not None and occasion.identity.is_me(event.pull.author):
        return ""
    return opened_by


def _names(usable: Configuration, opened_by: str) -> tuple[str, ...]:
    listening = tuple(name for name, workflow in sorted(usable.workflows.items()) if workflow.on.review_submitted)
    if listening:
        return listening
    if opened_by and usable.workflow_for(opened_by) is not None:
        return (opened_by,)
    return (usable.bot.default,)


def _opened_by(session: Session, repository_id: int, number: int) -> str | None:
    """The workflow whose run opened the pull request; None where none did."""
    run_id = spoken.opened_by(session, repository_id, number)
    return session.get_one(Run, run_id).workflow if run_id is not None else None
