"""Check runs made and changed by the App."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.errors import Forbidden, Unsure
from bot.model.pull import Annotation
from tests.contract.pull_routes import with_pull
from tests.demo.scene import scene
from tests.github.fake import COMMIT, REPOSITORY, FakeGitHub, answer, make_client
from tests.github.lookalike import client_of

AT = datetime(2025, 11, 3, 9, 59, 30, 5, UTC)
REPO = "/repos/ana/parser"


def lines(count: int) -> list[Annotation]:
    """Notes about as many lines."""
    return [Annotation("src/size.py", n, n, "warning", f"line {n}") for n in range(1, count + 1)]


async def test_from_its_start_to_its_end(tmp_path: Path) -> None:
    """Made running, found by its own name, ended with what it found."""
    made = scene(tmp_path)
    pull, client = with_pull(made), client_of(made)
    number = await client.create_check_run(
        pull.head_sha,
        "bot / build",
        external_id="slot 1",
        status="in_progress",
        started_at=AT,
        title="Looking",
        summary="At sizes",
        details_url="https://bot.test/r1",
    )
    (found,) = await client.own_check_runs(pull.head_sha, "bot / build")
    assert (found.id, found.external_id, found.status, found.conclusion) == (number, "slot 1", "in_progress", None)
    note = Annotation("src/size.py", 2, 2, "failure", "0?", "Sizes", "more", 3, None)
    await client.update_check_run(
        number, status="completed", title="Done", summary="Two", conclusion="failure", annotations=[note]
    )
    (check,) = made.repo.checks
    assert (check.conclusion, check.title, check.summary, check.details_url) == (
        "failure", "Done", "Two", "https://bot.test/r1",
    )  # fmt: skip
    assert check.started_at == AT.replace(microsecond=0)
    (kept,) = check.annotations
    assert (kept.level, kept.title, kept.details, kept.start_column, kept.end_column) == (
        "failure", "Sizes", "more", 3, 3,
    )  # fmt: skip


async def test_many_annotations(tmp_path: Path) -> None:
    """Fifty at a time, all of them in the end, in order."""
    made = scene(tmp_path)
    pull, client = with_pull(made), client_of(made)
    number = await client.create_check_run(
        pull.head_sha, "bot", external_id="1", status="completed", conclusion="neutral", title="T", summary="S",
        annotations=lines(120),
    )  # fmt: skip
    (check,) = made.repo.checks
    assert [one.start_line for one in check.annotations] == list(range(1, 121))
    await client.update_check_run(
        number, status="completed", conclusion="neutral", title="T", summary="S", annotations=lines(51)
    )
    assert len(check.annotations) == 171
    assert (await client.own_check_runs(pull.head_sha, "bot"))[0].annotations == 171
    asked = [seen for seen in made.world.requests if "/check-runs" in seen.path and seen.method != "GET"]
    assert [seen.method for seen in asked] == ["POST", "PATCH", "PATCH", "PATCH", "PATCH"]


async def test_only_our_own_are_found(tmp_path: Path) -> None:
    """Earlier ones of the name too; those of other Apps and names not."""
    made = scene(tmp_path)
    pull, client = with_pull(made), client_of(made)
    made.world.add_check(made.repo, pull.head, "bot")
    for external_id in ("1", "2"):
        await client.create_check_run(
            pull.head_sha, "bot", external_id=external_id, status="queued", title="T", summary="S"
        )
    await client.create_check_run(pull.head_sha, "other", external_id="3", status="queued", title="T", summary="S")
    assert [one.external_id for one in await client.own_check_runs(pull.head_sha, "bot")] == ["2", "1"]


async def test_without_the_permission(tmp_path: Path) -> None:
    """Named, before anything is asked of the repository."""
    made = scene(tmp_path)
    made.world.grant(made.installation, {"issues": "write", "checks": "read"})
    with pytest.raises(Forbidden, match="`checks: write`"):
        await client_of(made).create_check_run(COMMIT, "bot", external_id="1", status="queued", title="T", summary="S")


async def test_a_lost_answer_and_other_servers() -> None:
    """Unsure, once sent; where filters are unknown, what is not ours is left out here."""
    server = FakeGitHub()
    client = make_client(server)
    server.on("POST", f"{REPO}/check-runs", answer({}, 502))
    with pytest.raises(Unsure):
        await client.create_check_run(
            COMMIT, "bot", external_id="1", status="queued", title="T", summary="S", annotations=lines(60)
        )
    (sent,) = server.sent()
    assert len(json.loads(sent.content)["output"]["annotations"]) == 50
    assert server.minted == [{"repository_ids": [REPOSITORY.id], "permissions": {"checks": "write"}}]
    rows = [
        {"id": 1, "name": "bot", "status": "queued", "conclusion": None, "app": {"id": 42}},
        {"id": 2, "name": "bot", "status": "queued", "conclusion": None, "app": {"id": 43}},
        {"id": 3, "name": "x", "status": "queued", "conclusion": None, "app": {"id": 42}},
    ]
    server.on("GET", f"{REPO}/commits/{COMMIT}/check-runs", answer({"total_count": 3, "check_runs": rows}))
    assert [one.id for one in await client.own_check_runs(COMMIT, "bot")] == [1]
    assert server.sent("GET")[0].url.params["app_id"] == "42"


async def test_columns_are_for_one_line() -> None:
    """GitHub refuses them for several."""
    server = FakeGitHub()
    server.on("PATCH", f"{REPO}/check-runs/5", answer({"id": 5}))
    note = Annotation("a.py", 1, 2, "notice", "x", start_column=4, end_column=9)
    await make_client(server).update_check_run(5, status="queued", title="T", summary="S", annotations=[note])
    (sent,) = json.loads(server.sent()[0].content)["output"]["annotations"]
    assert sent == {"path": "a.py", "start_line": 1, "end_line": 2, "annotation_level": "notice", "message": "x"}
