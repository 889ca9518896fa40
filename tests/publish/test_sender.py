"""Whatever breaks on the way, each slot is said once, in order, at GitHub's pace."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

import httpx
import pytest
from sqlmodel import select

from bot.model.slot import Slot
from bot.model.state import OutboxState
from bot.publish.comments import Comments
from bot.publish.pace import Pace
from bot.publish.sender import Sender
from bot.store import Session, Store, doubt, open_store, outbox, threads
from bot.store.tables import Outbox, Thread
from tests.databases import DATABASES, on_both
from tests.github.fake import REPOSITORY, START, FakeClock, make_github
from tests.restarts import until
from tests.rows import locked
from tests.sending import claim_next

from .thread_server import PERSON, says, unsent, vanished
from .world import MARKER, World

T = TypeVar("T")
pytestmark = on_both

POSTS = "/repos/ana/parser/issues/1/comments"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A real database and a real client over a transport."""
    path = tmp_path / "bot.db"
    store = open_store(DATABASES.of_folder(tmp_path))
    made = World(store, path)
    yield made
    await made.github.aclose()
    await store.close()


async def test_a_comment_is_posted_with_its_marker(world: World) -> None:
    """Said once, recorded, recognisable; another sweep says nothing."""
    row_id = await world.say("run/1", "hello")
    await world.at(world.sender(), 0, 1)
    assert world.server.texts() == ["hello\r"]
    mark = MARKER.find(world.server.comments[1]["body"], repository_id=REPOSITORY.id, thread=1)
    assert mark is not None
    assert mark.slot == Slot("run/1", "result")
    row = await world.row(row_id)
    assert (row.state, row.posted_id, row.reason) == (OutboxState.POSTED, 1, "")
    assert row.url.endswith("issuecomment-1")


async def test_sending_is_on_disk_before_the_call_leaves(world: World) -> None:
    """Another process that opens the file at that moment sees it."""
    seen: list[str] = []

    def look(_request: httpx.Request) -> None:
        seen.extend(state for (state,) in DATABASES.rows(world.path.parent, "select state from outbox"))

    world.server.faults.append(look)
    await world.say("run/1")
    await world.sender().sweep()
    assert seen == ["sending"]


async def test_an_answer_that_is_lost_doubles_nothing(world: World) -> None:
    """Five seconds later the comment is found by its marker."""
    world.server.faults.append(world.server.lost)
    row_id = await world.say("run/1")
    sender = world.sender()
    await world.at(sender, 0, 4.9)
    assert await world.state(row_id) is OutboxState.UNSURE
    await world.at(sender, 5)
    row = await world.row(row_id)
    assert (row.state, row.posted_id) == (OutboxState.POSTED, 1)
    await world.at(sender, 6, 200)
    assert world.server.writes() == [("POST", POSTS)]


async def test_a_comment_that_never_arrived_is_said_after_the_last_look(world: World) -> None:
    """Looked for at 5, 30 and 90 s, and only then said again."""
    world.server.faults.append(vanished)
    await world.say("run/1")
    sender = world.sender()
    looks = []
    for moment in (0, 5, 6, 29, 30, 31, 89, 90):
        await world.at(sender, moment)
        looks.append((len(world.server.sent("GET")), len(world.server.comments)))
    assert looks == [(0, 0), (1, 0), (1, 0), (1, 0), (2, 0), (2, 0), (2, 0), (3, 1)]


async def test_a_listing_that_lags_is_waited_for(world: World) -> None:
    """The first look does not see the comment yet; the second does."""
    world.server.lag = 20
    world.server.faults.append(world.server.lost)
    row_id = await world.say("run/1")
    await world.at(world.sender(), 0, 5, 30, 90, 200)
    assert await world.state(row_id) is OutboxState.POSTED
    assert len(world.server.comments) == 1


@pytest.mark.parametrize("skew", [-300, 300])
async def test_clocks_that_differ(world: World, skew: float) -> None:
    """GitHub's may be five minutes off ours."""
    world.server.clock = FakeClock(START + timedelta(seconds=skew))
    github = make_github(world.server, world.clock)
    world.github = github
    world.server.faults.append(world.server.lost)
    world.server.lag = -1_000
    row_id = await world.say("run/1")
    await world.at(world.sender(), 0, 5)
    assert await world.state(row_id) is OutboxState.POSTED


async def test_our_own_webhook_ends_the_doubt(world: World) -> None:
    """No look is needed where the delivery came first."""
    world.server.faults += [world.server.lost]
    row_id = await world.say("run/1")
    sender = world.sender()
    await sender.sweep()
    slot = str(Slot("run/1", "result"))
    await world.store.write(lambda session: doubt.confirm(session, slot, 1, "url", world.clock.now()))
    await world.at(sender, 5, 30, 90)
    assert await world.state(row_id) is OutboxState.POSTED
    assert world.server.sent("GET") == []


async def test_our_own_webhook_before_the_answer_is_lost(world: World) -> None:
    """It came while the call was under way."""
    slot = str(Slot("run/1", "result"))

    async def call(request: httpx.Request) -> httpx.Response:
        if request.method == "POST" and request.url.path == POSTS:
            world.server.do(request)
            await world.store.write(lambda session: doubt.confirm(session, slot, 1, "url", world.clock.now()))
            raise httpx.ReadTimeout("no answer")
        return await world.server.handle(request)

    world.github = make_github(world.server, transport=httpx.MockTransport(call))
    row_id = await world.say("run/1")
    await world.sender().sweep()
    row = await world.row(row_id)
    assert (row.state, row.posted_id, row.url) == (OutboxState.POSTED, 1, "url")


async def test_a_look_that_comes_late_changes_nothing(world: World) -> None:
    """The webhook settled it while GitHub was being asked."""
    world.server.faults.append(vanished)
    row_id = await world.say("run/1")
    sender = world.sender()
    await world.at(sender, 0, 5, 30)
    slot = str(Slot("run/1", "result"))

    async def call(request: httpx.Request) -> httpx.Response:
        await world.store.write(lambda session: doubt.confirm(session, slot, 8, "url", world.clock.now()))
        return await world.server.handle(request)

    world.github = make_github(world.server, transport=httpx.MockTransport(call))
    await world.at(sender, 90, 91)
    assert (await world.row(row_id)).posted_id == 8
    assert await world.state(row_id) is OutboxState.POSTED


async def test_of_two_the_younger_is_deleted(world: World) -> None:
    """If it was said twice all the same."""
    world.server.faults.append(world.server.lost)
    row_id = await world.say("run/1")
    sender = world.sender()
    await sender.sweep()
    world.server.add(world.server.comments[1]["body"])
    world.server.add("something else of ours")
    await world.at(sender, 5)
    assert (await world.row(row_id)).posted_id == 1
    assert list(world.server.comments) == [1, 3]


async def test_a_duplicate_that_cannot_be_deleted(world: World) -> None:
    """Is no reason to doubt the first."""
    world.server.faults += [world.server.lost, says(500)]
    row_id = await world.say("run/1")
    sender = world.sender()
    await sender.sweep()
    world.server.add(world.server.comments[1]["body"])
    await world.at(sender, 5)
    assert await world.state(row_id) is OutboxState.POSTED


async def test_a_copied_marker_is_worthless(world: World) -> None:
    """By another author, from another thread, of another slot."""
    world.server.faults.append(vanished)
    row_id = await world.say("run/1")
    slot = Slot("run/1", "result")
    world.server.add(MARKER.sign("run/1", repository_id=REPOSITORY.id, thread=1, slot=slot), user=PERSON)
    world.server.add(MARKER.sign("run/1", repository_id=REPOSITORY.id, thread=2, slot=slot))
    world.server.add(MARKER.sign("run/1", repository_id=REPOSITORY.id, thread=1, slot=Slot("run/2", "result")))
    world.server.add("run/1\n\n<!-- threadsmith slot=a digest=b signature=c -->")
    await world.at(world.sender(), 0, 5, 30, 90)
    assert (await world.row(row_id)).posted_id == 5


@pytest.mark.parametrize(
    "fault",
    [
        says(404, "Not Found"),
        says(410, "This issue was deleted"),
        says(403, "Unable to create comment because issue is locked."),
        says(422, "Validation Failed"),
        says(301, "Moved", location="https://api.github.test/repositories/7/issues/9/comments"),
    ],
)
async def test_a_refusal_is_the_end(world: World, fault: Callable[[httpx.Request], httpx.Response | None]) -> None:
    """Locked, deleted, transferred, gone: dropped with the reason, and not tried again."""
    world.server.faults += [fault]
    row_id = await world.say("run/1")
    await world.at(world.sender(), 0, 10, 1_000)
    row = await world.row(row_id)
    assert row.state is OutboxState.DROPPED
    assert row.reason
    assert len(world.server.writes()) == 1


async def test_a_thread_that_is_gone_ends_the_doubt(world: World) -> None:
    """A look that GitHub refuses."""
    world.server.faults.append(vanished)
    world.server.list_faults.append(says(404))
    row_id = await world.say("run/1")
    await world.at(world.sender(), 0, 5, 90)
    assert await world.state(row_id) is OutboxState.DROPPED
    assert world.server.comments == {}


async def test_a_look_that_fails_is_repeated(world: World) -> None:
    """An outage while looking is no reason to say it again."""
    world.server.faults.append(world.server.lost)
    limited = says(429, retry_after="60")
    world.server.list_faults += [limited]
    row_id = await world.say("run/1")
    sender = world.sender()
    await world.at(sender, 0, 5, 64)
    assert await world.state(row_id) is OutboxState.UNSURE
    await world.at(sender, 65)
    assert await world.state(row_id) is OutboxState.POSTED
    assert len(world.server.comments) == 1


async def test_what_never_left_is_sent_again(world: World) -> None:
    """After 2, 4, 8 … s, without a look."""
    world.server.faults += [unsent, unsent]
    await world.say("run/1")
    sender = world.sender()
    tries = []
    for moment in (0, 1.9, 2, 5.9, 6):
        await world.at(sender, moment)
        tries.append(len(world.server.writes()))
    assert tries == [1, 1, 2, 2, 3]
    assert len(world.server.comments) == 1
    assert world.server.sent("GET") == []


@pytest.mark.parametrize("after", ["3600", "Mon, 02 Mar 2026 13:00:00 GMT"])
async def test_retry_after_is_obeyed(world: World, after: str) -> None:
    """In seconds or as a date; the installation's other posts wait too, and nobody sleeps."""
    world.server.faults.append(says(403, "You have exceeded a secondary rate limit", retry_after=after))
    first = await world.say("run/1")
    sender = world.sender()
    await sender.sweep()
    second = await world.say("run/2", thread=2)
    await world.at(sender, 10, 3_599)
    assert len(world.server.writes()) == 1
    assert [await world.state(row) for row in (first, second)] == [OutboxState.PENDING] * 2
    await world.at(sender, 3_600, 3_601)
    assert sorted(world.server.texts() + world.server.texts(2)) == ["run/1\r", "run/2\r"]
    assert world.clock.slept == []


async def test_a_date_in_the_past_is_no_wait(world: World) -> None:
    """Tried again at once, once."""
    world.server.faults.append(says(403, "secondary rate limit", retry_after="Mon, 02 Mar 2026 11:00:00 GMT"))
    await world.say("run/1")
    await world.at(world.sender(), 0, 0.1)
    assert len(world.server.comments) == 1


async def test_a_secondary_limit_without_a_time(world: World) -> None:
    """60 s, then 120 more."""
    limit = says(403, "You have exceeded a secondary rate limit")
    world.server.faults += [limit, limit]
    await world.say("run/1")
    sender = world.sender()
    tries = []
    for moment in (0, 59, 60, 179, 180):
        await world.at(sender, moment)
        tries.append(len(world.server.writes()))
    assert tries == [1, 1, 2, 2, 3]


async def test_a_success_between_two_limits(world: World) -> None:
    """The second limit waits 60 s again."""
    limit = says(403, "You have exceeded a secondary rate limit")
    world.server.faults += [limit]
    await world.say("run/1")
    sender = world.sender()
    await world.at(sender, 0, 60)
    world.server.faults += [limit]
    await world.say("run/2")
    await world.at(sender, 100, 159)
    assert len(world.server.comments) == 1
    await world.at(sender, 160)
    assert len(world.server.comments) == 2


async def test_one_look_at_a_time(world: World) -> None:
    """A look that is under way is not started again when something else is wanted."""
    world.server.faults.append(world.server.lost)
    await world.say("run/1")
    sender = world.sender()
    await world.at(sender, 0)
    world.clock.advance(5)
    await asyncio.gather(sender.sweep(), sender.sweep())
    assert len(world.server.sent("GET")) == 1


async def test_an_unsure_result_holds_back_its_thread_alone(world: World) -> None:
    """Later results of the thread wait; reactions, commands and other threads do not."""
    world.server.faults.append(vanished)
    await world.say("run/1", sequence=1)
    sender = world.sender()
    await sender.sweep()
    later = await world.say("run/2", sequence=2)
    await world.say("dispatch/3", purpose="command")
    await world.say("run/4", thread=2, sequence=3)
    await world.say("dispatch/5", "eyes", purpose="reaction", action="reaction", target=4)
    await world.at(sender, 1, 89)
    assert world.server.texts() == ["dispatch/3\r"]
    assert world.server.texts(2) == ["run/4\r"]
    assert world.server.reactions == {"/repos/ana/parser/issues/comments/4/reactions": ["eyes"]}
    assert await world.state(later) is OutboxState.PENDING
    await world.at(sender, 90)
    assert world.server.texts() == ["dispatch/3\r", "run/1\r", "run/2\r"]


async def test_what_goes_first(world: World) -> None:
    """Results, then gates, then reactions, then status, whatever was wanted first."""
    for purpose in ("status", "reaction", "gate", "result"):
        await world.say(f"run/{purpose}", purpose=purpose)
    await world.sender(at_once=1).sweep()
    assert world.server.texts() == ["run/result\r", "run/gate\r", "run/reaction\r", "run/status\r"]


async def test_a_burst_is_spread(world: World) -> None:
    """Ten at once, then one a second; all of them in the end, each once."""
    for number in range(15):
        await world.say(f"run/{number}", thread=number + 1)
    sender = world.sender()
    counts = []
    for moment in (0, 0.5, 1, 2, 4, *range(5, 10)):
        await world.at(sender, moment)
        counts.append(len(world.server.comments))
    assert counts[:5] == [10, 10, 11, 12, 14]
    assert counts[-1] == len(world.server.writes()) == 15


async def test_pacing_is_no_failed_try(world: World) -> None:
    """A row that waited its turn starts its backoff at the beginning."""
    for number in range(12):
        await world.say(f"run/{number}", thread=number + 1)
    sender = world.sender()
    await sender.sweep()
    assert await world.store.read(lambda session: outbox.next_due(session, START)) is None
    last = await world.say("run/11", thread=12)
    assert (await world.row(last)).tries == 0


async def test_a_changed_body_is_an_edit(world: World) -> None:
    """Of the same comment, with its marker."""
    row_id = await world.say("thread/1", "one pin", purpose="index")
    sender = world.sender()
    await sender.sweep()
    await world.say("thread/1", "two pins", purpose="index")
    await sender.sweep()
    assert world.server.texts() == ["two pins\r"]
    assert MARKER.find(world.server.comments[1]["body"], repository_id=REPOSITORY.id, thread=1) is not None
    assert world.server.writes()[1] == ("PATCH", "/repos/ana/parser/issues/comments/1")
    assert await world.state(row_id) is OutboxState.POSTED


async def test_an_edit_without_an_answer_is_repeated(world: World) -> None:
    """Twice is once; nothing is looked for."""
    await world.say("thread/1", "one pin", purpose="index")
    sender = world.sender()
    await sender.sweep()
    await world.say("thread/1", "two pins", purpose="index")
    world.server.faults.append(world.server.lost)
    await world.at(sender, 1, 2, 3)
    assert [method for method, _ in world.server.writes()] == ["POST", "PATCH", "PATCH"]
    assert world.server.sent("GET") == []


async def test_a_deleted_comment_is_not_edited_for_ever(world: World) -> None:
    """It is gone; dropped, with the reason."""
    row_id = await world.say("run/1", "one")
    sender = world.sender()
    await sender.sweep()
    world.server.comments.clear()
    await world.say("run/1", "two")
    await world.at(sender, 1, 10)
    assert await world.state(row_id) is OutboxState.DROPPED


async def test_a_deleted_index_comes_back(world: World) -> None:
    """What a thread has one of is said in a new comment, once, under its slot."""
    row_id = await world.say("thread/1", "one pin", purpose="index")
    sender = world.sender()
    await sender.sweep()
    world.server.comments.clear()
    await world.say("thread/1", "two pins", purpose="index")
    await world.at(sender, 1, 10)
    assert world.server.texts() == ["two pins\r"]
    assert [method for method, _ in world.server.writes()] == ["POST", "PATCH", "POST"]
    assert await world.state(row_id) is OutboxState.POSTED


async def test_many_that_wait_are_not_touched(world: World) -> None:
    """The pace holds back an installation with one claim, not one a row; the next goes when it may."""
    for number in range(60):
        await world.say(f"run/{number}", thread=number + 1)
    sender = world.sender()
    await sender.sweep()
    commits = world.store.commits
    await sender.sweep()
    assert world.store.commits - commits == 1
    rows = await world.store.read(lambda session: list(session.exec(select(Outbox))))
    assert [row.reason for row in rows if row.state is OutboxState.PENDING] == [""] * 50
    await world.at(sender, 1)
    assert len(world.server.comments) == 11


async def test_a_body_that_changed_while_it_was_sent(world: World) -> None:
    """What stands there is the old one: it is edited, also if it was found by its marker only."""
    world.server.faults.append(world.server.lost)
    await world.say("thread/1", "one pin", purpose="index")
    sender = world.sender()
    await sender.sweep()
    await world.say("thread/1", "two pins", purpose="index")
    await world.at(sender, 5)
    assert world.server.texts() == ["two pins\r"]
    assert [method for method, _ in world.server.writes()] == ["POST", "PATCH"]


async def test_reactions(world: World) -> None:
    """On a comment or the issue; repeated without harm where no answer came; dropped where there are none."""
    world.server.faults += [world.server.lost, says(404)]
    await world.say("dispatch/1", "eyes", purpose="reaction", action="reaction")
    sender = world.sender(at_once=1)
    await sender.sweep()
    none = await world.say("dispatch/2", "rocket", purpose="reaction", action="reaction", target=4)
    await world.at(sender, 1, 2)
    assert world.server.reactions == {"/repos/ana/parser/issues/1/reactions": ["eyes"]}
    assert await world.state(none) is OutboxState.DROPPED
    assert world.server.sent("GET") == []


async def test_what_a_dead_process_was_sending(world: World) -> None:
    """It is looked for by the next one; said again only if it is not there."""
    for number, arrived in ((1, True), (2, False)):
        await world.say(f"run/{number}", thread=number)
        dead = await world.store.write(lambda session: claim_next(session, "dead", world.clock.now()))
        assert dead is not None
        if arrived:
            slot = Slot("run/1", "result")
            world.server.add(MARKER.sign("run/1", repository_id=REPOSITORY.id, thread=1, slot=slot))
    sender = world.sender()
    await sender.recover()
    await world.at(sender, 0, 5, 30)
    assert (world.server.texts(1), world.server.texts(2)) == (["run/1\r"], [])
    await world.at(sender, 90)
    assert (world.server.texts(1), world.server.texts(2)) == (["run/1\r"], ["run/2\r"])


async def test_what_a_dead_process_was_changing(world: World) -> None:
    """An edit is made once more, without looking: twice is once."""
    row_id = await world.say("thread/1", "one pin", purpose="index")
    await world.sender().sweep()
    await world.say("thread/1", "two pins", purpose="index")
    await world.store.write(lambda session: claim_next(session, "dead", world.clock.now()))
    sender = world.sender()
    await sender.recover()
    await world.at(sender, 5, 6)
    assert world.server.texts() == ["two pins\r"]
    assert await world.state(row_id) is OutboxState.POSTED
    assert world.server.sent("GET") == []


async def test_a_bug_of_ours_stops_nobody_else(world: World) -> None:
    """An error that nobody expected: the row is unsure, the others go on."""
    github = world.github

    def port(thread: Thread) -> object:
        if thread.number == 1:
            raise ZeroDivisionError
        return github.repository(5, REPOSITORY)

    broken = await world.say("run/1")
    await world.say("run/2", thread=2)
    comments = Comments(
        port,  # type: ignore[arg-type]  # the test's double is only half one
        MARKER,
        lambda _comment: True,
    )
    sender = Sender(world.store, comments.performers, world.clock, owner="me")
    await sender.sweep()
    assert await world.state(broken) is OutboxState.UNSURE
    assert world.server.texts(2) == ["run/2\r"]


class FullDisk:
    """A store whose disk refuses the outcome of a call for a while."""

    def __init__(self, store: Store, refusals: int) -> None:
        self._store = store
        self.refusals = refusals
        self.sent = False

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def write(self, work: Callable[[Session], T]) -> T:
        if "_claim" not in repr(work) and self.refusals:
            self.refusals -= 1
            raise OSError("database or disk is full")
        return await self._store.write(work)


@pytest.mark.parametrize("answered", [True, False])
async def test_what_is_forgotten_while_it_is_sent_holds_nobody_up(world: World, answered: bool) -> None:
    """`forget` may take a row away in between: there is nothing left to record."""

    def forgotten(request: httpx.Request) -> httpx.Response | None:
        DATABASES.change(world.path.parent, "delete from outbox")
        return None if answered else world.server.lost(request)

    world.server.faults.append(forgotten)
    await world.say("run/1")
    await asyncio.wait_for(world.sender().sweep(), 10)
    await world.say("run/2", "next")
    await asyncio.wait_for(world.sender().sweep(), 10)
    assert world.server.texts()[-1].startswith("next")


async def test_what_is_forgotten_before_it_is_looked_for_ends_no_sending(world: World) -> None:
    """It was found as unsure, and waited for a place among the calls under way."""
    world.server.faults.append(world.server.lost)
    await world.say("run/1")
    sender = world.sender()
    await world.at(sender, 0)
    world.clock.advance(5)
    found = await world.store.read(lambda session: doubt.due_unsure(session, world.clock.now()))
    assert len(found) == 1
    DATABASES.change(world.path.parent, "delete from outbox")
    assert await world.store.write(lambda session: doubt.begin(session, found[0].row.id, "me")) is None


async def test_a_full_disk_doubles_nothing(world: World) -> None:
    """The outcome of the call is kept until it can be written; the call is not made again."""
    row_id = await world.say("run/1")
    sender = world.sender(store=FullDisk(world.store, 3))  # type: ignore[arg-type]  # stands in for the store
    await sender.sweep()
    assert await world.state(row_id) is OutboxState.POSTED
    assert len(world.server.writes()) == 1
    assert world.clock.slept == [1, 2, 4]


async def test_it_runs_by_itself(world: World) -> None:
    """Woken by what is wanted, without polling; ends when cancelled."""
    sender = world.sender()
    loop = asyncio.create_task(sender.run())
    bell = world.store.bell("posted")
    for number in range(3):
        seen = bell.count
        await world.say(f"run/{number}")
        await bell.wait(seen, 10)
        assert len(world.server.comments) == number + 1
    loop.cancel()
    with suppress(asyncio.CancelledError):
        await loop
    assert loop.cancelled()


async def test_a_clock_that_is_set_back_holds_nothing_up(world: World) -> None:
    """What the pace lets wait a second waits that second, not until the clock has come back to where it was."""
    sender = world.sender(pace=Pace(burst=1, rate=1))
    for number in range(2):
        await world.say(f"run/{number}")
    await sender.sweep()
    assert len(world.server.comments) == 1
    world.clock.advance(-300)
    await sender.sweep()
    world.clock.advance(1.1)
    await sender.sweep()
    assert len(world.server.comments) == 2


async def test_nobody_is_woken_for_a_pace_that_holds_nothing_up_any_more(world: World) -> None:
    """What had to wait was put off, or went with its repository: when its second is over there is nothing to do."""
    sender = world.sender(pace=Pace(burst=1, rate=1))
    for number in range(2):
        await world.say(f"run/{number}", purpose="status")
    assert await sender.sweep() == START + timedelta(seconds=1)
    later = START + timedelta(seconds=15)
    await world.say("run/1", "another", purpose="status", not_before=later)
    await world.at(sender, 2)
    assert await sender.sweep() == later
    DATABASES.change(world.path.parent, "delete from outbox where state = 'pending'")
    assert await sender.sweep() is None


async def test_what_is_due_together_is_claimed_together(world: World) -> None:
    """As many as there is room for, in one commit; where nothing is due there is none."""
    sender = world.sender(at_once=2)
    before = world.store.works
    await sender.sweep()
    assert world.store.works == before
    for number in (1, 2, 3):
        await world.say(f"run/{number}", thread=number)
    claimed = await world.store.write(partial(sender._claim, most=2))
    assert [one.row.slot.partition("|")[0] for one in claimed] == ["run/1", "run/2"]
    assert [one.row.state for one in claimed] == [OutboxState.SENDING] * 2
    await sender.sweep()
    assert len(world.server.comments) == 1


async def test_what_waited_for_something_that_is_dropped_is_looked_at_too(world: World) -> None:
    """Of a thread that is gone the second result is dropped with the first, and what else is due is claimed."""
    ids = [await world.say(f"run/{number}", sequence=number) for number in (1, 2)]
    ids.append(await world.say("run/3", thread=2, sequence=3))

    def work(session: Session) -> list[str]:
        thread = session.get_one(Thread, session.get_one(Outbox, ids[0]).thread_id)
        thread.gone = "deleted"
        session.add(thread)
        return [one.row.id for one in world.sender()._claim(session, 8)]

    assert await world.store.write(work) == ids[2:]
    assert [await world.state(each) for each in ids[:2]] == [OutboxState.DROPPED] * 2


async def test_nothing_is_claimed_behind_a_suspect(world: World) -> None:
    """It goes alone, when those before it are done."""
    sender = world.sender(at_once=3)
    ids = [await world.say(f"run/{number}", thread=number) for number in (1, 2, 3)]
    sender._suspects.add(ids[1])
    claimed = await world.store.write(partial(sender._claim, most=3))
    assert [one.row.id for one in claimed] == ids[:2]
    for one in claimed:
        await world.store.write(partial(outbox.postpone, row_id=one.row.id, until=None, reason=""))
    await sender.sweep()
    assert len(world.server.comments) == 3
    assert not sender._suspects


async def test_a_look_that_is_asked_for_during_a_look(world: World) -> None:
    """The one under way counts no more, and nothing else would wake whoever sends."""
    world.server.faults.append(world.server.lost)
    row_id = await world.say("run/1")
    sender = world.sender()
    await world.at(sender, 0)
    world.clock.advance(6)

    def asked(_request: httpx.Request) -> None:
        change = f"update outbox set lease_owner = null, not_before = created_at where id = '{row_id}'"
        DATABASES.change(world.path.parent, change)

    world.server.list_faults.append(asked)
    loop, bell = asyncio.create_task(sender.run()), world.store.bell("posted")
    async with asyncio.timeout(10):
        while await world.state(row_id) is not OutboxState.POSTED:
            await bell.wait(bell.count, 0.05)
    assert not world.server.list_faults
    loop.cancel()
    with suppress(asyncio.CancelledError):
        await loop


async def test_what_may_have_ended_a_process_is_said_alone(world: World) -> None:
    """Also after a look did not find it: of several that are sent at once nobody could tell which ended one."""
    for number in (1, 2):
        await world.say(f"run/{number}", thread=number)
        await world.store.write(lambda session: claim_next(session, "dead", world.clock.now()))
    sender = world.sender(at_once=4)
    await sender.recover()
    await world.at(sender, 0, 5, 30)
    alone: dict[str, bool] = {}

    def note(request: httpx.Request) -> None:
        if request.method == "POST":
            alone[json.loads(request.content)["body"].split()[0]] = sender._places.locked()

    world.server.faults += [note] * 20
    await world.say("run/3", thread=3)
    await world.at(sender, 90)
    assert alone == {"run/1": True, "run/2": True, "run/3": False}
    assert not sender._suspects


async def test_a_database_that_refuses_ends_no_sending(world: World) -> None:
    """At the start and later, however often: it goes on once the database lets it, with every place it had."""
    row_id = await world.say("run/1")
    async with locked(world.store):
        loop = asyncio.create_task(world.sender(at_once=1).run())
        await until(lambda: len(world.clock.slept) >= 3)
    bell = world.store.bell("posted")
    while await world.state(row_id) is not OutboxState.POSTED:
        await bell.wait(bell.count, 0.05)
    await world.say("run/2", not_before=world.clock.now() + timedelta(seconds=60))
    async with locked(world.store):
        refused, seen = len(world.clock.slept), bell.count
        world.clock.advance(61)
        world.store.bell("outbox").ring()
        await until(lambda: len(world.clock.slept) >= refused + 3)
    await bell.wait(seen, 10)
    assert len(world.server.comments) == 2
    loop.cancel()
    with suppress(asyncio.CancelledError):
        await loop


async def test_pull_requests_are_named_to_the_client(world: World) -> None:
    """It saves a refused request."""
    await world.say("run/1")

    def work(session: Session) -> None:
        thread = threads.find(session, REPOSITORY.id, 1)
        assert thread is not None
        thread.is_pull_request = True
        session.add(thread)

    await world.store.write(work)
    await world.sender().sweep()
    assert ["pull_requests" in mint["permissions"] for mint in world.server.minted] == [True]
