"""A thread in a file, and the rows of a run that is in no database: what `threadsmith run` works on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from bot.context import Anchor, PinnedComment, ThreadSnapshot, read_thread
from bot.dispatch import is_builtin_only, issue_values
from bot.errors import UserError
from bot.github import parse
from bot.model.role import Role
from bot.model.state import DeliveryState, RunState
from bot.model.thread import Account, Comment, CommentPage, Issue, Repository
from bot.store import Session
from bot.store.runs import RunRows
from bot.store.tables import Delivery, Dispatch, Frame, Run, Snapshot, Thread

_SHAPE = 'a thread file is {"issue": {…}, "comments": [{…}, …]} in the shapes of GitHub\'s REST API'


@dataclass(frozen=True, slots=True)
class ThreadFile:
    """The thread; `request` is what was asked, `roles` of people by login, `pins` ids of comments."""

    issue: Issue
    comments: tuple[Comment, ...]
    repository: Repository
    request: str
    roles: Mapping[str, Role]
    pins: frozenset[int]

    @classmethod
    def read(cls, path: Path) -> ThreadFile:
        """Raises `UserError` for what is no thread file."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(data, dict):
                raise UserError("thread_file", f"{path} is no JSON object", _SHAPE)
            owner = Account(1, "local", "Organization")
            given = data.get("repository")
            return cls(
                issue=parse.issue(data.get("issue")),
                comments=tuple(parse.comment(each) for each in data.get("comments", [])),
                repository=parse.repository(given) if given else Repository(1, owner, "repository"),
                request=str(data.get("request", "")),
                roles={login: Role(role) for login, role in data.get("roles", {}).items()},
                pins=frozenset(data.get("pins", [])),
            )
        except OSError as error:
            raise UserError("thread_file", f"cannot read {path}: {error.strerror}", _SHAPE) from error
        except (ValueError, TypeError, AttributeError) as error:
            raise UserError("thread_file", f"{path}: {error}", _SHAPE) from error

    def role(self, account: Account) -> Role:
        """A person's role; read where the file does not say."""
        return self.roles.get(account.login, Role.READ)

    @property
    def newest(self) -> datetime:
        """When something was last said in it."""
        return max([self.issue.updated_at, *(max(one.created_at, one.updated_at) for one in self.comments)])

    async def snapshot(self, window: int, handles: tuple[str, ...], now: datetime | None = None) -> ThreadSnapshot:
        """The thread as it stands at `now`, this moment if left out: nothing is left out after any anchor."""
        now = now or datetime.now(UTC)
        pins = [PinnedComment(c, "local", now, role=Role.WRITE) for c in self.comments if c.id in self.pins]
        return await read_thread(
            _Reader(self),
            number=self.issue.number,
            anchor=Anchor(None, now),
            window=window,
            known_count=len(self.comments),
            pins=pins,
            is_ours=lambda _comment: None,
            is_command_only=lambda text: is_builtin_only(text, handles),
        )


class _Reader:
    """The port that threads are read through, on a file."""

    def __init__(self, file: ThreadFile) -> None:
        self._file = file

    async def issue(self, number: int) -> Issue:
        return self._file.issue

    async def comments(self, number: int, *, page: int, per_page: int = 100) -> CommentPage:
        items = self._file.comments
        last = max(1, -(-len(items) // per_page))
        return CommentPage(items[(page - 1) * per_page : page * per_page], last)


def rows(
    file: ThreadFile,
    workflow: str,
    params: Mapping[str, str],
    files: Mapping[str, str],
    inputs: Mapping[str, object] = MappingProxyType({}),
    now: datetime | None = None,
    event: Mapping[str, str] = MappingProxyType({}),
) -> RunRows:
    """The rows of one run that begins at `now`, this moment if left out; in memory only.

    `event` is what `trigger` says where no mention starts it.
    """
    now = now or datetime.now(UTC)
    repository, issue = file.repository, file.issue
    thread = Thread(
        repository_id=repository.id,
        number=issue.number,
        issue_id=issue.id,
        installation_id=0,
        owner_id=repository.owner.id,
        owner=repository.owner.login,
        name=repository.name,
        default_branch=repository.default_branch,
        private=repository.private,
        is_pull_request=issue.is_pull_request,
    )
    snapshot = Snapshot(repository_id=repository.id, commit="", files=dict(files), created_at=now)
    trigger: dict[str, Any] = {
        "name": "local",
        "text": file.request,
        "actor": "local",
        "comment_id": None,
        "url": issue.url,
        "at": now.isoformat(),
        **event,
    }
    dispatch = Dispatch(
        thread_id=thread.id,
        delivery_id="local",
        sequence=1,
        snapshot_id=snapshot.id,
        actor_id=0,
        actor="local",
        actor_role=Role.WRITE,
        request=file.request,
        command=workflow,
        params=dict(params),
        inputs=dict(inputs),
        trigger=trigger,
        issue=issue_values(issue),
        created_at=now,
    )
    run = Run(
        state=RunState.RUNNING,
        dispatch_id=dispatch.id,
        thread_id=thread.id,
        snapshot_id=snapshot.id,
        number=1,
        sequence=1,
        workflow=workflow,
        queued_at=now,
        started_at=now,
    )
    return RunRows(run, dispatch, thread, snapshot, [Frame(run_id=run.id)], [])


def keep(session: Session, made: RunRows) -> None:
    """Put the rows of a local run into a database of its own, so that the engine's own walk serves it."""
    delivery = Delivery(
        id=made.dispatch.delivery_id,
        app_id=0,
        guid="local",
        content_key="local",
        event="local",
        action="",
        repository_id=made.thread.repository_id,
        body=b"",
        received_at=made.dispatch.created_at,
        state=DeliveryState.PLANNED,
    )
    for row in (delivery, made.thread, made.snapshot, made.dispatch, made.run, *made.frames):
        session.add(row)
        session.flush()
