"""Does one row of the outbox, and records what became of it.

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
| the process died                   | `unsure`, as soon as whoever has the duty sees it                       |
| the process stops                  | what is under way may end; what does not in time is `unsure`            |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot import log
from bot.errors import Forbidden, NotFound, Transient, Unsure
from bot.model.clock import Clock
from bot.publish.doubt import Doubt
from bot.publish.pace import Pace
from bot.publish.performer import Act, Performer, Undone, Untargeted
from bot.publish.records import Records, reason_of
from bot.store import Store, doubt
from bot.store.outbox import Saying
from bot.store.tables import Outbox
from bot.store.turn import ELSEWHERE

_log = log.get("publish")

#: seconds before another look where the database refuses
PAUSE = 1.0
#: a row that was claimed so many seconds ago and has not been sent may be somebody else's by now: this one is asked
STALE = 2.0


class Sending:
    """What `owner` has claimed, done by the performers; the arguments are those of `Sender`."""

    def __init__(
        self,
        store: Store,
        performers: Mapping[str, Performer],
        clock: Clock,
        pace: Pace,
        *,
        owner: str,
        looks: Sequence[float],
        duty: Store,
    ) -> None:
        self._store = store
        self._duty = duty
        self._performers = dict(performers)
        self._clock = clock
        self._owner = owner
        self._records = Records(store, pace, clock)
        self._doubt = Doubt(self._records, pace, clock, looks)

    async def send(self, saying: Saying) -> None:
        """Do one row and record what became of it."""
        row, act = saying.row, Act.of(saying)
        if not await self._still(row):
            _log.warning("not sent", slot=row.slot, reason="another process has taken it over")
            return
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
            _log.info("posted", post=row.id, run=row.run_id, slot=row.slot, id=made.id)

    async def look(self, row_id: str) -> None:
        """Look for one row that got no answer."""
        try:
            saying = await self._duty.write(lambda session: doubt.begin(session, row_id, self._owner))
        except Transient:  # the store says so
            await self._clock.sleep(PAUSE)
            self._store.bell("outbox").ring()
            return
        if saying is None:  # our webhook has settled it
            return
        act = Act.of(saying)
        try:
            performer = self._performer(saying.row)
        except Undone as error:
            await self._records.undone(act, error.reason, error.outcome, looked=True)
        else:
            await self._doubt.look(act, performer)

    async def _still(self, row: Outbox) -> bool:
        """Whether a row is ours to send: who was stopped after he claimed it must not send it when he wakes."""
        if row.sent_at is None or abs((self._clock.now() - row.sent_at).total_seconds()) <= STALE:
            return True
        return await self._store.read(lambda session: doubt.sends(session, row.id, self._owner, row.tries))

    def _performer(self, row: Outbox) -> Performer:
        try:
            return self._performers[row.action]
        except KeyError:
            raise Undone(f"nothing here does `{row.action}`") from None
