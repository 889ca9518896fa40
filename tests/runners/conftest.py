"""Model requests under test: refused, unless they go to a fake on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager

import pytest
from pydantic_ai.models import override_allow_model_requests

from bot.runners.models import Models
from bot.runners.providers import Providers
from tests.fake_llm import FakeLLM


@pytest.fixture(autouse=True)
def _forbid_model_requests() -> Iterator[None]:
    """pydantic-ai's own switch, off for every test here that does not ask for the fake."""
    with _allowed(False):
        yield


@pytest.fixture
def fake() -> Iterator[FakeLLM]:
    """A model provider on loopback. With it the switch is on; only its address is ever given to a model."""
    with _allowed(True), FakeLLM() as server:
        yield server


@pytest.fixture
def providers(fake: FakeLLM) -> Providers:
    """Both providers, at the fake."""
    return Providers("sk-openai-canary", fake.openai_url, "sk-anthropic-canary", fake.anthropic_url)


@pytest.fixture
async def models(providers: Providers) -> AsyncIterator[Models]:
    """The runner of models, closed after the test."""
    async with Models(providers) as runner:
        yield runner


def _allowed(allowed: bool) -> AbstractContextManager[None]:
    return override_allow_model_requests(allowed)
