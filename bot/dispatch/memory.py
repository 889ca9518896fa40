"""What is kept of every event we are told of: comment texts, deletions, GitHub's own pins, our own comments' slots."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from bot.dispatch.pins import say_index
from bot.model.codec import comment_to_json
from bot.model.event import Event
from bot.model.slot import Slot
from bot.model.state import DispatchState
from bot.model.thread import Comment
from bot.publish import Marker, Speaker, cancelled_body
from bot.store import Session, dispatches, doubt, purging, threads
from bot.store.tables import Thread


def observe(
    session: Session, event: Event, marker: Marker, speaker: Speaker, handle: str, now: datetime, *, ours: bool
) -> Thread:
    """Record what the event tells about its thread, whether or not anything is asked.

    `ours` says that the comment is this App's, whoever edited it: a marker in anybody else's is a copy.
    """
    thread = threads.ensure(session, event.repository, event.issue, event.installation_id, event.at)
    comment = event.comment
    if comment is None:
        threads.remember(session, thread.id, body_as_comment(event), now)
        return thread
    match event.action:
        case "created" | "edited" | "submitted":
            mark = marker.find(comment.body, repository_id=event.repository.id, thread=event.issue.number)
            slot = str(mark.slot) if mark and ours else None
            if not _is_bare(event):
                threads.remember(session, thread.id, comment, now, slot)
            threads.refresh_pin(session, thread.id, comment.id, comment_to_json(comment))
            if slot:  # a person's edit of our comment confirms it as well
                doubt.confirm(session, slot, comment.id, comment.url, now)
        case "deleted":
            pinned = threads.pinned(session, thread.id, comment.id, comment.kind)
            threads.forget(session, thread.id, comment, now)
            purging.comment_deleted(session, thread, comment.id, comment.kind, comment.created_at, now)
            _cancel_asked_by(session, thread, comment, speaker, now)
            if pinned:
                say_index(session, thread, speaker, handle)
        case "pinned":
            threads.pin(
                session,
                thread.id,
                comment.id,
                comment_to_json(replace(comment, pinned=True)),
                by_id=event.sender.id,
                by=event.sender.login,
                role=None,
                when=event.at,
                native=True,
            )
        case "unpinned":
            threads.unpin(session, thread.id, comment.id, native=True)
    return thread


def confirm_own(
    session: Session, event: Event, marker: Marker, now: datetime, *, gone: int | None = None
) -> int | None:
    """Our own comment came back: its slot is filled. Returns the id of another comment that fills it already.

    `gone` is a comment that was taken back since.
    """
    thread = threads.ensure(session, event.repository, event.issue, event.installation_id, event.at)
    comment = event.comment
    if comment is None:
        return None
    if event.action == "deleted":
        threads.forget(session, thread.id, comment, now)
        return None
    mark = marker.find(comment.body, repository_id=event.repository.id, thread=event.issue.number)
    if not _is_bare(event) and not is_purged(session, event, thread):
        threads.remember(session, thread.id, comment, now, str(mark.slot) if mark else None)
    if mark is None or event.action not in ("created", "submitted"):
        return None
    return doubt.confirm(session, str(mark.slot), comment.id, comment.url, now, gone=gone)


def _is_bare(event: Event) -> bool:
    """Whether it is a review that only holds comments: GitHub makes one of every reply."""
    comment = event.comment
    return event.action == "submitted" and comment is not None and not comment.body.strip()


def body_as_comment(event: Event) -> Comment:
    """The issue's body in the shape of a comment, with the id 0."""
    issue = event.issue
    return Comment(0, issue.author, issue.body, issue.created_at, issue.updated_at, issue.url)


def thread_of(session: Session, event: Event) -> Thread | None:
    """The thread that an event is about; None where nothing is known of it yet."""
    return threads.find(session, event.repository.id, event.issue.number)


def is_purged(session: Session, event: Event, thread: Thread | None) -> bool:
    """Whether what an event tells of was deleted meanwhile, so that its text is kept nowhere and asks for nothing.

    `thread` is its own, None where there is none yet.
    """
    if event.action == "deleted" or thread is None:
        return False
    comment = event.comment
    if comment is not None and threads.is_deleted(session, thread.id, comment.id, comment.kind):
        return True
    return thread.gone == "deleted" and (thread.gone_at is None or event.at <= thread.gone_at)


def _cancel_asked_by(session: Session, thread: Thread, comment: Comment, speaker: Speaker, now: datetime) -> None:
    """A deleted trigger cancels what it asked for and has not started, and what tries that again; each end is told.

    It may be another's comment that somebody deleted.
    """
    by = "the deletion of the comment that asked"
    for run in dispatches.open_of_thread(session, thread.id):
        dispatch = dispatches.get(session, run.dispatch_id)
        if dispatch.state is not DispatchState.QUEUED:
            continue
        asked_by = (dispatch.target_kind, dispatch.comment_id) == (comment.kind, comment.id)
        if asked_by or (run.retry_of is not None and dispatch.trigger.get("comment_id") == comment.id):
            dispatches.cancel(session, run, by, now)
            body = cancelled_body(run=run.number, workflow=run.workflow, by=by)
            speaker.comment(session, thread, Slot(f"run/{run.id}", "end"), purpose="cancelled", body=body, run=run)
