"""Signatures: what counts as one and what does not."""

from __future__ import annotations

import pytest

from bot.errors import OperatorError
from bot.webhook.signature import sign, usable, verify

BODY = b"Hello, World!"
SECRET = b"It's a Secret to Everybody"
#: GitHub publishes this triple to check an implementation with
GOOD = b"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"


def test_githubs_own_example_verifies() -> None:
    """The documented secret, body and signature fit, as bytes and as text."""
    assert verify([SECRET], BODY, GOOD)
    assert verify([SECRET], BODY, GOOD.decode())
    assert sign(SECRET, BODY) == GOOD


def test_any_of_several_secrets_verifies() -> None:
    """While a secret rotates the old and the new one are both good, a third is not."""
    for position in (0, 1):
        secrets = [b"other", b"other"]
        secrets[position] = SECRET
        assert verify(secrets, BODY, GOOD)
    assert not verify([b"one", b"two"], BODY, GOOD)


@pytest.mark.parametrize(
    "header",
    [
        None,
        b"",
        b"sha256=",
        GOOD[:-1],
        GOOD[:-2],
        GOOD + b"0",
        GOOD + b"," + GOOD,
        GOOD + GOOD,
        b"sha256=" + GOOD,
        GOOD.removeprefix(b"sha256="),
        b"sha1=" + b"0" * 40,
        b"sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59",
        b"sha1==" + GOOD.removeprefix(b"sha256="),
        GOOD[:-1] + "é".encode(),
        "sha256=" + "é" * 64,
        "sha256=" + "\udcff" * 64,
        GOOD.upper(),
        GOOD[:-1] + b"8",
    ],
)
def test_anything_else_does_not_verify(header: bytes | str | None) -> None:
    """Missing, empty, truncated, doubled, SHA-1, non-ASCII and simply wrong signatures are refused without raising."""
    assert not verify([SECRET], BODY, header)


def test_a_changed_body_does_not_verify() -> None:
    """The signature belongs to the bytes of the body."""
    assert not verify([SECRET], BODY + b" ", GOOD)


def test_an_empty_secret_verifies_nothing() -> None:
    """Everybody can sign with an empty secret."""
    assert not verify([b""], BODY, sign(b"", BODY))
    assert not verify([], BODY, GOOD)


@pytest.mark.parametrize("secrets", [[], [b""], [b" \n"], [SECRET, b""]])
def test_an_empty_secret_prevents_the_start(secrets: list[bytes]) -> None:
    """Whoever starts the instance is told which setting is missing."""
    with pytest.raises(OperatorError, match="secret is missing or empty") as caught:
        usable(secrets)
    assert "BOT_GITHUB_WEBHOOK_SECRET" in caught.value.mend
