"""The configuration of a repository at the head of its default branch, read through the commit's cache."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from bot.errors import ConfigurationError, Forbidden, NotFound
from bot.finding import Finding
from bot.github import RepositoryClient
from bot.model.thread import Repository
from bot.workflows import Configuration, Memo


@dataclass(frozen=True, slots=True)
class Configured:
    """What the default branch says at `commit` (empty where the repository has none). None where it cannot be used."""

    commit: str
    files: dict[str, str]
    configuration: Configuration | None
    findings: tuple[Finding, ...]


async def current(client: RepositoryClient, repository: Repository, memo: Memo) -> Configured:
    """Read the head's configuration. Raises what GitHub's answer raises, except that nothing there is no fault."""
    try:
        commit = await client.head(repository.default_branch)
    except NotFound:
        commit = ""
    except Forbidden as error:
        return Configured("", {}, None, (_unreadable(error),))
    files: dict[str, str] = {}
    findings: list[Finding] = []
    try:
        raw = await client.configuration_files(commit) if commit else {}
    except Forbidden as error:
        return Configured(commit, {}, None, (_unreadable(error),))
    except ConfigurationError as error:
        return Configured(commit, {}, None, error.findings)
    for path, data in raw.items():
        try:
            files[path] = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            column = error.start - data.rfind(b"\n", 0, error.start)
            message = f"byte {data[error.start]:#04x} is not UTF-8"
            findings.append(Finding(path, line, column, "error", "not_utf8", message, "save the file as UTF-8"))
    if findings:
        return Configured(commit, {}, None, tuple(sorted(findings)))
    checked = memo.known(repository.id, commit)
    if checked is None:
        checked = await asyncio.to_thread(memo.check, repository.id, commit, files)
    return Configured(commit, files, checked.configuration, checked.findings)


def _unreadable(error: Forbidden) -> Finding:
    """The App is installed and may not read the files: whoever asks must hear of it."""
    hint = "whoever installed the App grants it *Contents: read*"
    return Finding(
        ".github/bot.yml", 1, 1, "error", "not_readable", f"GitHub does not show it to the App: {error}", hint
    )
