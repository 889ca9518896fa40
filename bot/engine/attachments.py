"""Attachments of a request's comment, as the files of a run are fetched."""

from __future__ import annotations

from bot.github import RepositoryClient
from bot.store.runs import RunRows
from bot.workspace.staging import FILE_BYTES_MAX, Fetch, Fetched


def asking_comment(rows: RunRows) -> int | None:
    """The comment whose words the run follows: a retry has those of another than the one that asks for it."""
    first: int | None = rows.dispatch.trigger.get("comment_id", rows.dispatch.comment_id)
    return first


def asking_kind(rows: RunRows) -> str:
    """What that is: a comment, a review or a review comment."""
    trigger = rows.dispatch.trigger
    review = trigger.get("review_id")
    if review is None:
        return "comment"
    return "review" if review == trigger.get("comment_id") else "review_comment"


def fetcher(client: RepositoryClient, comment_id: int | None, number: int, kind: str = "comment") -> Fetch:
    """Reads attachments of GitHub's hosts; `comment_id` is the comment that has them, None: the body of `number`.

    `kind` says what of the thread that is: a comment, a review or a review comment.
    """

    async def fetch(url: str) -> Fetched:
        found = await client.attachment(url, keep=FILE_BYTES_MAX, comment_id=comment_id, number=number, kind=kind)
        return Fetched(None if found.cut else found.head + found.tail, found.size)

    return fetch
