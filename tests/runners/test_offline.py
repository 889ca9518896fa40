"""No test asks a real model."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bot.runners.models import Models
from bot.runners.providers import Providers
from tests.runners.calls import call

SCRIPT = """
import asyncio, socket
from tests.offline import RealRequest, forbid
forbid()

listener = socket.create_server(("127.0.0.1", 0))
socket.create_connection(listener.getsockname()).close()
socket.create_connection(("localhost", listener.getsockname()[1])).close()

def blocking():
    socket.create_connection(("192.0.2.1", 443), timeout=1)

def datagram():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"", ("192.0.2.1", 53))

def waiting():
    asyncio.run(asyncio.wait_for(asyncio.open_connection("192.0.2.1", 443), 1))

for attempt in (blocking, datagram, waiting):
    try:
        attempt()
    except RealRequest as error:
        print(error)
"""


def test_only_loopback_is_within_reach() -> None:
    """With the switch thrown connections to this machine work and others are refused before a packet leaves."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [f"a test tried to reach 192.0.2.1:{port}" for port in (443, 53, 443)]


@pytest.mark.parametrize("model", ["openai:gpt-5-mini", "openai-chat:gpt-5-mini", "anthropic:claude-haiku-5-5"])
async def test_models_are_off_without_the_fake(model: str) -> None:
    """pydantic-ai's own switch is off too in these tests: a model cannot even be tried."""
    async with Models(Providers(openai_key="x", anthropic_key="x")) as models:
        with pytest.raises(RuntimeError, match="not allowed"):
            await models.run(call(model))
