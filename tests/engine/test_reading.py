"""The thread of a run: read once, kept, the same for every step and after a crash."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.engine import Desk
from bot.model.outcome import Done, Failed, Faulted
from bot.model.slot import Slot
from bot.model.state import RunState
from bot.publish import Marker
from bot.store import Session, Store, outbox
from tests.engine.scene import open_room
from tests.engine.talk import REPO, newest, reads, said, text, thread
from tests.github.fake import answer
from tests.rows import REPOSITORY


async def test_the_thread_is_read_once_a_run(store: Store, tmp_path: Path) -> None:
    """The second step sees the same, whatever was said meanwhile; so does another process after a crash."""
    async with open_room(store, tmp_path, text()) as room:
        thread(room, said(401, "said before"))
        terms = await room.terms()
        begun = await room.case.begin()
        outcome = (await room.desk.perform(begun, terms)).outcome
        assert isinstance(outcome, Done)
        count = reads(room)
        assert 0 < count <= 3
        thread(room, said(401, "changed meanwhile"), said(402, "and more"))
        second = await room.case.record(begun, outcome)
        assert second is not None
        assert second.rows.run.thread_blob is not None
        again = Desk(replace(room.tools))
        assert isinstance((await again.perform(second, terms)).outcome, Done)
        assert reads(room) == count
        prompt, _ = await newest(room)
        assert "said before" in prompt
        assert "meanwhile" not in prompt


async def test_what_was_read_in_this_very_attempt_is_kept_in_its_rows(store: Store, tmp_path: Path) -> None:
    """Should a step ask twice within one attempt, it reads once."""
    async with open_room(store, tmp_path, text()) as room:
        thread(room)
        terms = await room.terms()
        begun = await room.case.begin()
        await room.desk.perform(begun, terms)
        count = reads(room)
        await room.desk.perform(begun, terms)
        assert reads(room) == count


async def test_our_own_comments_are_known_by_author_and_marker(store: Store, tmp_path: Path) -> None:
    """An answer of ours is part of the talk, a status is not; a person's copy of a marker stays a person's words."""
    marker = Marker([b"a key of the tests"])

    def signed(body: str, purpose: str) -> str:
        return marker.sign(body, repository_id=REPOSITORY.id, thread=1, slot=Slot("run/x", purpose))

    async with open_room(store, tmp_path, text()) as room:
        ours: dict[str, Any] = {"login": "bot[bot]", "user": 70, "performed_via_github_app": {"id": 42}}
        thread(
            room,
            said(401, signed("an answer of ours", "result"), **ours),
            said(402, signed("a word of help", "command"), **ours),
            said(403, signed("words of a copyist", "command")),
            said(404, "what was known by its number", **ours),
            said(405, "what nobody knows", **ours),
        )

        def posted(session: Session) -> None:
            row = outbox.ensure(
                session,
                Slot("run/y", "result"),
                thread_id=thread_id,
                action="comment",
                purpose="result",
                body="b",
                now=room.tools.clock.now(),
            )
            row.posted_id = 404
            session.add(row)

        thread_id = (await room.case.rows()).thread.id
        await store.write(posted)
        assert isinstance(await room.perform(), Done)
        prompt, _ = await newest(room)
        seen = ("an answer of ours", "a word of help", "words of a copyist", "what was known", "what nobody knows")
        assert [words in prompt for words in seen] == [True, False, True, True, False]


@pytest.mark.parametrize(
    ("response", "expected"),
    [(answer({}, 404), Failed), (answer({}, 502, retry_after="60"), Faulted)],
)
async def test_a_thread_that_cannot_be_read(store: Store, tmp_path: Path, response: Any, expected: type) -> None:
    """Gone: the step fails with the reason. A fault that passes: it may be tried again, and reads anew."""
    async with open_room(store, tmp_path, text()) as room:
        thread(room)
        room.server.on("GET", f"{REPO}/issues/1", response)
        outcome = await room.perform()
        assert isinstance(outcome, expected)
        assert (await room.case.run()).thread_blob is None
        assert (await room.case.run()).state is RunState.RUNNING
