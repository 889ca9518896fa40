"""Every test of this room that takes a database runs on both kinds."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.databases import BOTH

NOW = datetime(2026, 11, 3, 12, 0, tzinfo=UTC)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """SQLite and PostgreSQL, unless the test chooses itself."""
    chosen = any("database" in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))
    if "database" in metafunc.fixturenames and not chosen:
        metafunc.parametrize("database", BOTH, indirect=True)
