"""What a step's inputs read of GitHub: the pull request, its checks, its reviews, and more of the thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from bot.context import Selection, ThreadSnapshot, Unavailable, WindowPolicy, authors_needed, select
from bot.errors import Forbidden, NotFound
from bot.github import RepositoryClient
from bot.model.pull import CheckRun, Diff, FailedLog, FailedLogs, Linked, PullRequest, ReviewThread
from bot.model.role import Role
from bot.model.thread import Account

#: logs of one attempt, and bytes of each that are kept
LOGS_MAX = 10
LOG_BYTES = 512 * 1024

RoleOf = Callable[[Account], Awaitable[Role]]
#: the thread with a window of this many comments, read anew
ReadThread = Callable[[int], Awaitable[ThreadSnapshot]]


class GitHubSources:
    """The sources of one attempt (`bot.context.Sources`): each thing is read when it is asked for.

    `read_thread` reads the thread at the run's anchor with a window of so many comments; `policy` says whose words the
    step may see, and its `count` is replaced.
    """

    def __init__(
        self,
        client: RepositoryClient,
        *,
        number: int,
        is_pull_request: bool,
        read_thread: ReadThread,
        policy: WindowPolicy,
        role_of: RoleOf,
    ) -> None:
        self._client = client
        self._number = number
        self._is_pull_request = is_pull_request
        self._read_thread = read_thread
        self._policy = policy
        self._role_of = role_of
        self._known: PullRequest | None = None

    async def diff(self) -> Diff:
        """What the pull request changes. Raises `Unavailable` on an issue."""
        pull = await self._pull("a diff")
        return Diff(pull.number, pull.base, pull.head_sha, await self._client.diff(pull.number))

    async def failed_logs(self) -> FailedLogs:
        """What the failed checks of the pull request's head printed, or say where they are no jobs of Actions."""
        pull = await self._pull("checks")
        runs = await self._client.check_runs(pull.head_sha)
        failed = sorted((run for run in runs if run.failed), key=lambda run: (run.name, run.id))
        logs = [await self._log(run) for run in failed[:LOGS_MAX]]
        running = sum(run.conclusion is None for run in runs)
        return FailedLogs(pull.head_sha, tuple(logs), running, max(0, len(failed) - LOGS_MAX))

    async def unresolved_threads(self) -> tuple[ReviewThread, ...]:
        """The review threads that nobody resolved."""
        pull = await self._pull("review threads")
        return tuple(one for one in await self._client.review_threads(pull.number) if not one.resolved)

    async def linked_issues(self) -> tuple[Linked, ...]:
        """The issues that the pull request closes, or the pull requests that close the issue."""
        text = (await self._pull("linked issues")).body if self._is_pull_request else ""
        return await self._client.linked(self._number, pull_request=self._is_pull_request, text=text)

    async def comments(self, count: int) -> Selection:
        """The last `count` mentionable comments before the anchor, whatever the recency window."""
        snapshot = await self._read_thread(count)
        policy = replace(self._policy, count=count)
        roles: dict[int, Role] = {}
        while needed := authors_needed(snapshot, policy, roles):
            roles |= {account.id: await self._role_of(account) for account in needed}
        return select(snapshot, policy, roles)

    async def _pull(self, what: str) -> PullRequest:
        if not self._is_pull_request:
            raise Unavailable(f"this thread is an issue; only a pull request has {what}")
        if self._known is None:
            self._known = await self._client.pull_request(self._number)
        return self._known

    async def _log(self, run: CheckRun) -> FailedLog:
        said = "\n\n".join(text for text in (run.title, run.summary) if text)
        if run.job_id is None:
            return FailedLog(run, said, "" if said else "it says nothing more")
        try:
            log = await self._client.job_log(run.job_id, keep=LOG_BYTES)
        except (NotFound, Forbidden) as error:
            return FailedLog(run, said, f"its log cannot be had: {type(error).__name__}")
        return FailedLog(run, log.text())
