"""Generous bounds: they hold on a busy machine, and not where work grows faster than the file."""

from __future__ import annotations

import pytest

from tests.bench.language import CONDITION_US, LOAD_MS, SLOT_US, condition_us, flat, load_ms, nested, slot_us


@pytest.mark.parametrize("files", [flat, nested])
def test_loading(files: object) -> None:
    """Five times what the benchmark allows."""
    assert load_ms(flat if files is flat else nested, 3) < 5 * LOAD_MS


def test_templates_and_conditions() -> None:
    """The same for what is done at each step."""
    assert slot_us(5) < 5 * SLOT_US
    assert condition_us(5) < 5 * CONDITION_US
