"""How much fits into a model, and whether its price is known: read from the installed genai-prices data, no network."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bot.runners.providers import ModelName, Providers

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo

#: the bound for a model that nobody knows
UNKNOWN_TOKENS = 150_000
#: the part of a known window that a prompt may fill: the rest is for the answer and for the error of the estimate
SHARE = 0.8


def _info(model: str, providers: Providers) -> ModelInfo | None:
    # 0.25 s, and not needed before the first agent step
    from genai_prices.data_snapshot import get_snapshot

    parsed = ModelName.parse(model)
    url = providers.base_url(parsed)
    if not url:
        return None
    maker = "anthropic" if parsed.provider == "anthropic" else "openai"
    # The address comes first: many hosts serve the same models at other prices and with other windows. At an address
    # that the data does not know (a proxy, a server of the operator's) the maker's own figures are the best guess.
    for provider_id, provider_url in ((None, url), (maker, None)):
        try:
            return get_snapshot().find_provider_model(parsed.name, None, provider_id, provider_url)[1]
        except LookupError:
            continue
    return None


def context_window(model: str, providers: Providers) -> int | None:
    """Tokens that `model` takes, input and output together; None if unknown."""
    info = _info(model, providers)
    return info.context_window if info else None


def has_price(model: str, providers: Providers) -> bool:
    """Whether a limit in US dollars can bind `model`."""
    info = _info(model, providers)
    return info is not None and bool(info.prices)


def prompt_bound(models: Iterable[str], providers: Providers) -> int:
    """The default of `limits.prompt_tokens`: 80 % of the smallest window among a model and its fallbacks.

    A model without a known window counts as 150,000 tokens, as does the lack of any model (CLI agents).
    """
    bounds = []
    for model in models:
        window = context_window(model, providers)
        bounds.append(int(window * SHARE) if window else UNKNOWN_TOKENS)
    return min(bounds, default=UNKNOWN_TOKENS)
