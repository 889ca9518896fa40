"""What became of a call, committed: with what the pace learns from it, and with all that shares its fate."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from bot import log
from bot.errors import Forbidden, IllegalTransition, NotFound, Transient
from bot.model.clock import Clock
from bot.model.slot import Slot
from bot.publish.ends import COMMENT_DELETED, End, end_of
from bot.publish.eyes import put_away
from bot.publish.gate_comment import standing
from bot.publish.pace import Pace
from bot.publish.performer import Act, Made
from bot.store import Session, Store, ended, named_as, objects, outbox
from bot.store.tables import Outbox, Thread
from bot.store.turn import ELSEWHERE, is_new

_log = log.get("publish")

_LONGEST_BACKOFF = 300.0


class Records:
    """Each method is one commit, and returns when it is on the disk. `looked`: the row was unsure and was looked for,
    and nothing is recorded where our webhook has settled it meanwhile.

    Where another process has taken a row over, only that it was posted is worth a record here.
    """

    def __init__(self, store: Store, pace: Pace, clock: Clock) -> None:
        self._store = store
        self._pace = pace
        self._clock = clock

    async def posted(self, act: Act, made: Made, digest: str, *, looked: bool = False) -> None:
        """It stands there, with the text of that digest."""
        row, now = act.row, self._clock.now()

        def work(session: Session) -> None:
            outbox.posted(session, row.id, made.id, made.url, now, digest, made.outcome)
            if row.action == "reaction" and row.run_id is not None:
                put_away(session, row.run_id, now)
            if row.action not in ELSEWHERE and not looked:
                self.answered(session, act, calls=made.calls)

        await self.commit(work, row, whoever=not looked)

    async def put_off(self, act: Act, error: Transient) -> None:
        """It was surely not done, and is done later. A limit holds back everything of its installation."""
        row = act.row

        def work(session: Session) -> None:
            self._pace.unsent(session, row.id, row.sent_at)
            outbox.postpone(session, row.id, self.until(session, act, error), reason_of(error))

        await self.commit(work, row)

    async def locked_out(self, act: Act, error: Forbidden) -> None:
        """GitHub does not know us: that is for whoever runs the bot to mend, and no fault of what is to be said."""

        def work(session: Session) -> None:
            self._pace.unsent(session, act.row.id, act.row.sent_at)
            until = self._pace.limited(session, act.thread.installation_id, None, self._clock.now())
            outbox.postpone(session, act.row.id, until, reason_of(error))

        await self.commit(work, act.row)

    async def refused(self, act: Act, error: NotFound | Forbidden, *, looked: bool = False) -> None:
        """GitHub refuses, for good: so it does for what shares the cause.

        What a thread has one of is said anew where its comment is gone, and so is the question of an open gate.
        """
        row, thread = act.row, act.thread
        end = end_of(error, act)

        def work(session: Session) -> None:
            self.answered(session, act)
            present = session.get_one(Outbox, row.id)
            lasting = _asks(session, present, thread) if row.purpose == "gate" else row.purpose in outbox.LASTING
            if end.reason == COMMENT_DELETED and row.action == "comment" and lasting:
                _log.info("said anew", slot=row.slot, reason=end.reason)
                outbox.anew(session, row.id, end.reason)
                return
            outbox.drop(session, row.id, end.reason, {"error": reason_of(error)})
            others = self._others(session, act, end)
            _log.info("dropped", slot=row.slot, reason=end.reason, others=others, error=reason_of(error))

        await self.commit(work, row)

    def _others(self, session: Session, act: Act, end: End) -> int:
        if end.reach is ended.Reach.ROW:
            return 0
        if end.for_good:
            ended.close(session, act.thread, end.reach, end.reason, self._clock.now())
        return ended.drop_all(
            session, act.thread, end.reach, end.reason, spared=end.spared, on_pull=end.on_pull, sure=end.gone
        )

    async def undone(self, act: Act, reason: str, outcome: dict[str, object] | None, *, looked: bool = False) -> None:
        """It is not done, by our own decision; others are not concerned."""
        row = act.row

        def work(session: Session) -> None:
            self.answered(session, act)
            outbox.drop(session, row.id, reason, outcome)

        _log.info("dropped", slot=row.slot, reason=reason)
        await self.commit(work, row)

    async def untargeted(self, act: Act, error: Exception) -> None:
        """What it was to reply to takes no reply."""
        row = act.row

        def work(session: Session) -> None:
            self.answered(session, act)
            outbox.untarget(session, row.id, reason_of(error))

        await self.commit(work, row)

    def until(self, session: Session, act: Act, error: Transient) -> datetime:
        """When to try again what failed so."""
        now = self._clock.now()
        if error.limited and act.row.action not in ELSEWHERE:
            sent = act.row.sent_at
            return self._pace.limited(session, act.thread.installation_id, error.retry_after, now, sent=sent)
        return now + (backoff(act.row.tries) if error.retry_after is None else timedelta(seconds=error.retry_after))

    def answered(self, session: Session, act: Act, *, calls: int = 0) -> None:
        """As far as anybody knows, what was sent may be there: it counts from now on. `calls` as `Pace.answered`'s."""
        row, installation = act.row, act.thread.installation_id
        creates = row.id if is_new(row) else None
        self._pace.answered(session, installation, creates, row.sent_at, self._clock.now(), calls=calls)

    async def spent(self, act: Act, limit: Transient | None) -> None:
        """A write that is no row's own (something was taken back) left, and met a limit perhaps: it counts as any."""
        installation = act.thread.installation_id

        def work(session: Session) -> None:
            self._pace.spent(session, installation, 1, self._clock.now())
            if limit is not None:
                self.until(session, act, limit)

        await self.commit(work)

    async def commit(
        self, work: Callable[[Session], None], row: Outbox | None = None, *, whoever: bool = False
    ) -> None:
        """Commit what became of a call. The disk may refuse for a while; the call is not made again for that.

        With `row`, nothing is recorded unless it stands as it was taken: our webhook may have settled it meanwhile, or
        another process have taken it over (which does not matter with `whoever`); or it was forgotten.
        """

        def guarded(session: Session) -> None:
            present = objects.get(session, Outbox, row.id) if row is not None else None
            if row is None or (present is not None and (whoever or _stands(present, row))):
                work(session)

        pause = 1.0
        while True:
            try:
                await self._store.write(named_as(work, guarded))
            except IllegalTransition as error:
                _log.error("outcome not recorded", exc_info=error)
            except Exception as error:  # noqa: BLE001  # whatever the database says: forgetting would say it twice
                if not isinstance(error, Transient):  # of that the store says so
                    _log.error("outcome not recorded yet", exc_info=error)
                await self._clock.sleep(pause)
                pause = min(pause * 2, 30.0)
                continue
            return


def _stands(present: Outbox, taken: Outbox) -> bool:
    return (present.state, present.lease_owner, present.tries) == (taken.state, taken.lease_owner, taken.tries)


def backoff(tries: int) -> timedelta:
    """How long to wait after so many tries: 2, 4, 8 … 300 s."""
    return timedelta(seconds=min(2.0 ** max(tries, 1), _LONGEST_BACKOFF))


def reason_of(error: Exception) -> str:
    """Its words, at most 500 characters."""
    return str(error)[:500] or type(error).__name__


def _asks(session: Session, row: Outbox, thread: Thread) -> bool:
    """Whether people can still answer a gate in that comment of ours."""
    found = standing(session, thread, row.posted_id or 0, Slot.parse(row.slot))
    return found is not None and found.answerable is not None
