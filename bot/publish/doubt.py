"""What got no answer: whether it was done is found out, and only then is it done again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from bot import log
from bot.errors import BotError, Forbidden, NotFound, Transient, Unsure
from bot.model.clock import Clock
from bot.publish.pace import Pace
from bot.publish.performer import UNSURE, Act, Found, Performer, Undone
from bot.publish.records import Records, backoff, reason_of
from bot.store import Session, doubt, outbox
from bot.store.tables import Outbox

_log = log.get("publish")

#: how far our clock and GitHub's may be apart
_SKEW = timedelta(minutes=10)
#: how often what may be repeated is tried while it fails by a bug of ours
_MOST_TRIES = 10


class Doubt:
    """`looks` are the seconds after sending at which is looked; after the last it is done again."""

    def __init__(self, records: Records, pace: Pace, clock: Clock, looks: Sequence[float]) -> None:
        self._records = records
        self._pace = pace
        self._clock = clock
        self._looks = tuple(looks)

    async def unanswered(self, act: Act, performer: Performer, error: Exception) -> None:
        """A call left us, or may have, and no answer came."""
        row, now = act.row, self._clock.now()
        reason, again = reason_of(error), performer.again(act)
        hopeless = not isinstance(error, Unsure) and row.tries >= _MOST_TRIES

        def work(session: Session) -> None:
            present = session.get_one(Outbox, row.id)
            self._records.answered(session, act)
            if again and hopeless:
                outbox.drop(session, row.id, reason)
            elif again:
                outbox.postpone(session, row.id, now + backoff(row.tries), reason)
            elif performer.find is None:
                outbox.drop(session, row.id, UNSURE, {"error": reason})
            elif present.posted_id is not None:  # our webhook was faster than the answer
                outbox.posted(session, row.id, present.posted_id, present.url, now, row.digest)
            else:
                doubt.unsure(session, row.id, now + timedelta(seconds=self._looks[0]), reason)

        await self._records.commit(work, row)

    async def look(self, act: Act, performer: Performer) -> None:
        """Look for it; do it again only after the last look, and never what must not be repeated."""
        row = act.row
        now = self._clock.now()
        sent = row.sent_at or row.created_at
        if performer.find is None or performer.again(act):
            await self._without_looking(act, again=performer.again(act))
            return
        try:
            ours = await performer.find(act, sent - _SKEW)
        except Transient as error:
            limit = error

            def later(session: Session) -> None:
                if limit.limited:
                    at = self._records.until(session, act, limit)
                else:
                    at = now + timedelta(seconds=limit.retry_after or self._looks[0])
                doubt.look_again(session, row.id, at)

            await self._records.commit(later, row)
            return
        except Undone as error:
            await self._records.undone(act, error.reason, error.outcome, looked=True)
            return
        except (NotFound, Forbidden) as error:
            if isinstance(error, Forbidden) and error.status == 401:
                # GitHub does not know us, which says nothing about what was sent
                at = now + timedelta(seconds=self._looks[-1])
                await self._records.commit(lambda session: doubt.look_again(session, row.id, at), row)
                return
            await self._records.refused(act, error, looked=True)
            return
        if ours:
            made, sent_digest = ours[0].made, row.digest if ours[0].intact else ""
            await self._records.posted(act, made, sent_digest, looked=True)
            await self._take_back(performer, act, ours[1:])
            return
        elapsed = (now - sent).total_seconds()
        following = next((look for look in self._looks if look > elapsed), None)
        if following is not None:
            at = sent + timedelta(seconds=following)
            await self._records.commit(lambda session: doubt.look_again(session, row.id, at), row)
        else:
            await self._records.commit(lambda session: outbox.postpone(session, row.id, None, "it was not there"), row)

    async def _without_looking(self, act: Act, *, again: bool) -> None:
        """The process that sent it ended: do it again where that is the same, else leave it."""
        row = act.row
        if again:
            await self._records.commit(lambda session: outbox.postpone(session, row.id, None, row.reason), row)
        else:
            await self._records.undone(act, UNSURE, {"error": row.reason}, looked=True)

    async def _take_back(self, performer: Performer, act: Act, younger: Sequence[Found]) -> None:
        """Take back what was said twice; where that fails, the webhook of the second one leads to it again."""
        for found in younger:
            if performer.take_back is None or found.made.id is None:
                _log.warning("a duplicate stays", id=found.made.id, reason="it cannot be taken back")
                continue
            limit: Transient | None = None
            try:
                await performer.take_back(act, found.made.id)
            except BotError as error:
                _log.warning("a duplicate stays", id=found.made.id, reason=str(error))
                limit = error if isinstance(error, Transient) and error.limited else None
            await self._records.spent(act, limit)
