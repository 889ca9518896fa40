"""An intent becomes a row: once, through the policy, with the attempt that waits for it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import col, select

from bot.model.outcome import INTENTS, Intent
from bot.model.slot import Slot
from bot.model.state import OutboxState
from bot.publish import Redactor, Speaker, write
from bot.store import Session, Store, open_store
from bot.store.tables import Attempt, Frame, Outbox, Run
from tests import rows
from tests.databases import DATABASES
from tests.github.fake import FakeClock

SECRET = "canary-of-the-tests"
SLOT = Slot("run/1", "anything", step="say", iteration=2)


class Desk:
    """A speaker, and a run with an attempt."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.speaker = Speaker(Redactor([SECRET]), FakeClock())
        self.run: Run | None = None
        self.attempt = ""

    async def begin(self) -> None:
        def work(session: Session) -> None:
            self.run = rows.run(session, guid="g")
            frame = Frame(run_id=self.run.id)
            session.add(frame)
            session.flush()
            made = Attempt(
                run_id=self.run.id, frame_id=frame.id, step="say", kind="notify", number=1, started_at=rows.NOW
            )
            session.add(made)
            session.flush()
            self.attempt = made.id

        await self.store.write(work)

    async def intend(self, kind: str, payload: dict[str, Any], name: str = "", **more: Any) -> list[Outbox]:
        def work(session: Session) -> list[Outbox]:
            assert self.run is not None
            intent = Intent(kind, payload, name)
            return list(
                self.speaker.intend(
                    session, rows.thread(session), SLOT, intent, run=self.run, attempt_id=self.attempt, **more
                )
            )

        return await write(self.store, work)

    async def rows(self) -> list[Outbox]:
        return await self.store.read(lambda session: list(session.exec(select(Outbox).order_by(col(Outbox.id)))))


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    store = open_store(DATABASES.of_folder(tmp_path))
    made = Desk(store)
    await made.begin()
    yield made
    await store.close()


async def test_one_row_an_intent(desk: Desk) -> None:
    """Action, payload as compact JSON, run, attempt and order."""
    (row,) = await desk.intend("labels", {"add": ["bug"], "remove": []})
    assert (row.action, row.body, row.purpose, row.state) == (
        "labels", '{"add":["bug"],"remove":[]}', "action", OutboxState.PENDING,
    )  # fmt: skip
    assert desk.run is not None
    assert (row.run_id, row.attempt_id, row.sequence) == (desk.run.id, desk.attempt, 1)
    assert Slot.parse(row.slot) == Slot("run/1", "labels", step="say", iteration=2)


async def test_the_same_again_is_the_same_row(desk: Desk) -> None:
    """Others of one step are told apart by kind and name."""
    first = await desk.intend("close", {"reason": None})
    assert (await desk.intend("close", {"reason": None}))[0].id == first[0].id
    await desk.intend("webhook", {"resource": "a", "body": 1}, "a")
    await desk.intend("webhook", {"resource": "b", "body": 1}, "b")
    await desk.intend("webhook", {"resource": "b", "body": 1}, "b|x y")
    purposes = [Slot.parse(row.slot).purpose for row in await desk.rows()]
    assert purposes[:3] == ["close", "webhook.a", "webhook.b"]
    assert len(purposes) == len(set(purposes)) == 4


@pytest.mark.parametrize("kind", [kind for kind in INTENTS if kind not in ("comment", "review", "pull_request")])
async def test_no_secret_is_in_any_row(desk: Desk, kind: str) -> None:
    (row,) = await desk.intend(kind, {"text": [f"it is {SECRET}"]})
    assert json.loads(row.body) == {"text": ["it is [redacted]"]}


async def test_a_comment_is_said_as_every_comment(desk: Desk) -> None:
    """Through the policy, in parts, in the order of the thread; each part belongs to the attempt."""
    (row,) = await desk.intend("comment", {"body": f"@ana and @sam: {SECRET}"}, mentions=["ana"])
    assert (row.action, row.purpose, row.body) == ("comment", "output", "@ana and `@sam`: [redacted]")
    assert (row.attempt_id, row.sequence, row.priority) == (desk.attempt, 1, 0)
    parts = await desk.intend("comment", {"body": "word\n" * 30_000}, "long", max_parts=2, rest="Elsewhere.")
    assert [Slot.parse(part.slot).part for part in parts] == [0, 1]
    assert {part.attempt_id for part in parts} == {desk.attempt}
    assert parts[-1].body.endswith("Elsewhere.")
    assert await desk.intend("comment", {"body": "<!-- nothing -->"}, "empty") == []


async def test_a_review_and_a_pull_request_pass_the_policy(desk: Desk) -> None:
    """Also where they are long, which is composed outside of the transaction."""
    comments = [{"path": "a.py", "line": 1, "body": f"@ana @sam {SECRET}", "fingerprint": "f"}]
    payload = {"head_sha": "c", "event": "COMMENT", "body": f"{'word ' * 2_000}{SECRET}", "comments": comments}
    (row,) = await desk.intend("review", payload, mentions=["ana"])
    body = json.loads(row.body)
    assert body["comments"][0]["body"] == "@ana `@sam` [redacted]"
    assert body["body"].endswith("[redacted]")
    proposal = {"head": "bot/1", "base": "main", "title": "@sam", "body": "@sam", "draft": False, "closes": 1}
    (row,) = await desk.intend("pull_request", proposal, every_mention=True)
    assert json.loads(row.body)["body"] == "@sam\n\nCloses #1"


async def test_a_pull_request_closes_this_thread_only(desk: Desk) -> None:
    """By its number, also with the repository's name."""
    payload = {
        "head": "bot/1",
        "base": "main",
        "title": "x",
        "body": "Fixes acme/widgets#1 and fixes #2",
        "draft": False,
    }
    (row,) = await desk.intend("pull_request", payload)
    assert json.loads(row.body)["body"] == "Fixes acme/widgets#1 and fixes `#2`"


async def test_an_unknown_kind_is_a_bug(desk: Desk) -> None:
    with pytest.raises(ValueError, match="no kind of intent"):
        await desk.intend("merge", {})
    assert await desk.rows() == []
