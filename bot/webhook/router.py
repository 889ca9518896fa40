"""`POST /webhook`: signature, disk, answer."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from bot import log
from bot.errors import Transient
from bot.model.delivery import NewDelivery
from bot.model.event import HANDLED
from bot.webhook import body as stream
from bot.webhook import payload as json_body
from bot.webhook.entry import admit
from bot.webhook.inbox import Inbox
from bot.webhook.signature import usable, verify, well_formed

PATH = "/webhook"
_GUID = re.compile(r"[A-Za-z0-9._:-]{1,100}")
_EVENT = re.compile(r"[a-z0-9_]{1,64}")
_SIGNATURE = b"x-hub-signature-256"
#: seconds after which a sender may try again; bodies under way are gone by then
RETRY_AFTER = 30
_ONCE = (b"x-github-delivery", b"x-github-event")


def door(
    inbox: Inbox,
    *,
    secrets: Sequence[bytes],
    app_id: int,
    handled: Mapping[str, Collection[str]] = HANDLED,
    limit: int = stream.LIMIT,
    timeout: float = stream.TIMEOUT,
) -> Door:
    """What answers `POST /webhook` for one GitHub App.

    `secrets` are all that are valid at the moment (several while one rotates); `handled` are the events, and their
    actions, that are kept; `limit` is in bytes, `timeout` in seconds. Raises `OperatorError` where a secret is missing
    or empty.
    """
    return Door(inbox, usable(secrets), app_id, handled, limit, timeout)


def route(door: Door) -> APIRouter:
    """The route `POST /webhook` with this door behind it."""

    class Route(APIRoute):
        """Answers without FastAPI's request machinery, which costs more than everything that is done here."""

        async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
            await door(scope, receive, send)

    async def webhook() -> None:
        """Take one delivery from GitHub: 202 means that it is on disk."""

    out = APIRouter()
    out.routes.append(Route(PATH, webhook, methods=["POST"], status_code=202, **_OPENAPI))
    return out


class Front:
    """An application with a door in front: deliveries pass no middleware and no routing, which cost as much as it."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app, self._door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        mine = scope["type"] == "http" and scope["path"] == PATH and scope["method"] == "POST"
        await (self._door if mine else self._app)(scope, receive, send)


class Door:
    """What is decided about one request, and its answer. Made by `door`."""

    def __init__(
        self,
        inbox: Inbox,
        secrets: tuple[bytes, ...],
        app_id: int,
        handled: Mapping[str, Collection[str]],
        limit: int,
        timeout: float,
    ) -> None:
        self._inbox = inbox
        self._secrets = secrets
        self._app_id = app_id
        self._handled = handled
        self._limit = limit
        self._budget = stream.Budget(timeout=timeout)
        self._log = log.get("webhook")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["method"] == "POST":
            status, answer = await self.answer(scope["headers"], receive)
            extra = [(b"retry-after", b"%d" % RETRY_AFTER)] if status == 503 else []
        else:
            status, answer, extra = 405, _refusal("send a POST"), [(b"allow", b"POST")]
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(answer)), *extra]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    async def answer(self, raw_headers: Sequence[tuple[bytes, bytes]], receive: Receive) -> tuple[int, bytes]:
        """Status and JSON for a request. Nothing about the request is told before its signature was found right."""
        headers = dict(raw_headers)
        if not stream.says_too_much(headers.get(b"content-length"), self._limit) and not (
            well_formed(headers.get(_SIGNATURE)) and _is_single(_SIGNATURE, headers, raw_headers)
        ):
            # unread: nobody need hold a body that no secret can have signed
            length = headers.get(b"content-length", b"")
            self._log.warning("signature_refused", size=int(length[:20]) if length.isdigit() else None)
            return 401, _refusal("the signature is missing or wrong")
        with self._budget.hold() as held:
            return await self._read(headers, receive, held)

    async def _read(
        self,
        headers: dict[bytes, bytes],
        receive: Receive,
        held: stream.Held,
    ) -> tuple[int, bytes]:
        length = headers.get(b"content-length")
        try:
            raw = await stream.read(receive, length, limit=self._limit, held=held)
        except stream.Busy:
            return 503, _refusal("too many large bodies are under way")
        except stream.TooLarge:
            return 413, _refusal(f"the body is larger than {self._limit} bytes")
        except stream.Gone:
            return 408, _refusal("the body did not arrive in time")
        if not verify(self._secrets, raw, headers.get(_SIGNATURE)):
            self._log.warning("signature_refused", size=len(raw))
            return 401, _refusal("the signature is missing or wrong")
        guid, event = (headers.get(name, b"").decode("latin-1") for name in _ONCE)
        if not _GUID.fullmatch(guid) or not _EVENT.fullmatch(event):
            return 400, _refusal("X-GitHub-Delivery or X-GitHub-Event is missing or malformed")
        try:
            delivery = self._understood(raw, headers, guid, event)
        except json_body.Unreadable as error:
            return 400, _refusal(str(error))
        if delivery is None:
            return 202, _status(guid, "ignored")
        try:
            status = await self._inbox.take(delivery)
        except Exception as error:  # noqa: BLE001  # whatever the store died of, nothing was accepted: the sender must know
            # of a database that refuses the reason says all
            known = isinstance(error, Transient)
            self._log.error("delivery_not_stored", delivery=guid, reason=str(error), exc_info=not known)
            return 503, _refusal("the delivery could not be stored")
        return 202, _status(guid, status)

    def _understood(
        self,
        raw: bytes,
        headers: Mapping[bytes, bytes],
        guid: str,
        event: str,
    ) -> NewDelivery | None:
        """What is kept of a signed body, None if nothing. Raises `Unreadable`.

        The parsed payload, which may take many times the room of its text, is gone when this returns.
        """
        text = json_body.unwrap(raw, headers.get(b"content-type", b""))
        payload = json_body.parse(text)
        # of the others none is kept
        kept = {
            name.decode("latin-1"): value.decode("latin-1")
            for name, value in headers.items()
            if name.startswith(b"x-github-")
        }
        return admit(payload, text, guid=guid, event=event, headers=kept, app_id=self._app_id, handled=self._handled)


def _is_single(name: bytes, headers: Mapping[bytes, bytes], raw_headers: Sequence[tuple[bytes, bytes]]) -> bool:
    return len(headers) == len(raw_headers) or sum(key == name for key, _ in raw_headers) == 1


def _status(guid: str, status: str) -> bytes:
    # a GUID has no character that JSON would escape
    return f'{{"delivery":"{guid}","status":"{status}"}}'.encode()


def _refusal(reason: str) -> bytes:
    return json.dumps({"detail": reason}).encode()


def _answer(description: str, example: dict[str, str]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"example": example}}}


def _header(name: str, description: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": True, "description": description, "schema": {"type": "string"}}


_OPENAPI: dict[str, Any] = {
    "name": "webhook",
    "tags": ["webhook"],
    "summary": "Take one delivery from GitHub",
    "response_description": "On disk, known already, or of no interest",
    "responses": {
        202: {
            "content": {
                "application/json": {
                    "schema": {
                        "type": "object",
                        "required": ["delivery", "status"],
                        "properties": {
                            "delivery": {"type": "string"},
                            "status": {"enum": ["accepted", "duplicate", "ignored"]},
                        },
                    }
                }
            }
        },
        400: _answer("Signed, but nothing that GitHub sends", {"detail": "the body is not JSON"}),
        401: _answer("The signature is missing or wrong", {"detail": "the signature is missing or wrong"}),
        408: _answer("The body did not arrive in time", {"detail": "the body did not arrive in time"}),
        413: _answer("The body is larger than 25 MB", {"detail": "the body is larger than 26214400 bytes"}),
        503: _answer(
            "The disk refuses, or too many large bodies are under way; nothing was accepted",
            {"detail": "the delivery could not be stored"},
        ),
    },
    "openapi_extra": {
        "parameters": [
            _header("X-Hub-Signature-256", "`sha256=` and the HMAC of the raw body"),
            _header("X-GitHub-Delivery", "the delivery's GUID"),
            _header("X-GitHub-Event", "the event's name"),
        ],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {"schema": {"type": "object"}},
                "application/x-www-form-urlencoded": {
                    "schema": {
                        "type": "object",
                        "required": ["payload"],
                        "properties": {"payload": {"type": "string"}},
                    }
                },
            },
        },
    },
}
