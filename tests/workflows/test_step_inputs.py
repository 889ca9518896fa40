"""Inputs of a step as the YAML declares them: each sort, its keys, and what is refused."""

from __future__ import annotations

import pytest

from bot.errors import UserError
from bot.finding import Finding
from bot.workflows import AgentStep, Configuration, check
from bot.workflows.step_inputs import INPUT_TYPES, FileInput, ThreadInput, ValueInput

FILE = """\
version: 1
agents:
  reader: {{model: "openai:gpt-5-mini", prompt: Read.}}
workflows:
  look:
    steps:
      - id: first
        run: echo 1
      - id: second
        agent: reader
        inputs:
          it: {input}
"""


def checked(text: str) -> tuple[Configuration | None, tuple[Finding, ...]]:
    return check({".github/bot.yml": FILE.format(input=text)})


def step(text: str) -> AgentStep:
    configuration, findings = checked(text)
    assert configuration is not None, findings
    second = configuration.workflows["look"].steps[1]
    assert isinstance(second, AgentStep)
    return second


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("{value: 5}", "value"),
        ("{exec: ls}", "exec"),
        ("{file: docs/a.md}", "file"),
        ("{diff: true}", "diff"),
        ("{checks: failed_logs}", "checks"),
        ("{review_threads: unresolved}", "review_threads"),
        ("{linked: issues}", "linked"),
        ("{thread: {comments: 20}}", "thread"),
    ],
)
def test_every_sort(text: str, kind: str) -> None:
    """The key that names the source is the sort; all are required and cut at 64 KiB unless they say otherwise."""
    one = step(text).inputs["it"]
    assert (one.KIND, one.required, one.max_bytes) == (kind, True, 65536)
    other = step(text.removesuffix("}") + ", required: false, max_bytes: 9}").inputs["it"]
    assert (other.required, other.max_bytes) == (False, 9)
    assert str(one.mark) == ".github/bot.yml line 12"


def test_every_sort_is_tested() -> None:
    """A new sort of input comes with a row above."""
    assert len(INPUT_TYPES) == 8


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("{}", "input_kind", "an input needs one of `value`, `exec`"),
        ("{fil: a.md}", "input_kind", "an input needs one of"),
        ("{diff: true, linked: issues}", "input_kind", "this one has `diff`, `linked`"),
        ("{diff: 1}", "option", "expected `true`, got the number 1"),
        ("{diff: false}", "option", "expected `true`, got `false`"),
        ("{checks: logs}", "option", "expected one of `failed_logs`, got `logs`"),
        ("{review_threads: all}", "option", "expected one of `unresolved`"),
        ("{linked: pulls}", "option", "expected one of `issues`"),
        ("{thread: {comments: 0}}", "range", "expected more than 0"),
        ("{thread: {comments: 101}}", "range", "expected at most 100"),
        ("{thread: {}}", "missing_key", "`thread` needs `comments`"),
        ("{thread: 20}", "type_mismatch", "expected a mapping"),
        ("{diff: true, timeout: 5s}", "unknown_key", "`timeout` is not a key of an input of kind `diff`"),
        ("{diff: true, max_bytes: 0}", "range", "expected more than 0"),
        ("{value: 1, type: number1}", "option", "expected one of `string`, `number`"),
        ("{file: /etc/passwd}", "path_outside", "is no file of the repository"),
        ("{file: a/../../b}", "path_outside", "is no file of the repository"),
        ('{file: "a\\\\b"}', "path_outside", "is no file of the repository"),
        ("{file: .git/config}", "path_outside", "is no file of the repository"),
        ("{file: ./.git}", "path_outside", "is no file of the repository"),
        ("{file: 5}", "type_mismatch", "expected a path"),
        ('{file: "${{ trigger.text }}"}', "template_slot", "a path"),
        ('{checks: "${{ trigger.text }}"}', "option", "expected one of"),
    ],
)
def test_refused(text: str, code: str, words: str) -> None:
    """Each with its place, code and reason."""
    configuration, findings = checked(text)
    assert configuration is None
    (finding,) = [one for one in findings if one.severity == "error"]
    assert (finding.code, finding.line) == (code, 12)
    assert words in finding.message


def test_a_mistyped_sort_is_guessed() -> None:
    """Did-you-mean, as everywhere."""
    (finding,) = checked("{review_thread: unresolved}")[1]
    assert finding.hint == "did you mean `review_threads`?"


def test_paths_are_tidied() -> None:
    """`./a//b` is `a/b`."""
    one = step("{file: ./docs//a.md}").inputs["it"]
    assert isinstance(one, FileInput)
    assert one.file == "docs/a.md"


def test_templates_of_a_value_at_every_level() -> None:
    """A string that is one template keeps the value's type; keys are never templates."""
    one = step('{value: {"${{ k }}": ["${{ steps.first.result.n }}", {deep: "n is ${{ steps.first.result.n }}"}, 7]}}')
    value = one.inputs["it"]
    assert isinstance(value, ValueInput)
    scope = {"steps": {"first": {"result": {"n": 3}}}}
    assert value.filled(scope).value == {"${{ k }}": [3, {"deep": "n is 3"}, 7]}
    with pytest.raises(UserError, match="template_undefined"):
        value.filled({"steps": {}})


@pytest.mark.parametrize(("text", "value"), [("text", "text"), ("7", 7), ("[1, a]", [1, "a"]), ("true", True)])
def test_a_plain_value(text: str, value: object) -> None:
    """Is an input too, without `{value: …}` around it."""
    one = step(text).inputs["it"]
    assert isinstance(one, ValueInput)
    assert (one.filled({}).value, one.required) == (value, True)


def test_references_of_a_value_are_checked() -> None:
    """As in any place that takes templates: the step must be there and upstream."""
    configuration, findings = checked('{value: ["${{ steps.third.output }}"]}')
    assert configuration is None
    assert [one.code for one in findings] == ["unknown_step"]
    assert checked('{value: "${{ secrets.KEY }}"}')[1][0].code == "namespace"


@pytest.mark.parametrize(("text", "mode"), [("{exec: ls}", "read"), ("{file: a}", "read"), ("{diff: true}", "none")])
def test_what_needs_a_workspace(text: str, mode: str) -> None:
    """Commands and files are of a clone; what GitHub tells needs none."""
    assert step(text).workspace == mode


def test_thread_window() -> None:
    """How many comments are wanted."""
    one = step("{thread: {comments: 100}}").inputs["it"]
    assert isinstance(one, ThreadInput)
    assert one.thread.comments == 100
