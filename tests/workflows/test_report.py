"""The three formats of findings."""

from __future__ import annotations

import json

import pytest

from bot.finding import Finding
from bot.workflows.report import FORMATS

FINDINGS = (
    Finding(".github/bot.yml", 4, 5, "error", "unknown_key", "`modle` is not a key", "did you mean `model`?"),
    Finding("a,b:c.yml", 1, 1, "warning", "x", "50 % of\r\nit"),
)


def test_text_for_people() -> None:
    """Editors can jump to `file:line:column`; a hint stands in parentheses."""
    assert FORMATS["text"](FINDINGS).splitlines()[0] == (
        ".github/bot.yml:4:5: error unknown_key: `modle` is not a key (did you mean `model`?)"
    )


def test_json_for_programs() -> None:
    """The keys are those of the design, in that order."""
    first = json.loads(FORMATS["json"](FINDINGS))[0]
    assert list(first) == ["severity", "code", "file", "line", "column", "message", "hint"]
    assert first["line"] == 4


def test_annotations_for_actions() -> None:
    """Percent signs, line breaks, colons and commas are escaped as GitHub's runner reads them."""
    assert FORMATS["github"](FINDINGS).splitlines() == [
        "::error file=.github/bot.yml,line=4,col=5,title=unknown_key::`modle` is not a key (did you mean `model`?)",
        "::warning file=a%2Cb%3Ac.yml,line=1,col=1,title=x::50 %25 of%0D%0Ait",
    ]


@pytest.mark.parametrize(("name", "text"), [("text", ""), ("json", "[]\n"), ("github", "")])
def test_no_findings(name: str, text: str) -> None:
    """A correct file says nothing, in JSON an empty list."""
    assert FORMATS[name](()) == text
