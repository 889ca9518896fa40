"""Where the App is installed, and what it was granted there.

Source: https://docs.github.com/en/rest/apps/apps, https://docs.github.com/en/rest/apps/installations
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import httpx

from bot.github import parse, retry
from bot.github.cache import Bounded
from bot.github.channel import read, rows
from bot.github.tokens import InstallationTokens, Purpose, Signer, as_app
from bot.github.wire import Wire
from bot.model.clock import Clock
from bot.model.installation import Installation
from bot.model.thread import Repository

#: pages of a hundred; an App in more places is beyond what one instance serves
_MOST_PAGES = 100
_MOST_KNOWN = 512
#: how long what was granted is believed; somebody who accepts more is told of by a webhook too
_KNOWN_FOR = timedelta(minutes=5)


class Installations:
    """Reads installations for `GitHub`. Every call may raise `Transient`, `NotFound` and `Forbidden`."""

    def __init__(self, wire: Wire, signer: Signer, tokens: InstallationTokens, clock: Clock) -> None:
        self._wire = wire
        self._signer = signer
        self._tokens = tokens
        self._clock = clock
        self._known: Bounded[int, tuple[Installation, datetime]] = Bounded(_MOST_KNOWN)

    async def all(self) -> tuple[Installation, ...]:
        """Every installation of the App, suspended ones too."""
        found: list[Installation] = []
        for page in range(1, _MOST_PAGES + 1):
            response = await self._as_app("/app/installations", {"per_page": 100, "page": page})
            found += read(response, rows(_installation))
            if "next" not in response.links:
                break
        return tuple(found)

    async def one(self, installation_id: int) -> Installation:
        """What an installation may do and hears of; asked for again after five minutes, or once it was forgotten."""
        now, known = self._clock.now(), self._known.get(installation_id)
        if known is None or not now < known[1] <= now + _KNOWN_FOR:  # the clock may have been set back
            response = await self._as_app(f"/app/installations/{installation_id}", {})
            known = (read(response, _installation), now + _KNOWN_FOR)
            self._known.put(installation_id, known)
        return known[0]

    def forget(self, installation_id: int) -> None:
        """Ask again: somebody changed it."""
        self._known.pop(installation_id)

    async def repositories(self, installation_id: int) -> tuple[Repository, ...]:
        """The repositories of an installation, archived ones too."""
        found: list[Repository] = []
        for page in range(1, _MOST_PAGES + 1):
            response = await self._as_installation(installation_id, page)
            found += read(response, lambda body: rows(parse.repository)(body["repositories"]))
            if "next" not in response.links:
                break
        return tuple(found)

    async def _as_app(self, path: str, params: Mapping[str, int]) -> httpx.Response:
        response = await as_app(self._wire, self._signer, "GET", path, kind="installation", params=params)
        return _good(response, f"GET {path}")

    async def _as_installation(self, installation_id: int, page: int) -> httpx.Response:
        path = "/installation/repositories"
        for _ in range(2):
            token = await self._tokens.get(installation_id, None, Purpose.ROLE)
            response = await self._wire.exchange(
                "GET", path, authorization=f"token {token}", kind="repositories",
                installation_id=installation_id, params={"per_page": 100, "page": page},
            )  # fmt: skip
            if response.status_code != 401:
                break
            self._tokens.drop(installation_id, None, Purpose.ROLE, token)
        return _good(response, f"GET {path}")


def _good(response: httpx.Response, what: str) -> httpx.Response:
    error = retry.final(response, what=what)
    if error is not None:
        raise error
    return response


def _installation(data: Any) -> Installation:
    permissions, events = data["permissions"], data.get("events") or ()
    return Installation(
        id=int(data["id"]),
        account=parse.account(data.get("account")),
        permissions={str(name): str(level) for name, level in permissions.items()},
        events=frozenset(map(str, events)),
        suspended=bool(data.get("suspended_at")),
    )
