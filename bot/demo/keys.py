"""RSA keys of Apps, and the check of the JSON web tokens that Apps sign with them.

Source: https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-json-web-token-jwt-for-a-github-app
"""

from __future__ import annotations

import binascii
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from bot.demo.refusal import Refused, no_jwt

#: seconds that a token may live
MAX_LIFE = 600


def new_key() -> str:
    """A fresh private key (PEM)."""
    made = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form, none = serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    return made.private_bytes(serialization.Encoding.PEM, form, none).decode()


def public_part(private_key: str) -> str:
    """What GitHub keeps of it (PEM)."""
    key = _loaded(private_key)
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, form).decode()


def sign(claims: dict[str, Any], private_key: str, algorithm: str = "RS256") -> str:
    """A signed token, as an App makes it; the other algorithm names are for forgeries in tests."""
    key = _loaded(private_key)
    head = _encode(json.dumps({"alg": algorithm, "typ": "JWT"}).encode())
    text = f"{head}.{_encode(json.dumps(claims).encode())}"
    return f"{text}.{_encode(key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def issuer(token: str) -> str:
    """Who says to have signed it; nothing is checked yet. Raises 401."""
    return str(_parts(token)[1].get("iss", ""))


def verify(token: str, public_key: str, now: datetime) -> None:
    """Check signature and times. Raises 401 with GitHub's words."""
    head, claims, text, signature = _parts(token)
    key = serialization.load_pem_public_key(public_key.encode())
    assert isinstance(key, rsa.RSAPublicKey)
    if head.get("alg") != "RS256":
        raise no_jwt()
    try:
        key.verify(signature, text, padding.PKCS1v15(), hashes.SHA256())
    except InvalidSignature:
        raise no_jwt() from None
    at, issued, expires = now.timestamp(), _number(claims.get("iat")), _number(claims.get("exp"))
    if issued is None or issued > at:
        words = "must be an Integer representing the time that the assertion was issued"
        raise Refused(401, f"'Issued at' claim ('iat') {words}")
    if expires is None or expires <= at:
        words = "must be a numeric value representing the future time at which the assertion expires"
        raise Refused(401, f"'Expiration time' claim ('exp') {words}")
    if expires > at + MAX_LIFE:
        raise Refused(401, "'Expiration time' claim ('exp') is too far in the future")


def _loaded(private_key: str) -> rsa.RSAPrivateKey:
    # that its primes are primes is not asked: that takes a hundred times as long, and the key was made here
    key = serialization.load_pem_private_key(private_key.encode(), None, unsafe_skip_rsa_key_validation=True)
    assert isinstance(key, rsa.RSAPrivateKey)
    return key


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _encode(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def _parts(token: str) -> tuple[dict[str, Any], dict[str, Any], bytes, bytes]:
    try:
        head, claims, signature = token.split(".")
        decoded = [urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in (head, claims, signature)]
        parsed = [json.loads(part) for part in decoded[:2]]
    except (ValueError, binascii.Error):
        raise no_jwt() from None
    if not all(isinstance(part, dict) for part in parsed):
        raise no_jwt()
    return parsed[0], parsed[1], f"{head}.{claims}".encode(), decoded[2]
