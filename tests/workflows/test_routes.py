"""Routes as edges: what follows what, what lies upstream, and where an exhausted loop goes."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.workflows import AgentStep, Edge, Graph, RunStep, Via, Workflow, load, lower, targets
from bot.workflows.modifiers import KINDS, MODIFIERS, OWN, taken_by
from bot.workflows.step import STEP_TYPES
from tests.workflows.yaml_cases import BOT


def workflow(steps: str) -> Workflow:
    text = f"version: 1\nagents: {{x: {{model: 'demo:x'}}}}\nworkflows:\n w:\n  steps:\n{steps}"
    return load({BOT: text}).workflows["w"]


def routes(flow: Workflow, step_id: str) -> list[tuple[str, str | None, str, bool]]:
    step = flow.step(step_id)
    assert step is not None
    return [(edge.via.value, edge.target, edge.label, edge.backward) for edge in targets(flow, step)]


FLOW = """
  - {id: a, run: date, when: "1 == 1", next: [{when: "outcome == 'fail'", to: c}]}
  - {id: b, run: date, result: {fields: {r: {type: boolean}}, on_mismatch: e},
     decide: result.r, transitions: {"true": c, "false": end}, when: "1 == 1"}
  - {id: c, run: date, decide: {verdict: result.n, cases: [{when: value > 1, to: b}, {to: d}]},
     loop: {on_exhaust: last}}
  - {id: d, switch: [{when: "1 == 2", to: a}, {to: c}], loop: {max: 2, on_exhaust: e}, when: "1 == 1"}
  - {id: e, end: {}, when: "1 == 1"}
  - {id: f, agent: x, result: {fields: {}, on_mismatch: retry}, rework: {to: [c, f], on_exhaust: g}}
  - {id: g, run: date, next: g, loop: {on_exhaust: last}}
  - {id: h, run: date}
"""


def test_every_sort_of_route() -> None:
    """In the order in which they are tried; a target None is the end of the frame."""
    flow = workflow(FLOW)
    assert routes(flow, "a") == [
        ("skipped", "b", "", False),
        ("case", "c", "", False),
        ("order", "b", "", False),
    ]
    assert routes(flow, "b") == [
        ("skipped", "c", "", False),
        ("transition", "c", "true", False),
        ("transition", None, "false", False),
        ("mismatch", "e", "", False),
    ]
    assert routes(flow, "c") == [
        ("case", "b", "", True),
        ("default", "d", "", False),
        ("exhausted", "d", "", False),
    ]
    assert routes(flow, "d") == [
        ("skipped", "c", "", True),
        ("case", "a", "", True),
        ("default", "c", "", True),
        ("exhausted", "e", "", False),
    ]
    assert routes(flow, "e") == [("skipped", "f", "", False), ("end", None, "", False)]
    assert routes(flow, "f") == [
        ("order", "g", "", False),
        ("rework", "c", "", True),
        ("rework", "f", "", True),
        ("exhausted", "g", "", False),
    ]
    assert routes(flow, "g") == [("next", "g", "", True), ("exhausted", "h", "", False)]
    assert routes(flow, "h") == [("order", None, "", False)]


def test_defaults_and_lasts() -> None:
    """What a skipped step takes, and where `last` goes on."""
    graph = Graph(workflow(FLOW))
    assert [graph.default(one).target for one in "abcdefgh"] == ["b", "c", "d", "c", "f", "g", "g", None]
    assert (graph.last("c").target, graph.last("d").target, graph.last("g").target) == ("d", "e", "h")
    with pytest.raises(KeyError):
        graph.default("z")
    assert graph.edges("z") == ()


def test_conditions_travel_with_their_routes() -> None:
    """Only cases have one."""
    edges: tuple[Edge, ...] = Graph(workflow(FLOW)).edges("c")
    assert [edge.condition.text if edge.condition else None for edge in edges] == ["value > 1", None, None]
    assert edges[0].via is Via.CASE
    assert edges[0].key == ("decide", "cases", 0, "to")


def test_upstream_is_over_all_routes() -> None:
    """Backwards and forwards, without the step itself."""
    graph = Graph(workflow(FLOW))
    assert graph.upstream("a") == ("b", "c", "d", "e", "f")
    assert graph.upstream("h") == tuple("abcdefg")
    assert graph.upstream("g") == tuple("abcdef")
    assert graph.leads_to("g", "g")
    assert not graph.leads_to("h", "h")
    assert not graph.leads_to("h", "a")
    assert not graph.leads_to("z", "a")
    assert graph.reachable() == frozenset("abcdefgh")


IDS = [f"s{number}" for number in range(6)]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.sampled_from([*IDS, "end"]), max_size=3), min_size=6, max_size=6))
def test_reach_is_what_a_walk_finds(ways: list[list[str]]) -> None:
    """The bits agree with a search, and every cycle holds a backward edge, so that its bound holds the walk."""
    steps = tuple(
        RunStep.model_validate(
            {
                "id": IDS[at],
                "run": "date",
                **({"decide": "result.x", "transitions": {str(n): to for n, to in enumerate(way)}} if way else {}),
            }
        )
        for at, way in enumerate(ways)
    )
    graph = Graph(Workflow(steps=steps))
    for source in IDS:
        seen: set[str] = set()
        todo = [source]
        while todo:
            for edge in graph.edges(todo.pop()):
                if edge.target is not None and edge.target not in seen:
                    seen.add(edge.target)
                    todo.append(edge.target)
        assert {one for one in IDS if graph.leads_to(source, one)} == seen
        forward = [edge.target for edge in graph.edges(source) if edge.target and not edge.backward]
        assert all(target > source for target in forward)


def test_a_long_workflow_has_its_graph_quickly() -> None:
    """Two hundred steps that lead back and forth."""
    steps = tuple(
        RunStep.model_validate(
            {"id": f"s{n}", "run": "date", "decide": "result.x", "transitions": {"a": f"s{n // 2}", "b": f"s{n + 1}"}}
        )
        for n in range(199)
    )
    begun = time.process_time()
    graph = Graph(Workflow(steps=(*steps, RunStep(id="s199", run="date"))))
    assert graph.leads_to("s150", "s3")
    assert time.process_time() - begun < 0.5


def test_the_table_of_modifiers_is_that_of_the_models() -> None:
    """What a kind takes, its model has; what the model has besides is refused on that kind."""
    for model in STEP_TYPES:
        keys = {field.alias or name for name, field in model.model_fields.items()} - {"id", model.KIND}
        assert keys >= {key for key, kinds in {**MODIFIERS, **OWN}.items() if model.KIND in kinds}, model.KIND
        assert keys <= set(MODIFIERS) | {key for key, kinds in OWN.items() if model.KIND in kinds}, model.KIND
    assert all(kinds <= set(KINDS) for kinds in (*MODIFIERS.values(), *OWN.values()))
    assert taken_by("when") == "every kind"
    assert taken_by("result") == "every kind but `ask`, `review`, `notify`, `switch`, `wait`, `end`"
    assert taken_by("context") == "`agent`, `classify`"


def test_an_interruption_uses_one_level_lower() -> None:
    """As the design's page has it."""
    assert [lower(one) for one in ("full", "summary:high", "summary:medium", "summary:low", "truncate", "compact")] == [
        "summary:medium",
        "summary:medium",
        "summary:low",
        "compact",
        "compact",
        "compact",
    ]
    assert AgentStep(id="a", agent="x").fidelity == "full"
