"""`steer`: what a person tells a run that is under way; its agents read it at their next turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.dispatch.acceptance import Acceptance, Act, Asked
from bot.dispatch.commands import Command
from bot.dispatch.replies import Prepare, Replies
from bot.dispatch.roles import to_start
from bot.errors import UserError
from bot.github import RepositoryClient
from bot.model.event import Event
from bot.model.role import Role, strictest
from bot.model.state import RunState
from bot.publish import note_body
from bot.store import Session, dispatches, threads
from bot.store.tables import Run, Steer, Thread
from bot.workflows import Configuration


def meant(session: Session, thread: Thread, command: Command) -> Sequence[Run]:
    """The runs that are told something: the named one, else those that run now, else the only one that is under way.

    Raises `UserError` where there is none, or where nobody can tell which of several is meant.
    """
    found = dispatches.open_of_thread(session, thread.id)
    if (named := command.params.get("run")) is not None:
        if one := [run for run in found if named == f"r{run.number}"]:
            return one
        raise UserError("steer_none", f"there is no {named} under way here", "`status` lists what is.")
    if at_work := [run for run in found if run.state is RunState.RUNNING]:
        return at_work
    if len(found) > 1:
        names = ", ".join(f"r{run.number}" for run in found)
        hint = f"Name one, as in `steer r{found[0].number} …`."
        raise UserError("steer_several", f"several are under way here ({names})", hint)
    if not found:
        raise UserError("steer_none", "nothing is under way here", "Ask for it anew, with these words.")
    return found


def needed(session: Session, configuration: Configuration, event: Event, command: Command) -> Role:
    """The least role: whoever may start it may steer it. Of several runs the strictest."""
    thread = threads.find(session, event.repository.id, event.issue.number)
    try:
        found = meant(session, thread, command) if thread is not None else ()
    except UserError:
        found = ()
    roles = [to_start(session, configuration, run) for run in found]
    return strictest(*roles) if roles else configuration.bot.trigger_role


async def _steer(replies: Replies, asked: Asked, acceptance: Acceptance, _client: RepositoryClient) -> Act:
    def act(session: Session, thread: Thread) -> None:
        try:
            found = meant(session, thread, asked.command)
            _may(session, found, asked, acceptance)
        except UserError as error:
            hint = f" {error.hint}" if error.hint else ""
            told = note_body(f"{error.message[:1].upper()}{error.message[1:]}, so nobody was told.{hint}")
            replies.not_done(session, thread, asked, acceptance, told)
            return
        for run in found:
            session.add(_row(run, asked, acceptance))
        replies.done(session, thread, asked, acceptance)

    return act


def _may(session: Session, found: Sequence[Run], asked: Asked, acceptance: Acceptance) -> None:
    """Raises `UserError` where the role that was asked for is not enough: another run began since."""
    usable = acceptance.configured.configuration if acceptance.configured is not None else None
    if usable is None or asked.role is None:
        return
    if not all(asked.role.at_least(to_start(session, usable, run)) for run in found):
        raise UserError("steer_refused", "another run has begun meanwhile", "Name the run that you mean.")


def _row(run: Run, asked: Asked, acceptance: Acceptance) -> Steer:
    sender = acceptance.event.sender
    return Steer(
        run_id=run.id,
        text=asked.command.text,
        by=sender.login,
        by_id=sender.id,
        comment_id=acceptance.target_id,
        at=acceptance.now,
    )


PREPARES: Mapping[str, Prepare] = {"steer": _steer}
