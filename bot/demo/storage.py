"""Files that GitHub keeps elsewhere: logs behind addresses that work for a while, and attachments of comments."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

#: first words of the paths that lead here
FIRST_WORDS = frozenset({"_storage", "user-attachments"})
_LENT = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Kept:
    """One file; `until` is None for one that stays. With a `key` only an address that holds it opens the file."""

    content: bytes
    media_type: str
    until: datetime | None = None
    key: str = ""


class Store:
    """What is kept. `site` tells the address of the moment, `now` the time."""

    def __init__(self, site: Callable[[], str], now: Callable[[], datetime]) -> None:
        self._site = site
        self._now = now
        self._kept: dict[str, Kept] = {}

    def lend(self, content: bytes, media_type: str) -> str:
        """An address that whoever has it may read for a minute."""
        path = f"/_storage/{secrets.token_hex(16)}"
        self._kept[path] = Kept(content, media_type, self._now() + _LENT)
        return f"{self._site()}{path}"

    def attach(self, name: str, content: bytes, media_type: str, *, signed: bool = False) -> str:
        """What somebody drags into a comment: images get an address of their own, other files keep their name.

        With `signed`, as in a private repository, the address opens it only as a rendered comment has it.
        """
        if media_type.startswith("image/"):
            path = f"/user-attachments/assets/{uuid.uuid4()}"
        else:
            path = f"/user-attachments/files/{secrets.randbelow(90_000_000) + 10_000_000}/{name}"
        self._kept[path] = Kept(content, media_type, key=secrets.token_hex(16) if signed else "")
        return f"{self._site()}{path}"

    def sign(self, html: str) -> str:
        """Rendered text with the addresses of signed files as they open them."""
        for path, kept in self._kept.items():
            if kept.key:
                html = html.replace(f"{self._site()}{path}", f"{self._site()}{path}?jwt={kept.key}&amp;from=comment")
        return html

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._answer(Request(scope))(scope, receive, send)

    def _answer(self, request: Request) -> Response:
        kept = self._kept.get(request.url.path)
        if "authorization" in request.headers:
            # a bearer token beside a signed address is refused there too, and must never get here
            return Response(b"credentials do not belong here", 400)
        if kept is None or (kept.until is not None and kept.until < self._now()):
            return Response(b"not found", 404)
        if kept.key and request.query_params.get("jwt") != kept.key:
            return Response(b"not found", 404)
        return Response(kept.content, 200, {"Content-Type": kept.media_type})
