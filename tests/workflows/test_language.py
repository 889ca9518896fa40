"""Routes, loops, rework, results, context and inputs of the YAML: what is refused, where, and with which hint."""

from __future__ import annotations

import pytest

from bot.workflows import AgentStep, EndStep, RunStep, SwitchStep, check
from tests.workflows.yaml_cases import BOT, configured, findings, marked, only, place

HEAD = "version: 1\nagents: {x: {model: 'demo:x'}}\nworkflows:\n w:\n"
EVERYTHING = f"""{HEAD}
  params: {{base: main}}
  inputs:
   area: {{type: enum, options: [api, web], default: api}}
   count: {{type: number, min: 0, max: 9, required: false}}
   dry: {{type: bool, default: false}}
   title: {{type: text, max_length: 5, pattern: "[a-z]+"}}
  defaults: {{fidelity: "summary:medium", injection_cap: 500}}
  steps:
  - id: plan
    agent: x
    when: "inputs.area == 'api' && params.base != ''"
    fidelity: compact
    injection_cap: 100
    prompt: "${{{{ inputs.area }}}} ${{{{ loop.index }}}} ${{{{ agent.name }}}} ${{{{ ctx.notes ?? 'none' }}}}"
    result:
     fields:
      risk: {{type: enum, options: [low, high], required: true}}
      parts: {{type: array, items: {{type: string}}}}
     on_mismatch: retry
    rework: {{to: plan, max_loops: 2, comments_as: why, workspace: keep, on_exhaust: stop}}
    writes: [notes, more.notes]
    reads: [why]
    decide: result.risk
    transitions: {{low: test, high: route}}
  - id: test
    run: make test
    env: {{RISK: "${{{{ steps.plan.result.risk ?? 'none' }}}}", COST: "${{{{ steps.plan.cost }}}}"}}
    result: {{fields: {{passed: {{type: number}}}}, required: false, on_mismatch: stop}}
    next: [{{when: "outcome == 'fail' && steps.test.exit_code == 2", to: plan}}, {{to: judge}}]
    loop: {{max: 3, on_exhaust: last}}
  - id: judge
    agent: x
    context: [plan, plan.result.parts, ctx.more.notes, test]
    decide: {{verdict: result.score, cases: [{{when: "value >= 0.8", to: end}}, {{to: route}}]}}
  - id: route
    switch: [{{when: "ctx.notes.contains('x') || has(ctx.more.notes)", to: plan}}, {{to: stop}}]
    loop: {{max: 2}}
  - id: stop
    end: {{outcome: fail, message: "Notes: ${{{{ ctx.notes }}}} ${{{{ steps.plan.ctx.more.notes }}}}"}}
"""


def test_every_key_of_the_language() -> None:
    """A correct file gives no finding, and each key arrives where it belongs."""
    assert findings(EVERYTHING) == ()
    plan, test, judge, route, stop = configured(EVERYTHING).workflows["w"].steps
    assert isinstance(plan, AgentStep)
    assert isinstance(test, RunStep)
    assert isinstance(judge, AgentStep)
    assert isinstance(route, SwitchStep)
    assert isinstance(stop, EndStep)
    assert plan.condition is not None
    assert plan.condition.evaluate({"inputs": {"area": "api"}, "params": {"base": "main"}})
    assert (plan.fidelity, plan.injection_cap, judge.fidelity, judge.injection_cap) == (
        "compact",
        100,
        "summary:medium",
        500,
    )
    assert plan.rework is not None
    assert (plan.rework.targets, plan.rework.max_loops, plan.rework.comments_as) == (("plan",), 2, "why")
    assert plan.result is not None
    assert (plan.result.required, plan.result.on_mismatch) == (True, "retry")
    assert [str(one) for one in plan.result.checker.check({"risk": "none"})] == [
        "`risk`: expected one of `low`, `high`, got `none`"
    ]
    assert (plan.decide, dict(plan.transitions), plan.writes, plan.reads) == (
        "result.risk",
        {"low": "test", "high": "route"},
        ("notes", "more.notes"),
        ("why",),
    )
    assert (test.loop.max, test.loop.on_exhaust, judge.loop.max) == (3, "last", 10)
    assert test.cases[0].condition is not None
    assert test.cases[0].condition.evaluate({"outcome": "fail", "steps": {"test": {"exit_code": 2}}})
    assert [one.what for one in judge.references] == ["output", "result", "ctx", "output"]
    assert [case.to for case in judge.cases] == ["end", "route"]
    assert (route.publish, route.workspace, route.retry.max) == (False, "none", 0)
    assert (stop.end.outcome, stop.format, stop.publish) == ("fail", "markdown", "final")
    assert stop.end.text is not None
    assert stop.end.text.render({"ctx": {"notes": "n"}}).text == "Notes: n ${{ steps.plan.ctx.more.notes }}"


def test_an_agents_own_fidelity() -> None:
    """The step's own, else the agent's, else the workflow's, else `full`."""
    agents = "version: 1\nagents: {x: {model: 'demo:x', fidelity: truncate, injection_cap: 9}, y: {model: 'demo:x'}}\n"
    steps = "[{id: a, agent: x}, {id: b, agent: y}]"
    one, two = configured(f"{agents}workflows: {{w: {{steps: {steps}}}}}").workflows["w"].steps
    assert isinstance(one, AgentStep)
    assert isinstance(two, AgentStep)
    assert (one.fidelity, one.injection_cap, two.fidelity, two.injection_cap) == ("truncate", 9, "full", None)


#: after each: the code, and what the hint or message holds
STEPS = [
    # shape of routes
    ("{id: a, run: date, next: ^5}", "type_mismatch", "id"),
    ("{id: a, run: date, next: ^last}", "route", "`end`"),
    ("{id: a, run: date, ^next: []}", "empty", "value"),
    ("{id: a, run: date, next: [^{when: 'true'}]}", "missing_key", "add `to:`"),
    ("{id: a, run: date, ^next: [{to: a}, {to: end}]}", "route", "add `when`"),
    ("{id: a, run: date, next: ^b}", "route", "`end`"),
    ("{id: a, run: date, next: [{when: 'true', to: ^b}, {to: end}]}", "route", "`a`, `end`"),
    ("^{id: a, run: date, next: end, decide: result.x, transitions: {x: end}}", "one_of", "remove"),
    ("^{id: a, run: date, decide: result.x}", "missing_key", "transitions"),
    ("^{id: a, run: date, transitions: {x: end}}", "modifier", "decide"),
    ("{id: a, run: date, decide: result.x, transitions: {x: ^nowhere}}", "route", "expected one of"),
    ("{id: a, run: date, decide: ^risk, transitions: {x: end}}", "decide", "result.risk"),
    ("{id: a, run: date, decide: ^result, transitions: {x: end}}", "decide", "result.risk"),
    ("{id: a, run: date, decide: ^'${{ result.x }}', transitions: {x: end}}", "template_slot", "result.risk"),
    (f"{{id: a, run: date, decide: ^result{'.x' * 32}, transitions: {{x: end}}}}", "template_depth", "less deep"),
    ("{id: a, run: date, ^decide: {verdict: result.x, cases: [{when: 'value > 1', to: end}]}}", "route", "{to: id}"),
    ("{id: a, run: date, decide: {verdict: ^x, cases: [{to: end}]}}", "decide", "result.risk"),
    ("^{id: a, switch: [{when: 'true', to: end}]}", "route", "{to: id}"),
    ("{id: a, switch: [{to: end}], ^next: end}", "modifier", "every kind but `switch`, `end`"),
    ("{id: a, switch: [{to: end}], ^retry: {max: 1}}", "modifier", "every kind but `switch`, `end`"),
    ("{id: a, switch: [{to: end}], ^publish: true}", "modifier", "every kind but `switch`"),
    ("{id: a, switch: [{to: end}], ^result: {fields: {}}}", "modifier", "every kind but"),
    ("{id: a, run: date, ^context: [b]}", "modifier", "`agent`, `classify`"),
    ("{id: a, run: date, ^fidelity: full}", "modifier", "`agent`, `classify`"),
    ("{id: a, end: {}, ^writes: [x]}", "modifier", "`agent`, `run`, `code`, `ask`"),
    ("{id: a, end: {}, ^loop: {max: 1}}", "modifier", "every kind but `end`"),
    ("{id: a, end: {outcome: ^failed}}", "option", "fail"),
    ("{id: a, end: {^text: x}}", "unknown_key", "message"),
    ("{id: a, end: ^done}", "type_mismatch", ""),
    # loops and rework
    ("{id: a, run: date, loop: ^{max: 1}}", "modifier", "leads back"),
    ("{id: a, run: date, next: a, loop: {max: ^0}}", "range", ""),
    ("{id: a, run: date, next: a, loop: {on_exhaust: ^end}}", "route", "`fail`, `last`"),
    ("{id: a, run: date, next: a, loop: {on_exhaust: ^a}}", "route", "below"),
    ("{id: a, run: date, next: a, loop: {on_exhaust: ^b}}", "route", ""),
    ("{id: a, run: date, rework: ^{to: a}}", "modifier", "on_mismatch: retry"),
    ("{id: a, run: date, result: {fields: {}, on_mismatch: ^retry}}", "missing_key", "add `rework: {to: a}`"),
    ("{id: a, run: date, result: {fields: {}, on_mismatch: ^b}}", "route", ""),
    ("{id: a, run: date, result: {fields: {}, on_mismatch: retry}, rework: {to: ^b}}", "route", ""),
    ("{id: a, run: date, result: {fields: {}, on_mismatch: retry}, rework: {to: [a, ^b]}}", "route", ""),
    ("{id: a, run: date, result: {fields: {}, on_mismatch: retry}, rework: {to: a, on_exhaust: ^last}}", "option", ""),
    (
        "{id: a, run: date, result: {fields: {}, on_mismatch: retry}, rework: {to: a, workspace: ^fresh}}",
        "not_available",
        "`keep`",
    ),
    (
        "{id: a, run: date, result: {fields: {}, on_mismatch: retry}, rework: {to: a, comments_as: ^outcome}}",
        "reserved_name",
        "another name",
    ),
    # results
    ("{id: a, run: date, ^result: {}}", "one_of", "fields"),
    ("{id: a, run: date, ^result: {fields: {}, schema: schemas/x.json}}", "one_of", "fields"),
    ("{id: a, run: date, result: {schema: ^schemas/x.json}}", "missing_file", "add the file"),
    ("{id: a, run: date, result: {schema: ^../x.json}}", "path_outside", "stay inside"),
    ("{id: a, run: date, result: {fields: {x: {type: ^text}}}}", "option", ""),
    ("{id: a, run: date, result: {fields: {^x: {type: enum}}}}", "missing_key", "options"),
    ("{id: a, run: date, result: {fields: {^x: {type: enum, options: [a, a]}}}}", "option", "keep one"),
    ("{id: a, run: date, result: {fields: {^x: {type: string, options: [a]}}}}", "modifier", "`enum`"),
    ("{id: a, run: date, result: {fields: {^x: {type: string, items: {type: string}}}}}", "modifier", "`array`"),
    ("{id: a, run: date, result: {fields: {^x: {type: array, fields: {}}}}}", "modifier", "`object`"),
    ("{id: a, run: date, result: {fields: {x: {type: array, ^itmes: {}}}}}", "unknown_key", "items"),
    ("{id: a, run: date, result: {fields: {^__proto__: {type: json}}}}", "reserved_name", "another"),
    ("{id: a, run: date, result: {fields: {}, on_mismatch: ^end}}", "route", "`fail`, `retry`"),
    (
        (
            "{id: a, run: date, result: {fields: {r: {type: enum, options: [p, q]}}},"
            " decide: result.r, transitions: ^{p: end}}"
        ),
        "transition",
        "add `q: step`",
    ),
    (
        "{id: a, run: date, result: {fields: {r: {type: boolean}}}, decide: result.r, transitions: ^{'true': end}}",
        "transition",
        "add `false: step`",
    ),
    ("{id: a, run: date, decide: inputs.area, transitions: ^{api: end}}", "transition", "add `web: step`"),
    # the run context
    ("{id: a, run: date, writes: [^outcome]}", "reserved_name", "another name"),
    ("{id: a, run: date, writes: [^response.a]}", "reserved_name", "another name"),
    ("{id: a, run: date, writes: [^issue.x]}", "reserved_name", "another name"),
    ("{id: a, run: date, writes: [^steps]}", "reserved_name", "another name"),
    ("{id: a, run: date, writes: [^'a b']}", "name", "letters"),
    ("{id: a, run: date, writes: [^5]}", "type_mismatch", "quotes"),
    ("{id: a, run: date, reads: [^nothing]}", "context_key", "writes: [nothing]"),
    ("{id: a, agent: x, context: [^'a.b']}", "context", "id.result.path"),
    ("{id: a, agent: x, context: [^'${{ steps.a.output }}']}", "template_slot", "id.result.path"),
    ("{id: a, agent: x, context: [^5]}", "type_mismatch", "id.result.path"),
    ("{id: a, agent: x, context: [^a]}", "unknown_step", "no step runs before it"),
    ("{id: a, agent: x, context: [^z]}", "unknown_step", "no step runs before it"),
    ("{id: a, agent: x, context: [^ctx.zz]}", "context_key", "writes: [zz]"),
    (f"{{id: a, agent: x, context: [^a.result{'.x' * 31}]}}", "template_depth", "less deep"),
    ("{id: a, agent: x, fidelity: ^medium}", "option", ""),
    ("{id: a, agent: x, fidelity: ^'summary: high'}", "option", ""),
    ("{id: a, agent: x, injection_cap: ^-1}", "range", ""),
    # conditions
    ("{id: a, run: date, when: ^true}", "type_mismatch", "quotes"),
    ("{id: a, run: date, when: ^''}", "empty", ""),
    ("{id: a, run: date, when: 'outcome ^= 1'}", "condition", "text stands in quotes"),
    ("{id: a, run: date, when: '^${{ ctx.x }}'}", "template_slot", "name the value alone"),
    ("{id: a, run: date, when: '^startWith(outcome)'}", "condition", "did you mean `startsWith`?"),
    ("{id: a, run: date, when: '^steps.a.outcome == 1'}", "unknown_step", "no step runs before it"),
    ("{id: a, run: date, when: '^steps.z.outcome == 1'}", "unknown_step", "no step runs before it"),
    ("{id: a, run: date, when: '1 == 1 && ^ctx.zz == 1'}", "context_key", "writes: [zz]"),
    ("{id: a, run: date, when: '^params.zz == 1'}", "unknown_param", "declare it"),
    ("{id: a, run: date, when: '^inputs.zz == 1'}", "unknown_input", "declare it"),
    ("{id: a, run: date, when: '^issue.titel == 1'}", "unknown_field", "title"),
    ("{id: a, run: date, when: '^item == 1'}", "item", "add `each"),
    (f"{{id: a, run: date, when: '^ctx{'.x' * 32} == 1'}}", "template_depth", "less deep"),
    ("{id: a, run: date, when: '^[1].all(ctx, ctx > 0)'}", "condition", "another name"),
    ("{id: a, run: date, next: [{when: '^steps.a.exit == 1', to: end}]}", "unknown_field", "exit_code"),
    ("{id: a, run: date, next: [{when: 'nope(^', to: end}]}", "condition", ""),
    ("{id: a, run: date, decide: ^steps.z.result.x, transitions: {x: end}}", "unknown_step", "no step"),
    # templates
    ("{id: a, agent: x, prompt: '^${{ inputs.zz }}'}", "unknown_input", "declare it: `inputs: {zz: {type: text}}`"),
    ("{id: a, agent: x, prompt: '^${{ inputs.aera }}'}", "unknown_input", "did you mean `area`?"),
    ("{id: a, end: {message: '^${{ steps.z.output }}'}}", "unknown_step", "no step"),
    ("{id: a, end: {message: '^${{ secrets.z }}'}}", "namespace", ""),
    ("{id: a, end: {message: '^${{ resources.z.url }}'}}", "unknown_resource", "resources: {z: …}"),
    ("{id: a, run: 'echo ^${{ ctx.last_response }}'}", "namespace", "`env:`"),
    ("{id: a, run: 'echo ^${{ inputs.area }}'}", "namespace", "`env:`"),
]


@pytest.mark.parametrize(("step", "code", "words"), STEPS)
def test_faults_of_a_step(step: str, code: str, words: str) -> None:
    """Each has one finding, at its place, with a hint."""
    inputs = "  inputs: {area: {type: enum, options: [api, web]}}\n"
    text, where = marked(f"{HEAD}{inputs}  steps:\n  - {step}")
    found = only(text)
    assert (found.code, found.severity, found.file, place(found)) == (code, "error", BOT, where), found
    assert words in f"{found.hint} {found.message}"


WARNINGS = [
    ("{id: a, run: date, when: \"^risk == 'x'\"}", "unknown_name", "conditions have"),
    ("{id: a, run: date, when: \"^outcom == 'x'\"}", "unknown_name", "did you mean `outcome`?"),
    ("{id: a, run: date, when: '^value > 1'}", "unknown_name", "by its path"),
    ("{id: a, run: date, when: '^secrets.X == 1'}", "unknown_name", "conditions do not have it"),
    ("{id: a, agent: x, prompt: '^${{ ctx.zz }}'}", "context_key", "writes: [zz]"),
    (
        (
            "{id: a, run: date, result: {fields: {r: {type: enum, options: [p]}}},"
            " decide: result.r, transitions: {p: end, pp: ^end}}"
        ),
        "transition",
        "did you mean `p`?",
    ),
    (
        "{id: a, run: date, result: {fields: {risk: {type: string}}}, decide: ^result.rsik, transitions: {p: end}}",
        "unknown_field",
        "did you mean `risk`?",
    ),
]


@pytest.mark.parametrize(("step", "code", "words"), WARNINGS)
def test_warnings_of_a_step(step: str, code: str, words: str) -> None:
    """What can work and probably does not stands in nobody's way."""
    text, where = marked(f"{HEAD}  steps:\n  - {step}")
    found = only(text)
    assert (found.code, found.severity, place(found)) == (code, "warning", where), found
    assert words in f"{found.hint} {found.message}"


WORKFLOWS = [
    ("{steps: [{id: a, run: date, next: end}, {id: ^b, run: date}]}", "unreachable", "lead to it"),
    ("{steps: [{id: a, end: {}}, {id: ^b, run: date}]}", "unreachable", "lead to it"),
    ("{steps: [{id: a, run: date}], params: {p: '1'}, inputs: {p: ^{type: text}}}", "duplicate_name", "line 4"),
    ("{steps: [{id: a, run: date}], inputs: {usd: ^{type: number}}}", "reserved_name", "another name"),
    ("{steps: [{id: a, run: date}], inputs: {tokens: ^{type: number}}}", "reserved_name", "another name"),
    ("{steps: [{id: a, run: date}], inputs: {minutes: ^{type: number}}}", "reserved_name", "another name"),
    ("{steps: [{id: a, run: date}], inputs: {f: {type: ^string}}}", "option", ""),
    ("{steps: [{id: a, run: date}], inputs: {^f: {type: enum}}}", "missing_key", "options"),
    ("{steps: [{id: a, run: date}], inputs: {^f: {type: text, min: 1}}}", "modifier", "`number`"),
    ("{steps: [{id: a, run: date}], inputs: {^f: {type: number, pattern: x}}}", "modifier", "`text`"),
    ("{steps: [{id: a, run: date}], inputs: {^f: {type: number, min: 2, max: 1}}}", "range", "exchange"),
    ("{steps: [{id: a, run: date}], inputs: {^f: {type: text, pattern: '(a'}}}", "pattern", "RE2"),
    ("{steps: [{id: a, run: date}], inputs: {^f: {type: text, pattern: '(?=a)'}}}", "pattern", "RE2"),
    ("{steps: [{id: a, run: date}], inputs: {^f: {type: number, default: x}}}", "input_default", "mend"),
    ("{steps: [{id: a, run: date}], inputs: {^f: {type: enum, options: [a], default: b}}}", "input_default", "mend"),
    ("{steps: [{id: a, run: date}], inputs: {f: {type: text, ^default: []}}}", "type_mismatch", ""),
    ("{steps: [{id: a, run: date}], inputs: {^F: {type: text}}}", "name", "lower-case"),
    # references over routes
    (
        "{steps: [{id: a, run: date, next: c}, {id: ^b, run: date}, {id: c, run: date}]}",
        "unreachable",
        "",
    ),
    (
        (
            "{steps: [{id: a, switch: [{when: 'true', to: b}, {to: c}]}, {id: b, run: date, next: end},"
            " {id: c, agent: x, context: [^b]}]}"
        ),
        "unknown_step",
        "steps before it: `a`",
    ),
    (
        (
            "{steps: [{id: a, switch: [{when: 'true', to: b}, {to: c}]}, {id: b, run: date, next: end},"
            " {id: c, agent: x, context: [^a]}]}"
        ),
        "context",
        "no output",
    ),
    (
        "{steps: [{id: a, run: date}, {id: b, run: date, env: {X: '^${{ steps.a.ctx.k }}', Y: x}}]}",
        "context_key",
        "add `writes: [k]`",
    ),
    (
        (
            "{steps: [{id: a, run: date},"
            " {id: b, agent: x, result: {fields: {}, on_mismatch: retry}, rework: {to: ^c}}, {id: c, run: date}]}"
        ),
        "route",
        "`a`, `b`",
    ),
]


@pytest.mark.parametrize(("workflow", "code", "words"), WORKFLOWS)
def test_faults_of_a_workflow(workflow: str, code: str, words: str) -> None:
    """Each is found once, at its place, with a hint; the first of a chain of them explains the others."""
    before, _, body = workflow.partition("^")
    text = "version: 1\nagents: {x: {model: 'demo:x'}}\nworkflows:\n w: "
    found = findings(f"{text}{before}{body}")
    first = found[0]
    assert first.code == code, found
    assert (first.line, first.column) == (4, len(before) + 5), found
    assert words in f"{first.hint} {first.message}"


def test_a_step_may_use_what_a_loop_brings_back() -> None:
    """Upstream is over all routes: a later step of the file is upstream of an earlier one in a loop."""
    steps = """
  - {id: a, agent: x, prompt: "${{ steps.b.output ?? 'first' }} ${{ ctx.k ?? '' }}"}
  - {id: b, run: date, writes: [k], next: [{when: "outcome == 'fail'", to: a}], loop: {max: 2}}
"""
    assert findings(f"{HEAD}  steps:{steps}") == ()
    assert [
        one.code for one in findings(f"{HEAD}  steps:{steps.replace('to: a', 'to: end').partition(', loop')[0]}}}")
    ] == [
        "unknown_step",
        "context_key",
    ]


def test_a_producer_that_cannot_reach_is_a_warning() -> None:
    """A key that only a later step writes may be a mistake; one that nothing writes is one."""
    steps = "[{id: a, run: date, when: \"ctx.k == '1'\"}, {id: b, run: date, writes: [k]}]"
    found = only(f"{HEAD}  steps: {steps}")
    assert (found.severity, found.code) == ("warning", "context_key")
    assert "`b`" in found.message


def test_the_engines_keys_are_never_flagged() -> None:
    """They are always there, or may be."""
    keys = "last_response response.a graph.goal summary.a parallel.results writes_error tool_stdout outcome"
    reads = ", ".join(keys.split())
    tokens = " ".join(f"${{{{ ctx.{key} }}}}" for key in keys.split())
    text = f"{HEAD}  steps: [{{id: a, agent: x, reads: [{reads}], prompt: '{tokens}'}}]"
    assert findings(text) == ()


def test_one_finding_for_each_step_and_name() -> None:
    """The same unknown step twice in one prompt is one mistake; an error beats a warning."""
    prompt = "${{ steps.z.output }} ${{ steps.z.error }} ${{ ctx.k }}"
    text = f"{HEAD}  steps: [{{id: a, agent: x, when: \"ctx.k == '1'\", prompt: '{prompt}'}}]"
    assert [(one.code, one.severity) for one in findings(text)] == [("context_key", "error"), ("unknown_step", "error")]


def test_a_condition_is_refused_with_cels_own_caret() -> None:
    """The message shows the expression and the place."""
    found = only(f"{HEAD}  steps: [{{id: a, run: date, when: 'outcome =='}}]")
    assert found.message.startswith("this is no condition: Syntax error: mismatched input")
    assert found.message.endswith("\n| outcome ==\n| ..........^")


def test_schema_files() -> None:
    """A JSON Schema, or the short form; faults stand in the file of the schema."""
    text = f"{HEAD}  steps: [{{id: a, run: date, result: {{schema: schemas/r.json}}}}]"

    def told(schema: str) -> list[tuple[str, int, int, str]]:
        _, found = check({BOT: text, ".github/bot/schemas/r.json": schema})
        return [(one.file.rsplit("/", 1)[-1], one.line, one.column, one.code) for one in found]

    assert told('{"type": "object", "properties": {"a": {"type": "string"}}}') == []
    assert told('{"schemaVersion": 1, "fields": [{"name": "a", "type": "string"}]}') == []
    assert told('{"type": \n "objekt"}') == [("r.json", 2, 2, "schema")]
    assert told('{"a": }') == [("r.json", 1, 7, "schema")]
    assert told("[]") == [("r.json", 1, 1, "schema")]
    assert told('{\n\t"schemaVersion": 2, "fields": []}') == [("r.json", 2, 19, "option")]
    assert told('{"schemaVersion": 1, "fields": [{"name": "a", "type": "txt"}]}') == [("r.json", 1, 55, "option")]
    assert told('{"schemaVersion": 1, "fields": [{"type": "string"}]}') == [("r.json", 1, 1, "missing_key")]
    twice = '{"schemaVersion": 1, "fields": [{"name": "a", "type": "json"}, {"name": "a", "type": "json"}]}'
    assert told(twice) == [("r.json", 1, 1, "duplicate_name")]
    assert told('{"$ref": "https://example.com/x.json"}') == [("r.json", 1, 10, "schema")]
    assert told('{"$ref": "#/$defs/no"}') == [("r.json", 1, 10, "schema")]
    assert told('{"$ref": "#"}') == [("r.json", 1, 1, "schema")]
    assert told('{"properties": {"a": {"$id": "x"}}}') == [("r.json", 1, 30, "schema")]
    # Pythons differ in how deep they read, and so in where they stop
    assert [(file, code) for file, _, _, code in told("[" * 3000)] == [("r.json", "schema")]
    assert told('{"not": ' * 800 + "{}" + "}" * 800) == [("r.json", 1, 1, "schema")]
    assert told('{"$defs": {"a/b": {}}, "items": {"$ref": "#/$defs/a~1b"}}') == []
    assert told('{"patternProperties": {"a+": {}}}') == [("r.json", 1, 23, "schema")]
    assert told('{"properties": {"a": {"pattern": "(a"}}}') == [("r.json", 1, 34, "schema")]
    assert told('{"properties": {"pattern": {"type": "string"}, "$ref": {}}}') == []


def test_options_of_a_schema_file_need_transitions() -> None:
    """An enum of a JSON Schema is as good as one of the short form."""
    step = "{id: a, run: date, result: {schema: r.json}, decide: result.x.y, transitions: {p: end}}"
    schema = '{"properties": {"x": {"properties": {"y": {"enum": ["p", 2]}}}}}'
    _, found = check({BOT: f"{HEAD}  steps: [{step}]", ".github/bot/r.json": schema})
    assert [(one.code, one.hint) for one in found] == [("transition", "add `2: step`")]


@pytest.mark.parametrize(
    ("written", "message", "hint"),
    [
        ("who: [meg]", "`who`: expected a mapping, got a list", "write `who: {logins: [meg]}`"),
        ("who: maintain", "`who`: expected a mapping, got `maintain`", "write `who: {role: maintain}`"),
        ('who: "@meg"', "`who`: expected a mapping, got `@meg`", "write `who: {logins: [meg]}`"),
        ('who: {logins: "@meg"}', "`logins`: expected a list, got `@meg`", "write `[meg]`"),
        (
            "options: [approve, stop]",
            "`options`: expected a mapping, got a list",
            "write `options: {approve: next_step, stop: end}`",
        ),
    ],
)
def test_how_a_gate_s_keys_are_written(written: str, message: str, hint: str) -> None:
    """To whoever wrote the short form that there is not."""
    found = only(f"version: 1\nworkflows:\n  main:\n    steps:\n      - {{id: a, ask: Fine?, {written}}}\n")
    assert (found.code, found.message, found.hint) == ("type_mismatch", message, hint)


@pytest.mark.parametrize(
    ("on", "message", "hint"),
    [
        ("{labeled: bug}", "`labeled` is a list of labels, got `bug`", "write `[bug]`"),
        ("labeled", "`on` is a mapping", "write `on: {labeled: [name]}`"),
        ('{schedule: {cron: "0 8 31 2 *", thread: new}}', "`0 8 31 2 *` is never due", "choose a day that there is"),
        (
            '{schedule: {cron: "0 8 * * *", thread: new, timezone: Europe/Berlin}}',
            "`timezone` is not a key of a schedule",
            "remove it: times are UTC",
        ),
    ],
)
def test_how_a_trigger_is_written(on: str, message: str, hint: str) -> None:
    """Each name once."""
    found = only(f"version: 1\nworkflows:\n  main:\n    on: {on}\n    steps:\n      - {{id: a, run: make}}\n")
    assert (found.message, found.hint) == (message, hint)
