"""Drives agents: models over pydantic-ai, the rule-based demo model, and programs.

`Runners` is made once by `app`; a step gives it a `Call` and gets an `Outcome`. Importing this room imports neither
pydantic-ai nor a provider's SDK.
"""

from __future__ import annotations

from bot.runners.call import Call, Limits, Runner
from bot.runners.kept import Lost, awaiting
from bot.runners.providers import PROVIDERS, ModelName, Providers, default_model
from bot.runners.said import Listen, Said
from bot.runners.select import KINDS, Runners
from bot.runners.tool import Bound, Tool, ToolAnswer
from bot.runners.toolbox import Waiting
from bot.runners.window import UNKNOWN_TOKENS, context_window, has_price, prompt_bound

__all__ = [
    "KINDS",
    "PROVIDERS",
    "UNKNOWN_TOKENS",
    "Bound",
    "Call",
    "Limits",
    "Listen",
    "Lost",
    "ModelName",
    "Providers",
    "Runner",
    "Runners",
    "Said",
    "Tool",
    "ToolAnswer",
    "Waiting",
    "awaiting",
    "context_window",
    "default_model",
    "has_price",
    "prompt_bound",
]
