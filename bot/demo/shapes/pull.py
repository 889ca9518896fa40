"""Pull requests (schemas `pull-request`, `pull-request-simple`) and comparisons (`commit-comparison`)."""

from __future__ import annotations

from urllib.parse import quote

from bot.demo.comparison import FileDiff, ahead, files, merge_base
from bot.demo.git import Commit
from bot.demo.records import Pull, Repository, User
from bot.demo.shapes.account import user, user_or_none
from bot.demo.shapes.common import JSON, Addresses, node_id, stamp, stamp_or_none
from bot.demo.shapes.repository import base, commit, diff_entry, page, repository
from bot.demo.shapes.thread import association, issue_page, issue_url, label


def pull_url(at: Addresses, row: Pull) -> str:
    """Its REST address."""
    return f"{base(at, row.repository)}/pulls/{row.number}"


def simple_pull(at: Addresses, row: Pull) -> JSON:
    """Schema `pull-request-simple`: as lists show it."""
    issue, url, html = row.issue, pull_url(at, row), issue_page(at, row.issue)
    api = base(at, row.repository)
    links = {
        "self": url,
        "html": html,
        "issue": issue_url(at, issue),
        "comments": f"{issue_url(at, issue)}/comments",
        "review_comments": f"{url}/comments",
        "review_comment": f"{api}/pulls/comments{{/number}}",
        "commits": f"{url}/commits",
        "statuses": f"{api}/statuses/{row.head_sha}",
    }
    return {
        "url": url,
        "id": row.id,
        "node_id": node_id("PullRequest", row.id),
        "html_url": html,
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "issue_url": links["issue"],
        "commits_url": links["commits"],
        "review_comments_url": links["review_comments"],
        "review_comment_url": links["review_comment"],
        "comments_url": links["comments"],
        "statuses_url": links["statuses"],
        "number": row.number,
        "state": issue.state,
        "locked": issue.locked,
        "active_lock_reason": issue.lock_reason,
        "title": issue.title,
        "user": user(at, issue.author),
        "body": issue.body,
        "labels": [label(at, row.repository, entry) for entry in issue.labels],
        "milestone": None,
        "created_at": stamp(issue.created_at),
        "updated_at": stamp(issue.updated_at),
        "closed_at": stamp_or_none(issue.closed_at),
        "merged_at": stamp_or_none(row.merged_at),
        "merge_commit_sha": row.merge_commit_sha,
        "assignee": user(at, issue.assignees[0]) if issue.assignees else None,
        "assignees": [user(at, one) for one in issue.assignees],
        "requested_reviewers": [],
        "requested_teams": [],
        "head": _end(at, row.head_repository, row.head, row.head_sha),
        "base": _end(at, row.repository, row.base, row.base_sha),
        "author_association": association(row.repository, issue.author),
        "auto_merge": None,
        "draft": row.draft,
        "_links": {name: {"href": address} for name, address in links.items()},
    }


def _end(at: Addresses, repo: Repository, branch: str, sha: str) -> JSON:
    owner = repo.owner
    return {
        "label": f"{owner.login}:{branch}",
        "ref": branch,
        "sha": sha,
        "user": user(at, owner),
        "repo": repository(at, repo),
    }


def pull(at: Addresses, row: Pull) -> JSON:
    """Schema `pull-request`."""
    git = row.repository.git
    touched = [file.change for file in files(git, row.base_sha, row.head_sha)]
    opened = row.issue.state == "open"
    return {
        **simple_pull(at, row),
        "merged": row.merged,
        "mergeable": True if opened else None,
        "rebaseable": True if opened else None,
        "mergeable_state": "draft" if row.draft else "clean" if opened else "unknown",
        "merged_by": user_or_none(at, row.merged_by),
        "comments": len(row.issue.comments),
        "review_comments": sum(len(thread.comments) for thread in row.review_threads),
        "maintainer_can_modify": False,
        "commits": len(ahead(git, row.base_sha, row.head_sha)),
        "additions": sum(file.additions for file in touched),
        "deletions": sum(file.deletions for file in touched),
        "changed_files": len(touched),
    }


def file_diff(at: Addresses, repo: Repository, sha: str, file: FileDiff) -> JSON:
    """Schema `diff-entry` of a comparison."""
    return diff_entry(at, repo, sha, file.change, file.patch, file.before)


def plain_commit(at: Addresses, repo: Repository, made: Commit, people: tuple[User | None, User | None]) -> JSON:
    """Schema `commit` as lists show it: without its files."""
    out = commit(at, repo, made, (), people)
    del out["stats"], out["files"]
    return out


def comparison(
    at: Addresses, repo: Repository, spec: str, first: str, last: str, commits: list[JSON], known: dict[str, JSON]
) -> JSON:
    """Schema `commit-comparison` of `spec` (`base...head`); `commits` is the page shown, `known` has the two ends."""
    git, url, html = repo.git, f"{base(at, repo)}/compare/{spec}", f"{page(at, repo)}/compare/{quote(spec, safe='/.:')}"
    more, less = len(ahead(git, first, last)), len(ahead(git, last, first))
    words = {(True, True): "diverged", (True, False): "ahead", (False, True): "behind", (False, False): "identical"}
    return {
        "url": url,
        "html_url": html,
        "permalink_url": f"{page(at, repo)}/compare/{first[:7]}...{last[:7]}",
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "base_commit": known[first],
        "merge_base_commit": known[merge_base(git, first, last) or first],
        "status": words[bool(more), bool(less)],
        "ahead_by": more,
        "behind_by": less,
        "total_commits": more,
        "commits": commits,
        "files": [file_diff(at, repo, last, file) for file in files(git, first, last)],
    }
