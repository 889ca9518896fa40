"""What steps ask for by name, with what, and of which type: other workflows, resources, agents, tools, code, forms."""

from __future__ import annotations

import pytest

from bot.workflows import builtin_files, check
from tests.workflows.yaml_cases import BOT, findings, marked, only, place

HEAD = """version: 1
resources: {r: {url: 'https://mcp.example.org'}, hook: {webhook: 'https://h.example.org'}}
agents: {x: {model: 'demo:x', tools: [read_file]}, ask: {model: 'demo:x'}, lint: {runner: {exec: [./lint]}}}
workflows:
 used:
  params: {base: main}
  inputs:
   n: {type: number, min: 1}
   area: {type: enum, options: [api, web], default: api}
   on: {type: bool, default: true}
   f: {type: file, required: false}
   k: {type: secret, required: false}
  export: {from: [u]}
  steps: [{id: u, run: date, result: {fields: {days: {type: number}}}}]
 bare: {steps: [{id: inner, run: date}]}
 w:
  inputs: {count: {type: number, default: 1}, word: {type: text, default: a}, key: {type: secret, required: false}}
  steps:
  - {id: one, agent: x, result: {fields: {n: {type: number}, t: {type: string}, l: {type: array}}}}
"""
REFUSED = [
    # other workflows
    ("{id: a, uses: ^nobody}", "unknown_workflow", "`bare`, `used`, `w`"),
    ("{id: a, uses: ^usde, inputs: {n: 1}}", "unknown_workflow", "did you mean `used`?"),
    ("{id: a, uses: ^x}", "unknown_workflow", "kind `agent`"),
    ("{id: a, uses: ^bare}", "export", "add `export: {from: [inner]}`"),
    ("{id: a, uses: ^used}", "missing_input", "add `n: …`"),
    ("{id: a, uses: used, inputs: ^{area: api}}", "missing_input", "add `n: …`"),
    ("{id: a, uses: used, inputs: {n: 1, arae: ^api}}", "unknown_input", "did you mean `area`?"),
    ("{id: a, uses: used, inputs: {n: ^0}}", "input_type", "declared in .github/bot.yml line 8"),
    ("{id: a, uses: used, inputs: {n: ^many}}", "input_type", "declared in"),
    ("{id: a, uses: used, inputs: {n: ^[1]}}", "input_type", "declared in"),
    ("{id: a, uses: used, inputs: {n: 1, area: ^db}}", "input_type", "declared in"),
    ("{id: a, uses: used, inputs: {n: ^'${{ steps.one.result.l }}'}}", "input_type", "declared in"),
    ("{id: a, uses: used, inputs: {n: ^'${{ issue.labels }}'}}", "input_type", "declared in"),
    ("{id: a, uses: used, inputs: {n: 1, on: ^'${{ inputs.count }}'}}", "input_type", "declared in"),
    # resources
    ("{id: a, connector: {resource: ^q, tool: t}}", "unknown_resource", "`hook`, `r`"),
    ("{id: a, connector: {resource: ^hook, tool: t}}", "resource_kind", "these are: `r`"),
    ("{id: a, notify: {webhook: {resource: ^r, body: {}}}}", "resource_kind", "these are: `hook`"),
    ("{id: a, notify: {webhook: {resource: ^hok, body: {}}}}", "unknown_resource", "did you mean `hook`?"),
    ("{id: a, agent: x, tools: [{name: t, from: ^rr}]}", "unknown_resource", "did you mean `r`?"),
    ("{id: a, agent: x, tools: [{name: t, from: ^hook}]}", "resource_kind", "these are: `r`"),
    # agents and tools
    ("{id: a, classify: {text: t, labels: {p: P, q: Q}, by: ^y}}", "unknown_agent", "`ask`, `lint`, `x`"),
    ("{id: a, agent: lint, tools: ^[read_file]}", "modifier", "an agent with a `model`"),
    ("{id: a, agent: x, tools: [^reed_file]}", "unknown_tool", "did you mean `read_file`?"),
    ("{id: a, agent: x, ^tools: [read_file, read_file]}", "duplicate_name", "keep one"),
    ("{id: a, agent: x, tools: [{name: read_file, bound_args: {path: ^inputs.file}}]}", "unknown_input", "declare it"),
    ("{id: a, agent: x, tools: [{name: read_file, bound_args: {path: ^steps.z.output}}]}", "unknown_step", "`one`"),
    ("{id: a, agent: x, tools: [{name: read_file, bound_args: {path: ^steps.one.outpt}}]}", "unknown_field", "output"),
    ("{id: a, agent: x, tools: [{name: read_file, bound_args: {path: ^ctx.k}}]}", "context_key", "writes: [k]"),
    ("{id: a, agent: x, tools: [{name: read_file, bound_args: {path: ^item}}]}", "item", "add `each"),
    ("{id: a, agent: x, tools: [{name: read_file, bound_args: {path: ^run.id}}]}", "bound_args", ""),
    ("{id: a, agent: x, ^tools: {}}", "type_mismatch", ""),
    ("{id: a, uses: used, inputs: {n: 1, f: ^../x}}", "input_type", "declared in"),
    ("{id: a, uses: used, inputs: {n: 1, f: ^[x]}}", "input_type", "is no text"),
    ("{id: a, uses: used, inputs: {n: 1, k: ^lower}}", "input_type", "capital letters"),
    ("{id: a, uses: used, inputs: {n: 1, k: ^'${{ inputs.word }}'}}", "secret_input", "cannot come from"),
    ("{id: a, uses: used, inputs: {n: 1, k: ^'X_${{ inputs.key }}'}}", "secret_input", "hand on an input"),
    ("{id: a, uses: used, inputs: {n: 1, area: ^'${{ inputs.key }}'}}", "secret_input", "as a secret alone"),
    # code
    ("{id: a, code: 'return ^('}", "code", ""),
    ("{id: a, code: '^await x'}", "code", "async def main"),
    ("{id: a, code: return 1, inputs: {class: ^1}}", "reserved_name", "another name"),
    ("{id: a, code: '^${{ issue.title }}'}", "template_slot", ""),
    # forms
    ("{id: a, ask: A?, questions: [{id: q, question: Q?}], writes: [^qq]}", "writes", "did you mean `q`?"),
    ("{id: a, ask: A?, ^writes: [q]}", "modifier", "ask a form"),
    ("{id: a, ask: A?, ^produces: [{id: x, kind: y, path: z}]}", "modifier", "let the step that writes the file"),
    ("{id: a, uses: used, ^produces: [{id: x, kind: y, path: z}]}", "modifier", "let the step that writes the file"),
    ("{id: a, ask: A?, options: {y: end}, ^next: end}", "one_of", "remove `next`"),
    ("{id: a, ask: A?, ^questions: [{id: q, question: Q?}, {id: q, question: Q?}]}", "duplicate_id", "unique"),
    ("{id: a, wait: {for: 1m}, ^timeout: 5m}", "modifier", "remove it"),
    ("{id: a, ^wait: {}}", "one_of", "wait: {for: 2h}"),
    ("{id: a, wait: {event: ^merge}}", "option", "did you mean `merged`?"),
    # values of a told type
    ("{id: a, agent: x, inputs: {i: {value: ^text, type: number}}}", "input_type", "or its `type`"),
    ("{id: a, agent: x, inputs: {i: {value: ^'${{ steps.one.result.t }}', type: array}}}", "input_type", "its `type`"),
    ("{id: a, run: date, inputs: {i: {value: ^'${{ inputs.word }}', type: boolean}}}", "input_type", "its `type`"),
    ("{id: a, agent: x, inputs: {i: {value: ^'a ${{ inputs.word }}', type: number}}}", "input_type", "its `type`"),
    ("{id: a, agent: x, inputs: {^i: {exec: date, file: f}}}", "input_kind", "two inputs"),
    ("{id: a, agent: x, inputs: {^i: {valu: 1}}}", "input_kind", "did you mean `value`?"),
    ("{id: a, agent: x, inputs: {i: {value: 1, ^typ: number}}}", "unknown_key", "did you mean `type`?"),
    ("{id: a, agent: x, inputs: {i: {file: ^../x}}}", "path_outside", ""),
    ("{id: a, agent: x, inputs: {i: '^${{ steps.z.output }}'}}", "unknown_step", "`one`"),
    # wrong types name their key
    ("{id: a, agent: x, inputs: {i: {thread: {comments: ^many}}}}", "type_mismatch", "`comments`: expected"),
    ("{id: a, run: date, ^env: [a]}", "type_mismatch", ""),
    ("{id: a, run: date, reads: [^1]}", "type_mismatch", "an entry of `reads`"),
    # words of other languages
    ("{id: a, run: date, ^if: 'true'}", "unknown_key", "`when: …`"),
    ("{id: a, run: date, ^needs: [one]}", "unknown_key", "`next`"),
    ("{id: a, run: date, ^with: {}}", "unknown_key", "`inputs: …`"),
    ("{^name: a, id: a, run: date}", "unknown_key", "`id: …`"),
    ("{id: a, run: date, ^runs-on: x}", "unknown_key", "where the bot runs"),
    ("{id: a, agent: x, ^env: {A: b}}", "modifier", "kind `run` or `code`"),
]


@pytest.mark.parametrize(("step", "code", "words"), REFUSED)
def test_what_is_refused(step: str, code: str, words: str) -> None:
    """Each with its place, code and hint."""
    text, at = marked(f"{HEAD}  - {step}")
    found = only(text)
    assert (found.code, place(found)) == (code, at), found
    assert (found.severity, found.file) == ("error", BOT)
    assert words in f"{found.hint} {found.message}", found


FINE = [
    "{id: a, uses: used, inputs: {n: '2', area: '${{ inputs.word }}', on: 'true'}}",
    "{id: a, uses: used, inputs: {n: '${{ steps.one.result.n }}'}}",
    "{id: a, uses: used, inputs: {n: '${{ steps.one.result.n ?? 1 }}', on: '${{ inputs.count ?? true }}'}}",
    "{id: a, uses: used, inputs: {n: '1${{ inputs.word }}'}}",
    "{id: a, uses: used, inputs: {n: 1, f: '${{ steps.one.result.t }}', k: '${{ inputs.key }}'}}",
    "{id: a, uses: used, inputs: {n: 1, f: docs/a.md, k: DEPLOY_TOKEN}}",
    "{id: a, agent: x, inputs: {i: {value: 1.5, type: number}, j: {value: '${{ steps.one.result.n }}', type: number}}}",
    "{id: a, agent: x, inputs: {i: [1, {b: '${{ inputs.word }}'}], j: true, k: 1, l: '${{ issue.labels }}'}}",
    "{id: a, agent: x, inputs: {i: {value: '${{ ctx.last_response }}', type: string}, j: {value: {}, type: json}}}",
    "{id: a, connector: {resource: r, tool: t}, inputs: {any: ['${{ steps.one.result.l }}']}}",
    "{id: a, agent: x, tools: [{name: read_file, bound_args: {path: steps.one.result.t}}, {name: t, from: r}]}",
    "{id: a, code: 'if one: return one', inputs: {one: '${{ steps.one.result.n }}'}}",
    "{id: a, ask: A?, questions: [{id: q, question: Q?}], writes: [q]}",
]


@pytest.mark.parametrize("step", FINE)
def test_what_is_fine(step: str) -> None:
    """What may fit is not flagged."""
    assert findings(f"{HEAD}  - {step}") == ()


def test_a_fault_of_a_body_has_its_line_in_the_block() -> None:
    """Line and column inside of the block, as the author sees them."""
    body = "  - id: a\n    code: |\n      found = 1\n      if found:\n        return (found\n"
    found = only(HEAD + body)
    assert (found.code, place(found)) == ("code", (24, 16))
    folded = '  - {id: a, code: "x = 1\\nreturn )"}\n'
    assert place(only(HEAD + folded)) == (20, 19)


def test_a_condition_in_a_block_has_its_place() -> None:
    """The same for conditions that are written as a block."""
    text = "  - id: a\n    run: date\n    when: |\n      outcome == 'x' &&\n      ctx.none == ''\n"
    found = only(HEAD + text)
    assert (found.code, place(found)) == ("context_key", (24, 7))


EXPORTS = [
    ("{from: [^b]}", "unknown_step", "`a`, `log`, `s`"),
    ("{from: [^inner]}", "unknown_step", "name `s`"),
    ("{from: [a, ^a]}", "duplicate_id", "keep one"),
    ("{from: [^stop]}", "export", "an artifact"),
    ("{from: [a], schema: ^schemas/none.json}", "missing_file", "add the file"),
    ("{^from: []}", "empty", ""),
]


@pytest.mark.parametrize(("export", "code", "words"), EXPORTS)
def test_exports(export: str, code: str, words: str) -> None:
    """They name steps of the workflow's own row, or artifacts."""
    steps = (
        "[{id: a, run: date, produces: [{id: log, kind: l}]}, {id: s, steps: [{id: inner, run: date}]},"
        " {id: stop, end: {}}]"
    )
    text, at = marked(f"version: 1\nworkflows:\n w:\n  export: {export}\n  steps: {steps}")
    found = only(text)
    assert (found.code, place(found)) == (code, at), found
    assert words in found.hint
    fine = text.replace(marked(f"export: {export}")[0], "export: {from: [s, a, log]}")
    assert findings(fine) == ()


def uses(*pairs: tuple[str, str]) -> str:
    """Workflows of one step each: the second of each pair is used by the first, or nothing."""
    work = {name: f"uses: {other}" if other else "run: date" for name, other in pairs}
    rows = "".join(
        f" {name}: {{export: {{from: [s_{name}]}}, steps: [{{id: s_{name}, {work[name]}}}]}}\n" for name in work
    )
    return f"version: 1\nworkflows:\n{rows}"


def test_no_workflow_uses_itself() -> None:
    """At once or through others: told once, where the circle closes."""
    (found,) = findings(uses(("a", "a")))
    assert (found.code, found.line, found.message) == ("uses_cycle", 3, "`a` would use itself: `a` → `a`")
    (found,) = findings(uses(("a", "b"), ("b", "c"), ("c", "a")))
    assert (found.code, found.line, found.hint) == ("uses_cycle", 5, "let one of them do without the other")
    assert findings(uses(("a", "b"), ("b", "c"), ("c", ""))) == ()


def test_workflows_use_each_other_at_most_eight_deep() -> None:
    """Eight in each other are fine, nine are refused once."""
    names = "abcdefghi"
    eight = [(one, two) for one, two in zip(names[:8], [*names[1:8], ""], strict=True)]
    assert findings(uses(*eight)) == ()
    nine = [(one, two) for one, two in zip(names, [*names[1:], ""], strict=True)]
    (found,) = findings(uses(*nine))
    assert (found.code, found.line, found.column) == ("uses_depth", 3, marked(uses(("a", "^b")))[1][1])


def test_a_step_of_a_workflow_that_is_used_is_not_seen() -> None:
    """The hint says what to write instead."""
    step = "  - {id: a, uses: used, inputs: {n: 1}}\n  - {id: b, agent: x, prompt: '${{ steps.u.output }}'}"
    found = only(HEAD + step)
    assert (found.code, found.hint) == (
        "unknown_step",
        "it is a step of the workflow `used`, which gives its export: `steps.a.result`",
    )


def test_resources_of_an_agents_own_tools() -> None:
    """Checked where the agent is declared."""
    text, at = marked("version: 1\nagents: {x: {model: 'demo:x', tools: [{name: t, from: ^none}]}}")
    found = only(text)
    assert (found.code, place(found)) == ("unknown_resource", at)


def test_bound_arguments_of_an_agent_are_proven_for_each_step() -> None:
    """An agent serves many workflows; the finding stands at the agent."""
    agents = "agents: {x: {model: 'demo:x', tools: [{name: read_file, bound_args: {path: ^steps.a.result.p}}]}}"
    text, at = marked(f"version: 1\n{agents}\nworkflows: {{w: {{steps: [{{id: b, agent: x}}]}}}}")
    found = only(text)
    assert (found.code, place(found)) == ("unknown_step", at)
    assert findings(text.replace("[{id: b", "[{id: a, run: date}, {id: b")) == ()


def test_an_agent_with_a_runner_has_no_tools() -> None:
    """It has its own."""
    found = only("version: 1\nagents: {x: {runner: {exec: [a]}, tools: [read_file]}}")
    assert found.code == "modifier"
    assert "`tools`" in found.message


def test_names_of_built_in_commands() -> None:
    """An agent or workflow of such a name is not what a mention gets; a test holds the names to the table."""
    from bot.dispatch.builtins import BUILTINS
    from bot.workflows.checks import COMMANDS

    # an answer with words behind it is one only while people are asked something
    assert {one.name for one in BUILTINS if not one.answers} == COMMANDS
    text = "version: 1\nagents:\n  status: {model: 'demo:x'}\nworkflows:\n  pins: {steps: [{id: a, run: date}]}"
    assert [(one.severity, one.code, one.line) for one in findings(text)] == [
        ("warning", "shadowed", 3),
        ("warning", "shadowed", 5),
    ]
    assert check({BOT: text}, builtin_files())[0] is not None


def test_words_of_other_languages_in_a_file() -> None:
    """`env`, `jobs` and their like of a whole file or workflow."""
    head = "version: 1\nworkflows: {w: {steps: [{id: a, run: date}]}}\n"
    for key, words in (("env: {}", "workspace: {env"), ("jobs: {}", "`parallel`"), ("permissions: {}", "installed")):
        found = only(head + key)
        assert (found.code, place(found)) == ("unknown_key", (3, 1))
        assert words in found.hint
    found = only("version: 1\nworkflows: {w: {env: {}, steps: [{id: a, run: date}]}}")
    assert "`env` of a step" in found.hint


def test_the_type_of_a_result_of_elements() -> None:
    """What one element declares stands behind its key; what stands at the key is the element's whole result."""
    fan = "  - {id: f, run: date, each: {over: [1]}, result: {fields: {l: {type: array}, n: {type: number}}}}\n"
    use = "  - {id: a, uses: used, inputs: {n: '${{ steps.f.result.%s }}'}}"
    assert findings(HEAD + fan + use % "north.n") == ()
    assert only(HEAD + fan + use % "north.l").code == "input_type"
    assert only(HEAD + fan + use % "l").message.endswith("gives object")
