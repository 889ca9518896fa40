"""Deleted comments and what is to be forgotten: it goes at once, of runs under way at their end, of others nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlmodel import Session, select

from bot.engine.upkeep import Upkeep
from bot.model.slot import Slot
from bot.model.state import DeliveryState, DispatchState, OutboxState, RunState
from bot.model.thread import Account
from bot.store import Store, deliveries, forgetting, lives, open_store, purging, threads
from bot.store.forgetting import FORGOTTEN, Forgotten
from bot.store.sweep import Sweep, Sweeper
from bot.store.tables import (
    CommentVersion,
    Delivery,
    Dispatch,
    Outbox,
    Pin,
    Run,
    Schedule,
    Snapshot,
    Spend,
    Steer,
    Thread,
    Value,
)
from tests import rows
from tests.databases import on_both
from tests.rows import ANA, NOW, REPOSITORY
from tests.store import house
from tests.store.house import WORDS
from tests.store.test_retention import At, upkeep

pytestmark = on_both


@pytest.fixture
async def store(database: str) -> AsyncIterator[Store]:
    """An empty database of either kind."""
    opened = open_store(database)
    yield opened
    await opened.close()


HOUR = timedelta(hours=1)
SAM = Account(13, "sam")
#: where words may be left once a run's bytes are gone: in what asked for it, and what all share
ASKED = {
    "delivery.body", "delivery.headers", "delivery.reason", "dispatch.request", "dispatch.params", "dispatch.inputs",
    "dispatch.trigger", "dispatch.issue", "snapshot.files",
}  # fmt: skip


def keeping(store: Store) -> Upkeep:
    return upkeep(store, NOW + 2 * HOUR)


async def delete(store: Store, comment_id: int, *, kind: str = "comment") -> None:
    """The bot is told that a comment was deleted, an hour after it was written."""
    one = house.comment(comment_id)

    def work(session: Session) -> None:
        thread = rows.thread(session)
        threads.forget(session, thread.id, one, NOW + HOUR)
        purging.comment_deleted(session, thread, comment_id, kind, NOW, NOW + HOUR)
        deliveries.purge(session, REPOSITORY.id, comment_id)

    await store.write(work)


async def purged(store: Store) -> list[str]:
    return await store.read(
        lambda session: [run.id for run in session.exec(select(Run).order_by(Run.id)) if run.purged_at is not None]
    )


@pytest.mark.parametrize(
    ("told", "goes"),
    [
        ({"shown": (5,)}, True),
        ({"shown": (6,)}, False),
        ({"shown": (6,), "complete": False}, True),
        ({"comment_id": 5}, True),
    ],
    ids=["shown", "not shown", "perhaps by a tool", "asked by it"],
)
async def test_a_run_that_saw_a_deleted_comment_loses_its_bytes(
    store: Store,
    told: dict[str, Any],
    goes: bool,
) -> None:
    """One that did not keeps them, and is not looked at again."""
    run_id = await store.write(lambda session: house.run(session, "a", **told))
    await delete(store, 5)
    assert not await keeping(store).deleted()
    assert await purged(store) == ([run_id] if goes else [])
    if goes:
        assert await store.read(house.words_in) <= ASKED
    assert await store.read(purging.flagged) == ([], False)


async def test_a_run_that_came_after_the_deletion_is_left_alone(store: Store) -> None:
    """It cannot have seen it, though it did not read all of the thread."""
    await store.write(lambda session: house.run(session, "a", at=NOW + 2 * HOUR, complete=False))
    await delete(store, 5)
    await keeping(store).deleted()
    assert await purged(store) == []


async def test_a_run_under_way_loses_its_bytes_at_its_end(store: Store) -> None:
    """And the words of the request, if that was what was deleted."""
    run_id = await store.write(lambda session: house.run(session, "a", comment_id=5, state=RunState.WAITING))
    await delete(store, 5)
    assert await keeping(store).deleted()
    assert "dispatch.request" in await store.read(house.words_in)

    def end(session: Session) -> None:
        run = session.get_one(Run, run_id)
        run.state, run.ended_at = RunState.SUCCEEDED, NOW + HOUR
        session.get_one(Dispatch, run.dispatch_id).state = DispatchState.DONE

    await store.write(end)
    assert not await keeping(store).deleted()
    assert await store.read(house.words_in) == {"delivery.headers", "delivery.reason", "snapshot.files"}


async def test_what_the_bot_said_meanwhile_may_quote_it(store: Store) -> None:
    """It goes; what was said before the comment was there stays, and so does the list of pins."""

    def work(session: Session) -> None:
        house.post(session, 1, Slot("x", "before"), "before", NOW - HOUR, purpose="command", posted_id=1)
        house.post(session, 1, Slot("x", "after"), "after", NOW + HOUR, purpose="command", posted_id=2)
        house.post(session, 1, Slot("x", "index"), "index", NOW + HOUR, purpose="index", posted_id=3)

    await store.write(work)
    await delete(store, 5)
    left = await store.read(lambda session: sorted(session.exec(select(Outbox.body))))
    assert left == ["", "before", "index"]


async def test_a_comment_of_our_own_takes_its_run_along(store: Store) -> None:
    """Somebody deleted what the run had answered."""
    run_id = await store.write(lambda session: house.run(session, "a"))
    await delete(store, 7000)
    await keeping(store).deleted()
    assert await purged(store) == [run_id]


async def test_a_deleted_issue_takes_along_every_run(store: Store) -> None:
    """Whatever those had seen of it; another thread's stays."""

    def work(session: Session) -> Sequence[str]:
        ids = [house.run(session, "a"), house.run(session, "b", number=2, words="others")]
        thread = rows.thread(session)
        thread.slug = WORDS
        lives.end(session, [thread], "deleted", "the deletion", NOW, at=NOW)
        lives.purge(session, thread, NOW)
        return ids

    mine, _ = await store.write(work)
    await keeping(store).deleted()
    assert await purged(store) == [mine]
    assert await store.read(house.words_in) <= ASKED
    assert "attempt.output" in await store.read(lambda session: house.words_in(session, "others"))


# -- a repository ------------------------------------------------------------------------------------------------------


def of(kind: Any, number: int, name: str, at: datetime = NOW + HOUR) -> Forgotten:
    return Forgotten(kind, number, name, at)


async def test_a_repository_is_forgotten_but_for_what_was_spent(store: Store) -> None:
    """Every row of it; its deliveries stay bare, so that nothing begins a second time."""

    def work(session: Session) -> None:
        house.run(session, "a")
        house.remember(session, house.comment(5))
        threads.pin(session, rows.thread(session).id, 5, {"body": WORDS}, by_id=11, by="ana", role="write", when=NOW)
        house.post(session, 1, Slot("x", "index"), WORDS, NOW, purpose="index")
        session.add(Schedule(repository_id=501, installation_id=77, workflow="w", cron="0 0 * * *", next_at=NOW))

    await store.write(work)
    assert await keeping(store).forget(of("repository", 501, "acme/widgets"))
    assert await store.read(house.words_in) == set()
    for model in (Thread, Dispatch, Run, Outbox, Pin, CommentVersion, Schedule, Snapshot, Value):
        assert await store.read(lambda session, model=model: session.exec(select(model)).all()) == [], model  # type: ignore[misc]  # mypy infers no type for a default
    assert len(await store.read(lambda session: session.exec(select(Spend)).all())) == 1
    again = await store.write(lambda session: deliveries.take(session, rows.delivery("a"), NOW))
    assert again == "duplicate"
    assert await keeping(store).forget(of("repository", 501, "acme/widgets"))


async def test_runs_under_way_are_called_off_and_go_when_they_have_ended(store: Store) -> None:
    """Until then a landmark holds what is to be done, and whoever keeps house does it."""
    what = of("repository", 501, "acme/widgets")

    def work(session: Session) -> tuple[str, str]:
        waiting = house.run(session, "a", state=RunState.WAITING)
        return waiting, house.run(session, "b", number=2, state=RunState.RUNNING)

    waiting, running = await store.write(work)
    await store.write(lambda session: forgetting.ask(session, what))
    house_keeping = keeping(store)
    assert not await house_keeping.forget(what)
    left = await store.read(lambda session: session.exec(select(Run)).all())
    assert [(run.id, run.cancelled_by) for run in left] == [(running, "the forgetting of the repository")]
    assert waiting not in [run.id for run in left]
    assert await house_keeping.look()
    assert await store.read(forgetting.asked) == [what]

    def end(session: Session) -> None:
        run = session.get_one(Run, running)
        run.state, run.ended_at = RunState.CANCELLED, NOW + HOUR
        session.get_one(Dispatch, run.dispatch_id).state = DispatchState.CANCELLED

    await store.write(end)
    assert not await house_keeping.look()
    assert await store.read(forgetting.asked) == []
    assert await store.read(lambda session: session.exec(select(Thread)).all()) == []


async def test_what_comes_after_it_was_asked_for_is_new(store: Store) -> None:
    """The App may still be installed."""

    def work(session: Session) -> str:
        house.run(session, "a")
        return house.run(session, "b", at=NOW + 2 * HOUR, words="later")

    later = await store.write(work)
    await keeping(store).forget(of("repository", 501, "acme/widgets"))
    assert [run.id for run in await store.read(lambda session: session.exec(select(Run)).all())] == [later]
    assert "attempt.output" in await store.read(lambda session: house.words_in(session, "later"))
    assert await store.read(house.words_in) <= {"snapshot.files"}


async def test_what_is_being_said_is_waited_for(store: Store) -> None:
    """What has not left yet is dropped."""

    def work(session: Session) -> str:
        run_id = house.run(session, "a")
        house.post(session, 1, Slot("x", "a"), WORDS, NOW, run_id=run_id, state=OutboxState.PENDING)
        return house.post(session, 1, Slot("x", "b"), WORDS, NOW, run_id=run_id, state=OutboxState.SENDING)

    sending = await store.write(work)
    what = of("repository", 501, "acme/widgets")
    assert not await keeping(store).forget(what)

    def sent(session: Session) -> None:
        session.get_one(Outbox, sending).state = OutboxState.POSTED

    await store.write(sent)
    assert await keeping(store).forget(what)
    assert await store.read(lambda session: session.exec(select(Outbox)).all()) == []


@pytest.mark.parametrize("state", [OutboxState.SENDING, OutboxState.POSTED])
async def test_what_no_run_says_is_waited_for_too(store: Store, state: OutboxState) -> None:
    """Its thread is there as long as that."""
    await store.write(lambda session: house.post(session, 1, Slot("x", "b"), WORDS, NOW, state=state))
    assert await keeping(store).forget(of("repository", 501, "acme/widgets")) is (state is OutboxState.POSTED)
    assert bool(await store.read(house.words_in)) is (state is OutboxState.SENDING)


async def test_a_delivery_that_nobody_looked_at_is_waited_for(store: Store) -> None:
    """It begins something, or nothing; then it goes, a person's as well."""

    def take(session: Session) -> None:
        deliveries.take(session, rows.delivery("a"), NOW)
        found = deliveries.find(session, "a")
        assert found is not None
        found.body = f'{{"sender": {{"id": 13}}, "text": "{WORDS}"}}'.encode()

    def look(session: Session) -> None:
        found = deliveries.find(session, "a")
        assert found is not None
        deliveries.settle(session, found.id, DeliveryState.IGNORED)

    await store.write(take)
    both = (of("user", SAM.id, "sam"), of("repository", 501, "acme/widgets"))
    assert [await keeping(store).forget(what) for what in both] == [False, False]
    assert await store.read(house.words_in) == {"delivery.body"}
    await store.write(look)
    assert await keeping(store).forget(both[0])
    assert await store.read(house.words_in) == set()
    assert await keeping(store).forget(both[1])


# -- a person ----------------------------------------------------------------------------------------------------------


async def test_a_person_is_forgotten_and_nobody_else(store: Store) -> None:
    """Requests, comments, words, pins, deliveries that name them, and runs that read them; numbers stay."""

    def work(session: Session) -> None:
        house.run(session, "a", actor=SAM, words="of-sam", shown=(5,))
        house.run(session, "b", number=2, words="of-ana")
        house.remember(session, house.comment(5, "of-sam", author=SAM))
        house.remember(session, house.comment(6, "of-ana"), number=2)
        thread = rows.thread(session, 2)
        for comment_id, author, by in ((5, SAM, ANA), (6, ANA, SAM)):
            kept = {"body": f"of-{author.login}", "author": {"id": author.id, "login": author.login}}
            threads.pin(session, thread.id, comment_id, kept, by_id=by.id, by=by.login, role="write", when=NOW)
        told = deliveries.find(session, "b")
        assert told is not None
        told.body = b'{"sender": {"id": 11}, "text": "of-ana"}'
        deliveries.take(session, rows.delivery("c"), NOW)
        other = deliveries.find(session, "c")
        assert other is not None
        deliveries.settle(session, other.id, DeliveryState.IGNORED)
        other.body = b'{"sender": {"login":"sam","id": 13}, "text": "of-sam"}'

    await store.write(work)
    before = await store.read(lambda session: house.words_in(session, "of-ana"))
    assert await keeping(store).forget(of("user", SAM.id, "sam"))
    # what all share is the repository's, and so is why its delivery was settled
    shared = {"snapshot.files", "delivery.reason", "delivery.headers", "delivery.body"}
    assert await store.read(lambda session: house.words_in(session, "of-sam")) <= shared
    assert await store.read(lambda session: house.words_in(session, "of-ana")) == before
    assert (
        await store.read(lambda session: session.exec(select(Delivery.body).where(Delivery.guid == "c")).one()) == b""
    )
    actors = await store.read(lambda session: session.exec(select(Dispatch.actor, Dispatch.actor_id)).all())
    assert sorted(actors) == [(FORGOTTEN, 13), ("ana", 11)]
    pins = await store.read(lambda session: session.exec(select(Pin)).all())
    assert [(pin.comment_id, pin.pinned_by, pin.pinned_by_id) for pin in pins] == [(6, FORGOTTEN, 13)]
    assert {row.actor_id for row in await store.read(lambda session: session.exec(select(Spend)).all())} == {11, 13}
    assert await keeping(store).forget(of("user", SAM.id, "sam"))


async def test_a_person_is_forgotten_in_what_others_asked_for(store: Store) -> None:
    """A run of ana's read a comment of sam's; the request stays, so that it can be tried again."""

    def work(session: Session) -> str:
        run_id = house.run(session, "a", actor=ANA, words="of-ana")
        session.get_one(Run, run_id).thread_blob = house.blob(
            session, house.thread_json((5,), "of-sam", complete=True, actor=SAM), NOW
        )
        session.add(Steer(run_id=run_id, text="of-sam", by="sam", by_id=13, at=NOW))
        return run_id

    run_id = await store.write(work)
    await keeping(store).forget(of("user", SAM.id, "sam"))
    assert await purged(store) == [run_id]
    assert await store.read(lambda session: house.words_in(session, "of-sam")) == set()
    assert "dispatch.request" in await store.read(lambda session: house.words_in(session, "of-ana"))


async def test_a_run_of_theirs_under_way_is_let_end(store: Store) -> None:
    """It works on what they asked for; then it goes."""
    what = of("user", SAM.id, "sam")
    run_id = await store.write(lambda session: house.run(session, "a", actor=SAM, state=RunState.RUNNING))
    await store.write(lambda session: forgetting.ask(session, what))
    assert await keeping(store).look()
    assert "dispatch.request" in await store.read(house.words_in)

    def end(session: Session) -> None:
        run = session.get_one(Run, run_id)
        assert run.cancelled_by is None
        run.state, run.ended_at = RunState.SUCCEEDED, NOW + HOUR
        session.get_one(Dispatch, run.dispatch_id).state = DispatchState.DONE

    await store.write(end)
    assert not await keeping(store).look()
    assert "dispatch.request" not in await store.read(house.words_in)
    assert await store.read(forgetting.asked) == []


@pytest.mark.parametrize("complete", [True, False], ids=["read", "perhaps by a tool"])
async def test_a_run_of_somebody_else_that_reads_them_goes_when_it_has_ended(store: Store, complete: bool) -> None:
    """Also where only the comment tells that it may have read it; that goes with it."""
    what = of("user", SAM.id, "sam")

    def work(session: Session) -> str:
        run_id = house.run(session, "a", state=RunState.RUNNING)
        read = house.thread_json((5,), "of-sam", complete=True, actor=SAM)
        unread = house.thread_json((), "", complete=False, actor=ANA)
        session.get_one(Run, run_id).thread_blob = house.blob(session, read if complete else unread, NOW)
        house.remember(session, house.comment(5, "of-sam", author=SAM))
        house.remember(session, house.comment(6, "of-sam", author=SAM), number=2)
        return run_id

    run_id = await store.write(work)
    await store.write(lambda session: forgetting.ask(session, what))
    assert await keeping(store).look()
    known = select(CommentVersion.comment_id)
    assert await store.read(lambda session: session.exec(known).all()) == [5]

    def end(session: Session) -> None:
        run = session.get_one(Run, run_id)
        run.state, run.ended_at = RunState.SUCCEEDED, NOW + HOUR

    await store.write(end)
    assert not await keeping(store).look()
    assert await purged(store) == [run_id]
    assert await store.read(lambda session: house.words_in(session, "of-sam")) == set()
    assert await store.read(forgetting.asked) == []


@pytest.mark.parametrize("by_run", [True, False])
async def test_a_post_that_may_quote_them_goes_when_it_has_left(store: Store, by_run: bool) -> None:
    """It names nobody: where it is said tells."""
    what = of("user", SAM.id, "sam")

    def work(session: Session) -> str:
        run_id = house.run(session, "a", shown=(5,), actor=SAM) if by_run else None
        house.remember(session, house.comment(5, "of-sam", author=SAM))
        return house.post(session, 1, Slot("x", "b"), "a-quote", NOW, run_id=run_id, state=OutboxState.PENDING)

    row_id = await store.write(work)
    await store.write(lambda session: forgetting.ask(session, what))
    assert await keeping(store).look()
    assert await store.read(lambda session: house.words_in(session, "a-quote")) >= {"outbox.body"}

    def left(session: Session) -> None:
        session.get_one(Outbox, row_id).state = OutboxState.POSTED

    await store.write(left)
    assert not await keeping(store).look()
    assert await store.read(lambda session: house.words_in(session, "a-quote")) == set()
    assert await store.read(forgetting.asked) == []


class Ending(Sweeper):
    """A run ends just when the runs have been looked at, and nothing else has."""

    def __init__(self, store: Store, run_id: str) -> None:
        super().__init__(store, At(NOW + 2 * HOUR))
        self._run_id = run_id

    async def sweep(self, one: Sweep) -> int:
        """As ever, but for the first."""
        if one.name == "outbox":
            await self._store.write(self._end)
        return await super().sweep(one)

    def _end(self, session: Session) -> None:
        if (run := session.get(Run, self._run_id)) is not None and not run.state.ended:
            run.state, run.ended_at = RunState.SUCCEEDED, NOW + HOUR
            session.get_one(Dispatch, run.dispatch_id).state = DispatchState.DONE


@pytest.mark.parametrize("what", [of("repository", 501, "acme/widgets"), of("user", SAM.id, "sam")], ids=["all", "one"])
async def test_what_ends_meanwhile_goes_too(store: Store, what: Forgotten) -> None:
    """Though it was under way when it was looked at; what tells that it has to go stays until then."""

    def work(session: Session) -> str:
        run_id = house.run(session, "a", state=RunState.RUNNING)
        unread = house.thread_json((), "", complete=False, actor=ANA)
        session.get_one(Run, run_id).thread_blob = house.blob(session, unread, NOW)
        house.remember(session, house.comment(5, "of-sam", author=SAM))
        return run_id

    run_id = await store.write(work)
    clock = At(NOW + 2 * HOUR)
    assert await Upkeep(store, clock, 30, Ending(store, run_id)).forget(what)
    assert await purged(store) == ([run_id] if what.kind == "user" else [])
    assert await store.read(lambda session: house.words_in(session, "of-sam")) == set()
    left = await store.read(lambda session: session.exec(select(Run.id)).all())
    assert left == ([run_id] if what.kind == "user" else [])


# -- whom that means ---------------------------------------------------------------------------------------------------


async def test_names_and_numbers_are_found(store: Store) -> None:
    """As they were last seen, in whatever case."""
    await store.write(lambda session: house.run(session, "a"))
    for name in ("acme/widgets", "ACME/Widgets", "501"):
        found = await store.read(lambda session, name=name: forgetting.repositories(session, name))  # type: ignore[misc]  # mypy infers no type for a default
        assert found == {501: "acme/widgets"}
    for name in ("ana", "Ana", "11"):
        found = await store.read(lambda session, name=name: forgetting.users(session, name))  # type: ignore[misc]  # mypy infers no type for a default
        assert found == {11: "ana"}
    assert await store.read(lambda session: forgetting.repositories(session, "acme/other")) == {}
    assert await store.read(lambda session: forgetting.users(session, "nobody")) == {}


async def test_what_there_is_of_it_is_counted(store: Store) -> None:
    """Before and after."""
    await store.write(lambda session: house.run(session, "a"))
    what = of("repository", 501, "acme/widgets")
    counted = await store.read(lambda session: forgetting.counts(session, what))
    assert counted["runs with all that they made"] == 1
    assert await store.read(lambda session: forgetting.spent(session, what)) == 1
    person = await store.read(lambda session: forgetting.counts(session, of("user", 11, "ana")))
    assert person == {"requests": 1, "words to runs": 1}
    await keeping(store).forget(of("user", 11, "ana"))
    assert await store.read(lambda session: forgetting.counts(session, of("user", 11, "ana"))) == {}
    await keeping(store).forget(what)
    assert await store.read(lambda session: forgetting.counts(session, what)) == {}
