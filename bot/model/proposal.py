"""A pull request as the one who opens or changes it needs it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a pull request proposes: the branch `head` at `head_sha`, to be merged into `base`."""

    number: int
    url: str
    head: str
    head_sha: str
    base: str
    title: str
    body: str
    draft: bool = False
    state: str = "open"


@dataclass(frozen=True, slots=True)
class Remark:
    """One comment of a review, at a line of the pull request's diff.

    `side` is `LEFT` for what was removed, else `RIGHT`; `start_line` begins a range that `line` ends.
    Source: https://docs.github.com/en/rest/pulls/reviews#create-a-review-for-a-pull-request
    """

    path: str
    line: int
    body: str
    side: str = "RIGHT"
    start_line: int | None = None
