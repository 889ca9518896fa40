"""What each built-in command does. GitHub is asked in `prepare`; the act itself is rows only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from bot.dispatch import pinning, reports
from bot.dispatch.acceptance import Acceptance, Act, Asked, react
from bot.dispatch.pins import listing
from bot.errors import UserError
from bot.github import RepositoryClient
from bot.model.slot import Slot
from bot.publish import Footer, Speaker, cancelled_body, gate_slot, settled_gate_body
from bot.store import Session, dispatches, gates
from bot.store.tables import Frame, Run, Thread

Prepare = Callable[["Actions", Asked, Acceptance, RepositoryClient], Awaitable[Act]]


class Actions:
    """The built-ins' deeds; `speaker` says what they lead to."""

    def __init__(self, speaker: Speaker) -> None:
        self.speaker = speaker

    async def prepare(self, asked: Asked, acceptance: Acceptance, client: RepositoryClient) -> Act | None:
        """The act of a request, None where it is for a workflow. A `UserError` becomes an answer in the thread."""
        command = asked.command
        if command.kind != "builtin":
            if command.suggestion is None:
                return None
            text = reports.did_you_mean(command, acceptance)
            return self.answer(asked, acceptance, text)
        try:
            return await PREPARES[command.name](self, asked, acceptance, client)
        except UserError as error:
            return self.refusal(asked, acceptance, error)

    def refusal(self, asked: Asked, acceptance: Acceptance, error: UserError) -> Act:
        """An act that says what cannot be done and what can be done about it."""

        def act(session: Session, thread: Thread) -> None:
            react(session, thread, acceptance, asked, "confused", self.speaker)
            hint = f" ({error.hint})" if error.hint else ""
            self.say(session, thread, asked, acceptance, f"Not done: {error.message}{hint}.")

        return act

    def answer(self, asked: Asked, acceptance: Acceptance, body: str) -> Act:
        """An act that only says something."""

        def act(session: Session, thread: Thread) -> None:
            self.say(session, thread, asked, acceptance, body)

        return act

    def say(self, session: Session, thread: Thread, asked: Asked, acceptance: Acceptance, body: str) -> None:
        """Answer a built-in in the thread."""
        self.speaker.comment(session, thread, acceptance.slot(asked, "command"), purpose="command", body=body)


async def _help(self: Actions, asked: Asked, acceptance: Acceptance, _client: RepositoryClient) -> Act:
    return self.answer(asked, acceptance, reports.help_body(acceptance))


async def _config(self: Actions, asked: Asked, acceptance: Acceptance, _client: RepositoryClient) -> Act:
    return self.answer(asked, acceptance, reports.config_body(acceptance))


async def _status(self: Actions, asked: Asked, acceptance: Acceptance, _client: RepositoryClient) -> Act:
    def act(session: Session, thread: Thread) -> None:
        self.say(session, thread, asked, acceptance, reports.status_body(session, thread, acceptance.now))

    return act


async def _why(self: Actions, asked: Asked, acceptance: Acceptance, _client: RepositoryClient) -> Act:
    def act(session: Session, thread: Thread) -> None:
        body = reports.why_body(session, thread, asked.command.params.get("run"))
        self.say(session, thread, asked, acceptance, body)

    return act


async def _cancel(self: Actions, asked: Asked, acceptance: Acceptance, _client: RepositoryClient) -> Act:
    def act(session: Session, thread: Thread) -> None:
        named = asked.command.params.get("run")
        found = [run for run in dispatches.open_of_thread(session, thread.id) if named in (None, f"r{run.number}")]
        if not found:
            text = f"{named} is not under way here." if named else "Nothing is under way here."
            self.say(session, thread, asked, acceptance, text)
            return
        by = acceptance.event.sender.login
        for run in found:
            if dispatches.cancel(session, run, by, acceptance.now):
                _take_back(self, session, run)
                _tell_cancelled(self, session, thread, run, by)
        react(session, thread, acceptance, asked, "+1", self.speaker)

    return act


def _tell_cancelled(self: Actions, session: Session, thread: Thread, run: Run, by: str) -> None:
    self.speaker.comment(
        session,
        thread,
        Slot(f"run/{run.id}", "end"),
        purpose="cancelled",
        body=cancelled_body(run=run.number, workflow=run.workflow, by=by),
        run=run,
    )


def _take_back(self: Actions, session: Session, run: Run) -> None:
    """Nobody need answer what the run asked."""
    for asked in gates.cancelled(session, run.id):
        gate, attempt = asked.gate, asked.attempt
        path = session.get_one(Frame, attempt.frame_id).path
        approval = gate.id if gate.kind == "approval" else ""
        self.speaker.comment(
            session,
            asked.thread,
            gate_slot(run.id, attempt.step, attempt.number, path, approval=approval),
            purpose="gate",
            body=settled_gate_body(
                name=asked.name,
                question=gate.question,
                show=gate.options.get("show", ""),
                footer=Footer(run.number, name=run.workflow),
            ),
            run=run,
        )


async def _pin(self: Actions, asked: Asked, acceptance: Acceptance, client: RepositoryClient) -> Act:
    comment = await pinning.chosen(asked.command, acceptance, client)

    def act(session: Session, thread: Thread) -> None:
        if pinning.pin(session, thread, comment, asked, acceptance, self.speaker):
            react(session, thread, acceptance, asked, "+1", self.speaker)
        else:
            self.say(session, thread, asked, acceptance, f"[That comment]({comment.url}) is pinned already.")

    return act


async def _unpin(self: Actions, asked: Asked, acceptance: Acceptance, _client: RepositoryClient) -> Act:
    def act(session: Session, thread: Thread) -> None:
        try:
            pinning.unpin(session, thread, asked.command, acceptance.handle, self.speaker)
        except UserError as error:
            self.refusal(asked, acceptance, error)(session, thread)
        else:
            react(session, thread, acceptance, asked, "+1", self.speaker)

    return act


async def _pins(self: Actions, asked: Asked, acceptance: Acceptance, _client: RepositoryClient) -> Act:
    def act(session: Session, thread: Thread) -> None:
        self.say(session, thread, asked, acceptance, listing(session, thread, acceptance.handle))

    return act


#: every entry of the table of built-ins has its deed here; a test holds both equal
PREPARES: Mapping[str, Prepare] = {
    "help": _help,
    "status": _status,
    "cancel": _cancel,
    "pin": _pin,
    "unpin": _unpin,
    "pins": _pins,
    "why": _why,
    "config": _config,
}
