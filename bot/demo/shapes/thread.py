"""Issues, comments, reactions and labels (schemas `issue`, `issue-comment`, `reaction`, `label`)."""

from __future__ import annotations

from urllib.parse import quote

from bot.demo.records import CONTENTS, Comment, Issue, Label, Pull, Reaction, Repository, User
from bot.demo.shapes.account import user, user_or_none
from bot.demo.shapes.app import integration
from bot.demo.shapes.common import JSON, Addresses, node_id, stamp, stamp_or_none
from bot.demo.shapes.repository import base, page
from bot.model.role import Role


def association(repo: Repository, who: User) -> str:
    """GitHub's `author_association`; it says little about what somebody may do."""
    if who is repo.owner:
        return "OWNER"
    granted = repo.roles.get(who.login.lower(), Role.NONE)
    if granted is Role.NONE:
        return "NONE"
    return "MEMBER" if repo.owner.type == "Organization" else "COLLABORATOR"


def label(at: Addresses, repo: Repository, row: Label) -> JSON:
    """Schema `label`."""
    return {
        "id": row.id,
        "node_id": node_id("Label", row.id),
        "url": f"{base(at, repo)}/labels/{quote(row.name, safe='')}",
        "name": row.name,
        "description": row.description,
        "color": row.color,
        "default": False,
    }


def reaction(at: Addresses, row: Reaction) -> JSON:
    """Schema `reaction`."""
    return {
        "id": row.id,
        "node_id": node_id("Reaction", row.id),
        "user": user(at, row.user),
        "content": row.content,
        "created_at": stamp(row.created_at),
    }


def rollup(url: str, rows: list[Reaction]) -> JSON:
    """Schema `reaction-rollup`."""
    counts: JSON = {content: sum(row.content == content for row in rows) for content in CONTENTS}
    return {"url": f"{url}/reactions", "total_count": len(rows), **counts}


def issue_url(at: Addresses, row: Issue) -> str:
    """The issue's REST address."""
    return f"{base(at, row.repository)}/issues/{row.number}"


def issue_page(at: Addresses, row: Issue) -> str:
    """The issue's address for people."""
    return f"{page(at, row.repository)}/{'pull' if row.pull else 'issues'}/{row.number}"


def comment(at: Addresses, row: Comment) -> JSON:
    """Schema `issue-comment`."""
    repo = row.issue.repository
    url = f"{base(at, repo)}/issues/comments/{row.id}"
    pin = row.pinned_at and {"pinned_at": stamp(row.pinned_at), "pinned_by": user_or_none(at, row.pinned_by)}
    return {
        "url": url,
        "html_url": f"{issue_page(at, row.issue)}#issuecomment-{row.id}",
        "issue_url": issue_url(at, row.issue),
        "id": row.id,
        "node_id": node_id("IssueComment", row.id),
        "user": user(at, row.author),
        "created_at": stamp(row.created_at),
        "updated_at": stamp(row.updated_at),
        "body": row.body,
        "author_association": association(repo, row.author),
        "reactions": rollup(url, row.reactions),
        "performed_via_github_app": row.app and integration(at, row.app),
        "pin": pin or None,
        "minimized": None if row.minimized is None else {"reason": row.minimized},
    }


def issue(at: Addresses, row: Issue) -> JSON:
    """Schema `issue`."""
    url, repo = issue_url(at, row), row.repository
    return {
        "url": url,
        "repository_url": base(at, repo),
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "html_url": issue_page(at, row),
        "id": row.id,
        "node_id": node_id("Issue", row.id),
        "number": row.number,
        "title": row.title,
        "user": user(at, row.author),
        "labels": [label(at, repo, entry) for entry in row.labels],
        "state": row.state,
        "locked": row.locked,
        "assignee": user(at, row.assignees[0]) if row.assignees else None,
        "assignees": [user(at, one) for one in row.assignees],
        "milestone": None,
        "comments": len(row.comments),
        "created_at": stamp(row.created_at),
        "updated_at": stamp(row.updated_at),
        "closed_at": stamp_or_none(row.closed_at),
        "closed_by": user_or_none(at, row.closed_by),
        "author_association": association(repo, row.author),
        "type": None,
        "active_lock_reason": row.lock_reason,
        "sub_issues_summary": {"total": 0, "completed": 0, "percent_completed": 0},
        "issue_dependencies_summary": dict.fromkeys(
            ("blocked_by", "total_blocked_by", "blocking", "total_blocking"), 0
        ),
        "body": row.body,
        "reactions": rollup(url, row.reactions),
        "timeline_url": f"{url}/timeline",
        "performed_via_github_app": row.app and integration(at, row.app),
        "state_reason": row.state_reason,
        "pinned_comment": row.pinned and comment(at, row.pinned),
        **({} if row.pull is None else _pull(at, row.pull)),
    }


def _pull(at: Addresses, row: Pull) -> JSON:
    """What the issue of a pull request says of it."""
    html = issue_page(at, row.issue)
    addresses = {
        "url": f"{base(at, row.repository)}/pulls/{row.number}",
        "html_url": html,
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "merged_at": stamp_or_none(row.merged_at),
    }
    return {"draft": row.draft, "pull_request": addresses}
