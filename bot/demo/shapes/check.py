"""Checks and jobs (schemas `check-run`, `job`)."""

from __future__ import annotations

from collections.abc import Sequence

from bot.demo.records import Check, Pull, Repository
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
        "external_id": "",
        "url": url,
        "html_url": html,
        "details_url": html,
        "status": row.status,
        "conclusion": row.conclusion,
        "started_at": stamp(row.started_at),
        "completed_at": stamp_or_none(row.completed_at),
        "output": {
            "title": row.title,
            "summary": row.summary,
            "text": None,
            "annotations_count": 0,
            "annotations_url": f"{url}/annotations",
        },
        "check_suite": {"id": row.run_id or row.id},
        "app": row.app and integration(at, row.app),
        "pull_requests": [_minimal(at, pull) for pull in pulls],
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
