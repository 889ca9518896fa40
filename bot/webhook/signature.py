"""Proves that a webhook body comes from somebody who knows the secret.

Source: https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence

from bot.errors import OperatorError

_PREFIX = b"sha256="
_FORM = re.compile(rb"sha256=[0-9a-fA-F]{64}")
_LENGTH = len(_PREFIX) + hashlib.sha256().digest_size * 2


def usable(secrets: Sequence[bytes]) -> tuple[bytes, ...]:
    """The secrets, once it is sure that none of them is empty.

    Raises `OperatorError` where there is no secret or an empty one: everybody can sign with an empty secret.
    """
    if not secrets or not all(secret.strip() for secret in secrets):
        raise OperatorError(
            "the webhook secret is missing or empty",
            "set BOT_GITHUB_WEBHOOK_SECRET to the secret of the GitHub App's webhook",
        )
    return tuple(secrets)


def sign(secret: bytes, body: bytes) -> bytes:
    """The value of `X-Hub-Signature-256` for a body."""
    return _PREFIX + hmac.digest(secret, body, "sha256").hex().encode()


def well_formed(header: bytes | None) -> bool:
    """Whether the header could be a signature at all, which can be told before there is a body."""
    return header is not None and _FORM.fullmatch(header) is not None


def verify(secrets: Sequence[bytes], body: bytes, header: bytes | str | None) -> bool:
    """Whether `header` (`X-Hub-Signature-256`) signs the raw `body` with one of `secrets` (several while they rotate).

    SHA-256 only; never raises; an empty secret verifies nothing.
    """
    if header is None:
        return False
    given = header.encode("utf-8", "replace") if isinstance(header, str) else header
    # the right length is no secret, and looking at it first spares the hashing
    if len(given) != _LENGTH:
        return False
    right = False
    for secret in secrets:
        # every secret is tried, so that the time taken does not tell which one fitted
        right |= bool(secret) and hmac.compare_digest(sign(secret, body), given)
    return right
