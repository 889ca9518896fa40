"""How much fits into a model."""

from __future__ import annotations

import pytest

from bot.runners.providers import Providers
from bot.runners.window import UNKNOWN_TOKENS, context_window, has_price, prompt_bound

OWN = Providers(openai_key="x", anthropic_key="x")
PROXY = Providers(openai_base_url="http://127.0.0.1:4000/v1", anthropic_base_url="http://127.0.0.1:4000")
ROUTER = Providers(openai_base_url="https://openrouter.ai/api/v1")


@pytest.mark.parametrize(
    ("model", "providers", "window"),
    [
        ("openai:gpt-5-mini", OWN, 400_000),
        ("openai-chat:gpt-5-mini", OWN, 400_000),
        ("anthropic:claude-haiku-4-5", OWN, 200_000),
        ("openai:gpt-5-mini", PROXY, 400_000),
        ("anthropic:claude-haiku-4-5", PROXY, 200_000),
        ("openai:openai/gpt-5-mini", ROUTER, 400_000),
        ("openai:my-own-model", PROXY, None),
        ("openai:my-own-model", OWN, None),
        ("demo:helper", OWN, None),
    ],
)
def test_window(model: str, providers: Providers, window: int | None) -> None:
    """Known by the server's address first, then by the maker; else unknown."""
    assert context_window(model, providers) == window
    assert has_price(model, providers) is (window is not None)


@pytest.mark.parametrize(
    ("models", "bound"),
    [
        (["openai:gpt-5-mini"], 320_000),
        (["openai:gpt-5-mini", "anthropic:claude-haiku-4-5"], 160_000),
        (["openai:gpt-5-mini", "openai:my-own-model"], UNKNOWN_TOKENS),
        (["openai:gpt-4"], 6_553),
        (["demo:helper"], UNKNOWN_TOKENS),
        ([], UNKNOWN_TOKENS),
    ],
)
def test_prompt_bound(models: list[str], bound: int) -> None:
    """80 % of the smallest window among a model and its fallbacks, 150,000 where one is unknown."""
    assert prompt_bound(models, OWN) == bound
