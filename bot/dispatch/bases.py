"""The configuration that a repository extends: found by its owner's name, pinned to a commit, read whole or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from bot.errors import ConfigurationError, Forbidden, NotFound
from bot.finding import Finding
from bot.github import GitHub
from bot.model.thread import Account, Repository
from bot.workflows.configuration import BOT_FILE
from bot.workflows.extends import REPOSITORY, Extends


@dataclass(frozen=True, slots=True)
class Base:
    """What a base says at `commit`. `source` is what findings call it. `files` have the paths that they have there."""

    source: str
    owner: str
    commit: str
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)


class Bases:
    """Reads bases of served owners; one that is private only for repositories of the same owner.

    `openly`: what is found in it is told to whoever sees the repository that asks, before anybody who may change its
    default branch has agreed, so one that is private is read for private repositories alone. `withheld` is why none is
    read at all. Either way there is a warning, and no half of a configuration.
    """

    def __init__(
        self, github: GitHub, serves: Callable[[Account], bool], *, openly: bool = False, withheld: str = ""
    ) -> None:
        self._github, self._serves = github, serves
        self._openly, self._withheld = openly, withheld

    async def read(self, wanted: Extends, asking: Repository) -> Base:
        """Raises ConfigurationError with the reason where it cannot be had; what a GitHub that does not answer raises.

        What the App may not see, what is private and another owner's, and what is not there are told the same.
        """
        if self._withheld:
            raise _unfollowed(wanted, self._withheld)
        try:
            return await self._read(wanted, asking)
        except (NotFound, Forbidden):
            self._github.forget(wanted.owner, REPOSITORY)
            message = f"`{wanted.source}` cannot be read: the App sees no such repository, branch, tag or commit"
            hint = f"install the App on `{wanted.owner}/{REPOSITORY}` with *Contents: read*, and check the name"
            raise _refused(wanted, message, hint) from None

    async def _read(self, wanted: Extends, asking: Repository) -> Base:
        client = await self._github.named(wanted.owner, REPOSITORY)
        found = client.repository
        if not self._serves(found.owner):
            hint = "the operator lists owners in BOT_ALLOWED_OWNERS"
            raise _refused(wanted, f"the owner of `{wanted.source}` is not served by this bot", hint)
        if found.private and found.owner.id != asking.owner.id:
            raise NotFound(f"{found.full_name} is private")
        if found.private and self._openly and not asking.private:
            raise _unfollowed(wanted, "it is private and this repository is not")
        commit = await client.head(wanted.ref)
        try:
            files = await client.configuration_files(commit)
        except ConfigurationError as error:
            named = [replace(each, file=wanted.name(each.file)) for each in error.findings]
            raise ConfigurationError(named) from error
        if BOT_FILE not in files:
            hint = "a base has its configuration where every repository has it"
            raise _refused(wanted, f"`{wanted.source}` has no `{BOT_FILE}`", hint)
        return Base(wanted.source, found.owner.login, commit, files)


def _refused(wanted: Extends, message: str, hint: str) -> ConfigurationError:
    mark = wanted.mark
    return ConfigurationError([Finding(mark.file, mark.line, mark.column, "error", "extends", message, hint)])


def _unfollowed(wanted: Extends, why: str) -> ConfigurationError:
    """Nothing is wrong that is known of; nobody has looked."""
    mark, hint = wanted.mark, "this file is checked together with it once it is on the default branch"
    message = f"`{wanted.source}` is not read here, so the rest was not checked: {why}"
    return ConfigurationError([Finding(mark.file, mark.line, mark.column, "warning", "extends", message, hint)])
