"""The App's own endpoints: itself, its installations, their tokens, its webhook deliveries.

Sources: https://docs.github.com/en/rest/apps/apps, https://docs.github.com/en/rest/apps/webhooks
"""

from __future__ import annotations

from bot.demo.deliveries import Attempt
from bot.demo.records import Installation
from bot.demo.refusal import Refused, malformed, not_found, not_integration
from bot.demo.rest.call import Call, Reply
from bot.demo.rest.paging import page
from bot.demo.shapes import app as shape
from bot.demo.shapes.repository import repository
from bot.model.role import Role


async def get_app(call: Call) -> Reply:
    """The App that asks."""
    app = call.app()
    count = sum(row.app is app for row in call.world.installations.values())
    return Reply(shape.integration(call.world.addresses, app, count))


async def list_installations(call: Call) -> Reply:
    """Where it is installed."""
    app = call.app()
    rows, headers = page(call, [row for row in call.world.installations.values() if row.app is app])
    return Reply([shape.installation(call.world.addresses, row) for row in rows], headers=headers)


async def get_installation(call: Call) -> Reply:
    """One installation, with what it was granted."""
    return Reply(shape.installation(call.world.addresses, _installation(call)))


def _installation(call: Call) -> Installation:
    row = call.world.installations.get(call.number("installation_id"))
    if row is None or row.app is not call.app():
        raise not_found()
    return row


async def create_token(call: Call) -> Reply:
    """A token for an installation, narrowed to repositories and permissions as asked."""
    call.app()
    row, wanted, names = _installation(call), call.field("repository_ids", list), call.field("repositories", list)
    permissions = call.field("permissions", dict)
    if wanted is not None and names is not None:
        raise malformed("Use repositories or repository_ids, not both.")
    if names is not None:
        known = {repo.name.lower(): repo.id for repo in call.world.installed(row)}
        wanted = [known.get(str(name).lower(), 0) for name in names]
    made = call.world.mint(row, wanted, permissions)
    repos = [repo for repo in call.world.installed(row) if made.repository_ids and repo.id in made.repository_ids]
    return Reply(shape.token(call.world.addresses, made, repos or None), 201)


async def get_repository_installation(call: Call) -> Reply:
    """The App's installation on a repository."""
    row = call.world.installation_of(call.app(), call.named_repository())
    if row is None:
        raise not_found()
    return Reply(shape.installation(call.world.addresses, row))


async def list_repositories(call: Call) -> Reply:
    """The repositories that an installation token may touch."""
    row, given = call.viewer.installation, call.viewer.repository_ids
    if row is None:
        raise not_integration() if call.viewer.kind != "anonymous" else Refused(401, "Requires authentication")
    repos = [repo for repo in call.world.installed(row) if given is None or repo.id in given]
    shown, headers = page(call, repos)
    selection = "all" if given is None and row.repository_ids is None else "selected"
    rows = [repository(call.world.addresses, repo, Role.READ) for repo in shown]
    return Reply({"total_count": len(repos), "repository_selection": selection, "repositories": rows}, headers=headers)


async def list_deliveries(call: Call) -> Reply:
    """Attempts to deliver the App's webhooks, newest first, page by cursor."""
    app, status = call.app(), call.query("status")
    rows = call.world.log(app)
    if status in {"success", "failure"}:
        rows = [row for row in rows if (row.status_code < 400) is (status == "success")]
    cursor = call.query("cursor")
    if cursor is not None:
        if not cursor.isdecimal():
            raise Refused(400, "The cursor is invalid")
        rows = [row for row in rows if row.id <= int(cursor)]
    text = call.query("per_page") or ""
    size = min(int(text), 100) if text.isdecimal() and int(text) else 30
    headers = {}
    if len(rows) > size:
        to = f"{call.world.api_url}/app/hook/deliveries?per_page={size}&cursor={rows[size].id}"
        headers["Link"] = f'<{to}>; rel="next"'
    return Reply([shape.delivery(row) for row in rows[:size]], headers=headers)


def _attempt(call: Call) -> Attempt:
    number = call.number("delivery_id")
    for row in call.world.log(call.app()):
        if row.id == number:
            return row
    raise not_found()


async def get_delivery(call: Call) -> Reply:
    """One attempt, with request and response."""
    call.app()
    return Reply(shape.full_delivery(_attempt(call), f"{call.world.site_url}/webhook"))


async def redeliver(call: Call) -> Reply:
    """Deliver once more, under the same GUID."""
    call.app()
    found = _attempt(call)
    for hand_over in call.world.outgoing:
        hand_over(found.delivery, True)
    return Reply({}, 202)
