"""One good request to every route that has to do with pull requests."""

from __future__ import annotations

import httpx

from bot.demo.records import Pull
from bot.demo.reviews import Remark
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
    await _machines(made, bot, pull)
    await _reviewers(made, bot, here)


async def _machines(made: Scene, bot: httpx.AsyncClient, pull: Pull) -> None:
    path = made.path
    made.world.add_check(made.repo, pull.head, "tests", "failure", log="not ok 5\n", title="1 failed", summary="Sizes")
    made.world.add_check(made.repo, pull.head, "lint", None)
    found = await bot.get(path(f"/commits/{pull.head_sha}/check-runs"), params={"filter": "latest", "per_page": 100})
    job = next(row for row in found.json()["check_runs"] if row["name"] == "tests")
    run = job["details_url"].split("/")[-3]
    await bot.get(path(f"/commits/{pull.head}/check-runs"), params={"check_name": "lint", "status": "in_progress"})
    await bot.get(path(f"/actions/runs/{run}/jobs"))
    log = await bot.get(path(f"/actions/jobs/{job['id']}/logs"))
    assert log.status_code == 302


async def _reviewers(made: Scene, bot: httpx.AsyncClient, here: str) -> None:
    world, number = made.world, int(here.rpartition("/")[2])
    remarks = [Remark("src/size.py", "Why 0?", 2), Remark("docs/size.md", "More, please.")]
    world.review(made.repo, number, "ana", "Nearly.", state="CHANGES_REQUESTED", remarks=remarks)
    thread = world.pull(made.repo, number).review_threads[0]
    world.reply(thread.comments[0].id, "meg", "Because nothing is nothing.")
    await bot.get(f"{here}/reviews", params={"per_page": 100})
    await bot.get(f"{here}/comments", params={"per_page": 100})
