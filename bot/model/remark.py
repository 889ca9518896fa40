"""One comment of a review that is to be posted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remark:
    """At a line of the pull request's diff, or at a range of lines from `start_line` to `line`.

    `side` is `LEFT` for what was removed, else `RIGHT`.
    Source: https://docs.github.com/en/rest/pulls/reviews#create-a-review-for-a-pull-request
    """

    path: str
    line: int
    body: str
    side: str = "RIGHT"
    start_line: int | None = None
