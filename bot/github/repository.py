"""One repository's threads, roles, branches and configuration, read and written as the App."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from urllib.parse import quote

import httpx

from bot.errors import Forbidden, NotFound, OperatorError, Transient
from bot.github import parse
from bot.github.cache import Bounded
from bot.github.channel import Channel, last_page, read, rows
from bot.github.check_writes import CheckWrites
from bot.github.configuration import ConfigurationReader
from bot.github.issues import IssueOpening
from bot.github.pull_writes import PullWrites
from bot.github.pulls import PullReading
from bot.github.reviews import ReviewTalk
from bot.github.since import SinceReading
from bot.github.thread_writes import ThreadWrites
from bot.github.tokens import Purpose
from bot.model.role import Role
from bot.model.thread import Comment, CommentPage, Issue, Repository

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
#: pages of `comments_since`; more than a thousand new comments are not wanted by anybody
_MOST_PAGES = 10

#: a comment about lines of a diff, which takes the permission for pull requests wherever it is written
_REVIEW_COMMENT = "review_comment"

#: ETag and commit by (repository id, ref)
Heads = Bounded[tuple[int, str], tuple[str, str]]


#: what GitHub says with 422 of a ref that leads nowhere, unlike of a token that may not be had
_NO_COMMIT = re.compile(r"no commit found|repository is empty", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CloneAccess:
    """Where git reads the repository and what it authenticates with (user `x-access-token`). The token only reads."""

    url: str
    token: str = field(repr=False)


class RepositoryClient(PullReading, PullWrites, ReviewTalk, ThreadWrites, IssueOpening, CheckWrites, SinceReading):
    """Made by `GitHub.repository`.

    Every call may raise `Transient`, `NotFound` and `Forbidden`, every write `Unsure` besides (see `bot.github.retry`).
    `pull_request=True` on a write says that the thread is one, which saves a request.
    """

    def __init__(self, channel: Channel, heads: Heads, configuration: ConfigurationReader) -> None:
        self._channel = channel
        self._heads = heads
        self._configuration = configuration

    @property
    def repository(self) -> Repository:
        """The repository under the name it was last seen with."""
        return self._channel.repository

    @property
    def app_id(self) -> int | None:
        """The App's own number, None where it is not known."""
        return self._channel.app_id

    def follow(self, repository: Repository) -> None:
        """Take over the present name of the same repository, which may have been renamed or transferred."""
        self._channel.repository = repository

    async def issue(self, number: int) -> Issue:
        """The head of a thread."""
        return read(await self._channel.get(f"/issues/{number}", kind="issue"), parse.issue)

    async def comments(self, number: int, *, page: int, per_page: int = 100) -> CommentPage:
        """One page of a thread, oldest first; `last` is the number of the last page at this size."""
        params = {"page": page, "per_page": per_page}
        response = await self._channel.get(f"/issues/{number}/comments", kind="comments", params=params)
        return CommentPage(read(response, rows(parse.comment)), last_page(response, page))

    async def comments_since(self, number: int, since: datetime) -> tuple[Comment, ...]:
        """The comments that were written or changed at `since` or later, oldest first, a thousand at most."""
        # GitHub's times have whole seconds
        since = since.astimezone(UTC).replace(microsecond=0)
        params: dict[str, str | int] = {"since": f"{since:%Y-%m-%dT%H:%M:%SZ}"}
        found = await self._channel.pages(
            f"/issues/{number}/comments", rows(parse.comment), kind="comments", most=_MOST_PAGES, params=params
        )
        # a server that does not know `since` sends everything
        return tuple(comment for comment in found if comment.updated_at >= since)

    async def comment(self, comment_id: int) -> Comment:
        """One comment as it is now."""
        return read(await self._channel.get(f"/issues/comments/{comment_id}", kind="comment"), parse.comment)

    async def permission(self, login: str, account_id: int | None = None) -> Role:
        """Somebody's effective role; `Role.NONE` where GitHub knows no such person here.

        It is asked by login, and a login that was given up may be another's now: with `account_id`, the role of an
        account that has another number is none. Raises Transient where GitHub does not know our App: that says nothing
        about anybody's role.
        """
        try:
            path = f"/collaborators/{quote(login, safe='')}/permission"
            response = await self._channel.get(path, kind="permission", purposes=(Purpose.ROLE,))
        except NotFound:
            return Role.NONE
        except Forbidden as error:
            if error.status == 401:
                raise Transient(str(error)) from error
            raise
        return read(response, partial(parse.role, account_id=account_id))

    async def head(self, ref: str) -> str:
        """The commit that a branch, tag or other ref points at; a 304 where nothing changed since we last asked.

        Raises NotFound where there is no such ref, and for an empty repository.
        """
        key = (self.repository.id, ref)
        known = self._heads.get(key)
        headers = {"Accept": "application/vnd.github.sha"} | ({"If-None-Match": known[0]} if known else {})
        try:
            response = await self._channel.get(f"/commits/{quote(ref, safe='/')}", kind="head", headers=headers)
        except Forbidden as error:
            # 409: the repository is empty; 422: no such commit, but also a token that may not be had
            if error.status == 409 or (error.status == 422 and _NO_COMMIT.search(str(error))):
                raise NotFound(str(error)) from None
            raise
        if response.status_code == 304 and known:
            return known[1]
        commit = _commit(response)
        if etag := response.headers.get("etag"):
            self._heads.put(key, (etag, commit))
        return commit

    async def configuration_files(self, commit: str) -> dict[str, bytes]:
        """`.github/bot.yml` and everything under `.github/bot/` at a commit, by path; empty where there is nothing.

        The head of a pull request from a fork is one of this repository's commits too, as GitHub keeps it.
        Raises ConfigurationError with a finding for each symlink, submodule, oversized file, or too many of them.
        """
        return await self._configuration.files(self._channel, commit)

    async def clone_access(self, *, refused: str = "") -> CloneAccess:
        """The git address that the API names, with a token for it that may only read contents; another one than what
        was `refused` there.

        Raises OperatorError where the address is not on GitHub's own host: the token would go there.
        """
        url = read(await self._channel.get("", kind="repository"), lambda body: str(body["clone_url"]))
        base = self._channel.wire.base_url
        if not _belongs(url, base):
            raise OperatorError(
                f"the clone address of {self.repository.full_name} does not belong to {base.host}",
                "check BOT_GITHUB_URL, and what stands between it and this machine",
            )
        return CloneAccess(url, await self._channel.token(Purpose.GIT, refused=refused))

    async def create_comment(self, number: int, body: str, *, pull_request: bool = False) -> Comment:
        """Say something in a thread."""
        path, json = f"/issues/{number}/comments", {"body": body}
        response = await self._channel.write("POST", path, kind="create_comment", json=json, pull_request=pull_request)
        return read(response, parse.comment)

    async def edit_comment(
        self, comment_id: int, body: str, *, kind: str = "comment", pull_request: bool = False
    ) -> Comment:
        """Replace the text of a comment of ours. `kind` is `comment` or `review_comment`, here and below."""
        path, on_pull = _said(comment_id, kind), pull_request or kind == _REVIEW_COMMENT
        response = await self._channel.write(
            "PATCH", path, kind="edit_comment", json={"body": body}, pull_request=on_pull
        )
        return read(response, parse.review_comment if kind == _REVIEW_COMMENT else parse.comment)

    async def delete_comment(self, comment_id: int, *, kind: str = "comment", pull_request: bool = False) -> None:
        """Take back a comment of ours."""
        path, on_pull = _said(comment_id, kind), pull_request or kind == _REVIEW_COMMENT
        await self._channel.write("DELETE", path, kind="delete_comment", json=None, pull_request=on_pull)

    async def react(
        self, content: str, *, number: int, comment_id: int | None, kind: str = "comment", pull_request: bool = False
    ) -> int | None:
        """Put a reaction (`eyes`, `rocket`, `confused`, …) on a comment, or on the issue itself; the reaction's id.

        Reacting twice is once. Raises NotFound on a server without reactions.
        """
        response = await self._channel.write(
            "POST",
            f"{_subject(number, comment_id, kind)}/reactions",
            kind="react",
            json={"content": content},
            pull_request=pull_request or kind == _REVIEW_COMMENT,
        )
        return parse.reaction_id(response)

    async def unreact(
        self,
        reaction_id: int,
        *,
        number: int,
        comment_id: int | None,
        kind: str = "comment",
        pull_request: bool = False,
    ) -> None:
        """Take a reaction of ours away. Raises NotFound where it is not there.

        Source: https://docs.github.com/en/rest/reactions/reactions#delete-an-issue-comment-reaction,
        #delete-a-pull-request-comment-reaction
        """
        path = f"{_subject(number, comment_id, kind)}/reactions/{reaction_id}"
        on_pull = pull_request or kind == _REVIEW_COMMENT
        await self._channel.write("DELETE", path, kind="unreact", json=None, pull_request=on_pull)


def _subject(number: int, comment_id: int | None, kind: str) -> str:
    return f"/issues/{number}" if comment_id is None else _said(comment_id, kind)


def _said(comment_id: int, kind: str) -> str:
    """Where GitHub keeps a comment. Raises ValueError for a kind that is none: the number would name another's."""
    match kind:
        case "comment":
            return f"/issues/comments/{comment_id}"
        case "review_comment":
            return f"/pulls/comments/{comment_id}"
        case _:
            raise ValueError(f"{kind!r} is no kind of comment")


def _commit(response: httpx.Response) -> str:
    """The SHA: bare, or from the whole commit where the server does not know the media type."""
    text = response.text.strip()
    if not _COMMIT.fullmatch(text):
        text = read(response, lambda body: str(body["sha"]))
    if not _COMMIT.fullmatch(text):
        raise Transient(f"GET {response.request.url.path}: the answer is no commit")
    return text


def _belongs(url: str, base: httpx.URL) -> bool:
    """Whether a git address is on the host of the REST base: `github.com` for `api.github.com`, on GHES the same."""
    try:
        target = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    hosts = {base.host, base.host.removeprefix("api.")}
    same_port = (target.scheme, target.port) == (base.scheme, base.port)
    return same_port and target.host in hosts and not target.userinfo
