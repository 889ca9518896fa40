"""Which hosts may be reached: the operator's ceiling, a repository's list, and both together."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address


@dataclass(frozen=True, slots=True)
class Reach:
    """Hosts by pattern: `api.example.org`, `*.example.org` (every name below it, not itself), `*`; `:8443` narrows.

    Without a pattern nothing is reached.
    """

    patterns: frozenset[str] = frozenset()
    #: what holds over it
    ceiling: Reach | None = None

    @classmethod
    def of(cls, patterns: Iterable[str]) -> Reach:
        """`none` is the same as no pattern."""
        return cls(frozenset(pattern.lower() for pattern in patterns) - {"none"})

    def under(self, ceiling: Reach) -> Reach:
        """The same, as far as `ceiling` goes too."""
        return Reach(self.patterns, ceiling if self.ceiling is None else ceiling.under(self.ceiling))

    def __bool__(self) -> bool:
        """Whether there is anything that may be reached."""
        return bool(self.patterns) and (self.ceiling is None or bool(self.ceiling))

    def to(self, host: str, port: int) -> bool:
        """Whether `host` (a name or address, as it was asked for) may be reached on `port`."""
        name = host.lower().rstrip(".").strip("[]")
        within = self.ceiling is None or self.ceiling.to(host, port)
        return within and any(_fits(pattern, name, port) for pattern in self.patterns)


def _inside(name: str) -> bool:
    """Whether a name or address is this machine's, its link's, or a private network's (RFC 6761, RFC 6890)."""
    if name == "localhost" or name.endswith((".localhost", ".local", ".internal")):
        return True
    try:
        return not ip_address(name.partition("%")[0]).is_global
    except ValueError:
        # `127.1` and `2130706433` are addresses to the C library
        return bool(re.fullmatch(r"[0-9.]+|0x[0-9a-f]+", name))


def _fits(pattern: str, name: str, port: int) -> bool:
    wanted, _, number = pattern.rpartition(":") if pattern.rpartition(":")[2].isdecimal() else (pattern, "", "")
    if number and int(number) != port:
        return False
    wanted = wanted.strip("[]")
    # what is inside the operator's own network is opened by its name alone
    if "*" in wanted and _inside(name):
        return False
    if wanted == "*":
        return True
    return name.endswith(wanted[1:]) and name != wanted[1:] if wanted.startswith("*.") else name == wanted
