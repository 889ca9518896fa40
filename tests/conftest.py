"""What every test shares."""

from __future__ import annotations

import pytest

from tests.offline import forbid


def pytest_configure() -> None:
    """Nothing under test reaches beyond this machine, so no real model or GitHub can be asked."""
    forbid()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
