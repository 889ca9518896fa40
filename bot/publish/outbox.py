"""The loop that says what the outbox holds: once per slot, in order, at GitHub's pace, whatever breaks on the way.

A row is committed as `sending` before its call leaves. What becomes of it:

| what happened                      | the row is                                                              |
|------------------------------------|-------------------------------------------------------------------------|
| GitHub answered                    | `posted`                                                                |
| GitHub refuses, or it is gone      | `dropped`, with the reason                                              |
| the index comment was deleted      | `pending`, to be said in a new one                                      |
| nothing left us, or a rate limit   | `pending` until a time; nobody sleeps meanwhile                         |
| no answer came to a new comment    | `unsure`: its marker is looked for, and only then is it said again      |
| no answer to an edit or a reaction | `pending`: doing it twice is doing it once                              |
| the process died                   | `unsure`, at the next start                                             |
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from bot import log
from bot.errors import BotError, Forbidden, IllegalTransition, NotFound, Transient, Unsure
from bot.model.clock import Clock
from bot.model.slot import Slot
from bot.model.state import OutboxState
from bot.model.thread import Comment
from bot.publish.marker import Marker, shown_digest
from bot.publish.pace import Pace
from bot.store import Session, Store, outbox
from bot.store.outbox import Saying
from bot.store.tables import Outbox, Thread

_log = log.get("publish")

#: seconds after sending at which an unanswered comment is looked for; after the last it is said again
LOOKS = (5.0, 30.0, 90.0)
#: how far our clock and GitHub's may be apart
_SKEW = timedelta(minutes=10)
_LONGEST_BACKOFF = 300.0
#: calls under way at once
AT_ONCE = 8


class Port(Protocol):
    """What is written to one repository, and read to find what was written. Errors are those of `bot.errors`."""

    async def create_comment(self, number: int, body: str, *, pull_request: bool = False) -> Comment: ...

    async def edit_comment(self, comment_id: int, body: str, *, pull_request: bool = False) -> Comment: ...

    async def delete_comment(self, comment_id: int, *, pull_request: bool = False) -> None: ...

    async def react(self, content: str, *, number: int, comment_id: int | None, pull_request: bool = False) -> None: ...

    async def comments_since(self, number: int, since: datetime) -> tuple[Comment, ...]: ...


class Sender:
    """Sends the outbox of one process. `owner` names this start of it: what another one was sending is unsure.

    `port` gives the write side of a thread's repository; `mine` whether a comment was written by this App (a marker
    copied by somebody else is worthless).
    """

    def __init__(
        self,
        store: Store,
        port: Callable[[Thread], Port],
        marker: Marker,
        clock: Clock,
        *,
        owner: str,
        mine: Callable[[Comment], bool],
        pace: Pace | None = None,
        looks: Sequence[float] = LOOKS,
        at_once: int = AT_ONCE,
    ) -> None:
        self._store = store
        self._port = port
        self._marker = marker
        self._clock = clock
        self._owner = owner
        self._mine = mine
        self._pace = pace or Pace()
        self._looks = tuple(looks)
        self._places = asyncio.Semaphore(at_once)
        self._looking: set[str] = set()
        #: until when the pace lets nothing (False) or no comment (True) of an installation go
        self._paced: dict[tuple[int, bool], datetime] = {}

    async def recover(self) -> None:
        """Once at the start: what a dead process was sending has to be looked for."""
        look_at = self._clock.now() + timedelta(seconds=self._looks[0])
        await self._store.write(lambda session: outbox.recover(session, self._owner, look_at))

    async def run(self) -> None:
        """Send until cancelled."""
        await self.recover()
        bell = self._store.bell("outbox")
        async with asyncio.TaskGroup() as group:
            while True:
                seen = bell.count
                before = self._clock.now()
                await self._spread(group)
                due = await self._store.read(lambda session, after=before: outbox.next_due(session, after))  # type: ignore[misc]  # mypy infers no type for a default
                times = [*self._paced.values(), *([due] if due is not None else [])]
                wait = max(0.05, (min(times) - self._clock.now()).total_seconds()) if times else None
                await bell.wait(seen, wait)

    async def sweep(self) -> None:
        """Do everything that is due now, and what follows from it, then return."""
        while True:
            async with asyncio.TaskGroup() as group:
                if not await self._spread(group):
                    return

    async def _spread(self, group: asyncio.TaskGroup) -> int:
        """Start a task for everything that is due; returns how many."""
        started = 0
        now = self._clock.now()
        for saying in await self._store.read(lambda session: outbox.due_unsure(session, now)):
            if saying.row.id not in self._looking:
                self._looking.add(saying.row.id)
                await self._places.acquire()
                group.create_task(self._placed(self._look(saying), saying.row.id))
                started += 1
        while True:
            await self._places.acquire()
            claimed = await self._store.write(self._claim)
            if claimed is None:
                self._places.release()
                return started
            group.create_task(self._placed(self._send(claimed)))
            started += 1

    async def _placed(self, work: Coroutine[None, None, None], looked_for: str = "") -> None:
        try:
            await work
        finally:
            self._looking.discard(looked_for)
            self._places.release()

    def _claim(self, session: Session) -> Saying | None:
        """The next row that the pace lets go. Of what it does not, the rows stay as they are, however many."""
        now = self._clock.now()
        self._paced = {key: until for key, until in self._paced.items() if until > now}
        while True:
            silent = [installation for installation, content in self._paced if not content]
            no_content = [installation for installation, content in self._paced if content]
            point = session.begin_nested()
            saying = outbox.claim(session, self._owner, now, silent=silent, no_content=no_content)
            if saying is None:
                point.commit()
                return None
            installation, content = saying.thread.installation_id, saying.row.action == "comment"
            wait = self._pace.take(installation, content=content, now=now)
            if wait <= 0:
                point.commit()
                return saying
            point.rollback()
            self._paced[installation, content] = now + timedelta(seconds=wait)

    async def _send(self, saying: Saying) -> None:
        """Make one call and record what became of it."""
        row, thread = saying.row, saying.thread
        try:
            comment = await self._call(saying)
        except Unsure as error:
            await self._unanswered(row, error)
        except Transient as error:
            until, why = self._until(row, thread, error), _reason(error)
            await self._record(lambda session: outbox.postpone(session, row.id, until, why))
        except (NotFound, Forbidden) as error:
            reason = _reason(error)
            if isinstance(error, NotFound) and row.posted_id is not None and row.purpose in outbox.LASTING:
                _log.info("said anew", slot=row.slot, reason=reason)
                await self._record(lambda session: outbox.anew(session, row.id, reason))
                return
            _log.info("dropped", slot=row.slot, reason=reason)
            await self._record(lambda session: outbox.drop(session, row.id, reason))
        except Exception as error:  # noqa: BLE001  # one broken row must not stop the others, and may have been sent
            _log.error("sending failed", slot=row.slot, exc_info=error)
            await self._unanswered(row, error)
        else:
            self._pace.went_well(thread.installation_id)
            now = self._clock.now()
            posted_id, url = (comment.id, comment.url) if comment else (row.posted_id, row.url)
            await self._record(lambda session: outbox.posted(session, row.id, posted_id, url, now, row.digest))

    async def _call(self, saying: Saying) -> Comment | None:
        row, thread = saying.row, saying.thread
        port, on_pull = self._port(thread), thread.is_pull_request
        if row.action == "reaction":
            await port.react(row.body, number=thread.number, comment_id=row.target_id, pull_request=on_pull)
            return None
        body = self._marker.sign(
            row.body, repository_id=thread.repository_id, thread=thread.number, slot=Slot.parse(row.slot)
        )
        if row.posted_id is not None:
            return await port.edit_comment(row.posted_id, body, pull_request=on_pull)
        return await port.create_comment(thread.number, body, pull_request=on_pull)

    async def _unanswered(self, row: Outbox, error: Exception) -> None:
        now = self._clock.now()

        def work(session: Session) -> None:
            present = session.get_one(Outbox, row.id)
            if row.action != "comment" or row.posted_id is not None:
                outbox.postpone(session, row.id, now + _backoff(row.tries), _reason(error))
            elif present.posted_id is not None:  # our webhook was faster than the answer
                outbox.posted(session, row.id, present.posted_id, present.url, now, row.digest)
            else:
                outbox.unsure(session, row.id, now + timedelta(seconds=self._looks[0]), _reason(error))

        await self._record(work)

    def _until(self, row: Outbox, thread: Thread, error: Transient) -> datetime:
        now = self._clock.now()
        if error.limited:
            return self._pace.limited(thread.installation_id, error.retry_after, now)
        return now + (_backoff(row.tries) if error.retry_after is None else timedelta(seconds=error.retry_after))

    async def _look(self, saying: Saying) -> None:
        """Look for an unanswered comment; say it again only after the last look."""
        row, thread = saying.row, saying.thread
        now = self._clock.now()
        try:
            sent = row.sent_at or row.created_at
            ours = await self._found(saying, sent - _SKEW)
        except Transient as error:
            at = now + timedelta(seconds=error.retry_after or self._looks[0])
            await self._settle(row, lambda session: outbox.look_again(session, row.id, at))
            return
        except (NotFound, Forbidden) as error:
            reason = _reason(error)
            await self._settle(row, lambda session: outbox.drop(session, row.id, reason))
            return
        if ours:
            first, intact = ours[0]
            sent_digest = row.digest if intact else ""
            await self._settle(
                row, lambda session: outbox.posted(session, row.id, first.id, first.url, now, sent_digest)
            )
            await self._delete(thread, [comment for comment, _ in ours[1:]])
            return
        elapsed = (now - sent).total_seconds()
        following = next((look for look in self._looks if look > elapsed), None)
        if following is not None:
            at = sent + timedelta(seconds=following)
            await self._settle(row, lambda session: outbox.look_again(session, row.id, at))
        else:
            await self._settle(row, lambda session: outbox.postpone(session, row.id, None, "it was not there"))

    async def _found(self, saying: Saying, since: datetime) -> list[tuple[Comment, bool]]:
        """Our comments that fill the row's slot, oldest first, and whether each says what the row says now."""
        row, thread = saying.row, saying.thread
        wanted = shown_digest(row.body)
        found = []
        for comment in await self._port(thread).comments_since(thread.number, since):
            if not self._mine(comment):
                continue
            mark = self._marker.find(comment.body, repository_id=thread.repository_id, thread=thread.number)
            if mark is not None and str(mark.slot) == row.slot:
                found.append((comment, mark.digest == wanted))
        return sorted(found, key=lambda pair: (pair[0].created_at, pair[0].id))

    async def _delete(self, thread: Thread, younger: Sequence[Comment]) -> None:
        """Take back what was said twice; where that fails, the webhook of the second one leads to it again."""
        for comment in younger:
            try:
                await self._port(thread).delete_comment(comment.id, pull_request=thread.is_pull_request)
            except BotError as error:
                _log.warning("a duplicate stays", comment=comment.id, reason=str(error))

    async def _settle(self, row: Outbox, work: Callable[[Session], None]) -> None:
        """Record something about an unsure row, unless our webhook has settled it meanwhile."""

        def guarded(session: Session) -> None:
            if session.get_one(Outbox, row.id).state is OutboxState.UNSURE:
                work(session)

        await self._record(guarded)

    async def _record(self, work: Callable[[Session], None]) -> None:
        """Commit what became of a call. The disk may refuse for a while; the call is not made again for that."""
        pause = 1.0
        while True:
            try:
                await self._store.write(work)
            except IllegalTransition as error:
                _log.error("outcome not recorded", exc_info=error)
            except Exception as error:  # noqa: BLE001  # whatever the database says: forgetting would say it twice
                _log.error("the store refuses", exc_info=error)
                await self._clock.sleep(pause)
                pause = min(pause * 2, 30.0)
                continue
            return


def _backoff(tries: int) -> timedelta:
    return timedelta(seconds=min(2.0 ** max(tries, 1), _LONGEST_BACKOFF))


def _reason(error: Exception) -> str:
    return str(error)[:500] or type(error).__name__
