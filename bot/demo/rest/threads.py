"""Issues and their comments.

Sources: https://docs.github.com/en/rest/issues/issues, https://docs.github.com/en/rest/issues/comments
"""

from __future__ import annotations

from datetime import UTC, datetime

from bot.demo.markdown import render
from bot.demo.records import Comment, Issue, Repository
from bot.demo.refusal import Refused, malformed, not_found
from bot.demo.rest.call import Call, Reply
from bot.demo.rest.paging import page
from bot.demo.shapes import thread as shape
from bot.demo.shapes.common import JSON
from bot.demo.threads import check_body


def _shown(call: Call, row: Issue | Comment) -> JSON:
    """The row with its body in the variants that `Accept` asks for."""
    at = call.world.addresses
    out = shape.issue(at, row) if isinstance(row, Issue) else shape.comment(at, row)
    if call.media in {"text", "full"}:
        out["body_text"] = row.body or ""
    if call.media in {"html", "full"}:
        out["body_html"] = call.world.store.sign(render(row.body or ""))
    if call.media in {"text", "html"}:
        del out["body"]
    return out


def since(call: Call) -> datetime | None:
    """The query parameter of that name. Raises 422."""
    if not (text := call.query("since")):
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise malformed("The since parameter is not a time stamp.") from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


async def list_issues(call: Call) -> Reply:
    """Issues of a repository, newest first."""
    repo = call.repository("issues")
    state, after, creator = call.query("state") or "open", since(call), call.query("creator")
    labels = {name.lower() for name in (call.query("labels") or "").split(",") if name}
    rows = [
        row
        for row in repo.issues.values()
        if state in {row.state, "all"}
        and (after is None or row.updated_at >= after)
        and (creator is None or row.author.login.lower() == creator.lower())
        and labels <= {entry.name.lower() for entry in row.labels}
    ]
    keys = {
        "created": lambda row: (row.created_at, row.number),
        "updated": lambda row: (row.updated_at, row.number),
        "comments": lambda row: (len(row.comments), row.number),
    }
    rows.sort(key=keys.get(call.query("sort") or "", keys["created"]), reverse=call.query("direction") != "asc")
    shown, headers = page(call, rows, repo)
    return Reply([_shown(call, row) for row in shown], headers=headers)


async def create_issue(call: Call) -> Reply:
    """A new issue."""
    repo = call.repository("issues", "write")
    title, body, labels = call.needed("title", str), call.field("body", str), call.field("labels", list)
    names = [entry if isinstance(entry, str) else str(entry.get("name", "")) for entry in labels or []]
    row = call.world.open_issue(repo, call.actor(), title, body, labels=names, app=call.viewer.app)
    return Reply(_shown(call, row), 201, {"Location": shape.issue_url(call.world.addresses, row)})


def find(call: Call, level: str = "read") -> Issue:
    """The issue in the path."""
    repo = call.repository("issues", "write" if level == "write" else "read")
    number = call.number("issue_number")
    if number not in repo.moved:
        return call.world.issue(repo, number)
    # of a transferred issue GitHub describes a redirect for itself and its labels only
    rest = call.path.partition(f"/issues/{number}")[2]
    if rest and not rest.startswith("/labels"):
        raise not_found()
    to = call.world.moved_to(repo, number) + rest
    raise Refused(301, "Moved Permanently", headers={"Location": to}, url=to)


async def get_issue(call: Call) -> Reply:
    """One issue."""
    return Reply(_shown(call, find(call)))


async def update_issue(call: Call) -> Reply:
    """Change title, body, state or labels."""
    row, actor = find(call, "write"), call.actor()
    where = (row.repository, row.number, actor)
    call.world.edit_issue(*where, title=call.field("title", str), body=call.field("body", str))
    if state := call.field("state", str):
        if state not in {"open", "closed"}:
            raise malformed(f"For 'properties/state', {state} is not one of open, closed.")
        call.world.set_state(*where, state, call.field("state_reason", str))
    if (labels := call.field("labels", list)) is not None:
        call.world.set_labels(*where, [str(name) for name in labels])
    return Reply(_shown(call, row))


async def lock(call: Call) -> Reply:
    """Lock a conversation."""
    row = find(call, "write")
    call.world.lock(row.repository, row.number, call.actor(), call.field("lock_reason", str))
    return Reply(status=204)


async def unlock(call: Call) -> Reply:
    """Unlock it."""
    row = find(call, "write")
    call.world.unlock(row.repository, row.number, call.actor())
    return Reply(status=204)


def _visible(call: Call, rows: list[Comment]) -> list[Comment]:
    after, faults = since(call), call.world.faults
    if after is None and not faults.lagging:
        return rows  # a long thread is not walked for one page
    listed = faults.listed
    return [row for row in rows if listed(row.id) and (after is None or row.updated_at >= after)]


async def list_comments(call: Call) -> Reply:
    """Comments of a thread, oldest first."""
    row = find(call)
    shown, headers = page(call, _visible(call, row.comments), row.repository)
    return Reply([_shown(call, entry) for entry in shown], headers=headers)


async def list_repository_comments(call: Call) -> Reply:
    """Comments of all threads of a repository, oldest first unless asked otherwise."""
    repo = call.repository("issues")
    rows = _visible(call, [entry for issue in repo.issues.values() for entry in issue.comments])
    by = "updated_at" if call.query("sort") == "updated" else "created_at"
    rows.sort(key=lambda row: (getattr(row, by), row.id), reverse=call.query("direction") == "desc")
    shown, headers = page(call, rows, repo)
    return Reply([_shown(call, entry) for entry in shown], headers=headers)


async def create_comment(call: Call) -> Reply:
    """A new comment."""
    row = find(call, "write")
    made = call.world.comment(row.repository, row.number, call.actor(), call.needed("body", str), app=call.viewer.app)
    shown = _shown(call, made)
    return Reply(shown, 201, {"Location": shown["url"]})


def _in(repo: Repository, row: Comment) -> Comment:
    if row.issue.repository is not repo:
        raise not_found()
    return row


def comment_of(call: Call, level: str = "read") -> Comment:
    """The comment in the path."""
    repo = call.repository("issues", "write" if level == "write" else "read")
    return _in(repo, call.world.find_comment(call.number("comment_id")))


async def get_comment(call: Call) -> Reply:
    """One comment."""
    return Reply(_shown(call, comment_of(call)))


async def update_comment(call: Call) -> Reply:
    """Change its text."""
    row, body = comment_of(call, "write"), call.needed("body", str)
    check_body(body)  # unlike on the page, a comment is not emptied here
    return Reply(_shown(call, call.world.edit_comment(row.id, call.actor(), body)))


async def delete_comment(call: Call) -> Reply:
    """Take it away."""
    call.world.delete_comment(comment_of(call, "write").id, call.actor())
    return Reply(status=204)


async def pin_comment(call: Call) -> Reply:
    """GitHub's own pin."""
    return Reply(_shown(call, call.world.pin_comment(comment_of(call, "write").id, call.actor())))


async def unpin_comment(call: Call) -> Reply:
    """Take the pin away."""
    call.world.unpin_comment(comment_of(call, "write").id, call.actor())
    return Reply(status=204)
