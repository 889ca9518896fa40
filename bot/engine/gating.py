"""Gates of one run as rows: opened, held against the head they are bound to, asked again, reminded of."""

from __future__ import annotations

from datetime import datetime, timedelta

from bot.engine import gates
from bot.engine.terms import Terms
from bot.model.outcome import Failed, Faulted, Wait
from bot.model.patience import PATIENCE, named
from bot.model.role import Role, strictest
from bot.model.state import AttemptState, GateState, follow
from bot.store import Session, objects, snapshots
from bot.store.answering import moved, moved_words
from bot.store.runs import RunRows
from bot.store.tables import Attempt, Gate
from bot.workflows.gate_steps import ASKED_MAX

#: seconds between two tries at least
_PAUSE = 5.0


def of(rows: RunRows, attempt: Attempt) -> Gate | None:
    """The gate of an attempt."""
    return next((one for one in rows.gates if one.attempt_id == attempt.id), None)


def put_up(
    session: Session, rows: RunRows, terms: Terms, attempt: Attempt, wait: Wait, now: datetime, head: str | None
) -> Gate:
    """The row of what an attempt waits for. One may stop more than once: then its gate makes room for another."""
    kept = snapshots.put_blob(session, wait.kept, now) if wait.kept else None
    gate = gates.opened(
        wait, run_id=attempt.run_id, attempt_id=attempt.id, now=now, kept=kept, least=_least(rows, terms), head=head
    )
    if (before := of(rows, attempt)) is not None:
        rows.gates.remove(before)
        session.delete(before)
        session.flush()
    rows.gates.append(gate)
    objects.add(session, gate)
    return gate


def _least(rows: RunRows, terms: Terms) -> Role:
    """The least role that may answer where a gate names nobody: that which may command here, and run this."""
    usable = terms.configuration
    return strictest(usable.bot.trigger_role, usable.role_for(rows.run.workflow))


def held(session: Session, gate: Gate, head: str | None) -> bool:
    """Whether an answer still counts at the head that was read now; if not, it is void."""
    if gate.state is not GateState.ANSWERED:
        return False
    answer = gate.answer or {}
    if not moved(gate, answer, head):
        return True
    gate.state = follow(gate.state, GateState.VOID)
    gate.note = f"{moved_words(str(gate.head_sha), str(head))} after `{answer.get('by') or 'nobody'}` had answered"
    session.add(gate)
    return False


def again(
    session: Session, rows: RunRows, terms: Terms, gate: Gate, now: datetime, head: str | None = None
) -> Failed | None:
    """What was answered is void: the old comment says so, and a new one asks; the failure of one that asked too often.

    It stays open as long again, and people are reminded again.
    """
    terms.ask(session, rows, gate)
    if gate.asked >= ASKED_MAX:
        hint = "Ask again when nobody pushes to it or changes the text of the question."
        return Failed("gate_void", f"it asked {ASKED_MAX} times, and each answer was void: {gate.note}", hint)
    if gate.deadline is not None and gate.opened_at is not None:
        gate.deadline = now + (gate.deadline - gate.opened_at)
    gate.state = follow(gate.state, GateState.OPEN)
    gate.asked += 1
    gate.opened_at, gate.head_sha = now, head or gate.head_sha
    gate.remind_at, gate.reminded_at = gates.half(now, gate.deadline), None
    gate.answer, gate.altered_by = None, ""
    session.add(gate)
    session.flush()
    terms.ask(session, rows, gate)
    return None


def unread(session: Session, attempt: Attempt, gate: Gate, fault: Faulted, now: datetime) -> Failed | None:
    """GitHub did not tell the head: the answer is kept and looked at again; the failure after 15 minutes.

    Waits that GitHub itself named do not count among them.
    """
    answer = gate.answer or {}
    since = datetime.fromisoformat(str(answer.get("since") or now.isoformat()))
    if now - since >= PATIENCE:
        return Failed("github_unavailable", f"GitHub did not tell the head: {fault.message}", "Ask again later.")
    gate.answer = {**answer, "since": (since + named(fault.retry_after)).isoformat()}
    attempt.state = follow(attempt.state, AttemptState.WAITING)
    attempt.not_before = now + timedelta(seconds=max(_PAUSE, fault.retry_after or 0.0))
    session.add_all([attempt, gate])
    session.flush()
    return None


def remind(session: Session, rows: RunRows, terms: Terms, gate: Gate, now: datetime) -> None:
    """Tell people once, at half time, that something waits for them."""
    gate.reminded_at = now
    session.add(gate)
    session.flush()
    terms.remind(session, rows, gate)
