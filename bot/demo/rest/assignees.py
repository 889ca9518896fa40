"""Assignees of issues and pull requests.

Source: https://docs.github.com/en/rest/issues/assignees
"""

from __future__ import annotations

from bot.demo.refusal import malformed
from bot.demo.rest.call import Call, Reply
from bot.demo.rest.threads import find
from bot.demo.shapes import thread as shape


def _logins(call: Call) -> list[str]:
    logins = call.field("assignees", list) or []
    if not all(isinstance(login, str) for login in logins):
        raise malformed("An assignee is a login.")
    return [str(login) for login in logins]


async def add(call: Call) -> Reply:
    """More people; whom GitHub cannot assign it leaves out silently."""
    row = find(call, "write")
    made = call.world.assign(row.repository, row.number, call.actor(), _logins(call))
    return Reply(shape.issue(call.world.addresses, made), 201)


async def remove(call: Call) -> Reply:
    """Fewer people."""
    row = find(call, "write")
    made = call.world.unassign(row.repository, row.number, call.actor(), _logins(call))
    return Reply(shape.issue(call.world.addresses, made))
