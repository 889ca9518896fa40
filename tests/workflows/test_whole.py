"""A file with everything in it is without a finding, fits the JSON Schemas, and each key arrives at its step."""

from __future__ import annotations

import pytest

from bot.workflows import AgentStep, Configuration, builtin_files, check
from bot.workflows.agent_step import ClassifyStep
from bot.workflows.base_step import BaseStep, WorkingStep
from bot.workflows.frames import Frames
from bot.workflows.modifiers import KINDS, MODIFIERS, OWN
from bot.workflows.node import Node
from bot.workflows.step import STEP_TYPES, Step
from tests.workflows.test_schemas import data, errors
from tests.workflows.whole import BOT, FILES
from tests.workflows.yaml_cases import BOT as PATH


@pytest.fixture(scope="module")
def whole() -> Configuration:
    configuration, found = check({**FILES, PATH: BOT}, builtin_files())
    assert found == ()
    assert configuration is not None
    return configuration


def steps(configuration: Configuration) -> list[Step]:
    return list(configuration.workflows["implement"].every_step)


def test_every_kind_and_every_key_is_in_it(whole: Configuration) -> None:
    """Else the file would prove nothing."""
    found = steps(whole)
    assert {step.kind for step in found} == set(KINDS)
    given = {key for step in found for key in _keys(step)}
    assert given >= MODIFIERS.keys() | OWN.keys()


def _keys(node: Node) -> set[str]:
    fields = type(node).model_fields
    return {fields[name].alias or name for name in node.model_fields_set}


def test_it_fits_the_schemas() -> None:
    """Editors show no error in it."""
    assert errors("bot", data(BOT)) == []
    assert errors("workflow", data(FILES[".github/bot/workflows/measure.yml"])) == []


def test_what_is_in_force(whole: Configuration) -> None:
    """Defaults of the workflow and of the agents reach nested steps, and those whom a `classify` asks."""
    by_id = {step.id: step for step in steps(whole)}
    fast, sort, change, pause, approve = (by_id[one] for one in ("fast", "sort", "change", "pause", "approve"))
    assert isinstance(fast, AgentStep)
    assert isinstance(sort, ClassifyStep)
    assert isinstance(change, AgentStep)
    assert isinstance(approve, WorkingStep)
    assert isinstance(pause, WorkingStep)
    assert (fast.timeout, fast.fidelity, fast.injection_cap, fast.workspace) == (600, "summary:medium", 9000, "read")
    assert [entry.name for entry in fast.offered] == ["read_file", "run_command"]
    assert (sort.asked, change.workspace, pause.timeout, approve.timeout) == ("reader", "none", 60, 3 * 86400)
    look, parts, stock = by_id["look"], by_id["parts"], by_id["stock"]
    assert isinstance(look, AgentStep)
    assert isinstance(parts, WorkingStep)
    assert isinstance(stock, WorkingStep)
    # the step's own `run_command` replaces the agent's, which would wait for a person
    assert [(entry.name, entry.approval, entry.budget) for entry in look.offered] == [
        ("read_file", False, 0),
        ("run_command", False, 2),
    ]
    assert (parts.concurrency, stock.concurrency, look.concurrency) == (2, 4, 1)


def test_its_frames(whole: Configuration) -> None:
    """One for each row; each step is found in its own."""
    frames = Frames(whole.workflows["implement"])
    assert [(frame.owner.id if frame.owner else "", frame.branch) for frame in frames.rows] == [
        ("", ""),
        ("views", "speed"),
        ("views", "safety"),
        ("parts", ""),
        ("mend", ""),
    ]
    assert [frame.shares_context for frame in frames.rows] == [False, False, False, False, True]
    assert frames.frame("told").branch == "safety"
    assert [step.id for _, step in frames.lineage("told")] == ["told", "views"]


@pytest.mark.parametrize("model", STEP_TYPES, ids=lambda model: str(model.KIND))
def test_which_kind_takes_which_key(model: type[BaseStep]) -> None:
    """The table, the models and the schema agree for every pair of a kind and a key."""
    schema = model.model_json_schema()
    properties = set(schema.get("properties") or schema["$defs"][model.__name__]["properties"])
    for key, kinds in MODIFIERS.items():
        assert (key in properties) is (model.KIND in kinds), key


#: the work of each kind, as small as it may be
SMALLEST = {
    "agent": "agent: x",
    "run": "run: date",
    "code": "code: return 1",
    "ask": "ask: Sure?",
    "classify": "classify: {text: t, labels: {p: P, q: Q}}",
    "review": "review: {findings: []}",
    "notify": "notify: {comment: c}",
    "connector": "connector: {resource: r, tool: t}",
    "pull_request": "pull_request: {title: t}",
    "uses": "uses: other",
    "parallel": "parallel: {branches: {b: [{id: i, run: date}]}}",
    "steps": "steps: [{id: i, run: date}]",
    "switch": "switch: [{to: end}]",
    "wait": "wait: {for: 1m}",
    "end": "end: {}",
}
#: a value of each key that is right where the key means something
VALUES = {
    "when": "'true'",
    "each": "{over: [1]}",
    "loop": "{max: 1}",
    "retry": "{max: 1}",
    "timeout": "5m",
    "budget": "{usd: 1}",
    "inputs": "{}",
    "reads": "[outcome]",
    "next": "end",
    "decide": "outcome",
    "transitions": "{success: end}",
    "rework": "{to: a}",
    "produces": "[{id: p, kind: k}]",
    "publish": "true",
    "format": "text",
    "workspace": "none",
    "on_interrupt": "fail",
    "context": "[]",
    "fidelity": "full",
    "injection_cap": "9",
    "writes": "[k]",
    "result": "{fields: {}}",
}
HEAD = """version: 1
resources: {r: {url: 'https://mcp.example.org'}}
agents: {x: {model: 'demo:x'}, ask: {model: 'demo:x'}}
workflows:
 other: {export: {from: [o]}, steps: [{id: o, run: date}]}
 w:
  steps:
"""


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_where_it_means_nothing_is_refused(kind: str) -> None:
    """At the key, with the kinds that take it; where it means something, it is not refused as meaningless there."""
    assert VALUES.keys() == MODIFIERS.keys()
    for key, kinds in MODIFIERS.items():
        before = f"  - {{id: a, {SMALLEST[kind]}, "
        _, found = check({PATH: f"{HEAD}{before}{key}: {VALUES[key]}}}"})
        refused = [one for one in found if one.code == "modifier" and "means nothing to a step of kind" in one.message]
        if kind in kinds:
            assert refused == []
            continue
        (one,) = refused
        assert (one.line, one.column) == (8, len(before) + 1)
        assert one.message == f"`{key}` means nothing to a step of kind `{kind}`"
        assert one.hint.startswith("it is for ")


@pytest.mark.parametrize("kind", KINDS)
def test_the_smallest_step_of_each_kind(kind: str) -> None:
    """The key that names the work is enough."""
    assert check({PATH: f"{HEAD}  - {{id: a, {SMALLEST[kind]}}}"})[1] == ()
