"""Checks of commits, jobs of GitHub Actions and what they printed; reviews and their comments, as lists.

Sources: https://docs.github.com/en/rest/checks/runs, https://docs.github.com/en/rest/actions/workflow-jobs,
https://docs.github.com/en/rest/pulls/reviews, https://docs.github.com/en/rest/pulls/comments
"""

from __future__ import annotations

import asyncio

from bot.demo.refusal import Refused, not_found
from bot.demo.rest.call import Call, Reply
from bot.demo.rest.paging import page
from bot.demo.rest.pulls import find
from bot.demo.shapes import check as shape
from bot.demo.shapes import review as review_shape


async def list_check_runs(call: Call) -> Reply:
    """Checks of a commit, branch or tag, newest first."""
    repo, ref = call.repository("checks"), call.params["ref"]
    sha = await asyncio.to_thread(repo.git.resolve, ref)
    if sha is None:
        raise Refused(422, f"No commit found for SHA: {ref}")
    name, status = call.query("check_name"), call.query("status")
    rows = [
        row
        for row in call.world.checks(repo, sha, newest=call.query("filter") != "all")
        if name in {None, row.name} and status in {None, row.status}
    ]
    shown, headers = page(call, rows, repo)
    pulls = [pull for pull in call.world.pulls(repo) if pull.issue.state == "open" and pull.head_sha == sha]
    runs = [shape.check_run(call.world.addresses, row, pulls) for row in shown]
    return Reply({"total_count": len(rows), "check_runs": runs}, headers=headers)


async def list_jobs(call: Call) -> Reply:
    """Jobs of a workflow run. Raises 404."""
    repo, number = call.repository("actions"), call.number("run_id")
    rows = [row for row in repo.checks if row.run_id == number]
    if not rows:
        raise not_found()
    shown, headers = page(call, rows, repo)
    jobs = [shape.job(call.world.addresses, row) for row in shown]
    return Reply({"total_count": len(rows), "jobs": jobs}, headers=headers)


async def get_log(call: Call) -> Reply:
    """Where a job's log is, for a minute. Raises 404 while there is none, 410 once it has expired."""
    row = call.world.job(call.repository("actions"), call.number("job_id"))
    if row.log is None or row.status != "completed":
        raise not_found()
    address = call.world.store.lend(row.log.encode("utf-8", "replace"), "text/plain; charset=utf-8")
    return Reply(status=302, headers={"Location": address}, raw=b"")


async def list_reviews(call: Call) -> Reply:
    """Submitted reviews of a pull request, oldest first."""
    row = find(call)
    shown, headers = page(call, row.reviews, row.repository)
    return Reply([review_shape.review(call.world.addresses, entry) for entry in shown], headers=headers)


async def list_review_comments(call: Call) -> Reply:
    """What was said about lines of a pull request, oldest first."""
    row = find(call)
    rows = sorted((entry for thread in row.review_threads for entry in thread.comments), key=lambda entry: entry.id)
    shown, headers = page(call, rows, row.repository)
    return Reply([review_shape.comment(call.world.addresses, entry) for entry in shown], headers=headers)
