"""One REST request: who asks, what they may touch, what they sent; and the answer."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from starlette.requests import Request

from bot.demo.access import Token
from bot.demo.keys import issuer, verify
from bot.demo.records import App, Installation, Repository, User
from bot.demo.refusal import Refused, bad_credentials, malformed, no_jwt, not_found, not_integration
from bot.demo.world import World, covers
from bot.model.role import Role

T = TypeVar("T")
Level = Literal["read", "write"]
_MEDIA = re.compile(r"application/vnd\.github(?:\.v3)?\.(raw|text|html|full|sha|object|diff|patch)\b")


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who asks. `key` is what the rate limit counts by."""

    kind: Literal["anonymous", "app", "installation", "user"]
    key: str
    user: User | None = None
    app: App | None = None
    token: Token | None = None

    @property
    def installation(self) -> Installation | None:
        """The installation whose token was sent."""
        return self.token.installation if self.token else None

    @property
    def permissions(self) -> Mapping[str, str]:
        """What the token may do; empty for all others."""
        return self.token.permissions if self.token else {}

    @property
    def repository_ids(self) -> frozenset[int] | None:
        """To which repositories the token was narrowed."""
        return self.token.repository_ids if self.token else None


def authenticate(world: World, header: str | None) -> Viewer:
    """Read an `Authorization` header (Bearer, token, or Basic with the token as password). Raises 401."""
    if not header:
        return Viewer("anonymous", "anonymous")
    scheme, _, value = header.strip().partition(" ")
    value = value.strip()
    if scheme.lower() == "basic":
        try:
            value = b64decode(value, validate=True).decode().partition(":")[2]
        except (NotBase64, UnicodeDecodeError):
            raise bad_credentials() from None
    elif scheme.lower() not in {"bearer", "token"}:
        raise bad_credentials()
    if value.count(".") == 2:
        return _app(world, value)
    found = world.tokens.get(value)
    if found is None or (found.expires_at is not None and found.expires_at <= world.now()):
        raise bad_credentials()
    if found.installation is not None:
        return Viewer("installation", value, found.installation.app.bot, found.installation.app, found)
    return Viewer("user", value, found.user, None, found)


def _app(world: World, token: str) -> Viewer:
    signed_by = issuer(token)
    for app in world.apps.values():
        if signed_by in {str(app.id), app.client_id}:
            verify(token, app.public_key, world.clock.now())
            return Viewer("app", f"app {app.id}", None, app)
    raise Refused(404, "Integration not found")


@dataclass(slots=True)
class Reply:
    """What is answered: JSON `data`, or `raw` bytes of the given media type; neither for 204."""

    data: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    media: str = "application/json; charset=utf-8"


@dataclass(slots=True)
class Call:
    """One request on its way through an endpoint."""

    world: World
    request: Request
    path: str
    params: dict[str, str]
    viewer: Viewer
    body: bytes

    @property
    def media(self) -> str:
        """The variant asked for in `Accept`: raw, text, html, full, sha, object, or empty."""
        found = _MEDIA.search(self.request.headers.get("accept", ""))
        return found[1] if found else ""

    def number(self, name: str) -> int:
        """A number in the path. Raises 404 for anything else."""
        if not self.params[name].isdecimal():
            raise not_found()
        return int(self.params[name])

    def query(self, name: str) -> str | None:
        """A query parameter."""
        return self.request.query_params.get(name)

    def json(self) -> dict[str, Any]:
        """The body as an object; none at all is an empty one. Raises 400."""
        if not self.body:
            return {}
        try:
            parsed = json.loads(self.body)
        except ValueError:
            raise Refused(400, "Problems parsing JSON") from None
        if not isinstance(parsed, dict):
            raise Refused(400, "Body should be a JSON object")
        return parsed

    def field(self, name: str, kind: type[T]) -> T | None:
        """A key of the body, None if missing or null. Raises 422 for the wrong type."""
        value = self.json().get(name)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool) is not (kind is bool)):
            raise malformed(f"For 'properties/{name}', {json.dumps(value)} is not a {kind.__name__}.")
        return value

    def needed(self, name: str, kind: type[T]) -> T:
        """A key that must be there. Raises 422."""
        if (value := self.field(name, kind)) is None:
            raise malformed(f'"{name}" wasn\'t supplied.')
        return value

    def actor(self) -> User:
        """Whoever acts. Raises 401 for nobody."""
        if self.viewer.user is None:
            raise Refused(401, "Requires authentication")
        return self.viewer.user

    def app(self) -> App:
        """The App, by its own token. Raises 401."""
        if self.viewer.kind != "app" or self.viewer.app is None:
            raise no_jwt()
        return self.viewer.app

    def named_repository(self) -> Repository:
        """The repository in the path, whoever may see it. Raises 404, or 301 for a former name."""
        name = f"{self.params['owner']}/{self.params['repo']}"
        for repo in self.world.repositories.values():
            if repo.full_name.lower() == name.lower():
                return repo
        if (moved := self.world.former_names.get(name.lower())) is not None and moved in self.world.repositories:
            rest = self.path.split("/", 4)[4:]
            to = "/".join([f"{self.world.api_url}/repositories/{moved}", *rest])
            raise Refused(301, "Moved Permanently", headers={"Location": to}, url=to)
        raise not_found()

    def repository(self, permission: str, level: Level = "read") -> Repository:
        """The repository in the path, if the asker may do this to it.

        Raises 404 where it must stay unseen, 401 for writing without a token, 403 for a token that was not given the
        repository or the permission. GitHub lets installation tokens read any public repository; here they may read
        only what they were given, so that a bot cannot come to rely on more.
        """
        repo, viewer = self.named_repository(), self.viewer
        if viewer.kind == "app":
            raise bad_credentials()
        if repo.archived and level == "write" and viewer.kind != "anonymous":
            raise Refused(403, "Repository was archived so is read-only.")
        if viewer.token is None:
            if repo.private:
                raise not_found()
            if level == "write":
                raise Refused(401, "Requires authentication")
            return repo
        if viewer.installation is None:
            if not self.world.role(repo, self.actor()).at_least(Role.READ):
                raise not_found()
            return repo
        if viewer.installation.suspended_at is not None:
            raise Refused(403, "This installation has been suspended")
        given = viewer.repository_ids
        if not viewer.installation.holds(repo) or (given is not None and repo.id not in given):
            raise not_found() if repo.private else not_integration()
        # a token cannot do more than the installation may by now
        for granted in (viewer.permissions, viewer.installation.permissions):
            if not covers(granted, permission, level):
                raise not_integration()
        return repo


Endpoint = Callable[[Call], Awaitable[Reply]]
