"""`threadsmith redeliver` beside nobody: a look-alike whose webhooks failed, a database, and the command."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from bot.demo.deliveries import Deliverer
from bot.demo.records import App
from bot.demo.server import LookAlikeServer
from bot.demo.world import World
from bot.model.clock import SystemClock
from bot.store import landmarks, open_store
from tests.cli.conftest import Threadsmith
from tests.stage import make_world


@dataclass
class Behind:
    """A world in which two comments were not delivered, and one was answered by something else."""

    world: World
    app: App
    data: Path
    sent: list[str]

    def guids(self) -> list[str]:
        with contextlib.closing(sqlite3.connect(self.data / "bot.db")) as connection:
            rows = connection.execute("SELECT guid, origin FROM delivery ORDER BY id").fetchall()
        assert {origin for _, origin in rows} <= {"log"}
        return [guid for guid, _ in rows]


@pytest.fixture
def behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Behind]:
    """Served from a thread of its own: the command has an event loop of its own too."""
    world, repo, app, _ = make_world(tmp_path / "github")
    data, sent, ready, over = tmp_path / "data", [], threading.Event(), asyncio.Event()
    data.mkdir()
    loop = asyncio.new_event_loop()

    async def receive(request: httpx.Request) -> httpx.Response:
        sent.append(request.headers["x-github-delivery"])
        text = request.content.decode()
        status = 200 if "answered" in text else 502
        ours = '{"delivery": "g", "status": "accepted"}'
        return httpx.Response(status, text=ours if "by us" in text else "back soon")

    async def serve() -> None:
        transport = httpx.MockTransport(receive)
        async with LookAlikeServer(world), Deliverer(world, "http://bot.test/webhook", transport=transport) as sending:
            await sending.settle()
            world.deliveries.clear()
            world.attempts.clear()
            sent.clear()
            for text in ("one", "two", "answered", "answered by us"):
                world.comment(repo, 1, "ana", text)
            await sending.settle()
            ready.set()
            await over.wait()
            await sending.settle()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert ready.wait(30)
    for name, value in (
        ("BOT_GITHUB_URL", world.api_url),
        ("BOT_GITHUB_APP_ID", str(app.id)),
        ("BOT_GITHUB_PRIVATE_KEY", app.private_key),
        ("BOT_DATA_DIR", str(data)),
    ):
        monkeypatch.setenv(name, value)
    database(data, read_before=True)
    yield Behind(world, app, data, sent)
    loop.call_soon_threadsafe(over.set)
    thread.join()
    loop.close()


def database(data: Path, *, read_before: bool) -> None:
    """An empty database, of which the log was read before or not."""

    async def make() -> None:
        store = open_store(f"sqlite:///{data / 'bot.db'}")
        if read_before:
            at = SystemClock().now() - timedelta(hours=1)
            await store.write(lambda session: landmarks.reach(session, "deliveries", at))
        await store.close()

    asyncio.run(make())


def test_listed_then_taken_then_nothing(threadsmith: Threadsmith, behind: Behind) -> None:
    """Oldest first, with what GitHub says of each; what this bot accepted once is told, and left."""
    one, two, answered, ours = (made.guid for made in behind.world.deliveries)
    said = threadsmith("redeliver", "--dry-run")
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[0].split() == ["sent", "at", "(UTC)", "event", "GUID", "answer"]
    assert [guid in line for guid, line in zip((one, two, answered, ours), lines[1:], strict=True)] == [True] * 4
    assert "issue_comment.created" in lines[1]
    assert "502 Bad Gateway" in lines[1]
    assert "4 attempts in GitHub's log, 4 deliveries missing here" in said.err
    assert behind.guids() == []
    said = threadsmith("redeliver", "--since", "2h")
    assert said.code == 0
    assert "3 deliveries taken" in said.out
    assert "1 delivery left that this bot accepted once" in said.err
    assert behind.guids() == [one, two, answered]
    said = threadsmith("redeliver", "--accepted")
    assert "1 delivery taken" in said.out
    assert behind.guids() == [one, two, answered, ours]
    said = threadsmith("redeliver")
    assert (said.code, said.out) == (0, "")
    assert "0 deliveries missing here" in said.err


def test_a_database_that_never_read_the_log(threadsmith: Threadsmith, behind: Behind) -> None:
    """What somebody answered was another's."""
    (behind.data / "bot.db").unlink()
    database(behind.data, read_before=False)
    assert "2 deliveries taken" in threadsmith("redeliver").out


def test_let_github_send_it_again(threadsmith: Threadsmith, behind: Behind) -> None:
    """Only what nobody answered, under the same GUIDs; nothing is fetched."""
    one, two, *_ = (made.guid for made in behind.world.deliveries)
    before = len(behind.sent)
    said = threadsmith("redeliver", "--send")
    assert (said.code, said.out.splitlines()[-1]) == (0, "GitHub was asked to send 2 deliveries again")
    assert ("add --accepted" in said.err) == (len(behind.world.deliveries) > 2)
    deadline = threading.Event()
    for _ in range(3000):
        if len(behind.sent) == before + 2:
            break
        deadline.wait(0.01)
    assert behind.sent[before:] == [one, two]
    assert behind.guids() == []


def test_what_github_does_not_show(threadsmith: Threadsmith, behind: Behind) -> None:
    """The exit code says that something is lost; the others are taken."""
    number = behind.world.attempts[0].id
    behind.world.faults.refused(404, "GET", f"/app/hook/deliveries/{number}")
    said = threadsmith("redeliver")
    assert said.code == 1
    assert "1 delivery could not be had" in said.err
    assert len(behind.guids()) == 2


def test_an_outage_of_one_is_tried_again(threadsmith: Threadsmith, behind: Behind) -> None:
    """Until GitHub shows it."""
    behind.world.faults.broken(500, "GET", "/app/hook/deliveries/.*", count=4)
    said = threadsmith("redeliver")
    assert (said.code, len(behind.guids())) == (0, 3)
    assert "asking again" in said.err


def test_github_refuses(threadsmith: Threadsmith, behind: Behind) -> None:
    """What was taken by then is kept, and somebody is told."""
    behind.world.faults.limited(3600, "GET", "/app/hook/deliveries")
    said = threadsmith("redeliver")
    assert said.code == 1
    assert "GitHub's log of deliveries cannot be read" in said.err


@pytest.mark.parametrize(("words", "code"), [(["--since", "soon"], 2), (["--since", "2"], 2), ([], 1)])
def test_wrong_use_and_nothing_set(threadsmith: Threadsmith, words: list[str], code: int) -> None:
    """A span that is none is a usage error; without the App's key nothing can be asked."""
    said = threadsmith("redeliver", *words)
    assert said.code == code
    assert ("90m, 2h, 3d" if code == 2 else "not set: BOT_GITHUB_APP_ID, BOT_GITHUB_PRIVATE_KEY") in said.err


def test_no_database(threadsmith: Threadsmith, behind: Behind) -> None:
    """Nothing is made in the wrong folder."""
    (behind.data / "bot.db").unlink()
    said = threadsmith("redeliver")
    assert said.code == 1
    assert said.err.startswith("there is no database at")
    assert not (behind.data / "bot.db").exists()
