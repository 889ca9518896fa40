"""One good request to every route by which the bot acts on a thread beside talking."""

from __future__ import annotations

import httpx

from tests.demo.scene import Scene


async def ask(made: Scene, bot: httpx.AsyncClient) -> None:
    """The checked client complains about what is asked or answered otherwise than GitHub describes it."""
    here = made.path(f"/issues/{made.issue.number}/assignees")
    await bot.post(here, json={"assignees": ["meg", "nobody"]})
    await bot.request("DELETE", here, json={"assignees": ["meg"]})
