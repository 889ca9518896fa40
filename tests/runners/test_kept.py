"""A conversation that waits for a person: what the person is shown."""

from __future__ import annotations

import json

import pytest

from bot.publish import Policy, Sink
from bot.runners.kept import question
from bot.runners.toolbox import Waiting


@pytest.mark.parametrize(
    "value", ["src/\u202emain\u200b.py", "a\u2066 #; rm -rf /\u2069", "\U000e0041x\ufe0f", "\u3164", "tab\x7f\x9b31m"]
)
def test_what_is_shown_of_a_call_is_what_runs(value: str) -> None:
    """Characters that the comment would lose are spelled out."""
    arguments = {"path": value, "text": "zürich 東京"}
    shown = question("x", Waiting("1", "c", "t", arguments), json.dumps(arguments, ensure_ascii=False, indent=2)).show
    posted = Policy().apply(shown, Sink.COMMENT)
    assert "zürich 東京" in posted
    assert json.loads("\n".join(posted.splitlines()[1:-1])) == arguments
