"""Who we are to GitHub: the App's JWT, and installation tokens that may do one thing in one repository.

Sources: https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-json-web-token-jwt-for-a-github-app
and https://docs.github.com/en/rest/apps/apps#create-an-installation-access-token-for-an-app
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import httpx

from bot.errors import BotError, NotFound, NotGranted, OperatorError, Transient
from bot.github import parse, refusal, retry
from bot.github.cache import Bounded
from bot.github.wire import Wire
from bot.model.clock import Clock
from bot.model.thread import Repository


class Purpose(StrEnum):
    """What a token is for."""

    ROLE = "role"
    READ = "read"
    READ_PULL = "read_pull"
    CHECKS = "checks"
    POST = "post"
    POST_PULL = "post_pull"
    POST_CHECKS = "post_checks"
    GIT = "git"


#: The one table of what each purpose may do. A token has nothing else, and one repository only (but for the one by
#: which an installation's repositories are listed).
PERMISSIONS: Mapping[Purpose, Mapping[str, str]] = {
    # asked first of all, and by itself: an App that lacks everything else must still know whom to tell
    Purpose.ROLE: {"metadata": "read"},
    Purpose.READ: {"metadata": "read", "contents": "read", "issues": "read"},
    # an App that serves issues only need not be given this one
    Purpose.READ_PULL: {"metadata": "read", "contents": "read", "issues": "read", "pull_requests": "read"},
    # results of checks, and the logs of those that are jobs of GitHub Actions
    Purpose.CHECKS: {"metadata": "read", "contents": "read", "checks": "read", "actions": "read"},
    Purpose.POST: {"issues": "write"},
    # comments and reactions in a pull request's conversation need both
    Purpose.POST_PULL: {"issues": "write", "pull_requests": "write"},
    # includes reading them: ours are looked for before one is made again
    Purpose.POST_CHECKS: {"checks": "write"},
    Purpose.GIT: {"contents": "read"},
}

_LEVELS = ("none", "read", "write", "admin")
#: GitHub takes at most ten minutes; nine leave room for a clock that is a little off
_JWT_LIFE = timedelta(minutes=9)
_JWT_BACKDATED = timedelta(seconds=60)
#: a token is replaced this long before it ends, so that it lasts for what it was taken for
_RENEW_BEFORE = timedelta(minutes=5)
_CLOCK_TOLERANCE = timedelta(seconds=30)
_MOST_TOKENS = 2048


class Signer:
    """Signs the App's JWT, and learns how far our clock is off where GitHub refuses one for its times."""

    def __init__(self, app_id: str, private_key: str, clock: Clock) -> None:
        self._app_id = app_id
        self._pem = private_key
        self._clock = clock
        self._key: Any = None  # an RSA key of cryptography's, which is imported late
        self._offset = timedelta(0)
        self._signed = ""
        self._renew_at: datetime | None = None

    def authorization(self) -> str:
        """The `Authorization` of a request as the App. Raises OperatorError where the key cannot be used."""
        now = self._clock.now() + self._offset
        if self._renew_at is None or now >= self._renew_at or now < self._renew_at - _JWT_LIFE:
            self._signed = self._sign(now)
            self._renew_at = now + _JWT_LIFE - timedelta(minutes=1)
        return f"Bearer {self._signed}"

    def corrected(self, response: httpx.Response) -> bool:
        """After a 401: whether our clock was the fault, so that a new signature may do."""
        theirs = retry.server_time(response)
        if theirs is None:
            return False
        offset = theirs - self._clock.now()
        if abs(offset - self._offset) < _CLOCK_TOLERANCE:
            return False
        self._offset = offset
        self._renew_at = None
        return True

    def _sign(self, now: datetime) -> str:
        import jwt  # late: it brings cryptography

        try:
            if self._key is None:
                from cryptography.hazmat.primitives.serialization import load_pem_private_key

                # not validated: that takes 50 ms of everybody's time, the key is the operator's own, and GitHub
                # refuses what a damaged one signs
                self._key = load_pem_private_key(self._pem.encode(), password=None, unsafe_skip_rsa_key_validation=True)
            claims = {"iss": self._app_id, "iat": now - _JWT_BACKDATED, "exp": now + _JWT_LIFE}
            return jwt.encode(claims, self._key, algorithm="RS256")
        except (ValueError, TypeError, jwt.PyJWTError):
            # never the cause: it may quote the key
            raise OperatorError(
                "the App's private key cannot be read",
                "set BOT_GITHUB_PRIVATE_KEY_FILE to the App's .pem file, or BOT_GITHUB_PRIVATE_KEY to its text",
            ) from None


async def as_app(
    wire: Wire,
    signer: Signer,
    method: str,
    path: str,
    *,
    kind: str,
    repeat: bool | None = None,
    json: Any = None,
    params: Mapping[str, str | int] | None = None,
) -> httpx.Response:
    """One exchange as the App, signed once more where our clock was the fault."""
    content: dict[str, Any] = {} if json is None else {"json": json}
    if params:
        content["params"] = dict(params)
    for _ in range(2):
        response = await wire.exchange(
            method, path, authorization=signer.authorization(), kind=kind, repeat=repeat, **content
        )
        if response.status_code != 401 or not signer.corrected(response):
            break
    return response


@dataclass(slots=True)
class _Held:
    token: str = field(default="", repr=False)
    renew_at: datetime | None = None
    minting: asyncio.Task[str] | None = None


class InstallationTokens:
    """Tokens by (installation, repository, purpose), each minted when first needed and by one task at a time."""

    def __init__(self, wire: Wire, signer: Signer, clock: Clock) -> None:
        self._wire = wire
        self._signer = signer
        self._clock = clock
        self._held: Bounded[tuple[int, int | None, Purpose], _Held] = Bounded(_MOST_TOKENS)

    async def get(self, installation_id: int, repository_id: int | None, purpose: Purpose) -> str:
        """A token that is good for five minutes at least; without a repository it is for all of the installation.

        Raises Forbidden, naming the permission, where the installation has not granted it; NotFound where there is no
        such installation; Transient where GitHub does not answer.
        """
        key = (installation_id, repository_id, purpose)
        held = self._held.get(key)
        if held is None:
            held = _Held()
            self._held.put(key, held)
        if held.token and held.renew_at is not None and self._clock.now() < held.renew_at:
            return held.token
        if held.minting is None:
            held.minting = asyncio.create_task(self._mint(held, *key))
            held.minting.add_done_callback(lambda task: _settled(held, task))
        # shielded: whoever is cancelled leaves the others their token
        return await asyncio.shield(held.minting)

    async def repository(self, installation_id: int, which: str | int) -> Repository:
        """The repository of that name or number in an installation, from the answer to a token that may do nothing.

        Raises NotFound where there is none, or none that the App may see; Forbidden and Transient as `get` does.
        """
        path = f"/app/installations/{installation_id}/access_tokens"
        body: dict[str, Any] = {"permissions": dict(PERMISSIONS[Purpose.ROLE])}
        body |= {"repository_ids": [which]} if isinstance(which, int) else {"repositories": [which]}
        response = await as_app(self._wire, self._signer, "POST", path, kind="token", repeat=True, json=body)
        if response.status_code == 422:
            raise NotFound(f"POST {path}: {retry.message(response)}")
        error = retry.final(response, what=f"POST {path}")
        if error is not None:
            raise error
        try:
            return parse.repository(response.json()["repositories"][0])
        except (ValueError, KeyError, TypeError, IndexError):
            raise Transient(f"POST {path}: the answer cannot be read") from None

    def drop(self, installation_id: int, repository_id: int | None, purpose: Purpose, token: str) -> None:
        """Forget a token that GitHub refused, unless it was replaced meanwhile."""
        held = self._held.get((installation_id, repository_id, purpose))
        if held is not None and held.token == token:
            held.token = ""

    async def _mint(self, held: _Held, installation_id: int, repository_id: int | None, purpose: Purpose) -> str:
        wanted = PERMISSIONS[purpose]
        path = f"/app/installations/{installation_id}/access_tokens"
        body: dict[str, Any] = {"permissions": dict(wanted)}
        if repository_id is not None:
            body["repository_ids"] = [repository_id]
        # a second token does no harm, so this POST may be repeated
        response = await as_app(self._wire, self._signer, "POST", path, kind="token", repeat=True, json=body)
        if response.status_code in (403, 422) and "permission" in retry.message(response).lower():
            missing = await self._missing(installation_id, wanted)
            names = ", ".join(f"`{name}`" for name in missing)
            raise NotGranted(
                f"the App has not been granted {names} on installation {installation_id}",
                response.status_code,
                refusal.permission_missing(missing),
            )
        error = retry.final(response, what=f"POST {path}")
        if isinstance(error, NotFound):
            error.why = refusal.APP_REMOVED
        if error is not None:
            raise error
        try:
            answer = response.json()
            token, ends = answer["token"], parse.timestamp(answer["expires_at"], "expires_at")
        except (ValueError, KeyError, TypeError):
            raise Transient(f"POST {path}: the answer cannot be read") from None
        # by how long it lasts on GitHub's clock, so that ours may be off
        life = ends - (retry.server_time(response) or self._clock.now())
        held.renew_at = self._clock.now() + life - _RENEW_BEFORE
        held.token = str(token)
        return held.token

    async def _missing(self, installation_id: int, wanted: Mapping[str, str]) -> list[str]:
        """Which of the wanted permissions GitHub says the installation lacks; all of them where it does not say."""
        path = f"/app/installations/{installation_id}"
        try:
            response = await as_app(self._wire, self._signer, "GET", path, kind="installation")
            missing = lacking(response.json()["permissions"], wanted)
        except (BotError, ValueError, KeyError, TypeError, AttributeError):
            missing = ()
        return list(missing) or [f"{name}: {level}" for name, level in wanted.items()]


def lacking(granted: Mapping[str, str], wanted: Mapping[str, str]) -> tuple[str, ...]:
    """Which wanted permissions are not granted, as `name: level`."""
    return tuple(f"{n}: {level}" for n, level in wanted.items() if _rank(granted.get(n)) < _rank(level))


def _rank(level: object) -> int:
    return _LEVELS.index(level) if isinstance(level, str) and level in _LEVELS else 0


def _settled(held: _Held, task: asyncio.Task[str]) -> None:
    held.minting = None
    if not task.cancelled():
        # looked at, so that asyncio does not complain where everybody who waited was cancelled
        task.exception()
