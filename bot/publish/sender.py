"""The loop that does what the outbox holds: once per slot, in order, at GitHub's pace, whatever breaks on the way.

A row is committed as `sending` before its call leaves. What becomes of it:

| what happened                      | the row is                                                              |
|------------------------------------|-------------------------------------------------------------------------|
| GitHub answered                    | `posted`, with what it answered                                         |
| GitHub refuses, or it is gone      | `dropped`, with the reason                                              |
| the index comment was deleted      | `pending`, to be said in a new one                                      |
| nothing left us, or a rate limit   | `pending` until a time; nobody sleeps meanwhile                         |
| no answer, and it can be found     | `unsure`: it is looked for, and only then is it done again              |
| no answer, and twice is once       | `pending`: see `bot.publish.performer`                                  |
| no answer to a webhook             | `dropped`: it may have arrived                                          |
| the process died                   | `unsure`, at the next start                                             |
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime, timedelta

from bot import log
from bot.errors import BotError, Forbidden, IllegalTransition, NotFound, Transient, Unsure
from bot.model.clock import Clock
from bot.model.state import OutboxState
from bot.publish.pace import Pace
from bot.publish.performer import UNSURE, Act, Found, Performer, Undone
from bot.store import Session, Store, outbox
from bot.store.outbox import Saying
from bot.store.tables import Outbox, Thread
from bot.store.turn import CONTENT, ELSEWHERE

_log = log.get("publish")

#: seconds after sending at which what got no answer is looked for; after the last it is done again
LOOKS = (5.0, 30.0, 90.0)
#: how far our clock and GitHub's may be apart
_SKEW = timedelta(minutes=10)
_LONGEST_BACKOFF = 300.0
#: how often what may be repeated is tried while it fails by a bug of ours
_MOST_TRIES = 10
#: calls under way at once
AT_ONCE = 8


class Sender:
    """Sends the outbox of one process. `owner` names this start of it: what another one was sending is unsure.

    `performers` say by action how it is done (see `Comments`, `ThreadActions`, `Hooks`).
    """

    def __init__(
        self,
        store: Store,
        performers: Mapping[str, Performer],
        clock: Clock,
        *,
        owner: str,
        pace: Pace | None = None,
        looks: Sequence[float] = LOOKS,
        at_once: int = AT_ONCE,
    ) -> None:
        self._store = store
        self._performers = dict(performers)
        self._clock = clock
        self._owner = owner
        self._pace = pace or Pace()
        self._looks = tuple(looks)
        self._places = asyncio.Semaphore(at_once)
        self._looking: set[str] = set()
        #: until when the pace lets nothing (False) or no content (True) of an installation go
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
            if saying.row.action in ELSEWHERE:
                point.commit()
                return saying
            installation, content = saying.thread.installation_id, saying.row.action in CONTENT
            wait = self._pace.take(installation, content=content, now=now)
            if wait <= 0:
                point.commit()
                return saying
            point.rollback()
            self._paced[installation, content] = now + timedelta(seconds=wait)

    async def _send(self, saying: Saying) -> None:
        """Do one row and record what became of it."""
        row, thread = saying.row, saying.thread
        try:
            made = await self._performer(row).do(Act.of(saying))
        except Unsure as error:
            await self._unanswered(saying, error)
        except Transient as error:
            until, why = self._until(row, thread, error), _reason(error)
            await self._record(lambda session: outbox.postpone(session, row.id, until, why))
        except (NotFound, Forbidden, Undone) as error:
            reason, outcome = _reason(error), error.outcome if isinstance(error, Undone) else None
            if isinstance(error, NotFound) and row.posted_id is not None and row.purpose in outbox.LASTING:
                _log.info("said anew", slot=row.slot, reason=reason)
                await self._record(lambda session: outbox.anew(session, row.id, reason))
                return
            _log.info("dropped", slot=row.slot, reason=reason)
            await self._record(lambda session: outbox.drop(session, row.id, reason, outcome))
        except Exception as error:  # noqa: BLE001  # one broken row must not stop the others, and may have been sent
            _log.error("sending failed", slot=row.slot, exc_info=error)
            await self._unanswered(saying, error)
        else:
            now = self._clock.now()
            if row.action not in ELSEWHERE:
                self._pace.went_well(thread.installation_id, calls=made.calls, now=now)
            await self._record(
                lambda session: outbox.posted(session, row.id, made.id, made.url, now, row.digest, made.outcome)
            )

    def _performer(self, row: Outbox) -> Performer:
        try:
            return self._performers[row.action]
        except KeyError:
            raise Undone(f"nothing here does `{row.action}`") from None

    async def _unanswered(self, saying: Saying, error: Exception) -> None:
        row = saying.row
        performer, now = self._performers[row.action], self._clock.now()
        reason, again = _reason(error), performer.again(Act.of(saying))
        hopeless = not isinstance(error, Unsure) and row.tries >= _MOST_TRIES

        def work(session: Session) -> None:
            present = session.get_one(Outbox, row.id)
            if again and hopeless:
                outbox.drop(session, row.id, reason)
            elif again:
                outbox.postpone(session, row.id, now + _backoff(row.tries), reason)
            elif performer.find is None:
                outbox.drop(session, row.id, UNSURE, {"error": reason})
            elif present.posted_id is not None:  # our webhook was faster than the answer
                outbox.posted(session, row.id, present.posted_id, present.url, now, row.digest)
            else:
                outbox.unsure(session, row.id, now + timedelta(seconds=self._looks[0]), reason)

        await self._record(work)

    def _until(self, row: Outbox, thread: Thread, error: Transient) -> datetime:
        now = self._clock.now()
        if error.limited and row.action not in ELSEWHERE:
            return self._pace.limited(thread.installation_id, error.retry_after, now)
        return now + (_backoff(row.tries) if error.retry_after is None else timedelta(seconds=error.retry_after))

    async def _look(self, saying: Saying) -> None:
        """Look for what got no answer; do it again only after the last look, and never what must not be repeated."""
        row, act = saying.row, Act.of(saying)
        now = self._clock.now()
        sent = row.sent_at or row.created_at
        try:
            performer = self._performer(row)
            if performer.find is None or performer.again(act):
                await self._without_looking(row, again=performer.again(act))
                return
            ours = await performer.find(act, sent - _SKEW)
        except Transient as error:
            at = now + timedelta(seconds=error.retry_after or self._looks[0])
            await self._settle(row, lambda session: outbox.look_again(session, row.id, at))
            return
        except (NotFound, Forbidden, Undone) as error:
            reason = _reason(error)
            await self._settle(row, lambda session: outbox.drop(session, row.id, reason))
            return
        if ours:
            made, sent_digest = ours[0].made, row.digest if ours[0].intact else ""
            await self._settle(
                row,
                lambda session: outbox.posted(session, row.id, made.id, made.url, now, sent_digest, made.outcome),
            )
            await self._take_back(performer, act, ours[1:])
            return
        elapsed = (now - sent).total_seconds()
        following = next((look for look in self._looks if look > elapsed), None)
        if following is not None:
            at = sent + timedelta(seconds=following)
            await self._settle(row, lambda session: outbox.look_again(session, row.id, at))
        else:
            await self._settle(row, lambda session: outbox.postpone(session, row.id, None, "it was not there"))

    async def _without_looking(self, row: Outbox, *, again: bool) -> None:
        """The process that sent it ended: do it again where that is the same, else leave it."""
        if again:
            await self._settle(row, lambda session: outbox.postpone(session, row.id, None, row.reason))
        else:
            await self._settle(row, lambda session: outbox.drop(session, row.id, UNSURE, {"error": row.reason}))

    async def _take_back(self, performer: Performer, act: Act, younger: Sequence[Found]) -> None:
        """Take back what was said twice; where that fails, the webhook of the second one leads to it again."""
        for found in younger:
            if performer.take_back is None or found.made.id is None:
                _log.warning("a duplicate stays", id=found.made.id, reason="it cannot be taken back")
                continue
            try:
                await performer.take_back(act, found.made.id)
            except BotError as error:
                _log.warning("a duplicate stays", id=found.made.id, reason=str(error))

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
