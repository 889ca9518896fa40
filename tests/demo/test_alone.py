"""The look-alike without a bot, and bots that are told of it by a file."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from bot.app import open_bot
from bot.demo.__main__ import main
from bot.demo.alone import open_alone
from bot.demo.server import Loopback
from bot.errors import OperatorError
from bot.serving import attach
from bot.settings import load
from tests.databases import DATABASES


async def test_a_bot_that_has_the_file_answers(tmp_path: Path) -> None:
    """The file is all it needs to know; what is said on the page is delivered to it."""
    file, front = tmp_path / "demo.env", FastAPI()
    async with Loopback(front) as door, open_alone(0, file, deliver_to=f"{door.url}/webhook") as url:
        assert file.stat().st_mode & 0o777 == 0o600
        settings, _ = load({"BOT_DATA_DIR": str(tmp_path / "data"), "BOT_SANDBOX": "off"}, file)
        settings = settings.model_copy(update={"database_url": DATABASES.of_folder(tmp_path / "data")})
        async with open_bot(settings, environ={}) as bot, httpx.AsyncClient(trust_env=False) as person:
            attach(front, bot)
            thread = url.replace("/acme/", "/_demo/acme/")
            site = {"Origin": url.partition("/acme/")[0]}
            said = {"as": "ana", "body": "@bot help"}
            assert (await person.post(f"{thread}/comments", json=said, headers=site)).status_code == 201
            async with asyncio.timeout(30):
                while 'data-author="bot[bot]"' not in (await person.get(f"{thread}/timeline")).text:
                    await asyncio.sleep(0.05)
    assert not file.exists()


async def test_a_file_that_is_there_is_somebody_s(tmp_path: Path) -> None:
    """It may be the settings of a real bot."""
    file = tmp_path / ".env"
    file.write_text("BOT_LOG=info\n")
    with pytest.raises(OperatorError, match=r"\.env cannot be made: File exists"):
        async with open_alone(0, file):
            raise AssertionError("it was opened")
    assert file.read_text() == "BOT_LOG=info\n"


async def test_the_command_until_it_is_ended(tmp_path: Path) -> None:
    """It says where it is; exit code 0, and nothing is left."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", "demo", "--port", "0", "--no-bot", "demo.env", cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).resolve().parents[2]), "TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin"},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    told = ""
    while "Ctrl-C ends it" not in told:
        line = (await asyncio.wait_for(process.stdout.readline(), 60)).decode()
        assert line, told
        told += line
    assert "Settings for bots: demo.env" in told
    assert (tmp_path / "demo.env").exists()
    process.send_signal(signal.SIGTERM)
    _, err = await asyncio.wait_for(process.communicate(), 30)
    assert (process.returncode, err) == (0, b"")
    assert list(tmp_path.iterdir()) == []


def test_it_plays_nothing_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--once", "--no-bot", str(tmp_path / ".env")])
    assert ended.value.code == 2
    assert "--no-bot: not allowed with argument --once" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
