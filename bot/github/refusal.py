"""GitHub's words for why a thing cannot be done at all, as stable words of ours. Pure.

| word                        | what GitHub said                                                                       |
|-----------------------------|----------------------------------------------------------------------------------------|
| `locked`                    | the conversation is locked, and Apps write in none that is                             |
| `deleted`                   | the issue was deleted                                                                  |
| `transferred`               | the issue answers in another repository now                                            |
| `issues_disabled`           | the repository has no issues any more                                                  |
| `archived`                  | the repository is read-only                                                            |
| `blocked`                   | GitHub has closed the repository                                                       |
| `repository_removed`        | the App was not given this repository (any more), or it is gone                        |
| `app_removed`               | there is no such installation (any more)                                               |
| `suspended`                 | the installation is suspended                                                          |
| `permission_missing[: …]`   | the App was not granted what it takes, with what that is where GitHub or we know it    |

Source: https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api and, for issues,
https://docs.github.com/en/rest/issues/issues#get-an-issue; the words are those of its answers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import httpx

LOCKED = "locked"
DELETED = "deleted"
TRANSFERRED = "transferred"
ISSUES_DISABLED = "issues_disabled"
ARCHIVED = "archived"
BLOCKED = "blocked"
REPOSITORY_REMOVED = "repository_removed"
APP_REMOVED = "app_removed"
SUSPENDED = "suspended"
PERMISSION_MISSING = "permission_missing"

_WORDS = (
    (
        LOCKED,
        re.compile(
            r"\b(issue|pull request|discussion|conversation|thread) is locked\b|\block prevents\b", re.IGNORECASE
        ),
    ),
    (DELETED, re.compile(r"\bissue was deleted\b", re.IGNORECASE)),
    (ISSUES_DISABLED, re.compile(r"\bissues (has|have|are|is) (been )?disabled\b", re.IGNORECASE)),
    (ARCHIVED, re.compile(r"\brepository was archived\b", re.IGNORECASE)),
    (BLOCKED, re.compile(r"\brepository access blocked\b|\brepository (is )?unavailable\b", re.IGNORECASE)),
    (SUSPENDED, re.compile(r"\binstallation has been suspended\b|\binstallation\b.*\bsuspended\b", re.IGNORECASE)),
    (REPOSITORY_REMOVED, re.compile(r"\bnot accessible to the parent installation\b", re.IGNORECASE)),
)
_NOT_ACCESSIBLE = "not accessible by integration"


def why(response: httpx.Response, message: str) -> str:
    """The word for an answer of 4xx with GitHub's `message`; empty where it is none of these."""
    if _NOT_ACCESSIBLE in message.lower():
        return permission_missing(_accepted(response))
    if response.status_code == 451:
        return BLOCKED
    return next((word for word, pattern in _WORDS if pattern.search(message)), "")


def permission_missing(names: Sequence[str]) -> str:
    """`permission_missing`, with the permissions as `name: level`."""
    return f"{PERMISSION_MISSING}: {', '.join(names)}" if names else PERMISSION_MISSING


def _accepted(response: httpx.Response) -> list[str]:
    """What the endpoint takes: alternatives are parted by `;`, of which the first is named, and its parts by `,`.

    Source: https://docs.github.com/en/rest/using-the-rest-api/troubleshooting-the-rest-api#resource-not-accessible
    """
    first = response.headers.get("x-accepted-github-permissions", "").partition(";")[0]
    pairs = (pair.strip().partition("=") for pair in first.split(",") if "=" in pair)
    return [f"{name}: {level}" for name, _, level in pairs]
