"""Logging under test."""

from __future__ import annotations

import structlog


def log_plainly() -> None:
    """Lines as structlog makes them where nobody has set it up, but errors without the values of every variable.

    Those are written out with all that a session or a bot holds: seconds for one error.
    """
    renderer = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    structlog.reset_defaults()
    structlog.configure(processors=[*structlog.get_config()["processors"][:-1], renderer])
