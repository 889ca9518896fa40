"""Check runs: what a run or a look at the configuration comes to, shown with the commit of a pull request.

A check is created once and changed afterwards; after an unsure creation it is looked for by its `external_id`, which is
the slot. Source: https://docs.github.com/en/rest/checks/runs
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Protocol

from bot.model.ident import compact, digest
from bot.model.pull import Annotation, CheckRun, CheckState, PullRequest
from bot.publish.performer import Act, Found, Made, Performer
from bot.store.tables import Thread


class CheckPort(Protocol):
    """The checks of one repository. Errors are those of `bot.errors`."""

    async def pull_request(self, number: int) -> PullRequest: ...

    async def create_check_run(
        self, head_sha: str, name: str, state: CheckState, *, external_id: str, started_at: datetime | None = None
    ) -> int: ...

    async def update_check_run(self, check_id: int, state: CheckState) -> None: ...

    async def own_check_runs(self, head_sha: str, name: str) -> tuple[CheckRun, ...]: ...


class Checks:
    """`port` gives the write side of a thread's repository."""

    def __init__(self, port: Callable[[Thread], CheckPort]) -> None:
        self._port = port

    @property
    def performers(self) -> Mapping[str, Performer]:
        """By action. A change is known by the check that it changes."""
        return {"check": Performer(self._tell, self._found, lambda act: act.row.posted_id is not None)}

    async def _tell(self, act: Act) -> Made:
        port, payload, row = self._port(act.thread), act.payload, act.row
        told = payload["annotations"]
        outcome = row.outcome or {}
        if row.posted_id is not None:
            # GitHub takes none back and adds what it is sent, the same one too
            known = outcome.get("annotated", ())
            told = [one for one in told if _identity(one) not in known]
        state = CheckState(
            payload["status"],
            payload["title"],
            payload["summary"],
            payload.get("conclusion"),
            payload.get("url") or "",
            tuple(Annotation(**one) for one in told),
        )
        if row.posted_id is not None:
            await port.update_check_run(row.posted_id, state)
            annotated = [*outcome.get("annotated", ()), *map(_identity, told)]
            return Made({**outcome, "annotated": annotated}, row.posted_id, row.url)
        head_sha = await self._head(act)
        made = await port.create_check_run(
            head_sha, payload["name"], state, external_id=row.slot, started_at=row.created_at
        )
        return Made({"id": made, "head_sha": head_sha, "annotated": list(map(_identity, told))}, made)

    async def _found(self, act: Act, _since: datetime) -> list[Found]:
        """Ours of the commit that is the head now; what a commit before it got is nobody's concern any more."""
        rows = await self._port(act.thread).own_check_runs(await self._head(act), act.payload["name"])
        told = list(map(_identity, act.payload["annotations"]))
        return [
            # what it says is not read: the wanted text is sent again as a change, without annotations that it has
            Found(Made({"id": row.id, "annotated": told[: row.annotations]}, row.id, row.url), intact=False)
            for row in sorted(rows, key=lambda row: row.id)
            if row.external_id == act.row.slot
        ]

    async def _head(self, act: Act) -> str:
        """The commit that it is about: the one that was looked at, or the pull request's head."""
        named = str(act.payload.get("head_sha") or "")
        return named or (await self._port(act.thread).pull_request(act.thread.number)).head_sha


def _identity(annotation: Mapping[str, Any]) -> str:
    """What tells an annotation from others, short."""
    return digest(compact(annotation))[:16]
