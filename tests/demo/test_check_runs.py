"""Check runs that Apps make: their annotations, their events, the suites that they make up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.demo.refusal import Refused
from tests.contract.openapi import complaints, component
from tests.contract.pull_routes import with_pull
from tests.demo.scene import Scene, scene
from tests.demo.test_pulls import told

LINE = {"path": "src/size.py", "start_line": 2, "end_line": 2, "annotation_level": "warning", "message": "0?"}


def body(sha: str, **fields: Any) -> dict[str, Any]:
    output = {"title": "Looking", "summary": "At sizes", "annotations": [LINE]}
    return {"name": "bot", "head_sha": sha, "external_id": "r1", "status": "in_progress", "output": output, **fields}


async def test_a_check_run_of_the_app(tmp_path: Path) -> None:
    """Kept with its annotations, which an update adds to; each step is told, and who did it."""
    made = scene(tmp_path)
    pull = with_pull(made)
    async with made.as_installation() as bot:
        row = (await bot.post(made.path("/check-runs"), json=body(pull.head_sha))).json()
        output = {"title": "Done", "summary": "Fine", "annotations": [LINE]}
        said = {"conclusion": "success", "output": output, "started_at": "2025-11-03T09:59:00Z"}
        row = (await bot.patch(made.path(f"/check-runs/{row['id']}"), json=said)).json()
    (check,) = made.repo.checks
    assert (check.external_id, check.title, check.summary, check.conclusion) == ("r1", "Done", "Fine", "success")
    assert [(one.path, one.level, one.message) for one in check.annotations] == [("src/size.py", "warning", "0?")] * 2
    assert (row["output"]["annotations_count"], row["status"]) == (2, "completed")
    assert (row["started_at"], row["completed_at"]) == ("2025-11-03T09:59:00Z", "2025-11-03T10:00:00Z")
    runs = told(made, "check_run")
    assert [(action, payload["sender"]["login"]) for action, payload in runs] == [
        ("created", "bot[bot]"), ("completed", "bot[bot]"),
    ]  # fmt: skip
    assert [complaints(component("check-run"), payload["check_run"]) for _, payload in runs] == [[], []]
    (suite,) = (payload["check_suite"] for _, payload in told(made, "check_suite"))
    assert (suite["conclusion"], suite["head_branch"], suite["app"]["id"]) == ("success", pull.head, made.app.id)
    assert [one["number"] for one in suite["pull_requests"]] == [pull.number]
    assert row["check_suite"]["id"] == suite["id"]


def test_a_suite_ends_with_its_last_check(tmp_path: Path) -> None:
    """Each App's checks of a commit are one suite; the worst of them is its conclusion, of the newest of each name."""
    made = scene(tmp_path)
    world, pull = made.world, with_pull(made)
    running = world.add_check(made.repo, pull.head, "tests", None)
    world.add_check(made.repo, pull.head, "lint", "failure")
    world.add_check(made.repo, pull.head, "other", "success", app=made.app)
    assert [payload["check_suite"]["conclusion"] for _, payload in told(made, "check_suite")] == ["success"]
    world.finish(running, "success", "ok\n")
    suite = told(made, "check_suite")[-1][1]["check_suite"]
    assert (suite["conclusion"], suite["latest_check_runs_count"], suite["app"]["slug"]) == (
        "failure", 2, "github-actions",
    )  # fmt: skip
    world.add_check(made.repo, pull.head, "lint", "success")
    suite = told(made, "check_suite")[-1][1]["check_suite"]
    assert (suite["conclusion"], suite["latest_check_runs_count"]) == ("success", 2)


async def _refused(made: Scene, sha: str, **fields: Any) -> int:
    async with made.client(made.world.mint(made.installation).value, unchecked=True) as bot:
        return (await bot.post(made.path("/check-runs"), json=body(sha, **fields))).status_code


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "done"},
        {"status": "completed"},
        {"conclusion": "bad"},
        {"started_at": "today"},
        {"head_sha": "0" * 40},
        {"output": {"title": "x"}},
        {"output": {"title": "x", "summary": "x" * 65_536}},
        {"output": {"title": "x", "summary": "x", "annotations": [LINE] * 51}},
        {"output": {"title": "x", "summary": "x", "annotations": [{"path": "a"}]}},
        {"output": {"title": "x", "summary": "x", "annotations": [{**LINE, "annotation_level": "bad"}]}},
        {"output": {"title": "x", "summary": "x", "annotations": [{**LINE, "end_line": 3, "start_column": 1}]}},
    ],
)
async def test_check_runs_that_cannot_be(fields: dict[str, Any], tmp_path: Path) -> None:
    """422, and nothing is kept."""
    made = scene(tmp_path)
    sha = made.repo.git.resolve("main") or ""
    assert await _refused(made, sha, **fields) == 422
    assert made.repo.checks == []


async def test_who_may_change_a_check_run(tmp_path: Path) -> None:
    """The App that made it, with the permission to write; people never."""
    made = scene(tmp_path)
    sha = made.repo.git.resolve("main") or ""
    theirs = made.world.add_check(made.repo, "main", "tests", None)
    async with made.as_installation() as bot, made.as_installation(checks="read") as reader:
        assert (
            await bot.patch(made.path(f"/check-runs/{theirs.id}"), json={"conclusion": "success"})
        ).status_code == 403
        assert (await bot.get(made.path("/check-runs/1"))).status_code == 404
        assert (await reader.post(made.path("/check-runs"), json=body(sha))).status_code == 403
        assert (await reader.get(made.path(f"/check-runs/{theirs.id}/annotations"))).json() == []
    async with made.client(made.world.user_token("meg")) as meg:
        assert (await meg.post(made.path("/check-runs"), json=body(sha))).status_code == 403
    assert theirs.status == "in_progress"
    with pytest.raises(Refused):
        made.world.check(made.repo, 1)
