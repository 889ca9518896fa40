"""What one thing to say becomes: cut to what is posted at most, through the policy, in parts. Pure, and not cheap.

A transaction that has a long one to say is undone, the text is composed in a thread of its own, and the transaction is
done again with the parts at hand: nobody else waits for the policy.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from bot.model.fence import fence
from bot.publish.body import result_body
from bot.publish.clean import clean, whole
from bot.publish.excerpt import excerpt, is_long
from bot.publish.markdown import TooComplex
from bot.publish.marker import ROOM
from bot.publish.policy import Policy, Sink
from bot.publish.redact import Redactor, redacted
from bot.publish.split import CHARACTERS, RESERVE, split
from bot.store import Session, Store, named_as

T = TypeVar("T")

#: what is longer is composed outside of the transaction
SHORT = 4_000
#: how far behind the cut is read, so that a secret which lies across it is seen whole
_MARGIN = 32_768
#: how often a transaction is done again for texts it had not asked for before
_ROUNDS = 16
_READY = "composed"
#: of a run of marks that could be no fence in any part, as many as one may have
_ENDLESS = re.compile(r"((?:`{60}|~{60}))[`~]+")


class Composable(Protocol):
    """Something that passes the policy before it is put into the outbox. Equal ones compose to the same."""

    @property
    def size(self) -> int: ...

    def composed(self, redactor: Redactor) -> tuple[str, ...]: ...

    def __hash__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Draft:
    """One thing to say, with what decides its parts. `output` is a program's text, any other a body made by us."""

    text: str
    output: bool = False
    fenced: bool = False
    #: what the program gave as data, as JSON; empty where it gave none
    result: str = ""
    footer: str = ""
    mentions: tuple[str, ...] = ()
    every_mention: bool = False
    max_parts: int = 3
    rest: str = ""
    #: references that a closing keyword may stand before
    closes: tuple[str, ...] = ()
    #: characters of each part that hidden lines beside the marker will take
    reserve: int = 0

    @property
    def size(self) -> int:
        """How much there is to read."""
        return len(self.text) + len(self.result)

    def composed(self, redactor: Redactor) -> tuple[str, ...]:
        """The bodies of its parts."""
        return compose(self, redactor)


class NotReady(Exception):
    """A transaction needs a draft that is composed first."""

    def __init__(self, compose: Callable[[], tuple[str, ...]], draft: Composable) -> None:
        super().__init__("a long text is to be composed first")
        self.compose = compose
        self.draft = draft


def compose(draft: Draft, redactor: Redactor, *, characters: int = CHARACTERS) -> tuple[str, ...]:
    """The bodies of a draft's parts, each of at most `characters` with its marker; none where it shows nothing."""
    text, cut = shorten(draft.text, draft.max_parts * characters, redactor)
    if not clean(text).strip():
        return ()
    if draft.output and draft.fenced and is_long(draft.text):
        text, cut = excerpt(draft.text, redactor), False
        draft = replace(draft, fenced=False, max_parts=1)
    policy = Policy(redactor, mentions=draft.mentions, every_mention=draft.every_mention, closes=draft.closes)
    # before it is laid out, which breaks lines elsewhere
    result, footer = redacted(json.loads(draft.result or "null"), redactor), draft.footer or None
    try:
        body = result_body(text, result=result, fenced=draft.fenced, footer=footer) if draft.output else text
    except TooComplex:
        body = result_body(text, result=result, fenced=True, footer=footer)
    body = policy.apply(body, Sink.COMMENT)
    if not body.strip() or (draft.output and body.strip() == policy.apply(draft.footer, Sink.COMMENT).strip()):
        return ()
    return _parts(draft, body, policy, more=cut, characters=characters)


def _parts(draft: Draft, body: str, policy: Policy, *, more: bool, characters: int) -> tuple[str, ...]:
    """The bodies of the parts. What a cut goes through may act where it was code before: each passes the policy again.

    Where that takes more room than there is, the text is shown in a fence, whose parts need none.
    """
    bodies: tuple[str, ...] = ()
    last = fence(_ENDLESS.sub(r"\1", body))
    for text in (body, fence(body), last):
        with suppress(TooComplex):
            parts = split(
                text,
                max_parts=draft.max_parts,
                rest=draft.rest,
                more=more,
                characters=characters,
                reserve=RESERVE + draft.reserve,
            )
            if len(parts) == 1 and parts[0].text == text:
                return (parts[0].body,)
            if text is not last and _ENDLESS.search(text):
                continue
            bodies = tuple(policy.apply(part.body, Sink.COMMENT) for part in parts)
            if all(len(one) <= characters - draft.reserve - ROOM for one in bodies):
                return bodies
    return bodies


def shorten(text: str, most: int, redactor: Redactor) -> tuple[str, bool]:
    """The first `most` characters at most, and whether that is not all. No secret is cut in two."""
    if len(text) <= most:
        return text, False
    window = clean(text[: most + _MARGIN])
    end = most if len(window) >= most + _MARGIN // 2 else max(0, len(window) - _MARGIN // 2)
    for start, last in reversed(redactor.spans(window)):
        if start < end < last:
            end = start
    return window[: whole(window, end)], True


def ready(session: Session, draft: Composable, redactor: Redactor) -> tuple[str, ...]:
    """A draft's parts inside a transaction. Raises `NotReady` for a long one where `write` can do it again."""
    composed: dict[Composable, tuple[str, ...]] | None = session.info.get(_READY)
    if composed is None or (draft.size <= SHORT and draft not in composed):
        return draft.composed(redactor)
    if draft not in composed:
        raise NotReady(lambda: draft.composed(redactor), draft)
    return composed[draft]


async def write(store: Store, work: Callable[[Session], T]) -> T:
    """`store.write` for work that says something: long texts are composed outside of the transaction."""
    composed: dict[Composable, tuple[str, ...]] = {}

    def prepared(session: Session) -> T:
        session.info[_READY] = composed
        return work(session)

    for _ in range(_ROUNDS):
        try:
            return await store.write(named_as(work, prepared))
        except NotReady as missing:
            composed[missing.draft] = await asyncio.to_thread(missing.compose)
    return await store.write(work)
