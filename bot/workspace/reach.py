"""Which hosts may be reached: the operator's ceiling, a repository's list, and both together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reach:
    """Hosts by pattern: `api.example.org`, `*.example.org` (every name below it, not itself), `*`; `:8443` narrows.

    Without a pattern nothing is reached.
    """

    patterns: frozenset[str] = frozenset()

    @classmethod
    def of(cls, patterns: Iterable[str]) -> Reach:
        """`none` is the same as no pattern."""
        return cls(frozenset(pattern.lower() for pattern in patterns) - {"none"})

    def to(self, host: str, port: int) -> bool:
        """Whether `host` (a name or address, as it was asked for) may be reached on `port`."""
        name = host.lower().rstrip(".").strip("[]")
        return any(_fits(pattern, name, port) for pattern in self.patterns)


def _fits(pattern: str, name: str, port: int) -> bool:
    wanted, _, number = pattern.rpartition(":") if pattern.rpartition(":")[2].isdecimal() else (pattern, "", "")
    if number and int(number) != port:
        return False
    wanted = wanted.strip("[]")
    if wanted == "*":
        return True
    return name.endswith(wanted[1:]) and name != wanted[1:] if wanted.startswith("*.") else name == wanted
