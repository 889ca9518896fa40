"""One good request to every route that a conversation in reviews, check runs and schedules needs."""

from __future__ import annotations

import httpx

from bot.demo.reviews import Remark
from tests.contract.pull_routes import with_pull
from tests.demo.scene import Scene


async def ask(made: Scene, bot: httpx.AsyncClient) -> None:
    """The checked client complains about what is asked or answered otherwise than GitHub describes it."""
    pull = with_pull(made, "fix/talk", "A talk.")
    remark = Remark("src/size.py", "Why 0?", 2)
    made.world.review(made.repo, pull.number, "ana", "Nearly.", state="CHANGES_REQUESTED", remarks=[remark])
    first = pull.review_threads[0].comments[0]
    here, there = made.path(f"/pulls/{pull.number}"), made.path(f"/pulls/comments/{first.id}")
    said = (await bot.post(f"{here}/comments/{first.id}/replies", json={"body": "Because."})).json()
    mine = made.path(f"/pulls/comments/{said['id']}")
    await bot.get(there)
    await bot.patch(mine, json={"body": "Because nothing is nothing."})
    since = {"since": "2025-01-01T00:00:00Z", "sort": "updated", "direction": "desc"}
    await bot.get(f"{here}/comments", params=since)
    reaction = (await bot.post(f"{there}/reactions", json={"content": "eyes"})).json()
    await bot.post(f"{there}/reactions", json={"content": "eyes"})
    await bot.get(f"{there}/reactions", params={"content": "eyes"})
    await bot.delete(f"{there}/reactions/{reaction['id']}")
    await bot.delete(mine)
    review = f"{here}/reviews/{pull.reviews[0].id}"
    await bot.get(review)
    await bot.put(review, json={"body": "Nearly!"})
    await bot.put(f"{review}/dismissals", json={"message": "Settled."})
    await _checks(made, bot, pull.head_sha)
    await bot.get(made.path("/commits"), params={"path": "README.md", "per_page": 1})
    await bot.get(f"/repositories/{made.repo.id}")


async def _checks(made: Scene, bot: httpx.AsyncClient, sha: str) -> None:
    line = {"path": "src/size.py", "start_line": 2, "end_line": 2, "annotation_level": "warning", "message": "0?"}
    output = {"title": "Looking", "summary": "At sizes", "text": "More", "annotations": [line]}
    body = {"name": "bot", "head_sha": sha, "external_id": "r1", "status": "in_progress", "output": output}
    row = (await bot.post(made.path("/check-runs"), json={**body, "details_url": "https://bot.test/r1"})).json()
    here = made.path(f"/check-runs/{row['id']}")
    await bot.patch(here, json={"conclusion": "neutral", "output": {**output, "annotations": [{**line, "title": "T"}]}})
    await bot.get(here)
    shown = await bot.get(f"{here}/annotations", params={"per_page": 50})
    assert [one["title"] for one in shown.json()] == [None, "T"]
    made.world.add_check(made.repo, sha, "bot")  # of the same name, and another App's
    mine: dict[str, str | int] = {"app_id": made.app.id, "filter": "all", "check_name": "bot"}
    found = (await bot.get(made.path(f"/commits/{sha}/check-runs"), params=mine)).json()
    assert [one["external_id"] for one in found["check_runs"]] == ["r1"]
