"""A pull request as we know it: branches, files, checks, review threads, and the issues it is linked with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bot.model.thread import Account, Comment


@dataclass(frozen=True, slots=True)
class PullRequest:
    """What a pull request has beside its thread. `head_repository` is None where the fork is gone."""

    number: int
    title: str
    body: str
    author: Account
    state: str
    url: str
    head: str
    head_sha: str
    base: str
    base_sha: str
    repository: int
    head_repository: int | None
    draft: bool = False
    merged: bool = False

    @property
    def is_open(self) -> bool:
        """Whether it is neither closed nor merged."""
        return self.state == "open"

    @property
    def from_fork(self) -> bool:
        """Whether its head is another repository's, which nobody here wrote or vouched for."""
        return self.head_repository != self.repository


@dataclass(frozen=True, slots=True)
class PullFile:
    """One file that a pull request changes. `patch` is its hunks; empty where GitHub shows none (binary, too large)."""

    path: str
    #: GitHub's word: added, removed, modified, renamed, copied, changed, unchanged
    status: str
    additions: int
    deletions: int
    patch: str = ""
    previous_path: str = ""


@dataclass(frozen=True, slots=True)
class Annotation:
    """What a check says about lines of a file.

    Source: https://docs.github.com/en/rest/checks/runs#create-a-check-run
    """

    path: str
    start_line: int
    end_line: int
    level: Literal["notice", "warning", "failure"]
    message: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class CheckState:
    """How a check of ours stands, and what it says. With a `conclusion` it is completed, whatever `status` says.

    `status` is queued or in_progress, `summary` Markdown; `url` leads to more.
    """

    status: str
    title: str
    summary: str
    conclusion: str | None = None
    url: str = ""
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckRun:
    """A check of a commit. `conclusion` is None while it runs; `job_id` is that of a job of GitHub Actions.

    `app_id` is the App that made it, `external_id` that App's own name for it, `annotations` how many it has.
    """

    id: int
    name: str
    status: str
    conclusion: str | None
    url: str = ""
    title: str = ""
    summary: str = ""
    job_id: int | None = None
    app_id: int | None = None
    external_id: str = ""
    annotations: int = 0

    @property
    def failed(self) -> bool:
        """Whether it says that something is wrong."""
        return self.conclusion in ("failure", "timed_out", "startup_failure")


@dataclass(frozen=True, slots=True)
class FailedLog:
    """A check that failed, and what it printed or says; `note` tells why there is no log, or less than all of it."""

    check: CheckRun
    text: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class ReviewThread:
    """What was said about one place of a diff. `line` is None for a comment on the whole file.

    `hidden` counts comments that were not read.
    """

    path: str
    line: int | None
    resolved: bool
    outdated: bool
    comments: tuple[Comment, ...]
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class Linked:
    """An issue that a pull request closes, or a pull request that closes an issue."""

    repository: str
    number: int
    title: str
    state: str
    body: str
    author: Account
    url: str
    is_pull_request: bool = False


@dataclass(frozen=True, slots=True)
class Diff:
    """What a pull request changes, as a unified diff against the merge base with `base`."""

    number: int
    base: str
    head_sha: str
    text: str


@dataclass(frozen=True, slots=True)
class FailedLogs:
    """The failed checks of a commit; `running` counts those that have not ended, `unread` failed ones without a log."""

    head_sha: str
    failed: tuple[FailedLog, ...]
    running: int = 0
    unread: int = 0


def concluded(checks: Sequence[CheckRun]) -> str | None:
    """What all checks of a commit together come to, in GitHub's words; None while one has not ended.

    Neutral and skipped ones are no failure. Source:
    https://docs.github.com/en/pull-requests/collaborating-with-pull-requests/collaborating-on-repositories-with-code-quality-features/about-status-checks
    """
    if any(check.status != "completed" for check in checks):
        return None
    if any(check.failed for check in checks):
        return "failure"
    for bad in ("action_required", "cancelled", "stale"):
        if any(check.conclusion == bad for check in checks):
            return bad
    return "success"
