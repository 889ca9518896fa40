"""Where a clone may come from, and which of its refs: checked before git sees either."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from bot.errors import OperatorError, UserError

_PORTS = {"https": 443, "http": 80}
_PULL = re.compile(r"refs/pull/[1-9][0-9]*/(head|merge)")
#: what git-check-ref-format(1) refuses, and a leading dash
_NO_BRANCH = re.compile(r"^-|[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/$|^/|\.$|(^|/)\.|\.lock(/|$)|^@$|^refs/")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a repository is cloned from. Token and new address are asked only where something has to be fetched.

    `token` is asked with the one that was refused, or with nothing; `renamed` for the address that the repository has
    now, where nothing was found at `url`: git follows no redirect.
    """

    url: str
    token: Callable[[str], Awaitable[str]]
    renamed: Callable[[], Awaitable[str]]


def check_url(url: str, allowed_host: str) -> str:
    """The URL if it is on `allowed_host` (`scheme://host[:port]`, `https` where no scheme is given).

    Raises OperatorError for another scheme, host or port, and for anything a plain clone address does not have.
    """
    wanted = urlsplit(allowed_host if "://" in allowed_host else f"https://{allowed_host}")
    try:
        found = urlsplit(url)
        same = found.scheme in _PORTS and _origin(found) == _origin(wanted)
    except ValueError:
        same = False
    plain = re.fullmatch(r"[a-z]+://[^\s@?#\\\x00-\x20\x7f]+", url) and ".." not in url
    if not (same and plain):
        raise OperatorError(
            f"the clone address {url!r} is not at {allowed_host}", "BOT_GITHUB_URL must name the server of the clones"
        )
    return url


def _origin(url: SplitResult) -> tuple[str, str | None, int | None]:
    return url.scheme, url.hostname, url.port or _PORTS.get(url.scheme)


def full_ref(ref: str) -> str:
    """`refs/heads/…` of a branch, or the ref of a pull request as it is. Raises UserError for anything else."""
    if _PULL.fullmatch(ref):
        return ref
    branch = ref.removeprefix("refs/heads/")
    if not branch or _NO_BRANCH.search(branch):
        raise UserError("bad_ref", f"{ref!r} is neither a branch nor the head of a pull request")
    return f"refs/heads/{branch}"
