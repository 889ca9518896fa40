"""An intake between a real database and a scripted GitHub: deliveries in, rows out."""

from __future__ import annotations

import asyncio
import hashlib
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import httpx
from sqlmodel import col, func, select

from bot.dispatch import Actions, Identities, Identity, Intake, Parts
from bot.dispatch.acceptance import Acceptance, Asked
from bot.dispatch.commands import Command
from bot.dispatch.configuration import Configured
from bot.engine.takeover import take_over
from bot.github import RepositoryClient
from bot.model.delivery import NewDelivery
from bot.model.event import Event
from bot.model.role import Role
from bot.model.state import DeliveryState
from bot.model.thread import Account, Comment
from bot.publish import Marker, Redactor, Speaker
from bot.store import Session, Store, deliveries, open_store, suspects
from bot.store.tables import Delivery, Dispatch, Outbox, Run
from bot.workflows import Memo, builtin_files, check
from tests import rows
from tests.databases import DATABASES
from tests.github.fake import FakeClock, FakeGitHub, answer, make_github
from tests.rows import ANA, NOW, REPOSITORY

T = TypeVar("T")
REPO = "/repos/acme/widgets"
COMMIT = "c0ffee" + "0" * 34
MEG = Account(12, "meg")
SAM = Account(13, "sam")
ME = Account(70, "bot[bot]", "Bot")
APP_ID = 42
INSTALLATION = 5
MARKER = Marker([b"a key of the tests"])


class Gate(httpx.AsyncBaseTransport):
    """Lets requests through, except those to paths that are held."""

    def __init__(self, server: FakeGitHub) -> None:
        self._inner = server.transport
        self.held: dict[str, asyncio.Event] = {}
        self.met: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if (event := self.held.get(request.url.path)) is not None:
            self.met.append(request.url.path)
            await event.wait()
        return await self._inner.handle_async_request(request)


class Scene:
    """One intake, its database and its GitHub; time moves only where a test moves it."""

    def __init__(self, store: Store, server: FakeGitHub, *, slug: str = "bot", owners: tuple[str, ...] = ("acme",)):
        self.store, self.server, self.clock = store, server, server.clock
        self.gate = Gate(server)
        self.github = make_github(server, transport=self.gate)
        self.identities = Identities(self.github, APP_ID, slug, owners)
        self.speaker = Speaker(Redactor([]), self.clock)
        self.memo = Memo(builtin_files())
        parts = Parts(store, self.github, self.identities, self.memo, MARKER, self.speaker, self.clock)
        self.actions = Actions(parts, take_over)
        self.intake = Intake(parts, self.actions)
        self._guids = 0
        self._task: asyncio.Task[None] | None = None
        for person, role in ((ANA, "write"), (MEG, "maintain"), (SAM, "read")):
            self.grant(person, role)

    # -- what GitHub says ---------------------------------------------------------------------------------------------

    def permission(self, person: Account) -> str:
        """The path where somebody's role is asked."""
        return f"{REPO}/collaborators/{person.login}/permission"

    def grant(self, person: Account, role: str) -> None:
        """GitHub tells this role from now on."""
        self.server.on("GET", self.permission(person), role_answer(role))

    def configure(self, text: str | bytes, commit: str = COMMIT) -> None:
        """The default branch has this `bot.yml`."""
        data = text.encode() if isinstance(text, str) else text
        blob, folder = hashlib.sha1(data).hexdigest(), hashlib.sha1(b"folder" + data).hexdigest()
        entry = {"path": "bot.yml", "mode": "100644", "type": "blob", "sha": blob, "size": len(data)}
        inner = {"sha": folder, "tree": [entry], "truncated": False}
        root = [{"path": ".github", "mode": "040000", "type": "tree", "sha": folder}]
        self.server.on("GET", f"{REPO}/commits/main", httpx.Response(200, text=commit))
        self.server.on("GET", f"{REPO}/git/trees/{commit}", answer({"sha": commit, "tree": root, "truncated": False}))
        self.server.on("GET", f"{REPO}/git/trees/{folder}", answer(inner))
        content = {"content": b64encode(data).decode(), "encoding": "base64", "size": len(data)}
        self.server.on("GET", f"{REPO}/git/blobs/{blob}", answer(content))

    def asked(self, fragment: str = "") -> list[str]:
        """Paths of the requests so far that contain `fragment`, tokens left out."""
        return [r.url.path for r in self.server.sent() if fragment in r.url.path]

    # -- what comes in ------------------------------------------------------------------------------------------------

    async def deliver(self, payload: dict[str, Any] | bytes, event: str = "issue_comment") -> str:
        """Keep a delivery as the front door does; returns its GUID. The intake may or may not run yet."""
        self._guids += 1
        guid = f"guid-{self._guids:04}"
        raw = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        action = payload.get("action", "") if isinstance(payload, dict) else ""
        new = NewDelivery(APP_ID, guid, event, action, f"content-{guid}", REPOSITORY.id, raw)
        now = self.clock.now()
        assert await self.store.write(lambda s: deliveries.take(s, new, now)) == "accepted"
        return guid

    async def says(self, person: Account, body: str, **more: Any) -> str:
        """Somebody comments; returns when nothing is left to do now."""
        guid = await self.deliver(comment_payload(body, person, **more))
        await self.settle()
        return guid

    def start(self) -> None:
        """Begin to look at deliveries."""
        if self._task is None:
            self._task = asyncio.create_task(self.intake.run())

    async def settle(self) -> None:
        """Wait until no delivery is due at this moment of the clock. Fails where the intake has died."""
        self.start()
        await self.until(lambda: self.open(due=True), 0)

    async def until(self, count: Callable[[], Any], wanted: object) -> None:
        """Wait for an awaited value."""
        assert self._task is not None
        async with asyncio.timeout(20):
            while (await count()) != wanted:
                if self._task.done():
                    self._task.result()
                    raise AssertionError("the intake has ended")
                await asyncio.sleep(0.002)

    async def open(self, *, due: bool = False) -> int:
        """How many deliveries are not settled; `due`: those that wait for no time."""
        now = self.clock.now()

        def work(session: Session) -> int:
            query = select(func.count(col(Delivery.id))).where(Delivery.state == DeliveryState.NEW)
            if due:
                query = query.where(col(Delivery.not_before).is_(None) | (col(Delivery.not_before) <= now))
            return session.exec(query).one()

        return await self.store.read(work)

    async def pass_time(self, until: datetime | timedelta) -> None:
        """Move the clock, wake the intake, and let it do what is due then."""
        gap = until if isinstance(until, timedelta) else until - self.clock.now()
        self.clock.advance(max(0.0, gap.total_seconds()))
        self.store.bell("delivery").ring()
        await self.settle()

    async def close(self) -> None:
        """End the intake and GitHub's connections."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        await self.github.aclose()

    # -- what became of it --------------------------------------------------------------------------------------------

    async def ended_over(self, guid: str) -> None:
        """As many processes ended while they looked at a delivery as it takes to set it aside."""

        def work(session: Session) -> None:
            row = deliveries.find(session, guid)
            assert row is not None
            row.interruptions = suspects.INTERRUPTIONS
            session.add(row)

        await self.store.write(work)

    async def delivery(self, guid: str) -> Delivery:
        """The row of a delivery."""
        found = await self.store.read(lambda s: deliveries.find(s, guid))
        assert found is not None
        return found

    async def became(self, guid: str) -> tuple[DeliveryState, str]:
        """State and reason of a delivery."""
        row = await self.delivery(guid)
        return row.state, row.reason

    async def dispatched(self) -> list[Dispatch]:
        """Every dispatch in the order of its place in the thread."""
        return await self.store.read(lambda s: list(s.exec(select(Dispatch).order_by(col(Dispatch.sequence)))))

    async def runs(self) -> list[Run]:
        """Every run, oldest first."""
        return await self.store.read(lambda s: list(s.exec(select(Run).order_by(col(Run.id)))))

    async def said(self, action: str = "comment") -> list[str]:
        """What is to be said, oldest first."""
        query = select(Outbox.body).where(Outbox.action == action).order_by(col(Outbox.id))
        return await self.store.read(lambda s: list(s.exec(query)))


def role_answer(role: str) -> httpx.Response:
    """GitHub's answer about a role."""
    legacy = {"maintain": "write", "triage": "read"}.get(role, role)
    return answer({"permission": legacy, "role_name": role, "user": None})


def stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def account_json(person: Account) -> dict[str, Any]:
    return {"id": person.id, "login": person.login, "type": person.type}


def issue_fields(number: int = 1, comments: int = 1) -> dict[str, Any]:
    return {
        "id": 9000 + number,
        "number": number,
        "title": "Crash on empty input",
        "body": "It crashes.",
        "user": account_json(SAM),
        "state": "open",
        "html_url": f"https://github.test/acme/widgets/issues/{number}",
        "labels": [{"name": "bug"}],
        "comments": comments,
        "created_at": stamp(NOW - timedelta(days=1)),
        "updated_at": stamp(NOW),
    }


def around(sender: Account, owner: Account = REPOSITORY.owner) -> dict[str, Any]:
    """What every payload has."""
    return {
        "repository": {
            "id": REPOSITORY.id,
            "name": REPOSITORY.name,
            "owner": account_json(owner),
            "default_branch": "main",
            "private": False,
        },
        "sender": account_json(sender),
        "installation": {"id": INSTALLATION},
    }


def comment_payload(
    body: str,
    sender: Account = ANA,
    *,
    author: Account | None = None,
    action: str = "created",
    comment_id: int = 501,
    number: int = 1,
    at: datetime = NOW,
    old: str | None = None,
    owner: Account = REPOSITORY.owner,
    app_id: int | None = None,
    **more: Any,
) -> dict[str, Any]:
    """An `issue_comment` payload; `more` are fields of the comment."""
    payload = {
        "action": action,
        "issue": issue_fields(number),
        "comment": {
            "id": comment_id,
            "user": account_json(author or sender),
            "body": body,
            "html_url": f"https://github.test/acme/widgets/issues/{number}#issuecomment-{comment_id}",
            "created_at": stamp(min(at, NOW)),
            "updated_at": stamp(at),
            "performed_via_github_app": None if app_id is None else {"id": app_id},
            **more,
        },
        **around(sender, owner),
    }
    if old is not None:
        payload["changes"] = {"body": {"from": old}}
    return payload


@asynccontextmanager
async def open_scene(directory: Path, **identity: Any) -> AsyncIterator[Scene]:
    """A scene on an empty database. The repository has no configuration until a test says so."""
    server = FakeGitHub(FakeClock(NOW))
    store = open_store(DATABASES.of_folder(directory))
    scene = Scene(store, server, **identity)
    try:
        yield scene
    finally:
        await scene.close()
        await store.close()


# -- nouns for the modules below the intake --------------------------------------------------------------------------


def comment(comment_id: int = 501, body: str = "hello", author: Account = ANA, number: int = 1, **more: Any) -> Comment:
    """A comment of the thread."""
    url = f"https://github.test/acme/widgets/issues/{number}#issuecomment-{comment_id}"
    values: dict[str, Any] = {"created_at": NOW, "updated_at": NOW, "url": url} | more
    return Comment(comment_id, author, body, **values)


def event(body: str = "@bot", *, sender: Account = ANA, action: str = "created", said: Comment | None = None) -> Event:
    """An event of a comment."""
    made = said or comment(body=body, author=sender)
    return Event(
        name="issue_comment",
        action=action,
        at=made.created_at,
        sender=sender,
        repository=REPOSITORY,
        installation_id=INSTALLATION,
        issue=rows.issue(),
        comment=made,
        text=made.body,
    )


def configured(text: str = "version: 1\n", commit: str = COMMIT) -> Configured:
    """A repository's `bot.yml`, checked."""
    files = {".github/bot.yml": text}
    return Configured(commit, files, *check(files, builtin_files()))


def acceptance(
    session: Session, about: Event, configuration: Configured | None = None, now: datetime = NOW, guid: str = "g"
) -> Acceptance:
    """What the requests of one kept delivery have in common."""
    deliveries.take(session, rows.delivery(guid), now)
    kept = deliveries.find(session, guid)
    assert kept is not None
    identity = Identity(APP_ID, "bot", frozenset({"acme"}))
    return Acceptance(kept, about, identity, configuration or configured(), now)


def asked(command: Command, ordinal: int = 0, role: Role | None = Role.WRITE) -> Asked:
    """A request that may be made."""
    return Asked(ordinal, command, role)


def client_of(server: FakeGitHub) -> RepositoryClient:
    """The repository's client on a scripted GitHub."""
    return make_github(server).repository(INSTALLATION, REPOSITORY)
