"""Commands that bring runs to an end."""

from __future__ import annotations

from collections.abc import Mapping

from bot.dispatch.acceptance import Acceptance, Act, Asked, react
from bot.dispatch.replies import Prepare, Replies
from bot.github import RepositoryClient
from bot.model.slot import Slot
from bot.publish import cancelled_body, say_gate
from bot.store import Session, dispatches, gates
from bot.store.tables import Run, Thread


async def _cancel(replies: Replies, asked: Asked, acceptance: Acceptance, _client: RepositoryClient) -> Act:
    def act(session: Session, thread: Thread) -> None:
        named = asked.command.params.get("run")
        found = [run for run in dispatches.open_of_thread(session, thread.id) if named in (None, f"r{run.number}")]
        if not found:
            text = f"{named} is not under way here." if named else "Nothing is under way here."
            replies.say(session, thread, asked, acceptance, text)
            return
        by = acceptance.event.sender.login
        for run in found:
            if dispatches.cancel(session, run, by, acceptance.now):
                _take_back(replies, session, run)
                _tell_cancelled(replies, session, thread, run, by)
        react(session, thread, acceptance, asked, "+1", replies.speaker)

    return act


def _tell_cancelled(replies: Replies, session: Session, thread: Thread, run: Run, by: str) -> None:
    replies.speaker.comment(
        session,
        thread,
        Slot(f"run/{run.id}", "end"),
        purpose="cancelled",
        body=cancelled_body(run=run.number, workflow=run.workflow, by=by),
        run=run,
    )


def _take_back(replies: Replies, session: Session, run: Run) -> None:
    """Nobody need answer what the run asked."""
    for asked in gates.cancelled(session, run.id):
        say_gate(session, replies.speaker, asked)


PREPARES: Mapping[str, Prepare] = {"cancel": _cancel}
