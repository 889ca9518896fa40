"""`/healthz` says that the process lives, `/readyz` that it can take and do work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

#: name of a part → what is wrong with it, None if nothing is
Check = Callable[[], Awaitable[str | None]]


def router(vital: dict[str, Check], outside: dict[str, Check]) -> APIRouter:
    """`vital` parts decide between 200 and 503; `outside` ones (GitHub) only report `degraded`, so intake goes on."""
    routes = APIRouter(tags=["health"])

    @routes.get("/healthz")
    async def healthz() -> dict[str, str]:
        """The process answers."""
        return {"status": "ok"}

    @routes.get("/readyz", responses={503: {"description": "a vital part does not work"}})
    async def readyz() -> JSONResponse:
        """Database and queue work; GitHub's state is told and does not count."""
        broken = {name: fault for name, check in vital.items() if (fault := await check()) is not None}
        worse = {name: fault for name, check in outside.items() if (fault := await check()) is not None}
        status = "unavailable" if broken else "degraded" if worse else "ok"
        answer: dict[str, Any] = {"status": status, "faults": broken | worse}
        return JSONResponse(answer, status_code=503 if broken else 200)

    return routes
