"""Secrets leave in no form."""

from __future__ import annotations

import base64
import html
import json
import time
from itertools import pairwise
from textwrap import wrap
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.publish.redact import PLACEHOLDER, SHORTEST, Redactor

SECRET = 'tr0ub4dor&3/+ zürich"<x>'
FORMS = {
    "raw": SECRET,
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "base64 without padding": base64.b64encode(SECRET.encode()).decode().rstrip("="),
    "base64url": base64.urlsafe_b64encode(SECRET.encode()).decode(),
    "basic credentials": base64.b64encode(f"x-access-token:{SECRET}".encode()).decode(),
    "base64 inside, one off": base64.b64encode(f"a{SECRET}b".encode()).decode(),
    "base64 inside, two off": base64.b64encode(f"ab{SECRET}bcd".encode()).decode(),
    "percent": quote(SECRET, safe=""),
    "form": quote_plus(SECRET),
    "hex": SECRET.encode().hex(),
    "HEX": SECRET.encode().hex().upper(),
    "JSON": json.dumps({"key": SECRET}),
    "JSON, not ASCII": json.dumps({"key": SECRET}, ensure_ascii=False),
    "JSON in JSON": json.dumps(json.dumps({"key": SECRET})),
    "JSON as PHP writes it": json.dumps({"key": SECRET}).replace("/", "\\/"),
    "base64 in lines": "\n".join(wrap(base64.b64encode(f"NAME={SECRET}\n".encode()).decode(), 20)),
    "hex in lines": "\r\n".join(wrap(SECRET.encode().hex(), 30)),
    "base64 in lines, as JSON": json.dumps("\r\n".join(wrap(base64.b64encode(SECRET.encode()).decode(), 20))),
    "base64 in quoted lines": "\n> ".join(wrap(base64.b64encode(SECRET.encode()).decode(), 20)),
    "JSON in JSON, not ASCII": json.dumps(json.dumps({"key": SECRET}, ensure_ascii=False), ensure_ascii=False),
    "HTML": html.escape(SECRET),
    "other case": SECRET.upper().replace("Ü", "ü"),
}
TOKENS = [
    "ghp_" + "a1B2" * 9,
    "ghs_" + "a1B2" * 9,
    "ghs_123_" + "eyJhbGciOiJ9.eyJpc3MiOiJ9." + "a-b_c" * 9,
    "github_pat_" + "a1B2_" * 12,
    "sk-" + "a1B2" * 9,
    "sk-ant-api03-" + "a1-_" * 9,
    "AKIA" + "ABCD2345" * 2,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl-x_",
    "xoxb-123456789012-abcdef",
    "npm_" + "a1B2" * 9,
    "AIza" + "a1B2c" * 7,
    "glpat-" + "a1B2c" * 4,
]


def core(form: str) -> str:
    """The middle of a form, which must not be found afterwards."""
    return form[len(form) // 4 : -len(form) // 4 or None]


@pytest.mark.parametrize("name", FORMS)
def test_a_known_value_in_each_form(name: str) -> None:
    """What travels is not always the raw value."""
    text = f"before {FORMS[name]} after"
    clean = Redactor([SECRET])(text)
    assert PLACEHOLDER in clean
    assert core(FORMS[name]) not in clean
    assert core("".join(FORMS[name].split())) not in "".join(clean.split())
    assert clean.startswith("before ")
    assert clean.endswith(" after")


@pytest.mark.parametrize("token", TOKENS)
def test_tokens_known_by_their_shape(token: str) -> None:
    """Nobody told us of them."""
    assert Redactor()(f"key={token}, and {token}.") == f"key={PLACEHOLDER}, and {PLACEHOLDER}."


@pytest.mark.parametrize(
    "text",
    [
        "sk-learn is a library, task-management-with-many-hyphens-in-it too",
        "sk-this-is-only-a-slug-of-many-words",
        "AKIAH",
        "commit 0f3c9a1d4be1d02e8f7a6b5c4d3e2f1a0b9c8d7e",
        "ghp_ and github_pat_ are prefixes",
        "https://example.com:8080/a@b",
        "an authorization: yes",
        "eyJust.a.word",
        "a public key: -----BEGIN PUBLIC KEY-----",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    """What only looks a little like a token."""
    assert Redactor([SECRET])(text) == text


def test_credentials_with_words_around_them() -> None:
    """The words stay, so that the reader knows what was there."""
    redact = Redactor()
    assert redact("git clone https://me:pa55w0rd@host/x") == f"git clone https://me:{PLACEHOLDER}@host/x"
    assert redact("Authorization: Bearer abcdefgh12345") == f"Authorization: Bearer {PLACEHOLDER}"


def test_private_keys() -> None:
    """Whole, cut off at the end, and with escaped line ends."""
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIE+/ab\n" * 20 + "-----END RSA PRIVATE KEY-----"
    for text in (key, key[:150], key.replace("\n", "\\n")):
        assert Redactor()(f"a {text}") == f"a {PLACEHOLDER}"
    assert Redactor()(f"{key}\nafter") == f"{PLACEHOLDER}\nafter"


def test_lines_of_a_long_secret() -> None:
    """One line of a key is enough to be a leak; a short line is a word."""
    redact = Redactor(["first-line-of-it\nend\nlast-line-of-it"])
    assert redact("x last-line-of-it y") == f"x {PLACEHOLDER} y"
    assert redact("the end") == "the end"


def test_short_values_are_left() -> None:
    """Replacing `yes` everywhere would say what the secret is."""
    assert Redactor(["yes", "", "a" * (SHORTEST - 1)])("yes aaaa") == "yes aaaa"


def test_longer_values_first() -> None:
    """A secret that begins like another leaves no tail."""
    assert Redactor(["hunter22", "hunter22-extended"])("hunter22-extended") == PLACEHOLDER


def test_a_secret_that_is_part_of_the_placeholder() -> None:
    """It does not nest."""
    redact = Redactor(["redacted"])
    assert redact(redact("it is redacted")) == f"it is {PLACEHOLDER}"


@given(
    pieces=st.lists(st.sampled_from([*FORMS.values(), *TOKENS[:5], " ", "\n", "abc", '"', "[redacted]", "-----"])),
    noise=st.text(max_size=20),
)
def test_idempotent_and_complete(pieces: list[str], noise: str) -> None:
    """Whatever stands side by side."""
    redact = Redactor([SECRET])
    once = redact(noise.join(pieces))
    assert redact(once) == once
    assert SECRET not in once
    assert SECRET.encode().hex() not in once


@settings(deadline=None)
@given(
    secret_at=st.integers(0, 9_000),
    cuts=st.lists(st.integers(0, 10_000), max_size=12),
    value=st.sampled_from([*FORMS.values(), *TOKENS]),
)
def test_across_chunk_borders(secret_at: int, cuts: list[int], value: str) -> None:
    """A stream gives the same text as the whole, wherever it was cut."""
    text = "word " * 2_000
    text = text[:secret_at] + " " + value + " " + text[secret_at:]
    redact = Redactor([SECRET])
    stream = redact.stream()
    borders = sorted({0, *cuts, len(text)})
    out = [stream.feed(text[a:b]) for a, b in pairwise(borders)]
    assert "".join([*out, stream.close()]) == redact(text)


def test_a_stream_lets_go() -> None:
    """Memory stays flat, also when a match has no end."""
    stream = Redactor().stream()
    shown = sum(len(stream.feed("sk-" + "a1" * 5_000)) + len(stream.feed("plain " * 2_000)) for _ in range(40))
    assert shown > 0
    assert len(stream.close()) < 30_000


def test_a_secret_that_comes_later_is_known_from_then_on() -> None:
    """In every form, beside the earlier ones; streams that are open hear of it too."""
    redact = Redactor(["first-value"])
    stream = redact.stream()
    assert redact(f"{SECRET} first-value") == f"{SECRET} {PLACEHOLDER}"
    redact.add(SECRET, "first-value", "")
    for text in FORMS.values():
        assert PLACEHOLDER in redact(text)
    assert stream.feed(f"a {SECRET} b") + stream.close() == f"a {PLACEHOLDER} b"
    assert redact("first-value") == PLACEHOLDER


@pytest.mark.parametrize("piece", ["\\", "\\n", "\n", "\n> ", "a\\\\n"])
def test_piles_of_breaks_take_their_time_and_no_more(piece: str) -> None:
    """In processor time of this thread."""
    begin = time.thread_time()
    Redactor([SECRET])(piece * (200_000 // len(piece)))
    assert time.thread_time() - begin < 2
