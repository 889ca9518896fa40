"""Checks and jobs (schemas `check-run`, `job`)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from urllib.parse import quote

from bot.demo.git import ZERO
from bot.demo.records import Annotation, Check, Pull, Repository
from bot.demo.shapes.app import integration
from bot.demo.shapes.common import JSON, Addresses, node_id, stamp, stamp_or_none
from bot.demo.shapes.pull import pull_url
from bot.demo.shapes.repository import base, page


def check_run(at: Addresses, row: Check, pulls: Sequence[Pull]) -> JSON:
    """Schema `check-run`; `pulls` are the open pull requests of its commit."""
    url = f"{base(at, row.repository)}/check-runs/{row.id}"
    html = _page(at, row)
    return {
        "id": row.id,
        "name": row.name,
        "node_id": node_id("CheckRun", row.id),
        "head_sha": row.head_sha,
        "external_id": row.external_id,
        "url": url,
        "html_url": html,
        "details_url": row.details_url or html,
        "status": row.status,
        "conclusion": row.conclusion,
        "started_at": stamp(row.started_at),
        "completed_at": stamp_or_none(row.completed_at),
        "output": {
            "title": row.title,
            "summary": row.summary,
            "text": row.text,
            "annotations_count": len(row.annotations),
            "annotations_url": f"{url}/annotations",
        },
        "check_suite": {"id": row.suite_id},
        "app": row.app and integration(at, row.app),
        "pull_requests": [_minimal(at, pull) for pull in pulls],
    }


def annotation(at: Addresses, check: Check, row: Annotation) -> JSON:
    """Schema `check-annotation`."""
    return {
        "path": row.path,
        "blob_href": f"{page(at, check.repository)}/blob/{check.head_sha}/{quote(row.path)}",
        "start_line": row.start_line,
        "start_column": row.start_column,
        "end_line": row.end_line,
        "end_column": row.end_column,
        "annotation_level": row.level,
        "title": row.title,
        "message": row.message,
        "raw_details": row.details,
    }


#: the worst first
_CONCLUSIONS = ("action_required", "timed_out", "failure", "startup_failure", "cancelled", "stale", "success")


def check_suite(at: Addresses, checks: Sequence[Check], branch: str | None, pulls: Sequence[Pull]) -> JSON:
    """The `check_suite` of a payload: all checks of one App and commit, which have ended.

    Source: https://docs.github.com/en/webhooks/webhook-events-and-payloads#check_suite
    """
    first = checks[0]
    repo, sha = first.repository, first.head_sha
    url = f"{base(at, repo)}/check-suites/{first.suite_id}"
    found = {row.conclusion for row in checks}
    made = repo.git.details(sha)
    assert made is not None
    ended = [row.completed_at for row in checks if row.completed_at is not None]
    names = ("name", "email")
    return {
        "id": first.suite_id,
        "node_id": node_id("CheckSuite", first.suite_id),
        "head_branch": branch,
        "head_sha": sha,
        "status": "completed",
        "conclusion": next((word for word in _CONCLUSIONS if word in found), "neutral"),
        "url": url,
        "before": made.parents[0] if made.parents else ZERO,
        "after": sha,
        "pull_requests": [_minimal(at, pull) for pull in pulls],
        "app": first.app and integration(at, first.app),
        "created_at": stamp(min(row.started_at for row in checks)),
        "updated_at": stamp(max(ended)),
        "rerequestable": True,
        "runs_rerequestable": True,
        "latest_check_runs_count": len(checks),
        "check_runs_url": f"{url}/check-runs",
        "head_commit": {
            "id": sha,
            "tree_id": made.tree,
            "message": made.message.rstrip("\n"),
            "timestamp": stamp(datetime.fromtimestamp(made.committer[2], UTC)),
            "author": dict(zip(names, made.author, strict=False)),
            "committer": dict(zip(names, made.committer, strict=False)),
        },
    }


def job(at: Addresses, row: Check) -> JSON:
    """Schema `job`: what GitHub Actions calls the same."""
    api = base(at, row.repository)
    return {
        "id": row.id,
        "run_id": row.run_id,
        "run_url": f"{api}/actions/runs/{row.run_id}",
        "run_attempt": 1,
        "node_id": node_id("CheckRun", row.id),
        "head_sha": row.head_sha,
        "url": f"{api}/actions/jobs/{row.id}",
        "html_url": _page(at, row),
        "status": row.status,
        "conclusion": row.conclusion,
        "created_at": stamp(row.started_at),
        "started_at": stamp(row.started_at),
        "completed_at": stamp_or_none(row.completed_at),
        "name": row.name,
        "steps": [],
        "check_run_url": f"{api}/check-runs/{row.id}",
        "labels": ["ubuntu-latest"],
        "runner_id": None,
        "runner_name": None,
        "runner_group_id": None,
        "runner_group_name": None,
        "workflow_name": None,
        "head_branch": None,
    }


def _page(at: Addresses, row: Check) -> str:
    html = page(at, row.repository)
    return f"{html}/runs/{row.id}" if row.run_id is None else f"{html}/actions/runs/{row.run_id}/job/{row.id}"


def _minimal(at: Addresses, row: Pull) -> JSON:
    """Schema `pull-request-minimal`."""

    def end(repo: Repository, branch: str, sha: str) -> JSON:
        return {"ref": branch, "sha": sha, "repo": {"id": repo.id, "url": base(at, repo), "name": repo.name}}

    return {
        "id": row.id,
        "number": row.number,
        "url": pull_url(at, row),
        "head": end(row.head_repository, row.head, row.head_sha),
        "base": end(row.repository, row.base, row.base_sha),
    }
