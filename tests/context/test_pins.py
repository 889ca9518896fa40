"""The index of pins: what people see, and what restores the rows."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.context import PinnedComment, linked_comment, numbered, parse_index, render_index
from bot.model.thread import Account
from tests.context.threads import MEG, comment, moment


def pin(number: int, body: str = "Keep Python 3.9 working", author: Account = MEG) -> PinnedComment:
    return PinnedComment(comment(number, body, author), "ana", moment(number))


def test_index() -> None:
    """Numbered, linked, with author, date and first words."""
    long = "The vendor's API allows five requests a second and answers with an error page beyond that, always"
    assert render_index([pin(1), pin(2, long)], "@bot") == (
        "📌 **What the bot always sees here**\n"
        "\n"
        '1. [meg, 3 November](https://github.test/o/r/issues/7#issuecomment-1): "Keep Python 3.9 working"\n'
        "2. [meg, 3 November](https://github.test/o/r/issues/7#issuecomment-2): "
        '"The vendor\'s API allows five requests a second and answers with an error page" …\n'
        "\n"
        "<sub>`@bot pin <link>` · `@bot unpin 2`</sub>\n"
    )


def test_no_pins() -> None:
    """Says so, and parses to nothing."""
    assert "Nothing is pinned." in render_index([])
    assert parse_index(render_index([])) == []


def test_edited_since() -> None:
    """An edit after the pin shows."""
    edited = PinnedComment(comment(1, updated_at=moment(9)), "ana", moment(2))
    assert "(edited since)" in render_index([edited])
    assert "(edited since)" not in render_index([pin(1)])


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(
        st.integers(1, 10**12),
        st.text(max_size=120)
        | st.sampled_from(
            ['x"\n9. [a, b](https://github.test/o/r/issues/7#issuecomment-666): "y"', "[x](y)", "@team <!-- z -->"]
        ),
        max_size=6,
    )
)
def test_index_reads_back(bodies: dict[int, str]) -> None:
    """Whatever the comments say, the index lists exactly these, and one a line."""
    pins = [PinnedComment(comment(1, body, id=number), "ana", moment(1)) for number, body in bodies.items()]
    text = render_index(pins)
    assert parse_index(text.replace("\n", "\r\n")) == [("comment", number) for number in bodies]
    assert len(text.split("\n")) == 2 + max(1, len(bodies)) + 3


def test_quoted_safely() -> None:
    """Nobody is called, nothing is linked, nothing opens."""
    line = render_index([pin(1, "@team see [x](http://y) `a` <b>")]).split("\n")[2]
    assert "@team" not in line
    assert "\\[x\\]\\(http://y\\) a \\<b\\>" in line


def test_which_pin() -> None:
    """A number of the index or a link to the comment."""
    pins = [pin(11), pin(12)]
    assert numbered(pins, "2") == ("comment", 12)
    assert numbered(pins, "<https://github.test/o/r/issues/7#issuecomment-11>") == ("comment", 11)
    for unknown in ("0", "3", "-1", "x", "", "²", "https://github.test/o/r/issues/7#issuecomment-99"):
        assert numbered(pins, unknown) is None
    assert linked_comment("https://github.test/o/r/issues/7") is None


def test_pins_of_reviews() -> None:
    """A review and a review comment have links of their own, and a number that a comment may have too."""
    url = "https://github.test/o/r/pull/7"
    pins = [
        PinnedComment(comment(5, "of the conversation"), "ana", moment(9)),
        PinnedComment(comment(5, "the review", kind="review", url=f"{url}#pullrequestreview-5"), "ana", moment(9)),
        PinnedComment(comment(5, "at a line", kind="review_comment", url=f"{url}#discussion_r5"), "ana", moment(9)),
    ]
    text = render_index(pins)
    assert f"({url}#pullrequestreview-5)" in text
    assert f"({url}#discussion_r5)" in text
    assert parse_index(text) == [("comment", 5), ("review", 5), ("review_comment", 5)]
    assert numbered(pins, f"{url}#discussion_r5") == ("review_comment", 5)
    assert numbered(pins[:2], f"{url}#discussion_r5") is None
    assert linked_comment(f"{url}#pullrequestreview-6") == ("review", 6)
