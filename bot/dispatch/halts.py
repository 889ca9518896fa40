"""Commands that bring runs to an end, and threads to rest: `cancel`, `stop`, `resume`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.dispatch.acceptance import Acceptance, Act, Asked
from bot.dispatch.replies import Prepare, Replies
from bot.github import RepositoryClient
from bot.model.slot import Slot
from bot.publish import Footer, cancelled_body, inline_code, run_footer, say_gate
from bot.store import Session, dispatches, gates, runs
from bot.store.tables import Run, Thread


async def _cancel(replies: Replies, asked: Asked, acceptance: Acceptance, _client: RepositoryClient) -> Act:
    def act(session: Session, thread: Thread) -> None:
        named = asked.command.params.get("run")
        found = [run for run in dispatches.open_of_thread(session, thread.id) if named in (None, f"r{run.number}")]
        if not found:
            text = f"{named} is not under way here." if named else "Nothing is under way here."
            replies.say(session, thread, asked, acceptance, text)
            return
        _end(replies, session, thread, found, acceptance)
        replies.done(session, thread, asked, acceptance)

    return act


async def _stop(replies: Replies, asked: Asked, acceptance: Acceptance, _client: RepositoryClient) -> Act:
    def act(session: Session, thread: Thread) -> None:
        found = dispatches.open_of_thread(session, thread.id)
        _end(replies, session, thread, found, acceptance)
        resume = f"{inline_code(f'{acceptance.handle} resume')} goes on"
        replies.done(session, thread, asked, acceptance)
        if thread.paused:
            text = f"{paused(thread)} already; {resume}."
        else:
            thread.paused, thread.paused_by, thread.paused_at = True, acceptance.event.sender.login, acceptance.now
            session.add(thread)
            text = f"Stopped: nothing is started in this thread any more; {resume}."
        if found:
            text += f" {_names(found)} {'is' if len(found) == 1 else 'are'} cancelled."
        replies.say(session, thread, asked, acceptance, text)

    return act


async def _resume(replies: Replies, asked: Asked, acceptance: Acceptance, _client: RepositoryClient) -> Act:
    def act(session: Session, thread: Thread) -> None:
        replies.done(session, thread, asked, acceptance)
        if not thread.paused:
            replies.say(session, thread, asked, acceptance, "This thread is not stopped; there is nothing to resume.")
            return
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


def _end(replies: Replies, session: Session, thread: Thread, found: Sequence[Run], acceptance: Acceptance) -> None:
    """Cancel runs; what a worker holds says so itself when its processes are gone."""
    by = acceptance.event.sender.login
    for run in found:
        if dispatches.cancel(session, run, by, acceptance.now):
            _take_back(replies, session, run)
            _tell_cancelled(replies, session, thread, run, by)


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
    return run_footer(run, runs.rows(session, run.id).attempts)


def _take_back(replies: Replies, session: Session, run: Run) -> None:
    """Nobody need answer what the run asked."""
    for asked in gates.cancelled(session, run.id):
        say_gate(session, replies.speaker, asked)


PREPARES: Mapping[str, Prepare] = {"cancel": _cancel, "stop": _stop, "resume": _resume}
