"""A slot is said once, in order, and never forgotten."""

from __future__ import annotations

from datetime import timedelta

from bot.model.ident import digest
from bot.model.slot import Slot
from bot.model.state import OutboxState
from bot.store import Session, Store, doubt, outbox, spoken
from bot.store.tables import Outbox, Run
from tests import rows
from tests.sending import claim_next

from .conftest import NOW


async def say(
    store: Store,
    scope: str,
    body: str = "hello",
    *,
    thread: int = 1,
    sequence: int = 0,
    purpose: str = "result",
    action: str = "comment",
) -> str:
    """Ensure a slot and return the row's id."""

    def work(session: Session) -> str:
        where = rows.thread(session, thread)
        row = outbox.ensure(
            session,
            Slot(scope, purpose),
            thread_id=where.id,
            action=action,
            purpose=purpose,
            body=body,
            now=NOW,
            sequence=sequence,
        )
        return row.id

    return await store.write(work)


async def claim(store: Store, owner: str = "me") -> str | None:
    said = await store.write(lambda s: claim_next(s, owner, NOW))
    return None if said is None else said.row.id


async def state(store: Store, row_id: str) -> OutboxState:
    return await store.read(lambda s: s.get_one(Outbox, row_id).state)


async def posted(store: Store, row_id: str, comment: int = 5, body: str = "hello") -> None:
    await store.write(lambda s: outbox.posted(s, row_id, comment, "url", NOW, digest(body)))


async def test_a_slot_is_one_row_whatever_is_said_again(store: Store) -> None:
    """The same slot with the same body is the same row."""
    assert await say(store, "run/1") == await say(store, "run/1")
    assert await claim(store) is not None
    assert await claim(store) is None


async def test_a_changed_body_of_a_posted_slot_is_an_edit(store: Store) -> None:
    """It is pending again and keeps GitHub's id; unchanged it stays posted."""
    row_id = await say(store, "thread/1", purpose="index")
    await claim(store)
    await posted(store, row_id)
    await say(store, "thread/1", purpose="index")
    assert await state(store, row_id) is OutboxState.POSTED
    await say(store, "thread/1", "changed", purpose="index")
    again = await store.write(lambda s: claim_next(s, "me", NOW))
    assert again is not None
    assert (again.row.id, again.row.posted_id, again.row.body) == (row_id, 5, "changed")


async def test_a_body_that_changes_while_it_is_sent_is_sent_again(store: Store) -> None:
    """The answer to the old body does not settle the new one."""
    row_id = await say(store, "thread/1", purpose="index")
    await claim(store)
    await say(store, "thread/1", "newer", purpose="index")
    await posted(store, row_id, body="hello")
    assert await state(store, row_id) is OutboxState.PENDING


async def test_results_of_a_thread_go_in_dispatch_order(store: Store) -> None:
    """An unsure earlier result holds back a later one of its thread, not another thread's nor a reaction."""
    first = await say(store, "run/1", sequence=1)
    second = await say(store, "run/2", sequence=2)
    assert await claim(store) == first
    await store.write(lambda s: doubt.unsure(s, first, NOW + timedelta(seconds=5), "no answer"))
    other = await say(store, "run/3", thread=2, sequence=1)
    reaction = await say(store, "run/4", purpose="reaction", action="reaction", sequence=2)
    assert {await claim(store), await claim(store)} == {other, reaction}
    assert await claim(store) is None
    await store.write(lambda s: doubt.confirm(s, str(Slot("run/1", "result")), 9, "url", NOW))
    assert await state(store, first) is OutboxState.POSTED
    assert await claim(store) == second


async def test_a_second_comment_in_a_filled_slot_is_told(store: Store) -> None:
    """The caller learns which comment fills the slot, so that the younger can go."""
    row_id = await say(store, "run/1")
    await claim(store)
    await posted(store, row_id, 5)
    slot = str(Slot("run/1", "result"))
    assert await store.write(lambda s: doubt.confirm(s, slot, 5, "url", NOW)) is None
    assert await store.write(lambda s: doubt.confirm(s, slot, 6, "url", NOW)) == 5


async def test_what_a_dead_process_was_sending_is_unsure(store: Store) -> None:
    """And what this process sends is left alone."""
    dead = await say(store, "run/1", thread=1)
    assert await claim(store, "dead") == dead
    mine = await say(store, "run/2", thread=2)
    assert await claim(store, "me") == mine
    look = NOW + timedelta(seconds=5)
    await store.write(lambda s: doubt.recover(s, "me", look))
    assert (await state(store, dead), await state(store, mine)) == (OutboxState.UNSURE, OutboxState.SENDING)
    assert await store.read(lambda s: doubt.due_unsure(s, NOW)) == []
    assert [said.row.id for said in await store.read(lambda s: doubt.due_unsure(s, look))] == [dead]
    assert await store.read(lambda session: outbox.next_due(session, NOW)) == look


async def test_a_postponed_row_waits_and_results_go_before_reactions(store: Store) -> None:
    """`not_before` is obeyed; priority decides among what is due."""
    reaction = await say(store, "run/1", purpose="reaction", action="reaction")
    result = await say(store, "run/2")
    assert await claim(store) == result
    await store.write(lambda s: outbox.postpone(s, result, NOW + timedelta(hours=1), "limited"))
    assert await claim(store) == reaction
    assert await claim(store) is None


async def test_a_dropped_slot_stays_dropped(store: Store) -> None:
    """A locked thread is not knocked at again."""
    row_id = await say(store, "run/1")
    await claim(store)
    await store.write(lambda s: outbox.drop(s, row_id, "locked"))
    await say(store, "run/1", "another")
    assert await state(store, row_id) is OutboxState.DROPPED
    assert await claim(store) is None


async def test_a_dropped_index_may_come_back(store: Store) -> None:
    """When it has something new to say, and only then."""
    row_id = await say(store, "thread/1", purpose="index")
    await claim(store)
    await store.write(lambda s: outbox.drop(s, row_id, "locked"))
    await say(store, "thread/1", purpose="index")
    assert await state(store, row_id) is OutboxState.DROPPED
    await say(store, "thread/1", "another", purpose="index")
    assert await claim(store) == row_id


async def test_a_cancelled_run_that_has_not_ended_holds_back_later_ones(store: Store) -> None:
    """Its notice comes first, and then theirs."""

    def begin(session: Session) -> str:
        run = rows.run(session, guid="g")
        run.cancelled_by = "ana"
        session.add(run)
        return run.id

    run_id = await store.write(begin)
    later = await say(store, "run/later", sequence=1_000, purpose="cancelled")
    assert await claim(store) is None

    def end(session: Session) -> None:
        session.get_one(Run, run_id).ended_at = NOW

    await store.write(end)
    assert await claim(store) == later


async def test_what_is_paced_is_not_claimed(store: Store) -> None:
    """An installation may be silent, or have its comments alone held back."""
    comment = await say(store, "run/1")
    reaction = await say(store, "run/2", purpose="reaction", action="reaction")
    installation = (await store.read(rows.thread)).installation_id
    assert await store.write(lambda s: claim_next(s, "me", NOW, silent=[installation])) is None
    said = await store.write(lambda s: claim_next(s, "me", NOW, no_content=[installation]))
    assert said is not None
    assert said.row.id == reaction
    assert await claim(store) == comment


async def test_said_again_though_it_is_the_same(store: Store) -> None:
    """Somebody changed what stands there: it is an edit, once."""
    row_id = await say(store, "run/1")
    await claim(store)
    await posted(store, row_id)
    await store.write(lambda s: outbox.restate(s, s.get_one(Outbox, row_id)))
    assert await claim(store) == row_id
    await posted(store, row_id)
    assert await state(store, row_id) is OutboxState.POSTED
    await say(store, "run/1")
    assert await claim(store) is None


async def test_said_again_while_it_is_sent(store: Store) -> None:
    """What is under way may have come before the change: once more, and then it stands as wanted."""
    row_id = await say(store, "run/1")
    await claim(store)
    await store.write(lambda s: outbox.restate(s, s.get_one(Outbox, row_id)))
    await posted(store, row_id)
    said = await store.write(lambda s: claim_next(s, "me", NOW))
    assert said is not None
    sent = said.row.digest
    await store.write(lambda s: outbox.posted(s, row_id, 5, "", NOW, sent))
    assert await state(store, row_id) is OutboxState.POSTED
    await say(store, "run/1")
    assert await state(store, row_id) is OutboxState.POSTED


async def test_deleted_by_somebody(store: Store) -> None:
    """It is said in a new comment, also where an edit was about to go."""
    row_id = await say(store, "run/1", purpose="gate")
    await claim(store)
    await posted(store, row_id)
    for _ in range(2):
        await store.write(lambda s: outbox.deleted(s, s.get_one(Outbox, row_id)))
    row = await store.read(lambda s: s.get_one(Outbox, row_id))
    assert (row.state, row.posted_id, row.url) == (OutboxState.PENDING, None, "")


async def test_found_by_its_comment(store: Store) -> None:
    """By GitHub's id, else by slot where the id is not known yet; never a comment of another thread."""
    row_id = await say(store, "run/1")
    row = await store.read(lambda s: s.get_one(Outbox, row_id))
    assert await store.read(lambda s: spoken.standing(s, row.thread_id, 5, None)) is None
    found = await store.read(lambda s: spoken.standing(s, row.thread_id, 5, row.slot))
    assert found is not None
    await claim(store)
    await posted(store, row_id)
    assert await store.read(lambda s: spoken.standing(s, row.thread_id, 5, None)) is not None
    assert await store.read(lambda s: spoken.standing(s, row.thread_id, 6, row.slot)) is None
    assert await store.read(lambda s: spoken.standing(s, "another", 5, row.slot)) is None
