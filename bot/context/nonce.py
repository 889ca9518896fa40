"""The secret number of a block: the same for the same content, unknown to whoever writes text."""

from __future__ import annotations

import hashlib
import hmac

from bot.model.ident import digest

_LENGTH = 24


def nonce(key: bytes, kind: str, source: str, text: str) -> str:
    """24 hex digits of an HMAC-SHA-256 over kind, source and text, so that a provider's prompt cache can serve them.

    Never part of `text`: should it stand there all the same, the next one is taken.
    """
    subject = digest(kind, source, text)
    for attempt in range(len(text) + 1):
        found = hmac.new(key, f"block {attempt} {subject}".encode(), hashlib.sha256).hexdigest()[:_LENGTH]
        if found not in text:
            return found
    raise AssertionError("a text cannot hold more nonces than it has characters")
