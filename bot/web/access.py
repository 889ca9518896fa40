"""Who is let in: an ASGI middleware around every route.

With a password, everything takes it as a bearer token (RFC 6750, section 2.1), except `PUBLIC`. Without one, only
requests made on this machine are served: a loopback Host, so that no name that resolves to it reaches it (DNS
rebinding), and no header of a proxy, behind which anybody may be. `/webhook` has its signature and `/healthz` tells
nothing: both are open.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from bot.web.fault import Fault

#: paths that are served to everybody
OPEN = frozenset({"/webhook", "/healthz"})
#: paths that need no password where there is one: what a probe asks, and what the API looks like
PUBLIC = frozenset({"/readyz", "/docs", "/openapi.json"})
#: what proxies add: RFC 7239, RFC 9110 (section 7.6.3), and the names in use
_FORWARDED = frozenset({b"forwarded", b"via", b"x-real-ip", b"true-client-ip", b"cf-connecting-ip"})
#: `host`, `host:port`, `[v6]`, `[v6]:port`
_HOST = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9.-]+))(?::\d{1,5})?")

Headers = Sequence[tuple[bytes, bytes]]


class Access:
    """Serves `app` to those who may; all others get 401, 403 or 421 with a `Fault`."""

    def __init__(self, app: ASGIApp, password: str = "") -> None:
        self._app = app
        self._password = password.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http" or scope["path"] in OPEN:
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope["path"], scope["headers"])
        await (refusal.response() if refusal is not None else self._app)(scope, receive, send)

    def _refusal(self, path: str, headers: Headers) -> Fault | None:
        if self._password:
            return None if path in PUBLIC or self._knows(headers) else _PASSWORD
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) != 1 or not is_loopback(hosts[0].decode("latin-1")):
            return _HOST_REFUSED
        if any(name in _FORWARDED or name.startswith(b"x-forwarded-") for name, _ in headers):
            return _PROXY
        # a page of another site may make this machine's browser ask
        foreign = [value for name, value in headers if name == b"origin" and not _same(value, hosts[0])]
        return _ORIGIN if foreign else None

    def _knows(self, headers: Headers) -> bool:
        given = [value for name, value in headers if name == b"authorization"]
        scheme, _, token = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        return scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._password)


def is_loopback(host: str) -> bool:
    """Whether the value of `Host` names this machine by a name or address that no other machine has."""
    found = _HOST.fullmatch(host)
    if found is None:
        return False
    name = (found["v6"] or found["name"]).lower()
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def _same(origin: bytes, host: bytes) -> bool:
    try:
        return urlsplit(origin.decode("latin-1")).netloc.lower() == host.decode("latin-1").lower()
    except ValueError:
        return False


_SET = "Set BOT_DASHBOARD_PASSWORD and send it as `Authorization: Bearer …`."
_PASSWORD = Fault(401, "password", "the bearer token is missing or wrong", "Send BOT_DASHBOARD_PASSWORD as it.")
_HOST_REFUSED = Fault(421, "not_local", "without a password only this machine is served", f"Use 127.0.0.1. {_SET}")
_PROXY = Fault(403, "not_local", "without a password nothing that came through a proxy is served", _SET)
_ORIGIN = Fault(403, "not_local", "the request comes from a page of another site", _SET)
