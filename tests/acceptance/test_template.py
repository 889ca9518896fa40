"""Templates: one syntax, namespaces apart from each other, a matrix of places, values that are never read again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.engine.rendering import CONTENT_MAX, rendering
from bot.engine.scope import OUTPUT_MAX
from bot.model.outcome import Done, Failed
from bot.publish import Redactor
from bot.runners import mcp_content
from bot.steps.connector import perform_connector
from bot.store import Store
from bot.workflows import MISS, Condition, Slot, Template, builtin_files, check, resolve
from bot.workspace import Secrets
from bot.workspace.reach import Reach
from bot.workspace.supervised import Supervised
from tests.acceptance.pages import BOT, act, acting, configured, findings, fine, page, playing, refused, until, warned
from tests.rows import REPOSITORY
from tests.servers.started import on_loopback

#: a value of each namespace that can be had where `STEPS` puts a step
SAMPLES = {
    "trigger": "trigger.text",
    "issue": "issue.title",
    "run": "run.id",
    "params": "params.base",
    "agent": "agent.name",
    "loop": "loop.index",
    "inputs": "inputs.area",
    "steps": "steps.first.output",
    "ctx": "ctx.last_response",
    "item": "item",
    "artifacts": "artifacts.log.kind",
    "resources": "resources.hub.url",
    "secrets": "secrets.KEY",
}
STEPS = """
- {id: first, run: date, produces: [{id: log, kind: log}]}
- id: group
  each: {over: [1]}
  steps:
    - STEP
"""
TOP = """
resources:
  hub: {url: "https://mcp.example.org"}
  chat: {webhook: "https://hooks.example.org"}
"""
FLOW = "params: {base: main}\ninputs: {area: {type: text, default: a}}"
OTHER = """
  other:
    inputs: {word: {type: text}}
    export: {from: [o]}
    steps: [{id: o, run: date}]
"""
EVENT = {"trigger", "issue", "run", "params", "agent", "loop", "inputs"}
STATE = {"steps", "ctx", "item", "artifacts"}
READ_BY_MODELS = EVENT | STATE
READ_BY_PEOPLE = EVENT | STATE | {"resources"}
SAFE = {"run", "params"}
PLACES: dict[str, tuple[str, set[str]]] = {
    "a step's prompt": ("{id: a, agent: writer, prompt: 'T'}", READ_BY_MODELS),
    "ask": ("{id: a, ask: 'T'}", READ_BY_MODELS),
    "show": ("{id: a, ask: Ok?, show: 'T'}", READ_BY_MODELS),
    "questions": ("{id: a, ask: Ok?, questions: [{id: q, question: 'T'}]}", READ_BY_MODELS),
    "notify.comment": ("{id: a, notify: {comment: 'T'}}", READ_BY_PEOPLE),
    "a webhook's body": ("{id: a, notify: {webhook: {resource: chat, body: {deep: ['T']}}}}", READ_BY_PEOPLE),
    "classify.text": ("{id: a, classify: {text: 'T', labels: {p: P, q: Q}}}", READ_BY_PEOPLE),
    "a review's body": ("{id: a, review: {findings: [], body: 'T'}}", READ_BY_PEOPLE),
    "a pull request's title": ("{id: a, pull_request: {title: 'T'}}", READ_BY_PEOPLE),
    "a pull request's body": ("{id: a, pull_request: {title: t, body: 'T'}}", READ_BY_PEOPLE),
    "end.message": ("{id: a, end: {message: 'T'}}", READ_BY_PEOPLE),
    "a connector's inputs": ("{id: a, connector: {resource: hub, tool: t}, inputs: {x: [{y: 'T'}]}}", READ_BY_MODELS),
    "inputs of uses": ("{id: a, uses: other, inputs: {word: 'T'}}", READ_BY_MODELS),
    "inputs of code": ("{id: a, code: return x, inputs: {x: 'T'}}", READ_BY_MODELS),
    "a value input": ("{id: a, agent: writer, inputs: {x: {value: 'T'}}}", READ_BY_MODELS),
    "each.over": ("{id: a, run: date, each: {over: 'T'}}", READ_BY_MODELS),
    "review.findings": ("{id: a, review: {findings: 'T'}}", READ_BY_MODELS),
    "labels": ("{id: a, notify: {labels: {add: 'T'}}}", READ_BY_MODELS),
    "assign": ("{id: a, notify: {assign: 'T'}}", READ_BY_MODELS),
    "env of run": ("{id: a, run: date, env: {X: 'T'}}", set(SAMPLES)),
    "env of code": ("{id: a, code: return 1, env: {X: 'T'}}", set(SAMPLES)),
    "env of exec": ("{id: a, agent: writer, inputs: {x: {exec: date, env: {X: 'T'}}}}", set(SAMPLES)),
    "the text of run": ("{id: a, run: 'echo T'}", SAFE),
    "argv": ("{id: a, run: [echo, 'T']}", SAFE),
    "the text of exec": ("{id: a, agent: writer, inputs: {x: {exec: 'echo T'}}}", SAFE),
    "when": ("{id: a, run: date, when: 'T'}", set()),
    "switch": ("{id: a, switch: [{when: 'T', to: end}, {to: end}]}", set()),
    "decide": ("{id: a, run: date, decide: 'T', transitions: {x: end}}", set()),
    "until": ("{id: a, loop: {max: 2, until: 'T'}, steps: [{id: b, run: date}]}", set()),
    "a body of code": ("{id: a, code: \"return 'T'\"}", set()),
    "context": ("{id: a, agent: writer, context: ['T']}", set()),
    "a file input": ("{id: a, agent: writer, inputs: {x: {file: 'T'}}}", set()),
    "what a label means": ("{id: a, classify: {text: t, labels: {p: 'T', q: Q}}}", set()),
    "a base branch": ("{id: a, pull_request: {title: t, base: 'T'}}", set()),
    "who": ("{id: a, ask: Ok?, who: {logins: ['T']}}", set()),
}


@pytest.mark.parametrize("place", PLACES)
def test_each_place_takes_its_namespaces_and_refuses_the_others_with_its_list(place: str) -> None:
    """All thirteen, where a value of each could be had."""
    step, allowed = PLACES[place]
    for name, sample in SAMPLES.items():
        text = page(STEPS.replace("STEP", step.replace("T'", f"${{{{ {sample} }}}}'")), flow=FLOW, top=TOP) + OTHER
        found = check({BOT: text}, builtin_files())[1]
        if name in allowed:
            assert found == (), name
        elif allowed:
            assert [one.code for one in found] == ["namespace"], name
            assert "which takes" in found[0].message
            assert all(f"`{one}" in found[0].message for one in allowed), found[0].message
        else:
            assert [one.code for one in found] == ["template_slot"], name


def test_an_agents_own_prompt_is_a_prompt() -> None:
    """It takes what a step's prompt takes, for the steps that ask the agent."""
    for name, sample in SAMPLES.items():
        agents = f"other: {{model: 'demo:x', prompt: '${{{{ {sample} }}}}'}}"
        found = findings(STEPS.replace("STEP", "{id: a, agent: other}"), agents=agents, flow=FLOW, top=TOP)
        assert [one.code for one in found] == ([] if name in READ_BY_MODELS else ["namespace"]), name


@pytest.mark.parametrize("resource", ["{url: 'https://x.test', headers: {A: 'T'}}", "{command: [x], env: {A: 'T'}}"])
def test_a_resource_takes_secrets_alone(resource: str) -> None:
    """In headers and variables."""
    for name, sample in SAMPLES.items():
        top = "resources:\n  hub: " + resource.replace("T'", f"${{{{ {sample} }}}}'")
        found = findings("- {id: a, run: date}", top=top)
        assert [one.code for one in found] == ([] if name == "secrets" else ["namespace"]), name


ADDRESSES = {
    "trigger": "name text actor comment_id url at label sha ref conclusion cron",
    "issue": "number title body author labels url state is_pull_request",
    "run": "id url workflow goal attempt",
    "params": "base",
    "inputs": "area spec",
    "inputs.spec": "path url bytes original_filename mime size_bytes sha256_hex",
    "steps.first": "outcome output exit_code error summary cost result result.x.0.y ctx.notes",
    "steps.pr": "outcome output branch pr_url",
    "ctx": "notes graph.goal",
    "item": "x x.0",
    "loop": "index",
    "artifacts.log": "kind uri validity step content",
    "agent": "name model",
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_each_namespace_has_its_addresses(name: str) -> None:
    """All of them may stand in a value, and nothing beside them."""
    steps = """
    - {id: first, run: date, writes: [notes], produces: [{id: log, kind: log}]}
    - {id: pr, pull_request: {title: t}}
    - {id: a, each: {over: [1]}, connector: {resource: hub, tool: t}, inputs: {x: [TOKENS]}}
    """
    flow = f"{FLOW[:-1]}, spec: {{type: file, required: false}}}}"
    tokens = [f"'${{{{ {name}.{key} }}}}'" for key in ADDRESSES[name].split()]
    fine(steps.replace("TOKENS", ", ".join(tokens)), flow=flow, top=TOP)
    if name not in ("item", "ctx"):  # any key, of whatever depth
        found = findings(steps.replace("TOKENS", f"'${{{{ {name}.nothing_like_it }}}}'"), flow=flow, top=TOP)
        assert len(found) == 1
        assert found[0].severity == "error"


@pytest.mark.parametrize(
    ("path", "code", "hint"),
    [
        ("isue.title", "namespace", "did you mean `issue`?"),
        ("issue.titel", "unknown_field", "did you mean `title`?"),
        ("issue.title.length", "template_depth", ""),
        ("trigger.user.login", "unknown_field", ""),
        ("params.base.x", "template_depth", ""),
        ("inputs.area.path", "template_depth", "only a `file` has fields"),
        ("inputs.x", "unknown_input", "declare it"),
        ("params.x", "unknown_param", "declare it"),
        ("steps.frist.output", "unknown_step", "steps before it: `first`"),
        ("steps.first.outptu", "unknown_field", "did you mean `output`?"),
        ("steps.first", "unknown_field", "outcome"),
        ("steps.a.output", "unknown_step", "`first`"),
        ("artifacts.nothing.uri", "unknown_artifact", ""),
        ("resources.hub.url", "namespace", ""),
    ],
)
def test_a_reference_is_checked_when_the_file_is_saved(path: str, code: str, hint: str) -> None:
    """With its place and what would be right: no run has to find out."""
    steps = f"- {{id: first, run: date}}\n- {{id: a, agent: writer, prompt: '^${{{{ {path} }}}}'}}"
    assert hint in refused(code, steps, flow=FLOW, top=TOP).hint


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("${{ v.text }}", "a b"),
        ("${{v.text}}|${{\n v.text }}", "a b|a b"),
        ("${{ v.number }} ${{ v.float }} ${{ v.yes }} ${{ v.null }}", "7 1.5 true null"),
        ("${{ v.list }}${{ v.object }}", '[1,"ü"]{"k":null}'),
        ('${{ v.null ?? "x" }}', "null"),
        ('${{ v.empty ?? "x" }}', ""),
        ('${{ v.missing ?? "a }} b" }}', "a }} b"),
        ("${{ v.missing ?? 1.5 }} ${{ v.missing ?? true }} ${{ v.missing ?? null }}", "1.5 true null"),
        ("$${{ v.text }}", "${{ v.text }}"),
        ("$ {{ v.text }} $v.text ${v.text} {{v.text}} <%= v.text %>", None),
    ],
)
def test_there_is_one_syntax_and_text_is_what_it_gives(text: str, shown: str | None) -> None:
    """Other tools' syntaxes are text; objects are compact JSON; a default stands in for a miss, never for null."""
    values = {"text": "a b", "number": 7, "float": 1.5, "yes": True, "null": None, "list": [1, "ü"], "empty": ""}
    scope = {"steps": {"v": {"result": {**values, "object": {"k": None}}}}}
    template = Template.parse(text.replace("v.", "steps.v.result.") if shown is not None else text, Slot.PROMPT)
    expected = text if shown is None else shown.replace("v.text", "steps.v.result.text")
    assert template.render(scope).text == expected


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_a_mention_without_a_request_takes_the_default(text: str) -> None:
    """Empty free text counts as a miss; any other empty value is a value."""
    template = Template.parse('${{ trigger.text ?? "resolve the issue" }}${{ issue.body ?? "!" }}', Slot.PROMPT)
    assert template.render({"trigger": {"text": text}, "issue": {"body": ""}}).text == "resolve the issue"


@pytest.mark.parametrize("default", ["ctx.other", "nope", "", '"open', "[1]", "{}", '"a" ?? "b"'])
def test_a_default_is_a_literal(default: str) -> None:
    """A quoted string, a number, true, false or null."""
    refused("template_syntax", f"- {{id: a, agent: writer, prompt: \"^${{{{ issue.title ?? {default} }}}}\"}}".replace(
        f"?? {default}", "?? " + default.replace('"', '\\"')))  # fmt: skip


HOSTILE = st.lists(
    st.sampled_from(["$&", "\\1", "\\g<0>", "{0}", "{}", "%s", "%(x)s", "$1", "${x}", "${{", "}}", "$${{", "\\", "'"])
    | st.sampled_from(["${{ steps.a.output }}", "${{ secrets.KEY }}", '"', "\n", "\r\n", "`", "$(x)", "\0"])
    | st.text(max_size=6),
    max_size=9,
).map("".join)


@settings(max_examples=80, deadline=None)
@given(HOSTILE, st.sampled_from([Slot.PROMPT, Slot.SPEECH, Slot.TYPED]))
def test_an_inserted_value_is_never_scanned_and_comes_through_as_it_is(value: str, slot: Slot) -> None:
    """Signs of every tool that puts text into text, templates of our own included."""
    scope = {"steps": {"a": {"output": value}}, "issue": {"title": value}}
    rendered = Template.parse("<${{ steps.a.output }}|${{ issue.title }}>", slot).render(scope)
    assert (rendered.text, rendered.warnings) == (f"<{value}|{value}>", ())


async def test_what_a_person_wrote_reaches_a_process_byte_for_byte(store: Store, tmp_path: Path) -> None:
    """Through a variable: nothing expands, nothing is cut."""
    said = "$& \\1 {0} %s ${{ secrets.KEY }} $(touch x) `y` 'q' \"\n\ttail  "
    steps = """
    - {id: a, workspace: none, run: "printf %s \\"$SAID\\"", env: {SAID: "${{ steps.say.output }}"}}
    """
    async with acting(store, tmp_path, f"- {{id: say, workspace: none, run: x}}\n{steps.strip()}") as room:
        terms = await room.terms()
        begun = await room.case.record(await room.case.begin(), Done(said))
        assert begun is not None
        outcome = (await room.desk.perform(begun, terms)).outcome
        assert isinstance(outcome, Done), outcome
        assert outcome.stdout == said


SECRET_LIKE = st.sampled_from(
    ["${{ secrets.KEY }}", "${{secrets.KEY}}", "$${{ secrets.KEY }}", "${{ secrets.KEY ?? 1 }}"]
)


@settings(max_examples=30, deadline=None)
@given(st.lists(SECRET_LIKE | st.text(max_size=8), min_size=1, max_size=5).map(" ".join))
def test_what_looks_like_a_secret_in_a_comment_is_only_text(comment: str) -> None:
    """Also in the one place where secrets may be named: tokens are those of the author's text."""
    scope: dict[str, Any] = {"issue": {"body": comment.replace("\0", "")}, "secrets": {"KEY": "hunter2-hunter2"}}
    rendered = Template.parse("said: ${{ issue.body }}", Slot.ENVIRONMENT).render(scope)
    assert (rendered.text, rendered.warnings) == (f"said: {scope['issue']['body']}", ())
    assert Template.parse("${{ secrets.KEY }}", Slot.ENVIRONMENT).render(scope).text == "hunter2-hunter2"


def test_templates_go_through_all_levels_of_values_and_never_into_keys(tmp_path: Path) -> None:
    """Of objects and lists alike."""
    fine(
        "- {id: a, connector: {resource: hub, tool: t}, inputs: {x: {'${{ nope.x }}': [{deep: '${{ run.id }}'}]}}}",
        top=TOP,
    )
    refused(
        "namespace",
        "- {id: a, connector: {resource: hub, tool: t}, inputs: {x: {k: [{deep: '^${{ nope.x }}'}]}}}",
        top=TOP,
    )


async def test_a_string_that_is_one_token_keeps_the_type_of_the_value(store: Store, tmp_path: Path) -> None:
    """In a longer string it is text; a list and an object come through whole."""
    steps = """
    - {id: one, workspace: none, code: "return {'n': 7, 'l': [1, {'a': None}], 'z': None, 'b': True, 's': '7'}"}
    - id: two
      workspace: none
      code: "return [n, l, z, b, s, t, deep]"
      inputs:
        n: "${{ steps.one.result.n }}"
        l: "${{ steps.one.result.l }}"
        z: "${{ steps.one.result.z }}"
        b: "${{ steps.one.result.b }}"
        s: "${{ steps.one.result.s }}"
        t: "${{ steps.one.result.n }} of ${{ steps.one.result.l }}"
        deep: {k: ["${{ steps.one.result.n }}", 1.5]}
    """
    async with acting(store, tmp_path, steps) as room:
        *_, two = await act(room)
        assert isinstance(two, Done), two
        expected: Any = [7, [1, {"a": None}], None, True, "7", '7 of [1,{"a":null}]', {"k": [7, 1.5]}]
        assert two.result == expected


@pytest.mark.parametrize(
    ("value", "path", "found"),
    [
        ({"a.b": 1, "a": {"b": 2}}, "a.b", 1),
        ({"a": {"b": 2}}, "a.b", 2),
        ({"a": {"b.c": 3, "b": {"c": 4}}}, "a.b.c", 3),
        ({"0": "key"}, "0", "key"),
        ({"a": ["x", {"0": "y"}]}, "a.1.0", "y"),
        (["x", ["y"]], "1.0", "y"),
        ({"a": None}, "a", None),
        ({"a": None}, "a.b", MISS),
        (["x"], "1", MISS),
        (["x"], "-1", MISS),
        (["x"], "+0", MISS),
        ("text", "0", MISS),
        ({"a": "text"}, "a.length", MISS),
    ],
)
def test_a_path_tries_the_exact_field_and_then_walks(value: Any, path: str, found: Any) -> None:
    """At each level; a non-negative whole number indexes a list; null is a value and no miss."""
    assert resolve(value, tuple(path.split("."))) == found


@pytest.mark.parametrize("deep", [False, True])
@pytest.mark.parametrize(
    ("step", "root"),
    [
        ("{id: a, agent: writer, prompt: '^${{ steps.first.result.P }}'}", 3),
        ("{id: a, run: date, when: \"^steps.first.result.P == 'x'\"}", 3),
        ("{id: a, run: date, decide: ^steps.first.result.P, transitions: {x: end}}", 3),
        ("{id: a, run: date, decide: ^result.P, transitions: {x: end}}", 1),
        ("{id: a, agent: writer, tools: [{name: read_file, bound_args: {path: ^steps.first.result.P}}]}", 3),
        ("{id: a, agent: writer, context: [^first.result.P]}", 2),
    ],
)
def test_a_path_has_at_most_thirty_two_segments_everywhere(step: str, root: int, deep: bool) -> None:
    """Namespace and id counted; checked at load, in templates, conditions, decisions and bound arguments alike."""
    path = ".".join(["x"] * (32 - root + deep))
    steps = f"- {{id: first, run: date}}\n- {step.replace('P', path)}"
    if deep:
        refused("template_depth", steps)
    else:
        fine(steps.replace("^", ""))


@pytest.mark.parametrize(
    ("step", "code"),
    [
        ("{id: a, agent: writer, workspace: none, prompt: '${{ steps.no.output }}'}", "template_undefined"),
        ("{id: a, workspace: none, code: return x, inputs: {x: '${{ steps.no.output }}'}}", "template_undefined"),
        ("{id: a, workspace: none, run: 'true', env: {X: '${{ steps.no.output }}'}}", "template_undefined"),
        ("{id: a, workspace: none, run: 'true', each: {over: '${{ steps.no.result.x }}'}}", "template_undefined"),
        ("{id: a, notify: {labels: {add: '${{ steps.no.result.x }}'}}}", "template_undefined"),
    ],
)
async def test_a_missing_value_fails_the_step(store: Store, tmp_path: Path, step: str, code: str) -> None:
    """Before any model is asked and before anything runs; the reason names the path and the two ways out."""
    steps = f"- {{id: no, workspace: none, run: x, when: 'false'}}\n- {step}"
    async with acting(store, tmp_path, steps) as room:
        outcomes = await act(room)
        rows = await room.case.rows()
        failed = rows.attempts[-1]
        assert failed.error["code"] == code, outcomes
        assert "`steps.no." in failed.error["message"]
        assert "??" in failed.error["hint"]
        assert "upstream" in failed.error["hint"]
        assert failed.prompt_blob is None
        assert failed.requests == 0


@pytest.mark.parametrize(
    "step",
    [
        "{id: a, notify: {comment: 'See ${{ steps.no.output }}.'}}",
        "{id: a, notify: {webhook: {resource: chat, body: {text: ['See ${{ steps.no.output }}.']}}}}",
        "{id: a, end: {message: 'See ${{ steps.no.output }}.'}}",
    ],
)
async def test_where_people_read_a_token_without_a_value_stays_as_written(
    store: Store, tmp_path: Path, step: str
) -> None:
    """The step does its work, and a warning is recorded."""
    steps = f"- {{id: no, workspace: none, run: x, when: 'false'}}\n- {step}"
    async with acting(store, tmp_path, steps, top=TOP) as room:
        outcomes = await act(room)
        last = (await room.case.rows()).attempts[-1]
        assert not last.error, outcomes
        assert "See ${{ steps.no.output }}." in repr(outcomes) + str(last.output)
        recorded = [*last.route.get("notes", []), *(last.manifest or {}).get("warnings", [])]
        assert recorded == ["`steps.no.output` has no value; it stays as written"]


@pytest.mark.parametrize(
    "text",
    [
        "make x^${{ params.base }}",
        "make ^${{ params.base }}x",
        "make '^${{ params.base }}'",
        'make \\"^${{ params.base }}\\"',
        "make $(echo ^${{ params.base }})",
        "make `echo ^${{ params.base }}`",
        "make # ^${{ params.base }}",
        "cat <<E\\n^${{ params.base }}\\nE",
        "^${{ params.base }} x",
        "X=^${{ params.base }} make",
        "bash -c ^${{ params.base }}",
        "eval ^${{ params.base }}",
    ],
)
def test_a_token_in_a_command_is_a_whole_word_of_its_own(text: str) -> None:
    """Outside quotes, heredocs, substitutions and comments, else it is refused at load."""
    refused("command_word", f'- {{id: a, run: "{text}"}}', flow=FLOW)


SAFE_KEYS = (
    *("ctx.outcome", "ctx.preferred_label", "ctx.human_response", "ctx.interview_answers", "params.base"),
    *("run.id", "run.url", "run.workflow", "run.goal", "run.attempt", "issue.number"),
)


@pytest.mark.parametrize("step", ["run: 'echo T'", "run: [echo, 'T']", "agent: writer, inputs: {i: {exec: 'echo T'}}"])
def test_the_safe_keys_of_a_command(step: str) -> None:
    """In a command's text, its argv and the text of an exec input."""
    for path in SAFE_KEYS:
        fine(f"- {{id: a, {step.replace('T', f'${{{{ {path} }}}}')}}}", flow=FLOW)


@pytest.mark.parametrize(
    "path", ["ctx.last_response", "ctx.tool_stdout", "ctx.response.first", "ctx.mine", "issue.title", "issue.url",
             "trigger.actor", "trigger.text", "inputs.area", "steps.first.outcome", "steps.first.ctx.mine"],
)  # fmt: skip
def test_what_others_said_never_stands_in_a_command(path: str) -> None:
    """It goes through `env:`, and the finding says so."""
    found = refused(
        "namespace",
        f"- {{id: first, run: date, writes: [mine]}}\n- {{id: a, run: 'echo ^${{{{ {path} }}}}'}}",
        flow=FLOW,
    )
    assert "env:" in found.hint


async def test_a_value_in_a_command_is_one_quoted_word(store: Store, tmp_path: Path) -> None:
    """Whatever it holds; in argv it is one entry."""
    values = ["$(touch pwned)", "a; b", "it's", "two words", "", "&&", "\n", "*", "~", "#x", "$HOME", '"']
    flow = f"params: {json.dumps({f'p{n}': value for n, value in enumerate(values)})}"
    tokens = [f"${{{{ params.p{n} }}}}" for n in range(len(values))]
    steps = f"""
    - {{id: a, workspace: none, run: "printf '<%s>' {" ".join(tokens)} end"}}
    - {{id: b, workspace: none, run: {json.dumps(["printf", "<%s>", *tokens, "end"])}}}
    """
    async with acting(store, tmp_path, steps, flow=flow) as room:
        for outcome in await act(room):
            assert isinstance(outcome, Done), outcome
            assert outcome.stdout == "".join(f"<{value}>" for value in [*values, "end"])


async def test_a_value_that_begins_with_a_dash_is_refused(store: Store, tmp_path: Path) -> None:
    """It would be an option; in a variable it is only a value."""
    steps = "- {id: a, workspace: none, run: 'printf %s ${{ params.base }}'}"
    async with acting(store, tmp_path, steps, flow="params: {base: --exec}") as room:
        (outcome,) = await act(room)
        assert isinstance(outcome, Failed)
        assert outcome.code == "command_value"


async def test_a_key_that_is_not_safe_is_empty_should_it_arrive_all_the_same() -> None:
    """With a warning."""
    rendered = Template.parse("echo ${{ issue.title }}", Slot.COMMAND, []).render({"issue": {"title": "$(x)"}})
    assert rendered.text == "echo ''"
    assert rendered.warnings


async def test_a_large_value_travels_as_a_file(store: Store, tmp_path: Path) -> None:
    """Above 100 KB its path stands in `<NAME>_FILE`; a small one stays a variable."""
    steps = """
    - {id: big, workspace: none, code: "print('x' * 120000, end='')", produces: [{id: log, kind: log}]}
    - id: a
      workspace: none
      run: 'printf "%s %s %s" "$(wc -c < "$BIG_FILE")" "${BIG-none}" "$SMALL${SMALL_FILE-}"'
      env: {BIG: "${{ artifacts.log.content }}", SMALL: small}
    """
    async with acting(store, tmp_path, steps) as room:
        *_, a = await act(room)
        assert isinstance(a, Done), a
        assert a.stdout == "120000 none small"


async def test_the_output_of_a_step_is_its_first_64_kib_with_a_mark(store: Store) -> None:
    """Its summary is its first paragraph, made by the engine."""
    steps = "- {id: one, run: x}\n- {id: two, agent: writer, workspace: none}"
    play = await played_until(store, steps, "First line.\nSecond.\n\nNext. " + "x" * OUTPUT_MAX)
    one = play["steps"]["one"]
    assert one["output"].startswith("First line.")
    assert one["output"].endswith(" bytes left out]")
    assert len(one["output"]) < OUTPUT_MAX + 40
    assert one["summary"] == "First line.\nSecond."


async def played_until(store: Store, steps: str, output: str) -> dict[str, Any]:
    """The namespaces of step `two`, after `one` has printed this."""
    play = await playing(store, steps, {"one": Done(output)})
    begun = await until(play, "two")
    return await store.read(
        lambda s: rendering(s, begun.rows, begun.tree, begun.level, begun.step, begun.attempt, play.case.configuration)
    )


@pytest.mark.parametrize(("size", "there"), [(CONTENT_MAX, True), (CONTENT_MAX + 1, False)])
async def test_the_content_of_an_artifact_is_there_up_to_256_kib(store: Store, size: int, there: bool) -> None:
    """A larger one has its `uri` and no content."""
    steps = """
    - {id: one, run: x, produces: [{id: log, kind: log}]}
    - {id: two, agent: writer, prompt: "${{ artifacts.log.content }}"}
    """
    found = (await played_until(store, steps, "x" * size))["artifacts"]["log"]
    assert ("content" in found) is there
    assert found["uri"].startswith("artifact:")
    assert found["validity"] == "current"


async def test_both_sides_of_a_connector_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes in, what comes back, error text included: 8 MiB each; the step is named, the size, and a way out."""
    assert mcp_content.VALUE_MAX == 8 * 1024 * 1024
    monkeypatch.setattr(mcp_content, "VALUE_MAX", 4000)  # so that nobody waits for megabytes
    sides: list[tuple[str, dict[str, Any]]] = [
        ("echo", {"value": "x" * 4000}),
        ("big", {"size": 4000}),
        ("refuse", {"message": "", "size": 4000}),
    ]
    with on_loopback("http") as server:
        outcomes = [
            await perform_connector(
                "stock", server.opened(), tool, arguments, cwd=tmp_path, env={}, timeout=30,
                sandbox=Supervised(), reach=Reach.of(["127.0.0.1"]), redact=str,
            )
            for tool, arguments in sides
        ]  # fmt: skip
    for outcome in outcomes:
        assert isinstance(outcome, Failed)
        assert outcome.code == "too_large"
        assert "`stock`" in outcome.message
        assert "bytes; at most 4,000" in outcome.message
        assert "a path that the connector reads from its own resource" in outcome.hint


def test_secrets_are_never_told_apart_by_existence() -> None:
    """A check knows none: any name that can be one is as good as another."""
    fine("- {id: a, run: date, env: {A: '${{ secrets.KEY }}', B: '${{ secrets.NO_SUCH_KEY_4711 }}'}}")
    refused("name", "- {id: a, run: date, env: {A: '^${{ secrets.key }}'}}")


async def test_a_secret_reaches_the_process_that_names_it_and_no_log(store: Store, tmp_path: Path) -> None:
    """It is redacted from everything that the step printed."""
    folder = tmp_path / "secrets"
    place = folder / str(REPOSITORY.id)
    place.mkdir(parents=True, mode=0o700)
    folder.chmod(0o700)
    (place / "KEY").write_text("hunter2-hunter2")
    (place / "KEY").chmod(0o600)
    redactor = Redactor([])
    steps = """
    - {id: a, workspace: none, run: 'printf "%s %s" "${#KEY}" "$KEY"', env: {KEY: "${{ secrets.KEY }}"}}
    - {id: b, workspace: none, run: 'printf "%s" "${KEY-none}"'}
    """
    more = {"redact": redactor, "secrets": Secrets(folder, redactor.add)}
    async with acting(store, tmp_path, steps, more=more) as room:
        a, b = await act(room)
        assert isinstance(a, Done), a
        assert isinstance(b, Done), b
        assert a.stdout.startswith("15 ")
        assert "hunter2" not in repr(a)
        assert b.stdout == "none"


def test_conditions_name_values_by_their_paths_alone() -> None:
    """Never through a template; the hint says how."""
    found = refused("template_slot", "- {id: a, run: date, when: '^${{ ctx.outcome }} == 1'}")
    assert "name the value alone" in found.hint


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ("outcome == 'fail'", True),
        ("preferred_label == 'bug'", True),
        ("steps.a.result.n > 1 && steps.a.outcome == 'success'", True),
        ("ctx.notes.deep == 'x'", True),
        ("ctx['notes.deep'] == 'x'", True),
        ("inputs.area == 'api' && params.base == 'main'", True),
        ("trigger.actor == 'ana' && issue.number == 7", True),
        ("item.k == 1", True),
        ("steps.a.result.missing == 1", False),
        ("steps.none.outcome == 'success'", False),
    ],
)
def test_conditions_are_cel_over_the_values_of_the_run(expression: str, holds: bool) -> None:
    """Dotted keys are there flat and nested; a missing value makes it false and is recorded."""
    scope: dict[str, Any] = {
        "outcome": "fail",
        "preferred_label": "bug",
        "steps": {"a": {"outcome": "success", "result": {"n": 2}}},
        "ctx": {"notes.deep": "x"},
        "inputs": {"area": "api"},
        "params": {"base": "main"},
        "trigger": {"actor": "ana"},
        "issue": {"number": 7},
        "item": {"k": 1},
    }
    condition = Condition.parse(expression)
    assert condition is not None
    truth = condition.evaluate(scope)
    assert bool(truth) is holds
    assert truth.missing == (() if holds else (expression.split(" ")[0],))


@pytest.mark.parametrize(("name", "hint"), [("risk", "conditions have"), ("outcom", "did you mean `outcome`?")])
def test_a_bare_name_that_nothing_has_is_a_warning(name: str, hint: str) -> None:
    """It may be meant."""
    assert hint in warned("unknown_name", f"- {{id: a, run: date, when: \"^{name} == 'x'\"}}").hint


def test_a_bad_condition_is_refused_with_cels_own_caret() -> None:
    """The expression, and the place in it."""
    (found,) = findings("- {id: a, run: date, when: 'outcome =='}")
    assert found.code == "condition"
    assert found.message.endswith("\n| outcome ==\n| ..........^")


def test_a_configuration_knows_what_its_templates_name() -> None:
    """The same tokens that were checked are those that are filled."""
    step = (
        configured("- {id: a, agent: writer, prompt: '${{ run.id }} and ${{ issue.number }}'}")
        .workflows["main"]
        .steps[0]
    )
    assert [token.name for _, one in step.templates() for token in one.references] == ["run.id", "issue.number"]
