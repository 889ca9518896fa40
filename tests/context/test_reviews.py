"""The window of a pull request: conversation, reviews and review comments by time, in a few reads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.context import Anchor, PinnedComment, Selection, ThreadSnapshot, WindowPolicy, manifest_table, select
from bot.context.messages import THREAD_MOST
from bot.context.reviews import Collected, place_block
from bot.model.context import Manifest
from bot.model.role import Role
from bot.model.thread import ReviewPlace
from tests.context.pulls import HUNK, Pull, read_pull, remark, review
from tests.context.threads import BOT, CI, MEG, ROLES, SAM, comment, moment, stored

EVERYBODY = WindowPolicy(authors="any")
WRITERS = WindowPolicy(authors="writers")


def chosen(snapshot: ThreadSnapshot, policy: WindowPolicy = EVERYBODY) -> Selection:
    return select(snapshot, policy, ROLES)


def names(selection: Selection) -> list[str]:
    """Sort and number of each comment in the window."""
    return [f"{one.message.kind} {one.message.id}" for one in selection.comments]


def fates(selection: Selection) -> dict[tuple[str, int], str]:
    return {(record.kind, record.id): record.fate for record in selection.records}


async def test_everything_by_time() -> None:
    """What was said in the conversation, in reviews and at lines is one window; an empty review is nothing."""
    pull = Pull(
        [comment(1), comment(4), comment(9, "@bot look", MEG)],
        reviews=[review(2, "Nearly."), review(5), review(12, "later")],
        remarks=[remark(3), remark(6), remark(11)],
    )
    selection = chosen(await read_pull(pull, pull.items[-1]))
    assert names(selection) == ["comment 1", "review 2", "review_comment 3", "comment 4", "review_comment 6"]
    assert fates(selection) == {
        ("comment", 1): "included",
        ("review", 2): "included",
        ("review_comment", 3): "included",
        ("comment", 4): "included",
        ("review_comment", 6): "included",
        ("comment", 9): "request",
    }
    assert selection.comments[2].message.facts == ["2025-11-03 12:03 UTC", "at src/size.py:2"]


async def test_one_number_of_three_sorts() -> None:
    """GitHub counts each sort for itself: three things of one number are three."""
    pull = Pull(
        [comment(5), comment(9, "@bot look", MEG)], reviews=[review(5, "well")], remarks=[remark(5, "at a line")]
    )
    versions = [stored(pull.items[0]), stored(pull.reviews[0], kind="review"), stored(pull.remarks[0])]
    versions[2] = stored(pull.remarks[0], kind="review_comment", place=pull.remarks[0].place)
    selection = chosen(await read_pull(pull, pull.items[-1], versions=versions))
    # of one second, a review stands before its comments
    assert names(selection) == ["review 5", "review_comment 5", "comment 5"]


@pytest.mark.parametrize("count", [0, 5, 100, 101, 2000])
async def test_calls_do_not_grow(count: int) -> None:
    """Of 0 and of 2,000 review comments the newest are there, in a fixed number of reads."""
    remarks = [remark(number) for number in range(1, count + 1)]
    pull = Pull([comment(count + 1, "@bot look", MEG)], remarks=remarks)
    snapshot = await read_pull(pull, pull.items[-1])
    newest = [f"review_comment {number}" for number in range(max(1, count - 4), count + 1)]
    assert names(chosen(snapshot)) == newest
    assert len(pull.calls) == snapshot.reads <= 6
    assert snapshot.complete == (count <= 101)


async def test_what_was_said_first_does_not_stand_for_what_was_said_last() -> None:
    """The last page holds less than a window, and the first one is far older than the one between them."""
    remarks, reviews = ([made(number) for number in range(1, 203)] for made in (remark, lambda n: review(n, "Well.")))
    for pull, kind in (
        (Pull([comment(300, "@bot look", MEG)], remarks=remarks), "review_comment"),
        (Pull([comment(300, "@bot look", MEG)], reviews=reviews), "review"),
    ):
        snapshot = await read_pull(pull, pull.items[-1])
        assert names(chosen(snapshot)) == [f"{kind} {number}" for number in range(198, 203)]


async def test_reads_at_most_seven_more_than_of_an_issue() -> None:
    """Whatever has to be looked for: three pages of reviews, three of review comments, and what began the thread."""
    bots = [remark(number, "nit", CI, root=250) for number in range(301, 801)]
    pull = Pull(
        [comment(number, "@bot status") for number in range(1, 300)],
        reviews=[review(number, "bot", CI) for number in range(1, 400)],
        remarks=[*(remark(number, "nit", CI) for number in range(1, 301)), *bots, remark(900, "@bot look", root=250)],
    )
    snapshot = await read_pull(pull, pull.remarks[-1])
    assert len(pull.calls) == snapshot.reads == 3 + 7
    assert "remark 250" in pull.calls
    assert not snapshot.complete


async def test_older_pages_are_read_only_where_something_of_them_can_be_shown() -> None:
    """A newer conversation fills the window: the page before the last of reviews and remarks cannot change it."""
    pull = Pull(
        [comment(number) for number in range(1001, 1010)],
        reviews=[review(number, "fine") for number in range(1, 301)],
        remarks=[remark(number, "nit", CI) for number in range(1, 301)],
    )
    snapshot = await read_pull(pull, Anchor(None, moment(2000)))
    assert "reviews 3" in pull.calls
    assert "reviews 2" not in pull.calls
    assert names(chosen(snapshot)) == [f"comment {number}" for number in range(1005, 1010)]


async def test_rules_are_those_of_comments() -> None:
    """Trust, minimised, commands, other bots, notes of our own, hidden text: no other rules than for comments."""
    pull = Pull(
        [comment(50, "@bot look", MEG)],
        reviews=[review(10, "by a stranger", SAM), review(11, "ours", BOT)],
        remarks=[
            remark(20, "@bot status"),
            remark(21, "gone", minimized=True),
            remark(22, "nit", CI),
            remark(23, "status: running", BOT),
            remark(24, "finding", BOT),
            remark(25, "seen <!-- hidden -->", MEG),
            remark(26, "by a stranger", SAM),
        ],
    )
    selection = chosen(await read_pull(pull, pull.items[-1]), WRITERS)
    assert names(selection) == ["review_comment 25"]
    assert selection.comments[0].message.text.strip() == "seen"
    assert selection.comments[0].message.removed
    assert fates(selection) == {
        ("review", 10): "below trust",
        ("review", 11): "own ours",
        ("review_comment", 20): "command",
        ("review_comment", 21): "minimised",
        ("review_comment", 22): "other bot",
        ("review_comment", 23): "own status",
        ("review_comment", 24): "own finding",
        ("review_comment", 25): "included",
        ("review_comment", 26): "below trust",
        ("comment", 50): "request",
    }


async def test_the_thread_that_was_asked_in() -> None:
    """What was said in the thread stands by itself and takes no place in the window; findings of ours are seen."""
    pull = Pull(
        [comment(1), comment(2)],
        remarks=[
            remark(10, "finding", BOT),
            remark(11, "No.", SAM, root=10),
            remark(12, "status: running", BOT, root=10),
            remark(13, "another place", line=9),
            remark(14, "@bot explain", MEG, root=10),
            remark(15, "later", root=10),
        ],
    )
    snapshot = await read_pull(pull, pull.remarks[4], 2)
    selection = chosen(snapshot)
    assert [one.message.id for one in selection.thread] == [10, 11]
    assert (selection.thread[0].role, selection.thread[0].trust) == ("bot", "untrusted")
    assert names(selection) == ["comment 1", "comment 2", "review_comment 13"]
    assert fates(selection)["review_comment", 11] == "thread"
    assert fates(selection)["review_comment", 12] == "own status"
    assert snapshot.place == pull.remarks[4].place
    # a stranger's words are left out of a thread as they are of the window
    assert [one.message.id for one in chosen(snapshot, WRITERS).thread] == [10]
    assert fates(chosen(snapshot, WRITERS))["review_comment", 11] == "below trust"
    assert ThreadSnapshot.from_json(snapshot.to_json()) == snapshot


async def test_a_long_thread_shows_its_beginning_and_its_end() -> None:
    """The comment that began it and the newest; what is between is left out and recorded."""
    replies = [remark(number, root=1) for number in range(2, 2001)]
    pull = Pull([], remarks=[remark(1, "the beginning"), *replies, remark(2001, "@bot look", MEG, root=1)])
    selection = chosen(await read_pull(pull, pull.remarks[-1]))
    shown = [one.message.id for one in selection.thread]
    assert shown == [1, *range(2001 - THREAD_MOST, 2001)]
    assert names(selection) == []
    assert fates(selection)["review_comment", 5] == "beyond window"
    assert len(pull.calls) <= 5


async def test_the_beginning_is_read_by_itself() -> None:
    """Where the thread began on a page that is not read; one that was deleted is not there."""
    remarks = [remark(number) for number in range(1, 400)]
    pull = Pull([], remarks=[*remarks, remark(401, "@bot look", MEG, root=150)])
    selection = chosen(await read_pull(pull, pull.remarks[-1]))
    assert [one.message.id for one in selection.thread] == [150]
    pull.remarks = [one for one in pull.remarks if one.id != 150]
    selection = chosen(await read_pull(pull, pull.remarks[-1]))
    assert selection.thread == ()


async def test_a_review_asks_with_its_comments() -> None:
    """They are the request, and take no place in the window."""
    pull = Pull(
        [comment(1)],
        reviews=[review(20, "@bot do it", MEG)],
        remarks=[remark(10, of=20), remark(11, of=20), remark(12, of=21)],
    )
    selection = chosen(await read_pull(pull, pull.reviews[0]))
    assert names(selection) == ["comment 1", "review_comment 12"]
    assert [fates(selection)[key] for key in (("review", 20), ("review_comment", 10), ("review_comment", 11))] == (
        ["request"] * 3
    )


async def test_a_review_as_it_stood() -> None:
    """A review has no time of its last edit: the text that was seen when the delivery arrived is shown."""
    first = review(5, "as it was")
    pull = Pull([comment(9, "@bot look", MEG)], reviews=[review(5, "as it is now")])
    seen = [stored(first, kind="review"), stored(review(5, "as it is now"), kind="review", seen_at=moment(20))]
    anchor = Anchor(9, moment(9), moment(10))
    snapshot = await read_pull(pull, anchor, versions=seen)
    shown = chosen(snapshot).comments[0].message
    assert (shown.text, shown.note) == ("as it was", "edited since; shown as it was")


async def test_a_deleted_review_comment() -> None:
    """Known from the store and missing on its page: it is left out, and said so."""
    pull = Pull([comment(9, "@bot look", MEG)], remarks=[remark(1), remark(3)])
    gone = remark(2)
    versions = [stored(gone, kind="review_comment", place=gone.place)]
    selection = chosen(await read_pull(pull, pull.items[-1], versions=versions))
    assert names(selection) == ["review_comment 1", "review_comment 3"]
    assert selection.notes == ("comment 2 by ana was deleted since",)


async def test_pins_of_reviews() -> None:
    """A pinned review comment is shown once, as a pin, with its present text, and not in its thread."""
    pull = Pull([], remarks=[remark(1, "keep this", SAM), remark(2, root=1), remark(3, "@bot look", MEG, root=1)])
    pins = [PinnedComment(remark(1, "as pinned", SAM), "meg", moment(2), role=Role.WRITE)]
    selection = chosen(await read_pull(pull, pull.remarks[-1], pins=pins))
    assert [one.message.text for one in selection.pins] == ["keep this"]
    assert [one.message.id for one in selection.thread] == [2]
    assert fates(selection)["review_comment", 1] == "pinned"


async def test_an_issue_is_read_as_before() -> None:
    """Nothing of reviews is asked for where there are none."""
    pull = Pull([comment(1), comment(2, "@bot look", MEG)])
    pull.head = replace(pull.head, is_pull_request=False)
    await read_pull(pull, pull.items[-1])
    assert pull.calls == ["issue", "page 1"]


def test_nothing_read_covers_nothing() -> None:
    """A submitted review is never taken for deleted."""
    read = Collected()
    assert read.complete
    assert read.reads == 0
    assert not read.covers(("review", 1))


def test_the_block_of_a_place() -> None:
    """File, line, the side where it is the old one, and the hunk with nothing invisible in it."""
    block, removed = place_block(ReviewPlace('a "b".py', 3, "LEFT", f"{HUNK}\u200b", 1))
    assert block.text == f'file: "a \\"b\\".py"\nline: 3\nside: the file before the change\n\n{HUNK}\n'
    assert (block.kind, block.trust) == ("review", "untrusted")
    assert removed == ("1 zero-width character (3 bytes)",)
    whole, _ = place_block(ReviewPlace("a.py", None, "RIGHT", "", 1))
    assert whole.text == 'file: "a.py"\n'


async def test_the_manifest_says_where() -> None:
    """Reviews and places are named in the table, and the thread counts as seen."""
    pull = Pull([], reviews=[review(1, "Nearly.")], remarks=[remark(2), remark(3, "@bot look", MEG, root=2)])
    selection = chosen(await read_pull(pull, pull.remarks[-1]))
    manifest = Manifest(comments=selection.records, window=5)
    assert manifest.comments_seen == 2
    table = manifest_table(manifest)
    assert "#pullrequestreview-1), review | 7 B | included |" in table
    assert "#discussion_r2), review comment at src/size.py:2 | 8 B | included: the thread that was asked in |" in table


async def test_a_review_that_is_not_on_its_page_is_not_gone() -> None:
    """A submitted review stays for ever: what the store knows of it is shown."""
    pull = Pull([comment(9, "@bot look", MEG)], remarks=[remark(1), remark(3)])
    versions = [stored(review(2, "from the store"), kind="review")]
    selection = chosen(await read_pull(pull, pull.items[-1], versions=versions))
    assert names(selection) == ["review_comment 1", "review 2", "review_comment 3"]


async def test_of_the_same_second() -> None:
    """Numbers of another sort do not tell what was first: nothing that was said in that second is lost."""
    pull = Pull(
        [comment(9, "@bot look", MEG), comment(10, "later", created_at=moment(9))],
        reviews=[review(900, "in the same second", created_at=moment(9))],
    )
    assert names(chosen(await read_pull(pull, pull.items[0]))) == ["review 900"]


async def test_a_review_that_was_edited_twice() -> None:
    """Once before the request and once after: the text between is shown, though GitHub tells no time of either."""
    pull = Pull([comment(9, "@bot look", MEG)], reviews=[review(5, "third")])
    seen = [
        stored(review(5, "first"), kind="review"),
        stored(review(5, "second", updated_at=moment(7)), kind="review", seen_at=moment(7)),
    ]
    snapshot = await read_pull(pull, Anchor(9, moment(9), moment(10)), versions=seen)
    assert chosen(snapshot).comments[0].message.text == "second"
