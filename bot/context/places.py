"""The places of comments in a thread, seen from the anchor: what stands before it, and what it is itself."""

from __future__ import annotations

from datetime import datetime

from bot.context.snapshot import Anchor, ref
from bot.model.thread import Comment


class Places:
    """Which comments stand before the anchor: by creation time, then id."""

    def __init__(self, anchor: Anchor, opened_at: datetime) -> None:
        self.anchor = anchor
        self._opened_at = opened_at

    def precede(self, comment: Comment) -> bool:
        """Whether it stands before the anchor."""
        anchor = self.anchor
        if comment.created_at != anchor.at:
            return comment.created_at < anchor.at
        if anchor.comment_id is None:
            # of an event's own second everything counts, except that nothing precedes the issue itself
            return anchor.at != self._opened_at
        # numbers of another sort say nothing about which was first
        return comment.kind != anchor.kind or comment.id < anchor.comment_id

    def begins_thread(self, comment: Comment) -> bool:
        """Whether it begins the review thread which the request is about."""
        return ref(comment) == ("review_comment", self.anchor.root_id)

    def is_request(self, comment: Comment) -> bool:
        """Whether it is the request itself, or a comment of the review that is."""
        anchor, place = self.anchor, comment.place
        if anchor.kind == "review" and place is not None and place.review_id == anchor.comment_id:
            return anchor.comment_id is not None
        return ref(comment) == anchor.ref
