"""Which findings a pull request was told: read from lines that only we can write."""

from __future__ import annotations

import pytest

from bot.model.slot import Slot
from bot.model.thread import Account, Comment
from bot.publish import Marker, told_findings
from bot.publish.findings import findings_line
from tests.github.fake import START

MARKER = Marker([b"k" * 32])
ONE, TWO = "1" * 32, "2" * 32


def comment(body: str, author: str = "bot[bot]") -> Comment:
    return Comment(1, Account(99, author, "Bot"), body, START, START, kind="review_comment")


def told(*comments: Comment, marker: Marker = MARKER, repository: int = 7, thread: int = 4) -> frozenset[str]:
    return told_findings(
        marker, comments, repository_id=repository, thread=thread, mine=lambda one: one.author.login == "bot[bot]"
    )


def line(*fingerprints: str) -> str:
    return findings_line(MARKER, fingerprints, repository_id=7, thread=4)


def test_what_was_told_is_known() -> None:
    """In one comment or in several, whatever stands around it and however lines end."""
    both = comment(f"Two things.\r\n\r\n{line(ONE, TWO)}\r\n\r\n<!-- other -->")
    assert told(both) == {ONE, TWO}
    assert told(comment(line(ONE)), comment(line(TWO))) == {ONE, TWO}
    assert told(comment("Hello.")) == frozenset()


def test_nothing_told_is_no_line() -> None:
    assert line() == ""


def test_a_copy_is_worthless() -> None:
    """By somebody else, in another thread or repository, with other findings, or under another key."""
    assert told(comment(line(ONE), "sam")) == frozenset()
    assert told(comment(line(ONE)), thread=5) == frozenset()
    assert told(comment(line(ONE)), repository=8) == frozenset()
    assert told(comment(line(ONE).replace(ONE, TWO))) == frozenset()
    assert told(comment(line(ONE)), marker=Marker([b"x" * 32])) == frozenset()


def test_keys_rotate() -> None:
    assert told(comment(line(ONE)), marker=Marker([b"x" * 32, b"k" * 32])) == {ONE}


@pytest.mark.parametrize("quoted", ["> ", "    ", "x "])
def test_a_line_inside_other_text_does_not_count(quoted: str) -> None:
    assert told(comment(f"{quoted}{line(ONE)}")) == frozenset()


def test_markers_and_lines_do_not_mix() -> None:
    """A slot's signature says nothing about findings."""
    body = MARKER.sign(f"x\n\n{line(ONE)}", repository_id=7, thread=4, slot=Slot("run/1", "review"))
    mark = MARKER.find(body, repository_id=7, thread=4)
    assert mark is not None
    assert mark.intact
    assert told(comment(body)) == {ONE}
    signature = body.rsplit("signature=", 1)[1][:32]
    assert told(comment(f"<!-- threadsmith findings={ONE} signature={signature} -->")) == frozenset()
