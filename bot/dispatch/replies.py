"""What built-in commands say, whatever else they do: an answer, or why something is not done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bot.dispatch.acceptance import Acceptance, Act, Asked, react
from bot.errors import UserError
from bot.github import RepositoryClient
from bot.publish import Speaker
from bot.store import Session
from bot.store.tables import Thread


class Replies:
    """The voice of the built-ins; `speaker` says what they lead to."""

    def __init__(self, speaker: Speaker) -> None:
        self.speaker = speaker

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


#: Gets a built-in's act: GitHub is asked here, the act itself is rows only. Raises `UserError` for what cannot be done.
Prepare = Callable[[Replies, Asked, Acceptance, RepositoryClient], Awaitable[Act]]
