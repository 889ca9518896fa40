"""Payloads of what happens on threads besides comments, and a configuration whose workflows listen to it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import httpx

from bot.model.thread import Account
from tests.dispatch.scene import REPO, Scene, account_json, around, issue_fields, stamp
from tests.github.fake import answer
from tests.rows import ANA, NOW, REPOSITORY

SHA = "ab" * 20
NEWER = "cd" * 20
ACTIONS = Account(41898282, "github-actions[bot]", "Bot")


def listening(*workflows: str, head: str = "") -> str:
    """A `bot.yml`: each workflow is `name: {on: …}` without its steps."""
    rows = [f"  {one[:-1]}, steps: [{{id: a, run: date}}]}}\n" for one in workflows]
    return f"version: 1\n{head}workflows:\n{''.join(rows)}"


def issue_event(action: str, sender: Account = ANA, *, body: str = "It crashes.", **more: Any) -> dict[str, Any]:
    """An `issues` payload."""
    return {"action": action, "issue": issue_fields() | {"body": body}, **around(sender), **more}


def pull_fields(sha: str = SHA, **more: Any) -> dict[str, Any]:
    """A pull request as payloads and answers show it."""
    repo = around(ANA)["repository"]
    return (
        issue_fields()
        | {
            "head": {"ref": "topic", "sha": sha, "repo": repo},
            "base": {"ref": "main", "sha": "ef" * 20, "repo": repo},
            "html_url": "https://github.test/acme/widgets/pull/1",
            "merged": False,
            "merged_at": None,
            "draft": False,
        }
        | more
    )


def pull_event(action: str, sender: Account = ANA, *, sha: str = SHA, **more: Any) -> dict[str, Any]:
    """A `pull_request` payload; `more` are fields of the pull request, `label` of the payload."""
    payload = {"label": more.pop("label")} if "label" in more else {}
    pushed = {"before": "ef" * 20, "after": sha} if action == "synchronize" else {}
    return {
        "action": action,
        "number": 1,
        "pull_request": pull_fields(sha, **more),
        **around(sender),
        **payload,
        **pushed,
    }


def check_event(
    sender: Account = ANA, *, conclusion: str = "failure", sha: str = SHA, at: datetime = NOW, app: int = 15368
) -> dict[str, Any]:
    """A `check_run` that has ended."""
    base = {"repo": {"id": REPOSITORY.id}}
    fields = {
        "id": 5,
        "head_sha": sha,
        "conclusion": conclusion,
        "completed_at": stamp(at),
        "html_url": "https://github.test/acme/widgets/runs/5",
        "app": {"id": app},
        "pull_requests": [{"number": 1, "head": {"sha": sha}, "base": base}],
    }
    return {"action": "completed", "check_run": fields, **around(sender)}


def head_is(scene: Scene, sha: str, **more: Any) -> None:
    """GitHub shows pull request 1 with this head from now on."""
    scene.server.on("GET", f"{REPO}/pulls/1", answer(pull_fields(sha, **more)))
    scene.server.on("GET", f"{REPO}/issues/1", answer(issue_fields() | {"pull_request": {"url": ""}}))
    scene.server.on("GET", f"{REPO}/pulls/1/files", answer([]))


def checks_are(scene: Scene, *conclusions: str | None, sha: str = SHA) -> None:
    """The checks of a commit; None: it still runs."""
    rows = [
        {"id": n, "name": f"c{n}", "status": "completed" if each else "queued", "conclusion": each, "app": {"id": 1}}
        for n, each in enumerate(conclusions)
    ]
    scene.server.on("GET", f"{REPO}/commits/{sha}/check-runs", answer({"total_count": len(rows), "check_runs": rows}))


def committed_by(scene: Scene, person: Account | None) -> None:
    """Whoever GitHub names as the last committer of the configuration."""
    who = account_json(person) if person else None
    commit = {"sha": SHA, "author": who, "committer": who}
    scene.server.on("GET", f"{REPO}/commits", answer([commit]))


def opened_issue(number: int, body: str, author: Account, at: datetime = NOW) -> dict[str, Any]:
    """An issue as GitHub answers with it."""
    return issue_fields(number) | {"body": body, "user": account_json(author), "updated_at": stamp(at)}


def nobody() -> httpx.Response:
    """What GitHub says of a thread that is not there."""
    return answer({"message": "Not Found"}, 404)
