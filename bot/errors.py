"""Every exception of the product, as one tree, and the fate of each.

BotError
├── UserError            somebody can mend it: told in the thread, with code, reason and hint
│   └── ConfigurationError   findings in the repository's YAML
├── OperatorError        whoever runs the instance can mend it: log, doctor, and a plain sentence in the thread
├── Transient            try again, at `retry_after` seconds if the other side said so
│   └── Unsure           a write was sent and no answer came: look before trying again
├── NotFound             GitHub has no such thing, or does not show it to us (404, 410)
├── Forbidden            GitHub says no (401, 403 that is no rate limit, 422 that is no fault of the text)
│   └── NotGranted           the installation has not been given a permission: no token may be had for it
├── Lost                 another process holds what this one held: it goes on there, and is let go of here
└── IllegalTransition    a bug of ours: a row was about to take a state that its table does not allow
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from bot.finding import Finding


class BotError(Exception):
    """Root of the tree."""


class UserError(BotError):
    """A fault that a person in the thread can mend.

    `code` is stable and printed first; `message` says what is wrong and names the path or key; `hint` says what to do.
    """

    def __init__(self, code: str, message: str, hint: str = "", detail: str = "") -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.hint = hint
        #: last lines of stderr or the like, shown in a fence
        self.detail = detail


class ConfigurationError(UserError):
    """The repository's configuration cannot be used; `findings` has file, line, column, code and hint of each fault."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        first = findings[0]
        super().__init__(first.code, f"{first.file}:{first.line}:{first.column} {first.message}", first.hint)
        self.findings = tuple(findings)


class OperatorError(BotError):
    """A fault of the instance: a setting, a missing program. `mend` is what the operator should do."""

    def __init__(self, message: str, mend: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.mend = mend


class Transient(BotError):
    """The other side is busy or broken; the same call may work later. `retry_after` is in seconds, None if not told."""

    def __init__(self, message: str, retry_after: float | None = None, *, limited: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        #: True for a rate limit, False for an outage
        self.limited = limited


class Unsure(Transient):
    """A write left us and no answer came: it may or may not have happened."""


class NotFound(BotError):
    """404 or 410. `why` is a stable word where GitHub says more than that (`bot.github.refusal`), else empty."""

    def __init__(self, message: str, why: str = "") -> None:
        super().__init__(message)
        self.why = why


class Forbidden(BotError):
    """The other side understood and refuses; repeating it will not help. `why` as of `NotFound`."""

    def __init__(self, message: str, status: int = 403, why: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.why = why


class NotGranted(Forbidden):
    """No token: the installation lacks a permission, which `why` names."""


class Lost(BotError):
    """This process was taken for dead, and another one has what it held: nothing was written."""

    def __init__(self, what: str) -> None:
        super().__init__(f"another process has {what}")
        self.what = what


class IllegalTransition(BotError):
    """A row was about to take a state that its transition table does not allow."""


class Fate(StrEnum):
    """What becomes of the work that raised."""

    TELL = "tell"  # end it and say so in the thread
    RETRY = "retry"  # do it again later
    LOOK = "look"  # find out whether it happened, then decide
    DROP = "drop"  # end it quietly: there is nobody or nowhere to tell
    BUG = "bug"  # end it, tell that it was our fault, log the traceback


def fate(error: BaseException) -> Fate:
    """The one place that maps an exception to what is done about it."""
    match error:
        case UserError() | OperatorError():
            return Fate.TELL
        case Unsure():
            return Fate.LOOK
        case Transient():
            return Fate.RETRY
        case NotFound() | Forbidden() | Lost():
            return Fate.DROP
        case _:
            return Fate.BUG
