"""Reviews by an App: what is taken, what is refused, and what is told of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.demo.records import Pull
from tests.demo.scene import Scene, scene

EVENTS = ["pull_request_review", "pull_request_review_comment"]


def with_pull(directory: Path) -> tuple[Scene, Pull, str]:
    """A pull request that makes a file of three lines, and the address of its reviews."""
    made = scene(directory)
    made.app.events += EVENTS
    made.world.write_file(made.repo, "docs/units.md", "# Units\n\nIn bytes.\n", "meg", branch="units")
    pull = made.world.open_pull(made.repo, "meg", "Say what units are", head="units")
    return made, pull, made.path(f"/pulls/{pull.number}/reviews")


async def test_a_review_is_told_with_its_comments(tmp_path: Path) -> None:
    """One event for the review, one for each comment; the comments are read by the review's number."""
    made, pull, reviews = with_pull(tmp_path)
    comments = [
        {"path": "docs/units.md", "line": 3, "side": "RIGHT", "body": "Bits?"},
        {"path": "docs/units.md", "line": 2, "start_line": 1, "side": "RIGHT", "start_side": "RIGHT", "body": "Hm."},
    ]
    told: dict[str, Any] = {"commit_id": pull.head_sha, "event": "COMMENT", "body": "Two.", "comments": comments}
    async with made.as_installation() as bot:
        review = (await bot.post(reviews, json=told)).json()
        assert (review["state"], review["user"]["login"]) == ("COMMENTED", "bot[bot]")
        again = {"event": "REQUEST_CHANGES", "body": "No.", "comments": [{**comments[0], "body": "No."}]}
        await bot.post(reviews, json=again)
        shown = (await bot.get(f"{reviews}/{review['id']}/comments")).json()
        assert (await bot.get(f"{reviews}/1/comments")).status_code == 404
    assert [(one["body"], one["line"], one["start_line"], one["position"]) for one in shown] == [
        ("Bits?", 3, None, 3),
        ("Hm.", 2, 1, 2),
    ]
    events = [(one.event, one.action) for one in made.world.deliveries if one.event in EVENTS]
    assert events == [
        (EVENTS[0], "submitted"),
        *[(EVENTS[1], "created")] * 2,
        (EVENTS[0], "submitted"),
        (EVENTS[1], "created"),
    ]


PLACE = {"path": "docs/units.md", "line": 3, "body": "x"}


@pytest.mark.parametrize(
    "told",
    [
        {"body": "x"},
        {"event": "MERGE", "body": "x"},
        {"event": "COMMENT", "body": ""},
        {"event": "REQUEST_CHANGES"},
        {"event": "COMMENT", "body": "x", "comments": ["x"]},
        {"event": "COMMENT", "body": "x", "comments": [{"path": "docs/units.md", "line": 3}]},
        {"event": "COMMENT", "body": "x", "comments": [{"path": "docs/units.md", "body": "x"}]},
        {"event": "COMMENT", "body": "x", "comments": [{**PLACE, "line": 4}]},
        {"event": "COMMENT", "body": "x", "comments": [{**PLACE, "path": "README.md"}]},
        {"event": "COMMENT", "body": "x", "comments": [{**PLACE, "side": "MIDDLE"}]},
        {"event": "COMMENT", "body": "x", "comments": [{**PLACE, "start_line": "1"}]},
    ],
)
async def test_what_is_refused(tmp_path: Path, told: dict[str, Any]) -> None:
    """422, and nothing is kept or told."""
    made, pull, reviews = with_pull(tmp_path)
    async with made.client(made.world.mint(made.installation).value, unchecked=True) as bot:
        assert (await bot.post(reviews, json=told)).status_code == 422
    assert pull.reviews == []
    assert pull.review_threads == []


async def test_ones_own_pull_request_is_not_approved(tmp_path: Path) -> None:
    """A comment is fine."""
    made, _, _ = with_pull(tmp_path)
    made.world.write_file(made.repo, "x", "x", "meg", branch="ours")
    pull = made.world.open_pull(made.repo, "bot[bot]", "Ours", head="ours", app=made.app)
    async with made.as_installation() as bot:
        reviews = made.path(f"/pulls/{pull.number}/reviews")
        assert (await bot.post(reviews, json={"event": "APPROVE"})).status_code == 422
        assert (await bot.post(reviews, json={"event": "COMMENT", "body": "x"})).status_code == 200


async def test_a_token_that_only_reads(tmp_path: Path) -> None:
    made, _, reviews = with_pull(tmp_path)
    async with made.as_installation(pull_requests="read") as reader:
        assert (await reader.post(reviews, json={"event": "APPROVE"})).status_code == 403
        assert (await reader.get(reviews)).status_code == 200
