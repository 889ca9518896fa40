"""One bot as a whole: starting, stopping, starting again, and its health."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import httpx
import pytest

from bot.app import open_bot
from bot.errors import OperatorError, Transient
from bot.made import marker_keys
from bot.settings import Settings
from tests.restarts import ATTEMPTS, RUNS, Scene, at_rest, scene, until, workflow
from tests.stage import make_settings, make_world


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


async def test_what_is_told_while_the_database_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own words; nothing else in the answer says that deliveries are taken, as they are not."""
    world, _, app, _ = make_world(tmp_path / "github")
    async with Scene(world, app, tmp_path).bot(app_slug="", github_url="http://127.0.0.1:1") as (bot, client):

        async def refuses(_work: object) -> object:
            raise Transient("the database refuses: disk I/O error")

        monkeypatch.setattr(bot.store, "write", refuses)
        answer = await client.get("/readyz")
        monkeypatch.undo()
    assert answer.status_code == 503
    assert answer.json()["faults"]["database"] == "the database refuses: disk I/O error"
    assert "github" in answer.json()["mends"]
    assert "deliveries are taken" not in answer.text


async def test_a_loop_that_stops_is_told_and_readyz_says_503(tmp_path: Path) -> None:
    """A bug that ends intake, workers or outbox must not look like an idle bot."""
    async with scene(tmp_path) as here, here.bot() as (bot, client):
        assert await ready(client, 200, "ok") == {}
        bot.loops.named("outbox").cancel()
        assert (await ready(client, 503, "unavailable"))["loops"].startswith("stopped: outbox; ")
