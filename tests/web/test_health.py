"""What `/healthz` and `/readyz` make of the parts they ask."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from fastapi import FastAPI

from bot.errors import Transient
from bot.web import health
from bot.web.health import MENDS, Check, Look


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
    told = answer.json()
    assert (answer.status_code, told["status"], told["faults"]) == (code, status, faults)
    assert told["mends"] == {name: MENDS[name] for name in faults}


async def test_alive() -> None:
    """No part is asked: a process with a broken database need not be restarted."""

    async def never() -> str | None:
        raise AssertionError("it was asked")

    answer = await ask("/healthz", {"database": never}, {"github": never})
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


async def test_a_thousand_probes_are_one_look() -> None:
    """And so are those of the next second, whatever became of who asked first."""
    looks, gate = [], asyncio.Event()

    async def slow() -> str | None:
        looks.append(1)
        await gate.wait()
        return None

    look = Look({"database": slow}, {})
    first = asyncio.create_task(look.answer())
    others = [asyncio.create_task(look.answer()) for _ in range(1_000)]
    while not looks:
        await asyncio.sleep(0)
    first.cancel()
    gate.set()
    answers = await asyncio.gather(*others)
    assert {status for status, _ in answers} == {200}
    await look.answer()
    assert looks == [1]


async def test_what_was_refused_since_is_looked_at() -> None:
    """All was well a moment ago; a door that refused somebody meanwhile is not told about as if it had not."""
    looks: list[int] = []
    refusals = [0]

    async def counts() -> str | None:
        looks.append(1)
        return "full" if refusals[0] else None

    look = Look({"database": counts}, {}, refused=lambda: refusals[0])
    assert [(await look.answer())[0] for _ in range(3)] == [200] * 3
    assert len(looks) == 1
    refusals[0] += 1
    assert (await look.answer())[0] == 503
    # what is at fault is believed for its second, however often it refuses
    refusals[0] += 1
    assert (await look.answer())[0] == 503
    assert len(looks) == 2


async def test_a_look_that_began_before_the_refusal_tells_nobody_who_asks_after_it() -> None:
    """It is waited for, and all who came too late for it share the next one."""
    looks: list[asyncio.Event] = []
    refusals = [0]

    async def counts() -> str | None:
        fault = "full" if refusals[0] else None
        looks.append(asyncio.Event())
        await looks[-1].wait()
        return fault

    look = Look({"database": counts}, {}, refused=lambda: refusals[0])
    early = asyncio.create_task(look.answer())
    while not looks:
        await asyncio.sleep(0)
    refusals[0] += 1
    late = [asyncio.create_task(look.answer()) for _ in range(10)]
    await asyncio.sleep(0)
    looks[0].set()
    assert (await early)[0] == 200
    async with asyncio.timeout(5):
        while len(looks) < 2:
            await asyncio.sleep(0)
    looks[1].set()
    assert {status for status, _ in await asyncio.gather(*late)} == {503}
    assert len(looks) == 2


async def test_a_part_that_hangs_is_at_fault_in_time() -> None:
    """The others are told all the same."""

    async def hangs() -> str | None:
        await asyncio.Event().wait()
        return None

    status, body = await Look({"database": hangs, "loops": says("stopped")}, {}, limit=0.02).answer()
    assert (status, body["faults"]) == (503, {"database": "it did not answer within 0.02 s", "loops": "stopped"})


async def test_a_part_that_breaks_is_told() -> None:
    """By its kind, and it decides as its place does."""

    async def breaks() -> str | None:
        raise RuntimeError("no table")

    status, body = await Look({}, {"stuck": breaks}).answer()
    assert (status, body["status"], body["faults"]) == (200, "degraded", {"stuck": "RuntimeError: no table"})


async def test_what_a_database_that_is_away_cannot_be_asked_is_no_fault_of_others() -> None:
    """Else an operator would be told to mend six parts; what is wrong beside it is told."""

    async def refuses() -> str | None:
        raise Transient("the database refuses: no connection")

    parts = {"database": refuses, "schema": refuses, "loops": says("stopped")}
    _, body = await Look(parts, {"stuck": refuses, "github": says("away")}).answer()
    refused = "the database refuses: no connection"
    assert body["faults"] == {"database": refused, "loops": "stopped", "github": "away"}
    _, body = await Look({"database": says(None), "schema": refuses}, {}).answer()
    assert body["faults"] == {"schema": refused}
