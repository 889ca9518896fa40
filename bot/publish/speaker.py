"""Puts what is to be said into the outbox: through the policy, split to size, one row a part."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from bot.model.clock import Clock
from bot.model.ident import compact, digest
from bot.model.outcome import INTENTS, Intent
from bot.model.slot import Slot
from bot.publish.compose import Draft, ready
from bot.publish.footer import Footer
from bot.publish.payload import Payload
from bot.publish.policy import Policy, Sink
from bot.publish.redact import Redactor
from bot.store import Session, outbox
from bot.store.tables import Dispatch, Outbox, Run, Thread

MAX_PARTS = 3
#: characters of a title; GitHub refuses longer ones
TITLE = 256


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
        target_id: int | None = None,
        not_before: datetime | None = None,
    ) -> None:
        """Make sure that `slot` says `body`. `mentions` may be notified; `rest` ends a text that is too long.

        `target_id` is the review comment that it replies to, None for the conversation. Whatever is said with a `run`
        is said where its dispatch was asked for. It is said, or said anew, at `not_before` at the earliest.
        """
        draft = Draft(body, mentions=tuple(mentions), every_mention=every_mention, max_parts=max_parts, rest=rest)
        self._parts(session, thread, slot, draft, purpose, run, target_id=target_id, not_before=not_before)

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
        target_id: int | None = None,
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
        return bool(self._parts(session, thread, slot, draft, purpose, run, target_id=target_id))

    def _parts(
        self,
        session: Session,
        thread: Thread,
        slot: Slot,
        draft: Draft,
        purpose: str,
        run: Run | None,
        attempt_id: str | None = None,
        *,
        target_id: int | None = None,
        not_before: datetime | None = None,
    ) -> list[Outbox]:
        if target_id is None and run is not None:
            target_id = session.get_one(Dispatch, run.dispatch_id).reply_to
        return [
            outbox.ensure(
                session,
                replace(slot, part=number),
                thread_id=thread.id,
                action="comment",
                purpose=purpose,
                body=body,
                now=self._clock.now(),
                run_id=run.id if run else None,
                target_id=target_id,
                target_kind="comment" if target_id is None else "review_comment",
                sequence=run.sequence if run else 0,
                attempt_id=attempt_id,
                not_before=not_before,
            )
            for number, body in enumerate(ready(session, draft, self._redactor))
        ]

    def intend(
        self,
        session: Session,
        thread: Thread,
        slot: Slot,
        intent: Intent,
        *,
        run: Run,
        attempt_id: str | None = None,
        mentions: Iterable[str] = (),
        every_mention: bool = False,
        max_parts: int = MAX_PARTS,
        rest: str = "",
    ) -> tuple[Outbox, ...]:
        """Have an intent done once. The rows that say so, one except for a long comment; none where it says nothing.

        The slot's purpose is replaced by the intent's kind and name. `attempt_id` names the attempt that waits for it:
        its run is woken when the last row of that attempt is posted or dropped, which may be so already where an
        earlier attempt of the same slot began it (`store.posts.any_open`). A pull request may close its own issue.
        """
        slot = replace(slot, purpose=_purpose(intent))
        allowed = (tuple(mentions), every_mention)
        if intent.kind == "comment":
            draft = Draft(str(intent.payload["body"]), mentions=allowed[0], every_mention=every_mention,
                          max_parts=max_parts, rest=rest)  # fmt: skip
            return tuple(self._parts(session, thread, slot, draft, "output", run, attempt_id))
        closes = (f"#{thread.number}", f"{thread.owner}/{thread.name}#{thread.number}")
        payload = Payload(intent.kind, compact(intent.payload), *allowed, closes, rest)
        (body,) = ready(session, payload, self._redactor)
        row = outbox.ensure(
            session,
            slot,
            thread_id=thread.id,
            action=intent.kind,
            purpose="action",
            body=body,
            now=self._clock.now(),
            run_id=run.id,
            sequence=run.sequence,
            attempt_id=attempt_id,
        )
        return (row,)

    def check(
        self, session: Session, thread: Thread, slot: Slot, payload: Mapping[str, Any], *, run: Run | None = None
    ) -> None:
        """Make sure that a check of the pull request says so.

        `payload`: `name`, `status`, `conclusion` (where it is completed), `title`, `summary` (Markdown), `annotations`,
        and `head_sha` where it is about a certain commit; else it is about the head when it is created.
        """
        (body,) = ready(session, Payload("check", compact(dict(payload))), self._redactor)
        outbox.ensure(
            session,
            slot,
            thread_id=thread.id,
            action="check",
            purpose="status",
            body=body,
            now=self._clock.now(),
            run_id=run.id if run else None,
        )

    def issue(self, title: str, body: str) -> tuple[str, str]:
        """Title and body of an issue of ours as they may be opened."""
        policy = Policy(self._redactor)
        return policy.apply(title, Sink.TITLE)[:TITLE], policy.apply(body, Sink.BODY)

    def reaction(
        self,
        session: Session,
        thread: Thread,
        slot: Slot,
        *,
        content: str,
        target_id: int | None,
        target_kind: str = "comment",
        run: Run | None = None,
    ) -> None:
        """React to a comment (`comment`, `review`, `review_comment`), or to the issue where `target_id` is None.

        `content` is GitHub's word for it.
        """
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
            target_kind=target_kind,
        )


def _purpose(intent: Intent) -> str:
    """What tells intents of one step apart, as part of a slot."""
    if intent.kind not in INTENTS:
        raise ValueError(f"{intent.kind!r} is no kind of intent")
    if not intent.name:
        return intent.kind
    plain = re.fullmatch(r"[A-Za-z0-9_-]{1,40}", intent.name)
    return f"{intent.kind}.{intent.name if plain else digest(intent.name)[:32]}"
