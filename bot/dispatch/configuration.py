"""The configuration of a repository at the head of its default branch, read through the commit's cache."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from bot.dispatch.bases import Base, Bases
from bot.errors import ConfigurationError, Forbidden, NotFound
from bot.finding import Finding
from bot.github import RepositoryClient
from bot.model.thread import Repository
from bot.workflows import Configuration, Memo
from bot.workflows.configuration import BOT_FILE
from bot.workflows.extends import extends_of


@dataclass(frozen=True, slots=True)
class Configured:
    """What the default branch says at `commit` (empty where the repository has none). None where it cannot be used.

    `base` is what it extends; its files stand among `files`, under its source.
    """

    commit: str
    files: dict[str, str]
    configuration: Configuration | None
    findings: tuple[Finding, ...]
    base: Base | None = None

    @property
    def version(self) -> str:
        """What the files are kept by: the commit, and that of the base where there is one."""
        return f"{self.commit}+{self.base.commit}" if self.base else self.commit


async def current(
    client: RepositoryClient, repository: Repository, memo: Memo, bases: Bases | None = None
) -> Configured:
    """Read the head's configuration, and that of its base, at one commit each.

    Raises what GitHub's answer raises, except that nothing there is no fault. A base that cannot be read is a finding:
    there is no half of a configuration.
    """
    try:
        commit = await client.head(repository.default_branch)
    except NotFound:
        commit = ""
    except Forbidden as error:
        return Configured("", {}, None, (_unreadable(error),))
    return await at(client, repository, memo, commit, bases)


async def at(
    client: RepositoryClient, repository: Repository, memo: Memo, commit: str, bases: Bases | None = None
) -> Configured:
    """The same at a commit; an empty one is a repository without any file."""
    try:
        raw = await client.configuration_files(commit) if commit else {}
    except Forbidden as error:
        return Configured(commit, {}, None, (_unreadable(error),))
    except ConfigurationError as error:
        return Configured(commit, {}, None, error.findings)
    base: Base | None = None
    try:
        files = _texts(raw)
        wanted = extends_of(files, BOT_FILE)
        if wanted is not None and bases is not None:
            base = await bases.read(wanted, repository)
            files |= _texts({wanted.name(path): data for path, data in base.files.items()})
    except ConfigurationError as error:
        return Configured(commit, {}, None, error.findings, base)
    found = Configured(commit, files, None, (), base)
    checked = memo.known(repository.id, found.version)
    if checked is None:
        checked = await asyncio.to_thread(memo.check, repository.id, found.version, files)
    return Configured(commit, files, checked.configuration, checked.findings, base)


def _texts(raw: Mapping[str, bytes]) -> dict[str, str]:
    """The files as text. Raises ConfigurationError, with a finding for each that is not UTF-8."""
    files: dict[str, str] = {}
    findings: list[Finding] = []
    for path, data in raw.items():
        try:
            files[path] = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            column = error.start - data.rfind(b"\n", 0, error.start)
            message = f"byte {data[error.start]:#04x} is not UTF-8"
            findings.append(Finding(path, line, column, "error", "not_utf8", message, "save the file as UTF-8"))
    if findings:
        raise ConfigurationError(sorted(findings))
    return files


def _unreadable(error: Forbidden) -> Finding:
    """The App is installed and may not read the files: whoever asks must hear of it."""
    hint = "whoever installed the App grants it *Contents: read*"
    return Finding(
        ".github/bot.yml", 1, 1, "error", "not_readable", f"GitHub does not show it to the App: {error}", hint
    )
