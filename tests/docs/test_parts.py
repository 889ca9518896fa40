"""The generated parts: filled between their markers, complete, and true."""

from __future__ import annotations

import re

import pytest

from bot.model.state import TRANSITIONS
from bot.settings import Settings
from tests.docs import codes, reference
from tests.docs.pages import PAGES, ROOT, name
from tests.docs.parts import PAGES as FILLED
from tests.docs.parts import PARTS, fill


def test_a_part_is_filled_between_its_markers() -> None:
    """And only there; filling it again changes nothing."""
    text = "before\n<!-- generated: x -->\nold\n<!-- /generated -->\nafter\n"
    filled = fill(text, {"x": lambda: "new\n"})
    assert filled == "before\n<!-- generated: x -->\n\nnew\n\n<!-- /generated -->\nafter\n"
    assert fill(filled, {"x": lambda: "new\n"}) == filled


@pytest.mark.parametrize(
    "text",
    ["<!-- generated: nothing -->\n<!-- /generated -->\n", "<!-- generated: x -->\n", "<!-- /generated -->\n"],
)
def test_a_marker_that_means_nothing_is_refused(text: str) -> None:
    """A name without a part, and markers without a partner."""
    with pytest.raises(ValueError):
        fill(text, {"x": str})


def test_every_part_stands_on_a_page_and_every_such_page_is_written() -> None:
    """No part is made for nobody, no page is left out."""
    used: set[str] = set()
    pages = set()
    for page in PAGES:
        found = re.findall(r"<!-- generated: ([a-z-]+) -->", page.read_text(encoding="utf-8"))
        used.update(found)
        pages.update([name(page)] if found else [])
    assert used == set(PARTS)
    assert pages == set(FILLED)


def test_every_code_of_a_finding_has_its_meaning() -> None:
    """Those in the source, and no others."""
    assert codes.finding_codes() == set(codes.FINDINGS)


def test_every_code_of_a_failure_has_its_meaning() -> None:
    """Those in the source, and no others."""
    assert codes.failure_codes() == set(codes.FAILURES)


def test_every_setting_is_in_the_readme() -> None:
    """One row each."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for field in Settings.model_fields.values():
        assert text.count(f"| `{field.alias}` |") == 1


def test_every_state_is_described() -> None:
    """Each kind is a section, each state a row."""
    text = reference.states()
    assert text.count("## ") == len(TRANSITIONS)
    for kind in TRANSITIONS:
        for state in kind:
            assert f"| `{state}` |" in text
