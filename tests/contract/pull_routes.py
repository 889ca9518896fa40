"""One good request to every route that has to do with pull requests."""

from __future__ import annotations

import httpx

from bot.demo.records import Pull
from tests.demo.scene import Scene

DIFF = {"Accept": "application/vnd.github.diff"}


def with_pull(made: Scene, branch: str = "fix/size", body: str = "Fixes #1.") -> Pull:
    """meg opens a pull request: one file changed, one made, one renamed."""
    text = "def parse_size(text):\n    return int(text or 0)\n"
    files = {"src/size.py": text, "docs/size.md": "# Sizes\n", "run.sh": None, "check.sh": "#!/bin/sh\nexit 0\n"}
    made.world.write_files(made.repo, files, "meg", "Take nothing for 0", branch=branch)
    return made.world.open_pull(made.repo, "meg", "Take nothing for 0", head=branch, body=body)


async def ask(made: Scene, bot: httpx.AsyncClient) -> None:
    """What GitHub describes is asked as it describes it; the checked client complains about the answers."""
    path = made.path
    pull = with_pull(made)
    here = path(f"/pulls/{pull.number}")
    made.world.write_file(made.repo, "docs/size.md", "# Sizes\n\nIn bytes.\n", "meg", branch="docs")
    body = {"title": "Say what sizes are", "head": "docs", "base": "main", "body": "Text", "draft": True}
    other = (await bot.post(path("/pulls"), json=body)).json()
    await bot.patch(path(f"/pulls/{other['number']}"), json={"title": "Other", "base": "main", "state": "closed"})
    await bot.get(path("/pulls"), params={"state": "all", "head": "ana:docs", "base": "main", "sort": "updated"})
    await bot.get(here)
    await bot.get(here, headers=DIFF)
    await bot.get(f"{here}/files", params={"per_page": 2})
    await bot.get(path(f"/issues/{pull.number}"))
    await bot.get(path("/branches/fix/size"))
    await bot.get(path("/git/ref/heads/fix/size"))
    await bot.get(path("/compare/main...fix/size"), params={"per_page": 5})
    await bot.get(path("/compare/main...fix/size"), headers=DIFF)
