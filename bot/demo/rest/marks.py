"""Reactions and labels.

Sources: https://docs.github.com/en/rest/reactions/reactions, https://docs.github.com/en/rest/issues/labels
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from bot.demo.marks import Reacted, thread_of
from bot.demo.records import Content, Issue
from bot.demo.refusal import Refused, malformed
from bot.demo.rest import review_comments
from bot.demo.rest.call import Call, Endpoint, Reply
from bot.demo.rest.paging import page
from bot.demo.rest.threads import comment_of, find
from bot.demo.shapes import thread as shape

Subject = Callable[[Call, str], Reacted]


def list_reactions(subject: Subject) -> Endpoint:
    """Reactions to an issue or a comment."""

    async def endpoint(call: Call) -> Reply:
        row, content = subject(call, "read"), call.query("content")
        rows = [entry for entry in row.reactions if content in {None, entry.content}]
        shown, headers = page(call, rows, thread_of(row).repository)
        return Reply([shape.reaction(call.world.addresses, entry) for entry in shown], headers=headers)

    return endpoint


def create_reaction(subject: Subject) -> Endpoint:
    """React: 201 for a new reaction, 200 for one that is there already."""

    async def endpoint(call: Call) -> Reply:
        row = subject(call, "write")
        made, new = call.world.react(row, call.actor(), cast("Content", call.needed("content", str)))
        return Reply(shape.reaction(call.world.addresses, made), 201 if new else 200)

    return endpoint


def delete_reaction(subject: Subject) -> Endpoint:
    """Take a reaction away."""

    async def endpoint(call: Call) -> Reply:
        call.world.unreact(subject(call, "write"), call.number("reaction_id"))
        return Reply(status=204)

    return endpoint


issue_subject: Subject = find
comment_subject: Subject = comment_of
review_comment_subject: Subject = review_comments.comment_of


def _labels(call: Call, row: Issue) -> Reply:
    return Reply([shape.label(call.world.addresses, row.repository, entry) for entry in row.labels])


def _names(call: Call) -> list[str]:
    rows = call.needed("labels", list)
    names = [entry.get("name") if isinstance(entry, dict) else entry for entry in rows]
    if not all(isinstance(name, str) and name for name in names):
        raise malformed("A label is a name.")
    return [str(name) for name in names]


async def list_labels(call: Call) -> Reply:
    """Labels of an issue."""
    return _labels(call, find(call))


async def add_labels(call: Call) -> Reply:
    """More labels."""
    row = find(call, "write")
    names = [entry.name for entry in row.labels] + _names(call)
    return _labels(call, call.world.set_labels(row.repository, row.number, call.actor(), names))


async def replace_labels(call: Call) -> Reply:
    """These labels and no others."""
    row = find(call, "write")
    return _labels(call, call.world.set_labels(row.repository, row.number, call.actor(), _names(call)))


async def remove_label(call: Call) -> Reply:
    """One label less. Raises 404 for one that is not there."""
    row, gone = find(call, "write"), call.params["name"].lower()
    kept = [entry.name for entry in row.labels if entry.name.lower() != gone]
    if len(kept) == len(row.labels):
        raise Refused(404, "Label does not exist")
    return _labels(call, call.world.set_labels(row.repository, row.number, call.actor(), kept))


async def remove_labels(call: Call) -> Reply:
    """No labels at all."""
    row = find(call, "write")
    call.world.set_labels(row.repository, row.number, call.actor(), [])
    return Reply(status=204)
