"""Reads what a run must know of its thread: once, kept with the run, the same for all of its steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

from bot.context import (
    ISSUE_BODY,
    Anchor,
    PinnedComment,
    StoredVersion,
    ThreadSnapshot,
    pinned,
    read_thread,
    stored,
)
from bot.context.snapshot import Kind, Ref, ref
from bot.engine.assembly import RoleOf
from bot.engine.commit import Terms, keep_thread
from bot.engine.roles import Roles
from bot.engine.tools import Tools
from bot.github import RepositoryClient
from bot.model.slot import Slot
from bot.model.thread import Comment
from bot.store import Session, deliveries, snapshots, spoken, threads
from bot.store.runs import RunRows

#: comments whose texts are read from the store at first: as many as a window looks at where nobody floods the thread
NEWEST = 30


class Reading:
    """The thread and its people, for the runs of this instance: the thread is read once a run and kept."""

    def __init__(self, tools: Tools) -> None:
        self._t = tools
        self._roles = Roles(tools.clock)

    def role_of(self, client: RepositoryClient) -> RoleOf:
        """Roles as GitHub tells them, kept for a while."""
        return lambda account: self._roles.of(client, account)

    async def thread(self, rows: RunRows, terms: Terms, client: RepositoryClient) -> ThreadSnapshot:
        """The thread at this run's anchor: kept if it was read before, else read and kept."""
        if rows.run.thread_blob is not None:
            return await self._kept(rows.run.thread_blob)
        snapshot = await self.window(rows, terms, client, terms.configuration.bot.history_comment_count)
        data = snapshot.to_json().encode()
        now = self._t.clock.now()
        kept = await self._t.store.write(lambda session: keep_thread(session, rows.run.id, data, now))
        rows.run.thread_blob = kept
        return snapshot if kept == snapshots.digest_of(data) else await self._kept(kept)

    async def _kept(self, digest: str) -> ThreadSnapshot:
        return ThreadSnapshot.from_json(await self._t.store.read(lambda session: snapshots.get_blob(session, digest)))

    async def window(
        self,
        rows: RunRows,
        terms: Terms,
        client: RepositoryClient,
        count: int,
        before: Anchor | None = None,
        known_count: int = 0,
    ) -> ThreadSnapshot:
        """The thread at this run's anchor with a window of `count` comments, read now and not kept.

        `before` is another anchor, of which about `known_count` comments stand up to it.
        """
        anchor, since, seen, pins, purposes = await self._t.store.read(lambda session: _known(session, rows, before))

        async def older(since: datetime | None) -> list[StoredVersion]:
            return await self._t.store.read(lambda session: _seen(session, rows, since, anchor, pins, purposes))

        handles = terms.configuration.bot.mention or (self._t.handle(),)
        return await read_thread(
            client,
            reviews=client,
            number=rows.thread.number,
            anchor=anchor,
            window=count,
            known_count=known_count or rows.dispatch.comment_count,
            versions=seen,
            since=since,
            older=older,
            pins=pins,
            is_ours=lambda comment: self._ours(comment, rows, purposes),
            is_command_only=lambda text: self._t.command_only(text, handles),
        )

    def _ours(self, comment: Comment, rows: RunRows, purposes: Mapping[Ref, str]) -> Slot | str | None:
        """The slot of a comment of ours; its purpose alone where the marker is gone; None for everybody else's."""
        if not self._t.mine(comment):
            return None
        mark = self._t.marker.find(comment.body, repository_id=rows.thread.repository_id, thread=rows.thread.number)
        # the comments of a review of ours carry no marker
        bare = "finding" if comment.kind == "review_comment" else "other"
        return mark.slot if mark else purposes.get(ref(comment), bare)


def _known(
    session: Session, rows: RunRows, before: Anchor | None
) -> tuple[Anchor, datetime | None, list[StoredVersion], list[PinnedComment], dict[Ref, str]]:
    """What the store holds of the thread: the anchor, the newest texts up to it and since when, every pin, purposes."""
    thread, anchor = rows.thread, before or _anchor(session, rows)
    purposes = spoken.by_posted(session, thread.id)
    pins = [pinned(row) for row in threads.pins(session, thread.id)]
    since = threads.newest_since(session, thread.id, anchor.cut, NEWEST)
    return anchor, since, _seen(session, rows, since, anchor, pins, purposes), pins, purposes


def _anchor(session: Session, rows: RunRows) -> Anchor:
    """Where the window of a run ends."""
    dispatch = rows.dispatch
    at = datetime.fromisoformat(dispatch.trigger["at"])
    root, kind = dispatch.reply_to, cast("Kind", dispatch.target_kind)
    if dispatch.depth:
        # what a run has started sees the thread as it was then, the comment at the root of the chain among the others
        return Anchor(None, at, dispatch.created_at, root_id=root)
    return Anchor(dispatch.comment_id, at, deliveries.received_at(session, dispatch.delivery_id), kind, root)


def _seen(
    session: Session,
    rows: RunRows,
    since: datetime | None,
    anchor: Anchor,
    pins: Sequence[PinnedComment],
    purposes: Mapping[Ref, str],
) -> list[StoredVersion]:
    """The texts of what was written since then, of what is pinned or asks, and of the issue's own body."""
    asking = {number for number in (anchor.comment_id, anchor.root_id) if number is not None}
    also = {ISSUE_BODY, *asking, *(pin.comment.id for pin in pins)}
    return [stored(row, purposes) for row in threads.versions(session, rows.thread.id, since, also)]
