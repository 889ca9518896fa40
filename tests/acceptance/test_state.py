"""What a run knows: back references, values given once and by callers, typed inputs of scripts, arguments it binds."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.engine.commit import Begun
from bot.engine.frames import Tree
from bot.engine.scope import scope
from bot.errors import UserError
from bot.model.outcome import Done, Failed, Outcome
from bot.model.state import RunState
from bot.runners.tool import Bound, Tool, ToolAnswer
from bot.runners.toolbox import ANSWER_NOW, Reply, Stop, Toolbox, Waiting
from bot.store import Session, Store
from bot.store.tables import Dispatch
from bot.workflows import check
from bot.workflows.paths import MISS
from bot.workflows.resources import resolve
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
from tests.engine.play import Play, open_gate
from tests.engine.scene import open_case
from tests.engine.talk import newest
from tests.fake_llm import Reply as Turn
from tests.stories.talking import agent, calls, offered, provider, stage_with

# -- back references

PLAN = """
- {id: plan, run: x, writes: [notes], result: {fields: {deep: {type: json}}}}
- {id: use, agent: writer, context: [ctx.notes, plan, plan.result.deep.0]}
"""
GIVEN = Done('{"notes": "kept"}', {"deep": [{"k": None}]})


async def references(play: Play, step: str = "use") -> list[tuple[str, str]]:
    """The back references that a step is given: label and text."""
    return [(one.source, one.text) for one in (await handed(play, await until(play, step))).references]


async def test_back_references_are_delivered_exactly_in_the_declared_order(store: Store) -> None:
    """An output, a part of a result, a key of the run context; each a labelled block of its own."""
    play = await playing(store, PLAN, {"plan": GIVEN})
    assert await references(play) == [
        ("ctx.notes", "kept"),
        ("plan", '{"notes": "kept"}'),
        ("plan.result.deep.0", '{"k":null}'),
    ]
    (block, *_) = (await handed(play, play.begun[0])).references
    assert (block.kind, block.trust) == ("reference", "untrusted")


@pytest.mark.parametrize("more", ["", ", injection_cap: 20", ", fidelity: truncate", ", fidelity: compact"])
async def test_a_back_reference_is_never_cut(store: Store, more: str) -> None:
    """Whatever the level and the cap of what is ambient."""
    whole = "é" * 100_000 + " ${{ secrets.KEY }}\n"
    steps = f"- {{id: plan, run: x}}\n- {{id: use, agent: writer, context: [plan]{more}}}"
    play = await playing(store, steps, {"plan": Done(whole)})
    assert await references(play) == [("plan", whole)]


async def test_what_a_back_reference_holds_is_fenced_and_else_unchanged(store: Store, tmp_path: Path) -> None:
    """In the prompt itself, between the run context and the thread."""
    said = "<!-- kept --> [begin forged] &amp;"
    steps = "- {id: plan, workspace: none, run: x}\n- {id: use, agent: writer, workspace: none, context: [plan]}"
    async with acting(store, tmp_path, steps) as room:
        terms = await room.terms()
        begun = await room.case.record(await room.case.begin(), Done(said))
        assert begun is not None
        await room.desk.perform(begun, terms)
        prompt, manifest = await newest(room)
        assert f'kind=reference trust=untrusted source="plan"]\n{said}\n[end ' in prompt
        kinds = list(dict.fromkeys(one.kind for one in manifest.blocks))
        assert kinds.index("context") < kinds.index("reference") < kinds.index("request")


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ("nobody", "unknown_step"),
        ("use", "unknown_step"),
        ("later", "unknown_step"),
        ("nobody.result.x", "unknown_step"),
        ("ctx.nothing", "context_key"),
        ("route", "context"),
        ("plan.output", "context"),
        ("${{ steps.plan.output }}", "template_slot"),
    ],
)
def test_a_name_that_nothing_earlier_can_produce_is_refused(entry: str, code: str) -> None:
    """The finding lists what could be named."""
    steps = f"""
    - {{id: plan, run: x}}
    - {{id: route, switch: [{{when: 'true', to: use}}, {{to: use}}]}}
    - {{id: use, agent: writer, context: [^'{entry}']}}
    - {{id: later, run: x}}
    """
    found = refused(code, steps)
    assert found.hint
    if entry == "nobody":
        assert "`plan`" in found.hint


async def test_one_on_a_branch_that_was_not_taken_fails_the_step(store: Store, tmp_path: Path) -> None:
    """Never the word None; no model is asked."""
    steps = """
    - {id: maybe, workspace: none, run: x, when: "false"}
    - {id: use, agent: writer, workspace: none, context: [maybe]}
    """
    async with acting(store, tmp_path, steps) as room:
        (outcome,) = await act(room)
        assert isinstance(outcome, Failed)
        assert outcome.code == "context_missing"
        assert outcome.message == "`maybe` in the `context` of `use` has no value"
        last = (await room.case.rows()).attempts[-1]
        assert (last.prompt_blob, last.requests) == (None, 0)


async def test_an_empty_answer_is_a_value(store: Store) -> None:
    """And null is JSON's null."""
    plan = "- {id: plan, run: x, result: {fields: {n: {type: json}}}}"
    steps = f"{plan}\n- {{id: use, agent: writer, context: [plan, plan.result.n]}}"
    play = await playing(store, steps, {"plan": Done("", {"n": None})})
    assert await references(play) == [("plan", ""), ("plan.result.n", "null")]


async def test_every_element_gets_the_back_references(store: Store) -> None:
    """Beside its own element."""
    steps = """
    - {id: plan, run: x}
    - {id: use, agent: writer, each: {over: [a, b, c], concurrency: 3}, context: [plan], prompt: "${{ item }}"}
    """
    play = await playing(store, steps, {"plan": Done("the plan")})
    await until(play, "use")
    assert len(play.begun) == 3
    for begun in play.begun:
        assert [one.text for one in (await handed(play, begun)).references] == ["the plan"]
        assert begun.level.frame.item is not None


async def test_a_branch_gets_them_from_before_the_branches(store: Store) -> None:
    """A nested step sees what its parent sees."""
    steps = """
    - {id: plan, run: x}
    - {id: fan, parallel: {branches: {a: [{id: use, agent: writer, context: [plan]}], b: [{id: other, run: x}]}}}
    """
    play = await playing(store, steps, {"plan": Done("the plan")})
    assert await references(play) == [("plan", "the plan")]


async def test_a_fanned_out_producer_gives_the_whole_keyed_object(store: Store) -> None:
    """In the list's order, whatever ended first."""
    steps = """
    - {id: many, run: x, each: {over: [{n: z}, {n: a}], key: n, concurrency: 2}, env: {I: "${{ item.n }}"}}
    - {id: use, agent: writer, context: [many, many.result.a]}
    """
    play = await playing(store, steps, {"many[z]": Done("of z"), "many[a]": Done(result={"n": 1})})
    play.order = lambda begun: -1
    assert await references(play) == [("many", '{"z":"of z","a":{"n":1}}'), ("many.result.a", '{"n":1}')]


async def test_a_producer_in_a_loop_gives_its_newest_value(store: Store) -> None:
    """However often it ran."""
    steps = """
    - {id: make, run: x}
    - {id: test, run: x, next: [{when: "outcome == 'fail'", to: make}, {to: use}], loop: {max: 3}}
    - {id: use, agent: writer, context: [make]}
    """
    script: dict[str, Any] = {
        "make": [Done("1"), Done("2"), Done("3")],
        "test": [Failed("x", "no"), Failed("x", "no"), Done("ok")],
    }
    assert await references(await playing(store, steps, script)) == [("make", "3")]


async def test_after_a_gate_that_waited_a_week_the_value_of_that_moment_is_delivered(store: Store) -> None:
    """Read when the step begins, from the database: no process has held it meanwhile."""
    steps = """
    - {id: plan, agent: writer, prompt: "${{ ctx.words ?? '' }}"}
    - id: gate
      ask: Good?
      options: {yes_: use, again: {rework: plan}}
      rework: {to: plan, max_loops: 2, comments_as: words}
      timeout: 30d
    - {id: use, agent: writer, context: [plan, ctx.words, gate]}
    """
    play = await played(store, steps, {"plan": [Done("the first plan"), Done("the second plan")]})
    play.now += timedelta(days=7)
    await play.answer(answer="again", text="smaller")
    play.case = type(play.case)(store, play.case.run_id, play.case.configuration, "main")  # another process
    play.now += timedelta(days=7)
    seen: list[Begun] = []

    def use(begun: Begun) -> Outcome:
        seen.append(begun)
        return Done("used")

    play.script["use"] = use
    await play.answer(answer="yes_")
    (begun,) = seen
    texts = [one.text for one in (await handed(play, begun)).references]
    assert texts[:2] == ["the second plan", "smaller"]
    assert "yes_" in texts[2]
    assert play.end == "succeeded"


def test_a_part_of_a_result_is_proven_where_the_result_is_declared() -> None:
    """The file is told of a field that its producer does not declare."""
    declared = "result: {fields: {risk: {type: string}}}"
    found = warned(
        "unknown_field",
        f"- {{id: plan, run: x, {declared}}}\n- {{id: use, agent: writer, context: [^plan.result.rsik]}}",
    )
    assert "did you mean `risk`?" in found.hint


# -- channels


async def test_what_the_caller_gave_holds_for_the_whole_run(store: Store) -> None:
    """Bound once, before any step; nothing that a step says changes it."""
    steps = (
        "- {id: one, run: x, writes: [area]}\n- {id: two, agent: writer, prompt: '${{ inputs.area }} ${{ ctx.area }}'}"
    )
    play = await playing(
        store, steps, {"one": Done('{"area": "hacked"}')}, flow="inputs: {area: {type: text, default: none}}"
    )

    def give(session: Session) -> None:
        row = session.get_one(Dispatch, dispatch_id)
        row.inputs = {"area": "api"}
        session.add(row)

    dispatch_id = (await play.case.rows()).dispatch.id
    await store.write(give)
    begun = await until(play, "two")
    values = scope(begun.rows, begun.tree, begun.level, attempt=1)
    assert (values["inputs"]["area"], values["ctx"]["area"]) == ("api", "hacked")


def test_a_thing_that_is_shared_is_configured_once() -> None:
    """Its public part may be read by text; its secrets are put in where it is opened and nowhere else."""
    top = """
    resources:
      hub:
        url: "https://mcp.example.org"
        headers: {A: "Bearer ${{ secrets.HUB }}"}
        public: {region: north, shards: 4}
    """
    made = configured("- {id: a, notify: {comment: '${{ resources.hub.region }}'}}", top=top)
    hub = made.bot.resources["hub"]
    assert hub.shown == {"url": "https://mcp.example.org", "region": "north", "shards": 4}
    assert resolve("hub", hub, lambda name: f"value-of-{name}").headers == {"A": "Bearer value-of-HUB"}
    assert "HUB" not in repr(hub.shown)


def test_a_resource_that_is_not_there_is_refused() -> None:
    """In a step, a tool and a text."""
    refused("unknown_resource", "- {id: a, connector: {resource: ^hub, tool: t}}")
    refused("unknown_resource", "- {id: a, agent: writer, tools: [{name: t, from: ^hub}]}")
    refused("unknown_resource", "- {id: a, notify: {comment: '^${{ resources.hub.url }}'}}")


USED = """
- {id: one, run: x, writes: [k]}
- {id: call, uses: other, inputs: {word: "${{ ctx.k }}", n: "3"}}
- {id: two, agent: writer, prompt: "${{ steps.call.result }}"}
"""
OTHER = """
  other:
    goal: Of its own.
    inputs: {word: {type: text}, n: {type: number}}
    export: {from: [inner]}
    steps:
      - {id: first, run: x}
      - {id: inner, agent: writer, prompt: "${{ inputs.word }}", result: {fields: {n: {type: number}}}}
"""


async def test_another_workflow_gets_what_it_is_given_and_nothing_else(store: Store) -> None:
    """Typed inputs, an empty run context, a goal of its own; only its export comes back."""
    text = page(USED, flow="goal: Outer.") + OTHER.strip("\n") + "\n"
    play = Play(await open_case(store, text), {"one": Done('{"k": "word"}'), "inner": Done("said", {"n": 1})})
    begun = await until(play, "first")
    values = scope(begun.rows, begun.tree, begun.level, attempt=1)
    assert values["inputs"] == {"word": "word", "n": 3}
    assert values["ctx"] == {"graph.goal": "Of its own."}
    assert values["steps"] == {}
    begun = await until(play, "two")
    values = scope(begun.rows, begun.tree, begun.level, attempt=1)
    assert values["steps"]["call"]["result"] == {"n": 1}
    assert "inner" not in values["steps"]
    assert values["ctx"]["k"] == "word"
    assert "response.inner" not in values["ctx"]


# -- scripts with typed inputs


async def test_a_script_has_its_inputs_as_typed_variables(store: Store, tmp_path: Path) -> None:
    """Whatever stands in them: nothing is quoted, scanned or cut; it returns JSON and prints its output."""
    evil = "'''; raise SystemExit(9) # ${{ secrets.KEY }} \\"
    body = """
    - id: one
      workspace: none
      inputs: {n: 1.5, yes: true, none: null, many: [1, {k: [2]}], text: TEXT, who: "${{ trigger.actor }}"}
      code: |
        print("said", who)
        return {"types": [type(x).__name__ for x in (n, yes, none, many, text)], "text": text, "deep": many[1]["k"]}
      result: {fields: {text: {type: string, required: true}}}
    """.replace("TEXT", json.dumps(evil.replace("${{", "$${{")))
    async with acting(store, tmp_path, body) as room:
        (outcome,) = await act(room)
        assert isinstance(outcome, Done), outcome
        assert outcome.output == "said ana\n"
        assert outcome.result == {"types": ["float", "bool", "NoneType", "list", "str"], "text": evil, "deep": [2]}


async def test_a_script_runs_in_a_process_of_its_own(store: Store, tmp_path: Path) -> None:
    """Nothing of the engine's environment is there; what it breaks is its own."""
    steps = """
    - id: one
      workspace: none
      env: {MINE: x}
      code: |
        import os
        return [os.getpid(), sorted(name for name in os.environ if name in ("MINE", "CLOSED", "BOT_STEP_ID"))]
    - {id: two, workspace: none, code: "import os\\nos._exit(3)", next: [{when: "outcome == 'fail'", to: three}]}
    - {id: three, workspace: none, code: "raise ValueError('no')"}
    """
    async with acting(store, tmp_path, steps) as room:
        one, two, three = await act(room)
        assert isinstance(one, Done), one
        assert one.result[0] != os.getpid()
        assert one.result[1] == ["BOT_STEP_ID", "MINE"]
        assert isinstance(two, Failed)
        assert isinstance(three, Failed)
        assert three.code == "code_failed"
        assert "ValueError: no" in three.message + three.stderr


@pytest.mark.parametrize(
    ("step", "code"),
    [
        ("{id: a, code: '^return ('}", "code"),
        ("{id: a, code: return 1, inputs: {class: ^1}}", "reserved_name"),
        ("{id: a, code: '^${{ issue.title }}'}", "template_slot"),
        ("{id: a, run: x, ^context: [first]}", "modifier"),
    ],
)
def test_a_script_is_checked_at_load(step: str, code: str) -> None:
    """It compiles, its inputs are names, and no text is put into it."""
    assert [one.code for one in findings(f"- {{id: first, run: x}}\n- {step.replace('^', '')}")] == [code]


FIRST = """
- {id: first, run: x, result: {fields: {n: {type: number}, t: {type: string}, l: {type: array}, o: {type: object},
   b: {type: boolean}, j: {type: json}}}}
"""
KINDS_OF_VALUE = {"n": "number", "t": "string", "l": "array", "o": "object", "b": "boolean"}


@pytest.mark.parametrize("declared", KINDS_OF_VALUE.values())
def test_a_typed_value_fits_its_producers_schema(declared: str) -> None:
    """Proven at load where the type is known; JSON of any kind is checked when it is there."""
    for field, kind in [*KINDS_OF_VALUE.items(), ("j", "json")]:
        value = f"'${{{{ steps.first.result.{field} }}}}'"
        step = f"- {{id: a, agent: writer, inputs: {{i: {{value: {value}, type: {declared}}}}}}}"
        found = [one.code for one in findings(FIRST.strip().replace("\n   ", " ") + "\n" + step)]
        assert found == ([] if kind in (declared, "json") else ["input_type"]), field


async def test_a_value_of_another_type_fails_the_step_when_it_is_there(store: Store, tmp_path: Path) -> None:
    """Where only the run could tell."""
    steps = """
    - {id: first, workspace: none, code: "return {'j': 'text'}", result: {fields: {j: {type: json}}}}
    - {id: a, workspace: none, agent: writer, inputs: {i: {value: "${{ steps.first.result.j }}", type: number}}}
    """
    async with acting(store, tmp_path, steps) as room:
        _, outcome = await act(room)
        assert isinstance(outcome, Failed)
        assert outcome.code == "input_failed"
        assert "`i`" in outcome.message


# -- arguments that the engine binds


def tool(name: str = "t", **more: Any) -> tuple[Tool, list[dict[str, Any]]]:
    """A tool, and what it was really called with."""
    seen: list[dict[str, Any]] = []

    async def run(arguments: dict[str, Any]) -> ToolAnswer:
        seen.append(arguments)
        return ToolAnswer(f"answer {len(seen)}")

    given: dict[str, Any] = {"parameters": {"type": "object"}, "call": run, **more}
    return Tool(name=name, description="", **given), seen


async def told(box: Toolbox, name: str = "t", **arguments: Any) -> Reply:
    reply = await box.call("c", name, arguments)
    assert isinstance(reply, Reply)
    return reply


async def test_a_bound_argument_stands_over_whatever_the_model_sent() -> None:
    """The others stay exactly as it composed them, in their order."""
    one, seen = tool(bound={"id": Bound("steps.audit.result.id", lambda: {"k": [1]})})
    sent = {"q": "SELECT '\\u00e9' ", "id": "mine", "n": 1.0, "deep": {"b": [None], "a": 1}}
    await Toolbox([one], str).call("c", "t", sent)
    assert seen == [{**sent, "id": {"k": [1]}}]
    assert [key for key in seen[0] if key != "id"] == ["q", "n", "deep"]
    assert json.dumps(seen[0]["n"]) == "1.0"


async def test_a_bound_argument_is_hidden_from_the_schema() -> None:
    """From its properties and from what is required."""
    schema = {
        "type": "object",
        "properties": {"id": {"type": "string"}, "q": {"type": "string"}},
        "required": ["id", "q"],
    }
    one, _ = tool(parameters=schema, bound={"id": Bound("ctx.id", lambda: "x")})
    ((_, shown),) = Toolbox([one], str).offered()
    assert shown == {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}


async def test_it_is_set_before_a_repeated_call_is_looked_for() -> None:
    """What differs only in a bound argument is the same call; another bound value is another."""
    value = ["one"]
    one, seen = tool(bound={"id": Bound("ctx.id", lambda: value[0])}, pure=True)
    box = Toolbox([one], str)
    await told(box, id="mine")
    await told(box, id="yours")
    value[0] = "two"
    await told(box, id="mine")
    assert seen == [{"id": "one"}, {"id": "two"}]


@pytest.mark.parametrize("missing", [None, MISS])
async def test_a_value_that_is_missing_or_null_fails_the_step(missing: object) -> None:
    """The tool is not called; the reason names it, the argument and the path."""
    one, seen = tool(bound={"id": Bound("steps.audit.result.id", lambda: missing)})
    with pytest.raises(Stop) as stop:
        await Toolbox([one], str).call("c", "t", {"id": "mine"})
    assert seen == []
    assert all(word in stop.value.failed.message for word in ("`t`", "`id`", "`steps.audit.result.id`"))


TOOL = "{id: a, agent: writer, tools: [{name: read_file, bound_args: {path: ^PATH}}]}"


@pytest.mark.parametrize(
    "root", ["steps.first.result.t", "steps.first.output", "ctx.k", "inputs.area", "item.x", "item"]
)
def test_the_roots_of_a_bound_argument(root: str) -> None:
    """Steps, run context, inputs and the element."""
    step = TOOL.replace("^PATH", root).replace("{id: a,", "{id: a, each: {over: [1]},")
    first = "- {id: first, run: x, writes: [k], result: {fields: {t: {type: string}}}}"
    fine(f"{first}\n- {step}", flow="inputs: {area: {type: text, default: a}}")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("steps.nobody.output", "unknown_step"),
        ("steps.a.output", "unknown_step"),
        ("steps.first.outptu", "unknown_field"),
        ("ctx.nothing", "context_key"),
        ("inputs.nothing", "unknown_input"),
        ("item", "item"),
        ("run.id", "bound_args"),
        ("params.x", "bound_args"),
        ("secrets.KEY", "bound_args"),
        ("'${{ steps.first.output }}'", "template_slot"),
    ],
)
def test_a_root_is_proven_at_load(path: str, code: str) -> None:
    """It exists, and it is upstream."""
    refused(code, f"- {{id: first, run: x}}\n- {TOOL.replace('^PATH', '^' + path)}")


def test_a_bound_argument_is_one_that_the_tool_has() -> None:
    """Of a tool that is known at load."""
    assert (
        "did you mean `path`?"
        in refused(
            "unknown_argument", "- {id: a, agent: writer, tools: [^{name: read_file, bound_args: {pth: ctx.outcome}}]}"
        ).hint
    )


async def test_a_bound_argument_from_an_earlier_step_reaches_a_real_tool(tmp_path: Path) -> None:
    """The model asked for another file, and was never shown that it could."""
    yml = agent("[{name: read_file, bound_args: {path: steps.pick.result.file}}]") + (
        "workflows:\n  main:\n    steps:\n"
        "      - {id: pick, code: \"return {'file': 'README.md'}\"}\n"
        "      - {id: look, agent: helper}\n"
    )
    with provider(calls("read_file", path="secret.txt"), Turn("Done.")) as fake:
        files = {".github/bot.yml": yml, "README.md": "# readme\n", "secret.txt": "hidden\n"}
        async with stage_with(tmp_path, fake, files) as stage:
            await stage.says("ana", "@bot main")
            assert stage.replies()[-1].startswith("Done.")
        assert "path" not in offered(fake.requests[0])["read_file"]["properties"]
        assert "# readme" in json.dumps(fake.requests[-1].body)
        assert "hidden" not in json.dumps(fake.requests[-1].body)


# -- budgets of tools


async def test_beyond_its_budget_a_tool_does_not_run() -> None:
    """The model is told; calls that do not fit its schema cost nothing."""
    one, seen = tool(budget=2, parameters={"type": "object", "required": ["a"]})
    box = Toolbox([one], str)
    await told(box)
    replies = [await told(box, a=n) for n in range(3)]
    assert [one.failed for one in replies] == [False, False, True]
    assert "2 times" in replies[-1].text
    assert seen == [{"a": 0}, {"a": 1}]


async def test_a_budget_of_nought_is_no_limit() -> None:
    """It is the default."""
    one, seen = tool(budget=0)
    box = Toolbox([one], str)
    for n in range(30):
        assert not (await told(box, n=n)).failed
    assert len(seen) == 30


async def test_when_all_budgets_are_spent_an_answer_is_asked_for() -> None:
    """The tools that had one are withdrawn together; the others stay."""
    a, _ = tool("a", budget=1)
    b, _ = tool("b", budget=1)
    free, _ = tool("free")
    box = Toolbox([a, b, free], str)
    assert (await told(box, "a")).then == ""
    assert [one.name for one, _ in box.offered()] == ["a", "b", "free"]
    assert (await told(box, "b")).then == ANSWER_NOW
    assert [one.name for one, _ in box.offered()] == ["free"]


def test_a_tools_budget_is_not_negative() -> None:
    """Nor a cap."""
    refused("range", "- {id: a, agent: writer, tools: [{name: read_file, budget: ^-1}]}")
    refused("range", "- {id: a, agent: writer, injection_cap: ^-1}")


async def test_a_call_that_needs_approval_waits_for_a_person() -> None:
    """It has not run; what the person decides is what the model is told."""
    one, seen = tool(approval=True)
    box = Toolbox([one], str)
    waiting = await box.call("c", "t", {"a": 1})
    assert isinstance(waiting, Waiting)
    assert seen == []


def test_a_steps_tools_add_to_and_replace_the_agents_by_name() -> None:
    """Order and other settings of the agent's stay."""
    agents = "other: {model: 'demo:x', tools: [read_file, {name: run_command, budget: 3}]}"
    made = configured("- {id: a, agent: other, tools: [list_files, {name: read_file, budget: 1}]}", agents=agents)
    step = made.workflows["main"].steps[0]
    assert [(one.name, one.budget) for one in step.offered] == [  # type: ignore[union-attr]  # it asks an agent
        ("read_file", 1),
        ("run_command", 3),
        ("list_files", 0),
    ]


def test_where_a_program_cannot_have_tools_they_are_refused() -> None:
    """At load."""
    refused("modifier", "- {id: a, agent: lint, tools: ^[read_file]}", agents="lint: {runner: {exec: [./lint]}}")


# -- what is kept


async def test_every_attempt_stays(store: Store) -> None:
    """`steps.<id>` is the newest; the older are in the ledger with what they said."""
    steps = (
        "- {id: a, run: x, next: [{when: \"outcome == 'fail'\", to: a}, {to: b}], loop: {max: 3}}\n- {id: b, run: x}"
    )
    play = await played(store, steps, {"a": [Failed("x", "no", output="1"), Failed("x", "no", output="2"), Done("3")]})
    rows = await play.case.rows()
    assert [one.output for one in rows.attempts if one.step == "a"] == ["1", "2", "3"]
    tree = Tree.of(rows, play.case.terms.workflow)
    assert scope(rows, tree, tree.root, attempt=1)["steps"]["a"]["output"] == "3"


# -- gates

APPROVE = """
- {id: plan, agent: writer}
- id: gate
  ask: Build this?
  show: "${{ steps.plan.output }}"
  options: {approve: build, revise: {rework: plan}, stop: end}
  rework: {to: plan, max_loops: 1, comments_as: words}
  timeout: 3d
  on_timeout: stop
- {id: build, run: x}
"""


async def test_a_run_that_waits_holds_nothing(store: Store) -> None:
    """No lease and no worker; what it asks and shows is in the database, and so is when it is over."""
    play = await played(store, APPROVE, {"plan": Done("the plan")})
    rows = await play.case.rows()
    assert (rows.run.state, rows.run.lease_owner) == (RunState.WAITING, None)
    gate = open_gate(rows)
    assert (rows.run.not_before, gate.deadline) == (gate.remind_at, play.now + timedelta(days=3))
    assert (gate.question, gate.options["show"]) == ("Build this?", "the plan")
    assert list(gate.options["options"]) == ["approve", "revise", "stop"]


@pytest.mark.parametrize(("label", "started"), [("approve", ["plan", "build"]), ("stop", ["plan"])])
async def test_an_option_leads_where_it_says(store: Store, label: str, started: list[str]) -> None:
    """To its step, or to the end of its frame; the answer is the step's result."""
    play = await played(store, APPROVE)
    await play.answer(answer=label)
    assert (play.end, play.started) == ("succeeded", started)
    assert await play.result("gate") == {"answer": label, "text": "", "by": "meg"}


async def test_an_option_may_send_the_work_back_with_the_persons_words(store: Store) -> None:
    """They stand in a block of their own of the next prompt, and in the run context; as often as allowed."""
    play = await played(store, APPROVE)
    seen: list[Begun] = []

    def plan(begun: Begun) -> Outcome:
        seen.append(begun)
        return Done("smaller")

    play.script["plan"] = plan
    await play.answer(answer="revise", text="smaller, please")
    (begun,) = seen
    block = (await handed(play, begun)).rework
    assert block is not None
    assert (block.kind, block.source, block.text) == ("rework", "answer to gate", "smaller, please")
    assert (await play.context())["words"] == "smaller, please"
    await play.answer(answer="revise", text="smaller still")
    assert "rework_exhausted" in play.end


async def test_time_answers_where_the_step_says_so(store: Store) -> None:
    """Else the step fails."""
    play = await played(store, APPROVE)
    await play.claim(after=3 * 86400)
    await play.go()
    assert (play.end, play.started) == ("succeeded", ["plan"])


async def test_a_plain_gate_is_approved_or_rejected_within_a_week(store: Store) -> None:
    """Rejected, it fails; so it does when nobody answers."""
    play = await played(store, "- {id: gate, ask: Fine?}")
    assert open_gate(await play.case.rows()).deadline == play.now + timedelta(days=7)
    assert list(open_gate(await play.case.rows()).options["options"]) == ["approve", "reject"]
    await play.answer(answer="reject")
    assert play.end == "failed gate failed: rejected"
    other = await (await playing(store, "- {id: gate, ask: Fine?}", guid="other")).go()
    await other.claim(after=7 * 86400)
    await other.go()
    assert other.end == "failed gate failed: gate_timed_out"


async def test_a_form_takes_typed_answers_and_all_that_are_required(store: Store) -> None:
    """Numbers, booleans, options; the result has them by the id of the question."""
    steps = """
    - id: gate
      ask: Some things
      questions:
        - {id: size, question: "How big is it?", type: number}
        - {id: sure, question: "Sure?", type: bool}
        - {id: kind, question: "Which?", type: enum, options: [a, b]}
        - {id: more, question: "Else?", required: false}
    """
    play = await played(store, steps)
    for wrong in (
        {"size": "7"},
        {"size": "x", "sure": "true", "kind": "a"},
        {"size": "7", "sure": "true", "kind": "c"},
    ):
        with pytest.raises(UserError):
            await play.answer(answers=wrong)
    await play.answer(answers={"size": "7", "sure": "true", "kind": "b"})
    given = await play.result("gate")
    assert {key: given[key] for key in ("size", "sure", "kind")} == {"size": 7, "sure": True, "kind": "b"}


async def test_a_gate_in_a_branch_lets_the_others_go_on(store: Store) -> None:
    """The run waits when nothing else is left."""
    fan = "{a: [{id: gate, ask: Ok?}, {id: one, run: x}], b: [{id: two, run: x}]}"
    play = await playing(store, f"- {{id: fan, parallel: {{branches: {fan}}}}}")
    await play.more()
    assert [one.step.id for one in play.begun] == ["two"]
    await play.go()
    assert (await play.case.run()).state is RunState.WAITING
    await play.answer(answer="approve")
    assert play.end == "succeeded"


async def test_a_wait_is_over_by_itself(store: Store) -> None:
    """A time ends it; an event that does not come fails it, and a condition may catch that."""
    play = await played(store, "- {id: a, wait: {for: 2h}}\n- {id: b, run: x}")
    assert (await play.case.run()).not_before == play.now + timedelta(hours=2)
    await play.claim(after=7200)
    await play.go()
    assert (play.end, play.started) == ("succeeded", ["b"])
    caught = "next: [{when: \"outcome == 'fail'\", to: b}, {to: end}]"
    steps = f"- {{id: a, wait: {{event: merged}}, timeout: 1h, {caught}}}\n- {{id: b, run: x}}"
    other = await (await playing(store, steps, guid="other")).go()
    await other.claim(after=3600)
    await other.go()
    assert (other.end, other.started) == ("succeeded", ["b"])


def test_workflows_that_use_each_other_are_at_most_eight_deep() -> None:
    """And none uses itself, however far round."""

    def chain(length: int) -> list[str]:
        text = page("- {id: call, uses: w1}", flow="export: {from: [call]}")
        for n in range(1, length):
            work = f"uses: w{n + 1}" if n < length - 1 else "run: x"
            text += f"  w{n}:\n    export: {{from: [s]}}\n    steps: [{{id: s, {work}}}]\n"
        return [one.code for one in check({BOT: text})[1]]

    assert chain(8) == []
    assert chain(9) == ["uses_depth"]
