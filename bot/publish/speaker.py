"""Puts what is to be said into the outbox: through the policy, split to size, one row a part."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from bot.model.clock import Clock
from bot.model.ident import compact
from bot.model.slot import Slot
from bot.publish.compose import Draft, ready
from bot.publish.footer import Footer
from bot.publish.redact import Redactor
from bot.store import Session, outbox
from bot.store.tables import Run, Thread

MAX_PARTS = 3


class Speaker:
    """The one way into the outbox, so that nothing is said that did not pass the policy."""

    def __init__(self, redactor: Redactor, clock: Clock) -> None:
        self._redactor = redactor
        self._clock = clock

    def comment(
        self,
        session: Session,
        thread: Thread,
        slot: Slot,
        *,
        purpose: str,
        body: str,
        run: Run | None = None,
        mentions: Iterable[str] = (),
        every_mention: bool = False,
        max_parts: int = MAX_PARTS,
        rest: str = "",
    ) -> None:
        """Make sure that `slot` says `body`. `mentions` may be notified; `rest` ends a text that is too long."""
        draft = Draft(body, mentions=tuple(mentions), every_mention=every_mention, max_parts=max_parts, rest=rest)
        self._say(session, thread, slot, draft, purpose, run)

    def output(
        self,
        session: Session,
        thread: Thread,
        slot: Slot,
        *,
        purpose: str,
        text: str,
        result: Any = None,
        fenced: bool = False,
        footer: Footer | None = None,
        run: Run | None = None,
        mentions: Iterable[str] = (),
        every_mention: bool = False,
        max_parts: int = MAX_PARTS,
        rest: str = "",
    ) -> bool:
        """The same for what a step gave (`fenced`: as it is), with its result and footer.

        False where the text shows nothing.
        """
        draft = Draft(
            text,
            output=True,
            fenced=fenced,
            result="" if result is None else compact(result),
            footer=str(footer or ""),
            mentions=tuple(mentions),
            every_mention=every_mention,
            max_parts=max_parts,
            rest=rest,
        )
        return self._say(session, thread, slot, draft, purpose, run)

    def _say(self, session: Session, thread: Thread, slot: Slot, draft: Draft, purpose: str, run: Run | None) -> bool:
        parts = ready(session, draft, self._redactor)
        for number, body in enumerate(parts):
            outbox.ensure(
                session,
                replace(slot, part=number),
                thread_id=thread.id,
                action="comment",
                purpose=purpose,
                body=body,
                now=self._clock.now(),
                run_id=run.id if run else None,
                sequence=run.sequence if run else 0,
            )
        return bool(parts)

    def reaction(
        self,
        session: Session,
        thread: Thread,
        slot: Slot,
        *,
        content: str,
        target_id: int | None,
        run: Run | None = None,
    ) -> None:
        """React to a comment, or to the issue where `target_id` is None. `content` is GitHub's word for it."""
        outbox.ensure(
            session,
            slot,
            thread_id=thread.id,
            action="reaction",
            purpose="reaction",
            body=content,
            now=self._clock.now(),
            run_id=run.id if run else None,
            target_id=target_id,
        )
