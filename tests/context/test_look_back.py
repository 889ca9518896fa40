"""Which of the store's texts a window asks for: those of what it looks at, whatever the thread's length."""

from __future__ import annotations

from datetime import datetime

from bot.context import StoredVersion
from tests.context.test_thread import mention
from tests.context.threads import Thread, comment, moment, read, stored

Asked = list[datetime | None]


async def window(thread: Thread, versions: list[StoredVersion], since: int, size: int = 5) -> tuple[list[str], Asked]:
    """The window's texts where the store gives what was written since a minute at first; and what else it was asked."""
    asked: Asked = []

    async def older(then: datetime | None) -> list[StoredVersion]:
        asked.append(then)
        return [version for version in versions if then is None or version.created_at >= then]

    newest = [version for version in versions if version.created_at >= moment(since)]
    anchor = thread.items[-1]
    snapshot = await read(thread, anchor, size, versions=newest, since=moment(since), older=older)
    return [message.text for message in snapshot.messages if not message.out], asked


async def test_older_texts_stay_in_the_store_where_the_newest_fill_the_window() -> None:
    """Nothing more is asked for than the texts of what is looked at."""
    thread = Thread([*(comment(number, f"text {number}") for number in range(1, 60)), mention(60)])
    texts, asked = await window(thread, [stored(each) for each in thread.items], 40)
    assert (texts[-1], asked) == ("text 59", [])


async def test_a_text_that_is_looked_at_stands_as_it_stood_however_old_it_is() -> None:
    """What the store was not asked for at first counts all the same."""
    edited = comment(20, "changed after the request", updated_at=moment(70))
    thread = Thread([edited, comment(21, "text 21"), mention(60)])
    versions = [stored(comment(1, "long ago")), stored(comment(20, "as it was")), stored(comment(21, "text 21"))]
    texts, asked = await window(thread, versions, 30, size=1)
    assert texts == ["as it was", "text 21"]
    assert asked == [moment(20)]


async def test_the_whole_store_is_asked_where_what_was_read_does_not_fill_the_window() -> None:
    """What was deleted on GitHub since, and what its listing does not have yet, is known from deliveries."""
    thread = Thread([comment(30, "text 30"), mention(60)])
    versions = [stored(comment(3, "told of")), stored(comment(30, "text 30")), stored(comment(55, "told later"))]
    texts, asked = await window(thread, versions, 40)
    assert "text 30" in texts
    assert asked == [None]
