"""Commands that bring runs to an end, and threads to rest: `cancel`, `stop`, `resume`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.dispatch.acceptance import Acceptance, Act, Asked, react
from bot.dispatch.commands import Command
from bot.dispatch.replies import Prepare, Replies
from bot.dispatch.roles import to_start
from bot.github import RepositoryClient
from bot.model.event import Event
from bot.model.role import Role, strictest
from bot.model.slot import Slot
from bot.model.state import RunState
from bot.publish import Footer, cancelled_body, inline_code, put_away, run_footer, say_gate
from bot.publish.gate import person
from bot.store import Session, dispatches, gates, runs, threads
from bot.store.tables import Run, Thread
from bot.workflows import Configuration


def needed(session: Session, configuration: Configuration, event: Event, command: Command) -> Role:
    """The least role that `cancel` is heard with: `trigger_role`, or any at all for who asked for what it may end.

    Which of the runs it then ends, `_may` says.
    """
    thread = threads.find(session, event.repository.id, event.issue.number)
    found = _meant(session, thread, command) if thread is not None else ()
    own = any(dispatches.get(session, run.dispatch_id).actor_id == event.sender.id for run in found)
    return Role.READ if own else configuration.bot.trigger_role


def _meant(session: Session, thread: Thread, command: Command) -> list[Run]:
    """The runs under way that are to end: the one that is named, else all."""
    named = command.params.get("run")
    return [run for run in dispatches.open_of_thread(session, thread.id) if named in (None, f"r{run.number}")]


def _may(session: Session, run: Run, asked: Asked, acceptance: Acceptance) -> bool:
    """Whether the sender may end a run: who asked for it may, and who has the role that its workflow takes.

    Another bot was admitted by its id and has no role. While the file is broken `write` is enough.
    """
    usable = acceptance.configured.configuration if acceptance.configured is not None else None
    own = dispatches.get(session, run.dispatch_id).actor_id == acceptance.event.sender.id
    if usable is None or asked.role is None or own:
        return True
    return asked.role.at_least(strictest(to_start(session, usable, run), usable.bot.trigger_role))


def _parted(
    session: Session, found: Sequence[Run], asked: Asked, acceptance: Acceptance
) -> tuple[list[Run], list[Run]]:
    """Those that the sender may end, and those that stay."""
    ends: list[Run] = []
    stays: list[Run] = []
    for run in found:
        (ends if _may(session, run, asked, acceptance) else stays).append(run)
    return ends, stays


def _left(stays: Sequence[Run]) -> str:
    """Why some go on, in words."""
    verb, whose = ("goes", "its") if len(stays) == 1 else ("go", "their")
    return f"{_names(stays)} {verb} on: that takes the role of {whose} workflow, or having asked for it."


async def _cancel(replies: Replies, asked: Asked, acceptance: Acceptance, _client: RepositoryClient) -> Act:
    def act(session: Session, thread: Thread) -> None:
        found = _meant(session, thread, asked.command)
        if not found:
            named = asked.command.params.get("run")
            others = dispatches.open_of_thread(session, thread.id)
            rest = f"; {_names(others)} {'is' if len(others) == 1 else 'are'}" if others else ""
            text = f"{named} is not under way here{rest}." if named else "Nothing is under way here."
            replies.not_done(session, thread, asked, acceptance, text)
            return
        ends, stays = _parted(session, found, asked, acceptance)
        _end(replies, session, thread, ends, acceptance, told=False)
        if ends:
            replies.done(session, thread, asked, acceptance)
        if stays:
            replies.not_done(session, thread, asked, acceptance, _left(stays))

    return act


async def _stop(replies: Replies, asked: Asked, acceptance: Acceptance, _client: RepositoryClient) -> Act:
    def act(session: Session, thread: Thread) -> None:
        found = dispatches.open_of_thread(session, thread.id)
        ends, stays = _parted(session, found, asked, acceptance)
        resume = f"{inline_code(f'{acceptance.handle} resume')} goes on"
        if stays:
            react(session, thread, acceptance, asked, "confused", replies.speaker)
            text = f"{_left(stays)} So this thread is not stopped."
        elif thread.paused:
            text = f"{paused(thread)} already; {resume}."
            if not found:
                replies.not_done(session, thread, asked, acceptance, text)
                return
        else:
            thread.paused, thread.paused_by, thread.paused_at = True, acceptance.event.sender.login, acceptance.now
            session.add(thread)
            text = f"Stopped: nothing is started in this thread any more; {resume}."
        lines = [_stopped(session, run, acceptance) for run in ends]
        _end(replies, session, thread, ends, acceptance, told=True)
        if not stays:
            replies.done(session, thread, asked, acceptance)
        body = "\n\n".join(filter(None, [text, "\n".join(lines)]))
        to = _to_tell(session, ends, acceptance)
        replies.say(session, thread, asked, acceptance, body, to, always=bool(ends))

    return act


async def _resume(replies: Replies, asked: Asked, acceptance: Acceptance, _client: RepositoryClient) -> Act:
    def act(session: Session, thread: Thread) -> None:
        if not thread.paused:
            text = "This thread is not stopped; there is nothing to resume."
            replies.not_done(session, thread, asked, acceptance, text)
            return
        replies.done(session, thread, asked, acceptance)
        thread.paused, thread.paused_by, thread.paused_at = False, "", None
        session.add(thread)
        replies.say(
            session, thread, asked, acceptance, "I take requests in this thread again. Ask anew for what was cancelled."
        )

    return act


def paused(thread: Thread) -> str:
    """Who stopped a thread and when, as the beginning of a sentence."""
    by = inline_code(thread.paused_by) if thread.paused_by else "Somebody"
    since = f" on {thread.paused_at.day} {thread.paused_at:%B, %H:%M} UTC" if thread.paused_at else ""
    return f"{by} stopped this thread{since}"


def _names(found: Sequence[Run]) -> str:
    names = [f"r{run.number}" for run in found]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _stopped(session: Session, run: Run, acceptance: Acceptance) -> str:
    """The end of a run that `stop` cancels, on one line: whose it was, and what it spent."""
    actor = dispatches.get(session, run.dispatch_id).actor
    whose = f", asked for by {person(actor)}," if actor != acceptance.event.sender.login else ""
    spent = _footer(session, run).spent
    so_far = " so far" if run.state is RunState.RUNNING else ""
    tail = f" · {spent}{so_far}" if spent else ""
    return f"- r{run.number} {inline_code(run.workflow)}{whose} was cancelled{tail}"


def _to_tell(session: Session, found: Sequence[Run], acceptance: Acceptance) -> Sequence[str]:
    """Who may be notified that their runs were stopped."""
    usable = acceptance.configured.configuration if acceptance.configured is not None else None
    if usable is None or usable.bot.publish.mentions == "none":
        return ()
    return [dispatches.get(session, run.dispatch_id).actor for run in found]


def _end(
    replies: Replies, session: Session, thread: Thread, found: Sequence[Run], acceptance: Acceptance, *, told: bool
) -> None:
    """Cancel runs; what a worker holds says so itself when its processes are gone. `told`: one comment tells of all."""
    by = acceptance.event.sender.login
    for run in found:
        if dispatches.cancel(session, run, by, acceptance.now, told=told):
            _take_back(replies, session, run)
            if not told:
                _tell_cancelled(replies, session, thread, run, by)
            put_away(session, run.id, acceptance.now)


def _tell_cancelled(replies: Replies, session: Session, thread: Thread, run: Run, by: str) -> None:
    replies.speaker.comment(
        session,
        thread,
        Slot(f"run/{run.id}", "end"),
        purpose="cancelled",
        body=cancelled_body(run=run.number, workflow=run.workflow, by=by, footer=_footer(session, run)),
        run=run,
    )


def _footer(session: Session, run: Run) -> Footer:
    rows = runs.rows(session, run.id)
    return run_footer(run, rows.attempts, rows.again)


def _take_back(replies: Replies, session: Session, run: Run) -> None:
    """Nobody need answer what the run asked."""
    for asked in gates.cancelled(session, run.id):
        say_gate(session, replies.speaker, asked)


PREPARES: Mapping[str, Prepare] = {"cancel": _cancel, "stop": _stop, "resume": _resume}
