"""Rows of the store as this room reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from bot.context.snapshot import Kind, PinnedComment, Ref, StoredVersion
from bot.model.codec import comment_from_json
from bot.model.role import Role
from bot.model.slot import Slot
from bot.model.thread import Account, ReviewPlace
from bot.store.tables import CommentVersion, Pin


def pinned(row: Pin) -> PinnedComment:
    """A pin's row."""
    return PinnedComment(
        comment=comment_from_json(row.comment),
        pinned_by=row.pinned_by,
        pinned_at=row.pinned_at,
        native=row.native,
        role=Role(row.pinned_by_role) if row.pinned_by_role else None,
    )


def stored(row: CommentVersion, purposes: Mapping[Ref, str]) -> StoredVersion:
    """A comment's text as it was kept; `purposes` are those of our comments, where a slot is not known."""
    kind = cast("Kind", row.kind)
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
        purpose=Slot.parse(row.slot).purpose if row.slot else purposes.get((kind, row.comment_id)),
        slot=row.slot,
        kind=kind,
        place=ReviewPlace(**row.place) if row.place is not None else None,
    )
