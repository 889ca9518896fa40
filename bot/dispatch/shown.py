"""What stands on GitHub where a gate asks, read part by part when somebody answers: an answer counts only for that.

Times are GitHub's own, of our comments and of the answer. Our clock has no say: it may be off, and what somebody did to
a comment may be told late.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.errors import Forbidden, NotFound
from bot.github import RepositoryClient
from bot.model.thread import Comment
from bot.publish import Marker, bound_to, plainly
from bot.publish.boxes import spread
from bot.publish.gate_comment import slot_of
from bot.publish.marker import shown_digest, strip
from bot.store import Session, outbox
from bot.store.gates import Asked
from bot.store.tables import Outbox, Thread
from bot.workflows.answers import choices

#: why an answer does not count
UNREAD = "GitHub does not show the question now, and an answer is held against what stands there"
OLDER = "the question did not stand here yet as it does now"

#: where a comment of ours is: GitHub's id, and whether it is in a review's thread
Place = tuple[int, bool]
#: what stands at each place; None where it is gone
Present = Mapping[Place, Comment | None]


@dataclass(frozen=True, slots=True)
class Shown:
    """How an answer finds the question. `altered`: who had changed it; `unshown`: why it is not what is asked now.

    `changed` are the rows of ours that others changed, `gone` those that somebody deleted.
    """

    altered: str = ""
    unshown: str = ""
    changed: tuple[Outbox, ...] = ()
    gone: tuple[Outbox, ...] = ()

    def mend(self, session: Session) -> None:
        """Have said again what does not stand as it was said, whether or not GitHub has told us of it."""
        for row in self.changed:
            outbox.restate(session, row)
        for row in self.gone:
            outbox.deleted(session, row)


def places_of(session: Session, asked: Asked) -> list[Place]:
    """Where the parts of a gate's comment stand, as far as they do."""
    rows = outbox.parts(session, slot_of(session, asked))
    return [_place(row.posted_id, row) for row in rows if row.posted_id is not None]


async def read(client: RepositoryClient, places: Sequence[Place]) -> Present:
    """What stands there now; left out where GitHub does not show it. Raises `Transient`."""
    found: dict[Place, Comment | None] = {}
    for place in places:
        comment_id, in_review = place
        try:
            found[place] = await (client.review_comment(comment_id) if in_review else client.comment(comment_id))
        except NotFound:
            found[place] = None
        except Forbidden:
            continue
    return found


def held(
    session: Session, marker: Marker, thread: Thread, asked: Asked, present: Present, at: datetime, but: str = ""
) -> Shown:
    """Hold what was said at `at` against what stands there. `but` is the row whose own text says what was answered.

    Who reads and answers takes longer than a second, which is as exact as GitHub's times are; only where the question
    was another one before, an answer of the same second may have been about that.
    """
    rows = outbox.parts(session, slot_of(session, asked))
    boxes = spread([row.body for row in rows], len(choices(asked.gate.options)))
    bound = bound_to(asked.gate.digest, asked.gate.head_sha)
    changed, gone, older, unread, stands = [], [], False, False, False
    for row, places in zip(rows, boxes, strict=True):
        if row.id == but:
            stands = stands or says(row.body, bound)
            continue
        if row.posted_id is None:
            older = True
            continue
        place = _place(row.posted_id, row)
        comment = present.get(place)
        if comment is None:
            unread = unread or place not in present
            gone += [row] if place in present else []
            older = True
            continue
        text = plainly(comment.body, len(places))
        if not ours(marker, row, text, repository_id=thread.repository_id, number=thread.number):
            changed.append(row)
        stands = stands or says(text, bound)
        before = asked.gate.altered_by or asked.gate.options.get("moved")
        older = older or at < comment.updated_at or bool(before and at == comment.updated_at)
    altered = ""
    if changed or (older and not unread and asked.gate.altered_by):
        altered = asked.gate.altered_by or "somebody"
    unshown = UNREAD if unread else OLDER if older or not stands else ""
    return Shown(altered, unshown, tuple(changed), tuple(gone))


def ours(marker: Marker, row: Outbox, text: str, *, repository_id: int, number: int) -> bool:
    """Whether a text without ticks is what we say there, or what we said before.

    Whoever sees an older text of ours and ticks a box of it sends that text back: its marker tells that it was ours.
    """
    if shown_digest(strip(text)) == shown_digest(row.body):
        return True
    mark = marker.find(text, repository_id=repository_id, thread=number)
    return mark is not None and mark.intact and str(mark.slot) == row.slot


def _place(posted_id: int, row: Outbox) -> Place:
    return posted_id, row.target_kind == "review_comment"


def says(text: str, bound: str) -> bool:
    """Whether the last line of a part names what is asked and the commit that it is about (`bound_to`)."""
    return bound in strip(text).rpartition("\n")[2]
