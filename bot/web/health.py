"""`/healthz` says that the process lives, `/readyz` that it can take and do work.

However many ask, the parts are looked at once at a time and at most once a second, and nobody waits longer than some
seconds: a flood of probes, or a disk that hangs, must not take down what it asks after. What was well is looked at
sooner where something was refused since: nobody who heard a 503 at the front door is told right after it that all is
well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from bot.errors import Transient

#: name of a part → what is wrong with it, None if nothing is
Check = Callable[[], Awaitable[str | None]]

#: how often something that is vital was refused to somebody, so far
Refused = Callable[[], int]

#: seconds for which an answer is told again
BELIEVED = 1.0
#: seconds after which a part that does not answer is at fault
LIMIT = 6.0

#: the part that others ask, too
BASE = "database"

#: what can be done about a part
MENDS: Mapping[str, str] = {
    "database": "look at its disk and server; all goes on by itself once it answers",
    "schema": "stop the processes of other versions, then start again",
    "loops": "the log says why; start it again",
    "duties": "start a process that works: `threadsmith serve` or `threadsmith worker`",
    "queue": "the log says what it waits for; start it again",
    "github": "all goes on by itself once it answers; https://www.githubstatus.com may say more",
    "limits": "nothing to do: what waits goes on when the limit is over",
    "stuck": "`threadsmith doctor` tells more",
    "beside": "the log says why; it is tried again by itself",
}


class Unasked(str):
    """A fault of a part that could not be looked at."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one look found. `at` is when it ended, `refused` what had been refused when it began."""

    at: float
    refused: int
    status: int
    body: dict[str, Any]

    def holds(self, refused: int) -> bool:
        """Whether nothing that was refused since speaks against it."""
        return self.status != 200 or self.refused >= refused


class Look:
    """Looks at every part, for all who ask. `vital` ones decide between 200 and 503."""

    def __init__(
        self,
        vital: Mapping[str, Check],
        outside: Mapping[str, Check],
        *,
        refused: Refused = lambda: 0,
        limit: float = LIMIT,
    ) -> None:
        self._vital, self._outside, self._refused, self._limit = dict(vital), dict(outside), refused, limit
        self._looking: asyncio.Task[_Seen] | None = None
        self._known: _Seen | None = None

    async def answer(self) -> tuple[int, dict[str, Any]]:
        """Status and body."""
        now, refused = asyncio.get_running_loop().time(), self._refused()
        seen = self._known
        if seen is None or now - seen.at >= BELIEVED or not seen.holds(refused):
            seen = await self._looked()
            if not seen.holds(refused):
                # it had begun before what the asker knows of
                seen = await self._looked()
        return seen.status, seen.body

    async def _looked(self) -> _Seen:
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look(), name="readiness")
        # shielded: who asked may be gone before the answer is there, and others wait for it
        return await asyncio.shield(self._looking)

    async def _look(self) -> _Seen:
        refused = self._refused()
        parts = {**self._vital, **self._outside}
        found = dict(zip(parts, await asyncio.gather(*(self._one(check) for check in parts.values())), strict=True))
        if found.get(BASE) is not None:
            # what could not be asked of it is no fault of theirs, and what would mend theirs would not help
            found = {name: fault for name, fault in found.items() if name == BASE or not isinstance(fault, Unasked)}
        faults = {name: str(fault) for name, fault in found.items() if fault is not None}
        broken = bool(faults.keys() & self._vital.keys())
        status = "unavailable" if broken else "degraded" if faults else "ok"
        mends = {name: MENDS[name] for name in faults if name in MENDS}
        told = {"status": status, "faults": faults, "mends": mends}
        self._known = _Seen(asyncio.get_running_loop().time(), refused, 503 if broken else 200, told)
        return self._known

    async def _one(self, check: Check) -> str | None:
        try:
            async with asyncio.timeout(self._limit):
                return await check()
        except TimeoutError:
            return Unasked(f"it did not answer within {self._limit:g} s")
        except Transient as error:
            return Unasked(error)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is what is asked for
            return f"{type(error).__name__}: {error}"


def router(vital: Mapping[str, Check], outside: Mapping[str, Check], *, refused: Refused = lambda: 0) -> APIRouter:
    """`vital` parts decide between 200 and 503; `outside` ones (GitHub) only report `degraded`, so intake goes on."""
    routes = APIRouter(tags=["health"])
    look = Look(vital, outside, refused=refused)

    @routes.get("/healthz")
    async def healthz() -> dict[str, str]:
        """The process answers."""
        return {"status": "ok"}

    @routes.get("/readyz", responses={503: {"description": "a vital part does not work"}})
    async def readyz() -> JSONResponse:
        """Database, loops, duties and queue work; GitHub's state and stuck work are told and do not count."""
        status, body = await look.answer()
        return JSONResponse(body, status_code=status)

    return routes
