"""One reading of GitHub's log of deliveries: what we do not have is listed, newest first, and taken, oldest first.

| the log shows, and we have no such GUID         | what becomes of it                                              |
|-------------------------------------------------|-----------------------------------------------------------------|
| no attempt was answered with a 2xx              | taken                                                           |
| a 2xx, not in our words                         | taken: something before us answered, such as a proxy's page     |
| a 2xx in our words: `duplicate`, `ignored`      | left: we have its content, or nobody acts on it                 |
| a 2xx in our words: `accepted`                  | left, and told: the database was lost since. What it led to may |
|                                                 | stand in the thread, so that taking it could say things twice   |
| a 2xx, and this database has never read the log | left: it was another's to answer                                |
| a ping, or an event that nobody acts on         | left, without asking for more                                   |

Source: https://docs.github.com/en/webhooks/using-webhooks/handling-failed-webhook-deliveries
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from bot import log
from bot.errors import NotFound, Transient
from bot.model.clock import Clock
from bot.model.delivery import LoggedAttempt, LoggedRequest, LogPage, NewDelivery
from bot.model.event import HANDLED
from bot.store import Session, Store, deliveries

_log = log.get("missed")

#: how far github.com's log goes back; that of GitHub Enterprise Server goes further
KEPT = timedelta(days=3)
#: deliveries that one reading remembers; of more the newest are left to the next one
MOST = 20_000
#: how often a delivery is asked for that GitHub fails to show, before the others go on without it
TRIES = 3
#: the words of `POST /webhook`
_OURS = frozenset({"accepted", "duplicate", "ignored"})

#: what the front door keeps of a payload (see `bot.webhook.admit`)
Admit = Callable[..., NewDelivery | None]


class Log(Protocol):
    """GitHub's log (see `bot.github.GitHub.hook_log`)."""

    async def page(self, cursor: str | None) -> LogPage: ...

    async def request(self, attempt_id: int) -> LoggedRequest: ...


@dataclass(slots=True)
class Missing:
    """A delivery that the log has and we do not."""

    guid: str
    #: the newest attempt, to ask by: every one of a GUID sent the same, and this one stays longest
    attempt_id: int
    #: the first attempt: when, and its number
    at: datetime
    first: int
    event: str
    action: str
    #: the attempts that got a 2xx, newest first: whose that was, each tells
    taken: tuple[int, ...]
    #: what became of the newest attempt
    status: str

    @property
    def answered(self) -> bool:
        """Whether some attempt got a 2xx."""
        return bool(self.taken)

    @property
    def name(self) -> str:
        return f"{self.event}.{self.action}" if self.action else self.event


class LogReading:
    """Made for one reading; goes on where it ended early.

    `since` None means as far back as github.com's log goes. `answered` off leaves alone whatever got a 2xx: where this
    database has read no log before, that was another's to answer. `accepted` takes even what GitHub says that we took.
    """

    def __init__(
        self,
        store: Store,
        hooks: Log,
        app_id: int,
        admit: Admit,
        clock: Clock,
        *,
        since: datetime | None,
        answered: bool = True,
        accepted: bool = False,
        handled: Mapping[str, Collection[str]] = HANDLED,
        most: int = MOST,
    ) -> None:
        self._store, self._hooks, self._clock = store, hooks, clock
        self._app_id, self._admit, self._handled = app_id, admit, handled
        self._since, self._answered, self._accepted, self._most = since, answered or accepted, accepted, most
        self._cursor: str | None = None
        self._found: dict[str, Missing] = {}
        self._tries: Counter[str] = Counter()
        self._at: datetime | None = None
        self._until: datetime | None = None
        self.listed = False
        #: attempts that the log has shown
        self.seen = 0
        #: what became of what was missing: `taken`, `duplicate`, `left`, `accepted`, `gone`, `given up`
        self.tally: Counter[str] = Counter()

    @property
    def started(self) -> datetime | None:
        """GitHub's time when it began; None before the first page."""
        return self._at

    @property
    def finished(self) -> bool:
        return self.listed and not self._found

    @property
    def reached(self) -> datetime | None:
        """Up to when every delivery of the log was looked at; None as long as the list is not whole."""
        if not self.listed:
            return None
        return min((one.at for one in self._found.values()), default=self._until)

    def missing(self) -> list[Missing]:
        """What was found so far, oldest first."""
        return sorted(self._found.values(), key=lambda one: (one.at, one.first))

    async def list(self, pages: int) -> bool:
        """Read on, so many pages at most; whether the list is whole. Raises what asking GitHub raises."""
        for _ in range(pages):
            if self.listed:
                break
            page = await self._hooks.page(self._cursor)
            if self._at is None:
                self._at = self._until = page.at
            if self._since is None:
                self._since = page.at - KEPT
            self.seen += len(page.attempts)
            await self._note([one for one in page.attempts if one.at >= self._since])
            self._cursor = page.cursor
            self.listed = page.cursor is None or any(one.at < self._since for one in page.attempts)
        if self.listed and not self._answered:
            self._found = {guid: one for guid, one in self._found.items() if not one.answered}
        return self.listed

    async def _note(self, attempts: Collection[LoggedAttempt]) -> None:
        wanted = [one for one in attempts if one.action in self._handled.get(one.event, ())]
        guids = {one.guid for one in wanted}
        have = await self._store.read(lambda session: deliveries.known(session, self._app_id, guids)) if guids else ()
        for one in wanted:
            taken = (one.id,) if one.answered else ()
            if one.guid in have:
                self._found.pop(one.guid, None)
            elif (known := self._found.get(one.guid)) is not None:
                known.at, known.first = min((known.at, known.first), (one.at, one.id))
                known.taken += taken
            else:
                status = f"{one.status_code} {one.status}".strip()
                self._found[one.guid] = Missing(one.guid, one.id, one.at, one.id, one.event, one.action, taken, status)
        if len(self._found) > self._most:
            ordered = self.missing()
            self._found = {each.guid: each for each in ordered[: self._most]}
            # what is left out comes later than all that is kept, and is found again by the next reading
            self._until = min(ordered[self._most].at, self._until or ordered[self._most].at)

    async def take(self, fetches: int) -> bool:
        """Take what is missing, so many at most, the oldest first; whether nothing is left.

        Each is on disk before the next is asked for. Raises what asking GitHub raises; one that GitHub fails to show
        three times is left out.
        """
        for one in self.missing()[:fetches]:
            try:
                self.tally[await self._one(one)] += 1
            except NotFound:
                _log.warning("delivery_gone", guid=one.guid, what=one.name)
                self.tally["gone"] += 1
            except Transient as error:
                self._tries[one.guid] += not error.limited
                if self._tries[one.guid] < TRIES:
                    raise
                _log.error("delivery_given_up", guid=one.guid, what=one.name, reason=str(error))
                self.tally["given up"] += 1
            del self._found[one.guid]
        return self.finished

    async def _one(self, one: Missing) -> str:
        if await self._store.read(lambda session: deliveries.known(session, self._app_id, {one.guid})):
            return "duplicate"  # it arrived meanwhile
        if self._accepted or not one.answered:
            request = await self._hooks.request(one.attempt_id)
        else:
            asked = [await self._hooks.request(attempt) for attempt in one.taken]
            # a redelivery may have met something else than we are: whatever came later, what we said once holds
            words = {_in_our_words(each.answer) for each in asked}
            if words & _OURS:
                return "accepted" if "accepted" in words else "left"
            request = asked[0]
        made = None if request.payload is None else self._admitted(one, request.payload, request.headers)
        if made is None:
            _log.warning("delivery_not_read", guid=one.guid, what=one.name)
            return "left"
        now, new = self._clock.now(), made

        def take(session: Session) -> str:
            return deliveries.take(session, new, now)

        if await self._store.write(take) == "duplicate":
            return "duplicate"
        _log.info("missed_delivery_taken", guid=one.guid, what=one.name, at=one.at.isoformat())
        return "taken"

    def _admitted(self, one: Missing, payload: Mapping[str, Any], headers: Mapping[str, str]) -> NewDelivery | None:
        text = json.dumps(payload, separators=(",", ":")).encode()
        return self._admit(
            payload,
            text,
            guid=one.guid,
            event=one.event,
            headers=headers,
            app_id=self._app_id,
            handled=self._handled,
            origin="log",
        )


def _in_our_words(answer: str) -> str | None:
    """The status that our front door answered; None where the answer is somebody else's."""
    try:
        said = json.loads(answer)
    except ValueError:
        return None
    words = said.get("status") if isinstance(said, dict) and "delivery" in said else None
    return words if words in _OURS else None
