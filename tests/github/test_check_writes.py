"""Check runs made and changed by the App."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.errors import Forbidden, Unsure
from bot.model.pull import Annotation, CheckState
from tests.contract.pull_routes import with_pull
from tests.demo.scene import scene
from tests.github.fake import COMMIT, REPOSITORY, FakeGitHub, answer, make_client
from tests.github.lookalike import client_of

AT = datetime(2025, 11, 3, 9, 59, 30, 5, UTC)
REPO = "/repos/ana/parser"


QUEUED = CheckState("queued", "T", "S")


def neutral(count: int) -> CheckState:
    """Notes about as many lines."""
    notes = tuple(Annotation("src/size.py", n, n, "warning", f"line {n}") for n in range(1, count + 1))
    return CheckState("completed", "T", "S", "neutral", annotations=notes)


async def test_from_its_start_to_its_end(tmp_path: Path) -> None:
    """Made running, found by its own name, ended with what it found."""
    made = scene(tmp_path)
    pull, client = with_pull(made), client_of(made)
    looking = CheckState("in_progress", "Looking", "At sizes", url="https://bot.test/r1")
    number = await client.create_check_run(pull.head_sha, "bot / build", looking, external_id="slot 1", started_at=AT)
    (found,) = await client.own_check_runs(pull.head_sha, "bot / build")
    assert (found.id, found.external_id, found.status, found.conclusion) == (number, "slot 1", "in_progress", None)
    note = Annotation("src/size.py", 2, 2, "failure", "0?", "Sizes")
    await client.update_check_run(number, CheckState("in_progress", "Done", "Two", "failure", annotations=(note,)))
    (check,) = made.repo.checks
    assert (check.conclusion, check.title, check.summary, check.details_url) == (
        "failure", "Done", "Two", "https://bot.test/r1",
    )  # fmt: skip
    assert check.started_at == AT.replace(microsecond=0)
    (kept,) = check.annotations
    assert (kept.path, kept.level, kept.title, kept.message) == ("src/size.py", "failure", "Sizes", "0?")


async def test_many_annotations(tmp_path: Path) -> None:
    """Fifty at a time, all of them in the end, in order."""
    made = scene(tmp_path)
    pull, client = with_pull(made), client_of(made)
    number = await client.create_check_run(pull.head_sha, "bot", neutral(120), external_id="1")
    (check,) = made.repo.checks
    assert [one.start_line for one in check.annotations] == list(range(1, 121))
    await client.update_check_run(number, neutral(51))
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
        await client.create_check_run(pull.head_sha, "bot", QUEUED, external_id=external_id)
    await client.create_check_run(pull.head_sha, "other", QUEUED, external_id="3")
    assert [one.external_id for one in await client.own_check_runs(pull.head_sha, "bot")] == ["2", "1"]


async def test_without_the_permission(tmp_path: Path) -> None:
    """Named, before anything is asked of the repository."""
    made = scene(tmp_path)
    made.world.grant(made.installation, {"issues": "write", "checks": "read"})
    with pytest.raises(Forbidden, match="`checks: write`"):
        await client_of(made).create_check_run(COMMIT, "bot", QUEUED, external_id="1")


async def test_a_lost_answer_and_other_servers() -> None:
    """Unsure, once sent; where filters are unknown, what is not ours is left out here."""
    server = FakeGitHub()
    client = make_client(server)
    server.on("POST", f"{REPO}/check-runs", answer({}, 502))
    with pytest.raises(Unsure):
        await client.create_check_run(COMMIT, "bot", neutral(60), external_id="1")
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


async def test_made_and_not_all_said(tmp_path: Path) -> None:
    """A limit between the first fifty and the rest: it stands there, so that it is not made again."""
    made = scene(tmp_path)
    pull, client = with_pull(made), client_of(made)
    made.world.faults.limited(60, "PATCH", ".*/check-runs/.*")
    with pytest.raises(Unsure, match="the check's annotations"):
        await client.create_check_run(pull.head_sha, "bot", neutral(60), external_id="1")
    found = await client_of(made).own_check_runs(pull.head_sha, "bot")
    assert [one.annotations for one in found] == [50]
