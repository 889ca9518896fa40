"""Which model providers this instance can reach, and what a model's name means."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from bot.model.outcome import Failed

if TYPE_CHECKING:
    import httpx2

OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com"

#: what may stand before the colon of a model's name
PROVIDERS = ("openai", "openai-chat", "openai-responses", "anthropic", "demo")

#: the small model of each provider, in the order in which a default is looked for
SMALL_MODELS = (("openai", "openai:gpt-6-luna"), ("anthropic", "anthropic:claude-haiku-5-5"))

#: The protocol that is spoken. `chat` and `responses` are OpenAI's two.
Dialect = Literal["chat", "responses", "messages", "demo"]


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model's name taken apart: `openai:gpt-6-luna` is the provider `openai` and the name `gpt-6-luna`."""

    provider: str
    name: str

    @classmethod
    def parse(cls, text: str) -> ModelName:
        """Split at the first colon: names may hold more of them (`openai:qwen3:8b`)."""
        provider, _, name = text.partition(":")
        return cls(provider.strip(), name.strip())

    def __str__(self) -> str:
        return f"{self.provider}:{self.name}"


@dataclass(frozen=True, slots=True)
class Providers:
    """Keys and addresses, as the operator gave them; nothing is read from the environment here.

    An empty base URL means the provider's own. `openai_base_url` may be any server that speaks OpenAI's protocol; such
    a server need not want a key. `transport` replaces the network in tests.
    """

    openai_key: str = field(default="", repr=False)
    openai_base_url: str = ""
    anthropic_key: str = field(default="", repr=False)
    anthropic_base_url: str = ""
    transport: httpx2.AsyncBaseTransport | None = field(default=None, repr=False)

    @property
    def openai_is_foreign(self) -> bool:
        """Whether `openai:` goes to a server that is not OpenAI's (regional hosts of theirs are theirs)."""
        host = (urlsplit(self.openai_base_url or OPENAI_URL).hostname or "").lower()
        return host != "api.openai.com" and not host.endswith(".api.openai.com")

    def base_url(self, model: ModelName) -> str:
        """The address that requests for `model` go to; empty for `demo`."""
        if model.provider == "demo":
            return ""
        if model.provider == "anthropic":
            return self.anthropic_base_url or ANTHROPIC_URL
        return self.openai_base_url or OPENAI_URL

    def key(self, model: ModelName) -> str:
        """The provider's key, or a placeholder for a server of the operator's that wants none."""
        given = self.anthropic_key if model.provider == "anthropic" else self.openai_key
        return given or "none"

    def dialect(self, model: ModelName) -> Dialect:
        """The protocol for `model`.

        OpenAI itself is asked through the Responses API, its main one; every other server through Chat Completions,
        the one that compatible servers have. `openai-chat:` and `openai-responses:` decide it by hand.
        """
        match model.provider:
            case "demo":
                return "demo"
            case "anthropic":
                return "messages"
            case "openai-chat":
                return "chat"
            case "openai-responses":
                return "responses"
            case _:
                return "chat" if self.openai_is_foreign else "responses"

    def check(self, text: str) -> Failed | None:
        """What stands in the way of asking this model, without asking it; None if nothing does.

        Codes: `unknown_provider`, `model_unavailable`.
        """
        if not text:
            return Failed(
                "model_unavailable",
                "no model is set, and no provider has a key to take a default from",
                "Set `OPENAI_API_KEY`, `ANTHROPIC_API_KEY` or `BOT_DEFAULT_MODEL`, or give the agent a `model`.",
            )
        model = ModelName.parse(text)
        if model.provider not in PROVIDERS or not model.name:
            near = get_close_matches(model.provider, PROVIDERS, 1)
            return Failed(
                "unknown_provider",
                f"`{text}` does not name a provider and a model",
                f"did you mean `{near[0]}:{model.name or 'NAME'}`?"
                if near
                else f"write `provider:name` with one of {', '.join(f'`{name}`' for name in PROVIDERS)}",
                model=text,
            )
        if model.provider == "anthropic":
            setting, usable = "ANTHROPIC_API_KEY", bool(self.anthropic_key or self.anthropic_base_url)
        else:
            setting, usable = "OPENAI_API_KEY", bool(self.openai_key or self.openai_is_foreign)
        if model.provider != "demo" and not usable:
            message = f"`{text}` cannot be asked: this instance has no key for it"
            return Failed("model_unavailable", message, f"Whoever runs the bot sets `{setting}`.", model=text)
        return None

    def scrub(self, text: str) -> str:
        """Take the keys out of a provider's message, which may quote them."""
        for key in (self.openai_key, self.anthropic_key):
            if key:
                text = text.replace(key, "***")
        return text


def default_model(providers: Providers) -> str | None:
    """The small model of the first provider with a key; None without any key."""
    keys = {"openai": providers.openai_key, "anthropic": providers.anthropic_key}
    return next((model for provider, model in SMALL_MODELS if keys[provider]), None)
