"""Check runs: what a run or a look at the configuration comes to, shown with the commit of a pull request.

A check is created once and changed afterwards; after an unsure creation it is looked for by its `external_id`, which is
the slot. Source: https://docs.github.com/en/rest/checks/runs
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from bot.model.pull import Annotation, CheckRun, PullRequest
from bot.publish.performer import Act, Found, Made, Performer
from bot.store.tables import Thread


class CheckPort(Protocol):
    """The checks of one repository. Errors are those of `bot.errors`."""

    async def pull_request(self, number: int) -> PullRequest: ...

    async def create_check_run(
        self,
        head_sha: str,
        name: str,
        *,
        external_id: str,
        status: str,
        title: str,
        summary: str,
        details_url: str = "",
        started_at: datetime | None = None,
        conclusion: str | None = None,
        annotations: Sequence[Annotation] = (),
    ) -> int: ...

    async def update_check_run(
        self,
        check_id: int,
        *,
        status: str,
        title: str,
        summary: str,
        conclusion: str | None = None,
        annotations: Sequence[Annotation] = (),
    ) -> None: ...

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
        port, payload = self._port(act.thread), act.payload
        status, title, summary = (str(payload[key]) for key in ("status", "title", "summary"))
        conclusion = payload.get("conclusion")
        annotations = [Annotation(**one) for one in payload.get("annotations") or ()]
        if act.row.posted_id is not None:
            await port.update_check_run(
                act.row.posted_id,
                status=status,
                title=title,
                summary=summary,
                conclusion=conclusion,
                annotations=annotations,
            )
            return Made(act.row.outcome or {}, act.row.posted_id, act.row.url)
        head_sha = await self._head(act)
        made = await port.create_check_run(
            head_sha,
            str(payload["name"]),
            external_id=act.row.slot,
            status=status,
            title=title,
            summary=summary,
            conclusion=conclusion,
            details_url=str(payload.get("url") or ""),
            started_at=act.row.created_at,
            annotations=annotations,
        )
        return Made({"id": made, "head_sha": head_sha}, made)

    async def _found(self, act: Act, _since: datetime) -> list[Found]:
        """Ours of the commit that is the head now; what a commit before it got is nobody's concern any more."""
        rows = await self._port(act.thread).own_check_runs(await self._head(act), str(act.payload["name"]))
        return [
            # what it says is not read: the wanted text is sent again as a change
            Found(Made({"id": row.id}, row.id, row.url), intact=False)
            for row in sorted(rows, key=lambda row: row.id)
            if row.external_id == act.row.slot
        ]

    async def _head(self, act: Act) -> str:
        """The commit that it is about: the one that was looked at, or the pull request's head."""
        named = str(act.payload.get("head_sha") or "")
        return named or (await self._port(act.thread).pull_request(act.thread.number)).head_sha
