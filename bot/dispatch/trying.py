"""`try`: a request that runs with the configuration of a branch, without secrets, and writes nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from bot.dispatch import configuration
from bot.dispatch.acceptance import Acceptance, Act, Asked, tell_broken
from bot.dispatch.bases import Bases
from bot.dispatch.builtins import BUILTINS
from bot.dispatch.commands import Command, names_of, parse
from bot.dispatch.replies import Prepare, Replies
from bot.dispatch.roles import to_try
from bot.dispatch.starting import Tried, start, wanted_of
from bot.errors import NotFound, UserError
from bot.github import RepositoryClient
from bot.model.role import Role
from bot.model.trial import Trial
from bot.publish import inline_code
from bot.store import Session
from bot.store.tables import Thread
from bot.workflows import Configuration

#: what git takes in the name of a branch: https://git-scm.com/docs/git-check-ref-format
_NO_BRANCH = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(/|$)|^[-/.]|[/.]$|^@$|^refs/|^HEAD$")
#: bytes of a name that GitHub still takes
_LONGEST = 244


async def _try(replies: Replies, asked: Asked, acceptance: Acceptance, client: RepositoryClient) -> Act:
    """Read the branch's configuration, and the command against its names; the run is queued in the act."""
    configured = acceptance.configured
    assert configured is not None, "a command is heard by a mention, which reads the configuration"
    usable, branch = configured.configuration, asked.command.params["branch"]
    if usable is None:  # nobody knows who may, nor what may be spent
        return lambda session, thread: tell_broken(session, thread, acceptance, asked, replies.speaker)
    commit = await _head(client, branch, acceptance.handle)
    bases = Bases(replies.github, acceptance.identity.serves)
    found = await configuration.at(client, acceptance.event.repository, replies.memo, commit, bases)
    theirs = replace(acceptance, configured=found)
    if found.configuration is None:
        return lambda session, thread: tell_broken(session, thread, theirs, asked, replies.speaker)
    command = _command(asked.command.text, found.configuration, branch)
    needed = to_try(usable, command.name)
    if asked.role is not None and not asked.role.at_least(needed):
        name = inline_code(command.name)
        raise UserError("try_refused", f"{name} takes the role {needed}, as the default branch says")
    tried = Tried(_trial(usable, branch, commit, command.name, needed), usable.bot.limits)
    wanted = wanted_of(acceptance, asked, command, found.configuration, tried)

    def act(session: Session, thread: Thread) -> None:
        start(session, thread, theirs, asked, wanted, replies.speaker)

    return act


async def _head(client: RepositoryClient, branch: str, handle: str) -> str:
    """The commit of a branch of this repository. Raises `UserError` where there is none."""
    if ":" in branch:
        message = f"{inline_code(branch)} is a branch of a fork"
        raise UserError("try_branch", message, "only branches of this repository are tried")
    if _NO_BRANCH.search(branch) or len(branch.encode("utf-8", "replace")) > _LONGEST:
        raise UserError("try_branch", f"{inline_code(branch)} is no name that a branch can have")
    try:
        return await client.branch_head(branch)
    except NotFound:
        hint = f"to ask it as free text, begin with another word than {inline_code(f'{handle} try')}"
        raise UserError("try_branch", f"this repository has no branch {inline_code(branch)}", hint) from None


def _command(text: str, theirs: Configuration, branch: str) -> Command:
    """What is to be tried. Raises `UserError` for what the branch does not have."""
    names, signed = names_of(theirs)
    command = parse(text, names=names, default=theirs.bot.default, table=BUILTINS, signed=signed)
    if command.kind == "builtin":
        message = f"{inline_code(command.name)} is built in, and the same on every branch"
        raise UserError("try_builtin", message, "a trial is of an agent or workflow")
    if command.suggestion is not None:
        hint = f"did you mean {inline_code(command.suggestion)}?"
        raise UserError("try_unknown", f"{inline_code(branch)} has no agent or workflow of that name", hint)
    return command


def _trial(usable: Configuration, branch: str, commit: str, name: str, role: Role) -> Trial:
    workflow = usable.workflow_for(name)
    budget = usable.budget_for(workflow) if workflow is not None else usable.bot.limits.per_run
    budget = budget.within(usable.bot.limits.per_run)
    return Trial(branch, commit, str(role), budget.usd, budget.tokens, budget.minutes)


PREPARES: Mapping[str, Prepare] = {"try": _try}
