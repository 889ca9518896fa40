"""Comments of review threads: listed, answered, changed, taken away.

Source: https://docs.github.com/en/rest/pulls/comments
"""

from __future__ import annotations

from bot.demo.records import ReviewComment
from bot.demo.refusal import not_found
from bot.demo.rest.call import Call, Reply
from bot.demo.rest.paging import page
from bot.demo.rest.pulls import find
from bot.demo.rest.threads import since
from bot.demo.shapes import review as shape
from bot.demo.shapes.common import JSON
from bot.demo.threads import check_body


def comment_of(call: Call, level: str = "read") -> ReviewComment:
    """The review comment in the path. Raises 404."""
    repo = call.repository("pull_requests", "write" if level == "write" else "read")
    row = call.world.review_comment(call.number("comment_id"))
    if row.thread.pull.repository is not repo:
        raise not_found()
    return row


def _shown(call: Call, row: ReviewComment) -> JSON:
    return shape.comment(call.world.addresses, row)


async def list_of_pull(call: Call) -> Reply:
    """What was said about lines of a pull request, oldest first unless asked otherwise."""
    row, after = find(call), since(call)
    rows = [
        entry
        for thread in row.review_threads
        for entry in thread.comments
        if after is None or entry.updated_at >= after
    ]
    sort = call.query("sort")
    by = "updated_at" if sort == "updated" else "created_at"
    # without `sort` the direction is ignored
    down = sort is not None and call.query("direction") == "desc"
    rows.sort(key=lambda entry: (getattr(entry, by), entry.id), reverse=down)
    shown, headers = page(call, rows, row.repository)
    return Reply([_shown(call, entry) for entry in shown], headers=headers)


async def reply(call: Call) -> Reply:
    """Answer in a thread, by its first comment: answers to answers cannot be made."""
    row, body = find(call, "write"), call.needed("body", str)
    first = call.world.review_comment(call.number("comment_id"))
    if first.thread.pull is not row or first.thread.comments[0] is not first:
        raise not_found()
    made = call.world.reply(first.id, call.actor(), body, app=call.viewer.app)
    shown = _shown(call, made)
    return Reply(shown, 201, {"Location": shown["url"]})


async def get(call: Call) -> Reply:
    """One review comment."""
    return Reply(_shown(call, comment_of(call)))


async def update(call: Call) -> Reply:
    """Change its text."""
    row, body = comment_of(call, "write"), call.needed("body", str)
    check_body(body)
    return Reply(_shown(call, call.world.edit_review_comment(row.id, call.actor(), body)))


async def delete(call: Call) -> Reply:
    """Take it away."""
    call.world.delete_review_comment(comment_of(call, "write").id, call.actor())
    return Reply(status=204)
