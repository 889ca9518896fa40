"""Pages and their `Link` header.

Source: https://docs.github.com/en/rest/using-the-rest-api/using-pagination-in-the-rest-api
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar
from urllib.parse import urlencode

from bot.demo.records import Repository
from bot.demo.rest.call import Call

T = TypeVar("T")


def page(call: Call, rows: Sequence[T], repo: Repository | None = None) -> tuple[Sequence[T], dict[str, str]]:
    """The rows of the page asked for, and the headers. Addresses in `Link` name a repository by number, as GitHub's."""
    size = min(_positive(call.query("per_page"), 30), 100)
    number = _positive(call.query("page"), 1)
    last = max(1, -(-len(rows) // size))
    path = call.path
    if repo is not None and path.startswith("/repos/"):
        path = "/".join(["/repositories", str(repo.id), *path.split("/", 4)[4:]])
    others = {key: value for key, value in call.request.query_params.items() if key != "page"}
    wanted = {"prev": number - 1, "next": number + 1, "last": last, "first": 1}
    if number == 1:
        del wanted["prev"], wanted["first"]
    if number >= last:
        del wanted["next"], wanted["last"]
    links = [
        f'<{call.world.api_url}{path}?{urlencode({**others, "page": target})}>; rel="{name}"'
        for name, target in wanted.items()
    ]
    start = (number - 1) * size
    return rows[start : start + size], {"Link": ", ".join(links)} if last > 1 and links else {}


def _positive(text: str | None, default: int) -> int:
    return int(text) if text and text.isdecimal() and int(text) > 0 else default
