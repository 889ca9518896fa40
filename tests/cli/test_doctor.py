"""`threadsmith doctor`: every setting with its source, and whether what it names works."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from bot.demo.records import App
from bot.demo.server import LookAlikeServer
from bot.demo.world import World
from bot.settings import Settings
from bot.store.postgres import Postgres
from tests.cli.conftest import Threadsmith
from tests.databases import DATABASES
from tests.stage import SECRET, make_world

KEYS = ("sk-openai-0123456789abcdef", "sk-ant-0123456789abcdef", "the marker's key of the tests")


@pytest.fixture
def github(tmp_path: Path) -> Iterator[tuple[World, App]]:
    """The look-alike, served from a thread of its own: the command has an event loop for itself."""
    world, _, app, _ = make_world(tmp_path / "github")
    ready, stop = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        async with LookAlikeServer(world):
            loops.append(asyncio.get_running_loop())
            ready.set()
            await stop.wait()

    served = threading.Thread(target=lambda: asyncio.run(serve()))
    served.start()
    assert ready.wait(20)
    yield world, app
    loops[0].call_soon_threadsafe(stop.set)
    served.join()


@pytest.fixture
def complete(github: tuple[World, App], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> World:
    """Everything that serving needs, from all places it may come from."""
    world, app = github
    secret = tmp_path / "secret.txt"
    secret.write_text(f"{SECRET}\n")
    Path(".env").write_text(f"BOT_GITHUB_APP_ID={app.id}\nBOT_MARKER_KEY={KEYS[2]}\nBOT_SANDBOX=off\n")
    for name, value in {
        "BOT_GITHUB_URL": world.api_url,
        "BOT_GITHUB_PRIVATE_KEY": app.private_key.replace("\n", "\\n"),
        "BOT_GITHUB_WEBHOOK_SECRET_FILE": str(secret),
        "OPENAI_API_KEY": KEYS[0],
        "ANTHROPIC_API_KEY": KEYS[1],
    }.items():
        monkeypatch.setenv(name, value)
    return world


def rows(out: str) -> dict[str, list[str]]:
    """The table of settings: name to the words of its line."""
    words = [line.split() for line in out.partition("\n\n")[0].splitlines()]
    return {line[0]: line[1:] for line in words if line and line[0].isupper()}


def test_every_setting_is_listed_with_its_source(threadsmith: Threadsmith, complete: World) -> None:
    """Whole names, also where the output is no terminal."""
    listed = rows(threadsmith("doctor").out)
    assert list(listed) == [str(field.alias) for field in Settings.model_fields.values()]
    assert listed["BOT_GITHUB_APP_ID"][1] == ".env"
    assert listed["BOT_GITHUB_PRIVATE_KEY"][:2] == ["set", "environment"]
    assert listed["BOT_GITHUB_WEBHOOK_SECRET"][:2] == ["set", "file"]
    assert listed["BOT_ALLOWED_OWNERS"][:2] == ["–", "default"]
    assert listed["BOT_WORKERS"][:2] == ["4", "default"]


def test_what_is_named_is_asked(threadsmith: Threadsmith, complete: World) -> None:
    """The App by its key, the database, git, the model; exit code 0."""
    said = threadsmith("doctor")
    assert said.code == 0
    for line in (
        "  ok  to serve: everything required is set",
        f"  ok  database: none yet; `serve` makes it in {Path.cwd()}/data",
        "warn  isolation: off: every writer of every served repository can reach this machine",
        "  ok  git: git version ",
        f"  ok  GitHub: @bot (App {next(iter(complete.apps))}), serves the repositories of acme",
        "  ok  default model: ",
    ):
        assert f"\n{line}" in said.out, line


def test_no_secret_is_printed(threadsmith: Threadsmith, complete: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither whole nor the lines of a key, nor a password in a URL."""
    monkeypatch.setenv("OPENAI_BASE_URL", "https://me:hunter2hunter2@models.test/v1")
    said = threadsmith("doctor")
    key = next(iter(complete.apps.values())).private_key
    for secret in (*KEYS, SECRET, "hunter2hunter2", *key.splitlines()[1:-1]):
        assert secret not in said.out + said.err
    assert "https://me:[redacted]@models.test/v1" in said.out


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("BOT_GITHUB_APP_ID", "77", "FAIL  GitHub: "),
        ("BOT_GITHUB_PRIVATE_KEY", "nonsense", "FAIL  GitHub: the App's private key cannot be read"),
        ("BOT_DATABASE_URL", "mysql://db.test/bot", "FAIL  database: BOT_DATABASE_URL: mysql"),
        (
            "BOT_DATABASE_URL",
            "postgresql://127.0.0.1:1/bot",
            "FAIL  database: cannot open the database bot at 127.0.0.1:1",
        ),
        ("BOT_DATA_DIR", "/dev/null/data", "FAIL  database: "),
        ("PATH", "", "FAIL  git: "),
    ],
)
def test_what_does_not_work(
    threadsmith: Threadsmith, complete: World, monkeypatch: pytest.MonkeyPatch, name: str, value: str, line: str
) -> None:
    """Named, with what to do, and exit code 1; the rest is looked at all the same."""
    monkeypatch.setenv(name, value)
    said = threadsmith("doctor")
    assert said.code == 1
    assert said.out.count("FAIL") == 1
    assert f"\n{line}" in said.out
    assert said.out.rstrip().splitlines()[-1].startswith("  ok  default model")


@pytest.mark.parametrize(
    ("password", "line"),
    [
        ("", "  ok  API: no BOT_DASHBOARD_PASSWORD: only requests made on this machine are served"),
        ("fifteen letters", "warn  API: BOT_DASHBOARD_PASSWORD has fewer than 16 characters and can be guessed"),
        ("sixteen letters.", "  ok  API: takes BOT_DASHBOARD_PASSWORD as a bearer token"),
    ],
)
def test_who_can_use_the_api(
    threadsmith: Threadsmith, complete: World, monkeypatch: pytest.MonkeyPatch, password: str, line: str
) -> None:
    """The password itself is not shown."""
    monkeypatch.setenv("BOT_DASHBOARD_PASSWORD", password)
    said = threadsmith("doctor")
    assert f"\n{line}" in said.out
    assert not password or password not in said.out


def test_nothing_is_set(threadsmith: Threadsmith) -> None:
    """What is missing, all of it; GitHub is not asked."""
    said = threadsmith("doctor")
    assert said.code == 1
    missing = "BOT_GITHUB_APP_ID, BOT_GITHUB_PRIVATE_KEY, BOT_GITHUB_WEBHOOK_SECRET"
    assert f"FAIL  to serve: not set: {missing}" in said.out
    assert "GitHub:" not in said.out
    assert "warn  default model: none: no provider has a key" in said.out


def test_a_repository_is_checked_too(threadsmith: Threadsmith, complete: World, repository: Path) -> None:
    """Its roster, or how many findings and which command lists them."""
    said = threadsmith("doctor", repository)
    assert said.code == 0
    assert "\n  ok  configuration: " in said.out
    assert "helper" in said.out.rpartition("configuration: ")[2]
    (repository / ".github" / "bot.yml").write_text("version: 1\nagents: 5\n")
    said = threadsmith("doctor", repository)
    assert said.code == 1
    assert "\nFAIL  configuration: 1 finding\n" in said.out
    assert f"`threadsmith validate {repository}` lists them" in said.out


def test_secrets_that_are_kept_badly_are_named(
    threadsmith: Threadsmith, complete: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With the mend; their values never."""
    folder = tmp_path / "secrets" / "101"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "TOKEN").write_text("canary-value-of-a-secret")
    (folder / "TOKEN").chmod(0o600)
    monkeypatch.setenv("BOT_SECRETS_DIR", str(folder.parent))
    ran = threadsmith("doctor")
    assert f"ok  secrets: {folder.parent}: everything in it can be used" in ran.out
    (folder / "TOKEN").chmod(0o644)
    ran = threadsmith("doctor")
    assert ran.code == 1
    assert f"FAIL  secrets: {folder / 'TOKEN'} can be read or changed by others" in ran.out
    assert f"chmod 600 {folder / 'TOKEN'}" in ran.out
    assert "canary" not in ran.out + ran.err


def test_a_database_of_a_server_is_looked_at_and_left_as_it_is(
    threadsmith: Threadsmith, complete: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its version, and whether its tables are there; the password is shown nowhere, and no table is made."""
    with DATABASES.server.empty() as url:
        monkeypatch.setenv("BOT_DATABASE_URL", url.replace("postgres@", "postgres:hunter2hunter2@"))
        for _ in range(2):
            said = threadsmith("doctor")
            assert said.code == 0
            assert "  ok  database: the database empty" in said.out
            assert "no tables yet; `serve` makes them; fsync is off" in " ".join(said.out.split())
            assert "hunter2hunter2" not in said.out + said.err
            assert "work: " not in said.out


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        ("SELECT 1", "  ok  work: nothing is stuck"),
        (
            "INSERT INTO landmark (name, at, detail) VALUES ('deliveries', now() - interval '2 hours', '{}')",
            "warn  stuck: ",
        ),
        ("UPDATE alembic_version SET version_num = '0006'", "warn  work: not looked at: the tables are at 0006, "),
        ("UPDATE alembic_version SET version_num = '0006'", "      `serve` of this version brings them up to date"),
        ("UPDATE alembic_version SET version_num = '9999'", "      use the version that `serve` is of"),
    ],
)
def test_what_is_stuck_on_a_server_is_told(
    threadsmith: Threadsmith, complete: World, monkeypatch: pytest.MonkeyPatch, statement: str, line: str
) -> None:
    """As of a file; of tables of another version that they are not read."""
    with DATABASES.server.empty() as url:
        Postgres(url).close()
        with psycopg.connect(url) as connection:
            connection.execute(statement.encode())
        monkeypatch.setenv("BOT_DATABASE_URL", url)
        said = threadsmith("doctor")
        assert said.code == 0
        assert f"\n{line}" in said.out
