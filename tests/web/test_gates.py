"""The API of gates: what is listed, and who may answer what, once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from sqlmodel import col, select

from bot.model.outcome import Done, Wait
from bot.model.state import GateState, RunState
from bot.store import Session, Store, dispatches, gates
from bot.store.answering import show
from bot.store.tables import Gate, Thread
from bot.web import gates as routes
from bot.web.fault import BODY_MAX
from tests.engine.play import Play, open_gate
from tests.engine.scene import StillClock
from tests.rows import NOW, locked

#: from `NOW`
SEVEN_DAYS = "2026-11-10T12:00:00Z"
WHO = "who: {dashboard: true, role: maintain}"
APPROVE = f"- {{id: ok, ask: Fine?, show: It is., timeout: 1d, {WHO}}}"
FORM = f"""
- id: form
  ask: Some things
  questions:
    - {{id: size, question: "How big?", type: number}}
    - {{id: kind, question: Which?, type: enum, options: [a, b], required: false}}
  {WHO}
"""


class Api:
    """The routes on a real database, a run that waits, and a clock that a test moves."""

    def __init__(self, play: Play, clock: StillClock, client: httpx.AsyncClient, heads: list[str]) -> None:
        self.play, self.clock, self.client = play, clock, client
        #: where GitHub says that the branch is, the last one counts
        self.heads = heads

    async def is_about(self, head: str) -> None:
        """The newest gate is bound to a head."""
        gate_id = (await self.gate()).id

        def work(session: Session) -> None:
            session.get_one(Gate, gate_id).head_sha = head

        await self.play.case.store.write(work)

    async def gate(self) -> Gate:
        """The newest gate's row."""
        query = select(Gate).order_by(col(Gate.id).desc())
        gate = await self.play.case.store.read(lambda session: session.exec(query).first())
        assert gate is not None
        return gate

    async def answer(self, gate_id: str = "", **body: Any) -> tuple[int, dict[str, Any]]:
        """Post an answer to the newest gate, or to that of an id."""
        where = f"/api/gates/{gate_id or (await self.gate()).id}/answer"
        said = await self.client.post(where, json=body)
        return said.status_code, said.json()

    async def refused(self, **body: Any) -> tuple[int, str, str]:
        """The same, where it is refused: status, code and message. Nothing changes."""
        before = (await self.gate()).model_dump()
        status, said = await self.answer(**body)
        assert set(said) == {"code", "message", "hint"}
        assert (await self.gate()).model_dump() == before
        return status, said["code"], said["message"]


@asynccontextmanager
async def api(store: Store, steps: str = APPROVE, **script: Any) -> AsyncIterator[Api]:
    """An API and a run of `steps` that has come to its gate."""
    play = await (await Play.of(store, steps, script)).go()
    app, clock = FastAPI(), StillClock()
    heads: list[str] = []

    async def head_of(thread: Thread) -> str:
        return heads[-1]

    app.include_router(routes.router(store, clock, head_of))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        yield Api(play, clock, client, heads)


async def test_what_is_asked(store: Store) -> None:
    """One finds the gate by its state, with thread, question, options, who and until when."""
    async with api(store) as here:
        (shown,) = (await here.client.get("/api/gates", params={"state": "open"})).json()["items"]
        gate = await here.gate()
        assert shown == {
            "id": gate.id,
            "name": "r1.ok",
            "kind": "answer",
            "state": "open",
            "run_id": here.play.case.run_id,
            "thread": {"repository": "acme/widgets", "number": 1, "is_pull_request": False},
            "requester": "ana",
            "question": "Fine?",
            "show": "It is.",
            "digest": gate.digest,
            "head_sha": None,
            "options": ["approve", "reject"],
            "questions": [],
            "text": False,
            "who": {"role": "maintain", "logins": [], "not_requester": False, "dashboard": True},
            "on_timeout": None,
            "opened_at": "2026-11-03T12:00:00Z",
            "deadline": "2026-11-04T12:00:00Z",
            "answer": None,
        }
        assert (await here.client.get(f"/api/gates/{gate.id}")).json() == shown
        assert (await here.client.get("/api/gates", params={"state": "answered"})).json() == {"items": [], "next": None}


async def test_an_answer_is_recorded_and_the_run_goes_on(store: Store) -> None:
    """With who, how and when; what the step's result has is the answer alone."""
    async with api(store) as here:
        status, shown = await here.answer(answer="approve", text=" well done ")
        assert (status, shown["state"]) == (200, "answered")
        told = {"answer": "approve", "text": "well done", "by": "operator", "channel": "api"}
        assert shown["answer"] == {**told, "answers": None, "at": "2026-11-03T12:00:00Z"}
        assert (await here.gate()).answer == {**told, "at": NOW.isoformat()}
        run = await here.play.case.run()
        assert (run.state, run.front, run.not_before) == (RunState.QUEUED, 1, None)
        await here.play.claim()
        await here.play.go()
        assert here.play.end == "succeeded"
        assert await here.play.result("ok") == {"answer": "approve", "text": "well done", "by": "operator"}
        assert (await here.play.case.rows()).attempts[-1].output == "operator: **approve**\n\nwell done"


async def test_a_form(store: Store) -> None:
    """Values by id, of their types."""
    async with api(store, FORM) as here:
        (status, shown) = await here.answer(answers={"size": "7", "kind": None})
        assert (status, shown["answer"]["answers"], shown["answer"]["answer"]) == (200, {"size": 7}, None)


@pytest.mark.parametrize(
    ("steps", "body", "message"),
    [
        (APPROVE, {}, "there is no answer"),
        (APPROVE, {"text": "words"}, "there is no answer"),
        (APPROVE, {"answer": "perhaps"}, "`perhaps` is no option"),
        (APPROVE, {"answer": "approve", "answers": {"size": 1}}, "this gate asks no questions"),
        (APPROVE, {"answer": 7}, "`answer`: Input should be a valid string"),
        (APPROVE, {"anwser": "approve"}, "`anwser`: Extra inputs are not permitted"),
        (FORM, {"answers": {}}, "`size` needs an answer"),
        (FORM, {"answers": {"size": "big", "colour": "red"}}, "`colour` is no question; `size` takes a number"),
        (FORM, {"answers": {"size": [1]}}, "`answers.size`"),
        (FORM, {"answer": "approve", "answers": {"size": 1}}, "`approve` is no option"),
    ],
)
async def test_what_is_no_answer(store: Store, steps: str, body: dict[str, Any], message: str) -> None:
    """Every reason is told and the gate stays open."""
    async with api(store, steps) as here:
        status, code, said = await here.refused(**body)
        assert (status, code) == (422, "gate_answer")
        assert said.startswith(message)


async def test_only_where_the_gate_says_so(store: Store) -> None:
    """Otherwise people of the thread decide, and whoever runs the bot does not."""
    async with api(store, "- {id: ok, ask: Fine?}") as here:
        assert await here.refused(answer="approve") == (403, "not_allowed", "`r1.ok` takes no answer over the API")


async def test_the_second_of_two_answers_sees_the_first(store: Store) -> None:
    """At the same time: one wins, the other is told who answered what."""
    async with api(store) as here:
        both = await asyncio.gather(here.answer(answer="approve"), here.answer(answer="reject"))
        (won, shown), (lost, said) = sorted(both, key=lambda pair: pair[0])
        assert (won, lost, said["code"]) == (200, 409, "gate_settled")
        given = shown["answer"]["answer"]
        assert said["message"] == f"`r1.ok` was answered by `operator`: `{given}`"
        kept = (await here.gate()).answer
        assert kept is not None
        assert kept["answer"] == given
        assert await here.refused(answer=given) == (409, "gate_settled", said["message"])


OLD, NEW = "a" * 40, "b" * 40


async def test_about_what_was_read(store: Store) -> None:
    """Digest and head go back with the answer: another one of either counts for nothing."""
    async with api(store) as here:
        await here.is_about(OLD)
        here.heads.append(OLD)
        shown = (await here.client.get(f"/api/gates/{(await here.gate()).id}")).json()
        assert shown["head_sha"] == OLD
        moved = (409, "gate_moved")
        assert (await here.refused(answer="approve", head_sha=NEW))[:2] == moved
        assert (await here.refused(answer="approve", digest="0" * 64))[:2] == moved
        told = {key: shown[key] for key in ("digest", "head_sha")}
        assert (await here.answer(answer="approve", **told))[0] == 200


async def test_a_head_that_moved_since_it_was_read(store: Store) -> None:
    """Whether or not GitHub's event came: an answer that does not name the new head does not count; a no does."""
    async with api(store) as here:
        await here.is_about(OLD)
        here.heads.append(NEW)
        assert (await here.refused(answer="approve"))[:2] == (409, "gate_moved")
        gate_id = (await here.gate()).id
        await store.write(lambda session: show(session.get_one(Gate, gate_id), NEW))
        told = (409, "gate_moved", "the head has moved to bbbbbbb since it was asked")
        assert await here.refused(answer="approve") == told
        assert (await here.refused(answer="approve", head_sha=OLD))[:2] == (409, "gate_moved")
        assert (await here.answer(answer="approve", head_sha=NEW))[0] == 200


async def test_a_head_that_github_does_not_show(store: Store) -> None:
    """Nothing is bound to what nobody can see; a no is bound to nothing."""
    async with api(store) as here:
        await here.is_about(OLD)
        here.heads.append("")
        assert (await here.refused(answer="approve"))[:2] == (503, "gate_unread")
        assert (await here.answer(answer="reject"))[0] == 200


async def test_not_after_its_time(store: Store) -> None:
    """The time-out has won, also where the queue has not come to it yet."""
    async with api(store) as here:
        here.clock.advance(timedelta(days=1).total_seconds())
        assert await here.refused(answer="approve") == (409, "gate_settled", "`r1.ok` is out of time")
        await here.play.claim(after=86400)
        await here.play.go()
        assert await here.refused(answer="approve") == (409, "gate_settled", "`r1.ok` is out of time")


async def test_not_after_a_cancellation(store: Store) -> None:
    """Nothing is waited for in a run that has ended."""
    async with api(store) as here:
        run = await here.play.case.run()
        await store.write(lambda session: dispatches.cancel(session, run, "ana", NOW))
        told = "`r1.ok` is not asked any more: its run has ended"
        assert await here.refused(answer="approve") == (409, "gate_settled", told)


async def test_gates_of_other_kinds_are_nobodys_to_answer(store: Store) -> None:
    """What waits for an event or a time is not listed either."""
    async with api(store, "- {id: w, wait: {event: merged}}") as here:
        assert (await here.refused(answer="approve"))[:2] == (404, "not_found")
        assert (await here.client.get("/api/gates")).json()["items"] == []
        assert (await here.client.get(f"/api/gates/{(await here.gate()).id}")).status_code == 404
        assert (await here.answer("nonsense", answer="approve"))[0] == 404


async def test_approval_of_a_tool(store: Store) -> None:
    """Nobody is named, so whoever runs the bot may; the attempt goes on with the answer."""
    waits = [Wait("approval", kept=b"where it stopped"), Done("called")]
    async with api(store, "- {id: it, agent: writer, prompt: p}", it=waits) as here:
        shown = (await here.client.get(f"/api/gates/{(await here.gate()).id}")).json()
        assert (shown["kind"], shown["options"], shown["deadline"]) == ("approval", ["approve", "reject"], SEVEN_DAYS)
        assert (await here.answer(answer="reject", text="too dear"))[0] == 200
        await here.play.claim()
        await here.play.more()
        (begun,) = here.play.begun
        assert begun.gate is not None
        assert begun.gate.answer is not None
        assert (begun.gate.answer["answer"], begun.gate.answer["text"]) == ("reject", "too dear")


@pytest.mark.parametrize(
    ("kind", "body", "status", "code"),
    [
        ("text/plain", b'{"answer": "approve"}', 415, "content_type"),
        ("application/x-www-form-urlencoded", b"answer=approve", 415, "content_type"),
        ("", b'{"answer": "approve"}', 415, "content_type"),
        ("application/json", b"", 400, "not_json"),
        ("application/json", b'{"answer": "approve"', 400, "not_json"),
        ("application/json", b'{"answer": "\xff"}', 400, "not_json"),
        ("application/json", b'{"answer": "\\ud800"}', 400, "not_json"),
        ("application/json", b"[" * 100_000, 400, "not_json"),
        ("application/json", b'["approve"]', 422, "gate_answer"),
        ("application/json", b" " * (BODY_MAX + 1), 413, "too_large"),
    ],
)
async def test_bodies(store: Store, kind: str, body: bytes, status: int, code: str) -> None:
    """JSON that is declared as such, of a bounded size."""
    async with api(store) as here:
        headers = {"content-type": kind} if kind else {}
        where = f"/api/gates/{(await here.gate()).id}/answer"
        said = await here.client.post(where, content=body, headers=headers)
        assert (said.status_code, said.json()["code"]) == (status, code)
        good = await here.client.post(
            where, content=b'{"answer": "approve"}', headers={"content-type": "Application/JSON; charset=utf-8"}
        )
        assert good.status_code == 200


@pytest.mark.parametrize("query", ["state=shut", "limit=0", "limit=201", "after=" + "x" * 27])
async def test_odd_questions(store: Store, query: str) -> None:
    """Named, in the shape of every refusal."""
    async with api(store) as here:
        said = await here.client.get(f"/api/gates?{query}")
        assert (said.status_code, said.json()["code"]) == (422, "parameters")
        assert query.partition("=")[0] in said.json()["message"]


async def test_pages(store: Store) -> None:
    """Newest first, each gate on one page; after the last full one comes none."""
    fan = ", ".join(f"b{n}: [{{id: a{n}, ask: Fine?}}]" for n in range(4))
    async with api(store, f"- {{id: fan, parallel: {{branches: {{{fan}}}}}}}") as here:
        found: list[str] = []
        after: dict[str, str] = {}
        for size in (2, 2):
            page = (await here.client.get("/api/gates", params={"limit": "2", **after})).json()
            assert len(page["items"]) == size
            found += [one["id"] for one in page["items"]]
            after = {"after": page["next"]}
        assert page["next"] is None
        rows = await store.read(lambda session: gates.listed(session, GateState.OPEN))
        assert found == sorted((one.gate.id for one in rows), reverse=True)


async def test_a_database_that_refuses(store: Store) -> None:
    """503 in the shape of every refusal; the gate stays open."""
    async with api(store) as here:
        async with locked(store):
            assert (await here.answer(answer="approve"))[0] == 503
        assert open_gate(await here.play.case.rows()).state is GateState.OPEN
        assert (await here.answer(answer="approve"))[0] == 200


async def test_the_documentation_is_true(store: Store) -> None:
    """OpenAPI names the body and every refusal that a test here has met."""
    async with api(store) as here:
        found = (await here.client.get("/openapi.json")).json()
        post = found["paths"]["/api/gates/{gate_id}/answer"]["post"]
        assert set(post["responses"]) >= {"200", "400", "401", "403", "404", "408", "409", "413", "415", "422", "503"}
        for status, response in post["responses"].items():
            name = response["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
            assert name == ("GateView" if status == "200" else "FaultBody")
        body = post["requestBody"]["content"]["application/json"]["schema"]
        assert set(body["properties"]) == {"answer", "text", "answers", "digest", "head_sha"}
        assert "HTTPValidationError" not in found["components"]["schemas"]
