"""One good request to every route by which the bot acts on a thread beside talking."""

from __future__ import annotations

import httpx

from tests.demo.scene import Scene


async def ask(made: Scene, bot: httpx.AsyncClient) -> None:
    """The checked client complains about what is asked or answered otherwise than GitHub describes it."""
    here = made.path(f"/issues/{made.issue.number}/assignees")
    await bot.post(here, json={"assignees": ["meg", "nobody"]})
    await bot.request("DELETE", here, json={"assignees": ["meg"]})
    text = "# Units\n\nIn bytes.\n"
    made.world.write_file(made.repo, "docs/units.md", text, "meg", branch="units")
    pull = made.world.open_pull(made.repo, "meg", "Say what units are", head="units")
    reviews = made.path(f"/pulls/{pull.number}/reviews")
    comments = [
        {"path": "docs/units.md", "line": 3, "start_line": 1, "side": "RIGHT", "start_side": "RIGHT", "body": "Bits?"},
        {"path": "docs/units.md", "line": 1, "body": "Shorter."},
    ]
    told = {"commit_id": pull.head_sha, "body": "Two things.", "event": "COMMENT", "comments": comments}
    review = (await bot.post(reviews, json=told)).json()
    await bot.post(reviews, json={"event": "APPROVE"})
    shown = await bot.get(f"{reviews}/{review['id']}/comments", params={"per_page": 100})
    assert [one["body"] for one in shown.json()] == ["Bits?", "Shorter."]
