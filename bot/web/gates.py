"""`/api/gates`: what runs ask people, and the operator's answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import ValidationError

from bot import log
from bot.errors import UserError
from bot.model.clock import Clock
from bot.model.state import GateState
from bot.store import Session, Store, gates
from bot.store.answering import OPERATOR, Answering, Seen, answer
from bot.store.tables import Thread
from bot.web.fault import FaultRoute, Refused, json_body, told
from bot.web.gate_view import AnswerBody, GatePage, GateView

_log = log.get("web")

#: what an answer that does not count is told with
_STATUS = {"not_allowed": 403, "gate_settled": 409, "gate_moved": 409, "gate_unread": 503}
#: gates of a page
PAGE = 50


#: the head of a gate's pull request now, empty where GitHub does not show it
HeadOf = Callable[[Thread], Awaitable[str]]


def router(store: Store, clock: Clock, head_of: HeadOf) -> APIRouter:
    """The routes. They believe everybody who reaches them (see `bot.web.access`). `head_of` asks GitHub."""
    routes = APIRouter(prefix="/api/gates", tags=["gates"], route_class=FaultRoute)

    @routes.get("", responses=told(403, 422))
    async def list_gates(
        state: Annotated[GateState | None, Query(description="only those in this state")] = None,
        after: Annotated[str | None, Query(max_length=26, description="`next` of the page before")] = None,
        limit: Annotated[int, Query(ge=1, le=200)] = PAGE,
    ) -> GatePage:
        """What runs ask people, newest first."""
        found = await store.read(lambda session: gates.listed(session, state, before=after, limit=limit + 1))
        shown = found[:limit]
        return GatePage(
            items=[GateView.of(one) for one in shown], next=shown[-1].gate.id if len(found) > limit else None
        )

    @routes.get("/{gate_id}", responses=told(403, 404, 422))
    async def get_gate(gate_id: str) -> GateView:
        """One gate."""
        return GateView.of(await store.read(lambda session: _found(session, gate_id)))

    @routes.post(
        "/{gate_id}/answer",
        responses=told(400, 403, 404, 408, 409, 413, 415, 422),
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": AnswerBody.model_json_schema()}},
            }
        },
    )
    async def answer_gate(gate_id: str, request: Request) -> GateView:
        """Answer an open gate, once; its run goes on. Taken only where the gate says `who: {dashboard: true}`."""
        given = _read(await json_body(request))
        asked = await store.read(lambda session: _found(session, gate_id))
        bound = asked.gate.head_sha is not None and asked.gate.state is GateState.OPEN
        head = await head_of(asked.thread) if bound else None
        answered = await store.write(lambda session: _answer(session, gate_id, given, head, clock.now()))
        _log.info("gate_answered", gate=gate_id, name=answered.name, by=OPERATOR)
        return GateView.of(answered)

    return routes


def _read(body: bytes) -> dict[str, Any]:
    try:
        return AnswerBody.model_validate_json(body).model_dump()
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        if any(fault["type"] == "json_invalid" for fault in faults):
            raise Refused(400, "not_json", "the body is not JSON", "Send an object, as /docs shows.") from None
        reasons = dict.fromkeys(f"`{'.'.join(map(str, fault['loc'][:2]))}`: {fault['msg']}" for fault in faults)
        raise Refused(422, "gate_answer", "; ".join(reasons), "See /docs for what an answer has.") from None


def _found(session: Session, gate_id: str) -> gates.Asked:
    asked = gates.get(session, gate_id)
    if asked is None:
        raise Refused(404, "not_found", "there is no gate of this id", "GET /api/gates lists them.")
    return asked


def _answer(session: Session, gate_id: str, given: dict[str, Any], head: str | None, now: datetime) -> gates.Asked:
    """Look and record in one transaction: of two answers at once the second sees the first."""
    asked = _found(session, gate_id)
    seen = Seen(given.pop("digest"), given.pop("head_sha"))
    try:
        answer(session, asked, given, Answering(None, "api", head, seen=seen), now)
    except UserError as error:
        raise Refused(_STATUS.get(error.code, 422), error.code, error.message, error.hint) from None
    return asked
