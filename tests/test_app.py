"""One bot as a whole: starting, stopping, starting again, its health, and `threadsmith serve` as a process."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from bot.app import Bot, attach, marker_keys, open_bot
from bot.demo.deliveries import Deliverer
from bot.demo.records import App
from bot.demo.server import LookAlikeServer
from bot.demo.world import World
from bot.errors import OperatorError
from bot.publish.marker import strip
from bot.settings import Settings
from bot.store.rest import unfinished
from tests.stage import make_settings, make_world

ROOT = Path(__file__).resolve().parents[1]


@dataclass
class Scene:
    """A look-alike, and bots on one data folder, one after the other."""

    world: World
    app: App
    folder: Path

    def settings(self, **overrides: object) -> Settings:
        return make_settings(self.world, self.app, self.folder / "data", sandbox="off", **overrides)

    @asynccontextmanager
    async def bot(self, **overrides: object) -> AsyncIterator[tuple[Bot, httpx.AsyncClient]]:
        """A bot that is told what happens in the world, and a client of its front door."""
        async with AsyncExitStack() as stack:
            bot = await stack.enter_async_context(open_bot(self.settings(**overrides), environ={}))
            front = FastAPI()
            attach(front, bot)
            transport = httpx.ASGITransport(front)
            deliverer = Deliverer(self.world, "http://bot.test/webhook", transport=transport)
            await stack.enter_async_context(deliverer)
            await deliverer.settle()
            yield (
                bot,
                await stack.enter_async_context(httpx.AsyncClient(transport=transport, base_url="http://bot.test")),
            )

    def replies(self) -> list[str]:
        return [strip(c.body) for c in self.world.comments("acme/widgets", 1) if c.author is self.app.bot]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What the database says, read from outside."""
        with closing(sqlite3.connect(self.folder / "data" / "bot.db", timeout=10)) as connection:
            return connection.execute(query).fetchall()


async def until(holds: Callable[[], object], seconds: float = 30) -> None:
    """Wait for a condition."""
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.01)


async def at_rest(bot: Bot) -> None:
    """Wait until nothing is left to do."""
    async with asyncio.timeout(30):
        while await bot.store.read(unfinished):
            await asyncio.sleep(0.01)


def workflow(run: str) -> dict[str, str]:
    """A configuration with one workflow `go`."""
    text = f"version: 1\nworkflows:\n  go:\n    steps:\n      - {{id: it, run: '{run}'}}\n"
    return {".github/bot.yml": text}


@asynccontextmanager
async def scene(folder: Path, run: str = "echo done") -> AsyncIterator[Scene]:
    """A world on loopback whose workflow `go` runs a command."""
    world, _, app, _ = make_world(folder / "github", workflow(run))
    async with LookAlikeServer(world):
        yield Scene(world, app, folder)


ATTEMPTS = "SELECT number, state, json_extract(error, '$.code') FROM attempt ORDER BY id"
RUNS = "SELECT state, lease_owner FROM run"


async def test_a_stop_hands_a_run_back_and_a_start_ends_it(tmp_path: Path) -> None:
    """The attempt says why it ended, the run waits, its processes are gone; then one result, no second one."""
    flag, pid = tmp_path / "flag", tmp_path / "pid"
    command = f"test -e {flag} && echo finished && exit; touch {flag}; echo $$ > {pid}; sleep 60; echo never"
    async with scene(tmp_path, command) as here:
        async with here.bot():
            here.world.comment("acme/widgets", 1, "ana", "@bot go")
            await until(lambda: pid.exists() and pid.read_text().strip())
            begun = asyncio.get_running_loop().time()
        assert asyncio.get_running_loop().time() - begun < 10
        assert here.rows(ATTEMPTS) == [(1, "interrupted", "stopped")]
        assert here.rows(RUNS) == [("queued", None)]
        assert here.replies() == []
        assert not Path(f"/proc/{pid.read_text().strip()}").exists()
        async with here.bot() as (bot, _):
            await at_rest(bot)
        assert here.rows(ATTEMPTS) == [(1, "interrupted", "stopped"), (2, "success", None)]
        assert here.rows(RUNS)[0][0] == "succeeded"
        (told,) = here.replies()
        assert "finished" in told


async def test_one_process_a_data_folder(tmp_path: Path) -> None:
    """A second is refused with the reason and harms nothing; after the first ended it may."""
    async with scene(tmp_path) as here:
        async with here.bot() as (bot, _):
            with pytest.raises(OperatorError, match=f"another process uses the data folder {tmp_path}/data") as caught:
                async with open_bot(here.settings()):
                    raise AssertionError("it was opened")
            assert "BOT_DATA_DIR" in caught.value.mend
            here.world.comment("acme/widgets", 1, "ana", "@bot go")
            await until(lambda: here.replies() != [])
            await at_rest(bot)
        async with here.bot():
            pass
        assert len(here.replies()) == 1


async def test_one_process_a_database(tmp_path: Path) -> None:
    """Another data folder does not help where both name the same file."""
    async with scene(tmp_path) as here, here.bot():
        url = f"sqlite:///{tmp_path}/data/bot.db"
        other = here.settings().model_copy(update={"data_dir": tmp_path / "other", "database_url": url})
        with pytest.raises(OperatorError, match=f"another process uses the database {tmp_path}/data/bot.db"):
            async with open_bot(other):
                raise AssertionError("it was opened")


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        ({"webhook_secrets": ()}, "not set: BOT_GITHUB_WEBHOOK_SECRET"),
        ({"app_id": 0, "private_key": ""}, "not set: BOT_GITHUB_APP_ID, BOT_GITHUB_PRIVATE_KEY"),
        ({"data_dir": Path("/dev/null/data")}, "cannot use the data folder /dev/null/data: Not a directory"),
    ],
)
async def test_what_a_bot_does_not_start_without(tmp_path: Path, overrides: dict[str, object], reason: str) -> None:
    """Named; nothing is left behind."""
    world, _, app, _ = make_world(tmp_path / "github")
    values = {"data_dir": tmp_path / "data"} | overrides
    settings = make_settings(world, app, tmp_path).model_copy(update=values)
    with pytest.raises(OperatorError, match=f"^{re.escape(reason)}"):
        async with open_bot(settings):
            raise AssertionError("it was opened")
    assert not (tmp_path / "data").exists()


def test_the_key_of_markers() -> None:
    """Those that are set, in order; else one of the App's key, which is not the key itself."""
    assert marker_keys(Settings(marker_keys=("new", "old"), private_key="pem")) == [b"new", b"old"]
    (derived,) = marker_keys(Settings(private_key="pem"))
    assert len(derived) == 32
    assert marker_keys(Settings(private_key="pem")) == [derived]
    assert marker_keys(Settings(private_key="other")) != [derived]


async def ready(client: httpx.AsyncClient, code: int, status: str) -> dict[str, str]:
    """Ask until the answer is this one, as whoever watches an instance does; what is wrong by then."""
    async with asyncio.timeout(30):
        while True:
            answer = await client.get("/readyz")
            if (answer.status_code, answer.json()["status"]) == (code, status):
                return dict(answer.json()["faults"])
            await asyncio.sleep(0.01)


async def test_health_of_a_bot_that_is_well(tmp_path: Path) -> None:
    """Alive and ready."""
    async with scene(tmp_path) as here, here.bot(app_slug="") as (_, client):
        assert (await client.get("/healthz")).json() == {"status": "ok"}
        assert await ready(client, 200, "ok") == {}


async def test_health_while_github_is_away(tmp_path: Path) -> None:
    """Degraded, with 200 and soon, however long asking again takes: deliveries are still taken."""
    world, _, app, _ = make_world(tmp_path / "github", workflow("true"))
    here = Scene(world, app, tmp_path)
    async with here.bot(app_slug="", github_url="http://127.0.0.1:1") as (_, client):
        answer = await client.get("/readyz")
        assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
        assert answer.json()["faults"] == {"github": "it did not say within 0.8 s who this App is"}
        assert (await client.get("/healthz")).status_code == 200
        world.comment("acme/widgets", 1, "ana", "@bot go")
        await until(lambda: world.deliveries[-1].attempts != [])
        assert world.deliveries[-1].attempts[0].status_code == 202
    assert len(here.rows("SELECT id FROM delivery WHERE event = 'issue_comment'")) == 1


async def test_health_where_github_knows_no_such_app(tmp_path: Path) -> None:
    """GitHub's own words."""
    async with scene(tmp_path) as here, here.bot(app_slug="", app_id=77) as (_, client):
        async with asyncio.timeout(30):
            while "404 Integration not found" not in (await ready(client, 200, "degraded"))["github"]:
                await asyncio.sleep(0.01)


async def test_health_without_a_database(tmp_path: Path) -> None:
    """Alive and not ready; a delivery is refused, so that GitHub knows, and taken when the database is back."""
    async with scene(tmp_path) as here, here.bot() as (bot, client):
        await at_rest(bot)
        here.rows("ALTER TABLE delivery RENAME TO away")
        faults = await ready(client, 503, "unavailable")
        assert "no such table: delivery" in faults["database"]
        assert (await client.get("/healthz")).status_code == 200
        here.world.comment("acme/widgets", 1, "ana", "@bot go")
        sent = here.world.deliveries[-1]
        await until(lambda: sent.attempts != [])
        assert sent.attempts[0].status_code == 503
        assert "could not be stored" in sent.attempts[0].response
        here.rows("ALTER TABLE away RENAME TO delivery")
        again = await client.post("/webhook", content=sent.body, headers=sent.headers())
        assert (again.status_code, again.json()["status"]) == (202, "accepted")
        assert await ready(client, 200, "ok") == {}
        await until(lambda: here.replies() != [])
        await at_rest(bot)
        assert len(here.replies()) == 1


@dataclass
class Served:
    """`threadsmith serve`, ready, and what it took to get there."""

    process: asyncio.subprocess.Process
    url: str
    wall: float
    cpu: float
    resident: float


def environment(here: Scene, **more: str) -> dict[str, str]:
    """What an operator sets."""
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "BOT_GITHUB_URL": here.world.api_url,
        "BOT_GITHUB_APP_ID": str(here.app.id),
        "BOT_GITHUB_PRIVATE_KEY": here.app.private_key,
        "BOT_GITHUB_WEBHOOK_SECRET": here.app.webhook_secret,
        "BOT_DATA_DIR": str(here.folder / "data"),
        "BOT_SANDBOX": "off",
        **more,
    }


async def spawn(here: Scene, *arguments: str, **more: str) -> asyncio.subprocess.Process:
    """The command, in an empty folder."""
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", "serve", *arguments, cwd=here.folder, env=environment(here, **more),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip


@asynccontextmanager
async def served(here: Scene) -> AsyncIterator[Served]:
    """The command on a free port, until it was ready."""
    begun = asyncio.get_running_loop().time()
    process = await spawn(here, "--port", "0")
    try:
        assert process.stderr is not None
        line = (await asyncio.wait_for(process.stderr.readline(), 60)).decode()
        found = re.fullmatch(r"threadsmith listens on (http://127\.0\.0\.1:\d+) \(webhook: /webhook\)\n", line)
        assert found, line + (await process.stderr.read()).decode()
        async with httpx.AsyncClient(trust_env=False) as client:
            assert (await client.get(f"{found[1]}/readyz")).status_code == 200
        wall = asyncio.get_running_loop().time() - begun
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        status = Path(f"/proc/{process.pid}/status").read_text()
        resident = int(status.partition("VmRSS:")[2].split()[0]) / 1024
        yield Served(process, found[1], wall, cpu, resident)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_serve_is_ready_soon_and_small(tmp_path: Path) -> None:
    """Promised are 1.5 s and 150 MB; for the time there is room here, because other tests share the processors."""
    soon = False
    async with scene(tmp_path) as here:
        for _ in range(3):
            async with served(here) as bot:
                assert bot.resident < 150
                soon = bot.wall < 2.5 or bot.cpu < 2
            if soon:
                break
    assert soon


async def test_serve_from_comment_to_comment_until_sigterm(tmp_path: Path) -> None:
    """A mention is answered; SIGTERM ends it within ten seconds, a running command with it, and nothing is lost."""
    pid = tmp_path / "pid"
    command = f"test -e {pid} && echo finished && exit; echo $$ > {pid}; sleep 60"
    async with scene(tmp_path, command) as here:
        async with served(here) as bot, Deliverer(here.world, f"{bot.url}/webhook"):
            here.world.comment("acme/widgets", 1, "ana", "@bot go")
            await until(lambda: pid.exists() and pid.read_text().strip())
            bot.process.send_signal(signal.SIGTERM)
            _, err = await asyncio.wait_for(bot.process.communicate(), 10)
            assert bot.process.returncode == 0
            assert b"Traceback" not in err
        assert not Path(f"/proc/{pid.read_text().strip()}").exists()
        assert here.rows(ATTEMPTS) == [(1, "interrupted", "stopped")]
        async with served(here) as bot:
            await until(lambda: here.replies() != [])
        assert len(here.replies()) == 1


async def test_serve_on_a_folder_in_use(tmp_path: Path) -> None:
    """Two lines and exit code 1, not a traceback."""
    async with scene(tmp_path) as here, here.bot():
        process = await spawn(here, "--port", "0")
        out, err = await asyncio.wait_for(process.communicate(), 60)
    assert (process.returncode, out) == (1, b"")
    assert err.decode().splitlines() == [
        f"another process uses the data folder {tmp_path}/data",
        "  stop it, or give this one a BOT_DATA_DIR of its own",
    ]


async def test_serve_without_a_secret(tmp_path: Path) -> None:
    """Says which variable is missing; nothing is opened."""
    world, _, app, _ = make_world(tmp_path / "github")
    process = await spawn(Scene(world, app, tmp_path), BOT_GITHUB_WEBHOOK_SECRET="")
    out, err = await asyncio.wait_for(process.communicate(), 60)
    assert (process.returncode, out) == (1, b"")
    first, second = err.decode().splitlines()
    assert first == "not started: BOT_GITHUB_WEBHOOK_SECRET is not set"
    assert "threadsmith doctor" in second
    assert not (tmp_path / "data").exists()


async def test_serve_on_a_port_in_use(tmp_path: Path) -> None:
    """Told by number, exit code 1."""
    async with scene(tmp_path) as here:
        port = here.world.site_url.rpartition(":")[2]
        process = await spawn(here, "--port", port)
        _, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 1
    assert err.decode().splitlines()[-2] == f"cannot listen on 127.0.0.1:{port}"
    assert b"Traceback" not in err
