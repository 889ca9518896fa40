"""What the API says where it does not do what was asked: one shape, whoever refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field
from starlette.requests import ClientDisconnect

from bot.errors import Transient

#: bytes of a body
BODY_MAX = 1024 * 1024
#: seconds within which a body has to be there
BODY_SECONDS = 30.0


class FaultBody(BaseModel):
    """Why a request was refused."""

    code: str = Field(description="stable, for programs")
    message: str = Field(description="what is wrong")
    hint: str = Field("", description="what to do about it")


@dataclass(frozen=True, slots=True)
class Fault:
    """A refusal with its HTTP status."""

    status: int
    code: str
    message: str
    hint: str = ""

    def response(self) -> JSONResponse:
        """The answer. 401 names the scheme (RFC 9110, section 11.6.1)."""
        headers = {"www-authenticate": "Bearer"} if self.status == 401 else {}
        body = FaultBody(code=self.code, message=self.message, hint=self.hint)
        return JSONResponse(body.model_dump(), status_code=self.status, headers=headers)


class Refused(Exception):
    """Ends a request with a fault."""

    def __init__(self, status: int, code: str, message: str, hint: str = "") -> None:
        super().__init__(f"{code}: {message}")
        self.fault = Fault(status, code, message, hint)


class FaultRoute(APIRoute):
    """A route whose every refusal is a `Fault`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """See FastAPI."""
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except Refused as refused:
                return refused.fault.response()
            except RequestValidationError as error:
                reasons = "; ".join(f"`{'.'.join(map(str, one['loc']))}`: {one['msg']}" for one in error.errors())
                return Fault(422, "parameters", reasons, "See /docs.").response()
            except Transient:
                message = "the database refuses at the moment; nothing was done"
                return Fault(503, "unavailable", message, "Try again in a while.").response()

        return answer


def told(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The refusals of a route, for OpenAPI; those of `Access` and of the database are everywhere."""
    return {status: {"model": FaultBody, "description": _TOLD[status]} for status in (*statuses, 401, 421, 503)}


_TOLD = {
    400: "The body is not JSON",
    401: "The password is missing or wrong",
    403: "Not to be answered this way, or not from there",
    404: "There is none of that id",
    408: "The body did not arrive in time",
    409: "It was answered before, is not waited for any more, or asks about something else now",
    413: f"The body is larger than {BODY_MAX} bytes",
    415: "The body is not declared as application/json",
    421: "Without a password only a loopback Host is served",
    422: "It is not what is taken",
    503: "The database refuses, or GitHub does not show what an answer is bound to; nothing was done",
}


async def json_body(request: Request) -> bytes:
    """The body, at most `BODY_MAX` bytes of what is declared as JSON. A form of another site cannot declare that."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(415, "content_type", "the body has to be JSON", "Send `Content-Type: application/json`.")
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > BODY_MAX:
                    raise Refused(413, "too_large", f"the body is larger than {BODY_MAX:,} bytes", "Send less.")
    except (TimeoutError, ClientDisconnect):
        raise Refused(408, "body", f"the body did not arrive within {BODY_SECONDS:g} s", "Send it again.") from None
    return bytes(body)
