"""Calls with small defaults for the tests of runners."""

from __future__ import annotations

from typing import Any

from bot.runners.call import Call, Limits

LIMITS = Limits(tokens=10_000, requests=3, usd=1.0, seconds=20.0)


def call(model: str = "", *fallback: str, limits: Limits = LIMITS, **more: Any) -> Call:
    """A call with the prompt `ping`."""
    text = {"system": "be brief", "prompt": "ping", "agent": "ask", **more}
    return Call(**text, limits=limits, model=model, fallback=fallback)
