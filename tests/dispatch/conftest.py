"""A scene for each test that asks for one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.dispatch.scene import Scene, open_scene


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    """An intake with ana (write), meg (maintain) and sam (read)."""
    async with open_scene(tmp_path) as opened:
        yield opened
