"""What is made of the settings alone."""

from __future__ import annotations

import hashlib
from urllib.parse import urlsplit

from bot import log
from bot.errors import OperatorError
from bot.runners import Providers
from bot.settings import Settings
from bot.traces import Exporter

_log = log.get("app")


def providers(settings: Settings) -> Providers:
    """The models' providers as the settings name them."""
    return Providers(
        openai_key=settings.openai_key,
        openai_base_url=settings.openai_url,
        anthropic_key=settings.anthropic_key,
        anthropic_base_url=settings.anthropic_url,
    )


def marker_keys(settings: Settings) -> list[bytes]:
    """The keys that sign markers: those set, else one derived from the App's private key."""
    if settings.marker_keys:
        return [key.encode() for key in settings.marker_keys]
    return [hashlib.sha256(b"threadsmith marker\0" + settings.private_key.encode()).digest()]


def clones_host(github_url: str) -> str:
    """Scheme and host that clones may come from; github.com serves its API from a host of its own."""
    parts = urlsplit(github_url)
    host = "github.com" if parts.netloc == "api.github.com" else parts.netloc
    return f"{parts.scheme}://{host}"


def exporter_of(settings: Settings) -> Exporter | None:
    """Where traces go, if they are wanted."""
    if not settings.otlp_endpoint:
        return None
    try:
        return Exporter(settings.otlp_endpoint)
    except OperatorError as error:
        _log.warning("traces_off", reason=error.message, mend=error.mend)
        return None
