"""GitHub's REST API as the bot needs it: the only room that imports githubkit.

`GitHub` is the App; `GitHub.repository` gives the `RepositoryClient` of one repository. Every error is one of
`bot.errors`: see `bot.github.retry` for what is repeated and what never is. `parse` turns GitHub's JSON, from answers
and from webhook payloads alike, into the nouns of `bot.model.thread`.

githubkit itself is imported at the first request, not here: it costs a fifth of a second.
"""

from __future__ import annotations

from bot.github import parse
from bot.github.client import AppInfo, GitHub
from bot.github.download import Download, Hosts
from bot.github.pulls import attachment_hosts
from bot.github.repository import CloneAccess, RepositoryClient
from bot.github.tokens import PERMISSIONS, Purpose

__all__ = [
    "PERMISSIONS",
    "AppInfo",
    "CloneAccess",
    "Download",
    "GitHub",
    "Hosts",
    "Purpose",
    "RepositoryClient",
    "attachment_hosts",
    "parse",
]
