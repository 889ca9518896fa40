"""One life of a world: people at work, bots that are killed again and again, and at the end everything at rest."""

from __future__ import annotations

import asyncio
import random
import shutil
import time
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIGTERM

import httpx
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from tests.faults.boundaries import Coverage, Edge
from tests.faults.doings import Doings
from tests.faults.haste import Haste
from tests.faults.judge import judge
from tests.faults.lives import Life, Lives
from tests.faults.place import Place, make_place
from tests.faults.post import Post
from tests.faults.site import EDGES, Site, Weather, process_of
from tests.faults.verdict import Verdict
from tests.faults.wishes import Subject

#: how much faster than the machine's the time of an episode goes
FACTOR = 20.0
#: seconds between two things that people do
PACE = 0.12
#: open rows (deliveries, runs, things to be said) at which people wait: a pile shows nothing more, and takes long
BUSY = 24
#: seconds that a bot which is ready lives at most: what did not kill it by then is not what it meets
LONGEST = 3.0
#: starts that fit into as many seconds; where they do not, the machine is busy, and a life lasts longer
STARTS = 4
#: boundaries that a bot meets only while it stops
STOPPING = frozenset({"Presence.leave", "Sender._finish"})
#: seconds within which something must move until everything rests, and that all of it may take
STILL = 60.0
REST = 600.0

#: how often a life is to end at a commit, at a write, at some moment, while it stops
Odds = tuple[int, int, int, int]
ODDS: Odds = (12, 6, 2, 1)

_OPEN = """\
SELECT (SELECT count(*) FROM delivery WHERE state = 'new')
     + (SELECT count(*) FROM run WHERE state IN ('queued', 'running', 'waiting'))
     + (SELECT count(*) FROM outbox WHERE state IN ('pending', 'sending', 'unsure'))
     + (SELECT count(*) FROM run WHERE ended_at IS NOT NULL AND status_at < '9000-01-01')
"""


@dataclass
class Report:
    """What became of an episode."""

    seed: str
    verdict: Verdict
    kills: Counter[str]
    #: what ended each life, in order
    deaths: list[str]
    seconds: float
    redelivered: int
    folder: Path
    #: how long it took to come to rest after the last kill
    calm: float = 0.0


def driven(url: str) -> str:
    """The URL of a PostgreSQL database as SQLAlchemy wants it, with its driver."""
    return url.replace("postgresql://", "postgresql+psycopg://", 1)


@dataclass(frozen=True)
class Terms:
    """What an episode is played with. `database`: a URL for one name (`{}`), empty for SQLite in the data folder.

    `longest`: seconds that a bot lives at most, once it is ready.
    """

    kills: int
    processes: int = 1
    database: str = ""
    odds: Odds = ODDS
    longest: float = LONGEST


class Episode:
    """Plays one. `seed` decides what people do, what goes wrong and where bots are killed."""

    def __init__(self, seed: str, terms: Terms, folder: Path, lives: Lives, coverage: Coverage) -> None:
        self._seed = seed
        self._terms = terms
        self._folder = folder
        self._lives = lives
        self._coverage = coverage
        self._rng = random.Random(seed)
        self._place: Place = make_place(folder, Haste(FACTOR, time.time()))
        self._site = Site(self._place.world, self._kill_at)
        self._post = Post(self._place.world, self._door)
        self._weather = Weather(self._place.world, self._rng)
        self._doings = Doings(self._place, self._rng)
        self._slots: list[Life | None] = [None] * terms.processes
        self._kills: Counter[str] = Counter()
        self._deaths: list[str] = []
        path = folder / "data0" / "bot.db"
        self._database = driven(terms.database) if terms.database else f"sqlite:///{path}"
        self._engine = create_engine(self._database)
        self._calm = 0.0
        self._longest = terms.longest
        #: what is wrong beside the verdict
        self._odd: list[str] = []

    async def play(self) -> Report:
        """Until everything rests. Raises TimeoutError where it does not; the report tells what is open then too."""
        began = time.monotonic()
        async with self._site, self._post:
            people = asyncio.create_task(self._people())
            try:
                await asyncio.gather(*(self._lived(slot) for slot in range(self._terms.processes)))
            finally:
                people.cancel()
                with suppress(asyncio.CancelledError):
                    await people
            self._place.world.faults.clear()
            await self._come_to_rest()
            await asyncio.gather(*(self._stop(life) for life in self._slots if life is not None))
        self._engine.dispose()
        verdict = judge(self._place, self._database, self._doings, self._post.acknowledged)
        verdict.odd += self._odd
        seconds = time.monotonic() - began
        return Report(
            self._seed,
            verdict,
            self._kills,
            self._deaths,
            seconds,
            self._post.refused,
            self._folder,
            time.monotonic() - self._calm,
        )

    def _door(self) -> int | None:
        """The port of a bot that listens."""
        ports = [life.port for life in self._slots if life is not None and life.serves]
        return self._rng.choice(ports) if ports else None

    async def _people(self) -> None:
        while True:
            if self._post.open < BUSY and await asyncio.to_thread(self._open) < BUSY:
                self._doings.do()
            self._doings.follow_up(self._taken)
            if self._rng.random() < 0.1:
                await self._answer()
            await asyncio.sleep(PACE * self._rng.random() * 2)

    async def _answer(self) -> None:
        """Somebody answers a gate over the API, maybe while somebody else ticks its box."""
        port = self._door()
        if port is None:
            return
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=5) as client:
            with suppress(httpx.HTTPError):
                answer = await client.get("/api/gates?state=open")
                # one that stops meanwhile has another answer, or a part of one
                found = answer.json()["items"] if answer.is_success and answer.content else ()
                if found:
                    await client.post(f"/api/gates/{self._rng.choice(found)['id']}/answer", json={"answer": "approve"})

    def _taken(self, subject: Subject) -> bool:
        """Whether the delivery that tells of it was acknowledged."""
        mark = f'"id":{subject.id},'.encode()
        return any(mark in one.body for one in self._post.acknowledged.values())

    async def _lived(self, slot: int) -> None:
        """One bot after the other, each killed."""
        share = self._terms.kills // self._terms.processes + (slot < self._terms.kills % self._terms.processes)
        for _ in range(share):
            await self._one(slot)

    async def _one(self, slot: int) -> None:
        rng = self._rng
        kind = rng.choices(["failpoint", "write", "moment", "stop"], self._terms.odds)[0]
        arm: Collection[Edge] = ()
        nth = 1
        if kind == "stop":
            arm = {(when, name) for when, name in self._coverage.every if name in STOPPING}
        if kind == "failpoint":
            arm = self._coverage.wanted()
            if self._coverage.met and (not arm or rng.random() < 0.5):
                # the third time there is more under way; few things are done so often in one life
                arm, nth = {rng.choice(sorted(self._coverage.met))}, rng.randint(1, 3)
        life = self._start(slot, arm, nth)
        if kind == "write":
            self._site.arm(rng.choice(EDGES), rng.randint(1, 6))
        self._weather.change()
        try:
            if kind != "moment":
                began = time.monotonic()
                await self._until_ready(life)
                self._longest = self._terms.longest * max(1.0, STARTS * (time.monotonic() - began))
            async with asyncio.timeout(self._longest * (rng.random() if kind == "moment" else 1)):
                await self._until_ready(life)
                # what is not sent again the bot finds in GitHub's log
                if rng.random() < 0.5:
                    self._post.again()
                if kind == "stop":
                    await asyncio.sleep(rng.random())
                    await self._lives.kill(life, SIGTERM)
                await life.ended.wait()
        except TimeoutError:
            await self._lives.kill(life)
            how = "at some moment"
        else:
            how = f"{life.killed_at[0]} {life.killed_at[1]}" if life.killed_at else self._site.last
            if life.code == 0:
                how = "a stop"
        if life.code != -9 and not (kind == "stop" and life.code == 0):
            self._odd.append(f"a bot ended by itself with {life.code}")
        if life.killed_at is not None:
            self._coverage.killed[life.killed_at] += 1
        self._coverage.met |= life.met
        named = {"at some moment": "moment", "a stop": "stop"}
        self._kills["failpoint" if life.killed_at else named.get(how, "write")] += 1
        self._deaths.append(how)

    def _start(self, slot: int, arm: Collection[Edge] = (), nth: int = 1) -> Life:
        environ = self._place.environ(slot, self._terms.database)
        life = self._lives.start(environ, self._place.haste, self._folder / f"log{slot}", arm=arm, nth=nth)
        self._slots[slot] = life
        return life

    async def _until_ready(self, life: Life) -> None:
        waits = [asyncio.create_task(life.ready.wait()), asyncio.create_task(life.ended.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waits:
                one.cancel()

    async def _kill_at(self, port: int) -> None:
        """End the bot that sent a write, at an edge of it."""
        alive = {life.pid: life for life in self._slots if life is not None and not life.ended.is_set()}
        pid = process_of(port, list(alive)) if len(alive) > 1 else next(iter(alive), None)
        if pid is not None:
            await self._lives.kill(alive[pid])

    async def _come_to_rest(self) -> None:
        """The bots live on; whatever was missed is sent again, gates are answered, until nothing is open."""
        self._site.disarm()
        self._calm = time.monotonic()
        for slot in range(self._terms.processes):
            await self._until_ready(self._start(slot))
        quiet, before, moved = 0, (-1, -1), time.monotonic()
        while quiet < 3 or not self._doings.rests:
            if quiet >= 3:
                self._doings.give_up()
                quiet = 0
            self._post.again()
            self._doings.follow_up(self._taken)
            await asyncio.sleep(0.25)
            open_ = await asyncio.to_thread(self._open)
            quiet = quiet + 1 if open_ == 0 and self._post.rests else 0
            now, seen = time.monotonic(), (len(self._place.world.requests), open_)
            if seen != before:
                before, moved = seen, now
            if now > min(moved + STILL, self._calm + REST):
                self._odd.append(f"it did not come to rest within {now - self._calm:.0f} s")
                return
            for life in self._slots:
                if life is not None and life.ended.is_set():
                    self._odd.append(f"a bot ended by itself with {life.code}")
                    return

    def _open(self) -> int:
        try:
            with self._engine.connect() as connection:
                return int(connection.execute(text(_OPEN)).scalar_one())
        except DBAPIError:  # not there yet, or busy
            return -1

    async def _stop(self, life: Life) -> None:
        """End it as an operator does: it must leave by itself."""
        try:
            async with asyncio.timeout(20):
                await self._lives.kill(life, SIGTERM)
        except TimeoutError:
            self._odd.append("a bot did not stop at SIGTERM")
            await self._lives.kill(life)
        else:
            if life.code != 0:
                self._odd.append(f"a bot stopped with {life.code}")


async def play(seed: str, terms: Terms, folder: Path, lives: Lives, coverage: Coverage) -> Report:
    """One episode; its folder is removed if nothing is wrong."""
    episode = Episode(seed, terms, folder, lives, coverage)
    report = await episode.play()
    if not report.verdict.faults:
        shutil.rmtree(folder, ignore_errors=True)
    return report
