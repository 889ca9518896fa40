"""Reviews made by an App, and the comments that came with one.

Source: https://docs.github.com/en/rest/pulls/reviews
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

from bot.demo.records import Review, ReviewComment, ReviewState, Side
from bot.demo.refusal import malformed, not_found
from bot.demo.rest.call import Call, Level, Reply
from bot.demo.rest.paging import page
from bot.demo.rest.pulls import find
from bot.demo.reviews import Remark
from bot.demo.shapes import review as shape
from bot.demo.shapes.common import JSON

_STATES: Mapping[str, ReviewState] = {
    "COMMENT": "COMMENTED",
    "APPROVE": "APPROVED",
    "REQUEST_CHANGES": "CHANGES_REQUESTED",
}


async def create(call: Call) -> Reply:
    """A review, submitted at once: one without `event`, which GitHub keeps as a draft, is refused here with 422."""
    row, event = find(call, "write"), call.needed("event", str)
    if event not in _STATES:
        raise malformed(f"For 'properties/event', {event} is not one of APPROVE, REQUEST_CHANGES, COMMENT.")
    remarks = [_remark(item) for item in call.field("comments", list) or []]
    made = await asyncio.to_thread(
        call.world.review,
        row.repository,
        row.number,
        call.actor(),
        call.field("body", str) or "",
        state=_STATES[event],
        remarks=remarks,
        commit=call.field("commit_id", str),
        app=call.viewer.app,
    )
    return Reply(shape.review(call.world.addresses, made))


def _remark(item: Any) -> Remark:
    if not isinstance(item, dict) or not isinstance(item.get("path"), str) or not isinstance(item.get("body"), str):
        raise malformed("A comment has a path and a body.")
    line, start = item.get("line"), item.get("start_line")
    if not isinstance(line, int) or not isinstance(start, int | None):
        raise malformed("A comment stands at a line.")
    side, start_side = item.get("side") or "RIGHT", item.get("start_side")
    if side not in {"LEFT", "RIGHT"} or start_side not in {None, "LEFT", "RIGHT"}:
        raise malformed("A side is LEFT or RIGHT.")
    return Remark(item["path"], item["body"], line, cast("Side", side), start, cast("Side | None", start_side))


async def list_of_pull(call: Call) -> Reply:
    """Submitted reviews of a pull request, oldest first."""
    row = find(call)
    shown, headers = page(call, row.reviews, row.repository)
    return Reply([shape.review(call.world.addresses, entry) for entry in shown], headers=headers)


async def get(call: Call) -> Reply:
    """One review."""
    return Reply(shape.review(call.world.addresses, _review(call)))


async def update(call: Call) -> Reply:
    """Change a review's own text."""
    row, body = _review(call, "write"), call.needed("body", str)
    return Reply(shape.review(call.world.addresses, call.world.edit_review(row, call.actor(), body)))


async def dismiss(call: Call) -> Reply:
    """Let a verdict count no longer."""
    row = _review(call, "write")
    call.needed("message", str)
    return Reply(shape.review(call.world.addresses, call.world.dismiss(row, call.actor())))


def _review(call: Call, level: Level = "read") -> Review:
    number = call.number("review_id")
    found = next((one for one in find(call, level).reviews if one.id == number), None)
    if found is None:
        raise not_found()
    return found


async def list_comments(call: Call) -> Reply:
    """What one review said about lines, oldest first."""
    row = _review(call)
    rows = [one for thread in row.pull.review_threads for one in thread.comments if one.review is row]
    shown, headers = page(call, rows, row.pull.repository)
    return Reply([_shown(call, one) for one in shown], headers=headers)


def _shown(call: Call, row: ReviewComment) -> JSON:
    """Schema `review-comment`: it also counts lines below the hunk's header."""
    position = len(row.hunk.split("\n")) - 1
    told = shape.comment(call.world.addresses, row)
    return {**told, "position": None if row.thread.outdated else position, "original_position": position}
