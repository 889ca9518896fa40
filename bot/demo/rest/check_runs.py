"""Check runs: listed, and made and changed by Apps.

Source: https://docs.github.com/en/rest/checks/runs
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

from bot.demo.records import Annotation, App, Check
from bot.demo.refusal import Refused, malformed, not_integration
from bot.demo.rest.call import Call, Level, Reply
from bot.demo.rest.paging import page
from bot.demo.shapes import check as shape

_STATUSES = ("queued", "in_progress", "completed")
_CONCLUSIONS = ("action_required", "cancelled", "failure", "neutral", "success", "skipped", "stale", "timed_out")
_LEVELS = ("notice", "warning", "failure")
#: GitHub takes no more annotations at once
MOST_ANNOTATIONS = 50


def _shown(call: Call, row: Check) -> dict[str, Any]:
    return shape.check_run(call.world.addresses, row, call.world.pulls_at(row.repository, row.head_sha))


async def list_of_commit(call: Call) -> Reply:
    """Checks of a commit, branch or tag, newest first."""
    repo, ref = call.repository("checks"), call.params["ref"]
    sha = await asyncio.to_thread(repo.git.resolve, ref)
    if sha is None:
        raise Refused(422, f"No commit found for SHA: {ref}")
    name, status, app = call.query("check_name"), call.query("status"), call.query("app_id")
    rows = [
        row
        for row in call.world.checks(repo, sha, newest=call.query("filter") != "all")
        if name in {None, row.name} and status in {None, row.status} and app in {None, str(row.app and row.app.id)}
    ]
    shown, headers = page(call, rows, repo)
    return Reply({"total_count": len(rows), "check_runs": [_shown(call, row) for row in shown]}, headers=headers)


async def get(call: Call) -> Reply:
    """One check run."""
    return Reply(_shown(call, _find(call)))


async def list_annotations(call: Call) -> Reply:
    """What a check run says about lines."""
    row = _find(call)
    shown, headers = page(call, row.annotations, row.repository)
    return Reply([shape.annotation(call.world.addresses, row, one) for one in shown], headers=headers)


async def create(call: Call) -> Reply:
    """A new check run, which only Apps make."""
    repo, app = call.repository("checks", "write"), _app(call)
    name, sha = call.needed("name", str), call.needed("head_sha", str)
    made = await asyncio.to_thread(call.world.create_check, repo, sha, name, app, _said(call))
    return Reply(_shown(call, made), 201)


async def update(call: Call) -> Reply:
    """Say something else; another App's is not ours to change."""
    row = _find(call, "write")
    if row.app is not _app(call):
        words = f"Invalid app_id `{_app(call).id}` - check run can only be modified by the GitHub App that created it."
        raise Refused(403, words)
    return Reply(_shown(call, await asyncio.to_thread(call.world.update_check, row, _said(call))))


def _find(call: Call, level: Level = "read") -> Check:
    return call.world.check(call.repository("checks", level), call.number("check_run_id"))


def _app(call: Call) -> App:
    if call.viewer.app is None:
        raise Refused(403, "You must authenticate via a GitHub App.") if call.viewer.user else not_integration()
    return call.viewer.app


def _said(call: Call) -> dict[str, Any]:
    """What was sent, checked. Raises 422."""
    texts = {name: call.field(name, str) for name in ("name", "external_id", "details_url", "status", "conclusion")}
    said: dict[str, Any] = {name: text for name, text in texts.items() if text is not None}
    if said.get("status", "queued") not in _STATUSES or said.get("conclusion", "success") not in _CONCLUSIONS:
        raise malformed("No such status or conclusion.")
    if said.get("status") == "completed" and "conclusion" not in said:
        raise malformed("A completed check run has a conclusion.")
    for name in ("started_at", "completed_at"):
        if (text := call.field(name, str)) is not None:
            said[name] = _moment(text)
    if (output := call.field("output", dict)) is not None:
        if not isinstance(output.get("title"), str) or not isinstance(output.get("summary"), str):
            raise malformed("An output has a title and a summary.")
        if max(len(output["summary"]), len(output.get("text") or "")) > 65_535:
            raise malformed("Only 65535 characters are allowed; more were supplied.")
        said |= {name: output[name] for name in ("title", "summary", "text") if name in output}
        rows = output.get("annotations") or []
        if len(rows) > MOST_ANNOTATIONS:
            raise malformed(f"No more than {MOST_ANNOTATIONS} items are allowed; {len(rows)} were supplied.")
        said["annotations"] = [_annotation(row) for row in rows]
    return said


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise malformed(f"{text} is not a time stamp.") from None


def _annotation(row: Any) -> Annotation:
    try:
        made = Annotation(
            row["path"], row["start_line"], row["end_line"], row["annotation_level"], row["message"], row.get("title"),
            row.get("raw_details"), row.get("start_column"), row.get("end_column"),
        )  # fmt: skip
    except (KeyError, TypeError, AttributeError):
        raise malformed("An annotation has a path, lines, a level and a message.") from None
    if made.level not in _LEVELS or (made.start_column is not None and made.start_line != made.end_line):
        raise malformed("No such level, or columns of several lines.")
    return made
