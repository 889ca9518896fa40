"""Steps that pass text on: fresh conversations, a run context, how much of it is given, branches, inputs, budgets."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.context import Ambient, Finished
from bot.engine import commit
from bot.engine.commit import Begun
from bot.engine.frames import Tree
from bot.engine.scope import context_of
from bot.model.ident import new_id
from bot.model.outcome import Done, Failed, Faulted, Outcome, ToolCall, Usage
from bot.model.state import RunState
from bot.store import Store, open_store
from bot.workflows import Budget, Declared, bind, builtin_files, check, extract, lower
from bot.workflows.base_step import WorkingStep
from bot.workflows.modifiers import KINDS, MODIFIERS
from bot.workflows.request import request_budget
from bot.workflows.step import AskStep
from bot.workflows.writes import find_object
from tests.acceptance.pages import (
    BOT,
    act,
    acting,
    configured,
    findings,
    fine,
    handed,
    page,
    played,
    playing,
    refused,
    until,
    warned,
)
from tests.engine.talk import newest
from tests.rows import NOW

# -- conversations


async def test_every_step_begins_a_conversation_of_its_own(store: Store, tmp_path: Path) -> None:
    """It is told its context and nothing of what was said in another; one request each, none for a summary."""
    steps = """
    - {id: one, agent: writer, workspace: none, prompt: "The first task."}
    - {id: two, agent: writer, workspace: none, prompt: "The second task.", fidelity: compact}
    """
    async with acting(store, tmp_path, steps) as room:
        assert [type(one) for one in await act(room)] == [Done, Done]
        prompt, manifest = await newest(room)
        rows = await room.case.rows()
        first = rows.attempts[0].output
        assert first
        assert "The second task." in prompt
        assert "The first task." not in prompt
        assert first not in prompt
        assert [one.requests for one in rows.attempts] == [1, 1]
        assert [one.label for one in manifest.blocks if one.kind == "context"] == ["ctx.outcome"]


# -- the run context

GATE = "{id: gate, ask: Ok?, options: {yes_: done, no_: end}, text: true}"
FORM = "{id: gate, ask: Ok?, questions: [{id: size, question: 'How big, exactly?', type: number}]}"
CALLED = Done("said", episode=(ToolCall("read_file", "done"), ToolCall("pin_comment", "failed")))
KEYS: dict[str, tuple[str, str, Outcome | None, dict[str, Any], str]] = {
    "last_response": ("last_response", "{id: one, agent: writer}", Done("said"), {}, "said"),
    "response": ("response.one", "{id: one, agent: writer}", Done("said"), {}, "said"),
    "last_response of a gate": ("last_response", GATE, None, {"answer": "yes_"}, "@meg: **yes_**"),
    "episode_summary": (
        "episode_summary",
        "{id: one, agent: writer}",
        CALLED,
        {},
        "read_file: done\npin_comment: failed",
    ),
    "episode_summaries": (
        "episode_summaries",
        "{id: one, agent: writer}",
        CALLED,
        {},
        '["read_file: done\\npin_comment: failed"]',
    ),
    "outcome": ("outcome", "{id: one, run: x}", Done("x"), {}, "success"),
    "outcome of a failure": (
        "outcome",
        "{id: one, run: x, next: [{when: \"outcome == 'fail'\", to: done}]}",
        Failed("x", "no"),
        {},
        "fail",
    ),
    "outcome of what was skipped": ("outcome", "{id: one, run: x, when: 'false'}", None, {}, "skipped"),
    "preferred_label of a gate": ("preferred_label", GATE, None, {"answer": "yes_"}, "yes_"),
    "preferred_label of a switch": (
        "preferred_label",
        "{id: one, switch: [{when: 'true', to: done}, {to: end}]}",
        None,
        {},
        "done",
    ),
    "preferred_label of classify": (
        "preferred_label",
        "{id: one, classify: {text: t, labels: {bug: b, idea: i}}}",
        Done("bug", {"label": "bug", "confidence": 1, "reason": ""}),
        {},
        "bug",
    ),
    "human_response": ("human_response", GATE, None, {"answer": "yes_", "text": "my words"}, "my words"),
    "interview_answers": (
        "interview_answers",
        FORM,
        None,
        {"answers": {"size": "7"}},
        '{"how_big_exactly":7,"size":7}',
    ),
    "tool_stdout": ("tool_stdout", "{id: one, run: x}", Done("out", stdout="out", stderr="err"), {}, "out"),
    "tool_stderr": ("tool_stderr", "{id: one, code: return 1}", Done("out", stdout="out", stderr="err"), {}, "err"),
    "graph.goal": ("graph.goal", "{id: one, run: x}", Done("x"), {}, "Mend it."),
    "writes_warning": (
        "writes_warning",
        "{id: one, run: x, writes: [a]}",
        Done("plain"),
        {},
        "there is no JSON object; `a` got the whole text",
    ),
    "writes_error": (
        "writes_error",
        "{id: one, run: x, writes: [a, b], next: [{when: \"outcome == 'fail'\", to: done}]}",
        Done("plain"),
        {},
        "there is no JSON object to take `a`, `b` from",
    ),
}


@pytest.mark.parametrize("name", KEYS)
async def test_the_engines_keys_of_the_run_context(store: Store, name: str) -> None:
    """Each is written by its kinds of step, and read by the step behind."""
    key, step, outcome, answer, expected = KEYS[name]
    script = {} if outcome is None else {"one": outcome}
    play = await playing(store, f"- {step}\n- {{id: done, agent: writer, when: 'true'}}", script, flow="goal: Mend it.")
    seen: list[Begun] = []

    def done(begun: Begun) -> Outcome:
        seen.append(begun)
        return Done("x")

    play.script["done"] = done
    await play.go()
    if answer:
        await play.answer(**answer)
    (begun,) = seen
    got = context_of(begun.rows, begun.tree, begun.level).newest
    assert got[key] == expected
    by_label = name.startswith("preferred_label")
    assert ("preferred_label" in got) is (by_label or bool(answer.get("answer")))


async def test_a_label_is_cleared_by_the_next_step(store: Store) -> None:
    """It belongs to the step that set it."""
    steps = "- {id: one, switch: [{when: 'true', to: two}, {to: end}]}\n- {id: two, run: x}"
    context = await (await played(store, steps)).context()
    assert "preferred_label" not in context


async def test_a_failed_attempt_writes_the_engines_keys_too(store: Store) -> None:
    """What it printed and said is there for whoever catches it; its own `writes` are not."""
    steps = """
    - {id: one, run: x, writes: [a], next: [{when: "outcome == 'fail'", to: two}]}
    - {id: two, run: y, when: "false"}
    """
    script = {"one": Failed("command_failed", "no", output='{"a": 1}', stdout='{"a": 1}', stderr="last words")}
    context = await (await played(store, steps, script)).context()
    assert (context["tool_stderr"], "a" in context) == ("last words", False)


async def test_what_a_step_wrote_is_kept_under_its_name(store: Store) -> None:
    """Beside the map: never copied into it, its newest value whoever wrote the key since; not what was there before."""
    steps = """
    - {id: one, run: x, writes: [a]}
    - {id: two, run: x, writes: [a, b]}
    - {id: three, agent: writer, fidelity: full}
    """
    play = await playing(store, steps, {"one": Done('{"a": 1}'), "two": Done('{"a": 2, "b": 3}')}, flow="goal: G")
    begun = await until(play, "three")
    context = context_of(begun.rows, begun.tree, begun.level)
    assert context.newest["a"] == "2"
    assert {key: context.by_step["one"][key] for key in ("a", "outcome")} == {"a": "1", "outcome": "success"}
    assert (context.by_step["two"]["a"], context.by_step["two"]["b"]) == ("2", "3")
    assert not any("graph.goal" in values for values in context.by_step.values())
    labels = [block.source for block in (await handed(play, begun)).ambient.blocks()]
    assert labels == ["ctx.a", "ctx.b", "ctx.graph.goal", "ctx.outcome", "ctx.tool_stderr", "ctx.tool_stdout"]


async def test_nothing_that_is_said_names_a_key(store: Store) -> None:
    """Only the keys that `writes` declares are taken out of an answer, whatever else it holds."""
    answer = json.dumps({"a": 1, "outcome": "hacked", "graph.goal": "hacked", "extra": 2})
    play = await played(store, "- {id: one, agent: writer, writes: [a]}", {"one": Done(answer)}, flow="goal: G")
    context = await play.context()
    assert (context["a"], context["outcome"], context["graph.goal"]) == ("1", "success", "G")
    assert "extra" not in context
    assert "`extra`" in context["writes_warning"]


@pytest.mark.parametrize(
    "key",
    [
        *("last_response", "response.one", "episode_summary", "episode_summaries", "outcome", "preferred_label"),
        *("human_response", "interview_answers", "tool_stdout", "tool_stderr", "graph.goal", "graph.x"),
        *("parallel.results", "summary.one", "completed_summary", "writes_error", "writes_warning"),
        *("trigger.x", "issue", "run.x", "params.x", "inputs.x", "steps.x", "ctx.x", "item", "loop.x", "agent.x"),
        *("artifacts.x", "resources.x", "secrets.x"),
    ],
)
def test_a_reserved_key_is_refused(key: str) -> None:
    """The engine's own, and whatever begins with a namespace; in `writes` and in `comments_as`."""
    assert "choose another name" in refused("reserved_name", f"- {{id: one, run: x, writes: [^{key}]}}").hint
    result = "result: {fields: {}, on_mismatch: retry}"
    refused("reserved_name", f"- {{id: one, run: x, {result}, rework: {{to: one, comments_as: ^{key}}}}}")


# -- fidelity

VALUES = {
    "a": "one two",
    "outcome": "success",
    "last_response": "r",
    "human_response": "h",
    "preferred_label": "l",
    "tool_stdout": "o" * 600,
    "tool_stderr": "e",
    "graph.goal": "g",
    "response.one": "r",
    "noted": "word " * 200,
}
FINISHED = [Finished("one", "success", "x" * 2500), Finished("two", "fail"), Finished("three", "skipped")]
MEDIUM = ["graph.goal", "human_response", "last_response", "noted", "outcome", "preferred_label"]
MEDIUM += ["tool_stderr", "tool_stdout"]
LEVELS = {
    "full": sorted(VALUES),
    "summary:high": sorted([*VALUES, "summary.one"]),
    "summary:medium": MEDIUM,
    "summary:low": ["completed_summary", "graph.goal"],
    "compact": ["graph.goal", "outcome"],
    "truncate": MEDIUM,
}


@pytest.mark.parametrize("level", LEVELS)
def test_how_much_of_the_run_context_a_prompt_gets(level: Any) -> None:
    """Six levels; keys come sorted; `reads` adds keys where only some are given."""
    blocks = {one.source.removeprefix("ctx."): one.text for one in ambient(level).blocks()}
    assert list(blocks) == LEVELS[level]
    for key, text in blocks.items():
        if level != "truncate" and key in VALUES:
            assert text == VALUES[key]
    if level == "summary:high":
        assert blocks["summary.one"].startswith("x" * 2000)
        assert blocks["summary.one"].endswith("[… 500 characters left out]")
    if level == "summary:low":
        assert blocks["completed_summary"] == "one: success\ntwo: fail\nthree: skipped\n"
    if level == "truncate":
        assert blocks["noted"] == ("word " * 100).rstrip() + "..."
        assert blocks["tool_stdout"] == "o" * 500 + "..."
        assert blocks["tool_stderr"] == "e"


def ambient(level: Any, **more: Any) -> Ambient:
    return Ambient(VALUES, FINISHED, level, reads=("noted",), **more)


def test_an_injection_cap_cuts_each_value_at_both_ends_with_a_mark() -> None:
    """To so many bytes; what is kept of the run stays whole."""
    blocks = {one.source: one.text for one in ambient("full", cap=40).blocks()}
    assert blocks["ctx.a"] == "one two"
    assert blocks["ctx.tool_stdout"].startswith("ooo")
    assert blocks["ctx.tool_stdout"].endswith("ooo")
    assert "560" in blocks["ctx.tool_stdout"]
    assert len(VALUES["tool_stdout"]) == 600


@pytest.mark.parametrize(
    ("level", "then"),
    [
        ("full", "summary:medium"),
        ("summary:high", "summary:medium"),
        ("summary:medium", "summary:low"),
        ("summary:low", "compact"),
        ("truncate", "compact"),
        ("compact", "compact"),
    ],
)
async def test_an_attempt_after_an_interruption_gets_a_level_less(store: Store, level: Any, then: str) -> None:
    """The record says which was declared and why it is less."""
    assert lower(level) == then
    play = await playing(store, f'- {{id: one, agent: writer, fidelity: "{level}"}}')
    await play.more()
    await store.write(lambda s: commit.abandon(s, play.case.run_id, play.case.terms.say, NOW, cancelled=False))
    await play.case.change(state=RunState.RUNNING)
    begun = await play.case.begin()
    got = (await handed(play, begun)).ambient
    assert (got.level, got.reason) == (then, f"after an interruption, instead of {level}")


@pytest.mark.parametrize("level", ["medium", "Full", "summary", "summary: high", "'0'", "none"])
def test_an_unknown_level_is_refused(level: str) -> None:
    """On a step, an agent, and as a default; the known ones are named."""
    assert "summary:medium" in refused("option", f"- {{id: one, agent: writer, fidelity: ^{level!r}}}").message
    refused("option", "- {id: one, agent: other}", agents=f"other: {{model: 'demo:x', fidelity: ^{level!r}}}")
    refused("option", "- {id: one, agent: writer}", flow=f"defaults: {{fidelity: ^{level!r}}}")


@pytest.mark.parametrize(
    ("step", "agent", "flow", "level"),
    [
        (", fidelity: compact", ", fidelity: truncate", "defaults: {fidelity: 'summary:low'}", "compact"),
        ("", ", fidelity: truncate", "defaults: {fidelity: 'summary:low'}", "truncate"),
        ("", "", "defaults: {fidelity: 'summary:low'}", "summary:low"),
        ("", "", "", "full"),
    ],
)
def test_the_nearest_level_holds(step: str, agent: str, flow: str, level: str) -> None:
    """The step's, else the agent's, else the workflow's, else `full`."""
    made = configured(f"- {{id: one, agent: other{step}}}", agents=f"other: {{model: 'demo:x'{agent}}}", flow=flow)
    assert made.workflows["main"].steps[0].fidelity == level  # type: ignore[union-attr]  # it asks an agent


# -- writes


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', {"a": 1}),
        ('  {"a": {"b": [1]}}\n', {"a": {"b": [1]}}),
        ('first {"a": 0}\n```json\n{"a": 1}\n```', {"a": 1}),
        ('```\nnot this\n```\n```\n[1]\n```\n~~~\n{"a": 2}\n~~~\n```\n{"a": 3}\n```', {"a": 2}),
        ('so: {"a": 1} and {"a": 2}', {"a": 1}),
        ('{not this} but {"a": "}"}', {"a": "}"}),
        ('[{"a": 1}] then {"a": 2}', {"a": 2}),
        ('"{\\"a\\": 1}" then {"a": 2}', {"a": 2}),
        ('[{"a": 1}]', None),
        ('"{\\"a\\": 1}"', None),
        ("{'a': 1}", None),
        ("no object", None),
    ],
)
def test_the_cascade_that_finds_the_object(text: str, found: Any) -> None:
    """The whole, then fenced blocks in turn, then the first balanced span; arrays and strings are skipped."""
    assert find_object(text) == found


LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.sampled_from(['{"a": 1}', "}", "[", '"'])
INNER = st.lists(LEAVES, max_size=3) | st.dictionaries(st.text(max_size=3), LEAVES, max_size=3)
JSON = LEAVES | INNER | st.lists(INNER, max_size=2) | st.dictionaries(st.text(max_size=3), INNER, max_size=2)
PROSE = st.text("ab ,.\n(:", max_size=12)


@settings(max_examples=60, deadline=None)
@given(PROSE, st.lists(JSON, max_size=4), st.text(max_size=8), JSON, PROSE)
def test_no_array_and_no_brace_inside_a_string_is_ever_taken(
    before: str, array: list[Any], text: str, value: Any, after: str
) -> None:
    """Whatever they hold, in prose and in a fenced block."""
    assert find_object(before + json.dumps(array) + after) is None
    assert find_object(f"{before}\n```json\n{json.dumps(array)}\n```\n{after}") is None
    assert find_object(before + json.dumps(text + json.dumps({"a": value})) + after) is None


def test_strings_stay_and_all_else_is_compact_json() -> None:
    """As the run context holds text."""
    got = extract('{"s": " a\\"b ", "n": 1.50, "l": [1, {"k": null}], "b": true, "z": null}', ["s", "n", "l", "b", "z"])
    assert got.values == {"s": ' a"b ', "n": "1.5", "l": '[1,{"k":null}]', "b": "true", "z": "null"}


def test_one_key_and_no_object_gets_the_text_cut_with_a_mark() -> None:
    """8 KiB of it, and a warning."""
    got = extract("x" * 9000, ["a"])
    assert got.values["a"] == "x" * 8192 + "\n[… 808 bytes left out]"
    assert got.warning
    assert extract('a list: [{"b": 1}]', ["a"]).values == {"a": 'a list: [{"b": 1}]'}


@pytest.mark.parametrize(
    ("text", "keys", "why"),
    [
        ("plain", "[a, b]", "no JSON object to take `a`, `b`"),
        ('{"a": 1}', "[a, b]", "the object has no `b`"),
        ('{"b": 1}', "[a]", "the object has no `a`"),
    ],
)
async def test_what_cannot_be_extracted_fails_the_step(store: Store, text: str, keys: str, why: str) -> None:
    """Several keys and no object, or an object without a declared key: the reason names the key."""
    play = await played(store, f"- {{id: one, agent: writer, writes: {keys}}}", {"one": Done(text)})
    assert play.end.startswith("failed one failed: writes_error")
    assert why in await play.error("one")
    assert why in (await play.context())["writes_error"]


async def test_writes_come_from_what_each_kind_gives(store: Store) -> None:
    """An agent's answer, a command's output, a function's value, a form's answers."""
    steps = """
    - {id: one, agent: writer, writes: [a]}
    - {id: two, run: x, writes: [b]}
    - {id: three, code: return 1, writes: [c]}
    - {id: four, ask: Ok?, questions: [{id: d, question: D?, type: number}], writes: [d]}
    """
    script = {"one": Done('{"a": 1}'), "two": Done('{"b": 2}'), "three": Done("printed", {"c": [3]})}
    play = await played(store, steps, script)
    await play.answer(answers={"d": "4"})
    context = await play.context()
    assert [context[key] for key in "abcd"] == ["1", "2", "[3]", "4"]


# -- whether a key can be there, checked at load

EXPLICIT = [
    "{id: z, run: x, when: \"^ctx.k == '1'\"}",
    "{id: z, run: x, reads: [^k]}",
    "{id: z, agent: writer, context: [^ctx.k]}",
    "{id: z, switch: [{when: \"^ctx.k == '1'\", to: end}, {to: end}]}",
    "{id: z, agent: writer, tools: [{name: read_file, bound_args: {path: ^ctx.k}}]}",
]


@pytest.mark.parametrize("step", EXPLICIT)
def test_a_key_that_nothing_writes_is_an_error_where_it_is_named(step: str) -> None:
    """The hint says how to write it."""
    assert "writes: [k]" in refused("context_key", f"- {step}").hint


def test_a_template_that_names_such_a_key_is_a_warning() -> None:
    """With a default or without one."""
    warned("context_key", "- {id: z, agent: writer, prompt: '^${{ ctx.k }}'}")
    warned("context_key", "- {id: z, agent: writer, prompt: '^${{ ctx.k ?? 1 }}'}")


@pytest.mark.parametrize("step", EXPLICIT[:4])
def test_a_writer_that_cannot_come_first_is_a_warning(step: str) -> None:
    """The writer is named."""
    found = warned(
        "context_key",
        f"- {step.replace(', to: end}, {to: end}', ', to: y}, {to: y}')}\n- {{id: y, run: x, writes: [k]}}",
    )
    assert "`y`" in found.message


@pytest.mark.parametrize(
    "steps",
    [
        "- {id: y, run: x, writes: [k]}\n- Z",
        "- {id: y, run: x, writes: [k], next: z}\n- Z",
        "- {id: y, run: x, writes: [k], decide: result.r, transitions: {a: z, b: end}}\n- Z",
        "- {id: y, run: x, writes: [k]}\n- {id: g, ask: Ok?, options: {a: z, b: end}}\n- Z",
        "- {id: y, run: x, writes: [k]}\n- {id: g, ask: Ok?, options: {a: end, b: z}, on_timeout: b}\n- Z",
        "- {id: y, run: x, writes: [k], result: {fields: {}, on_mismatch: z}, next: end}\n- Z",
        "- Z\n- {id: y, run: x, writes: [k], next: [{when: 'true', to: z}, {to: end}]}",
        "- {id: y, run: x, writes: [k], next: [{when: 'true', to: y}, {to: end}], loop: {max: 1, on_exhaust: z}}\n- Z",
        "- Z\n- {id: y, run: x, writes: [k], result: {fields: {}, on_mismatch: retry}, rework: {to: z}}",
        "- {id: z, run: x, when: \"ctx.k != '1'\", writes: [k], next: [{when: 'true', to: z}, {to: end}]}",
        "- {id: p, steps: [{id: y, run: x, writes: [k]}]}\n- Z",
        "- {id: y, run: x, writes: [k]}\n- {id: p, parallel: {branches: {a: [Z], b: [{id: c, run: x}]}}}",
    ],
)
def test_a_key_is_there_over_any_route(steps: str) -> None:
    """File order, `next`, `decide`, options, `on_timeout`, `on_mismatch`, `on_exhaust`, `rework`; loops included."""
    fine(steps.replace("Z", "{id: z, run: x, when: \"ctx.k == '1'\"}"))


def test_the_engines_keys_are_never_flagged() -> None:
    """Nor a param, an input, or what stands under the engine's first words."""
    keys = [
        "last_response",
        "response.x",
        "graph.goal",
        "summary.x",
        "parallel.results",
        "tool_stdout",
        "outcome",
        "human_response",
    ]
    tokens = " ".join(f"${{{{ ctx.{key} }}}}" for key in keys)
    condition = "ctx.outcome == params.p && ctx.graph.goal == inputs.i"
    steps = f"- {{id: z, agent: writer, reads: [{', '.join(keys)}], prompt: '{tokens}', when: \"{condition}\"}}"
    fine(steps, flow="params: {p: '1'}\ninputs: {i: {type: text, default: x}}")


# -- branches

FAN = """
- {id: before, run: x, writes: [k]}
- id: fan
  parallel:
    branches:
      web: [{id: one, run: x, writes: [k]}, {id: two, agent: writer, writes: [size]}]
      api: [{id: three, run: x, writes: [k]}, {id: four, agent: writer}]
      doc: [{id: five, run: x}]
- {id: after, run: x}
"""
BRANCHES = {
    "before": Done('{"k": "before"}'),
    "one": Done('{"k": "web"}'),
    "two": Done('{"size": 3}'),
    "three": Done('{"k": "api"}'),
}


async def test_branches_do_not_see_each_other(store: Store) -> None:
    """Each begins with the run context as it was and adds its own; behind the join nothing of theirs is left in it."""
    play = await playing(store, FAN, BRANCHES)
    seen: dict[str, str] = {}

    def noting(begun: Begun) -> Outcome:
        seen[begun.step.id] = context_of(begun.rows, begun.tree, begun.level).newest["k"]
        return BRANCHES.get(begun.step.id, Done("x"))

    play.script |= dict.fromkeys(["two", "four", "after"], noting)
    await play.go()
    assert seen == {"two": "web", "four": "api", "after": "before"}
    context = await play.context()
    assert "size" not in context
    assert "response.two" not in context


async def test_a_join_leaves_one_key_with_an_entry_a_branch(store: Store) -> None:
    """In declared order: branch, last step, how it went, what it wrote, what it took."""
    play = await played(store, FAN, {**BRANCHES, "five": Done("doc")})
    entries = json.loads((await play.context())["parallel.results"])
    assert [(one["branch"], one["step"], one["status"]) for one in entries] == [
        ("web", "two", "success"),
        ("api", "four", "success"),
        ("doc", "five", "success"),
    ]
    assert all(set(one) == {"branch", "step", "status", "context_updates", "stats"} for one in entries)
    assert all(set(one["stats"]) == {"duration_s", "tokens", "cost"} for one in entries)
    assert entries[0]["context_updates"]["size"] == "3"
    assert await play.result("fan") == {"web": {"k": "web", "size": "3"}, "api": {"k": "api"}, "doc": "doc"}


def test_branches_and_elements_give_the_declared_order_whatever_ends_first(tmp_path: Path) -> None:
    """Results and what is posted, over any order of the ends."""
    steps = """
    - id: fan
      parallel: {branches: {c: [{id: c1, run: x}, {id: c2, run: x}], a: [{id: a1, run: x}], b: [{id: b1, run: x}]}}
      publish: true
    - {id: many, run: x, each: {over: [z, m, a, k], key: id, concurrency: 4}, env: {I: "${{ item }}"}}
    """.replace("[z, m, a, k]", "[{id: z}, {id: m}, {id: a}, {id: k}]").replace("item }}", "item.id }}")
    with asyncio.Runner() as runner:
        store = runner.run(_opened(tmp_path))

        @settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @given(st.lists(st.integers(0, 3), min_size=9, max_size=9))
        def holds(turns: list[int]) -> None:
            play = runner.run(playing(store, steps, guid=new_id()))
            play.order = lambda begun: turns.pop()
            runner.run(play.go())
            assert list(runner.run(play.result("fan"))) == ["c", "a", "b"]
            assert list(runner.run(play.result("many"))) == ["z", "m", "a", "k"]
            (posted,) = play.case.outputs
            assert posted.index("c2") < posted.index("a1") < posted.index("b1")

        try:
            holds()
        finally:
            runner.run(store.close())


async def _opened(directory: Path) -> Store:
    return open_store(f"sqlite:///{directory / 'bot.db'}")


@pytest.mark.parametrize(
    ("more", "end"), [("", "failed fan failed: branch_failed"), (", on_error: collect", "succeeded")]
)
async def test_a_failed_branch_is_a_failed_entry(store: Store, more: str, end: str) -> None:
    """The others run to their ends; it fails the join unless failures are collected."""
    steps = f"- {{id: fan, parallel: {{branches: {{a: [{{id: one, run: x}}], b: [{{id: two, run: x}}]}}{more}}}}}"
    play = await played(store, steps, {"one": Failed("command_failed", "no")})
    assert play.end.startswith(end)
    assert "two[b]" in play.started
    entries = json.loads((await play.context())["parallel.results"])
    assert [one["status"] for one in entries] == ["fail", "success"]


def test_a_step_of_a_branch_is_not_named_from_outside() -> None:
    """The finding names both ways to its value; what it wrote is read from the join's result."""
    found = refused(
        "unknown_step", FAN.strip().replace("after, run: x", "after, agent: writer, prompt: '^${{ steps.two.output }}'")
    )
    assert "steps.fan.result.web" in found.hint
    assert "parallel.results" in found.hint
    fine(
        FAN.replace(
            "after, run: x",
            "after, agent: writer, prompt: '${{ steps.fan.result.web.size }} ${{ ctx.parallel.results }}'",
        )
    )


# -- the run's inputs

DECLARED = {
    "t": Declared(type="text", max_length=3, pattern="[a-z]+", required=False),
    "n": Declared(type="number", min=1, max=3, required=False),
    "b": Declared(type="bool", required=False),
    "e": Declared(type="enum", options=("api", "web"), required=False),
    "f": Declared(type="file", accept=(".md",), required=False),
    "s": Declared(type="secret", required=False),
}


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("t", "abc", "abc"),
        ("n", "1", 1),
        ("n", "3", 3),
        ("n", "2.5", 2.5),
        ("b", "true", True),
        ("b", "false", False),
        ("e", "web", "web"),
        ("f", "docs/a.md", "docs/a.md"),
        ("s", "NPM_TOKEN", "NPM_TOKEN"),
    ],
)
def test_words_are_parsed_to_the_declared_type(name: str, text: str, value: Any) -> None:
    """Whatever their source; bounds are inclusive."""
    got = bind(DECLARED, {name: text})
    assert (got.values, got.violations) == ({name: value}, ())
    assert type(got.values[name]) is type(value)


VIOLATIONS = {
    "missing_required": ({"r": Declared(type="text")}, {"r": " \t"}),
    "type_mismatch": (DECLARED, {"n": "many"}),
    "pattern": (DECLARED, {"t": "A"}),
    "range": (DECLARED, {"n": "3.01"}),
    "length": (DECLARED, {"t": "abcd"}),
    "enum": (DECLARED, {"e": "db"}),
    "file": (DECLARED, {"f": "../a.md"}),
    "unknown_input": (DECLARED, {"tt": "x"}),
}


@pytest.mark.parametrize("kind", VIOLATIONS)
def test_each_violation_has_its_class(kind: str) -> None:
    """White space alone is missing."""
    declared, given = VIOLATIONS[kind]
    (found,) = bind(declared, given).violations
    assert found.kind == kind
    assert f"`{next(iter(given))}`" in found.message


def test_all_violations_are_told_together() -> None:
    """Nothing is bound before the last was looked at."""
    got = bind({**DECLARED, "r": Declared(type="text")}, {"n": "0", "e": "x", "tt": "y", "b": "?"})
    assert {one.kind for one in got.violations} == {
        "range",
        "enum",
        "unknown_input",
        "type_mismatch",
        "missing_required",
    }


def test_a_secret_never_comes_from_a_comment() -> None:
    """Its default may name one; elsewhere it is the name of one."""
    assert [one.kind for one in bind(DECLARED, {"s": "NPM_TOKEN"}, by_comment=True).violations] == ["unknown_input"]
    assert bind({"s": Declared(type="secret", default="NPM_TOKEN")}, {}, by_comment=True).values == {"s": "NPM_TOKEN"}


@pytest.mark.parametrize("name", ["usd", "tokens", "minutes"])
def test_the_words_of_a_request_budget_name_no_input(name: str) -> None:
    """Nor does one name stand in `params` and `inputs`."""
    refused("reserved_name", "- {id: a, run: x}", flow=f"inputs: {{{name}: ^{{type: number}}}}")
    refused("duplicate_name", "- {id: a, run: x}", flow="params: {p: '1'}\ninputs: {p: ^{type: text}}")


@pytest.mark.parametrize(
    ("declared", "code"),
    [
        ("{type: ^string}", "option"),
        ("{type: text, ^min: 1}", "modifier"),
        ("{type: number, ^pattern: x}", "modifier"),
        ("{type: number, default: ^x}", "input_default"),
        ("{type: text, pattern: ^'(a'}", "pattern"),
        ("{type: text, pattern: ^'(?=a)'}", "pattern"),
    ],
)
def test_a_declaration_is_checked(declared: str, code: str) -> None:
    """Its type, its bounds, its default."""
    found = findings("- {id: a, run: x}", flow=f"inputs: {{f: {declared.replace('^', '')}}}")
    assert [one.code for one in found] == [code]


# -- budgets


@pytest.mark.parametrize("key", ["usd", "tokens", "minutes"])
@pytest.mark.parametrize("place", ["flow", "step", "agent", "defaults", "limits"])
def test_a_budget_is_not_negative(key: str, place: str) -> None:
    """Wherever it is set."""
    budget = f"{{{key}: ^-1}}"
    match place:
        case "flow":
            refused("range", "- {id: a, run: x}", flow=f"budget: {budget}")
        case "step":
            refused("range", f"- {{id: a, run: x, budget: {budget}}}")
        case "agent":
            refused("range", "- {id: a, run: x}", agents=f"o: {{model: 'demo:x', budget: {budget}}}")
        case "defaults":
            refused("range", "- {id: a, run: x}", flow=f"defaults: {{budget: {budget}}}")
        case _:
            refused("range", "- {id: a, run: x}", top=f"limits: {{per_run: {budget}}}")


async def test_a_run_stops_where_its_budget_is_spent(store: Store) -> None:
    """Before the next step begins, with what was spent."""
    play = await playing(store, "- {id: one, agent: writer}\n- {id: two, agent: writer}", {
        "one": Done("x", usage=Usage(600, 400, 1, 0.5))})  # fmt: skip
    play.case.budget = Budget(tokens=1000)
    await play.go()
    assert play.started == ["one"]
    assert "budget of 1,000 tokens is spent" in play.end


def test_a_request_has_a_budget_of_its_own() -> None:
    """Words of the command; it only tightens what holds already."""
    budget, wrong = request_budget({"usd": "$2", "tokens": "50000", "minutes": "10", "base": "x"})
    assert (budget, wrong) == (Budget(usd=2, tokens=50_000, minutes=10), ())
    assert [one.kind for one in request_budget({"usd": "-1", "tokens": "1.5"})[1]] == ["type_mismatch"] * 2
    assert Budget(usd=1).within(budget) == Budget(usd=1, tokens=50_000, minutes=10)


# -- kinds and modifiers

WORK = {
    "agent": "agent: writer",
    "run": "run: x",
    "code": "code: return 1",
    "ask": "ask: Ok?",
    "classify": "classify: {text: t, labels: {p: P, q: Q}}",
    "review": "review: {findings: []}",
    "notify": "notify: {comment: c}",
    "connector": "connector: {resource: hub, tool: t}",
    "pull_request": "pull_request: {title: t}",
    "uses": "uses: other",
    "parallel": "parallel: {branches: {p: [{id: b, run: x}], q: [{id: c, run: x}]}}",
    "steps": "steps: [{id: b, run: x}]",
    "switch": "switch: [{when: 'true', to: end}, {to: end}]",
    "wait": "wait: {for: 1m}",
    "end": "end: {}",
}
KEPT = {
    "when": "'true'",
    "each": "{over: [1]}",
    "retry": "{max: 1}",
    "timeout": "5m",
    "budget": "{usd: 1}",
    "reads": "[outcome]",
    "next": "end",
    "produces": "[{id: log, kind: log}]",
    "publish": "false",
    "format": "text",
    "workspace": "none",
    "on_interrupt": "fail",
    "context": "[first]",
    "fidelity": "compact",
    "injection_cap": "100",
    "writes": "[k]",
    "result": "{fields: {n: {type: number}}}",
}
HUB = "resources: {hub: {url: 'https://mcp.example.org'}}"
USED = "\n  other:\n    export: {from: [o]}\n    steps: [{id: o, run: x}]\n"


@pytest.mark.parametrize("kind", KINDS)
def test_the_key_that_names_the_work_is_the_kind(kind: str) -> None:
    """Exactly one of fifteen; two, or none, are refused."""
    assert len(KINDS) == 15
    assert _codes(f"- {{id: a, {WORK[kind]}}}") == []
    other = "run: x" if kind != "run" else "agent: writer"
    assert _codes(f"- {{id: a, {WORK[kind]}, {other}}}") == ["step_kind"]
    assert _codes("- {id: a, when: 'true'}") == ["step_kind"]


def _codes(steps: str) -> list[str]:
    found = check({BOT: page(steps, top=HUB).rstrip("\n") + USED}, builtin_files())[1]
    return [one.code for one in found]


@pytest.mark.parametrize("kind", KINDS)
def test_a_modifier_where_it_means_nothing_is_refused(kind: str) -> None:
    """Each key on each kind: taken where the kind has it, else refused with the kinds that have it."""
    for key, value in KEPT.items():
        step = f"- {{id: first, run: x}}\n- {{id: a, {WORK[kind]}, {key}: {value}}}"
        codes = _codes(step)
        if kind not in MODIFIERS[key]:
            assert codes == ["modifier"], (key, codes)
        elif (kind, key) == ("ask", "writes"):  # only of a form
            assert codes == ["modifier"]
        elif (kind, key) == ("ask", "each"):  # one after the other
            assert codes == []
        elif (kind, key) == ("wait", "timeout"):  # of an event
            assert codes == ["modifier"]
        else:
            assert codes == [], (key, codes)


def test_who_takes_what() -> None:
    """`context` where a model is asked, `writes` where something is said, `result` where one is given."""
    assert MODIFIERS["context"] == MODIFIERS["fidelity"] == {"agent", "classify"}
    assert MODIFIERS["writes"] == {"agent", "run", "code", "ask"}
    assert set(KINDS) - MODIFIERS["result"] == {"ask", "review", "notify", "switch", "wait", "end"}
    assert MODIFIERS["when"] == set(KINDS)


@pytest.mark.parametrize(
    ("kind", "seconds"), [("agent", 1800), ("run", 600), ("code", 600), ("ask", 7 * 86400), ("classify", 1800)]
)
def test_each_kind_has_its_time(kind: str, seconds: int) -> None:
    """`defaults.timeout` changes it, but never that of a gate."""
    step = configured(f"- {{id: a, {WORK[kind]}}}").workflows["main"].steps[0]
    assert step.timeout == seconds
    step = configured(f"- {{id: a, {WORK[kind]}}}", flow="defaults: {timeout: 5m}").workflows["main"].steps[0]
    assert step.timeout == (seconds if kind == "ask" else 300)


async def test_the_tree_of_a_run_is_what_its_rows_say(store: Store) -> None:
    """After any number of frames the root's context is read from the database alone."""
    play = await played(store, FAN, BRANCHES)
    rows = await play.case.rows()
    tree = Tree.of(rows, play.case.terms.workflow, play.case.terms.find)
    assert context_of(rows, tree, tree.root).newest["k"] == "before"


# -- order and routing


async def test_steps_run_in_file_order_unless_routed(store: Store) -> None:
    """A skipped step takes its default; `end` ends its frame."""
    steps = """
    - {id: a, run: x, when: "false", next: c}
    - {id: b, run: x, next: end}
    - {id: c, run: x, next: b}
    """
    play = await played(store, steps)
    assert play.started == ["c", "b"]
    assert await play.ledger() == ["/a skipped", "/c success", "/b success"]


async def test_only_a_passing_fault_is_tried_again(store: Store) -> None:
    """As often as `retry` says, by itself and later; a wrong result and a failed command never."""
    play = await playing(store, "- {id: a, agent: writer, retry: {max: 1, base: 2s, cap: 60s}}", {"a": Faulted("503")})
    await play.go()
    assert (await play.case.run()).state is RunState.QUEUED
    assert (await play.case.run()).not_before is not None
    await play.claim(after=90)
    await play.go()
    assert play.started == ["a", "a"]
    assert play.end.startswith("failed a failed")
    script = {"a": Failed("command_failed", "no")}
    again = await playing(store, "- {id: a, run: x, retry: {max: 3}}", script, guid="other")
    assert (await again.go()).started == ["a"]


async def test_a_group_repeats_until_its_condition_holds(store: Store) -> None:
    """At most `max` times; its result is that of its last step, and what it wrote is the run's."""
    steps = """
    - id: group
      loop: {max: 3, until: "ctx.ok == 'yes'"}
      steps: [{id: work, run: x, writes: [ok]}, {id: test, run: x}]
    - {id: after, run: x}
    """
    script: dict[str, Any] = {"work": [Done('{"ok": "no"}'), Done('{"ok": "yes"}')], "test": Done("t", {"n": 1})}
    play = await played(store, steps, script)
    assert play.started == ["work", "test", "work", "test", "after"]
    assert await play.result("group") == {"n": 1}
    assert (await play.context())["ok"] == "yes"


LISTED = """
- {id: find, run: x}
- id: many
  run: x
  each: {over: "${{ steps.find.result.l }}", key: sku, concurrency: 2MORE}
  env: {I: "${{ item.sku }}"}
"""


@pytest.mark.parametrize(
    ("elements", "code"),
    [([{"sku": "a"}, {"sku": "a"}], "each_key"), ([{"sku": "a"}, {}], "each_key"), ({"sku": "a"}, "each_list")],
)
async def test_a_list_that_is_wrong_fails_before_anything_runs(store: Store, elements: Any, code: str) -> None:
    """A key that is missing or stands twice, and what is no list."""
    play = await played(store, LISTED.replace("MORE", ""), {"find": Done(result={"l": elements})})
    assert (await play.error("many")).startswith(f"{code}: ")
    assert play.started == ["find"]


@pytest.mark.parametrize("elements", [None, []])
async def test_null_and_an_empty_list_are_no_elements_with_a_note(store: Store, elements: Any) -> None:
    """The step has succeeded."""
    play = await played(store, LISTED.replace("MORE", ""), {"find": Done(result={"l": elements})})
    assert (play.end, await play.result("many")) == ("succeeded", {})
    many = (await play.case.rows()).attempts[-1]
    (note,) = many.route["notes"]
    assert "no element" in note


@pytest.mark.parametrize(
    ("more", "end"), [("", "failed many failed: element_failed"), (", on_error: collect", "succeeded")]
)
async def test_an_element_that_fails(store: Store, more: str, end: str) -> None:
    """Nothing new begins and the step fails, unless failures are collected: then they are entries among the others."""
    elements = [{"sku": "b"}, {"sku": "a"}, {"sku": "c"}]
    script: dict[str, Any] = {"find": Done(result={"l": elements}), "many[b]": Failed("x", "no")}
    play = await playing(store, LISTED.replace("MORE", more), script)
    await play.go()
    assert play.end.startswith(end)
    assert play.most <= 2
    if more:
        assert list(await play.result("many")) == ["b", "a", "c"]


def test_each_and_loop_do_not_stand_together() -> None:
    """Nor is there more than one element at once where people are waited for."""
    found = findings("- {id: a, each: {over: [1]}, loop: {max: 2, until: 'true'}, steps: [{id: b, run: x}]}")
    assert [one.severity for one in found] == ["error"]
    step = configured("- {id: a, ask: Ok?, each: {over: [1, 2]}}").workflows["main"].steps[0]
    assert isinstance(step, WorkingStep)
    assert step.concurrency == 1
    refused("modifier", "- {id: a, ask: Ok?, each: {over: [1, 2], concurrency: ^4}}")


# -- what is checked before anything runs


@pytest.mark.parametrize("name", ["Plan", "1st", "a-b", "a.b", "end", "fail", "last", "retry", "''"])
def test_what_is_no_id_is_refused(name: str) -> None:
    """Lower-case letters, digits and `_`, a letter first, and no word of the language."""
    found = findings(f"- {{id: {name}, run: x}}")
    assert [one.severity for one in found] == ["error"], found
    assert (found[0].line, found[0].column) == (7, 14)


@pytest.mark.parametrize(
    ("code", "steps"),
    [
        ("duplicate_id", "- {id: a, run: x}\n- {id: ^a, run: x}"),
        ("duplicate_id", "- {id: a, run: x}\n- {id: g, steps: [{id: ^a, run: x}]}"),
        ("route", "- {id: a, run: x, next: ^nowhere}"),
        ("route", "- {id: a, run: x, next: ^inner}\n- {id: g, steps: [{id: inner, run: x}]}"),
        ("route", "- {id: a, ask: Ok?, options: {go_: ^nowhere}}"),
        ("unreachable", "- {id: a, run: x, next: end}\n- {id: ^b, run: x}"),
        ("unknown_key", "- {id: a, run: x, ^timout: 5m}"),
        ("type_mismatch", "- {id: a, run: x, reads: [^1]}"),
        ("unknown_tool", "- {id: a, agent: writer, tools: [^raed_file]}"),
        ("unknown_agent", "- {id: a, agent: ^wirter}"),
        ("duration", "- {id: a, run: x, timeout: ^soon}"),
    ],
)
def test_shape_and_routes_are_checked(code: str, steps: str) -> None:
    """Each with its place, what was expected, and a hint."""
    assert refused(code, steps).hint


def test_one_mistake_is_one_finding_and_an_error_beats_a_warning() -> None:
    """For a step and a key; findings come sorted by file and line."""
    steps = """
    - {id: a, agent: writer, prompt: "${{ ctx.k }} ${{ ctx.k }} ${{ steps.z.output }} ${{ steps.z.error }}"}
    - {id: b, agent: writer, prompt: "${{ ctx.k }}", when: "ctx.k == '1'"}
    """
    found = findings(steps)
    assert [(one.line, one.code, one.severity) for one in found] == [
        (7, "context_key", "warning"),
        (7, "unknown_step", "error"),
        (8, "context_key", "error"),
    ]


FILES = {
    "a key twice": ("version: 1\nversion: 1\n", "yaml_duplicate_key", 2),
    "a tab": ("version: 1\nagents:\n\ta: 1\n", "yaml_tab", 3),
    "an alias of itself": ("version: 1\nagents: &a {x: *a}\n", "yaml_alias", 2),
    "too deep": (f"version: 1\nagents: {'[' * 60}{']' * 60}\n", "yaml_depth", 2),
    "too large": (f"version: 1\n# {'x' * 262_144}\n", "yaml_size", 1),
    "an object of Python": ("version: !!python/object:os.system 1\n", "yaml_tag", 1),
    "no version": ("agents: {}\n", "missing_key", 1),
    "another version": ("version: 2\n", "version", 1),
    "a key of no meaning": ("version: 1\nagent: {}\n", "unknown_key", 2),
    "two of one name": (
        "version: 1\nagents: {one: {model: 'demo:x'}}\nworkflows: {one: {steps: [{id: a, run: x}]}}\n",
        "duplicate_name",
        3,
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_cannot_be_read_says_where(name: str) -> None:
    """With line, column and hint; nothing is guessed."""
    text, code, line = FILES[name]
    found = check({BOT: text})[1]
    assert (found[0].code, found[0].line) == (code, line), found
    assert found[0].column >= 1
    assert found[0].severity == "error"


def test_an_alias_bomb_is_bounded() -> None:
    """Ten thousand nodes, and no time is lost."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    found = check({BOT: "version: 1\n" + "\n".join(lines)})[1]
    assert "yaml_alias" in [one.code for one in found]


def test_on_and_yes_and_no_stay_text() -> None:
    """Booleans are those of YAML 1.2."""
    (step,) = configured("- {id: a, ask: Ok?, options: {yes: end, no: end, on: end}}").workflows["main"].steps
    assert isinstance(step, AskStep)
    assert list(step.options) == ["yes", "no", "on"]


def test_an_agent_is_a_workflow_of_one_step() -> None:
    """Its own `prompt` is the system's text; without a file there is the product's own agent."""
    made = configured("- {id: a, run: x}", agents="triage: {model: 'demo:x', prompt: You triage.}")
    workflow = made.workflow_for("triage")
    assert workflow is not None
    assert [(step.kind, step.id) for step in workflow.steps] == [("agent", "triage")]
    bare, found = check({}, builtin_files())
    assert bare is not None
    assert found == ()
    assert "ask" in bare.names()
