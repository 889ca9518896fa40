"""`threadsmith schema`: what editors read."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Threadsmith
from tests.generated import ROOT


@pytest.mark.parametrize("kind", ["bot", "workflow"])
def test_it_prints_the_schema_of_a_kind_of_file(threadsmith: Threadsmith, kind: str) -> None:
    """The same as the committed one; how to use it goes to standard error, so that a file can be made of it."""
    said = threadsmith("schema", kind)
    assert said.out == (ROOT / "config" / f"{kind}.schema.json").read_text(encoding="utf-8")
    assert f"yaml-language-server: $schema=<path or address of {kind}.schema.json>" in said.err
    assert said.code == 0


def test_without_a_kind_it_is_the_file_that_everybody_has(threadsmith: Threadsmith) -> None:
    """`bot.yml`."""
    assert threadsmith("schema").out == threadsmith("schema", "bot").out


def test_another_kind_is_wrong_usage(threadsmith: Threadsmith) -> None:
    """Exit code 2, as for any word that a command does not take."""
    assert threadsmith("schema", "prompt").code == 2
