"""The thread page in a browser, for those tests that want it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.demo.opened import Open, open_page


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Open]:
    """The thread of a scene, followed live."""
    async with open_page(tmp_path) as shown:
        yield shown
