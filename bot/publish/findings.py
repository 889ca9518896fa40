"""Which findings a pull request has been told: a hidden signed line in our reviews and their comments.

    <!-- threadsmith findings=<32 hex>,… signature=<32 hex> -->

It stands above the marker of the slot where there is one. Only comments of our own count, as with `bot.publish.marker`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from bot.model.thread import Comment
from bot.publish.marker import Marker

_LINE = re.compile(
    r"^<!-- threadsmith findings=(?P<findings>[0-9a-f]{32}(?:,[0-9a-f]{32})*) signature=(?P<signature>[0-9a-f]{32})"
    r" -->[ \t]*$",
    re.MULTILINE,
)


def findings_line(marker: Marker, fingerprints: Iterable[str], *, repository_id: int, thread: int) -> str:
    """The line that says that these are told here; empty where there are none."""
    told = ",".join(fingerprints)
    if not told:
        return ""
    signature = marker.seal(told, repository_id=repository_id, thread=thread)
    return f"<!-- threadsmith findings={told} signature={signature} -->"


def told_findings(
    marker: Marker,
    comments: Iterable[Comment],
    *,
    repository_id: int,
    thread: int,
    mine: Callable[[Comment], bool],
) -> frozenset[str]:
    """The fingerprints that our reviews and review comments of a pull request carry."""
    found: set[str] = set()
    for comment in comments:
        if not mine(comment):
            continue
        for line in _LINE.finditer(comment.body.replace("\r\n", "\n")):
            told = line["findings"]
            if marker.sealed(told, line["signature"], repository_id=repository_id, thread=thread):
                found.update(told.split(","))
    return frozenset(found)
