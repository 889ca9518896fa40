"""Files of any length from where GitHub points, in flat memory: the head, the tail, and how much lay between."""

from __future__ import annotations

import re
from dataclasses import dataclass

import httpx

from bot.errors import NotFound, Transient
from bot.model.cut import mark

#: more than this is not read at all
MOST_BYTES = 64 * 1024 * 1024
_MOST_REDIRECTS = 3
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_STORAGE = re.compile(r"github-production-[a-z0-9-]+\.s3\.amazonaws\.com")


@dataclass(frozen=True, slots=True)
class Download:
    """What was read. `size` counts all of it; `head` is the whole where nothing was left out."""

    head: bytes
    tail: bytes = b""
    size: int = 0
    #: GitHub's word for what it is
    media_type: str = ""

    @property
    def cut(self) -> int:
        """Bytes between head and tail that were let go."""
        return self.size - len(self.head) - len(self.tail)

    def text(self) -> str:
        """Decoded with replacement; a line of its own says how much was cut."""
        head = self.head.decode("utf-8", "replace")
        if not self.cut:
            return head + self.tail.decode("utf-8", "replace")
        return f"{head}\n{mark(self.cut, self.size)}\n{self.tail.decode('utf-8', 'replace')}"


@dataclass(frozen=True, slots=True)
class Hosts:
    """Where files may be read from: the scheme of the REST base, and these hosts or what lies below those."""

    scheme: str
    names: tuple[str, ...]
    below: tuple[str, ...] = ()
    #: any host at all: the address came from GitHub's own redirect, and nothing is sent there
    every: bool = False
    #: redirects may lead to the buckets that hold github.com's attachments
    storage: bool = False

    def takes(self, url: httpx.URL, *, redirected: bool = False) -> bool:
        """Whether an address is one of them."""
        if url.scheme != self.scheme or url.userinfo:
            return False
        if self.every or url.host in self.names or any(url.host.endswith(f".{name}") for name in self.below):
            return True
        return redirected and self.storage and _STORAGE.fullmatch(url.host) is not None


async def download(client: httpx.AsyncClient, url: httpx.URL, *, hosts: Hosts, keep: int) -> Download:
    """Read an address without any credentials, following up to three redirects among `hosts`.

    `keep` bytes are kept, half of them from the end. Raises NotFound for what is gone, elsewhere or longer than
    `MOST_BYTES`; Transient where the server fails. The caller bounds the time.
    """
    for redirects in range(_MOST_REDIRECTS + 1):
        if not hosts.takes(url, redirected=redirects > 0):
            raise NotFound(f"{url.host}: not a host of GitHub's")
        async with client.stream("GET", url, follow_redirects=False, headers={"Accept": "*/*"}) as response:
            if response.status_code in _REDIRECTS:
                url = url.join(response.headers.get("location", ""))
                continue
            if response.status_code >= 500 or response.status_code == 429:
                raise Transient(f"{url.host}: {response.status_code}")
            if response.status_code != 200:
                raise NotFound(f"{url.host}: {response.status_code}")
            return await _read(response, keep)
    raise NotFound(f"{url.host}: redirected without end")


async def _read(response: httpx.Response, keep: int) -> Download:
    room, behind = keep - keep // 2, keep // 2
    head, tail, size = bytearray(), bytearray(), 0
    async for chunk in response.aiter_bytes():
        size += len(chunk)
        if size > MOST_BYTES:
            raise NotFound(f"{response.request.url.host}: more than {MOST_BYTES // 1024**2} MiB")
        free = room - len(head)
        head += chunk[:free] if free > 0 else b""
        tail += chunk[free:] if free > 0 else chunk
        if len(tail) > 2 * behind + 65536:
            del tail[: len(tail) - behind]
    media = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return Download(bytes(head), bytes(tail[-behind:]) if behind else b"", size, media)
