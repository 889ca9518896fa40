"""One webhook request as it was received, and what GitHub's log tells of those it has sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

#: how a delivery came in: sent to us and signed, found in GitHub's log, or made from what stands in a thread
Origin = Literal["webhook", "log", "scan"]


@dataclass(frozen=True, slots=True)
class NewDelivery:
    """A delivery whose event is one that we act on: its signature was right, or GitHub's API told us of it.

    It has two identities: `(app_id, guid)` and `(app_id, content)`; whichever was seen before makes it a duplicate.
    `body` is the payload as JSON in UTF-8 (taken out of the form where GitHub sent one); `headers` are GitHub's own,
    names in lower case.
    """

    app_id: int
    guid: str
    event: str
    action: str
    #: hex digest, see `bot.webhook.identity.content_key`
    content: str
    repository_id: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    origin: Origin = "webhook"


@dataclass(frozen=True, slots=True)
class LoggedAttempt:
    """One attempt of GitHub's to deliver a webhook; several of one GUID are one delivery.

    `status_code` is the receiver's answer, or GitHub's own word for none: 0 or a 5xx. `action` is empty for events
    that have none.
    """

    id: int
    guid: str
    at: datetime
    event: str
    action: str
    status_code: int
    status: str = ""
    redelivery: bool = False

    @property
    def answered(self) -> bool:
        """Whether somebody took it: only a 2xx says so, a redirect does not."""
        return 200 <= self.status_code < 300


@dataclass(frozen=True, slots=True)
class LogPage:
    """A page of the log, newest first. `cursor` leads to the next one, None behind the last; `at` is GitHub's time."""

    attempts: tuple[LoggedAttempt, ...]
    cursor: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """What was sent in an attempt, and what came back. `payload` is None where GitHub keeps none."""

    payload: Mapping[str, Any] | None
    headers: Mapping[str, str]
    answer: str = ""
