"""What a world holds, how things in it get their numbers, and how its events leave it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bot.demo.access import Seen, Token
from bot.demo.deliveries import Attempt, Delivery
from bot.demo.faults import Faults
from bot.demo.feed import Change, Feed, Subscription
from bot.demo.records import App, Comment, Installation, Repository, User
from bot.demo.refusal import not_found
from bot.demo.shapes.account import organization, user
from bot.demo.shapes.app import installation
from bot.demo.shapes.common import JSON, Addresses, node_id
from bot.demo.shapes.repository import webhook_repository
from bot.demo.storage import Store
from bot.model.clock import Clock, SystemClock

#: where each sort of number starts; comments lie beyond 32 bits as they do on GitHub
_FIRST = {"user": 1001, "repository": 52_001, "issue": 2_100_000_001, "comment": 4_300_000_001, "label": 301,
          "reaction": 90_001, "app": 701, "installation": 8_001, "attempt": 12_000_000_001, "pull": 1_900_000_001,
          "review": 3_100_000_001, "check": 41_000_000_001, "workflow_run": 14_000_000_001,
          "suite": 31_000_000_001, "push": 1}  # fmt: skip

#: the permission that an App needs before it is sent an event
_PERMISSION = {
    "issue_comment": "issues",
    "issues": "issues",
    "push": "contents",
    "repository": "metadata",
    "pull_request": "pull_requests",
    "pull_request_review": "pull_requests",
    "pull_request_review_comment": "pull_requests",
    "pull_request_review_thread": "pull_requests",
    "check_run": "checks",
    "check_suite": "checks",
}

#: how far the log of deliveries goes back on github.com
#: (https://docs.github.com/en/webhooks/testing-and-troubleshooting-webhooks/redelivering-webhooks)
LOG_KEPT = timedelta(days=3)

RepositoryLike = Repository | str
UserLike = User | str


class State:
    """The rows and the rules that everything shares. Use it from one event loop; nothing here waits.

    `directory` takes the git repositories; `site` is the address that people and git use, the REST API lies below it
    at `/api/v3`, as on GitHub Enterprise Server.
    """

    def __init__(self, directory: Path, *, site: str = "https://github.test", clock: Clock | None = None) -> None:
        self.directory = directory
        self.clock: Clock = clock or SystemClock()
        self.addresses = Addresses(site, f"{site}/api/v3")
        self.users: dict[str, User] = {}
        self.repositories: dict[int, Repository] = {}
        #: names that repositories had before they were renamed, lower case
        self.former_names: dict[str, int] = {}
        self.comments_by_id: dict[int, Comment] = {}
        self.apps: dict[int, App] = {}
        self.installations: dict[int, Installation] = {}
        self.tokens: dict[str, Token] = {}
        self.deliveries: list[Delivery] = []
        self.attempts: list[Attempt] = []
        #: how long an attempt stays in the log
        self.log_kept = LOG_KEPT
        #: told of each delivery; the flag says that it goes out once more
        self.outgoing: list[Callable[[Delivery, bool], None]] = []
        self.feed = Feed()
        self.requests: list[Seen] = []
        #: requests an hour for each token, and for those without one
        self.rate_limit = 5000
        self.anonymous_rate_limit = 60
        self._next = dict(_FIRST)
        self._silent = False
        self.store = Store(lambda: self.site_url, self.now)
        self.faults = Faults(self.clock, lambda: self.newest_comment)

    @property
    def site_url(self) -> str:
        """Where people and git go."""
        return self.addresses.site

    @property
    def api_url(self) -> str:
        """REST base, what `BOT_GITHUB_URL` is set to."""
        return self.addresses.api

    def move_to(self, site: str) -> None:
        """The world is served at another address from now on."""
        self.addresses = Addresses(site, f"{site}/api/v3")

    def now(self) -> datetime:
        """The time in whole seconds, which is all that GitHub tells."""
        return self.clock.now().replace(microsecond=0)

    def next_id(self, kind: str) -> int:
        """The next number of its sort; they only ever grow."""
        self._next[kind] += 1
        return self._next[kind] - 1

    @property
    def newest_comment(self) -> int:
        """The number of the newest comment, which tells what came before it and what after."""
        return self._next["comment"] - 1

    def new_guid(self) -> str:
        """A delivery's identity."""
        return str(uuid.uuid4())

    def user(self, who: UserLike) -> User:
        """An account by login (any case). Raises 404."""
        if isinstance(who, User):
            return who
        found = self.users.get(who.lower())
        if found is None:
            raise not_found()
        return found

    def repository(self, which: RepositoryLike) -> Repository:
        """A repository by `owner/name` (any case). Raises 404."""
        if isinstance(which, Repository):
            return which
        for repo in self.repositories.values():
            if repo.full_name.lower() == which.lower():
                return repo
        raise not_found()

    def find_comment(self, comment_id: int) -> Comment:
        """A comment by number. Raises 404."""
        if (found := self.comments_by_id.get(comment_id)) is None:
            raise not_found()
        return found

    def delivery(self, guid: str) -> Delivery:
        """A delivery by GUID. Raises 404."""
        for made in self.deliveries:
            if made.guid == guid:
                return made
        raise not_found()

    def log(self, app: App) -> list[Attempt]:
        """The attempts to deliver an App's webhooks that are still told, newest first."""
        oldest = self.now() - self.log_kept
        return [row for row in reversed(self.attempts) if row.delivery.app is app and row.at >= oldest]

    def on_change(self) -> Subscription:
        """A stream of changes from now on, for live pages."""
        return self.feed.subscribe()

    def changed(self, kind: str, repo: Repository, number: int | None = None, comment_id: int | None = None) -> None:
        """Tell live pages."""
        if not self._silent:
            self.feed.publish(Change(kind, repo.full_name, number, comment_id))

    @contextmanager
    def silence(self) -> Iterator[None]:
        """Within, nothing is sent and no page is told: for building long threads fast."""
        before, self._silent = self._silent, True
        try:
            yield
        finally:
            self._silent = before

    def listening(self, event: str, repo: Repository) -> list[Installation]:
        """The installations that are sent this event: subscribed, allowed to see it, not suspended."""
        if self._silent:
            return []
        return [
            row
            for row in self.installations.values()
            if event in row.app.events
            and _PERMISSION.get(event, "metadata") in row.permissions
            and row.suspended_at is None
            and row.holds(repo)
        ]

    def emit(
        self,
        event: str,
        action: str | None,
        repo: Repository,
        sender: User,
        *,
        to: list[Installation] | None = None,
        **fields: Any,
    ) -> None:
        """Send an event to every App that listens, or to those given."""
        for row in self.listening(event, repo) if to is None else to:
            at = self.addresses
            payload: JSON = {} if action is None else {"action": action}
            payload |= fields
            payload["repository"] = webhook_repository(at, repo, event)
            if repo.owner.type == "Organization":
                payload["organization"] = organization(at, repo.owner)
            payload["sender"] = user(at, sender)
            payload["installation"] = {"id": row.id, "node_id": node_id("IntegrationInstallation", row.id)}
            self._send(row, event, action, repo.id, payload)

    def emit_installation(self, event: str, action: str, row: Installation, sender: User, **fields: Any) -> None:
        """Send an event about the installation itself; Apps cannot unsubscribe from these."""
        if not self._silent:
            at = self.addresses
            payload = {"action": action, "installation": installation(at, row), **fields, "sender": user(at, sender)}
            self._send(row, event, action, None, payload)

    def _send(self, row: Installation, event: str, action: str | None, repository_id: int | None, body: JSON) -> None:
        raw = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        made = Delivery(self.new_guid(), event, action, raw, row.app, row.id, repository_id, self.now())
        self.deliveries.append(made)
        for hand_over in self.outgoing:
            hand_over(made, False)
