"""What a review asks for: its text and its comments, each whole by itself."""

from __future__ import annotations

import pytest

from bot.dispatch.review_request import COMMENTS_MAX, ReviewRequest, composed, read_review
from bot.model.codec import review_links, review_places
from bot.model.thread import Comment, ReviewPlace
from tests.dispatch.reviews import HUNK, SITE, has_remarks, remark_json
from tests.dispatch.scene import REPO, Scene, client_of
from tests.github.fake import answer
from tests.rows import ANA, NOW

REVIEW = Comment(700, ANA, "Please mend these.", NOW, NOW, kind="review")


def remark(number: int, body: str, *, root: int = 0, path: str = "a.py", line: int | None = 3) -> Comment:
    place = ReviewPlace(path, line, "RIGHT", HUNK, root or number, 700)
    return Comment(number, ANA, body, NOW, NOW, f"{SITE}#discussion_r{number}", kind="review_comment", place=place)


def test_without_comments_it_is_its_text() -> None:
    """As it was written."""
    assert composed("Do *it* <!-- x -->", []) == "Do *it* <!-- x -->"


def test_text_places_and_comments() -> None:
    """Each comment under its place; the hunk only where it is asked for, and once a thread."""
    comments = [
        remark(1, "Use `or`."),
        remark(2, "And here.", root=1),
        remark(3, "Whole.", path="b.py", line=None),
    ]
    assert composed("Please.", comments) == (
        "Please.\n\n**`a.py:3`**\n\nUse `or`.\n\n**`a.py:3`**\n\nAnd here.\n\n**`b.py`**\n\nWhole."
    )
    whole = composed("", comments[:2], hunks=True)
    assert whole == f"**`a.py:3`**\n\n```diff\n{HUNK}\n```\n\nUse `or`.\n\n**`a.py:3`**\n\nAnd here."


def test_no_comment_takes_in_another() -> None:
    """What one leaves open (a fence, hidden HTML) ends with it; what is hidden in one is taken out."""
    text = composed("", [remark(1, "```\ncode"), remark(2, "a <!-- b"), remark(3, "c --> d")])
    assert "```\ncode\n```" in text
    assert "b" not in text.replace("**`a.py:3`**", "")
    assert text.endswith(("c --> d", "c --&gt; d"))


def test_one_thread_or_several() -> None:
    """The place for answers is known where there is one thread."""
    one = ReviewRequest("", "", (remark(2, "x", root=1), remark(3, "y", root=1)))
    assert one.root_id == 1
    assert ReviewRequest("", "", (remark(1, "x"), remark(2, "y"))).root_id is None
    assert ReviewRequest("", "").root_id is None


async def test_read(scene: Scene) -> None:
    """One request; what is kept names the threads, and gives their places back."""
    has_remarks(scene, remark_json(801, "Use `or`."), remark_json(802, "Why?", path="b.py", line=None))
    asked = await read_review(client_of(scene.server), 1, REVIEW)
    assert asked.text.startswith("Please mend these.\n\n**`src/size.py:2`**\n\nUse `or`.")
    assert HUNK in asked.whole
    assert HUNK not in asked.text
    assert [one.id for one in asked.threads] == [801, 802]
    kept = asked.trigger
    assert "name" not in kept
    assert review_links(kept) == [
        ("src/size.py:2", f"{SITE}#discussion_r801"),
        ("b.py", f"{SITE}#discussion_r802"),
    ]
    assert [place.hunk for place in review_places(kept)] == [HUNK, HUNK]


def test_what_is_left_out_is_said() -> None:
    """GitHub's client reads so many comments of one review."""
    text = composed("", [remark(number, "x") for number in range(1, COMMENTS_MAX + 1)])
    assert text.endswith(f"(These are the first {COMMENTS_MAX} comments of the review.)")


@pytest.mark.parametrize("status", [403, 404])
async def test_comments_that_are_not_shown(scene: Scene, status: int) -> None:
    """The review's own text is asked all the same."""
    path = f"{REPO}/pulls/1/reviews/{REVIEW.id}/comments"
    scene.server.on("GET", path, answer({"message": "no"}, status))
    assert await read_review(client_of(scene.server), 1, REVIEW) == ReviewRequest(REVIEW.body, REVIEW.body, ())
