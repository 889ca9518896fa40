"""Logging: text on a terminal, JSON lines elsewhere; secrets never reach a line."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

import structlog

Redactor = Callable[[str], str]


def get(room: str) -> Any:  # structlog's bound loggers are typed by configuration, which happens later
    """The logger of a room, e.g. `log.get("dispatch")`."""
    return structlog.get_logger(room=room)


def configure(level: str = "info", *, stream: TextIO | None = None, redact: Redactor | None = None) -> None:
    """Set up logging once, at the edge. `redact` is applied to every text of every line, at any depth."""
    out = stream or sys.stderr
    number = logging.getLevelNamesMapping()[level.upper()]
    renderer: Any = structlog.dev.ConsoleRenderer() if out.isatty() else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            # before the texts are redacted, and without local variables, which a console would show
            structlog.processors.ExceptionRenderer(),
            *([_scrub(redact)] if redact is not None else []),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(out),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(level=max(number, logging.WARNING), handlers=[_Others()], force=True)


@contextmanager
def redacted_with(redact: Redactor) -> Iterator[None]:
    """As long as the block takes, apply `redact` too: it knows of secrets that came after logging was set up."""
    scrub = _scrub(redact)
    processors = structlog.get_config()["processors"]
    # before the last, which makes the line
    structlog.configure(processors=[*processors[:-1], scrub, processors[-1]])
    try:
        yield
    finally:
        structlog.configure(processors=[one for one in structlog.get_config()["processors"] if one is not scrub])


def _scrub(redact: Redactor) -> structlog.typing.Processor:
    def scrub(_logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        return {key: _redacted(value, redact) for key, value in event.items()}

    return scrub


class _Others(logging.Handler):
    """What libraries log the standard way becomes lines of the same kind, redacted like ours."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            lines = get(record.name)
            say = lines.error if record.levelno >= logging.ERROR else lines.warning
            say(record.getMessage(), exc_info=record.exc_info)
        except Exception:  # noqa: BLE001  # the standard's own way for a line that cannot be written
            self.handleError(record)


def _redacted(value: Any, redact: Redactor) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, bytes | bytearray):
        # its `repr` would write letters that are not ASCII in a form that is no secret's
        return redact(value.decode("utf-8", "backslashreplace"))
    if isinstance(value, Mapping):
        return {redact(str(key)): _redacted(each, redact) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_redacted(each, redact) for each in value]
    # what a renderer would make of it
    return redact(repr(value))
