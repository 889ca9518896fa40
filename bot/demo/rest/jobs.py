"""Jobs of GitHub Actions and what they printed.

Source: https://docs.github.com/en/rest/actions/workflow-jobs
"""

from __future__ import annotations

from bot.demo.refusal import not_found
from bot.demo.rest.call import Call, Reply
from bot.demo.rest.paging import page
from bot.demo.shapes import check as shape


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
