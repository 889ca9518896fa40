"""Logging: text on a terminal, JSON lines elsewhere; secrets never reach a line."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any, TextIO

import structlog

Redactor = Callable[[str], str]


def get(room: str) -> Any:  # structlog's bound loggers are typed by configuration, which happens later
    """The logger of a room, e.g. `log.get("dispatch")`."""
    return structlog.get_logger(room=room)


def configure(level: str = "info", *, stream: TextIO | None = None, redact: Redactor | None = None) -> None:
    """Set up logging once, at the edge. `redact` is applied to every string of every line."""
    out = stream or sys.stderr
    number = logging.getLevelNamesMapping()[level.upper()]
    terminal = out.isatty()

    def scrub(_logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        if redact is None:
            return event
        return {key: redact(value) if isinstance(value, str) else value for key, value in event.items()}

    renderer: Any = structlog.dev.ConsoleRenderer() if terminal else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.ExceptionRenderer() if not terminal else _keep,
            scrub,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(out),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(level=max(number, logging.WARNING), stream=out, force=True)


def _keep(_logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    return event
