"""What is done on GitHub beside comments: labels, assignees, closing, reviews, pull requests.

Payloads are those of `bot.model.outcome.INTENTS` after the policy (`bot.publish.payload`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from bot.errors import BotError, Forbidden, Transient, Unsure
from bot.model.pull import PullRequest
from bot.model.remark import Remark
from bot.model.thread import Comment
from bot.publish.findings import findings_line
from bot.publish.marker import Marker, strip
from bot.publish.performer import Act, Found, Made, Performer, Undone
from bot.store.tables import Thread

#: the reason of a review that was checked against a commit that is no longer the head
HEAD_MOVED = "head_moved"


class ActionPort(Protocol):
    """What is set, opened and reviewed in one repository. Errors are those of `bot.errors`."""

    async def add_labels(
        self, number: int, labels: Sequence[str], *, pull_request: bool = False
    ) -> tuple[str, ...]: ...

    async def remove_label(self, number: int, label: str, *, pull_request: bool = False) -> bool: ...

    async def add_assignees(
        self, number: int, logins: Sequence[str], *, pull_request: bool = False
    ) -> tuple[str, ...]: ...

    async def close(self, number: int, reason: str | None = None, *, pull_request: bool = False) -> None: ...

    async def pull_request(self, number: int) -> PullRequest: ...

    async def pull_requests(self, *, head: str, base: str = "", state: str = "open") -> tuple[PullRequest, ...]: ...

    async def open_pull_request(
        self, *, head: str, base: str, title: str, body: str, draft: bool = False
    ) -> PullRequest: ...

    async def change_pull_request(self, number: int, *, title: str, body: str) -> PullRequest: ...

    async def create_review(
        self, number: int, *, head_sha: str, body: str, event: str, remarks: Sequence[Remark]
    ) -> Comment: ...

    async def newest_reviews(self, number: int) -> tuple[Comment, ...]: ...

    async def comments_of_review(self, number: int, review_id: int) -> tuple[Comment, ...]: ...


class ThreadActions:
    """`port` gives the write side of a thread's repository; `mine` whether a review was written by this App."""

    def __init__(self, port: Callable[[Thread], ActionPort], marker: Marker, mine: Callable[[Comment], bool]) -> None:
        self._port = port
        self._marker = marker
        self._mine = mine

    @property
    def performers(self) -> Mapping[str, Performer]:
        """By kind of intent."""
        return {
            "labels": Performer(self._labels, again=_always),
            "assign": Performer(self._assign, again=_always),
            "close": Performer(self._close, again=_always),
            "review": Performer(self._review, self._reviewed),
            # looked for by its branch before it is opened
            "pull_request": Performer(self._propose, again=_always),
        }

    async def _labels(self, act: Act) -> Made:
        port, number, on_pull = self._port(act.thread), act.thread.number, act.thread.is_pull_request
        added, removed = ([str(name) for name in act.payload.get(key, ())] for key in ("add", "remove"))
        if added:
            await port.add_labels(number, added, pull_request=on_pull)
        for name in removed:
            await port.remove_label(number, name, pull_request=on_pull)
        # what holds now, so that it is the same whichever try succeeded
        return Made({"added": added, "removed": removed}, calls=max(bool(added) + len(removed), 1))

    async def _assign(self, act: Act) -> Made:
        """GitHub leaves out, silently, whom it cannot assign; nobody at all assigned is a failure."""
        wanted = [str(login) for login in act.payload["logins"]]
        assigned = await self._port(act.thread).add_assignees(
            act.thread.number, wanted, pull_request=act.thread.is_pull_request
        )
        there = {login.lower() for login in assigned}
        outcome = {
            "assigned": [login for login in wanted if login.lower() in there],
            "not_assigned": [login for login in wanted if login.lower() not in there],
        }
        if not outcome["assigned"]:
            raise Undone("none of them can be assigned here", outcome)
        return Made(outcome)

    async def _close(self, act: Act) -> Made:
        reason = act.payload.get("reason")
        await self._port(act.thread).close(act.thread.number, reason, pull_request=act.thread.is_pull_request)
        return Made({"state": "closed", "reason": reason})

    async def _review(self, act: Act) -> Made:
        port, thread, payload = self._port(act.thread), act.thread, act.payload
        head_sha = str(payload["head_sha"])
        present = await port.pull_request(thread.number)
        if present.head_sha != head_sha:
            raise Undone(HEAD_MOVED, {"head_sha": head_sha, "moved_to": present.head_sha})
        line = self._findings(thread, payload.get("outside", ()))
        body = self._marker.sign(
            f"{payload['body']}\n\n{line}" if line else payload["body"],
            repository_id=thread.repository_id,
            thread=thread.number,
            slot=act.slot,
        )
        remarks = [self._remark(thread, one) for one in payload["comments"]]
        made = await port.create_review(
            thread.number, head_sha=head_sha, body=body, event=str(payload["event"]), remarks=remarks
        )
        return await self._with_remarks(act, made)

    def _remark(self, thread: Thread, one: Mapping[str, Any]) -> Remark:
        line = self._findings(thread, [one["fingerprint"]] if one.get("fingerprint") else [])
        body = f"{one['body']}\n\n{line}" if line else str(one["body"])
        return Remark(one["path"], one["line"], body, one.get("side") or "RIGHT", one.get("start_line"))

    def _findings(self, thread: Thread, fingerprints: Sequence[str]) -> str:
        return findings_line(self._marker, fingerprints, repository_id=thread.repository_id, thread=thread.number)

    async def _with_remarks(self, act: Act, review: Comment) -> Made:
        """With the ids of its comments, which GitHub does not answer with the review."""
        try:
            remarks = await self._port(act.thread).comments_of_review(act.thread.number, review.id)
        except BotError as error:
            # it stands there; being unsure, it is found by its marker, and then its comments are read
            raise Unsure(f"the review's comments: {error}") from error
        outcome = {
            "id": review.id,
            "url": review.url,
            "event": act.payload["event"],
            "head_sha": act.payload["head_sha"],
            "comments": [{"id": remark.id, "url": remark.url} for remark in remarks],
        }
        return Made(outcome, review.id, review.url)

    async def _reviewed(self, act: Act, _since: datetime) -> list[Found]:
        """Our review by its marker; the oldest of them has its comments read."""
        thread = act.thread
        ours = []
        for review in await self._port(thread).newest_reviews(thread.number):
            mark = self._marker.find(review.body, repository_id=thread.repository_id, thread=thread.number)
            if mark is not None and str(mark.slot) == act.row.slot and self._mine(review):
                ours.append(review)
        ours.sort(key=lambda review: (review.created_at, review.id))
        first = [Found(await self._with_remarks(act, review)) for review in ours[:1]]
        return first + [Found(Made(id=review.id, url=review.url)) for review in ours[1:]]

    async def _propose(self, act: Act) -> Made:
        port, payload = self._port(act.thread), act.payload
        present = await self._open_one(port, payload)
        if present is None:
            try:
                return await self._open(port, payload)
            except Forbidden as error:
                # the listing lagged behind: it is there after all
                if "already exists" not in str(error).lower():
                    raise
            present = await self._open_one(port, payload)
            if present is None:
                raise Transient("GitHub has the pull request and does not list it yet")
        title, body = str(payload["title"]), str(payload["body"])
        if (present.title, strip(present.body)) != (title, strip(body)):
            present = await port.change_pull_request(present.number, title=title, body=body)
        return _proposed(present, opened=False)

    async def _open_one(self, port: ActionPort, payload: Mapping[str, Any]) -> PullRequest | None:
        """The pull request that is open for the branch: the one for the same base before any other."""
        rows = await port.pull_requests(head=str(payload["head"]))
        return next((row for row in rows if row.base == payload["base"]), rows[0] if rows else None)

    async def _open(self, port: ActionPort, payload: Mapping[str, Any]) -> Made:
        wanted = payload.get("draft") is True
        head, base, title, body = (str(payload[key]) for key in ("head", "base", "title", "body"))
        try:
            made = await port.open_pull_request(head=head, base=base, title=title, body=body, draft=wanted)
        except Forbidden as error:
            if not wanted or not _no_drafts(error):
                raise
            made = await port.open_pull_request(head=head, base=base, title=title, body=body)
        return _proposed(made, opened=True, wanted_draft=wanted)


def _proposed(made: PullRequest, *, opened: bool, wanted_draft: bool = False) -> Made:
    outcome = {
        "number": made.number,
        "pr_url": made.url,
        "branch": made.head,
        "head_sha": made.head_sha,
        "draft": made.draft,
        "opened": opened,
        # asked for and not to be had in this repository
        "draft_refused": wanted_draft and not made.draft,
    }
    return Made(outcome, made.number, made.url)


def _no_drafts(error: Forbidden) -> bool:
    """Source: https://docs.github.com/en/pull-requests (drafts are not part of every plan); the words are GitHub's."""
    return error.status == 422 and "draft pull requests are not supported" in str(error).lower()


def _always(_act: Act) -> bool:
    return True
