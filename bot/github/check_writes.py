"""Check runs made and changed by the App.

Source: https://docs.github.com/en/rest/checks/runs
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from bot.github import parse_pull
from bot.github.channel import Channel, read, rows
from bot.github.tokens import Purpose
from bot.model.pull import Annotation, CheckRun

#: GitHub takes no more annotations than this at once; further ones are added by updates
MOST_ANNOTATIONS = 50
#: longest `summary`, in characters
MOST_SUMMARY = 65_535
#: pages of a hundred: more runs of one name than one commit has
_MOST_PAGES = 3


class CheckWrites:
    """The part of `RepositoryClient` that shows results as check runs; the same errors. No write is repeated.

    Asks for `checks: write`, which an installation may not have granted: then `Forbidden` names it.
    """

    _channel: Channel

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
    ) -> int:
        """A new check run of a commit; returns its number. `status` is queued or in_progress.

        With a `conclusion` it is completed, whatever `status` says. More than fifty annotations take
        further requests: after `Unsure`, `own_check_runs` tells whether it was made and how many it has.
        """
        json = _fields(status, title, summary, details_url, started_at, conclusion, annotations)
        json |= {"name": name, "head_sha": head_sha, "external_id": external_id}
        response = await self._channel.write(
            "POST", "/check-runs", kind="create_check", json=json, purpose=Purpose.POST_CHECKS
        )
        made = read(response, parse_pull.check_run)
        await self._annotate(made.id, title, summary, annotations[MOST_ANNOTATIONS:])
        return made.id

    async def update_check_run(
        self,
        check_id: int,
        *,
        status: str,
        title: str,
        summary: str,
        details_url: str = "",
        started_at: datetime | None = None,
        conclusion: str | None = None,
        annotations: Sequence[Annotation] = (),
    ) -> None:
        """Replace what a check run of ours says; `annotations` come on top of those that it has."""
        json = _fields(status, title, summary, details_url, started_at, conclusion, annotations)
        await self._update(check_id, json)
        await self._annotate(check_id, title, summary, annotations[MOST_ANNOTATIONS:])

    async def own_check_runs(self, head_sha: str, name: str) -> tuple[CheckRun, ...]:
        """The App's check runs of this name on a commit, newest first, earlier ones too; at most 300."""
        path, app = f"/commits/{quote(head_sha, safe='')}/check-runs", self._channel.app_id
        found: list[CheckRun] = []
        for page in range(1, _MOST_PAGES + 1):
            params: dict[str, str | int] = {"check_name": name, "filter": "all", "per_page": 100, "page": page}
            if app is not None:
                params["app_id"] = app
            response = await self._channel.get(path, kind="check_runs", params=params, purposes=(Purpose.POST_CHECKS,))
            # a server that does not know the filters sends everything
            found += [
                row
                for row in read(response, lambda body: rows(parse_pull.check_run)(body["check_runs"]))
                if row.name == name and app in (None, row.app_id)
            ]
            if "next" not in response.links:
                break
        return tuple(found)

    async def _annotate(self, check_id: int, title: str, summary: str, rest: Sequence[Annotation]) -> None:
        for start in range(0, len(rest), MOST_ANNOTATIONS):
            output = _output(title, summary, rest[start : start + MOST_ANNOTATIONS])
            await self._update(check_id, {"output": output})

    async def _update(self, check_id: int, json: dict[str, Any]) -> None:
        path = f"/check-runs/{check_id}"
        await self._channel.write("PATCH", path, kind="update_check", json=json, purpose=Purpose.POST_CHECKS)


def _fields(
    status: str,
    title: str,
    summary: str,
    details_url: str,
    started_at: datetime | None,
    conclusion: str | None,
    annotations: Sequence[Annotation],
) -> dict[str, Any]:
    json: dict[str, Any] = {"status": status, "output": _output(title, summary, annotations[:MOST_ANNOTATIONS])}
    if details_url:
        json["details_url"] = details_url
    if started_at is not None:
        json["started_at"] = f"{started_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    if conclusion is not None:
        json |= {"status": "completed", "conclusion": conclusion}
    return json


def _output(title: str, summary: str, annotations: Sequence[Annotation]) -> dict[str, Any]:
    output: dict[str, Any] = {"title": title, "summary": summary}
    if annotations:
        output["annotations"] = [_annotation(one) for one in annotations]
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
    if one.details:
        json["raw_details"] = one.details
    # GitHub refuses columns where the lines differ
    if one.start_line == one.end_line and one.start_column is not None:
        json["start_column"] = one.start_column
        json["end_column"] = one.start_column if one.end_column is None else one.end_column
    return json
