"""Rows of steps within a step: where their routes lead, what they see, and what is seen of them."""

from __future__ import annotations

import time

import pytest

from bot.workflows import RunStep, Workflow
from bot.workflows.frames import Frames, Sight
from tests.workflows.yaml_cases import BOT, findings, marked, only, place

HEAD = """version: 1
resources: {r: {url: 'https://mcp.example.org', public: {region: n}}, hook: {webhook: 'https://h.example.org'}}
agents: {x: {model: 'demo:x'}, ask: {model: 'demo:x'}, y: {model: 'demo:x', prompt: 'Look at ${{ item ?? 1 }}'}}
workflows:
 w:
  params: {p: '1'}
  inputs: {t: {type: text, default: a}, f: {type: file, required: false}, s: {type: secret, required: false}}
  steps:
"""
#: steps around the one with the fault
NESTED = """  - {id: first, run: date, writes: [early], produces: [{id: log, kind: log}]}
  - id: both
    parallel:
      branches:
        left:
          - {id: l1, run: date, writes: [from_left], produces: [{id: inner_log, kind: log}]}
          - LEFT
        right:
          - {id: r1, run: date}
  - id: group
    steps:
      - {id: g1, run: date, writes: [from_group]}
      - GROUP
  - id: fan
    each: {over: [1, 2], as: one}
    steps:
      - {id: f1, run: date, writes: [from_fan]}
      - FAN
  - LAST
"""
PLACES = {"LEFT": "l9", "GROUP": "g9", "FAN": "f9", "LAST": "z9"}


def nested(where: str, step: str) -> str:
    """The workflow with `step` in one of its places."""
    text = NESTED
    for name, plain in PLACES.items():
        text = text.replace(name, step if name == where else f"{{id: {plain}, run: date}}")
    return HEAD + text


REFUSED = [
    # routes stay in their frame
    ("LEFT", "{id: a, run: date, next: ^first}", "route", "routes stay in their frame, which has `l1`, `a`, `end`"),
    ("LEFT", "{id: a, run: date, next: ^r1}", "route", "routes stay in their frame"),
    ("GROUP", "{id: a, run: date, next: ^z9}", "route", "`end`"),
    ("LAST", "{id: a, run: date, next: ^g1}", "route", "routes stay in their frame"),
    ("FAN", "{id: a, run: date, next: ^nowhere}", "route", "`f1`"),
    ("GROUP", "{id: a, ask: Go?, options: {yes: ^z9, no: end}}", "route", "routes stay in their frame"),
    ("GROUP", "{id: a, ask: Go?, options: {yes: end, no: {rework: ^first}}}", "route", "routes stay in their frame"),
    # steps seen and not seen
    (
        "LEFT",
        "{id: a, agent: x, prompt: '^${{ steps.r1.output }}'}",
        "unknown_step",
        "after `both`: `steps.both.result",
    ),
    (
        "LEFT",
        "{id: a, agent: x, prompt: '^${{ steps.both.output }}'}",
        "unknown_step",
        "steps before it: `l1`, `first`",
    ),
    ("LEFT", "{id: a, agent: x, prompt: '^${{ steps.group.output }}'}", "unknown_step", "`l1`, `first`"),
    ("LAST", "{id: a, agent: x, prompt: '^${{ steps.l1.output }}'}", "unknown_step", "`steps.both.result.left.…`"),
    ("LAST", "{id: a, agent: x, prompt: '^${{ steps.l1.output }}'}", "unknown_step", "`ctx.parallel.results`"),
    ("LAST", "{id: a, agent: x, prompt: '^${{ steps.g1.output }}'}", "unknown_step", "`steps.group.result.…`"),
    ("LAST", "{id: a, agent: x, prompt: '^${{ steps.f1.output }}'}", "unknown_step", "`steps.fan.result.<key>.…`"),
    ("LAST", "{id: a, run: date, when: \"^steps.l1.outcome == 'fail'\"}", "unknown_step", "`steps.both.result.left.…`"),
    ("LAST", "{id: a, agent: x, context: [^g1]}", "unknown_step", "`steps.group.result.…`"),
    ("LAST", "{id: a, run: date, decide: ^steps.g1.result.x, transitions: {y: end}}", "unknown_step", "steps.group"),
    ("LAST", "{id: a, agent: x, prompt: '^${{ steps.both.result.middle.x }}'}", "unknown_field", "`left`, `right`"),
    # the run context
    (
        "LAST",
        "{id: a, run: date, when: \"^ctx.from_left == ''\"}",
        "context_key",
        "steps.both.result.<branch>.from_left",
    ),
    ("LAST", "{id: a, run: date, reads: [^from_left]}", "context_key", "`ctx.parallel.results`"),
    ("LAST", "{id: a, agent: x, context: [^ctx.from_fan]}", "context_key", "`steps.fan.result.<key>`"),
    ("LAST", "{id: a, agent: x, context: [^ctx.nothing]}", "context_key", "writes: [nothing]"),
    # elements
    ("LAST", "{id: a, agent: x, prompt: '^${{ item }}'}", "item", "add `each"),
    ("LAST", "{id: a, agent: x, prompt: '^${{ one }}'}", "namespace", ""),
    ("LAST", "{id: a, run: date, when: '^item == 1'}", "item", "add `each"),
    ("LAST", "{id: a, run: date, each: {over: [1]}, when: '^item == 1'}", "item", "group of `steps`"),
    ("LAST", "{id: a, run: date, each: {over: [1]}, next: [{when: '^item == 1', to: end}]}", "item", "group"),
    ("LAST", "{id: a, run: date, each: {over: '^${{ item }}'}}", "item", "group of `steps`"),
    # artifacts
    ("LAST", "{id: a, agent: x, prompt: '^${{ artifacts.logs.uri }}'}", "unknown_artifact", "did you mean `log`?"),
    ("LAST", "{id: a, agent: x, prompt: '^${{ artifacts.plan.uri }}'}", "unknown_artifact", "produces: [{id: plan"),
    ("LAST", "{id: a, agent: x, prompt: '^${{ artifacts.inner_log.uri }}'}", "unknown_artifact", "`both` itself"),
    # resources, secrets, inputs
    ("LAST", "{id: a, notify: {comment: '^${{ resources.q.url }}'}}", "unknown_resource", "`hook`, `r`"),
    ("LAST", "{id: a, notify: {comment: '^${{ resources.r.headers }}'}}", "unknown_field", "`region`"),
    ("LAST", "{id: a, run: date, env: {A: '^${{ secrets.1A }}'}}", "name", "a letter first"),
    ("LAST", "{id: a, agent: x, prompt: '^${{ inputs.t.path }}'}", "template_depth", "only a `file` has fields"),
    ("LAST", "{id: a, agent: x, prompt: '^${{ inputs.f.pth }}'}", "unknown_field", "did you mean `path`?"),
    ("LAST", "{id: a, agent: x, prompt: '^${{ inputs.s }}'}", "namespace", "`env:`"),
    ("LAST", "{id: a, run: date, when: \"^inputs.s == ''\"}", "namespace", "`env:`"),
    # ids
    ("LAST", "{id: ^g1, run: date}", "duplicate_id", "nested steps counted"),
    ("LEFT", "{id: ^first, run: date}", "duplicate_id", "line 9"),
    # what runs again
    ("LAST", "{id: a, loop: ^{max: 2}, steps: [{id: i, run: date}]}", "missing_key", "add `until:"),
    ("LAST", "{id: a, run: date, next: a, loop: {until: ^'true'}}", "modifier", "into a group"),
    ("LAST", "{id: a, run: date, next: a, each: {over: [1]}, loop: ^{max: 2}}", "modifier", "group of `steps`"),
    (
        "LAST",
        "{id: a, run: date, each: {over: [1]}, result: {fields: {}, on_mismatch: retry}, rework: {to: ^first}}",
        "route",
        "{to: a}",
    ),
    (
        "LAST",
        "{id: a, ask: Ok?, each: {over: [1]}, options: {y: end, n: {rework: ^first}}}",
        "route",
        "{rework: a}",
    ),
    ("LAST", "{id: a, ask: Ok?, each: {over: [1], concurrency: ^2}}", "modifier", "write 1"),
    ("LAST", "{id: a, each: {over: [1], concurrency: ^4}, steps: [{id: i, wait: {for: 1m}}]}", "modifier", "write 1"),
    (
        "LAST",
        "{id: a, agent: x, tools: [{name: run_command, approval: true}], each: {over: [1], concurrency: ^2}}",
        "modifier",
        "write 1",
    ),
    # gates
    ("LAST", "{id: a, ask: Ok?, options: {y: ^nowhere}}", "route", ""),
    ("LAST", "{id: a, ask: Ok?, options: {y: end, n: {rework: ^fan}}, rework: {to: first}}", "route", "`first`"),
    ("LAST", "{id: a, ask: Ok?, options: {y: end}, rework: ^{to: first}}", "modifier", "answers of a gate"),
    ("LAST", "{id: a, ask: Ok?, ^on_timeout: later}", "option", "`approve`, `reject`"),
    ("LAST", "{id: a, ask: Ok?, decide: preferred_label, transitions: ^{approve: end}}", "transition", "reject"),
    (
        "LAST",
        "{id: a, classify: {text: t, labels: {p: P, q: Q}}, decide: result.label, transitions: ^{p: end}}",
        "transition",
        "add `q: step`",
    ),
]


@pytest.mark.parametrize(("where", "step", "code", "words"), REFUSED)
def test_what_is_refused(where: str, step: str, code: str, words: str) -> None:
    """Each with its file, place, code and hint."""
    text, at = marked(nested(where, step))
    found = [one for one in findings(text) if one.severity == "error"]
    assert [(one.file, place(one), one.code) for one in found] == [(BOT, at, code)], found
    assert words in found[0].hint, found[0]


WARNED = [
    (
        "LAST",
        "{id: a, agent: x, prompt: '^${{ ctx.from_left }}'}",
        "context_key",
        "steps.both.result.<branch>.from_left",
    ),
    ("LEFT", "{id: a, agent: x, prompt: '^${{ ctx.from_group }}'}", "context_key", "before this one"),
    ("LAST", "{id: a, agent: x, prompt: '^${{ steps.first.pr_url }}'}", "unknown_field", "`pull_request`"),
    ("LAST", "{id: a, agent: x, prompt: '^${{ steps.both.branch }}'}", "unknown_field", "`run`"),
    ("LAST", "{id: a, run: date, when: '^one == 1'}", "unknown_name", "text stands in quotes"),
    (
        "GROUP",
        (
            "{id: a, classify: {text: t, labels: {p: P, q: Q}}, decide: result.label,"
            " transitions: {p: end, q: end, ^s: end}}"
        ),
        "transition",
        "`p`, `q`",
    ),
]


@pytest.mark.parametrize(("where", "step", "code", "words"), WARNED)
def test_what_is_warned_of(where: str, step: str, code: str, words: str) -> None:
    """The configuration can be used; the author is told."""
    text, at = marked(nested(where, step))
    if code == "transition":
        at = (at[0], at[1] + 3)  # the place of a transition is its target
    found = only(text)
    assert (place(found), found.code, found.severity) == (at, code, "warning"), found
    assert words in found.hint, found


FINE = [
    ("LEFT", "{id: a, agent: x, prompt: '${{ steps.first.output }} ${{ steps.l1.output }} ${{ ctx.early }}'}"),
    ("LEFT", "{id: a, agent: x, context: [first, l1, ctx.from_left, ctx.early]}"),
    ("LEFT", "{id: a, run: date, next: l1, loop: {max: 2}}"),
    ("GROUP", "{id: a, agent: x, context: [first, both, ctx.from_group], prompt: '${{ steps.both.result.left.x }}'}"),
    ("GROUP", "{id: a, ask: Go?, options: {yes: end, no: {rework: g1}}}"),
    (
        "FAN",
        "{id: a, agent: x, prompt: '${{ item }} ${{ item.a.b }} ${{ one.c }} ${{ loop.index }} ${{ ctx.from_fan }}'}",
    ),
    ("FAN", "{id: a, run: date, when: 'item == 1 && one == 1', reads: [from_fan, from_group]}"),
    ("FAN", "{id: a, agent: y, each: {over: '${{ item }}', as: inner}, prompt: '${{ inner }} ${{ one }}'}"),
    ("FAN", "{id: a, ask: 'Take ${{ one }}?'}"),
    ("LAST", "{id: a, agent: x, context: [both, group, fan, ctx.from_group, fan.result.0.x]}"),
    ("LAST", "{id: a, agent: x, prompt: '${{ ctx.parallel.results }} ${{ artifacts.log.content }}'}"),
    ("LAST", "{id: a, agent: x, prompt: '${{ inputs.f }} ${{ inputs.f.sha256_hex }}', each: {over: [1]}}"),
    ("LAST", "{id: a, run: date, env: {A: '${{ inputs.s }}', B: '${{ secrets.ANY_NAME }}'}}"),
    ("LAST", "{id: a, agent: y, each: {over: ['${{ steps.first.output }}']}}"),
    ("LAST", "{id: a, ask: Ok?, each: {over: [1], concurrency: 1}, options: {y: end, n: {rework: a}}}"),
    ("LAST", "{id: a, ask: Ok?, text: true, options: {y: end, n: {rework: first}}, on_timeout: y}"),
    (
        "LAST",
        (
            "{id: a, loop: {max: 2, until: \"steps.i.outcome == 'success' && ctx.k == '1' && outcome == 'success'\"},"
            " steps: [{id: j, run: date, env: {A: '${{ ctx.k }}'}}, {id: i, run: date, writes: [k]}]}"
        ),
    ),
]


@pytest.mark.parametrize(("where", "step"), FINE)
def test_what_is_fine(where: str, step: str) -> None:
    """What may be there is not flagged."""
    assert findings(nested(where, step)) == ()


def test_an_agents_prompt_may_name_the_element() -> None:
    """Where a step asks it for each element; elsewhere a default makes up for it, and else it is refused."""
    agents = HEAD.replace(" ?? 1 }}", " }}")
    assert findings(agents + "  - {id: a, agent: y, each: {over: [1]}}\n") == ()
    found = only(agents + "  - {id: a, agent: y}\n")
    assert (found.code, place(found), found.file) == ("item", (3, 94), BOT)


def test_a_step_after_a_gate_is_reached_by_its_answers() -> None:
    """Each option is a route; a step that no answer leads to is not reached."""
    gate = "  - {id: a, ask: Ok?, options: {y: c}}\n  - {id: b, run: date}\n  - {id: c, run: date}\n"
    assert [(one.code, one.line) for one in findings(HEAD + gate)] == [("unreachable", 10)]
    assert findings(HEAD + gate.replace("{y: c}", "{y: c, n: b}")) == ()
    assert findings(HEAD + gate.replace("{y: c}", "{y: c}, text: true")) == ()


def test_unreachable_within_a_frame() -> None:
    """Rule 2 holds for every row."""
    text = nested("GROUP", "{id: a, run: date, next: end}\n      - {id: b, run: date}")
    found = only(text)
    assert (found.code, found.message) == ("unreachable", "no route leads to the step `b`")


def test_how_steps_look_from_each_other() -> None:
    """The views that messages are made of, and which steps keep what they write."""
    from bot.workflows import load

    flow = load({BOT: nested("LAST", "{id: z9, run: date}")}).workflows["w"]
    frames = Frames(flow)

    def sight(name: str, from_: str) -> Sight:
        step = frames.step(from_)
        assert step is not None
        return frames.view(name, step).sight

    assert sight("first", "l1") is Sight.SEEN
    assert sight("l1", "l9") is Sight.SEEN
    assert sight("l9", "l1") is Sight.AFTER
    assert sight("l1", "l1") is Sight.ITSELF
    assert sight("both", "l1") is Sight.AROUND
    assert sight("group", "l1") is Sight.AFTER
    assert sight("r1", "l1") is Sight.WITHIN
    assert sight("l1", "z9") is Sight.WITHIN
    assert sight("nobody", "z9") is Sight.UNKNOWN
    last = frames.step("z9")
    assert last is not None
    assert [frames.writes_reach(one, last) for one in ("first", "l1", "g1", "f1")] == [True, False, True, False]
    assert [(keeper.id if (keeper := frames.isolated(one, last)) else "") for one in ("first", "l1", "g1", "f1")] == [
        "",
        "both",
        "",
        "fan",
    ]
    assert frames.before(last) == ("first", "both", "group", "fan")


def test_nesting_does_not_cost_more_than_length() -> None:
    """Two hundred steps in forty frames of growing depth are as quick as two hundred in one."""

    def row(depth: int) -> list[dict[str, object]]:
        here: list[dict[str, object]] = [{"id": f"d{depth}_{n}", "run": "date"} for n in range(5)]
        return [*here, {"id": f"g{depth}", "steps": row(depth + 1)}] if depth < 12 else here

    deep = Workflow.model_validate_json(_json({"steps": row(0)}))
    flat = Workflow(steps=tuple(RunStep(id=f"s{n}", run="date") for n in range(78)))
    assert _seconds(deep) < 10 * _seconds(flat) + 0.05


def _seconds(workflow: Workflow) -> float:
    begun = time.process_time()
    for _ in range(5):
        Frames(workflow)
    return time.process_time() - begun


def _json(value: object) -> str:
    import json

    return json.dumps(value)


def test_a_result_of_elements_begins_with_their_key() -> None:
    """Behind it stand the declared fields, which are those of one element."""
    fan = "  - {id: a, run: date, each: {over: [1]}, result: {fields: {n: {type: number}}}}\n"
    use = "  - {id: b, agent: x, prompt: '${{ steps.a.result.north.%s }}'}\n"
    assert findings(HEAD + fan + use % "n") == ()
    found = only(HEAD + fan + use % "m")
    assert (found.code, found.severity, found.hint) == ("unknown_field", "warning", "expected one of `n`")


def test_a_name_of_the_element_is_not_there_where_all_are_asked() -> None:
    """A list to go over is made once; the name that `as` gives is unknown in it, as `item` is refused."""
    text, at = marked(HEAD + "  - {id: a, run: date, each: {over: ['^${{ one }}'], as: one}}\n")
    found = only(text)
    assert (found.code, place(found)) == ("namespace", at)
