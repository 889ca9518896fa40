"""What built-in commands say, whatever else they do: an answer, or why something is not done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from bot.dispatch import admission
from bot.dispatch.acceptance import Acceptance, Act, Asked, react
from bot.dispatch.parts import Parts
from bot.errors import UserError
from bot.github import RepositoryClient
from bot.publish import Speaker
from bot.store import Session
from bot.store.run_context import Written
from bot.store.runs import RunRows
from bot.store.tables import Run, Thread
from bot.workflows import Configuration

#: Gives what writes into a new run whatever an earlier one came to before a step; see `engine.takeover.take_over`.
TakeOver = Callable[
    [RunRows, Sequence[Written], Configuration, Configuration, str, str | None, int | None],
    Callable[[Session, Run], None],
]


class Replies:
    """What the built-ins work with; `speaker` says what they lead to, `take_over` is the engine's part of a retry."""

    def __init__(self, parts: Parts, take_over: TakeOver) -> None:
        self.speaker: Speaker = parts.speaker
        self.store, self.memo, self.github = parts.store, parts.memo, parts.github
        self.marker = parts.marker
        self.take_over = take_over

    def refusal(self, asked: Asked, acceptance: Acceptance, error: UserError) -> Act:
        """An act that says what cannot be done and what can be done about it."""

        def act(session: Session, thread: Thread) -> None:
            hint = f" ({error.hint})" if error.hint else ""
            self.not_done(session, thread, asked, acceptance, f"Not done: {error.message}{hint}.")

        return act

    def answer(self, asked: Asked, acceptance: Acceptance, body: str) -> Act:
        """An act that only says something."""

        def act(session: Session, thread: Thread) -> None:
            self.done(session, thread, asked, acceptance)
            self.say(session, thread, asked, acceptance, body)

        return act

    def not_done(self, session: Session, thread: Thread, asked: Asked, acceptance: Acceptance, body: str) -> None:
        """😕 and why, for a built-in that had nothing to do."""
        react(session, thread, acceptance, asked, "confused", self.speaker)
        self.say(session, thread, asked, acceptance, body)

    def done(self, session: Session, thread: Thread, asked: Asked, acceptance: Acceptance) -> None:
        """👍 for a built-in that did what it was told; 😕 for what only was close to a command."""
        content = "+1" if asked.command.kind == "builtin" else "confused"
        react(session, thread, acceptance, asked, content, self.speaker)

    def say(
        self,
        session: Session,
        thread: Thread,
        asked: Asked,
        acceptance: Acceptance,
        body: str,
        mentions: Sequence[str] = (),
        *,
        always: bool = False,
    ) -> None:
        """Answer a built-in in the thread, unless its sender was answered too often; `always`: even then.

        `mentions` may be notified.
        """
        allowed = admission.answers(session, thread, acceptance.event.sender, self.speaker, acceptance.now)
        if not allowed and not always:
            return
        slot = acceptance.slot(asked, "command")
        self.speaker.comment(
            session, thread, slot, purpose="command", body=body, target_id=acceptance.reply_to, mentions=mentions
        )


#: Gets a built-in's act: GitHub is asked here, the act itself is rows only. Raises `UserError` for what cannot be done.
Prepare = Callable[[Replies, Asked, Acceptance, RepositoryClient], Awaitable[Act]]
