"""The App on GitHub, and the clients of the repositories that it is installed in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

import httpx

from bot.errors import NotFound, Transient
from bot.github import parse, retry
from bot.github.cache import Bounded
from bot.github.channel import Channel
from bot.github.configuration import ConfigurationReader
from bot.github.hook_log import HookLog
from bot.github.installations import Installations
from bot.github.repository import Heads, RepositoryClient
from bot.github.tokens import PERMISSIONS, InstallationTokens, Purpose, Signer, as_app, lacking
from bot.github.wire import Wire
from bot.model.allowance import Allowances
from bot.model.clock import Clock
from bot.model.installation import Installation
from bot.model.thread import Account, Repository

_MOST_REPOSITORIES = 512
_MOST_HEADS = 2048
_MOST_NAMED = 256
#: how long a name is believed to be the same repository's
_NAMED_FOR = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class AppInfo:
    """The App as GitHub knows it; `slug` is the handle people mention. `owner` is `GHOST` where GitHub shows none."""

    id: int
    slug: str
    owner: Account


class GitHub:
    """GitHub's REST API, authenticated as one App.

    `base_url` is the REST base (`https://api.github.com`, GHES: `https://HOST/api/v3`), `private_key` the PEM text,
    `timeout` seconds for each wait, `allowances` what all processes know of GitHub's limits (without: this one's own).
    One pool of connections serves all repositories and all tasks of one event loop; `aclose` ends it.
    """

    def __init__(
        self,
        *,
        base_url: str,
        app_id: str,
        private_key: str,
        clock: Clock,
        transport: httpx.AsyncBaseTransport | None = None,
        timeout: float = 20,
        allowances: Allowances | None = None,
    ) -> None:
        self._wire = Wire(base_url, transport=transport, clock=clock, timeout=timeout, allowances=allowances)
        self._signer = Signer(app_id, private_key, clock)
        self._tokens = InstallationTokens(self._wire, self._signer, clock)
        self._repositories: Bounded[tuple[int, int], RepositoryClient] = Bounded(_MOST_REPOSITORIES)
        self._heads: Heads = Bounded(_MOST_HEADS)
        self._configuration = ConfigurationReader()
        self._clock = clock
        self._app_id = app_id
        self._installations = Installations(self._wire, self._signer, self._tokens, clock)
        #: what GitHub sent to the App, or could not
        self.hook_log = HookLog(self._wire, self._signer)
        self._named: Bounded[tuple[str, str], tuple[int, Repository, datetime]] = Bounded(_MOST_NAMED)

    @property
    def requests(self) -> Counter[str]:
        """Requests sent so far by kind (`issue`, `comments`, `permission`, `head`, `token`, …), repeats included."""
        return self._wire.requests

    @property
    def answers(self) -> Counter[tuple[str, str]]:
        """The same by kind and status, or by the name of what a request met that got no answer."""
        return self._wire.answers

    @property
    def away_for(self) -> float:
        """Seconds for which nothing is asked because GitHub does not answer; 0 where it may be asked."""
        return self._wire.breaker.left

    @property
    def away(self) -> tuple[datetime, str] | None:
        """Since when GitHub does not answer (or not to one kind of request), and how it failed last; else None."""
        breaker = self._wire.breaker
        return None if breaker.since is None else (breaker.since, breaker.reason)

    def check_key(self) -> None:
        """Sign something. Raises OperatorError where the App's private key cannot be used."""
        self._signer.authorization()

    async def app(self) -> AppInfo:
        """Who the App is. Raises Forbidden where id and key do not belong together."""
        body = await self._get("/app", kind="app")
        try:
            return AppInfo(int(body["id"]), str(body["slug"]), parse.account(body.get("owner")))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise Transient("GET /app: the answer cannot be read") from None

    async def installation(self, owner: str, repo: str) -> int:
        """The installation that serves a repository. Raises NotFound where the App is not installed there."""
        path = f"/repos/{quote(owner, safe='')}/{quote(repo, safe='')}/installation"
        body = await self._get(path, kind="installation")
        try:
            return int(body["id"])
        except (KeyError, TypeError, ValueError):
            raise Transient(f"GET {path}: the answer cannot be read") from None

    def repository(self, installation_id: int, repository: Repository) -> RepositoryClient:
        """The client of one repository: the same object while it is in use, following the repository's present name."""
        key = (installation_id, repository.id)
        client = self._repositories.get(key)
        if client is None:
            client = RepositoryClient(
                Channel(self._wire, self._tokens, installation_id, repository, self._app_id),
                self._heads,
                self._configuration,
            )
            self._repositories.put(key, client)
        client.follow(repository)
        return client

    async def named(self, owner: str, repo: str) -> RepositoryClient:
        """The client of a repository that is known by its name alone, as long as it still has it.

        Raises NotFound where there is none, or the App is not installed there.
        """
        key = (owner.casefold(), repo.casefold())
        now = self._clock.now()
        known = self._named.get(key)
        if known is None or not now <= known[2] <= now + _NAMED_FOR:  # the clock may have been set back
            installation_id = await self.installation(owner, repo)
            found = await self._tokens.repository(installation_id, repo)
            if (found.owner.login.casefold(), found.name.casefold()) != key:
                # GitHub redirects from an old name, which somebody else may take tomorrow
                raise NotFound(f"{owner}/{repo} is called {found.full_name} now")
            known = (installation_id, found, now + _NAMED_FOR)
            self._named.put(key, known)
        return self.repository(known[0], known[1])

    async def numbered(self, installation_id: int, repository_id: int) -> RepositoryClient:
        """The client of a repository under its present name, given its number.

        Raises NotFound where it is gone, or not the installation's any longer.
        """
        return self.repository(installation_id, await self._tokens.repository(installation_id, repository_id))

    async def installations(self) -> tuple[Installation, ...]:
        """Everywhere the App is installed, suspended installations too."""
        return await self._installations.all()

    async def repositories(self, installation_id: int) -> tuple[Repository, ...]:
        """All repositories of an installation, archived ones too."""
        return await self._installations.repositories(installation_id)

    async def installed(self, installation_id: int) -> Installation:
        """An installation: whose it is, what it may do, what it hears of; believed for five minutes."""
        return await self._installations.one(installation_id)

    async def granted(self, installation_id: int) -> Mapping[str, str]:
        """The permissions that an installation has, as `{"issues": "write"}`; believed for five minutes."""
        return (await self._installations.one(installation_id)).permissions

    async def missing(self, installation_id: int, *purposes: Purpose) -> tuple[str, ...]:
        """The permissions, as `checks: write`, that the purposes need and an installation has not granted."""
        granted = await self.granted(installation_id)
        rows = [words for purpose in purposes for words in lacking(granted, PERMISSIONS[purpose])]
        return tuple(dict.fromkeys(rows))

    def forget_grants(self, installation_id: int) -> None:
        """Ask again what was granted: a webhook says that it changed."""
        self._installations.forget(installation_id)

    def forget(self, owner: str, repo: str) -> None:
        """Ask again whose name that is."""
        self._named.pop((owner.casefold(), repo.casefold()))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._wire.aclose()

    async def _get(self, path: str, *, kind: str) -> Any:
        response = await as_app(self._wire, self._signer, "GET", path, kind=kind)
        error = retry.final(response, what=f"GET {path}")
        if error is not None:
            raise error
        try:
            return response.json()
        except ValueError:
            raise Transient(f"GET {path}: the answer cannot be read") from None
