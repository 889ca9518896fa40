"""The loop that does what the outbox holds: once per slot, in order, at GitHub's pace, whatever breaks on the way.

A row is committed as `sending` before its call leaves. What becomes of it:

| what happened                      | the row is                                                              |
|------------------------------------|-------------------------------------------------------------------------|
| GitHub answered                    | `posted`, with what it answered                                         |
| GitHub refuses, or it is gone      | `dropped`, with the reason, and with it what shares that: see `ends`    |
| the comment to change was deleted  | `dropped`; of an index, a status or an open gate `pending`, said anew   |
| what it replies to takes no reply  | `pending`, to be said in the conversation                               |
| nothing left us, or a rate limit   | `pending` until a time; nobody sleeps meanwhile                         |
| no answer, and it can be found     | `unsure`: it is looked for, and only then is it done again              |
| no answer, and twice is once       | `pending`: see `bot.publish.performer`                                  |
| no answer to a webhook             | `dropped`: it may have arrived                                          |
| the process died                   | `unsure`, at the next start                                             |
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from datetime import datetime, timedelta

from bot import log
from bot.errors import Forbidden, NotFound, Transient, Unsure
from bot.model.clock import Clock
from bot.publish.doubt import Doubt
from bot.publish.pace import Pace
from bot.publish.performer import Act, Performer, Undone, Untargeted
from bot.publish.records import Records, reason_of
from bot.store import Session, Store, doubt, outbox
from bot.store.outbox import Saying
from bot.store.tables import Outbox
from bot.store.turn import CONTENT, ELSEWHERE

_log = log.get("publish")

#: seconds after sending at which what got no answer is looked for; after the last it is done again
LOOKS = (5.0, 30.0, 90.0)
#: calls under way at once
AT_ONCE = 8
#: seconds before another look where the database refuses
PAUSE = 1.0


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
        self._records = Records(store, self._pace, clock)
        self._doubt = Doubt(self._records, self._pace, clock, self._looks)
        self._places = asyncio.Semaphore(at_once)
        self._looking: set[str] = set()
        self._finding = asyncio.Lock()
        #: until when the pace lets nothing (False) or nothing new (True) of an installation go
        self._paced: dict[tuple[int, bool], datetime] = {}

    async def recover(self) -> None:
        """Once at the start: what a dead process was sending has to be looked for."""
        look_at = self._clock.now() + timedelta(seconds=self._looks[0])
        await self._store.write(lambda session: doubt.recover(session, self._owner, look_at))

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            try:
                await self.recover()
                break
            except Transient as error:
                _log.error("store_refuses", reason=str(error))
                await self._clock.sleep(PAUSE)
        bell = self._store.bell("outbox")
        async with asyncio.TaskGroup() as group:
            while True:
                seen = bell.count
                before = self._clock.now()
                try:
                    await self._spread(group)
                    at = await self.wakes(before)
                except Transient as error:
                    _log.error("store_refuses", reason=str(error))
                    await self._clock.sleep(PAUSE)
                    continue
                await bell.wait(seen, None if at is None else max(0.05, (at - self._clock.now()).total_seconds()))

    async def wakes(self, after: datetime) -> datetime | None:
        """When there is something to do that had to wait at `after`, None where nothing waits for a time."""
        due = await self._store.read(lambda session: outbox.next_due(session, after))
        return min([*self._paced.values(), *([due] if due is not None else [])], default=None)

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
        async with self._finding:
            busy = set(self._looking)  # a look that ends while we read makes what we read old
            for saying in await self._store.read(lambda session: doubt.due_unsure(session, now)):
                if saying.row.id not in busy:
                    self._looking.add(saying.row.id)
                    await self._places.acquire()
                    group.create_task(self._placed(self._look(saying), saying.row.id))
                    started += 1
        while True:
            await self._places.acquire()
            try:
                claimed = await self._store.write(self._claim)
            except BaseException:
                self._places.release()
                raise
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
            silent = [installation for installation, new in self._paced if not new]
            no_content = [installation for installation, new in self._paced if new]
            point = session.begin_nested()
            saying = outbox.claim(session, self._owner, now, silent=silent, no_content=no_content)
            if saying is None or saying.row.action in ELSEWHERE:
                point.commit()
                return saying
            row, thread = saying.row, saying.thread
            if thread.gone and row.action != "pull_request":
                outbox.drop(session, row.id, thread.gone)
                point.commit()
                continue
            creates = row.action in CONTENT and row.posted_id is None
            wait = self._pace.take(session, thread.installation_id, creates=row.id if creates else None, now=now)
            if wait <= 0:
                point.commit()
                return saying
            point.rollback()
            self._paced[thread.installation_id, creates] = now + timedelta(seconds=wait)

    async def _send(self, saying: Saying) -> None:
        """Do one row and record what became of it."""
        row, act = saying.row, Act.of(saying)
        try:
            performer = self._performer(row)
            made = await performer.do(act)
        except Unsure as error:
            await self._doubt.unanswered(act, self._performers[row.action], error)
        except Transient as error:
            await self._records.put_off(act, error)
        except Undone as error:
            await self._records.undone(act, reason_of(error), error.outcome)
        except Untargeted as error:
            await self._records.untargeted(act, error)
        except (NotFound, Forbidden) as error:
            if isinstance(error, Forbidden) and error.status == 401 and row.action not in ELSEWHERE:
                await self._records.locked_out(act, error)
            else:
                await self._records.refused(act, error)
        except Exception as error:  # noqa: BLE001  # one broken row must not stop the others, and may have been sent
            _log.error("sending failed", slot=row.slot, exc_info=error)
            await self._doubt.unanswered(act, self._performers[row.action], error)
        else:
            await self._records.posted(act, made, row.digest)

    def _performer(self, row: Outbox) -> Performer:
        try:
            return self._performers[row.action]
        except KeyError:
            raise Undone(f"nothing here does `{row.action}`") from None

    async def _look(self, saying: Saying) -> None:
        act = Act.of(saying)
        try:
            performer = self._performer(saying.row)
        except Undone as error:
            await self._records.undone(act, error.reason, error.outcome, looked=True)
        else:
            await self._doubt.look(act, performer)
