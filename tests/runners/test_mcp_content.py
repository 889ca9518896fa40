"""From content blocks to a value; what is too large; what is redacted."""

from __future__ import annotations

from typing import Any

import pytest

from bot.runners.mcp_content import VALUE_MAX, TooLarge, bounded, scrubbed, size_of, text_of, value_of

TEXT = {"type": "text", "text": "words"}


@pytest.mark.parametrize(
    ("structured", "blocks", "value"),
    [
        ({"a": 1}, [TEXT], {"a": 1}),
        ([], [TEXT], []),
        (0, [TEXT], 0),
        (None, [TEXT], "words"),
        (None, [{"type": "text", "text": ' {"a": [1.5]} '}], {"a": [1.5]}),
        (None, [{"type": "text", "text": "null"}], None),
        (None, [{"type": "text", "text": "Infinity"}], "Infinity"),
        (None, [{"type": "text", "text": "[" * 100_000}], "[" * 100_000),
        (None, [], ""),
    ],
)
def test_values(structured: Any, blocks: list[dict[str, Any]], value: Any) -> None:
    """Structure wins, whatever it is; else JSON text, else text."""
    assert value_of(structured, blocks) == value


def test_what_is_no_text_is_named() -> None:
    """By kind and size, never with its bytes."""
    blocks: list[dict[str, Any]] = [
        TEXT,
        {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
        {"type": "resource", "resource": {"uri": "file:///b", "blob": "QUJD"}},
        {"type": "resource_link", "uri": "file:///c", "name": "c"},
        {"type": "audio", "data": "QUJDREVG", "mimeType": "audio/wav"},
        {"type": "later"},
    ]
    assert text_of(blocks).splitlines() == [
        "words",
        "inside",
        "[resource data, 3 bytes]",
        "file:///c",
        "[audio audio/wav, 6 bytes]",
        "[later]",
    ]


def test_sizes_are_those_of_compact_json() -> None:
    """In UTF-8, with quotes and escapes."""
    assert size_of({"é": ["\n", 1]}) == len('{"é":["\\n",1]}'.encode())
    assert size_of("\ud800") == 3
    assert bounded("it has", "x" * (VALUE_MAX - 2)) == "x" * (VALUE_MAX - 2)
    with pytest.raises(TooLarge) as caught:
        bounded("it has", "x" * (VALUE_MAX - 1))
    assert caught.value.message == "it has 8,388,609 bytes; at most 8,388,608 are passed on"
    assert "name and a path" in caught.value.hint


def test_redaction_reaches_keys_and_lists() -> None:
    """Other values stay what they are."""
    value = {"a-x": [1, None, True, "x", {"b": "axa"}]}
    assert scrubbed(value, lambda text: text.replace("x", "-")) == {"a--": [1, None, True, "-", {"b": "a-a"}]}
