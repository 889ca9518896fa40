"""Both ways of running commands, each with the same promises."""

from __future__ import annotations

import os

import pytest

from bot.workspace import Sandbox, open_sandbox
from bot.workspace.bubblewrap import probe


@pytest.fixture(params=["required", "off"])
async def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Each back end that works on this machine; in CI both have to."""
    if request.param == "required" and (found := await probe()):
        message = f"isolation cannot be tested here: {found.reason}. {found.mend}"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return await open_sandbox(request.param)
