"""A thread as it stood, in at most three reads."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from bot.context import Anchor, PinnedComment, StoredVersion, ThreadSnapshot, WindowPolicy, read_thread, select
from bot.context.pages import Pages, page_of
from bot.model.role import Role
from bot.model.thread import GHOST, Comment
from tests.context.threads import (
    BOT,
    CI,
    MEG,
    ROLES,
    SAM,
    Thread,
    comment,
    is_command,
    issue,
    moment,
    ours,
    read,
    stored,
)

EVERYBODY = WindowPolicy(authors="any")


def seen(snapshot: ThreadSnapshot, policy: WindowPolicy = EVERYBODY) -> list[int]:
    return [shown.message.id for shown in select(snapshot, policy, ROLES).comments]


def fates(snapshot: ThreadSnapshot, policy: WindowPolicy = EVERYBODY) -> dict[int, str]:
    return {record.id: record.fate for record in select(snapshot, policy, ROLES).records}


def mention(number: int) -> Comment:
    return comment(number, "@bot look", MEG)


@pytest.mark.parametrize("length", [1, 2, 5, 6, 100, 101, 102, 199, 200, 201, 250, 2000, 10_000])
async def test_newest_are_there(length: int) -> None:
    """The five before the mention, oldest first, in three reads or fewer, whatever the length."""
    thread = Thread([*(comment(n) for n in range(1, length)), mention(length)])
    snapshot = await read(thread, thread.items[-1])
    assert seen(snapshot) == list(range(max(1, length - 5), length))
    assert len(thread.calls) == snapshot.reads <= 3
    assert fates(snapshot)[length] == "request"


async def test_reads_do_not_grow() -> None:
    """One page, cut so that enough stands on it."""
    lengths = {10: 1, 101: 2, 103: 2, 250: 3, 10_000: 100, 10_001: 115}
    for length, page in lengths.items():
        thread = Thread([*(comment(n) for n in range(1, length)), mention(length)])
        await read(thread, thread.items[-1])
        assert thread.calls == ["issue", f"page {page}"]


def test_a_page_is_as_small_as_the_window_lets_it() -> None:
    """It holds the newest comment and as many before it as are wanted, or all of them."""
    for wanted in (6, 30, 50):
        for count in range(1, 20_001, 3):
            size, page = page_of(count, count + 10, wanted)
            start = (page - 1) * size
            assert start < count <= start + size - 10
            assert wanted <= size <= 100
            assert count - start >= min(count, wanted, 40)


def test_a_page_holds_hardly_more_than_is_wanted() -> None:
    """Wherever the newest comment stands; what is not there takes no place on a page."""
    for counts in (range(900, 1_100), range(9_900, 10_100)):
        pages = [(count, *page_of(count, count + 10, 30, count)) for count in counts]
        held = [count - (page - 1) * size for count, size, page in pages]
        assert min(held) == 30
        assert max(held) <= 37
        assert sum(held) / len(held) < 32


def test_what_came_later_counts_too() -> None:
    """Of an old request's page there is more than what was said before it, so that the smallest page it is."""
    for low in range(900, 1_100):
        size, _ = page_of(low, low + 10, 30, 2_000)
        held = {each: low - (low - 1) // each * each for each in range(30, size)}
        assert all(have < 30 or have + 10 > each for each, have in held.items())


def test_a_page_that_looks_back_holds_what_it_can() -> None:
    """At least half a page of those before, or all; where the last one is not known, whichever it may be."""
    for low in range(1, 20_001, 7):
        size, page = page_of(low, low, 100)
        start = (page - 1) * size
        assert start < low <= start + size <= start + 100
        assert low - start >= min(low, 50)
        size, page = page_of(low, low + 29, 100)
        start = (page - 1) * size
        assert start < low
        assert low + 29 <= start + size <= start + 100


def test_pages_of_two_sizes_are_one_run() -> None:
    """Whatever of the second one stands on the first too: what is missing between them was deleted."""
    pages = Pages()
    pages.add(4, 30, [comment(n) for n in range(91, 121) if n != 100])
    assert (pages.oldest, pages.complete, pages.covers(100), pages.covers(90)) == (moment(91), False, True, False)
    pages.add(2, 50, [comment(n) for n in range(51, 101) if n not in (90, 100)])
    assert (pages.oldest, pages.covers(90), pages.covers(50), pages.covers(121)) == (moment(51), True, False, False)
    apart = Pages()
    for number in (1, 4):
        apart.add(number, 30, [comment(n) for n in range(number * 30 - 29, number * 30 + 1)])
    assert (apart.oldest, apart.complete, apart.covers(45), apart.covers(2)) == (moment(91), False, False, True)


async def test_no_comments() -> None:
    """A thread without comments costs one read."""
    thread = Thread([])
    snapshot = await read(thread, Anchor(None, moment(0)))
    assert seen(snapshot) == []
    assert thread.calls == ["issue"]
    assert snapshot.complete


async def test_window_of_none_reads_no_page() -> None:
    """N = 0 means pins only."""
    thread = Thread([*(comment(n) for n in range(1, 5)), mention(5)])
    pin = PinnedComment(comment(2), "meg", moment(3))
    snapshot = await read(thread, thread.items[-1], window=0, pins=[pin])
    assert thread.calls == ["issue"]
    assert [shown.message.id for shown in select(snapshot, WindowPolicy(0), ROLES).pins] == [2]
    assert seen(snapshot, WindowPolicy(0)) == []


async def test_old_anchor() -> None:
    """A comment delivered again long after: what came after it does not count, and its own page is read."""
    thread = Thread(comment(n) for n in range(1, 2001))
    snapshot = await read(thread, thread.items[302 - 1])
    assert seen(snapshot) == [297, 298, 299, 300, 301]
    assert thread.calls == ["issue", "page 4"]


@pytest.mark.parametrize(
    ("length", "known", "calls"),
    [
        (250, 50, ["page 1", "page 3"]),  # stale: the last page is meant
        (201, 200, ["page 2", "page 3"]),  # a comment came meanwhile: the next page is meant
        (1001, 200, ["page 2", "page 3"]),
    ],
)
async def test_stale_count(length: int, known: int, calls: list[str]) -> None:
    """A count that was too low is corrected from `last`."""
    thread = Thread(comment(n) for n in range(1, length + 1))
    anchor = 201 if length > 250 else length
    snapshot = await read(thread, thread.items[anchor - 1], known_count=known)
    assert thread.calls == ["issue", *calls]
    assert seen(snapshot) == list(range(anchor - 5, anchor))


async def test_count_too_high() -> None:
    """Comments were deleted since, and the issue's own count is stale too."""
    thread = Thread([*(comment(n) for n in range(1, 90)), mention(90)], issue(205))
    snapshot = await read(thread, thread.items[-1], known_count=205)
    assert thread.calls == ["issue", "page 3", "page 2"]
    assert seen(snapshot) == [85, 86, 87, 88, 89]


async def test_fresh_count_wins_over_an_older_larger_one() -> None:
    """The issue says how many are left."""
    thread = Thread([*(comment(n) for n in range(1, 90)), mention(90)])
    await read(thread, thread.items[-1], known_count=205)
    assert thread.calls == ["issue", "page 1"]


async def test_what_is_not_mentionable() -> None:
    """Minimised, empty, commands, the bot's own status, other bots: left out with the reason; results count."""
    thread = Thread(
        [
            comment(1),
            comment(2, "result: it is the parser", BOT),
            comment(3, minimized=True),
            comment(4, "<!-- nothing to see -->"),
            comment(5, "@bot status"),
            comment(6, "status: r1 running", BOT),
            comment(7, "coverage 81 %", CI),
            comment(8, "", MEG),
            comment(9, "last", GHOST),
            mention(10),
        ]
    )
    snapshot = await read(thread, thread.items[-1])
    assert seen(snapshot) == [1, 2, 9]
    assert fates(snapshot) == {
        1: "included",
        2: "included",
        3: "minimised",
        4: "empty",
        5: "command",
        6: "own status",
        7: "other bot",
        8: "empty",
        9: "included",
        10: "request",
    }
    assert select(snapshot, EVERYBODY, ROLES).records[-2].author == "ghost"


async def test_many_status_comments_reach_further_back() -> None:
    """What does not count takes no place, on the page before too."""
    noise = [comment(n, "status: r1", BOT) for n in range(60, 150)]
    thread = Thread([*(comment(n) for n in range(1, 60)), *noise, mention(150)])
    snapshot = await read(thread, thread.items[-1])
    assert seen(snapshot) == [55, 56, 57, 58, 59]
    assert thread.calls == ["issue", "page 2", "page 1"]


async def test_many_other_bots_take_no_place() -> None:
    """Nor do other bots; a policy that wants them has enough of them."""
    noise = [comment(n, author=CI) for n in range(10, 90)]
    thread = Thread([*(comment(n) for n in range(1, 10)), *noise, mention(90)])
    snapshot = await read(thread, thread.items[-1])
    assert seen(snapshot) == [5, 6, 7, 8, 9]
    assert seen(snapshot, WindowPolicy(bots="all")) == [85, 86, 87, 88, 89]


async def test_stored_versions_fill_in() -> None:
    """Two pages of noise, and what the store remembers from before; that it is no whole window is noted."""
    noise = [comment(n, "status: r1", BOT) for n in range(101, 400)]
    thread = Thread([*(comment(n) for n in range(1, 101)), *noise, mention(400)])
    snapshot = await read(thread, thread.items[-1], versions=[stored(comment(40)), stored(comment(41))])
    selection = select(snapshot, EVERYBODY, ROLES)
    assert [shown.message.id for shown in selection.comments] == [40, 41]
    assert "the window holds 2 of 5: older comments were not read" in selection.notes
    assert len(thread.calls) == 3


def _remembered(thread: Thread, newest: int) -> dict[str, Any]:
    """What a bot that was told of everything gives for a look at the newest."""
    last = thread.items[-newest:]
    versions = [stored(each, purpose=ours(each), minimized=each.minimized) for each in last]
    return {"versions": versions, "since": last[0].created_at, "older": _nothing}


async def _nothing(since: datetime | None) -> list[StoredVersion]:
    return []


@pytest.mark.parametrize("length", [102, 250, 2000, 10_001])
async def test_a_page_is_small_where_the_store_knows_that_it_will_do(length: int) -> None:
    """Whatever the length; the window is the same."""
    thread = Thread([*(comment(n) for n in range(1, length)), mention(length)])
    snapshot = await read(thread, thread.items[-1], **_remembered(thread, 31))
    assert seen(snapshot) == list(range(length - 5, length))
    assert len(thread.given) == 1
    assert thread.given[0] < 40
    assert len(snapshot.messages) < 60


async def test_what_was_said_after_an_old_request_makes_no_page_large() -> None:
    """There are 200 comments behind it: a page of 97 would hold 67 of them."""
    thread = Thread(
        [*(comment(n) for n in range(1, 1_000)), mention(1_000), *(comment(n) for n in range(1_001, 1_201))]
    )
    asked = thread.items[999]
    before = Thread(thread.items[:1_000])
    snapshot = await read(thread, asked, **_remembered(before, 31))
    assert seen(snapshot) == [995, 996, 997, 998, 999]
    assert thread.given == [44]


@pytest.mark.parametrize(
    "noise",
    [
        {"author": CI},
        {"author": BOT, "body": "status: r1"},
        {"minimized": True},
    ],
)
async def test_a_page_is_large_where_the_store_knows_of_noise(noise: dict[str, object]) -> None:
    """What takes no place in a window is no reason for a small page."""
    thread = Thread([*(comment(n) for n in range(1, 900)), *(comment(n, **noise) for n in range(900, 960))])  # type: ignore[arg-type]  # a builder for tests
    thread.items.append(mention(960))
    thread.head = issue(960)
    snapshot = await read(thread, thread.items[-1], **_remembered(thread, 31))
    assert seen(snapshot) == [895, 896, 897, 898, 899]
    assert thread.sizes == [96]


async def test_a_small_page_that_will_not_do_is_followed_by_a_large_one() -> None:
    """The store did not know what was minimised since: where people are left out the window reaches further back."""
    minimised = [comment(n, minimized=True) for n in range(930, 992)]
    thread = Thread([*(comment(n) for n in range(1, 930)), *minimised, *(comment(n) for n in range(992, 1000))])
    thread.items.append(mention(1000))
    thread.head = issue(1000)
    known = _remembered(Thread([*(comment(n) for n in range(1, 1000)), mention(1000)]), 31)
    snapshot = await read(thread, thread.items[-1], **known)
    assert seen(snapshot) == [995, 996, 997, 998, 999]
    assert fates(snapshot)[928] == "beyond window"
    assert len(thread.given) == 2
    assert thread.given[1] > 2 * thread.given[0]


@pytest.mark.parametrize("known", [True, False])
async def test_no_comment_stands_between_two_pages(known: bool) -> None:
    """Wherever they are cut."""
    for length in range(400, 440):
        noise = [comment(n, minimized=True) for n in range(length - 100, length)]
        thread = Thread([*(comment(n) for n in range(1, length - 100)), *noise, mention(length)])
        told = Thread([*(comment(n) for n in range(1, length)), mention(length)])
        snapshot = await read(thread, thread.items[-1], **(_remembered(told, 31) if known else {}))
        numbers = [message.id for message in snapshot.messages]
        assert numbers == list(range(numbers[0], length + 1))
        assert len(thread.sizes) == 2


async def test_what_the_store_was_never_told_of_is_looked_for() -> None:
    """Deliveries were missed: what it knows from before does not fill the window in place of what is unread."""
    noise = [comment(n, author=CI) for n in range(340, 400)]
    thread = Thread([*(comment(n) for n in range(1, 340)), *noise, mention(400)])
    known = _remembered(Thread(thread.items[:40]), 31)
    snapshot = await read(thread, thread.items[-1], **known)
    assert seen(snapshot) == [335, 336, 337, 338, 339]
    assert len(thread.sizes) == 2


async def test_a_thread_that_went_on_since_a_request_without_a_count() -> None:
    """The page at its end does not reach the request: what was hidden of what stands before it is not shown."""
    thread = Thread([*(comment(n, minimized=155 <= n < 160) for n in range(1, 160)), mention(160)])
    thread.items += [comment(n) for n in range(161, 200)]
    thread.head = issue(199)
    known = _remembered(Thread([*(comment(n) for n in range(1, 160)), mention(160)]), 31)
    snapshot = await read(thread, thread.items[159], known_count=0, **known)
    assert seen(snapshot) == [150, 151, 152, 153, 154]
    assert len(thread.sizes) == 2


async def test_a_small_page_reaches_over_a_count_that_is_a_little_stale() -> None:
    """Comments that were written meanwhile stand on it too; a count that is further off means the last page."""
    for late, pages in ((9, 1), (40, 2)):
        thread = Thread([*(comment(n) for n in range(1, 500)), mention(500)])
        snapshot = await read(thread, thread.items[-1], known_count=500 - late, **_remembered(thread, 31))
        assert seen(snapshot) == [495, 496, 497, 498, 499]
        assert len(thread.sizes) == pages


async def test_parts_of_one_result_count_once() -> None:
    """A result in three comments is one of the window."""
    parts = [comment(n, f"result/{n}: part", BOT) for n in (3, 4, 5)]
    thread = Thread([comment(1), comment(2), *parts, comment(6), mention(7)])
    assert seen(await read(thread, thread.items[-1], window=3), WindowPolicy(3)) == [2, 3, 4, 5, 6]
    assert seen(await read(thread, thread.items[-1], window=2), WindowPolicy(2)) == [3, 4, 5, 6]


async def test_order_is_by_time_then_id() -> None:
    """A transferred comment has a high id and an old time; of one second the id decides."""
    thread = Thread(
        [comment(1), comment(2), comment(3, created_at=moment(2)), mention(4), comment(9, created_at=moment(1.5))]
    )
    snapshot = await read(thread, thread.items[3], known_count=5)
    assert seen(snapshot) == [1, 9, 2, 3]


async def test_same_second_as_the_anchor() -> None:
    """Before it only what has a lower id."""
    thread = Thread([comment(n, created_at=moment(1)) for n in (1, 2, 3)])
    assert seen(await read(thread, thread.items[1])) == [1]


async def test_event_without_a_comment() -> None:
    """A label set in a second in which somebody wrote sees that comment; an issue opened in it sees nothing."""
    thread = Thread([comment(1), comment(2)])
    assert seen(await read(thread, Anchor(None, moment(1)))) == [1]
    thread.head = issue(2, created_at=moment(1))
    assert seen(await read(thread, Anchor(None, moment(1)))) == []


async def test_edited_since() -> None:
    """As it was where a version is known, else the text of now with a note."""
    thread = Thread(
        [comment(1, "new", updated_at=moment(30)), comment(2, "new", updated_at=moment(30)), comment(3), mention(4)]
    )
    snapshot = await read(thread, thread.items[-1], versions=[stored(comment(1, "old"))])
    texts = {m.id: (m.text, m.note) for m in snapshot.messages}
    assert texts[1] == ("old", "edited since; shown as it was")
    assert texts[2] == ("new", "edited since; the text of that time is not known")
    assert texts[3] == ("comment 3", "")


async def test_edited_twice_before() -> None:
    """An edit before the anchor is simply the text."""
    thread = Thread([comment(1, "third", updated_at=moment(30)), mention(4)])
    versions = [
        stored(comment(1, "first")),
        stored(comment(1, "second", updated_at=moment(2))),
        stored(comment(1, "third", updated_at=moment(30))),
    ]
    snapshot = await read(thread, thread.items[-1], versions=versions)
    assert snapshot.messages[0].text == "second"


async def test_edited_in_the_same_second() -> None:
    """Of two texts of one second the one counts that we had seen when the delivery arrived."""
    late = comment(1, "swapped", updated_at=moment(4))
    thread = Thread([late, mention(4)])
    arrived = moment(4) + timedelta(milliseconds=400)
    versions = [
        stored(late, body="shown", seen_at=arrived - timedelta(milliseconds=100)),
        stored(late, seen_at=arrived + timedelta(milliseconds=300)),
    ]
    snapshot = await read(thread, Anchor(4, moment(4), arrived), known_count=2, versions=versions)
    assert snapshot.messages[0].text == "shown"
    assert snapshot.messages[0].note == "edited since; shown as it was"


async def test_deleted_since() -> None:
    """Left out and noted, whether we were told or only find it missing; the window reaches one further back."""
    thread = Thread([comment(n) for n in (1, 2, 5, 6)] + [mention(7)])
    versions = [
        stored(comment(3), body="", deleted_at=moment(20)),
        stored(comment(4)),
    ]
    snapshot = await read(thread, thread.items[-1], window=3, versions=versions)
    selection = select(snapshot, WindowPolicy(3), ROLES)
    assert [shown.message.id for shown in selection.comments] == [2, 5, 6]
    assert {record.id: record.fate for record in selection.records}[4] == "deleted"
    assert "comment 3 by ana was deleted since" in selection.notes
    assert "comment 4 by ana was deleted since" in selection.notes
    assert "comment 3" not in "".join(message.text for message in snapshot.messages)


async def test_a_list_that_lags_behind() -> None:
    """A comment that we were told of and GitHub's list does not show yet is there."""
    thread = Thread([comment(1), comment(2)])
    snapshot = await read(thread, mention(4), known_count=2, versions=[stored(comment(3))])
    assert seen(snapshot) == [1, 2, 3]


async def test_issue_body_as_it_stood() -> None:
    """A body edited after the mention is shown as the mention's delivery held it."""
    swapped = issue(1, body="now evil", title="new", updated_at=moment(60))
    thread = Thread([mention(1)], swapped)
    version = stored(comment(1, "It crashes.", SAM), comment_id=0, title="Crash on empty input")
    snapshot = await read(thread, thread.items[-1], versions=[version])
    assert (snapshot.issue.title, snapshot.issue.body) == ("Crash on empty input", "It crashes.")
    assert snapshot.notes == ("issue body: edited since; shown as it was",)
    thread.head = issue(1, body="final", updated_at=moment(0))
    assert (await read(thread, thread.items[-1], versions=[version])).issue.body == "final"


async def test_hidden_text_everywhere() -> None:
    """Comments, title, body and labels are sanitised; what went is told."""
    head = issue(2, title="a\nb <!-- x -->", body="seen <!-- y -->", labels=("good\u200b\nfirst",))
    thread = Thread([comment(1, "one <!-- z -->"), mention(2)], head)
    snapshot = await read(thread, thread.items[-1])
    assert (snapshot.issue.title, snapshot.issue.body, snapshot.issue.labels) == ("a b", "seen ", ("good first",))
    assert snapshot.issue_removed == ("1 HTML comment (10 bytes)", "title: 1 HTML comment (10 bytes)")
    assert snapshot.messages[0].text == "one "
    assert select(snapshot, EVERYBODY, ROLES).records[0].removed == ("1 HTML comment (10 bytes)",)


async def test_pins_from_every_source() -> None:
    """Ours, GitHub's, both, inside the window and long before it: each once, oldest first."""
    items = [*(comment(n) for n in range(1, 301)), mention(301)]
    thread = Thread(items, issue(301, pinned_comment=comment(20)))
    pins = [
        PinnedComment(comment(298), "meg", moment(299), role=Role.WRITE),
        PinnedComment(comment(4, "old"), "meg", moment(5), role=Role.WRITE),
        PinnedComment(comment(20), "ana", moment(21), role=Role.WRITE),
        PinnedComment(comment(30), "ana", moment(31), native=True),
    ]
    snapshot = await read(thread, items[-1], pins=pins, versions=[stored(comment(4, "edited", updated_at=moment(9)))])
    assert [(pin.message.id, pin.native) for pin in snapshot.pins] == [(4, False), (20, True), (298, False)]
    assert snapshot.pins[0].message.text == "edited"
    assert "edited 2025-11-03 12:09 UTC" in snapshot.pins[0].message.note
    # the pin inside the window appears once, and the window reaches one further back
    assert seen(snapshot) == [295, 296, 297, 299, 300]


async def test_pins_take_no_place() -> None:
    """However many of the newest comments are pinned, the window is full."""
    thread = Thread([*(comment(n) for n in range(1, 10)), mention(10)])
    pins = [PinnedComment(comment(n), "meg", moment(n)) for n in (5, 6, 7, 8, 9)]
    assert seen(await read(thread, thread.items[-1], window=2, pins=pins), WindowPolicy(2)) == [3, 4]


async def test_pin_of_a_deleted_comment() -> None:
    """Dropped with a note."""
    thread = Thread([comment(1), comment(3), mention(4)])
    pins = [PinnedComment(comment(2), "meg", moment(3)), PinnedComment(comment(3), "meg", moment(3))]
    snapshot = await read(thread, thread.items[-1], pins=pins)
    assert [pin.message.id for pin in snapshot.pins] == [3]
    assert snapshot.notes == ("pin of comment 2 dropped: the comment was deleted",)


async def test_snapshot_survives_the_store() -> None:
    """JSON and back gives the same, so that every step and every restart sees one thread."""
    thread = Thread(
        [comment(1, "日本 👩\u200d👧 \ud800"), comment(2, "result/1: x", BOT), comment(3, author=SAM), mention(4)],
        issue(4, pinned_comment=comment(1)),
    )
    pins = [PinnedComment(comment(3), "meg", moment(4), role=Role.ADMIN)]
    snapshot = await read(thread, thread.items[-1], pins=pins)
    assert ThreadSnapshot.from_json(snapshot.to_json()) == snapshot


async def test_200_kilobytes() -> None:
    """A long comment is there whole."""
    body = "日本語 text\n" * 12_000
    thread = Thread([comment(1, body), mention(2)])
    assert (await read(thread, thread.items[-1])).messages[0].text == body


async def test_cost_is_flat() -> None:
    """Of a long thread no more texts are examined than of a short one."""
    looked: list[str] = []

    def watch(body: str) -> bool:
        looked.append(body)
        return is_command(body)

    for length in (11, 250, 10_000):
        looked.clear()
        thread = Thread([*(comment(n) for n in range(1, length)), mention(length)])
        anchor = Anchor(length, moment(length))
        await read_thread(
            thread, number=7, anchor=anchor, window=5, known_count=length, is_ours=ours, is_command_only=watch
        )
        assert len(looked) == 10
