"""One webhook request as it was received: what the front door hands on and the store keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class NewDelivery:
    """A delivery whose signature was right and whose event is one that we act on.

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
