"""Check runs made and changed by the App.

Source: https://docs.github.com/en/rest/checks/runs
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from bot.errors import BotError, Unsure
from bot.github import parse_pull
from bot.github.channel import Channel, read, rows
from bot.github.tokens import Purpose
from bot.model.pull import Annotation, CheckRun, CheckState

#: GitHub takes no more annotations than this at once; further ones are added by updates
MOST_ANNOTATIONS = 50
#: pages of a hundred: more runs of one name than one commit has
_MOST_PAGES = 3


class CheckWrites:
    """The part of `RepositoryClient` that shows results as check runs; the same errors. No write is repeated.

    Asks for `checks: write`, which an installation may not have granted: then `Forbidden` names it.
    """

    _channel: Channel

    async def create_check_run(
        self, head_sha: str, name: str, state: CheckState, *, external_id: str, started_at: datetime | None = None
    ) -> int:
        """A new check run of a commit; returns its number.

        More than fifty annotations take further requests, and where one of those fails it is `Unsure` too: the check
        was made, and `own_check_runs` tells how many it has.
        """
        json = _fields(state) | {"name": name, "head_sha": head_sha, "external_id": external_id}
        if started_at is not None:
            json["started_at"] = f"{started_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        response = await self._channel.write(
            "POST", "/check-runs", kind="create_check", json=json, purpose=Purpose.POST_CHECKS
        )
        made = read(response, parse_pull.check_run)
        try:
            await self._annotate(made.id, state)
        except BotError as error:
            raise Unsure(f"the check's annotations: {error}") from error
        return made.id

    async def update_check_run(self, check_id: int, state: CheckState) -> None:
        """Replace what a check run of ours says; its annotations come on top of those that it has."""
        await self._update(check_id, _fields(state))
        await self._annotate(check_id, state)

    async def own_check_runs(self, head_sha: str, name: str) -> tuple[CheckRun, ...]:
        """The App's check runs of this name on a commit, newest first, earlier ones too; at most 300."""
        path, app = f"/commits/{quote(head_sha, safe='')}/check-runs", self._channel.app_id
        params: dict[str, str | int] = {"check_name": name, "filter": "all"}
        if app is not None:
            params["app_id"] = app
        found = await self._channel.pages(
            path,
            lambda body: rows(parse_pull.check_run)(body["check_runs"]),
            kind="check_runs",
            most=_MOST_PAGES,
            params=params,
            purposes=(Purpose.POST_CHECKS,),
        )
        # a server that does not know the filters sends everything
        return tuple(row for row in found if row.name == name and app in (None, row.app_id))

    async def _annotate(self, check_id: int, state: CheckState) -> None:
        """Add the annotations that the first request had no room for."""
        for start in range(MOST_ANNOTATIONS, len(state.annotations), MOST_ANNOTATIONS):
            await self._update(check_id, {"output": _output(state, start)})

    async def _update(self, check_id: int, json: dict[str, Any]) -> None:
        path = f"/check-runs/{check_id}"
        await self._channel.write("PATCH", path, kind="update_check", json=json, purpose=Purpose.POST_CHECKS)


def _fields(state: CheckState) -> dict[str, Any]:
    json: dict[str, Any] = {"status": state.status, "output": _output(state)}
    if state.url:
        json["details_url"] = state.url
    if state.conclusion is not None:
        json |= {"status": "completed", "conclusion": state.conclusion}
    return json


def _output(state: CheckState, start: int = 0) -> dict[str, Any]:
    output: dict[str, Any] = {"title": state.title, "summary": state.summary}
    if rest := state.annotations[start : start + MOST_ANNOTATIONS]:
        output["annotations"] = [_annotation(one) for one in rest]
    return output


def _annotation(one: Annotation) -> dict[str, Any]:
    json: dict[str, Any] = {
        "path": one.path,
        "start_line": one.start_line,
        "end_line": one.end_line,
        "annotation_level": one.level,
        "message": one.message,
    }
    if one.title:
        json["title"] = one.title
    return json
