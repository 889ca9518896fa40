"""The matrix of slots and namespaces, as the design has it."""

from __future__ import annotations

import pytest

from bot.workflows.slots import AVAILABLE, NAMESPACES, RULES, Slot, is_foreign, reference_fault

#: a reference of each namespace that is right in itself
SAMPLES = {
    "trigger": "trigger.text",
    "issue": "issue.title",
    "run": "run.id",
    "params": "params.x",
    "inputs": "inputs.x",
    "steps": "steps.a.output",
    "ctx": "ctx.last_response",
    "item": "item.x",
    "loop": "loop.index",
    "artifacts": "artifacts.a.uri",
    "agent": "agent.name",
    "resources": "resources.x.url",
    "secrets": "secrets.X",
}
EVENT = {"trigger", "issue", "run", "params", "agent", "loop", "inputs"}
STEPS = {"steps", "ctx", "item", "artifacts"}
ROWS = {
    Slot.PROMPT: EVENT | STEPS,
    Slot.SPEECH: EVENT | STEPS | {"resources"},
    Slot.TYPED: EVENT | STEPS,
    Slot.COMMAND: {"ctx", "params", "run", "issue"},
    Slot.ARGV: {"ctx", "params", "run", "issue"},
    Slot.ENVIRONMENT: EVENT | STEPS | {"resources", "secrets"},
    Slot.RESOURCE: {"secrets"},
    Slot.CONDITION: set(),
    Slot.FIXED: set(),
}


def test_the_matrix_is_whole() -> None:
    """Every slot and every namespace is in it."""
    assert set(ROWS) == set(RULES) == set(Slot)
    assert set(SAMPLES) == set(NAMESPACES)


@pytest.mark.parametrize("slot", list(Slot))
@pytest.mark.parametrize("name", list(NAMESPACES))
def test_each_cell(slot: Slot, name: str) -> None:
    """Not in the row: refused. In the row but not filled today: not available. Else it is taken."""
    fault = reference_fault(tuple(SAMPLES[name].split(".")), slot)
    code = fault[0] if fault else None
    if not ROWS[slot]:
        assert code == "template_slot"
    elif name not in ROWS[slot]:
        assert code == "namespace"
    elif name not in AVAILABLE:
        assert code == "not_available"
    elif slot in (Slot.COMMAND, Slot.ARGV) and name in ("issue", "ctx"):
        assert code == "namespace"
    else:
        assert code is None


@pytest.mark.parametrize(
    ("path", "safe"),
    [
        ("issue.number", True),
        ("issue.url", False),
        ("run.goal", True),
        ("ctx.outcome", True),
        ("ctx.human_response", True),
        ("ctx.last_response", False),
        ("ctx.mine.outcome", False),
    ],
)
def test_safe_keys(path: str, safe: bool) -> None:
    """Of the issue only the number may stand in a command, of the run context four of the engine's keys."""
    assert (reference_fault(tuple(path.split(".")), Slot.COMMAND) is None) == safe


def test_thirty_two_segments() -> None:
    """The bound on a path is inclusive and counts the namespace."""
    steps = ("steps", "a", "result")
    assert reference_fault((*steps, *"x" * 30), Slot.PROMPT) == (
        "template_depth",
        "a path has at most 32 segments, this one 33",
        "go less deep",
    )
    assert reference_fault((*steps, *"x" * 29), Slot.PROMPT) is None


@pytest.mark.parametrize("path", ["steps.a.result.outcome", "steps.a.ctx.exit_code", "ctx.outcome", "inputs.number"])
def test_what_is_foreign(path: str) -> None:
    """A value of somebody's making is fenced, whatever its last word is."""
    assert is_foreign(tuple(path.split(".")))
    assert not is_foreign(("steps", "a", "cost"))
