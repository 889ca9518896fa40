"""Attachments of a request's comment, as the files of a run are fetched."""

from __future__ import annotations

from bot.github import RepositoryClient
from bot.store.runs import RunRows
from bot.workspace.staging import FILE_BYTES_MAX, Fetch, Fetched


def asking_comment(rows: RunRows) -> int | None:
    """The comment whose words the run follows: a retry has those of another than the one that asks for it."""
    first: int | None = rows.dispatch.trigger.get("comment_id", rows.dispatch.comment_id)
    return first


def fetcher(client: RepositoryClient, comment_id: int | None, number: int) -> Fetch:
    """Reads attachments of GitHub's hosts; `comment_id` is the comment that has them, None: the body of `number`."""

    async def fetch(url: str) -> Fetched:
        found = await client.attachment(url, keep=FILE_BYTES_MAX, comment_id=comment_id, number=number)
        return Fetched(None if found.cut else found.head + found.tail, found.size)

    return fetch
