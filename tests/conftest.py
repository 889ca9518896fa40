"""What every test shares."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from bot.store import Store, open_store
from tests import economy
from tests.databases import BOTH, DATABASES
from tests.offline import forbid
from tests.plain_log import log_plainly

_PATIENT = "SET idle_in_transaction_session_timeout = '60s'"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--database=postgresql`: whatever does not choose its database, stories above all, runs on PostgreSQL."""
    parser.addoption("--database", choices=BOTH, default=BOTH[0], help="what tests run on that do not choose")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """What `-n auto` is: tests wait for disks, clocks and processes of their own for half of their time."""
    return max(2, (os.cpu_count() or 1) * 3 // 2)


def pytest_configure(config: pytest.Config) -> None:
    """Nothing under test reaches beyond this machine, so no real model or GitHub can be asked."""
    forbid()
    log_plainly()
    economy.begin()
    DATABASES.kind = config.getoption("--database")


def pytest_collection_finish() -> None:
    """From here on only tests make garbage."""
    economy.collected()


def pytest_unconfigure() -> None:
    """No server outlives its tests."""
    DATABASES.stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Iterator[None]:
    """What its bots had as a database is another test's then."""
    yield
    DATABASES.release()


@pytest.fixture(params=BOTH)
def each_database(request: pytest.FixtureRequest) -> Iterator[None]:
    """One kind after the other; see `on_both`."""
    before, DATABASES.kind = DATABASES.kind, request.param
    yield
    DATABASES.kind = before


@pytest.fixture
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty, migrated database; its parameter is the kind."""
    return DATABASES.of_folder(tmp_path, getattr(request, "param", None))


@pytest.fixture
async def store(database: str) -> AsyncIterator[Store]:
    """That database, opened."""
    opened = open_store(database)
    if database.startswith("postgresql"):
        # a machine that is busy with other tests may leave this process without its turn for longer than a bot's
        await opened.write(lambda s: s.connection().exec_driver_sql(_PATIENT) and None)
    yield opened
    await opened.close()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Figures that a test has measured stand at the end, whether or not it passed."""
    for report in (*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")):
        for name, value in report.user_properties:
            if name == "figures" and report.when == "call":
                terminalreporter.write_line(str(value))
