"""`threadsmith serve` as a process of its own."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from bot.demo.deliveries import Deliverer
from tests.databases import DATABASES, away
from tests.restarts import ATTEMPTS, Scene, scene, until
from tests.stage import make_world

ROOT = Path(__file__).resolve().parents[2]


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


def plain(err: bytes) -> list[str]:
    """What a process said for people, without its log."""
    return [line for line in err.decode().splitlines() if not line.startswith("{")]


async def spawn(here: Scene, *arguments: str, command: str = "serve", **more: str) -> asyncio.subprocess.Process:
    """The command, in an empty folder."""
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", command, *arguments, cwd=here.folder, env=environment(here, **more),
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


async def test_serve_with_a_misspelt_setting(tmp_path: Path) -> None:
    """Told before anything else, also where it stands in `.env`: it may be the one that is missing."""
    world, _, app, _ = make_world(tmp_path / "github")
    (tmp_path / ".env").write_text("BOT_GITHUB_WEBHOOK_SECRETS=some\n")
    process = await spawn(Scene(world, app, tmp_path), BOT_GITHUB_WEBHOOK_SECRET="")
    _, err = await asyncio.wait_for(process.communicate(), 60)
    assert err.decode().splitlines()[:2] == [
        "BOT_GITHUB_WEBHOOK_SECRETS is no setting; did you mean BOT_GITHUB_WEBHOOK_SECRET?",
        "not started: BOT_GITHUB_WEBHOOK_SECRET is not set",
    ]


async def test_serve_on_a_port_in_use(tmp_path: Path) -> None:
    """Told by number and what to set, exit code 1; a worker has not said before that it works."""
    async with scene(tmp_path) as here:
        port = here.world.site_url.rpartition(":")[2]
        process = await spawn(here, "--port", port)
        _, err = await asyncio.wait_for(process.communicate(), 60)
        with DATABASES.server.database() as url:
            worker = await spawn(here, "--health-port", port, command="worker", BOT_DATABASE_URL=url)
            _, worker_err = await asyncio.wait_for(worker.communicate(), 60)
    assert (process.returncode, worker.returncode) == (1, 1)
    said = f"cannot listen on 127.0.0.1:{port}: Address already in use"
    assert plain(err) == [said, "  set BOT_HOST and BOT_PORT to what is free here"]
    assert plain(worker_err) == [said, "  set BOT_HOST and --health-port to what is free here"]
    assert b"uvicorn" not in err + worker_err


@pytest.mark.parametrize("arguments", [("serve", "--no-worker", "--port", "0"), ("worker",)])
async def test_sqlite_is_one_process_s_own(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """Nobody else could open that database: two lines that say what to do."""
    async with scene(tmp_path) as here:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bot", *arguments, cwd=here.folder, env=environment(here),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await asyncio.wait_for(process.communicate(), 60)
    assert (process.returncode, out) == (1, b"")
    first, second = err.decode().splitlines()
    assert first == "SQLite is one process's own"
    assert "BOT_DATABASE_URL" in second


@pytest.mark.parametrize("gone", [False, True])
async def test_a_worker_on_postgresql_until_sigterm(tmp_path: Path, gone: bool) -> None:
    """It needs no webhook secret, says that it works, answers for its health where it is asked to, and goes.

    So it does while the database is away.
    """
    async with scene(tmp_path) as here:
        with DATABASES.server.database() as url:
            more = {"BOT_DATABASE_URL": url, "BOT_GITHUB_WEBHOOK_SECRET": ""}
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "bot", "worker", "--health-port", "0", cwd=here.folder,
                env=environment(here, **more), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            try:
                assert process.stderr is not None
                told = ""
                while (found := re.search(r"^health on (http://127\.0\.0\.1:\d+)/readyz$", told, re.MULTILINE)) is None:
                    line = (await asyncio.wait_for(process.stderr.readline(), 60)).decode()
                    assert line, told
                    told += line
                assert "threadsmith works\n" in told
                async with httpx.AsyncClient(trust_env=False) as client:
                    assert (await client.get(f"{found[1]}/readyz")).status_code == 200
                    assert (await client.post(f"{found[1]}/webhook")).status_code == 404
                with away(url) if gone else nullcontext():
                    process.send_signal(signal.SIGTERM)
                    _, err = await asyncio.wait_for(process.communicate(), 10)
                assert process.returncode == 0
                assert b"Traceback" not in err
                assert (b"left_unsaid" in err) is gone
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.communicate()
