"""The power goes: what was not synced is lost in part or whole, and nothing that was acknowledged is."""

from __future__ import annotations

import asyncio
import os
import pickle
import random
import signal
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.demo.deliveries import Deliverer
from bot.demo.server import LookAlikeServer
from bot.model.delivery import NewDelivery
from bot.model.state import DeliveryState
from bot.store import Store, deliveries, open_store
from bot.store.inbox import StoreInbox
from tests import rows
from tests.faults.power import Did, Disk
from tests.faults.process import BotProcess, free_port
from tests.faults.recorder import Recorder, sqlite_library
from tests.stage import make_world

#: how often the power goes
TIMES = 200
SEED = 5
SENDERS, EACH = 8, 12


class Clock:
    """A time that stands."""

    def now(self) -> datetime:
        return datetime(2026, 11, 3, 12, 0, tzinfo=UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


@pytest.fixture(scope="module")
def recorder() -> Recorder:
    library = sqlite_library()
    if library is None:
        pytest.skip("this Python's SQLite is built in and shows none of its functions")
    return Recorder(library)


def body(guid: str) -> bytes:
    """What a delivery of that name holds: of any size up to several pages."""
    return random.Random(guid).randbytes(random.Random(guid).choice((200, 3_000, 11_000)))


def delivery(guid: str) -> NewDelivery:
    return NewDelivery(1, guid, "issue_comment", "created", f"content-{guid}", 501, body(guid), {"x-github": guid})


async def traffic(recorder: Recorder, store: Store, start: str) -> None:
    """Deliveries from several senders at once, and beside them what the bot itself writes."""
    inbox = StoreInbox(store, Clock())
    # the log is copied into the database often, which is where most can go wrong
    await store.write(lambda session: session.connection().exec_driver_sql("PRAGMA wal_autocheckpoint=40") and None)

    async def sender(number: int) -> None:
        for turn in range(EACH):
            guid = f"{start}-{number}-{turn}"
            assert await inbox.take(delivery(guid)) == "accepted"
            recorder.answered(guid)

    async def works(number: int) -> None:
        for turn in range(EACH):
            guid = f"run-{start}-{number}-{turn}"
            await store.write(lambda session, guid=guid: rows.run(session, number, guid=guid))  # type: ignore[misc]
            row = await store.read(lambda session, guid=guid: deliveries.find(session, guid))  # type: ignore[misc]
            assert row is not None
            await store.write(lambda session, row=row: deliveries.settle(session, row.id, DeliveryState.PLANNED))  # type: ignore[misc]
            recorder.answered(f"settled {guid}")

    await asyncio.gather(*(sender(number) for number in range(SENDERS)), *(works(number) for number in (1, 2)))


async def record(recorder: Recorder, folder: Path, *, lies: bool = False) -> list[Did]:
    """Everything that two starts of a store did to the disk."""
    with recorder.installed(folder):
        recorder.lies = lies
        for start in ("first", "second"):
            store = open_store(f"sqlite:///{folder / 'bot.db'}")
            await traffic(recorder, store, start)
            assert (folder / "bot.db-shm").exists(), "the recorder passes another name on than it was given"
            await store.close()
        return list(recorder.events)


def cuts(events: list[Did], dice: random.Random) -> list[int]:
    """Where the power goes: half of them right behind an answer, where most is promised."""
    answers = [at + 1 for at, did in enumerate(events) if did.what == "answered"]
    return sorted([*dice.choices(answers, k=TIMES // 2), *dice.choices(range(len(events) + 1), k=TIMES // 2)])


async def faults_of(folder: Path, answered: list[str]) -> list[str]:
    """What is wrong with what the power loss left, by the database itself and by a store that goes on with it."""
    found: list[str] = []
    file = folder / "bot.db"
    if file.exists():
        with closing(sqlite3.connect(file)) as connection:
            try:
                found += [line for (line,) in connection.execute("PRAGMA integrity_check") if line != "ok"]
                found += [f"refers to nothing: {row}" for row in connection.execute("PRAGMA foreign_key_check")]
            except sqlite3.DatabaseError as error:
                return [f"{type(error).__name__}: {error}"]
    if found:
        return found
    store = open_store(f"sqlite:///{file}")
    try:
        kept = await store.read(
            lambda session: {
                guid: (state, body)
                for guid, state, body in session.connection().exec_driver_sql("SELECT guid, state, body FROM delivery")
            }
        )
        for name in answered:
            guid = name.removeprefix("settled ")
            if guid not in kept:
                found.append(f"lost: {name}")
            elif name == guid and kept[guid] != (DeliveryState.NEW, body(guid)):
                found.append(f"changed: {name}")
            elif name != guid and kept[guid][0] != DeliveryState.PLANNED:
                found.append(f"undone: {name}")
        inbox = StoreInbox(store, Clock())
        assert await inbox.take(delivery("after the loss")) == "accepted"
        for guid in [name for name in answered if name in kept][-3:]:
            assert await inbox.take(delivery(guid)) == "duplicate"
    finally:
        await store.close()
    return found


async def losses(events: list[Did], folder: Path, times: list[int], dice: random.Random) -> dict[int, list[str]]:
    """By the event behind which the power went, what was wrong then."""
    disk, played, wrong = Disk(), 0, {}
    answered: list[str] = []
    for number, at in enumerate(times):
        for did in events[played:at]:
            disk.play(did)
            if did.what == "answered":
                answered.append(did.name)
        played = at
        left = folder / str(number)
        left.mkdir()
        for name, content in disk.after_power_loss(dice).items():
            (left / Path(name).name).write_bytes(content)
        if found := await faults_of(left, answered):
            wrong[at] = found
        for file in left.iterdir():
            os.unlink(file)
    return wrong


async def test_nothing_acknowledged_is_lost(recorder: Recorder, tmp_path: Path) -> None:
    """Two hundred times, anywhere between the first start and the last answer: sound, complete, and it goes on."""
    folder, left = tmp_path / "made" / "data", tmp_path / "left"
    left.mkdir()
    events = await record(recorder, folder)
    dice = random.Random(SEED)  # the same losses each time
    times = cuts(events, dice)
    assert len(times) == TIMES
    assert await losses(events, left, times, dice) == {}
    # a folder's own name is no less lost
    answer = next(at for at, did in enumerate(events) if did.what == "answered")
    assert {str(tmp_path), str(folder.parent)} <= {did.name for did in events[:answer] if did.what == "folder"}
    # it was worth it: the log was copied into the database, and there was something to lose
    assert sum(did.what == "sync" and did.name.endswith("bot.db") for did in events) > 10
    assert sum(did.what == "answered" for did in events) == 2 * (SENDERS + 2) * EACH


async def test_a_disk_that_does_not_sync_is_found_out(recorder: Recorder, tmp_path: Path) -> None:
    """With `synchronous=OFF`, or a disk that only says it has synced, the same look finds what was lost."""
    folder, left = tmp_path / "made" / "data", tmp_path / "left"
    left.mkdir()
    events = await record(recorder, folder, lies=True)
    dice = random.Random(SEED)
    wrong = await losses(events, left, cuts(events, dice)[::10], dice)
    assert len(wrong) > 5
    assert any(line.startswith("lost: ") for found in wrong.values() for line in found)


BOT_YML = """\
version: 1
workflows:
  go:
    steps:
      - {id: one, run: "echo one"}
      - {id: two, run: "echo two"}
"""
THREADS = 3


@pytest.mark.parametrize("after", [60, 420])
async def test_a_bot_goes_on_after_a_power_loss(tmp_path: Path, after: int) -> None:
    """Of its folder nothing is left but what SQLite had synced: every request that was taken gets one result."""
    if sqlite_library() is None:
        pytest.skip("this Python's SQLite is built in and shows none of its functions")
    world, repo, app, _ = make_world(tmp_path / "github", {".github/bot.yml": BOT_YML})
    for number in range(2, THREADS + 1):
        world.open_issue(repo, "ana", f"Crash {number}", "It crashes.")
    more = {"POWER_EVENTS": str(tmp_path / "events"), "POWER_AFTER": str(after)}
    bot = BotProcess(world, app, tmp_path / "data", free_port(), more=more, module="tests.faults.power_serve")
    later = BotProcess(world, app, tmp_path / "left", bot.port)
    async with LookAlikeServer(world):
        try:
            await bot.start()
            async with Deliverer(world, bot.webhook) as deliverer:
                await deliverer.settle()
                await bot.settled()
                assert bot.process is not None
                bot.process.send_signal(signal.SIGUSR1)
                for number in range(1, THREADS + 1):
                    world.comment(repo, number, "ana", "@bot go")
                assert await asyncio.wait_for(bot.process.wait(), 60) == 9
                await deliverer.settle()
                restore(tmp_path / "events", later.data, random.Random(after))
                await later.start()
                # what it says at once is on its way, and has had no answer yet
                tried = [made for made in world.deliveries if made.attempts]
                for missed in [made for made in tried if made.attempts[-1].status_code != 202]:
                    await deliverer.redeliver(missed.guid)
                await later.settled()
                await deliverer.settle()
                await later.settled()
        finally:
            await bot.stop()
            await later.stop()
    for number in range(1, THREADS + 1):
        said = bot.said(number)
        assert [line for line in said if "two" in line] == said, said
        assert len(said) == 1, said


def restore(events: Path, folder: Path, dice: random.Random) -> None:
    """Put into `folder` what the power loss may have left of the database; of all else there is nothing."""
    disk = Disk()
    for did in pickle.loads(events.read_bytes()):  # written by our own process
        disk.play(did)
    folder.mkdir()
    for name, content in disk.after_power_loss(dice).items():
        (folder / Path(name).name).write_bytes(content)
