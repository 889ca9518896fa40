"""What a model's name means, and what stands in the way of asking it."""

from __future__ import annotations

import pytest

from bot.runners.providers import SMALL_MODELS, ModelName, Providers, default_model
from bot.runners.window import context_window, has_price

KEYS = Providers(openai_key="sk-o", anthropic_key="sk-a")


@pytest.mark.parametrize(
    ("text", "provider", "name"),
    [("openai:gpt-5-mini", "openai", "gpt-5-mini"), ("openai:qwen3:8b", "openai", "qwen3:8b"), ("gpt", "gpt", "")],
)
def test_names(text: str, provider: str, name: str) -> None:
    """The first colon separates; later ones belong to the name."""
    assert ModelName.parse(text) == ModelName(provider, name)


@pytest.mark.parametrize(
    ("text", "url", "dialect"),
    [
        ("openai:x", "", "responses"),
        ("openai:x", "https://api.openai.com/v1", "responses"),
        ("openai:x", "https://eu.api.openai.com/v1", "responses"),
        ("openai:x", "https://llm.example/v1", "chat"),
        ("openai:x", "https://notapi.openai.com.example/v1", "chat"),
        ("openai-chat:x", "", "chat"),
        ("openai-responses:x", "https://llm.example/v1", "responses"),
        ("anthropic:x", "https://llm.example/v1", "messages"),
        ("demo:helper", "", "demo"),
    ],
)
def test_dialect(text: str, url: str, dialect: str) -> None:
    """OpenAI itself is asked through Responses, other servers through Chat Completions, unless the name decides."""
    assert Providers(openai_base_url=url).dialect(ModelName.parse(text)) == dialect


@pytest.mark.parametrize(
    ("providers", "text", "setting"),
    [
        (Providers(anthropic_key="x"), "openai:gpt-5-mini", "OPENAI_API_KEY"),
        (Providers(anthropic_key="x"), "openai-chat:gpt-5-mini", "OPENAI_API_KEY"),
        (Providers(openai_key="x"), "anthropic:claude-haiku-5-5", "ANTHROPIC_API_KEY"),
        (Providers(), "", "BOT_DEFAULT_MODEL"),
    ],
)
def test_missing_key(providers: Providers, text: str, setting: str) -> None:
    """A missing key is told with the setting's name."""
    failed = providers.check(text)
    assert failed is not None
    assert failed.code == "model_unavailable"
    assert f"`{setting}`" in failed.hint


@pytest.mark.parametrize("text", ["openia:gpt-5-mini", "gpt-5-mini", "openai:", "bedrock:x", ":x"])
def test_unknown_provider(text: str) -> None:
    """A name without a known provider, or without a name, is told with what would be right."""
    failed = KEYS.check(text)
    assert failed is not None
    assert failed.code == "unknown_provider"
    assert "`openai" in failed.hint


@pytest.mark.parametrize(
    ("providers", "text"),
    [
        (KEYS, "openai:gpt-5-mini"),
        (KEYS, "anthropic:claude-haiku-5-5"),
        (Providers(), "demo:helper"),
        (Providers(openai_base_url="http://127.0.0.1:11434/v1"), "openai:qwen3:8b"),
        (Providers(anthropic_base_url="http://127.0.0.1:4000"), "anthropic:x"),
    ],
)
def test_usable(providers: Providers, text: str) -> None:
    """With a key, or at a server of the operator's own, a model may be asked."""
    assert providers.check(text) is None


def test_keys_stay_out_of_sight() -> None:
    """Printing the providers prints no key, and a quoted key is taken out of a text."""
    assert "sk-" not in repr(KEYS)
    assert KEYS.scrub("key sk-o or sk-a") == "key *** or ***"
    assert Providers().scrub("nothing to hide") == "nothing to hide"


@pytest.mark.parametrize(
    ("providers", "model"),
    [
        (KEYS, "openai:gpt-6-luna"),
        (Providers(anthropic_key="x"), "anthropic:claude-haiku-5-5"),
        (Providers(openai_base_url="http://127.0.0.1:1/v1"), None),
        (Providers(), None),
    ],
)
def test_default_model(providers: Providers, model: str | None) -> None:
    """The small model of the first provider with a key."""
    assert default_model(providers) == model


@pytest.mark.parametrize("model", [model for _, model in SMALL_MODELS])
def test_default_models_are_known(model: str) -> None:
    """The built-in defaults can be asked, have a price (so that money limits bind) and a window."""
    assert KEYS.check(model) is None
    assert has_price(model, KEYS)
    assert context_window(model, KEYS)
