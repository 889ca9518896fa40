"""What a review asks for: its own text with all of its comments, each with its place and its hunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot.context import sanitise
from bot.errors import Forbidden, NotFound
from bot.github import RepositoryClient
from bot.model.codec import places_to_json
from bot.model.fence import fence
from bot.model.thread import Comment, ReviewPlace
from bot.publish import closed
from bot.publish.body import inline_code

#: as many comments of one review as GitHub's client reads
COMMENTS_MAX = 300
#: what a request says in the place of comments that cannot be read
NOT_SHOWN = "(GitHub does not show the comments of this review.)"


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """`text` is Markdown, `whole` the same with the hunks, which nobody vouches for; a prompt has those as blocks.

    `threads` are the comments that begin the review's threads, or the first it has in each. `answers_in_thread`: where
    there is one thread, it is the place for answers. `name` is the trigger's, empty where a mention is the trigger.
    """

    text: str
    whole: str
    threads: tuple[Comment, ...] = ()
    answers_in_thread: bool = False
    name: str = ""

    @property
    def root_id(self) -> int | None:
        """The comment that begins the only thread; None where there are none or several."""
        places = {one.place.root_id for one in self.threads if one.place is not None}
        return places.pop() if len(places) == 1 else None

    @property
    def trigger(self) -> dict[str, Any]:
        """What is kept among the values of the namespace `trigger`: what is asked, and the places it is about."""
        named = {"name": self.name, "text": self.whole} if self.name else {}
        return places_to_json(self.threads) | named


async def read_review(client: RepositoryClient, number: int, review: Comment) -> ReviewRequest:
    """The review with the comments that came with it, as they stand now; three requests at most.

    Where GitHub does not show the comments, the review's own text is what is asked; without one it says what is
    missing. Raises `Transient`.
    """
    try:
        comments = await client.comments_of_review(number, review.id)
    except (NotFound, Forbidden):
        text = review.body if review.body.strip() else NOT_SHOWN
        return ReviewRequest(text, text)
    whole = composed(review.body, comments, hunks=True)
    return ReviewRequest(composed(review.body, comments), whole, _threads(comments))


def composed(body: str, comments: Sequence[Comment], *, hunks: bool = False) -> str:
    """The review's text, then each comment under its place, and its hunk. Without comments it is the text as it is.

    Each text is sanitised and closed by itself, so that what one of them leaves open takes in no other.
    """
    if not comments:
        return body
    pieces = [_whole(body)] if body.strip() else []
    seen: set[int] = set()
    for comment in comments:
        place = comment.place
        if place is None:
            pieces.append(_whole(comment.body))
            continue
        pieces.append(f"**{inline_code(_where(place))}**")
        if hunks and place.root_id not in seen and place.hunk:
            pieces.append(fence(place.hunk, "diff"))
        seen.add(place.root_id)
        pieces.append(_whole(comment.body))
    if len(comments) >= COMMENTS_MAX:
        pieces.append(f"(These are the first {COMMENTS_MAX} comments of the review.)")
    return "\n\n".join(pieces)


def _threads(comments: Sequence[Comment]) -> tuple[Comment, ...]:
    found: dict[int, Comment] = {}
    for comment in comments:
        if comment.place is not None:
            found.setdefault(comment.place.root_id, comment)
    return tuple(found.values())


def _where(place: ReviewPlace) -> str:
    return f"{place.where} (before the change)" if place.side == "LEFT" else place.where


def _whole(text: str) -> str:
    return closed(sanitise(text).text.strip())
