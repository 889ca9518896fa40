"""What a step hands over: results held against schemas, routes that follow them, rework, evidence and exports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bot.engine.evidence import exported
from bot.engine.frames import Tree
from bot.engine.judge import judged
from bot.engine.projection import projection, to_bytes
from bot.engine.run_folder import RunFolder
from bot.errors import UserError
from bot.model.outcome import Done, Failed, Outcome
from bot.model.state import RunState
from bot.store import Store, snapshots
from bot.workflows import Slot, Step, Template, check
from tests.acceptance.pages import (
    BOT,
    act,
    acting,
    configured,
    fine,
    handed,
    page,
    played,
    playing,
    refused,
    until,
    warned,
)
from tests.engine.play import Play
from tests.engine.scene import open_case

FIELDS = """
result:
  fields:
    risk: {type: enum, options: [low, high], required: true}
    components: {type: array, items: {type: string}}
    score: {type: number}
    sure: {type: boolean}
    note: {type: string}
    where: {type: object, fields: {file: {type: string, required: true}}}
    free: {type: json}
"""


def step(kind: str = "run: x", result: str = FIELDS, more: str = "") -> Step:
    """One step with a result."""
    indented = "\n".join(f"  {line}" for line in f"{kind}\n{result.strip()}\n{more}".splitlines())
    return configured(f"- id: one\n{indented}").workflows["main"].steps[0]


def file_of(value: Any) -> str:
    return json.dumps(value)


def failure(value: Any, most: int = 262_144) -> str:
    """Why a command's result is refused; empty where it is taken."""
    got = judged(step(), Done("out"), value if isinstance(value, str) else file_of(value), most)
    return f"{got.code}: {got.message}" if isinstance(got, Failed) else ""


# -- how each kind hands it over


@pytest.mark.parametrize(
    ("answer", "result", "output"),
    [
        ('Low.\n\n```json threadsmith:result\n{"risk": "low"}\n```', {"risk": "low"}, "Low."),
        (
            '```json threadsmith:result\n{"risk": "low"}\n```\nThen\n```json threadsmith:result\n{"risk": "high"}\n```',
            {"risk": "high"},
            '```json threadsmith:result\n{"risk": "low"}\n```\nThen',
        ),
        ('~~~json threadsmith:result\n{"risk": "low"}\n~~~\nBye', {"risk": "low"}, "Bye"),
        (
            '```json threadsmith:result\n{"risk": "low"}\n```\n```json threadsmith:result\n{"risk": "high"}',
            {"risk": "low"},
            None,
        ),
    ],
)
def test_an_agents_result_is_the_last_closed_tagged_block(answer: str, result: Any, output: str | None) -> None:
    """What is posted is the answer without it."""
    got = judged(step("agent: writer"), Done(answer))
    assert isinstance(got, Done), got
    assert got.result == result
    if output is not None:
        assert got.output == output


@pytest.mark.parametrize(
    "answer",
    [
        'no block {"risk": "low"}',
        '```json\n{"risk": "low"}\n```',
        '```json threadsmith:result\n{"risk": "low"}',
        '````\n```json threadsmith:result\n{"risk": "low"}\n```\n````',
    ],
)
def test_an_untagged_an_open_and_a_quoted_block_are_none(answer: str) -> None:
    """The hint says how an agent hands a result over."""
    got = judged(step("agent: writer"), Done(answer))
    assert isinstance(got, Failed)
    assert got.code == "result_missing"
    assert "json threadsmith:result" in got.hint


def test_what_a_model_gives_natively_is_its_result() -> None:
    """Its answer stays whole."""
    assert judged(step("agent: writer"), Done("words", {"risk": "low"})) == Done("words", {"risk": "low"})


async def test_a_command_leaves_json_in_a_file_of_its_own_attempt(store: Store, tmp_path: Path) -> None:
    """Each attempt has another, so that none finds what an earlier one left."""
    steps = """
    - id: one
      workspace: none
      run: |
        test -e "$BOT_RESULT_FILE" && echo left
        echo "$BOT_RESULT_FILE"
        [ -z "$GOOD" ] || echo '{"n": 1}' > "$BOT_RESULT_FILE"
      env: {GOOD: "${{ ctx.again ?? '' }}"}
      result: {fields: {n: {type: number, required: true}}, on_mismatch: retry}
      rework: {to: one, max_loops: 1, comments_as: again}
    """
    async with acting(store, tmp_path, steps) as room:
        first, second = await act(room)
        assert isinstance(first, Failed)
        assert first.code == "result_missing"
        assert "$BOT_RESULT_FILE" in first.hint
        assert isinstance(second, Done), second
        assert second.result == {"n": 1}
        assert "left" not in second.stdout
        assert first.stdout != second.stdout


def test_a_function_returns_its_result() -> None:
    """What it printed is its output."""
    assert judged(step("code: return 1"), Done("printed", {"risk": "low"})) == Done("printed", {"risk": "low"})
    got = judged(step("code: return 1"), Done("printed", None))
    assert isinstance(got, Failed)
    assert "what the body returns" in got.hint


@pytest.mark.parametrize(
    "kind", ["ask: Ok?", "review: {findings: []}", "notify: {close: true}", "wait: {for: 1m}", "end: {}"]
)
def test_these_kinds_declare_no_result(kind: str) -> None:
    """Theirs is fixed."""
    found = refused("modifier", f"- {{id: one, {kind}, ^result: {{fields: {{}}}}}}")
    assert "every kind but" in found.hint


# -- what fits


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"risk": "low"}, ""),
        ({"risk": "low", "more": [1]}, ""),
        ({"risk": "high", "components": [], "score": 1.5, "sure": False, "note": "", "where": {"file": "a"}}, ""),
        ({"risk": "low", "components": None, "score": None, "sure": None, "where": None, "free": None}, ""),
        ({}, "`risk`: expected one of `low`, `high`, got nothing"),
        ({"risk": None}, "`risk`: expected one of `low`, `high`, got nothing"),
        ({"risk": "odd"}, "`risk`: expected one of `low`, `high`, got `odd`"),
        ({"risk": "low", "components": ["a", "b", 3]}, "`components[2]`: expected text, got a number"),
        ({"risk": "low", "components": "a"}, "`components`: expected a list, got text"),
        ({"risk": "low", "score": "1"}, "`score`: expected a number, got text"),
        ({"risk": "low", "score": True}, "`score`: expected a number, got true"),
        ({"risk": "low", "sure": 0}, "`sure`: expected true or false, got a number"),
        ({"risk": "low", "where": {}}, "`where.file`: expected text, got nothing"),
        ([], "expected an object, got a list"),
        ('{"risk": "low", "score": NaN}', "NaN is no JSON"),
        ('{"risk": "low", "score": 1e999}', "`score`: expected a finite number"),
        ({"risk": "low", "x": {"__proto__": 1}}, "`x.__proto__`: expected no key `__proto__`"),
        ({"risk": "low", "constructor": 1}, "`constructor`: expected no key `constructor`"),
        ({"risk": "low", "x": [{"prototype": 1}]}, "`x[0].prototype`: expected no key `prototype`"),
    ],
)
def test_what_fits_and_what_does_not_with_its_path(value: Any, why: str) -> None:
    """Objects are open; null counts as absent but for `json`; the message says where and what was expected."""
    got = failure(value)
    assert why in got
    assert (got == "") is (why == "")
    assert got.startswith("result_mismatch" if why else "")


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels - 1):
        value = [value]
    return {"risk": "low", "free": value}


@pytest.mark.parametrize(
    ("fits", "too_much", "why"),
    [
        (_deep(64), _deep(65), "at most 64 levels"),
        (
            {"risk": "low", **dict.fromkeys(map(str, range(9_999)), 1)},
            {"risk": "low", **dict.fromkeys(map(str, range(10_000)), 1)},
            "at most 10,000 keys",
        ),
        ({"risk": "low", "free": [1] * 10_000}, {"risk": "low", "free": [1] * 10_001}, "at most 10,000 elements"),
        ({"risk": "low", "note": "x" * 262_100}, {"risk": "low", "note": "x" * 262_144}, "at most 262,144 bytes"),
    ],
    ids=["depth", "keys", "elements", "bytes"],
)
def test_a_payload_is_bounded(fits: Any, too_much: Any, why: str) -> None:
    """Each bound is inclusive."""
    assert failure(fits) == ""
    assert why in failure(too_much)


def test_the_operator_sets_the_bytes() -> None:
    """Of compact JSON."""
    assert "at most 20 bytes" in failure({"risk": "low", "note": "long"}, 20)
    assert failure({"risk": "low"}, 20) == ""


def test_present_and_invalid_fails_whatever_required_says() -> None:
    """Absent is fine where it is not required."""
    optional = FIELDS.replace("result:", "result:\n  required: false")
    assert judged(step(result=optional), Done("out")) == Done("out")
    got = judged(step(result=optional), Done("out"), "{}")
    assert isinstance(got, Failed)
    assert got.code == "result_mismatch"


SHORT = '{"schemaVersion": 1, "fields": [{"name": "n", "type": "number", "required": true}]}'
LONG = '{"type": "object", "required": ["n"], "properties": {"n": {"type": "number"}}}'


@pytest.mark.parametrize("schema", [SHORT, LONG])
async def test_a_schema_stands_in_a_file_in_either_form(store: Store, schema: str) -> None:
    """JSON Schema, or the short one."""
    steps = "- {id: one, run: x, result: {schema: schemas/n.json}}"
    files = {".github/bot/schemas/n.json": schema}
    for value, end in (({"n": 1}, "succeeded"), ({"n": "1"}, "failed one failed: result_mismatch")):
        text = page(steps)
        guid = str(value["n"]) + type(value["n"]).__name__
        play = await Play(await open_case(store, text, beside=files, guid=guid), {"one": Done("x", value)}).go()
        assert play.end.startswith(end)


@pytest.mark.parametrize(
    ("schema", "line", "column", "code"),
    [
        ('{"type":\n "objekt"}', 2, 2, "schema"),
        ('{"n": }', 1, 7, "schema"),
        ('{"schemaVersion": 1, "fields": [{"name": "n", "type": "txt"}]}', 1, 55, "option"),
        ('{"$ref": "https://example.org/x.json"}', 1, 10, "schema"),
    ],
)
def test_a_fault_of_a_schema_stands_in_its_own_file(schema: str, line: int, column: int, code: str) -> None:
    """With its line and column."""
    text = page("- {id: one, run: x, result: {schema: schemas/n.json}}")
    (found,) = check({BOT: text, ".github/bot/schemas/n.json": schema})[1]
    assert (found.file, found.line, found.column) == (".github/bot/schemas/n.json", line, column)
    assert found.code == code


@pytest.mark.parametrize(("path", "code"), [("schemas/none.json", "missing_file"), ("../x.json", "path_outside")])
def test_a_schema_file_is_there_and_inside(path: str, code: str) -> None:
    """Found at load."""
    refused(code, f"- {{id: one, run: x, result: {{schema: ^{path}}}}}")


# -- what a mismatch leads to

RETRY = """
- id: one
  agent: writer
  result: {fields: {n: {type: number, required: true}}, on_mismatch: retry}
  rework: {to: one, max_loops: 2, comments_as: why}
- {id: two, run: x}
"""


def said(value: Any) -> Done:
    return Done(f"Here.\n```json threadsmith:result\n{json.dumps(value)}\n```")


async def test_by_default_a_mismatch_ends_the_run_and_routes_do_not_catch_it(store: Store) -> None:
    """Validation comes before routes."""
    steps = """
    - id: one
      agent: writer
      result: {fields: {n: {type: number, required: true}}}
      next: [{when: "outcome == 'fail'", to: two}, {to: two}]
    - {id: two, run: x}
    """
    play = await played(store, steps, {"one": said({"n": "x"})})
    assert play.end == "failed one failed: result_mismatch"
    assert await play.error("one") == "result_mismatch: `n`: expected a number, got text"
    assert play.started == ["one"]


async def test_a_mismatch_may_lead_to_a_step(store: Store) -> None:
    """That one mends or tells it."""
    steps = """
    - {id: one, agent: writer, result: {fields: {n: {type: number}}, on_mismatch: two}, next: end}
    - {id: two, run: x}
    """
    play = await played(store, steps, {"one": said({"n": "x"})})
    assert (play.end, play.started) == ("succeeded", ["one", "two"])


@pytest.mark.parametrize("good", [0, 1, 2])
async def test_rework_is_bounded_and_gets_the_reason(store: Store, good: int) -> None:
    """At most `max_loops` + 1 attempts; the reason stands in a block of its own and in the run context."""
    reasons: list[str | None] = []
    play = await playing(store, RETRY)

    async def reason() -> None:
        begun = await until(play, "one")
        block = (await handed(play, begun)).rework
        reasons.append(None if block is None else block.text)

    for number in range(good + 1):
        play.script["one"] = said({"n": 1} if number == good else {"n": "x"})
        await reason()
        await play.step()
    await play.go()
    assert play.end == "succeeded"
    assert reasons[0] is None
    assert len(reasons) == good + 1
    for text in reasons[1:]:
        assert text is not None
        assert text.startswith("result_mismatch: `n`: expected a number, got text\n")  # and how to hand it over
    assert ("why" in await play.context()) is (good > 0)


async def test_after_the_last_attempt_it_fails_closed(store: Store) -> None:
    """What follows does not run."""
    play = await played(store, RETRY, {"one": said({"n": "x"})})
    assert play.started == ["one"] * 3
    assert play.end.startswith("failed one failed: result_mismatch")


def test_retry_needs_rework_and_rework_a_use() -> None:
    """Each is refused without the other."""
    assert (
        "add `rework: {to: one}`"
        in refused("missing_key", "- {id: one, run: x, result: {fields: {}, on_mismatch: ^retry}}").hint
    )
    refused("modifier", "- {id: one, run: x, rework: ^{to: one}}")


async def test_rework_may_send_back_to_several(store: Store) -> None:
    """All of them are done again, from the first; the count is the deciding step's own."""
    steps = """
    - {id: a, run: x}
    - {id: b, run: x}
    - {id: ok, ask: Good?, options: {yes_: end, again: {rework: a}}, rework: {to: [a, b], max_loops: 1}}
    """
    play = await played(store, steps)
    await play.answer(answer="again", text="once more")
    assert play.started == ["a", "b", "a", "b"]
    await play.answer(answer="again", text="and again")
    assert "rework_exhausted" in play.end


# -- decide and transitions

DECIDE = """
- id: one
  run: x
  result: {fields: {v: {type: json}}}
  decide: result.v
  transitions: {low: a, "1": b, "true": c, "1.5": d}
- {id: a, run: x, next: end}
- {id: b, run: x, next: end}
- {id: c, run: x, next: end}
- {id: d, run: x, next: end}
"""


@pytest.mark.parametrize(("value", "to"), [("low", "a"), (1, "b"), ("1", "b"), (True, "c"), (1.5, "d")])
async def test_the_value_in_its_string_form_says_where_it_goes_on(store: Store, value: Any, to: str) -> None:
    """Text, number and boolean alike."""
    play = await played(store, DECIDE, {"one": Done("x", {"v": value})})
    assert (play.end, play.started) == ("succeeded", ["one", to])


@pytest.mark.parametrize(
    ("result", "code", "named"),
    [
        ({"v": "odd"}, "no_transition", "odd"),
        ({}, "decide_missing", "result.v"),
        ({"v": None}, "no_transition", "null"),
    ],
)
async def test_a_value_without_a_transition_fails_the_step_and_is_named(
    store: Store, result: Any, code: str, named: str
) -> None:
    """So does a path that leads nowhere."""
    play = await played(store, DECIDE, {"one": Done("x", result)})
    assert play.end.startswith("failed")
    assert code in play.end
    assert f"`{named}`" in await play.error("one")


@pytest.mark.parametrize(("score", "to"), [(0.9, "ship"), (0.8, "ship"), (0.5, "revise"), (0.1, "drop")])
async def test_a_verdict_takes_its_first_case_that_holds(store: Store, score: float, to: str) -> None:
    """And ends with its one default."""
    steps = """
    - id: one
      agent: writer
      result: {fields: {score: {type: number, required: true}}}
      decide:
        verdict: result.score
        cases: [{when: "value >= 0.8", to: ship}, {when: "value >= 0.3", to: revise}, {to: drop}]
    - {id: ship, run: x, next: end}
    - {id: revise, run: x, next: end}
    - {id: drop, run: x}
    """
    play = await played(store, steps, {"one": said({"score": score})})
    assert play.started == ["one", to]


@pytest.mark.parametrize(
    ("way", "code", "hint"),
    [
        ("decide: result.r, transitions: ^{p: end}", "transition", "add `q: step`"),
        ("decide: result.r, transitions: {p: end, q: ^nowhere}", "route", ""),
        ("^decide: {verdict: result.r, cases: [{when: 'true', to: end}]}", "route", "{to: id}"),
        ("decide: ^r, transitions: {p: end}", "decide", "result.risk"),
    ],
)
def test_every_value_that_can_be_has_its_transition_at_load(way: str, code: str, hint: str) -> None:
    """Each `enum` value, each target, and the default of a verdict."""
    steps = f"- {{id: one, run: x, result: {{fields: {{r: {{type: enum, options: [p, q]}}}}}}, {way}}}"
    assert hint in refused(code, steps).hint


def test_there_is_one_way_on() -> None:
    """`next` or `decide`, and `decide` with its `transitions`."""
    refused("one_of", "- ^{id: one, run: x, next: end, decide: result.r, transitions: {p: end}}")
    refused("missing_key", "- ^{id: one, run: x, decide: result.r}")


def test_a_transition_that_no_value_takes_is_a_warning() -> None:
    """With what it was meant to be."""
    result = "result: {fields: {r: {type: enum, options: [p]}}}"
    found = warned(
        "transition", f"- {{id: one, run: x, {result}, decide: result.r, transitions: {{p: end, pp: ^end}}}}"
    )
    assert "did you mean `p`?" in found.hint


async def test_on_failure_only_conditions_are_tried(store: Store) -> None:
    """A plain id, a default and `decide` need success; then the failure ends the frame."""
    for number, way in enumerate(
        ("next: two", "next: [{when: 'false', to: two}, {to: two}]", "decide: result.v, transitions: {a: two}")
    ):
        play = await Play(
            await open_case(store, page(f"- {{id: one, run: x, {way}}}\n- {{id: two, run: x}}"), guid=f"g{number}"),
            {"one": Failed("command_failed", "exited with 1")},
        ).go()
        assert play.end.startswith("failed one failed: command_failed")
        assert play.started == ["one"]


async def test_a_loop_is_counted_where_its_route_stands(store: Store) -> None:
    """And says what to do when it is used up."""
    for number, (way, end) in enumerate((("fail", "failed"), ("last", "succeeded"), ("three", "succeeded"))):
        steps = f"""
        - {{id: one, run: x}}
        - id: two
          run: x
          next: [{{when: "outcome == 'fail'", to: one}}, {{to: three}}]
          loop: {{max: 2, on_exhaust: {way}}}
        - {{id: three, run: x}}
        """
        play = await Play(await open_case(store, page(steps), guid=f"g{number}"), {"two": Failed("x", "no")}).go()
        assert play.started.count("two") == 3
        assert play.end.startswith(end), play.end
        assert ("three" in play.started) is (way != "fail")


# -- codes and hints


@pytest.mark.parametrize(
    ("made", "code", "names"),
    [
        (lambda: judged(step(more="writes: [a, b]", result=""), Done("{}")), "writes_error", "`a`, `b`"),
        (lambda: judged(step(), Done("x")), "result_missing", "$BOT_RESULT_FILE"),
        (
            lambda: judged(step(), Done("x"), '{"risk": "low", "components": [1, 2, 3]}'),
            "result_mismatch",
            "components[0]",
        ),
    ],
)
def test_each_code_comes_with_its_hint(made: Any, code: str, names: str) -> None:
    """Which key, which transport, which path."""
    got: Outcome = made()
    assert isinstance(got, Failed)
    assert got.code == code
    assert names in f"{got.message} {got.hint}"
    assert got.hint


def test_a_strict_template_says_both_ways_out() -> None:
    """A dependency upstream, or a default."""
    with pytest.raises(UserError) as raised:
        Template.parse("${{ steps.one.result.x }}", Slot.PROMPT).render({"steps": {"one": {"result": {"y": 1}}}})
    assert raised.value.code == "template_undefined"
    assert "upstream" in raised.value.hint
    assert "??" in raised.value.hint
    text = Template.parse('${{ steps.one.result.x ?? "none" }}', Slot.PROMPT).render({"steps": {}}).text
    assert text == "none"


# -- evidence

APPROVED = """
- {id: plan, run: x, produces: [{id: plan_document, kind: plan}]}
- {id: build, run: x, produces: [{id: log, kind: log}]}
- {id: approve, ask: Good?, options: {yes_: end, again: {rework: build}}, rework: {to: build, max_loops: 9}}
"""


async def artifacts(play: Play) -> list[tuple[str, str]]:
    return [(one.name, str(one.state)) for one in (await play.case.rows()).artifacts]


async def exports(play: Play) -> list[tuple[int, str, Any]]:
    return [(one.revision, str(one.state), one.value) for one in (await play.case.rows()).exports]


async def test_evidence_is_registered_by_a_success_alone(store: Store) -> None:
    """Without a path it is the step's output, whole."""
    steps = """
    - {id: one, run: x, produces: [{id: a, kind: log}], next: [{when: "outcome == 'fail'", to: two}]}
    - {id: two, run: x, produces: [{id: b, kind: report}]}
    """
    play = await played(store, steps, {"one": Failed("x", "no", output="partial"), "two": Done("x" * 70_000)})
    (only,) = (await play.case.rows()).artifacts
    assert (only.name, only.kind) == ("b", "report")
    assert await store.read(lambda s: snapshots.get_blob(s, only.blob)) == b"x" * 70_000


async def test_a_file_that_is_not_there_fails_the_step(store: Store, tmp_path: Path) -> None:
    """A file that is there is kept, byte for byte."""
    steps = """
    - {id: one, workspace: none, run: "printf '\\\\0\\\\377' > out", produces: [{id: a, kind: log, path: out}]}
    - {id: two, workspace: none, run: "true", produces: [{id: b, kind: log, path: none/here}]}
    """
    async with acting(store, tmp_path, steps) as room:
        _, two = await act(room)
        assert isinstance(two, Failed)
        assert two.code == "artifact_missing"
        assert "`none/here`" in two.hint + two.message
        (only,) = (await room.case.rows()).artifacts
        assert await store.read(lambda s: snapshots.get_blob(s, only.blob)) == b"\0\xff"


async def test_rework_makes_what_was_made_since_stale(store: Store) -> None:
    """In the transaction of the answer; what came before stays; the new work supersedes."""
    play = await playing(store, APPROVED, flow="export: {from: [build]}")
    await play.go()
    assert await exports(play) == [(1, "current", "did build")]
    seen: list[Any] = []

    def again(begun: Any) -> Outcome:
        seen.append(([str(one.state) for one in begun.rows.artifacts], [str(one.state) for one in begun.rows.exports]))
        return Done("anew")

    play.script["build"] = again
    await play.answer(answer="again")
    assert seen == [(["current", "stale"], ["stale"])]
    assert await artifacts(play) == [("plan_document", "current"), ("log", "superseded"), ("log", "current")]
    assert await exports(play) == [(1, "superseded", "did build"), (2, "current", "anew")]


# -- exports


async def test_an_export_of_one_is_its_result_and_of_several_an_object(store: Store) -> None:
    """By id; published when all of it is there."""
    steps = "- {id: one, run: x}\n- {id: two, run: x}"
    for number, (ids, value) in enumerate((("[one]", {"n": 1}), ("[one, two]", {"one": {"n": 1}, "two": "did two"}))):
        text = page(steps, flow=f"export: {{from: {ids}}}")
        play = await Play(await open_case(store, text, guid=f"g{number}"), {"one": Done("x", {"n": 1})}).go()
        assert await exports(play) == [(1, "current", value)]


@pytest.mark.parametrize(("more", "end"), [("", "failed export_missing"), (", required: false", "succeeded")])
async def test_a_required_export_that_is_missing_fails_the_run(store: Store, more: str, end: str) -> None:
    """Though every step succeeded."""
    steps = "- {id: one, run: x}\n- {id: two, run: x, when: 'false'}"
    play = await played(store, steps, flow=f"export: {{from: [two]{more}}}")
    assert play.end.startswith(end)


async def test_an_export_is_held_against_its_schema(store: Store) -> None:
    """Whatever `required` says; what fitted before is not handed out instead."""
    files = {".github/bot/schemas/n.json": SHORT}
    flow = "export: {schema: schemas/n.json, from: [build]}"
    play = await playing(store, APPROVED, {"build": [Done(result={"n": 1}), Done(result={"n": "x"})]}, files, flow=flow)
    await play.go()
    await play.answer(answer="again")
    assert await exports(play) == [(1, "stale", {"n": 1})]
    await play.answer(answer="yes_")
    assert play.end.startswith("failed result_mismatch")


async def test_what_is_not_current_is_never_handed_out(store: Store) -> None:
    """The code says to run the producer again."""
    steps = APPROVED.replace("{id: build,", "{id: build, next: [{when: \"outcome == 'fail'\", to: approve}],")
    play = await played(store, steps, {"build": [Done("one"), Failed("x", "no")]}, flow="export: {from: [build]}")
    await play.answer(answer="again")
    rows = await play.case.rows()
    found = exported(rows, Tree.of(rows, play.case.terms.workflow).root)
    assert (found.value, found.code) == (None, "export_stale")
    assert "again" in found.hint.lower()
    await play.answer(answer="yes_")
    assert play.end.startswith("failed export_stale")


USED = """
  other:
    export: {from: [make]}
    steps:
      - {id: make, run: x, next: [{when: "outcome == 'fail'", to: rest}]}
      - {id: rest, run: x}
"""


@pytest.mark.parametrize(
    ("make", "end", "result"),
    [(Done(result={"n": 1}), "succeeded", {"n": 1}), (Failed("x", "no"), "failed call failed: export_missing", None)],
)
async def test_a_workflow_that_is_used_gives_its_export(store: Store, make: Any, end: str, result: Any) -> None:
    """A current one, or the step fails."""
    text = page("- {id: call, uses: other}") + USED.strip("\n") + "\n"
    play = await Play(await open_case(store, text), {"make": make}).go()
    assert play.end.startswith(end)
    assert await play.result("call") == result


@pytest.mark.parametrize(
    ("export", "code"),
    [
        ("{from: [^nobody]}", "unknown_step"),
        ("{from: [one], schema: ^schemas/none.json}", "missing_file"),
        ("{^from: []}", "empty"),
    ],
)
def test_an_export_is_checked_at_load(export: str, code: str) -> None:
    """What it is made of, and its schema."""
    refused(code, "- {id: one, run: x}", flow=f"export: {export}")


def test_uses_has_no_cycle_and_names_an_export() -> None:
    """Both are found at load, at the step."""
    text = page("- {id: call, uses: main}", flow="export: {from: [call]}")
    assert [one.code for one in check({BOT: text})[1]] == ["uses_cycle"]
    text = page("- {id: call, uses: other}") + "  other: {steps: [{id: o, run: x}]}\n"
    (found,) = check({BOT: text})[1]
    assert (found.code, "add `export: {from: [o]}`" in found.hint) == ("export", True)


# -- the run as files


async def test_the_run_is_one_document(store: Store) -> None:
    """Intent, run context, newest outcome, result and summary of each step, gates, artifacts, the export so far."""
    play = await played(
        store,
        APPROVED.replace("{id: plan, run: x,", "{id: plan, run: x, env: {MINE: hidden-in-env},"),
        {"plan": Done("First.\n\nSecond.", {"n": 1})},
        flow="goal: Mend it.\nexport: {from: [build]}",
    )
    rows, terms = await play.case.rows(), play.case.terms
    document = projection(rows, Tree.of(rows, terms.workflow, terms.find))
    assert document["intent"]["goal"] == "Mend it."
    assert document["intent"]["request"] == "hello"
    assert document["context"]["graph.goal"] == "Mend it."
    plan = document["steps"]["plan"]
    assert (plan["outcome"], plan["result"], plan["summary"]) == ("success", {"n": 1}, "First.")
    assert list(document["steps"])[:2] == ["plan", "build"]
    assert len(document["gates"]) == 1
    assert {one["id"] for one in document["artifacts"]} == {"plan_document", "log"}
    assert document["export"]["state"] == "current"
    raw = to_bytes(document, lambda text: text.replace("Mend", "[redacted]")).decode()
    assert "hidden-in-env" not in raw
    assert json.loads(raw)["intent"]["goal"] == "[redacted] it."


async def test_deleting_what_the_run_left_as_files_harms_nothing(store: Store, tmp_path: Path) -> None:
    """It is made anew from the rows: the newest attempt of each step, older ones under their numbers, no prompts."""
    steps = """
    - {id: a, run: x, next: [{when: "outcome == 'fail'", to: a}, {to: b}], loop: {max: 3}}
    - {id: b, agent: writer}
    """
    script: dict[str, Any] = {
        "a": [Failed("x", "no", output="1", stdout="1", stderr="e"), Done("2", {"n": 2}, stdout="2")]
    }
    play = await played(store, steps, script)
    rows, terms = await play.case.rows(), play.case.terms

    async def read(digest: str) -> bytes:
        return await store.read(lambda session: snapshots.get_blob(session, digest))

    seen = []
    for number in range(2):
        parent = tmp_path / str(number)
        parent.mkdir()
        folder = await RunFolder(parent, str).lay_out(Tree.of(rows, terms.workflow), read)
        seen.append({str(one.relative_to(folder)): one.read_text() for one in folder.rglob("*") if one.is_file()})
    assert seen[0] == seen[1]
    assert (seen[0]["a/response.md"], seen[0]["a/attempts/1/stderr"]) == ("2", "e")
    assert json.loads(seen[0]["a/result.json"]) == {"n": 2}
    assert not any("prompt" in name for name in seen[0])


async def test_a_command_gets_these_variables_and_nothing_else_of_the_engine(store: Store, tmp_path: Path) -> None:
    """Its run, step, folders, result, issue and repository; an empty home, and what `env:` names."""
    steps = "- {id: one, workspace: none, run: 'env; ls -A \"$HOME\" | wc -l', env: {MINE: x}}"
    async with acting(store, tmp_path, steps) as room:
        (outcome,) = await act(room)
        assert isinstance(outcome, Done), outcome
        seen = dict(line.split("=", 1) for line in outcome.stdout.splitlines() if "=" in line)
        assert {name for name in seen if name.startswith("BOT_")} == {
            *("BOT_RUN_ID", "BOT_RUN_DIR", "BOT_WORKSPACE", "BOT_STEP_ID", "BOT_RESULT_FILE", "BOT_ISSUE_NUMBER"),
            "BOT_REPOSITORY",
        }
        assert {"PATH", "LANG", "HOME", "MINE"} <= seen.keys()
        assert "CLOSED" not in seen
        assert (seen["BOT_STEP_ID"], seen["BOT_REPOSITORY"]) == ("one", "acme/widgets")


async def test_a_run_that_waits_has_not_ended(store: Store) -> None:
    """Its export so far stands, and the run is not finished by it."""
    play = await played(store, APPROVED, flow="export: {from: [plan]}")
    assert (await play.case.run()).state is RunState.WAITING
    assert await exports(play) == [(1, "current", "did plan")]
    fine(APPROVED, flow="export: {from: [plan]}")
