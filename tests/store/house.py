"""A database with words in every column that takes any, and a look at where words are left."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import String, cast
from sqlalchemy import select as rows_of
from sqlmodel import Session, SQLModel, col, update

from bot.model.slot import Slot
from bot.model.state import (
    AttemptState,
    DeliveryState,
    DispatchState,
    GateState,
    OutboxState,
    RunState,
)
from bot.model.thread import Account, Comment
from bot.store import deliveries, outbox, runs, snapshots, threads
from bot.store.tables import (
    Artifact,
    Attempt,
    Clone,
    Delivery,
    Dispatch,
    Export,
    Frame,
    Gate,
    Run,
    Snapshot,
    Spend,
    Steer,
    Value,
)
from tests import rows
from tests.rows import ANA, NOW

#: in every text
WORDS = "some-words"


def run(
    session: Session,
    guid: str,
    *,
    number: int = 1,
    at: datetime = NOW,
    state: RunState = RunState.SUCCEEDED,
    words: str = WORDS,
    comment_id: int | None = None,
    shown: tuple[int, ...] = (),
    complete: bool = True,
    actor: Account = ANA,
) -> str:
    """A run with words in each of its rows; `shown` are the comments that its agent's prompt had. Its id."""
    made = rows.run(session, number, guid=guid, now=at, comment_id=comment_id, files={".github/bot.yml": words})
    dispatch = session.get_one(Dispatch, made.dispatch_id)
    dispatch.request = f"please {words}"
    dispatch.actor_id, dispatch.actor = actor.id, actor.login
    dispatch.params, dispatch.inputs = {"a": words}, {"b": words}
    dispatch.trigger = {**dispatch.trigger, "text": words, "comment_id": comment_id}
    dispatch.issue = {"number": number, "title": words, "body": words, "author": "ana"}
    dispatch.state = DispatchState.DONE if state.ended else DispatchState.STARTED
    made.state, made.reason, made.started_at = state, f"failed: {words}", at
    made.ended_at = at if state.ended else None
    made.thread_blob = blob(session, thread_json(shown, words, complete=complete, actor=actor), at)
    delivery = session.get_one(Delivery, dispatch.delivery_id)
    deliveries.settle(session, delivery.id, DeliveryState.PLANNED, words)
    delivery.body, delivery.headers, delivery.comment_id = f'{{"text": "{words}"}}'.encode(), {"x": words}, comment_id
    frame = runs.rows(session, made.id).root
    frame.given, frame.key = {"inputs": {"b": words}}, words
    session.add_all([made, dispatch, delivery, frame])
    session.flush()
    inner = Frame(
        run_id=made.id, parent_id=frame.id, path="/each[a]#1", step="each", key=words, item={"item": words},
        given={"files": {"f": {"sha256_hex": blob(session, f"file {words} {guid}", at)}}},
    )  # fmt: skip
    session.add(inner)
    session.flush()
    attempt = Attempt(
        run_id=made.id, frame_id=inner.id, step="triage", kind="agent", number=1, state=AttemptState.SUCCESS,
        started_at=at, ended_at=at, output=words, result={"a": words}, error={"code": "odd", "message": words},
        route={"to": "END", "why": words}, streams={"output": blob(session, f"output {words} {guid}", at)},
        prompt_blob=blob(session, f"prompt {words} {guid}", at), model="demo:helper", input_tokens=7, cost=0.5,
        manifest={"comments": [{"id": one, "kind": "comment", "author": "sam", "fate": "included"} for one in shown]},
    )  # fmt: skip
    session.add(attempt)
    session.flush()
    session.add_all(
        [
            Gate(
                attempt_id=attempt.id, run_id=made.id, question=words, options={"a": words}, who={"users": [words]},
                digest="d", state=GateState.ANSWERED, opened_at=at, note=words, altered_by=words,
                kept=blob(session, f"kept {words} {guid}", at),
                answer={"answer": words, "by": "ana", "by_id": 11, "at": at.isoformat(), "channel": "tick"},
            ),
            Steer(run_id=made.id, text=words, by="ana", by_id=11, at=at, attempt_id=attempt.id, read_at=at),
            Value(run_id=made.id, frame_id=frame.id, attempt_id=attempt.id, step="triage", key=words, text=words),
            Artifact(
                run_id=made.id, attempt_id=attempt.id, frame_id=frame.id, name="report", kind="file", path=words,
                blob=blob(session, f"artifact {words} {guid}", at),
            ),
            Clone(
                run_id=made.id, repository_id=501, ref="main", commit="c0ffee", mark="m",
                blob=blob(session, f"clone {words} {guid}", at),
            ),
            Export(run_id=made.id, revision=1, value={"a": words}, attempts=[attempt.id], made_at=at),
            Spend(
                installation_id=77, repository_id=501, thread_id=made.thread_id, actor_id=actor.id, run_id=made.id,
                model="demo:helper", cost=0.5, at=at,
            ),
        ]
    )  # fmt: skip
    post(session, number, Slot(f"run/{made.id}", "end"), words, at, run_id=made.id, attempt_id=attempt.id)
    return made.id


def blob(session: Session, text: str, at: datetime) -> str:
    """Bytes of that text."""
    return snapshots.put_blob(session, text.encode(), at)


def thread_json(shown: tuple[int, ...], words: str, *, complete: bool, actor: Account) -> str:
    """A thread as a run keeps it, as far as purging reads it."""

    author = {"id": actor.id, "login": actor.login}
    messages = [{"id": one, "kind": "comment", "author": author, "text": words, "out": ""} for one in shown]
    return json.dumps(
        {"issue": {"author": {"id": 11}, "body": words}, "messages": messages, "pins": [], "complete": complete}
    )


def post(
    session: Session,
    number: int,
    slot: Slot,
    words: str,
    at: datetime,
    *,
    purpose: str = "result",
    run_id: str | None = None,
    attempt_id: str | None = None,
    posted_id: int | None = 7000,
    state: OutboxState = OutboxState.POSTED,
) -> str:
    """Something that was said then. Its row's id."""
    thread = rows.thread(session, number)
    row = outbox.ensure(
        session, slot, thread_id=thread.id, action="comment", purpose=purpose, body=words, now=at, run_id=run_id,
        attempt_id=attempt_id,
    )  # fmt: skip
    row.state, row.posted_id, row.posted_at, row.url = state, posted_id, at, "https://github.test/1"
    row.reason, row.outcome = f"odd: {words}", {"id": 1, "pushed": "c0ffee", "error": words}
    session.add(row)
    session.flush()
    return row.id


def comment(comment_id: int, body: str = WORDS, *, at: datetime = NOW, author: Account = ANA) -> Comment:
    """A comment of an issue."""
    return Comment(comment_id, author, body, at, at, f"https://github.test/acme/widgets/issues/1#{comment_id}")


def remember(session: Session, one: Comment, *, number: int = 1) -> None:
    """A comment that we were told of when it was written."""
    threads.remember(session, rows.thread(session, number).id, one, one.updated_at)


def aged(session: Session, days: float) -> None:
    """Blobs and snapshots are as old as that."""
    session.execute(update(Snapshot).values(created_at=NOW - timedelta(days=days)))


def words_in(session: Session, words: str = WORDS) -> set[str]:
    """The columns that hold these words anywhere, as `table.column`."""
    found = set()
    for name, table in SQLModel.metadata.tables.items():
        for column in table.columns:
            for (value,) in session.connection().execute(rows_of(cast(column, String) if _is_json(column) else column)):
                text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
                if words in text:
                    found.add(f"{name}.{column.name}")
    return found


def _is_json(column: Any) -> bool:
    return type(column.type).__name__ == "JSON"


def open_run(session: Session, run_id: str, state: RunState) -> None:
    """Let a run be in that state, not ended."""
    session.execute(update(Run).where(col(Run.id) == run_id).values(state=state, ended_at=None))
