"""From files to a configuration: what is put together, and every fault with its place, code and hint."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.errors import ConfigurationError, UserError
from bot.model.role import Role
from bot.workflows import AgentStep, Budget, RunStep, builtin_files, check, load
from tests.workflows.yaml_cases import BOT, configured, exec_input, findings, marked, only, place

SMALLEST = """\
version: 1
agents:
  triage:
    model: openai:gpt-5-mini
    prompt: Read the issue, say what is missing to act on it, and propose labels.
"""
FULL = """\
version: 1
mention: ["@helper", other-bot]
default: build
history_comment_count: 0
history: {authors: any, bots: all}
trigger_role: triage
allow_bots: [12345]
limits:
  per_run: {usd: 1.5}
  per_actor_day: {dispatches: 7}
  per_issue_day: {usd: 3}
  prompt_tokens: 9000
publish: {progress: none, max_parts: 5, mentions: all, allow_mentions: ["@ana"], refusals: react}
workspace:
  network: none
  env: {CI: "true", HTTP_PROXY: }
agents:
  coder:
    description: Writes.
    model: anthropic:claude-haiku-5-5
    fallback: ["openai:gpt-5-mini"]
    temperature: 0.5
    max_tokens: 1000
    timeout: 2h
    budget: {usd: 0.5}
    trigger_role: maintain
    retry: {max: 5, base: 1s, cap: 3m}
    prompt: prompts/coder.md
  tool:
    runner: {exec: [./tool, --fast]}
workflows:
  build:
    description: Builds.
    goal: It builds.
    on: {mention: false}
    trigger_role: admin
    params: {base: main}
    defaults: {timeout: 90s, retry: {max: 0}, budget: {usd: 0.1, tokens: 10}, workspace: read}
    budget: {minutes: 5}
    steps:
      - id: make
        run: make ${{ params.base }}
        env: {TITLE: "${{ issue.title }}", LANGUAGE: }
        shell: bash
        publish: true
      - id: code
        agent: coder
        prompt: "Look at ${{ steps.make.output }}"
        inputs:
          log: {exec: cat log, timeout: 5s, required: false, max_bytes: 10, env: {A: b}}
          argv: {exec: [cat, "${{ params.base }}"]}
        workspace: none
        format: text
        timeout: 1m
        retry: {max: 1}
      - {id: last_one, agent: tool, publish: false}
      - {id: list, run: [make, "${{ params.base }}"], workspace: none}
"""


def test_the_smallest_file_works() -> None:
    """The design's first example; its agent is a workflow of one step, and `ask` is there too."""
    found = load({BOT: SMALLEST}, builtin_files())
    assert found.names() == ("ask", "triage")
    workflow = found.workflow_for("triage")
    assert workflow is not None
    (step,) = workflow.steps
    assert isinstance(step, AgentStep)
    assert (workflow.called, step.id, step.agent, step.kind) == ("triage", "triage", "triage", "agent")
    assert str(step.mark) == ".github/bot.yml line 3"
    system = found.agents["triage"].system
    assert system is not None
    assert system.text.startswith("Read the issue")
    assert found.workflow_for("nobody") is None


def test_without_a_file_there_is_ask_and_nothing_else() -> None:
    """The product's own agent runs on the operator's model."""
    found = load({}, builtin_files())
    assert found.names() == ("ask",)
    assert found.agents["ask"].model is None
    assert found.agents["ask"].builtin
    assert found.bot.default == "ask"
    assert found.findings == ()


def test_a_repository_may_define_ask_itself() -> None:
    """As an agent, or as a workflow: then the product's is gone."""
    agent = load({BOT: "version: 1\nagents: {ask: {model: 'demo:x'}}"}, builtin_files())
    assert agent.agents["ask"].model == "demo:x"
    assert not agent.agents["ask"].builtin
    steps = "version: 1\nworkflows: {ask: {steps: [{id: a, run: date}]}}"
    workflow = load({BOT: steps}, builtin_files())
    assert workflow.names() == ("ask",)
    assert not workflow.agents


def test_every_key_of_the_file() -> None:
    """Each key arrives where it belongs, with the defaults for what was left out."""
    found = configured(FULL, coder="Build ${{ run.goal }}")
    bot = found.bot
    assert bot.mention == ("helper", "other-bot")
    assert (bot.history_comment_count, bot.history.authors, bot.history.bots) == (0, "any", "all")
    assert (bot.trigger_role, bot.allow_bots) == (Role.TRIAGE, (12345,))
    assert (bot.limits.per_run.usd, bot.limits.per_run.tokens, bot.limits.per_run.minutes) == (1.5, 400_000, 60)
    assert (bot.limits.per_actor_day.usd, bot.limits.per_actor_day.dispatches) == (20, 7)
    assert (bot.limits.per_repo_day.usd, bot.limits.per_issue_day.usd, bot.limits.prompt_tokens) == (100, 3, 9000)
    assert (bot.publish.progress, bot.publish.max_parts, bot.publish.mentions) == ("none", 5, "all")
    assert (bot.publish.allow_mentions, bot.publish.refusals) == (("ana",), "react")
    assert bot.workspace.network == "none"
    assert bot.workspace.env == {"CI": "true", "HTTP_PROXY": None}
    coder = found.agents["coder"]
    assert (coder.timeout, coder.fallback, coder.temperature) == (7200, ("openai:gpt-5-mini",), 0.5)
    assert coder.system is not None
    assert coder.system.text == "Build ${{ run.goal }}"
    tool = found.agents["tool"]
    assert tool.runner is not None
    assert tool.runner.exec == ("./tool", "--fast")
    assert tool.system is None
    workflow = found.workflows["build"]
    assert (workflow.goal, dict(workflow.params), workflow.on.mention) == ("It builds.", {"base": "main"}, False)
    budget = found.budget_for(workflow)
    assert (budget.usd, budget.tokens, budget.minutes) == (1.5, 400_000, 5)


def test_defaults_of_the_file() -> None:
    """What the design's table says."""
    bot = configured("version: 1").bot
    assert (bot.mention, bot.default, bot.history_comment_count, bot.trigger_role) == ((), "ask", 5, Role.WRITE)
    assert (bot.history.authors, bot.history.bots, bot.allow_bots) == ("auto", "roster", ())
    assert (bot.limits.per_run.usd, bot.limits.per_actor_day.dispatches, bot.limits.prompt_tokens) == (2, 100, None)
    assert (bot.publish.progress, bot.publish.max_parts, bot.publish.mentions) == ("status", 3, "requester")
    assert (bot.publish.refusals, bot.publish.allow_mentions, bot.workspace.network) == ("silent", (), "none")
    assert configured("version: 1\nworkspace: {network: none}").bot.workspace.network == "none"


def test_what_is_in_force_for_a_step() -> None:
    """Its own, else its agent's, else the workflow's defaults, else the kind's."""
    found = configured(FULL, coder="x")
    make, code, last, argv = found.workflows["build"].steps
    assert (make.timeout, make.retry.max, make.workspace, make.format, make.publish) == (90, 0, "read", "text", True)
    assert (code.timeout, code.retry.max, code.workspace, code.format) == (60, 1, "none", "text")
    assert (code.budget.usd, code.budget.tokens, make.budget.usd) == (0.5, 10, 0.1)
    assert (last.timeout, last.format, last.publish, argv.workspace) == (90, "markdown", False, "none")
    alone = found.workflow_for("coder")
    assert alone is not None
    assert (alone.steps[0].timeout, alone.steps[0].retry.cap, alone.steps[0].workspace) == (7200, 180, "none")


def test_the_kinds_own_values() -> None:
    """30 minutes for an agent, 10 for a command, 60 seconds for an input; a clone where something reads it."""
    steps = "[{id: a, agent: x}, {id: b, run: date}, {id: c, agent: x, inputs: {i: {exec: date}}}]"
    text = f"version: 1\nagents: {{x: {{model: 'demo:x'}}}}\nworkflows: {{w: {{steps: {steps}}}}}"
    one, two, three = configured(text).workflows["w"].steps
    assert (one.timeout, one.workspace, one.format, one.publish) == (1800, "none", "markdown", "final")
    assert (two.timeout, two.workspace, two.format, two.retry.max) == (600, "read", "text", 2)
    assert isinstance(three, AgentStep)
    assert (three.workspace, exec_input(three, "i").timeout, exec_input(three, "i").max_bytes) == ("read", 60, 65536)
    assert exec_input(three, "i").required


def test_commands_as_they_are_started() -> None:
    """Text goes to bash, a list is started as it is; variables are rendered, an empty one stays open."""
    steps = configured(FULL, coder="x").workflows["build"].steps
    make, code, _, argv = steps
    scope = {"params": {"base": "a b"}, "issue": {"title": "-x"}, "steps": {"make": {"output": "out"}}}
    assert isinstance(make, RunStep)
    assert make.argv(scope).argv == ("bash", "-c", "make 'a b'")
    assert make.command_text == "make ${{ params.base }}"
    assert make.environment(scope) == {"TITLE": "-x", "LANGUAGE": None}
    assert isinstance(argv, RunStep)
    assert argv.argv(scope).argv == ("make", "a b")
    assert argv.command_text == "make ${{ params.base }}"
    assert isinstance(code, AgentStep)
    assert exec_input(code, "argv").argv(scope).argv == ("cat", "a b")
    assert exec_input(code, "log").environment(scope) == {"A": "b"}
    assert code.task is not None
    assert code.task.render(scope).text == "Look at out"


def test_places_for_messages_at_run_time() -> None:
    """A step, an input and a field know their line."""
    steps = configured(FULL, coder="x").workflows["build"].steps
    code = steps[1]
    assert isinstance(code, AgentStep)
    log = exec_input(code, "log")
    assert str(code.mark) == ".github/bot.yml line 46"
    assert str(log.mark) == ".github/bot.yml line 50"
    assert (log.mark.column, log.mark_of("timeout").column, log.mark_of("nothing").column) == (11, 41, 11)
    assert code.task is not None
    with pytest.raises(UserError, match=r"`steps\.make\.output` in \.github/bot\.yml line 48"):
        code.task.render({})


def test_budgets_combine_key_by_key() -> None:
    """One fills in what the other leaves out; or the tighter of both holds."""
    own, other = Budget(usd=3, tokens=10), Budget(usd=1, minutes=5)
    assert own.over(other) == Budget(usd=3, tokens=10, minutes=5)
    assert own.within(other) == Budget(usd=1, tokens=10, minutes=5)


def test_roles() -> None:
    """An agent or a workflow may ask for more than the file."""
    found = configured(FULL, coder="x")
    roles = [found.role_for(name) for name in ("build", "coder", "tool", "nobody")]
    assert roles == [Role.ADMIN, Role.MAINTAIN, Role.TRIAGE, Role.TRIAGE]


def test_names_leave_out_what_mentions_do_not_start() -> None:
    """`on: {mention: false}` takes a workflow out of what people may type; it is still there."""
    found = configured(FULL, coder="x")
    assert found.names() == ("coder", "tool")
    assert found.workflow_for("build") is found.workflows["build"]


def test_workflow_files() -> None:
    """One a file, named by its stem unless `name` says otherwise; other files are left alone."""
    steps = "steps: [{id: a, run: date}]"
    found = load(
        {
            ".github/bot/workflows/fix-it.yml": steps,
            ".github/bot/workflows/other.yml": f"name: named\n{steps}",
            ".github/bot/workflows/deep/x.yml": "broken: [",
            ".github/bot/schemas/x.json": "{",
            "elsewhere.yml": "[",
        }
    )
    assert found.names() == ("fix-it", "named")
    assert str(found.workflows["named"].steps[0].mark) == ".github/bot/workflows/other.yml line 2"


def test_files_with_another_ending_are_told() -> None:
    """A warning does not stand in the way."""
    configuration, found = check({".github/bot.yaml": "x", ".github/bot/workflows/a.yaml": "x"})
    assert configuration is not None
    assert [(one.severity, one.code) for one in found] == [("warning", "ignored_file")] * 2
    assert configuration.findings == found


def test_an_agent_with_a_dash_gives_an_id_with_an_underscore() -> None:
    """Names may hold dashes, ids may not."""
    workflow = configured("version: 1\nagents: {code-review: {model: 'demo:x'}}").workflow_for("code-review")
    assert workflow is not None
    assert (workflow.called, workflow.steps[0].id) == ("code-review", "code_review")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("^", "type_mismatch"),
        ("^[]", "type_mismatch"),
        ("^agents: {}", "missing_key"),
        ("version: ^2", "version"),
        ("version: ^true", "version"),
        ("version: ^1.0", "version"),
        ('version: ^"1"', "version"),
        ("version: 1\n^agnets: {}", "unknown_key"),
        ("version: 1\nextends: ^a/.github@main", "extends"),
        ("version: 1\nextends: ^a/tools@main", "extends"),
        ("version: 1\nresources: {^a: {}}", "one_of"),
        ("version: 1\nhistory_comment_count: ^-1", "range"),
        ("version: 1\nhistory_comment_count: ^2.5", "type_mismatch"),
        ("version: 1\nhistory_comment_count: ^'5'", "type_mismatch"),
        ("version: 1\nhistory: {authors: ^writer}", "option"),
        ("version: 1\ntrigger_role: ^none", "option"),
        ("version: 1\nallow_bots: [^a]", "type_mismatch"),
        ("version: 1\nallow_bots: ^1", "type_mismatch"),
        ("version: 1\nmention: [^'a b']", "handle"),
        ("version: 1\nmention: [^5]", "handle"),
        ("version: 1\ndefault: ^nobody", "unknown_default"),
        ("version: 1\ndefault: ^end", "reserved_name"),
        ("version: 1\nlimits: {per_run: {usd: ^-1}}", "range"),
        ("version: 1\nlimits: {^per_day: {usd: 1}}", "unknown_key"),
        ("version: 1\npublish: {progress: ^loud}", "option"),
        ("version: 1\npublish: {max_parts: ^0}", "range"),
        ("version: 1\nworkspace: {network: ^all}", "network"),
        ("version: 1\nworkspace: {network: [^'http://example.com/x']}", "host"),
        ("version: 1\nworkspace: {^setup: [make]}", "not_available"),
        ("version: 1\nworkspace: {env: {A: ^5}}", "type_mismatch"),
        ("version: 1\nworkspace: {env: {A: '^${{ run.id }}'}}", "template_slot"),
        ("version: 1\nworkspace: {env: {^1A: x}}", "name"),
        ("version: 1\nworkspace: {env: {^BOT_RUN_ID: x}}", "reserved_name"),
        ("version: 1\nworkspace: {env: {^PATH: x}}", "reserved_name"),
    ],
)
def test_faults_of_the_file(text: str, code: str) -> None:
    """Each has one finding, at its place, with what to do."""
    text, where = marked(text)
    found = only(text)
    assert (found.code, place(found)) == (code, where)
    assert (found.file, found.severity) == (BOT, "error")
    assert found.hint


@pytest.mark.parametrize(
    ("agent", "code"),
    [
        ("^a: {}", "one_of"),
        ("^a: {model: 'demo:x', runner: {exec: [a]}}", "one_of"),
        ("a: {^modle: 'demo:x', model: 'demo:x'}", "unknown_key"),
        ("a: {model: ^gpt}", "model"),
        ("a: {model: ^'opneai:x'}", "unknown_provider"),
        ("a: {model: ^5}", "model"),
        ("a: {runner: ^claude-code}", "not_available"),
        ("a: {runner: ^magic}", "unknown_runner"),
        ("a: {runner: {^exec: []}}", "empty"),
        ("a: {runner: {exec: ['^${{ run.id }}']}}", "template_slot"),
        ("^a: {runner: {exec: [a]}, temperature: 1}", "modifier"),
        ("a: {model: 'demo:x', tools: [^read]}", "unknown_tool"),
        ("a: {model: 'demo:x', fidelity: ^most}", "option"),
        ("a: {model: 'demo:x', injection_cap: ^0}", "range"),
        ("a: {model: 'demo:x', temperature: ^3}", "range"),
        ("a: {model: 'demo:x', max_tokens: ^0}", "range"),
        ("a: {model: 'demo:x', timeout: ^60}", "duration"),
        ("a: {model: 'demo:x', timeout: ^0s}", "duration"),
        ("a: {model: 'demo:x', timeout: ^400d}", "duration"),
        ("a: {model: 'demo:x', timeout: ^5 m}", "duration"),
        ("a: {model: 'demo:x', retry: {max: ^-1}}", "range"),
        ("a: {model: 'demo:x', retry: {^tries: 1}}", "unknown_key"),
        ("a: {model: 'demo:x', fallback: [^x]}", "model"),
        ("a: {model: 'demo:x', trigger_role: ^wirte}", "option"),
        ("a: {model: 'demo:x', prompt: ^5}", "type_mismatch"),
        ("a: {model: 'demo:x', prompt: ^prompts/no.md}", "missing_file"),
        ("a: {model: 'demo:x', prompt: ^../no.md}", "path_outside"),
        ("a: {model: 'demo:x', prompt: ^prompts/../../no.md}", "path_outside"),
        ("a: {model: 'demo:x', prompt: ^/etc/no.md}", "path_outside"),
        ("a: {model: 'demo:x', prompt: ^'prompts\\no.md'}", "path_outside"),
        ("a: {model: 'demo:x', prompt: 'a ^${{ secrets.X }}'}", "namespace"),
        ("a: {model: 'demo:x', description: '^${{ run.id }}'}", "template_slot"),
        ("a: {model: 'demo:x', prompt: '^${{ steps.b.output }}'}", "unknown_step"),
        ("a: {model: 'demo:x', prompt: '^${{ params.b }}'}", "unknown_param"),
    ],
)
def test_faults_of_an_agent(agent: str, code: str) -> None:
    """Each has one finding, at its place."""
    text, where = marked(f"version: 1\nagents:\n {agent}")
    found = only(text, coder="x")
    assert (found.code, place(found)) == (code, where)
    assert found.hint


@pytest.mark.parametrize(
    ("step", "code"),
    [
        ("^{run: date}", "missing_key"),
        ("{id: ^A, run: date}", "name"),
        ("{id: ^a-b, run: date}", "name"),
        ("{id: ^retry, run: date}", "reserved_name"),
        ("{id: ^5, run: date}", "type_mismatch"),
        ("^{id: a}", "step_kind"),
        ("^{id: a, run: date, agent: x}", "step_kind"),
        ("^text", "type_mismatch"),
        ("{id: a, run: date, each: ^x}", "type_mismatch"),
        ("{id: a, run: date, budget: {usd: ^-1}}", "range"),
        ("{id: a, agent: x, tools: [^{name: list_file}]}", "unknown_tool"),
        ("{id: a, run: date, ^prompt: x}", "modifier"),
        ("{id: a, agent: x, ^shell: bash}", "modifier"),
        ("{id: a, ask: Sure?, ^inputs: {}}", "modifier"),
        ("{id: a, run: date, ^timeuot: 5m}", "unknown_key"),
        ("{id: a, run: date, workspace: ^write}", "not_available"),
        ("{id: a, run: date, workspace: ^clone}", "option"),
        ("{id: a, run: date, shell: ^zsh}", "option"),
        ("^{id: a, run: [date], shell: bash}", "modifier"),
        ("{id: a, run: date, publish: ^1}", "option"),
        ("{id: a, run: date, publish: ^never}", "option"),
        ("{id: a, run: date, format: ^html}", "option"),
        ("{id: a, run: ^''}", "empty"),
        ("{id: a, ^run: []}", "empty"),
        ("{id: a, run: ^5}", "type_mismatch"),
        ("{id: a, run: [^5]}", "type_mismatch"),
        ("{id: a, run: 'echo \"^${{ params.p }}\"'}", "command_word"),
        ("{id: a, run: 'echo ^${{ issue.title }}'}", "namespace"),
        ("{id: a, run: [^'${{ params.p }}']}", "command_word"),
        ("{id: a, run: [bash, -c, ^'${{ params.p }}']}", "command_word"),
        ("{id: a, run: [make, 'x=^${{ params.p }}']}", "command_word"),
        ("{id: a, run: date, env: {A: '^${{ steps.a.output }}'}}", "unknown_step"),
        ("{id: a, run: date, env: {A: '^${{ steps.z.output }}'}}", "unknown_step"),
        ("{id: a, run: date, env: {A: '^${{ secrets.1z }}'}}", "name"),
        ("{id: a, run: 'echo ^${{ params.q }}'}", "unknown_param"),
        ("{id: a, agent: ^y}", "unknown_agent"),
        ("{id: a, agent: x, prompt: '^${{ steps.z.output ?? 1 }}'}", "unknown_step"),
        ("{id: a, agent: x, inputs: {i: {exec: date, env: {A: '^${{ params.q }}'}}}}", "unknown_param"),
        ("{id: a, agent: x, inputs: {^i: {}}}", "input_kind"),
        ("{id: a, agent: x, inputs: {^i: {file: x, exec: date}}}", "input_kind"),
        ("{id: a, agent: x, inputs: {^I: {exec: date}}}", "name"),
        ("{id: a, agent: x, inputs: {i: {exec: date, max_bytes: ^0}}}", "range"),
        ("{id: a, agent: x, inputs: {i: {exec: date, required: ^yes}}}", "type_mismatch"),
    ],
)
def test_faults_of_a_step(step: str, code: str) -> None:
    """Each has one finding, at its place."""
    head = "version: 1\nagents: {x: {model: 'demo:x'}}\nworkflows:\n w:\n  params: {p: '1'}\n  steps:\n"
    text, where = marked(f"{head}  - {step}")
    found = only(text)
    assert (found.code, place(found)) == (code, where)
    assert found.hint


@pytest.mark.parametrize(
    ("workflow", "code"),
    [
        ("{}", "missing_key"),
        ("{steps: []}", "empty"),
        ("{steps: [{id: a, run: date}], export: {}}", "missing_key"),
        ("{steps: [{id: a, run: date}], on: {opened: 1}}", "type_mismatch"),
        ("{steps: [{id: a, run: date}], on: {mention: yes}}", "type_mismatch"),
        ("{steps: [{id: a, run: date}], defaults: {fidelity: most}}", "option"),
        ("{steps: [{id: a, classify: {text: x, labels: {p: P, q: Q}}}], defaults: {by: x}}", "unknown_agent"),
        ("{steps: [{id: a, run: date}], params: {a: 1}}", "type_mismatch"),
        ("{steps: [{id: a, run: date}], params: {usd: '1'}}", "reserved_name"),
        ("{steps: [{id: a, run: date}], name: other}", "name"),
        ("{steps: [{id: a, run: date}, {id: a, run: date}]}", "duplicate_id"),
        ("{steps: [{id: a, run: date}], goal: '${{ issue.title }}'}", "template_slot"),
        ("{steps: [{id: a, run: date}], budget: {usd: -1}}", "range"),
    ],
)
def test_faults_of_a_workflow(workflow: str, code: str) -> None:
    """Each has one finding."""
    assert only(f"version: 1\nworkflows: {{w: {workflow}}}").code == code


def test_hints_name_what_was_meant() -> None:
    """The nearest known word, or what is there."""
    assert only("version: 1\nagnets: {}").hint == "did you mean `agents`?"
    found = only("version: 1\nagents: {a: {model: 'demo:x', modle: x}}")
    assert (found.message, found.hint) == ("`modle` is not a key of an agent", "did you mean `model`?")
    head = "version: 1\nagents: {reader: {model: 'demo:x'}}\nworkflows: {w: {params: {base: m}, steps: "
    assert only(f"{head}[{{id: a, agent: raeder}}]}}}}").hint == "did you mean `reader`?"
    assert only(f"{head}[{{id: a, agnet: reader}}]}}}}").hint == "did you mean `agent`?"
    steps = "[{id: one, run: date}, {id: two, run: date}, {id: c, agent: reader, prompt: '${{ steps.three.output }}'}]"
    assert only(f"{head}{steps}}}}}").hint == "steps before it: `one`, `two`"
    assert only(f"{head}[{{id: a, run: 'echo ${{{{ params.bsae }}}}'}}]}}}}").hint == "did you mean `base`?"
    missing = only("version: 1\nagents: {a: {model: 'demo:x', prompt: prompts/codr.md}}", coder="x")
    assert missing.hint == "did you mean `prompts/coder.md`?"


def test_one_name_means_one_thing() -> None:
    """An agent and a workflow, or two workflows; the hint says where the other is."""
    text = "version: 1\nagents: {x: {model: 'demo:x'}}\nworkflows:\n  x: {steps: [{id: a, run: date}]}"
    found = only(text)
    assert (found.code, *place(found)) == ("duplicate_name", 4, 3)
    assert ".github/bot.yml line 2" in found.hint
    steps = "steps: [{id: a, run: date}]"
    _, both = check({".github/bot/workflows/a.yml": steps, ".github/bot/workflows/b.yml": f"{steps}\nname: a"})
    assert [(one.file, one.code, one.line) for one in both] == [(".github/bot/workflows/b.yml", "duplicate_name", 2)]


def test_a_file_whose_stem_is_no_name() -> None:
    """The workflow needs a name that can be typed."""
    _, found = check({".github/bot/workflows/Fix It.yml": "steps: [{id: a, run: date}]"})
    assert [one.code for one in found] == ["name"]


def test_a_step_sees_only_those_above_it() -> None:
    """Later steps are told apart from unknown ones."""
    steps = "[{id: a, run: date, env: {A: '${{ steps.b.output }}'}}, {id: b, run: date}]"
    assert "runs after" in only(f"version: 1\nworkflows: {{w: {{steps: {steps}}}}}").message


def test_an_agents_prompt_is_checked_where_it_is_used() -> None:
    """It may name steps and params of the workflows that use it; a default makes up for those that lack them."""
    agents = "version: 1\nagents: {x: {model: 'demo:x', prompt: '${{ steps.a.output }} ${{ params.p }}'}}\n"
    good = "params: {p: '1'}, steps: [{id: a, run: date}, {id: b, agent: x}]"
    assert findings(f"{agents}workflows: {{w: {{{good}}}}}") == ()
    bad = "steps: [{id: b, agent: x}]"
    assert [one.code for one in findings(f"{agents}workflows: {{w: {{{good}}}, v: {{{bad}}}}}")] == [
        "unknown_step",
        "unknown_param",
    ]
    lenient = "version: 1\nagents: {x: {model: 'demo:x', prompt: '${{ params.p ?? 1 }}'}}"
    assert findings(lenient) == ()


def test_a_prompt_file_has_its_own_places() -> None:
    """A fault in a `.md` file is told at that file's line and column."""
    text = "version: 1\nagents: {a: {model: 'demo:x', prompt: prompts/coder.md}}"
    found = only(text, coder="Hello\n\n  é ${{ issue.titel }}\n")
    assert (found.file, found.line, found.column) == (".github/bot/prompts/coder.md", 3, 5)


def test_text_that_ends_like_a_path_is_text() -> None:
    """Only one word that ends in `.md` is a path."""
    prompt = "version: 1\nagents: {a: {model: 'demo:x', prompt: Read README.md}}"
    assert findings(prompt) == ()


def test_findings_come_in_order_and_all_at_once() -> None:
    """Over all files, by file and line."""
    _, found = check(
        {
            BOT: "version: 1\nagents: {a: {modle: x, model: 'demo:x'}}\nzz: 1\ntrigger_role: x",
            ".github/bot/workflows/a.yml": "stpes: []",
            ".github/bot/workflows/b.yml": "a: 1\na: 2",
        }
    )
    assert [(one.file.rsplit("/", 1)[-1], one.line, one.code) for one in found] == [
        ("bot.yml", 2, "unknown_key"),
        ("bot.yml", 3, "unknown_key"),
        ("bot.yml", 4, "option"),
        ("a.yml", 1, "unknown_key"),
        ("b.yml", 2, "yaml_duplicate_key"),
    ]


def test_a_hostile_file_gets_a_bounded_answer() -> None:
    """Twenty thousand unknown keys are not looked up one by one."""
    text = "version: 1\n" + "".join(f"key{number}: 1\n" for number in range(20_000))
    assert len(findings(text)) == 100


def test_loading_raises_with_all_findings() -> None:
    """The error's text begins with the first place."""
    with pytest.raises(ConfigurationError) as raised:
        load({BOT: "version: 1\nzz: 1\nyy: 2"})
    assert [one.line for one in raised.value.findings] == [2, 3]
    assert raised.value.message.startswith(".github/bot.yml:2:1 ")


WORDS = """
version agents workflows steps id run agent inputs exec env prompt model runner publish params on mention name limits
per_run usd retry max timeout defaults workspace network history fallback default allow_bots kind:run [key] ask title
"""
KEYS = st.sampled_from(WORDS.split())
LEAVES = st.sampled_from(
    [
        None,
        True,
        1,
        0,
        -1,
        1.5,
        "x",
        "",
        "ask",
        "5m",
        "demo:x",
        "a.md",
        "../a.md",
        "${{ params.x }}",
        "${{",
        "none",
        "read",
    ]
)
DATA = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=25
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(KEYS, DATA, max_size=6), st.booleans())
def test_any_data_gives_a_configuration_or_findings(data: dict[str, object], workflow: bool) -> None:
    """Checking never raises, and every finding has a place in a file and says what to do."""
    text = yaml.safe_dump({"version": 1, **data})
    files = {".github/bot/workflows/w.yml": text} if workflow else {BOT: text}
    configuration, found = check(files, builtin_files())
    assert (configuration is None) == any(one.severity == "error" for one in found)
    lines = text.count("\n") + 1
    assert all(one.file in files and 1 <= one.line <= lines and one.column >= 1 and one.hint for one in found), found


STEPS = st.lists(
    st.fixed_dictionaries(
        {"id": st.sampled_from(["a", "b", "c"])},
        optional={
            "run": LEAVES,
            "agent": st.sampled_from(["ask", "nobody"]),
            "prompt": LEAVES,
            "env": DATA,
            "inputs": DATA,
            "timeout": LEAVES,
        },
    ),
    max_size=4,
)


@settings(max_examples=100, deadline=None)
@given(STEPS)
def test_any_steps_give_a_configuration_or_findings(steps: list[dict[str, object]]) -> None:
    """The same for data that is nearly right."""
    text = yaml.safe_dump({"version": 1, "workflows": {"w": {"steps": steps}}})
    configuration, found = check({BOT: text}, builtin_files())
    assert (configuration is None) == bool(found)
    assert all(one.hint for one in found), found


def test_a_version_in_quotes() -> None:
    """The commonest mistake of all has a message of its own."""
    configuration, (finding,) = check({BOT: 'version: "1"\n'})
    assert configuration is None
    assert (finding.code, finding.message) == ("version", "expected version 1, got text")
    assert "remove the quotes" in finding.hint
