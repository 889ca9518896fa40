"""What `/healthz` and `/readyz` make of the parts they ask."""

from __future__ import annotations

import httpx
import pytest
from fastapi import FastAPI

from bot.web import health
from bot.web.health import Check


def says(fault: str | None) -> Check:
    """A part that is well, or is not."""

    async def check() -> str | None:
        return fault

    return check


async def ask(path: str, vital: dict[str, Check], outside: dict[str, Check]) -> httpx.Response:
    """One request."""
    app = FastAPI()
    app.include_router(health.router(vital, outside))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://bot.test") as client:
        return await client.get(path)


@pytest.mark.parametrize(
    ("database", "github", "code", "status"),
    [
        (None, None, 200, "ok"),
        (None, "away", 200, "degraded"),
        ("gone", None, 503, "unavailable"),
        ("gone", "away", 503, "unavailable"),
        ("", None, 503, "unavailable"),
    ],
)
async def test_ready(database: str | None, github: str | None, code: int, status: str) -> None:
    """Vital parts decide the code; every fault is told, an empty one too."""
    answer = await ask("/readyz", {"queue": says(None), "database": says(database)}, {"github": says(github)})
    faults = {name: fault for name, fault in (("database", database), ("github", github)) if fault is not None}
    assert (answer.status_code, answer.json()) == (code, {"status": status, "faults": faults})


async def test_alive() -> None:
    """No part is asked: a process with a broken database need not be restarted."""

    async def never() -> str | None:
        raise AssertionError("it was asked")

    answer = await ask("/healthz", {"database": never}, {"github": never})
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
