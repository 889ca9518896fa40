"""A small world for tests: a repository of ana's, three people, the App `bot` installed on it, and clients of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import httpx

from bot.demo.keys import new_key, sign
from bot.demo.known import Known
from bot.demo.records import App, Comment, Installation, Issue, Repository
from bot.demo.server import lookalike
from bot.demo.world import World
from bot.model.role import Role
from tests.contract.openapi import CheckedTransport

FILES = {
    "README.md": "# parser\n",
    ".github/bot.yml": "agents: {}\n",
    "src/size.py": "def parse_size(text):\n    return int(text)\n",
    "run.sh": "#!/bin/sh\nexit 0\n",
}


class StillClock:
    """Time that moves only when told; sleeping moves it."""

    def __init__(self) -> None:
        self.at = datetime(2025, 11, 3, 10, 0, 0, 250_000, UTC)

    def now(self) -> datetime:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


@cache
def key() -> str:
    """One key for all tests of a process: making one takes long."""
    return new_key()


@dataclass
class Scene:
    """What `scene` made."""

    world: World
    clock: StillClock
    app: App
    installation: Installation
    repo: Repository
    issue: Issue
    transport: CheckedTransport = field(init=False)

    def __post_init__(self) -> None:
        self.transport = CheckedTransport(httpx.ASGITransport(lookalike(self.world)), closed=True)

    def jwt(self, issued: float = -60, expires: float = 540, *, signed_with: str = "", **claims: Any) -> str:
        """The App's own token; times are seconds from now."""
        now = self.clock.now().timestamp()
        said = {"iat": int(now + issued), "exp": int(now + expires), "iss": str(self.app.id), **claims}
        return sign(said, signed_with or key())

    def client(self, token: str = "", *, unchecked: bool = False, **headers: str) -> httpx.AsyncClient:
        """A client of the REST API; `unchecked` may ask for what GitHub does not describe."""
        transport = CheckedTransport(self.transport.inner, requests=False) if unchecked else self.transport
        authorization = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.AsyncClient(transport=transport, base_url=self.world.api_url, headers={**authorization, **headers})

    def as_app(self) -> httpx.AsyncClient:
        """As the App itself."""
        return self.client(self.jwt())

    def as_installation(self, **permissions: str) -> httpx.AsyncClient:
        """As the installation on the repository, with these permissions or all."""
        return self.client(self.world.mint(self.installation, [self.repo.id], permissions).value)

    def path(self, rest: str = "") -> str:
        """A path below the repository."""
        return f"/repos/{self.repo.full_name}{rest}"


class Told:
    """What the page is told of what a bot saw: of a bot's comment with "pins" in it, nothing."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self.told = told
        self.silences: dict[int, str] = {}
        self.known = Known()

    async def __call__(self, comment_id: int) -> Mapping[str, Any] | None:
        return self.told

    async def written(self, comments: Sequence[Comment]) -> AbstractSet[int]:
        return {row.id for row in comments if row.author.type == "Bot" and "pins" not in row.body}

    async def knows(self, issue: Issue) -> Known:
        return self.known

    def silence(self, comment_id: int) -> str:
        return self.silences.get(comment_id, "")


def scene(directory: Path, *, owner_type: str = "User", owner: str = "ana") -> Scene:
    """Make one: ana owns `ana/parser`, meg may write, sam is nobody; issue 1 is open. Or somebody else owns it."""
    clock = StillClock()
    world = World(directory, clock=clock)
    account = world.add_user(owner, type=owner_type)
    for login in ("meg", "sam"):
        world.add_user(login)
    repo = world.add_repository(account, "parser", FILES)
    world.set_role(repo, "meg", Role.WRITE)
    app = world.add_app("bot", account, webhook_secret="s3cret", private_key=key())
    installation = world.install(app, account)
    issue = world.open_issue(repo, "meg", "Crash on an empty size", "`parse_size('')` raises.")
    return Scene(world, clock, app, installation, repo, issue)
