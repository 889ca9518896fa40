"""The text of a comment as it stood at an anchor: from what GitHub shows now and what the store saw before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence, Set
from dataclasses import replace
from datetime import datetime

from bot.context.snapshot import Anchor, Ref, StoredVersion, ref
from bot.model.thread import Comment, Issue

EDITED_KNOWN = "edited since; shown as it was"
EDITED_UNKNOWN = "edited since; the text of that time is not known"
#: the number under which an issue's body is kept
ISSUE_BODY = 0
_ISSUE_BODY: Ref = ("comment", ISSUE_BODY)


#: gives what was seen of comments written since an earlier moment, None for everything
Older = Callable[[datetime | None], Awaitable[Sequence[StoredVersion]]]


class Versions:
    """The stored versions of one thread, by comment."""

    def __init__(self, versions: Iterable[StoredVersion]) -> None:
        self._of: dict[Ref, list[StoredVersion]] = defaultdict(list)
        for version in versions:
            self._of[version.ref].append(version)
        for group in self._of.values():
            group.sort(key=lambda version: (version.updated_at, version.seen_at))
        #: the comments that were ever seen, the issue's body not counted
        self.refs: Set[Ref] = self._of.keys() - {_ISSUE_BODY}
        #: those of them that were deleted since
        self.deleted: Set[Ref] = {found for found in self.refs if any(v.deleted_at for v in self._of[found])}

    def newest(self, which: Ref) -> StoredVersion:
        """What was seen last. Raises KeyError where nothing was."""
        if which not in self._of:
            raise KeyError(which)
        return self._of[which][-1]

    def current(self, which: Ref) -> Comment:
        """A comment that was not read, as it was seen last."""
        return _comment(self.newest(which))

    def as_of(self, comment: Comment, anchor: Anchor) -> tuple[Comment, str]:
        """The comment as it stood at the anchor, and a note if that is not how it stands now.

        GitHub's times have whole seconds. Of two texts of one second the one we had seen when the delivery arrived
        counts. A review has no time of its last edit, so of its texts that one counts whatever it was.
        """
        before = [version for version in self._of.get(ref(comment), ()) if version.updated_at <= anchor.cut]
        if comment.updated_at > anchor.cut:
            return (_then(comment, before), EDITED_KNOWN) if before else (comment, EDITED_UNKNOWN)
        if anchor.arrived is None:
            return comment, ""
        seen = [version for version in before if version.seen_at <= anchor.cut]
        untold = comment.kind == "review" or (seen and seen[-1].updated_at == comment.updated_at)
        if seen and untold and seen[-1].body != comment.body:
            return _then(comment, seen), EDITED_KNOWN
        return comment, ""

    def issue_body(self, issue: Issue, anchor: Anchor) -> StoredVersion | None:
        """The issue's body at the anchor, if it may have changed since and was seen by then.

        An issue's `updated_at` moves with every comment and label, so it only proves that nothing changed.
        """
        if issue.updated_at < anchor.at:
            return None
        seen = [version for version in self._of.get(_ISSUE_BODY, ()) if version.updated_at <= anchor.cut]
        return seen[-1] if seen else None


def _then(comment: Comment, versions: Sequence[StoredVersion]) -> Comment:
    return replace(comment, body=versions[-1].body, updated_at=versions[-1].updated_at)


def _comment(version: StoredVersion) -> Comment:
    return Comment(
        id=version.comment_id,
        author=version.author,
        body=version.body,
        created_at=version.created_at,
        updated_at=version.updated_at,
        url=version.url,
        minimized=version.minimized,
        role=version.role,
        kind=version.kind,
        place=version.place,
    )
