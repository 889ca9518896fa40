"""The only writer of run rows: what stands in them after each transaction."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

from bot.engine import commit
from bot.engine.graph import End
from bot.errors import Transient
from bot.model.outcome import Done, Failed, Faulted, Outcome, Usage
from bot.model.state import AttemptState, DispatchState, RunState
from bot.store import Session, Store, runs, snapshots
from bot.store.runs import RunRows
from bot.store.tables import Blob, Run, Spend
from bot.workflows import Budget
from tests.databases import DATABASES, on_both
from tests.engine.scene import Case, open_case, spends, steps
from tests.rows import NOW

pytestmark = on_both

PAID = Usage(100, 20, 2, 0.25)
SUCCESS, FAIL, RUNNING = AttemptState.SUCCESS, AttemptState.FAIL, AttemptState.RUNNING


async def test_a_start_is_on_disk_before_the_step_is_performed(store: Store, tmp_path: Path) -> None:
    """Another process that opens the file at that moment sees the attempt."""
    case = await open_case(store)
    begun = await case.begin(NOW + timedelta(seconds=3))
    seen = DATABASES.rows(tmp_path, "SELECT step, number, state, kind FROM attempt")
    assert seen == [("s1", 1, "running", "run")]
    assert (begun.step.id, begun.attempt.number, begun.attempt.started_at) == ("s1", 1, NOW + timedelta(seconds=3))
    assert [a.id for a in begun.rows.attempts] == [begun.attempt.id]
    assert await case.states() == (RunState.RUNNING, DispatchState.STARTED)


async def test_an_outcome_and_what_follows_are_one_commit(store: Store) -> None:
    """And the next attempt is not begun twice where one is under way."""
    case = await open_case(store)
    first = await case.begin()
    assert await case.advance() is None
    before = store.commits
    second = await case.record(first, Done("one", exit_code=0), NOW + timedelta(seconds=1))
    assert store.commits == before + 1
    assert second is not None
    assert await case.attempts() == [("s1", 1, SUCCESS), ("s2", 1, RUNNING)]
    assert second.rows.attempts[0].output == "one"
    before = store.commits
    assert await case.record(second, Done("two"), NOW + timedelta(seconds=2)) is None
    assert store.commits == before + 1
    assert await case.states() == (RunState.SUCCEEDED, DispatchState.DONE)
    assert case.ends == [End(RunState.SUCCEEDED)]
    run = await case.run()
    assert (run.ended_at, run.lease_owner) == (NOW + timedelta(seconds=2), None)


async def test_what_a_fault_in_the_middle_undoes(store: Store) -> None:
    """Where nothing can be said, nothing is recorded either: the outcome, the cost and the next start are one."""
    case = await open_case(store)
    begun = await case.begin()

    def fails(session: Session, rows: RunRows, end: End) -> None:
        raise ValueError("the outbox is broken")

    terms = commit.Terms(case.configuration, case.terms.workflow, Budget(tokens=1), 50, fails, case.terms.say_step)
    with pytest.raises(ValueError, match="outbox"):
        await store.write(lambda s: commit.record(s, begun, commit.Performed(Done("x", usage=PAID)), terms, NOW))
    assert await case.attempts() == [("s1", 1, RUNNING)]
    assert await spends(store) == []


@pytest.mark.parametrize(
    ("outcome", "state", "error"),
    [
        (Done("out", {"a": 1}, 0, "so", "se", PAID, "m"), SUCCESS, {}),
        (
            Failed("code", "why", "do this", "out", 3, "so", "se", PAID, "m"),
            FAIL,
            {"code": "code", "message": "why", "hint": "do this", "detail": "se"},
        ),
        (
            Faulted("busy", 7.5, PAID),
            AttemptState.TRANSIENT,
            {"code": "transient", "message": "busy", "retry_after": "7.5"},
        ),
        (Faulted("busy", None, PAID), AttemptState.TRANSIENT, {"code": "transient", "message": "busy"}),
    ],
)
async def test_what_an_attempt_keeps_of_its_outcome(
    store: Store, outcome: Outcome, state: AttemptState, error: dict[str, str]
) -> None:
    """State, error, output with its whole bytes, exit code, model, usage; the cost is charged whatever came of it."""
    case = await open_case(store)
    await case.record(await case.begin(), outcome, NOW + timedelta(seconds=9))
    attempt = (await case.rows()).attempts[0]
    assert (attempt.state, attempt.error, attempt.ended_at) == (state, error, NOW + timedelta(seconds=9))
    usage = (attempt.input_tokens, attempt.output_tokens, attempt.requests, attempt.cost)
    assert usage == (100, 20, 2, 0.25)
    if isinstance(outcome, Done | Failed):
        assert (attempt.output, attempt.exit_code, attempt.model) == ("out", outcome.exit_code, "m")
        blobs = {n: await store.read(partial(snapshots.get_blob, digest=d)) for n, d in attempt.streams.items()}
        assert blobs == {"output": b"out", "stdout": b"so", "stderr": b"se"}
    else:
        assert (attempt.output, attempt.streams) == (None, {})
    assert attempt.result == ({"a": 1} if isinstance(outcome, Done) else None)
    (spent,) = await spends(store)
    assert (spent.installation_id, spent.repository_id, spent.actor_id, spent.run_id) == (77, 501, 11, case.run_id)
    assert (spent.model, spent.input_tokens, spent.output_tokens, spent.cost) == (
        getattr(outcome, "model", ""),
        100,
        20,
        0.25,
    )
    assert spent.at == NOW + timedelta(seconds=9)


async def test_what_asked_no_model_costs_nothing(store: Store) -> None:
    """And a long output is cut in the row, whole in its blob; no output at all is none."""
    case = await open_case(store)
    second = await case.record(await case.begin(), Done("x" * 70_000))
    assert second is not None
    await case.record(second, Done(None))
    first, last = (await case.rows()).attempts
    assert first.output == "x" * 65_536 + "\n[… 4464 bytes left out]"
    whole = await store.read(lambda s: snapshots.get_blob(s, first.streams["output"]))
    assert whole == b"x" * 70_000
    assert (last.output, last.streams) == (None, {})
    assert await spends(store) == []


async def test_an_outcome_that_comes_too_late_changes_nothing(store: Store) -> None:
    """The attempt was interrupted or cancelled meanwhile: no second end, no second charge."""
    case = await open_case(store)
    begun = await case.begin()
    await store.write(lambda s: commit.abandon(s, case.run_id, case.terms.say, NOW, cancelled=False))
    assert await case.record(begun, Done("late", usage=PAID)) is None
    assert await case.attempts() == [("s1", 1, AttemptState.INTERRUPTED)]
    assert (await case.states(), await spends(store)) == ((RunState.QUEUED, DispatchState.STARTED), [])


async def test_an_output_is_said_at_once_where_the_step_says_so(store: Store) -> None:
    """`publish: true`, and only for success."""
    case = await open_case(store, steps(3, ", publish: true"))
    second = await case.record(await case.begin(), Done("one"))
    assert case.outputs == ["s1: one"]
    assert second is not None
    await case.record(second, Failed("code", "why", output="two"))
    assert case.outputs == ["s1: one"]
    quiet = await open_case(store, guid="quiet")
    await quiet.record(await quiet.begin(), Done("one"))
    assert quiet.outputs == []


# -- what ends a run


@pytest.mark.parametrize(
    ("outcome", "states", "reason"),
    [
        (Failed("code", "why"), (RunState.FAILED, DispatchState.DONE), "s1 failed: code"),
        (Failed("run_timed_out", "over"), (RunState.TIMED_OUT, DispatchState.DONE), "over"),
    ],
)
async def test_a_failed_step_ends_the_run(
    store: Store, outcome: Failed, states: tuple[RunState, DispatchState], reason: str
) -> None:
    """Said once, with the step; the next step never starts."""
    case = await open_case(store)
    assert await case.record(await case.begin(), outcome) is None
    assert await case.states() == states
    assert case.ends == [End(states[0], "s1", reason)]
    assert ((await case.run()).reason, len(await case.attempts())) == (reason, 1)


@pytest.mark.parametrize(
    ("budget", "state", "words"),
    [
        (Budget(usd=0.25), RunState.BUDGET_EXCEEDED, "its budget of $0.25 is spent ($0.25)"),
        (Budget(tokens=120), RunState.BUDGET_EXCEEDED, "its budget of 120 tokens is spent (120)"),
        (Budget(minutes=1), RunState.TIMED_OUT, "its 1 minutes are over"),
        (Budget(usd=0.26, tokens=121, minutes=1.1), None, ""),
    ],
)
async def test_a_budget_is_looked_at_before_each_start(
    store: Store, budget: Budget, state: RunState | None, words: str
) -> None:
    """At the bound nothing more starts; what ran is kept; the end names the step that did not start."""
    case = await open_case(store, budget=budget)
    following = await case.record(await case.begin(), Done("x", usage=PAID), NOW + timedelta(seconds=60))
    if state is None:
        assert following is not None
        return
    assert following is None
    assert case.ends == [End(state, "s2", words)]
    assert await case.states() == (state, DispatchState.DONE)


async def test_a_run_that_is_done_is_not_over_budget(store: Store) -> None:
    """Nothing is left to start, so nothing is refused."""
    case = await open_case(store, steps(1), budget=Budget(usd=0.1, minutes=0.5))
    await case.record(await case.begin(), Done("x", usage=PAID), NOW + timedelta(seconds=60))
    assert await case.states() == (RunState.SUCCEEDED, DispatchState.DONE)


@pytest.mark.parametrize(("hours", "stopped"), [(0, True), (23.9, True), (24.1, False)])
async def test_the_instances_ceiling_of_a_day_stops_every_run(store: Store, hours: float, stopped: bool) -> None:
    """Whoever spent it; what is older than 24 hours does not count."""
    case = await open_case(store, usd_day=5.0)

    def spend(session: Session) -> None:
        at = NOW - timedelta(hours=hours)
        for cost in (2.0, 3.0):
            session.add(
                Spend(
                    installation_id=1,
                    repository_id=2,
                    thread_id="t",
                    actor_id=3,
                    run_id="other",
                    model="m",
                    cost=cost,
                    at=at,
                )
            )

    await store.write(spend)
    assert (await case.advance() is None) is stopped
    if stopped:
        assert case.ends == [End(RunState.BUDGET_EXCEEDED, "s1", "the instance's ceiling of $5 in 24 hours is reached")]
        assert await case.states() == (RunState.BUDGET_EXCEEDED, DispatchState.DONE)


async def test_a_cancellation_between_two_steps_ends_the_run_there(store: Store) -> None:
    """The outcome is kept, the next step does not start."""
    case = await open_case(store)
    begun = await case.begin()
    await case.change(cancelled_by="meg")
    assert await case.record(begun, Done("one", usage=PAID)) is None
    assert await case.states() == (RunState.CANCELLED, DispatchState.CANCELLED)
    assert await case.attempts() == [("s1", 1, SUCCESS)]
    assert case.ends == [End(RunState.CANCELLED, None, "cancelled by meg")]
    assert len(await spends(store)) == 1


async def test_a_run_that_ended_does_not_go_on(store: Store) -> None:
    """Whatever asks for it."""
    case = await open_case(store)
    await case.change(state=RunState.SUCCEEDED)
    assert await case.advance() is None
    say = case.terms.say
    await store.write(lambda s: commit.abandon(s, case.run_id, say, NOW, cancelled=True))
    await store.write(lambda s: commit.fail(s, case.run_id, Failed("x", "y"), say, NOW))
    late = NOW + timedelta(hours=1)
    await store.write(lambda s: commit.postpone(s, case.run_id, Transient("x"), say, late, NOW))
    assert (await case.attempts(), case.ends, (await case.run()).state) == ([], [], RunState.SUCCEEDED)


@pytest.mark.parametrize(
    ("end", "started", "dispatch"),
    [
        (RunState.SUCCEEDED, True, DispatchState.DONE),
        (RunState.FAILED, False, DispatchState.DONE),
        (RunState.FAILED, True, DispatchState.DONE),
        (RunState.BUDGET_EXCEEDED, False, DispatchState.DONE),
        (RunState.TIMED_OUT, False, DispatchState.DONE),
        (RunState.CANCELLED, False, DispatchState.CANCELLED),
        (RunState.CANCELLED, True, DispatchState.CANCELLED),
        (RunState.SET_ASIDE, False, DispatchState.SET_ASIDE),
        (RunState.SET_ASIDE, True, DispatchState.SET_ASIDE),
    ],
)
async def test_every_end_settles_run_and_dispatch(
    store: Store, end: RunState, started: bool, dispatch: DispatchState
) -> None:
    """With the reason on both; it is said once, and the thread's next run may go."""
    case = await open_case(store)
    if started:
        await case.begin()
    bell, said = store.bell("queue").count, case.terms.say
    finished = End(end, "s1", "because")
    await store.write(lambda s: commit.finish(s, runs.rows(s, case.run_id), finished, said, NOW))
    assert await case.states() == (end, dispatch)
    found = await case.rows()
    assert (found.run.reason, found.dispatch.reason, found.run.lease_owner) == ("because", "because", None)
    assert (case.ends, store.bell("queue").count > bell) == ([finished], True)


# -- what interrupts one


async def test_a_retry_waits_in_the_queue_and_holds_nobody(store: Store) -> None:
    """The lease is given back; the run goes on at its time, at the front of its thread."""
    case = await open_case(store)
    begun = await case.begin()
    assert await case.record(begun, Faulted("busy", 90)) is None
    run = await case.run()
    assert (run.state, run.front, run.lease_owner, run.not_before) == (
        RunState.QUEUED,
        1,
        None,
        NOW + timedelta(seconds=90),
    )
    assert case.ends == []
    await case.change(state=RunState.RUNNING)
    second = await case.begin(NOW + timedelta(seconds=90))
    assert (second.step.id, second.attempt.number) == ("s1", 2)


@pytest.mark.parametrize(("later", "starts"), [(timedelta(hours=23), False), (timedelta(days=1), True)])
async def test_no_retry_waits_longer_than_a_day(store: Store, later: timedelta, starts: bool) -> None:
    """However long it was asked for: a run that is taken because it is due does not go back to the queue for that."""
    case = await open_case(store)
    await case.record(await case.begin(), Faulted("busy", 3 * 86_400))
    assert (await case.run()).not_before == NOW + timedelta(days=1)
    claimed = await store.write(lambda s: runs.claim(s, "me", NOW + later))
    assert (claimed is not None) is starts


async def test_a_retry_of_a_clock_that_was_set_back_starts(store: Store) -> None:
    """The run is due by its row, and so is what it goes on with."""
    case, earlier = await open_case(store), NOW - timedelta(days=2)
    await case.record(await case.begin(), Faulted("busy", 90))
    assert await store.write(lambda s: runs.claim(s, "me", earlier)) == case.run_id
    assert (await case.begin(earlier)).attempt.number == 2


@pytest.mark.parametrize(
    ("cancelled", "state", "code", "states"),
    [
        (True, AttemptState.CANCELLED, "cancelled", (RunState.CANCELLED, DispatchState.CANCELLED)),
        (False, AttemptState.INTERRUPTED, "stopped", (RunState.QUEUED, DispatchState.STARTED)),
    ],
)
async def test_work_that_is_called_off(
    store: Store, cancelled: bool, state: AttemptState, code: str, states: tuple[RunState, DispatchState]
) -> None:
    """By a person: it ends and is said. By a stop of this process: it is handed back, and not counted against it."""
    case = await open_case(store)
    second = await case.record(await case.begin(), Done("one"))
    assert second is not None
    await case.change(cancelled_by="meg" if cancelled else None)
    say, at = case.terms.say, NOW + timedelta(seconds=5)
    await store.write(lambda s: commit.abandon(s, case.run_id, say, at, cancelled=cancelled))
    assert await case.states() == states
    assert await case.attempts() == [("s1", 1, SUCCESS), ("s2", 1, state)]
    last = (await case.rows()).attempts[-1]
    assert (last.ended_at, last.error["code"]) == (at, code)
    assert case.ends == ([End(RunState.CANCELLED, None, "cancelled by meg")] if cancelled else [])


@pytest.mark.parametrize(
    ("waited", "told", "again"),
    [
        (timedelta(0), None, 5.0),
        (timedelta(seconds=20), None, 20.0),
        (timedelta(minutes=14, seconds=59), None, 60.0),
        (timedelta(minutes=1), 2.0, 60.0),
        (timedelta(minutes=1), 300.0, 300.0),
        (timedelta(minutes=15), 300.0, None),
    ],
)
async def test_a_start_that_github_does_not_answer(
    store: Store, waited: timedelta, told: float | None, again: float | None
) -> None:
    """Tried again soon, then seldomer, or when GitHub says; 15 minutes after the first try it fails, and is told."""
    case = await open_case(store)
    now = NOW + waited
    error = Transient("GET /permission: 502", told)
    await store.write(lambda s: commit.postpone(s, case.run_id, error, case.terms.say, now, now))
    run = await case.run()
    if again is not None:
        assert (run.state, run.not_before, run.lease_owner) == (RunState.QUEUED, now + timedelta(seconds=again), None)
        assert case.ends == []
        return
    assert await case.states() == (RunState.FAILED, DispatchState.DONE)
    (end,) = case.ends
    assert end.reason == "github_unavailable: GitHub did not answer: GET /permission: 502"


@pytest.mark.parametrize(("waited", "state"), [(119, RunState.QUEUED), (120, RunState.FAILED)])
async def test_a_start_that_a_limit_holds_up(store: Store, waited: int, state: RunState) -> None:
    """GitHub says when it ends: that costs nobody a run, for two hours."""
    case = await open_case(store)
    now, error = NOW + timedelta(minutes=waited), Transient("rate limit", 600.0, limited=True)
    await store.write(lambda s: commit.postpone(s, case.run_id, error, case.terms.say, now, now))
    assert (await case.run()).state is state


async def test_the_time_in_the_queue_is_not_github_s(store: Store) -> None:
    """A run that waited an hour for those before it is tried again like any other."""
    case = await open_case(store)
    await case.change(queued_at=NOW - timedelta(hours=1))
    await store.write(lambda s: commit.postpone(s, case.run_id, Transient("502"), case.terms.say, NOW, NOW))
    assert (await case.run()).state is RunState.QUEUED


@pytest.mark.parametrize(("waited", "state"), [(14, RunState.QUEUED), (15, RunState.FAILED)])
async def test_the_time_it_waited_for_people_is_not_github_s(store: Store, waited: int, state: RunState) -> None:
    """One that goes on fails 15 minutes after the first fault, however long ago it began."""
    case = await open_case(store)
    await case.begin()
    now = NOW + timedelta(days=3)
    since = now - timedelta(minutes=waited)
    await store.write(lambda s: commit.postpone(s, case.run_id, Transient("502"), case.terms.say, now, since))
    assert (await case.run()).state is state


async def test_a_run_that_must_not_go_on(store: Store) -> None:
    """What a dead process left running in it has ended too."""
    case = await open_case(store)
    await case.begin()
    end = End(RunState.CANCELLED, None, "no more")
    await store.write(lambda s: commit.refuse(s, case.run_id, end, case.terms.say, NOW))
    assert await case.states() == (RunState.CANCELLED, DispatchState.CANCELLED)
    assert "cancelled" in str(await case.attempts())


async def test_a_run_that_cannot_go_on(store: Store) -> None:
    """What is under way fails with it, so that the ledger has no open attempt."""
    case = await open_case(store)
    await case.begin()
    failure = Failed("internal_error", "the bot itself failed", "see the log")
    await store.write(lambda s: commit.fail(s, case.run_id, failure, case.terms.say, NOW))
    assert await case.states() == (RunState.FAILED, DispatchState.DONE)
    assert await case.attempts() == [("s1", 1, FAIL)]
    assert case.ends == [End(RunState.FAILED, None, "internal_error: the bot itself failed", "see the log")]


# -- what a step keeps while it runs


async def test_prompt_manifest_and_thread_are_kept(store: Store) -> None:
    """The same bytes once; the run points at its thread."""
    case = await open_case(store)
    begun = await case.begin()
    manifest: dict[str, Any] = {"window": 5}
    await store.write(lambda s: commit.attach(s, begun.attempt.id, b"prompt", manifest, NOW))
    await store.write(lambda s: commit.keep_thread(s, case.run_id, b"prompt", NOW))
    found = await case.rows()
    assert found.attempts[0].manifest == manifest
    assert found.attempts[0].prompt_blob == found.run.thread_blob == snapshots.digest_of(b"prompt")
    assert len(await store.read(lambda s: s.exec(select(Blob)).all())) == 1
    assert await store.read(lambda s: s.get_one(Run, case.run_id).state) is RunState.RUNNING


async def whole(case: Case) -> int:
    """Perform every step of a case; how many."""
    begun, count = await case.advance(), 0
    while begun is not None:
        begun, count = await case.record(begun, Done("")), count + 1
    return count


async def test_steps_run_in_their_order(store: Store) -> None:
    """Each once."""
    case = await open_case(store, steps(5))
    assert await whole(case) == 5
    assert await case.attempts() == [(f"s{n}", 1, SUCCESS) for n in range(1, 6)]
