"""Attachments of a request's comment, as the files of a run are fetched."""

from __future__ import annotations

from bot.github import RepositoryClient
from bot.workspace.staging import FILE_BYTES_MAX, Fetch, Fetched


def fetcher(client: RepositoryClient, comment_id: int | None) -> Fetch:
    """Reads attachments of GitHub's hosts; `comment_id` is the comment that names them, None for the issue's body."""

    async def fetch(url: str) -> Fetched:
        found = await client.attachment(url, keep=FILE_BYTES_MAX, comment_id=comment_id)
        return Fetched(None if found.cut else found.head + found.tail, found.size)

    return fetch
