"""Reading pull requests: branches, differences, checks and their logs, review threads, linked issues.

Sources: https://docs.github.com/en/rest/pulls, https://docs.github.com/en/rest/checks/runs,
https://docs.github.com/en/rest/actions/workflow-jobs, https://docs.github.com/en/graphql
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from bot.errors import Forbidden, NotFound
from bot.github import parse, parse_pull, queries
from bot.github.channel import Channel, read, rows
from bot.github.download import Download, Hosts
from bot.github.tokens import Purpose
from bot.model.pull import CheckRun, Linked, PullFile, PullRequest, ReviewThread
from bot.model.thread import Comment

_PULL = (Purpose.READ_PULL,)
_CHECKS = (Purpose.CHECKS,)
#: pages of a hundred: as many files as GitHub compares, more checks than anybody reads
_MOST_FILE_PAGES, _MOST_CHECK_PAGES, _MOST_COMMENT_PAGES = 3, 3, 3
_MOST_THREAD_PAGES = 4
#: words by which a text closes an issue of the same repository
#: (https://docs.github.com/en/issues/tracking-your-work-with-issues/using-issues/linking-a-pull-request-to-an-issue)
_CLOSES = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#(\d{1,9})\b", re.IGNORECASE)


class PullReading:
    """What `RepositoryClient` reads of pull requests. Every call may raise `Transient`, `NotFound` and `Forbidden`."""

    _channel: Channel

    async def pull_request(self, number: int) -> PullRequest:
        """One pull request; NotFound for an issue."""
        return read(await self._channel.get(f"/pulls/{number}", kind="pull", purposes=_PULL), parse_pull.pull_request)

    async def pull_requests(self, *, head: str, base: str = "", state: str = "open") -> tuple[PullRequest, ...]:
        """Those from a branch of this repository, newest first; at most a hundred."""
        params: dict[str, str | int] = {
            "head": f"{self._channel.repository.owner.login}:{head}", "state": state, "per_page": 100,
        }  # fmt: skip
        if base:
            params["base"] = base
        response = await self._channel.get("/pulls", kind="pulls", params=params, purposes=_PULL)
        # a server that does not know the filter sends everything
        found = read(response, rows(parse_pull.pull_request))
        return tuple(row for row in found if row.head == head and not row.from_fork and base in ("", row.base))

    async def diff(self, number: int) -> str:
        """The unified diff of a pull request; where GitHub refuses it as too large, that of its first 300 files."""
        headers = {"Accept": "application/vnd.github.diff"}
        try:
            response = await self._channel.get(f"/pulls/{number}", kind="diff", headers=headers, purposes=_PULL)
        except Forbidden as error:
            if error.status != 406:
                raise
            return "".join(map(_as_diff, await self.pull_files(number)))
        return response.content.decode("utf-8", "replace")

    async def pull_files(self, number: int) -> tuple[PullFile, ...]:
        """The files that a pull request changes, at most 300, each with its hunks."""
        path = f"/pulls/{number}/files"
        return await self._channel.pages(
            path, rows(parse_pull.pull_file), kind="files", most=_MOST_FILE_PAGES, purposes=_PULL
        )

    async def compare(self, base: str, head: str) -> tuple[PullFile, ...]:
        """The files that differ between the merge base of two commits or branches and the second; at most 300."""
        path = f"/compare/{quote(base, safe='')}...{quote(head, safe='')}"
        response = await self._channel.get(path, kind="compare", purposes=(Purpose.READ,))
        return read(response, lambda body: rows(parse_pull.pull_file)(body["files"]))

    async def branch_head(self, name: str) -> str:
        """The commit that a branch points at. Raises NotFound where there is no such branch."""
        path = f"/git/ref/heads/{quote(name, safe='/')}"
        response = await self._channel.get(path, kind="ref", purposes=(Purpose.READ,))
        return read(response, lambda body: str(body["object"]["sha"]))

    async def check_runs(self, commit: str) -> tuple[CheckRun, ...]:
        """The newest run of every check of a commit, at most 300."""
        path = f"/commits/{quote(commit, safe='')}/check-runs"
        return await self._channel.pages(
            path,
            lambda body: rows(parse_pull.check_run)(body["check_runs"]),
            kind="check_runs",
            most=_MOST_CHECK_PAGES,
            params={"filter": "latest"},
            purposes=_CHECKS,
        )

    async def job_log(self, job_id: int, *, keep: int) -> Download:
        """What a job of GitHub Actions printed: `keep` bytes of it, half of them from the end.

        GitHub answers with the address of a file elsewhere, which is read without credentials. Raises NotFound for a
        log that has expired.
        """
        address = await self._channel.location(f"/actions/jobs/{job_id}/logs", kind="log", purpose=Purpose.CHECKS)
        hosts = Hosts(self._channel.wire.base_url.scheme, (), every=True)
        return await self._channel.wire.download(address, hosts=hosts, kind="log_file", keep=keep)

    async def attachment(
        self, url: str, *, keep: int, comment_id: int | None = None, number: int | None = None, kind: str = "comment"
    ) -> Download:
        """A file that somebody attached to a comment: from GitHub's own hosts, without credentials.

        In a private repository only the address in the rendered comment opens it; `comment_id` names the comment,
        without one `number` the thread whose own body it is. `kind` is what `comment_id` names: `comment`, `review` (of
        the pull request `number`) or `review_comment`.
        """
        wire = self._channel.wire
        address = wire.base_url.join(url)
        if (comment_id or number) is not None and self._channel.repository.private:
            headers = {"Accept": "application/vnd.github.full+json"}
            path = {
                "comment": f"/issues/comments/{comment_id}",
                "review": f"/pulls/{number}/reviews/{comment_id}",
                "review_comment": f"/pulls/comments/{comment_id}",
            }[kind]
            if comment_id is None:
                path, kind = f"/issues/{number}", "issue"
            response = await self._channel.get(path, kind=kind, headers=headers)
            html = read(response, lambda body: str(body.get("body_html") or ""))
            address = wire.base_url.join(_signed(html, url) or url)
        hosts = attachment_hosts(wire.base_url.host, wire.base_url.scheme)
        return await wire.download(address, hosts=hosts, kind="attachment", keep=keep)

    async def reviews(self, number: int) -> tuple[Comment, ...]:
        """The reviews of a pull request as comments, oldest first, at most 300; one not yet submitted is left out."""
        path = f"/pulls/{number}/reviews"
        return await self._channel.pages(
            path, parse.submitted, kind="reviews", most=_MOST_COMMENT_PAGES, purposes=_PULL
        )

    async def review_comments(self, number: int) -> tuple[Comment, ...]:
        """What was said about lines of a pull request, oldest first, at most 300."""
        path, parser = f"/pulls/{number}/comments", rows(parse.review_comment)
        return await self._channel.pages(path, parser, kind="review_comments", most=_MOST_COMMENT_PAGES, purposes=_PULL)

    async def review_threads(self, number: int) -> tuple[ReviewThread, ...]:
        """All review threads, resolved ones too, at most 200. Only GraphQL tells which are resolved."""
        found: list[ReviewThread] = []
        after: str | None = None
        for _ in range(_MOST_THREAD_PAGES):
            threads, after = await self._channel.query(
                queries.REVIEW_THREADS, _threads, kind="review_threads", number=number, after=after
            )
            found += threads
            if after is None:
                break
        return tuple(found)

    async def linked(self, number: int, *, pull_request: bool, text: str = "") -> tuple[Linked, ...]:
        """The issues that a pull request closes, or the pull requests that close an issue; at most 20.

        Where GraphQL is refused, of a pull request those that its `text` says it closes; of an issue nothing is known
        then, and the refusal is raised.
        """
        query = queries.CLOSED_BY_PULL if pull_request else queries.PULLS_OF_ISSUE
        try:
            return await self._channel.query(query, _linked, kind="linked", number=number)
        except (Forbidden, NotFound):
            if not pull_request:
                raise
            return await self._closed_by(text)

    async def _closed_by(self, text: str) -> tuple[Linked, ...]:
        found: list[Linked] = []
        for number in list(dict.fromkeys(map(int, _CLOSES.findall(text))))[: queries.LINKED]:
            response = await self._channel.get(f"/issues/{number}", kind="issue")
            one = read(response, parse.issue)
            repository = self._channel.repository.full_name
            found.append(
                Linked(repository, one.number, one.title, one.state, one.body, one.author, one.url, one.is_pull_request)
            )
        return tuple(found)


def attachment_hosts(api: str, scheme: str = "https") -> Hosts:
    """Where files of comments lie, given the REST API's host. GitHub's own storage stands behind github.com."""
    if api == "api.github.com":
        return Hosts(scheme, ("github.com",), ("githubusercontent.com",), storage=True)
    return Hosts(scheme, (api,), (api,))


def _signed(html: str, url: str) -> str:
    """The address in rendered HTML that opens an attachment: the one that ends in the same name, with its signature."""
    name = url.partition("?")[0].rstrip("/").rpartition("/")[2]
    for match in re.finditer(r'(?:src|href)="([^"]+)"', html):
        address = match[1].replace("&amp;", "&")
        if name and name in address.partition("?")[0] and "?" in address:
            return address
    return ""


def _threads(data: Any) -> tuple[tuple[ReviewThread, ...], str | None]:
    """A page of review threads, and where the next one begins."""
    threads = _within(data, "pullRequest")["reviewThreads"]
    found = tuple(parse_pull.review_thread(node) for node in threads["nodes"] if node is not None)
    page = threads["pageInfo"]
    return found, str(page["endCursor"]) if page["hasNextPage"] else None


def _linked(data: Any) -> tuple[Linked, ...]:
    """Issues of a pull request, or pull requests of an issue."""
    repository = data.get("repository") or {}
    is_issue = "issue" in repository
    owner = _within(data, "issue" if is_issue else "pullRequest")
    nodes = owner["closedByPullRequestsReferences" if is_issue else "closingIssuesReferences"]["nodes"]
    return tuple(parse_pull.linked(node, is_pull_request=is_issue) for node in nodes if node is not None)


def _within(data: Any, name: str) -> Any:
    """A thread of the answer. Raises NotFound where GitHub shows no such thing."""
    found = (data.get("repository") or {}).get(name)
    if found is None:
        raise NotFound(f"GraphQL: no `{name}` of that number")
    return found


def _as_diff(file: PullFile) -> str:
    """A file's hunks with the header of a unified diff."""
    before, after = file.previous_path or file.path, file.path
    old = "/dev/null" if file.status == "added" else f"a/{before}"
    new = "/dev/null" if file.status == "removed" else f"b/{after}"
    hunks = f"{file.patch}\n" if file.patch else "(GitHub shows no hunks of this file)\n"
    return f"diff --git a/{before} b/{after}\n--- {old}\n+++ {new}\n{hunks}"
