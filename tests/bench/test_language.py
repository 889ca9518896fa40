"""How long the workflow language takes: `make bench` runs it; each goal is the design's."""

from __future__ import annotations

from tests.bench.language import CONDITION_US, LOAD_MS, SLOT_US, condition_us, flat, load_ms, nested, slot_us


def test_two_hundred_steps_in_a_row_load() -> None:
    """YAML, models, templates, conditions, and every check."""
    taken = load_ms(flat, 20)
    print(f"\nload 200 steps in a row: {taken:.1f} ms (goal {LOAD_MS:.0f})")
    assert taken < LOAD_MS


def test_two_hundred_nested_steps_load() -> None:
    """Frames do not cost more than length."""
    taken = load_ms(nested, 20)
    print(f"\nload 200 steps in groups: {taken:.1f} ms (goal {LOAD_MS:.0f})")
    assert taken < LOAD_MS


def test_a_template_slot() -> None:
    """Two values put into a prompt."""
    taken = slot_us(30)
    print(f"\na template slot: {taken:.1f} µs (goal {SLOT_US:.0f})")
    assert taken < SLOT_US


def test_a_condition() -> None:
    """Two values compared."""
    taken = condition_us(30)
    print(f"\na condition: {taken:.1f} µs (goal {CONDITION_US:.0f})")
    assert taken < CONDITION_US
