"""The REST API as an ASGI application: faults, authentication, rate limits, conditional requests, the request log."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from bot.demo.access import Seen
from bot.demo.faults import Fault, ReplyLost
from bot.demo.refusal import Refused, not_found
from bot.demo.rest.call import Call, Reply, Viewer, authenticate
from bot.demo.rest.routes import find
from bot.demo.shapes.common import JSON
from bot.demo.world import World

#: in how many pieces a body that trickles comes
_PIECES = 8
_BY_NUMBER = re.compile(r"/repositories/(\d+)(/.*)?")


class Rest:
    """Answers below `/api/v3` (the prefix is taken off before it gets here)."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._spent: dict[str, tuple[int, int]] = {}
        self._count = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        path = scope["raw_path"].decode().split("?")[0].removeprefix("/api/v3") or "/"
        # on GitHub Enterprise Server GraphQL is beside the REST API, not below it
        if path in {"/api/graphql", "/graphql"}:
            path = "/api/v3/graphql" if scope["path"].startswith("/api/v3/") else "/graphql"
        method, viewer = request.method, Viewer("anonymous", "anonymous")
        body = await request.body()
        fault = self._world.faults.take(method, path)
        if fault is not None:
            await self._wait(fault)
        try:
            if not request.headers.get("user-agent"):
                raise Refused(
                    403,
                    "Request forbidden by administrative rules. Please make sure your request has a User-Agent header",
                )
            if fault is not None and fault.status and not fault.performed:
                raise Refused(fault.status, fault.message, headers=dict(fault.headers))
            viewer = authenticate(self._world, request.headers.get("authorization"))
            self._check_limit(viewer, free=path == "/rate_limit")
            reply = await self._answer(request, path, viewer, body)
            if fault is not None and fault.status:
                raise Refused(fault.status, fault.message, headers=dict(fault.headers))
        except Refused as refused:
            reply = Reply(refused.body(), refused.status_code, dict(refused.headers or {}))
        response = self._response(request, reply)
        response.headers.update(self._counted(viewer, free=path == "/rate_limit" or response.status_code == 304))
        self._world.requests.append(
            Seen(
                method, path, request.url.query, response.status_code, viewer.kind, dict(viewer.permissions),
                viewer.repository_ids, request.headers.get("user-agent", ""),
            )
        )  # fmt: skip
        if fault is not None and fault.status == 0:
            raise ReplyLost(f"{method} {path}: the answer was lost")
        if fault is not None and fault.trickle:
            send = self._piecemeal(send, fault.trickle)
        await response(scope, receive, send)

    def _piecemeal(self, send: Send, seconds: float) -> Send:
        """Sends what it is given in eight pieces, spread over some seconds."""

        async def piecemeal(message: Message) -> None:
            body = message.get("body", b"")
            size = max(1, -(-len(body) // _PIECES))
            for start in range(0, len(body), size):
                await send({"type": "http.response.body", "body": body[start : start + size], "more_body": True})
                await self._world.clock.sleep(seconds / _PIECES)
            await send({**message, "body": b""} if body else message)

        return piecemeal

    async def _wait(self, fault: Fault) -> None:
        if fault.seconds:
            await self._world.clock.sleep(fault.seconds)
        if fault.until is not None:
            await fault.until.wait()

    async def _answer(self, request: Request, path: str, viewer: Viewer, body: bytes) -> Reply:
        if path == "/rate_limit" and request.method == "GET":
            return Reply(self._overview(viewer))
        if match := _BY_NUMBER.fullmatch(path):
            repo = self._world.repositories.get(int(match[1]))
            if repo is None:
                raise not_found()
            path = f"/repos/{repo.full_name}{match[2] or ''}"
        found = find(request.method, path)
        if found is None:
            raise not_found()
        endpoint, params = found
        return await endpoint(Call(self._world, request, path, params, viewer, body))

    def _limit(self, viewer: Viewer) -> tuple[int, int, int]:
        """Limit, used and the second of the reset."""
        limit = self._world.anonymous_rate_limit if viewer.kind == "anonymous" else self._world.rate_limit
        now = self._world.now()
        used, reset = self._spent.get(viewer.key, (0, 0))
        if now.timestamp() >= reset:
            used, reset = 0, int((now + timedelta(hours=1)).timestamp())
        return limit, used, reset

    def _check_limit(self, viewer: Viewer, *, free: bool) -> None:
        limit, used, _ = self._limit(viewer)
        if used >= limit and not free:
            raise Refused(403, "API rate limit exceeded. (Contact support if this persists.)")

    def _counted(self, viewer: Viewer, *, free: bool) -> dict[str, str]:
        """Count the request, unless it is one that costs nothing (a 304 does not), and say what is left."""
        limit, used, reset = self._limit(viewer)
        used = used if free else min(used + 1, limit)
        self._spent[viewer.key] = (used, reset)
        return {
            "X-RateLimit-Limit": str(limit),
            "X-RateLimit-Remaining": str(limit - used),
            "X-RateLimit-Used": str(used),
            "X-RateLimit-Reset": str(reset),
            "X-RateLimit-Resource": "core",
        }

    def _overview(self, viewer: Viewer) -> JSON:
        limit, used, reset = self._limit(viewer)
        core = {"limit": limit, "used": used, "remaining": limit - used, "reset": reset}
        search = {"limit": 30, "used": 0, "remaining": 30, "reset": reset}
        return {"resources": {"core": core, "search": search}, "rate": core}

    def _response(self, request: Request, reply: Reply) -> Response:
        self._count += 1
        raw = reply.raw
        if raw is None:
            raw = b"" if reply.status == 204 else _json(reply.data)
        headers = {
            "X-GitHub-Request-Id": f"{self._count:04X}:DE30:{id(reply) & 0xFFFFFF:X}",
            "X-GitHub-Media-Type": "github.v3; format=json",
            "X-GitHub-Api-Version-Selected": request.headers.get("x-github-api-version", "2022-11-28"),
            **reply.headers,
        }
        status = reply.status
        if request.method == "GET" and status == 200:
            tag = f'W/"{hashlib.sha256(reply.media.encode() + raw).hexdigest()}"'
            seen_by = "public" if request.headers.get("authorization") is None else "private"
            headers["ETag"] = tag
            headers["Cache-Control"] = f"{seen_by}, max-age=60, s-maxage=60"
            headers["Vary"] = "Accept, Authorization, Cookie, X-GitHub-OTP"
            asked = {one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")}
            if tag.removeprefix("W/") in asked:
                status, raw = 304, b""
        if raw:
            headers["Content-Type"] = reply.media
        return Response(raw, status, headers)


def _json(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
