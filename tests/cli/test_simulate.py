"""`threadsmith simulate`: where a workflow leads, with nothing called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Said, Threadsmith
from tests.cli.test_run import THREAD

BOT_YML = """\
version: 1
agents:
  writer: {model: openai:some-model, prompt: You write.}
  program: {runner: {exec: [./no-such-program]}}
workflows:
  main:
    goal: To see it.
    params: {base: main}
    steps:
      - id: plan
        agent: writer
        prompt: "Plan for ${{ params.base }}: ${{ trigger.text }}"
        inputs: {log: {exec: "touch TRACE && git log"}, word: {value: said}}
        result:
          fields:
            risk: {type: enum, options: [low, high], required: true}
            parts: {type: array, items: {type: object, fields: {name: {type: string, required: true}}}, required: true}
          on_mismatch: retry
        rework: {to: plan, max_loops: 1}
        decide: result.risk
        transitions: {low: build, high: approve}
      - id: approve
        ask: Build this?
        show: "${{ steps.plan.output }}"
        options: {go on: build, again: {rework: plan}, stop: end}
        rework: {to: plan, max_loops: 2, comments_as: review}
        timeout: 3d
        on_timeout: stop
      - id: build
        each: {over: "${{ steps.plan.result.parts }}", as: part, key: name}
        agent: writer
        prompt: "Build ${{ part.name }}"
      - id: test
        run: exit 1
        next: [{when: "outcome == 'fail' && steps.build.outcome == 'success'", to: build}, {to: tell}]
        loop: {max: 1, on_exhaust: tell}
      - id: tell
        notify: {comment: "Done. ${{ steps.approve.output }}"}
  gates:
    steps:
      - id: form
        ask: Which?
        questions:
          - {id: size, question: How large?, type: number}
          - {id: kind, question: Which kind?, type: enum, options: [small, large]}
        writes: [kind]
      - {id: rest, wait: {for: 30m}}
      - {id: checks, wait: {event: checks_completed}}
      - {id: said, end: {message: "${{ steps.form.ctx.kind }}"}}
  outer:
    steps:
      - {id: inner, uses: used, inputs: {text: "${{ issue.title }}", size: 4}}
      - id: both
        parallel:
          branches:
            left: [{id: one, run: ls}]
            right: [{id: two, agent: program, prompt: Two.}]
      - id: last_word
        agent: writer
        prompt: "${{ steps.inner.result.word }}"
        when: "steps.both.result.left.none == 1"
  used:
    inputs: {text: {type: text}, size: {type: number, min: 3}}
    export: {from: [word]}
    steps:
      - {id: word, agent: writer, prompt: "${{ inputs.text }}", result: {fields: {word: {type: string}}}}
  lacking:
    steps:
      - {id: first, run: ls, when: "params_missing == 1 || false"}
      - {id: second, agent: writer, prompt: "${{ steps.first.exit_code }}"}
  undeclared:
    steps:
      - {id: find, run: ./find, env: {TOKEN: "${{ secrets.TOKEN }}"}}
      - id: each_one
        each: {over: "${{ steps.find.result.items }}", as: thing, key: sku}
        agent: writer
        prompt: "${{ thing.name }}, ${{ steps.find.result.note.text }}"
  waits_for_good:
    steps:
      - {id: turn, run: ls, next: turn_back}
      - {id: turn_back, switch: [{to: turn}], loop: {max: 1000}}
"""


@pytest.fixture
def configured(repository: Path, tmp_path: Path) -> Path:
    """A repository with workflows of every sort; a command that ran would leave `trace`."""
    (repository / ".github" / "bot.yml").write_text(BOT_YML.replace("TRACE", str(tmp_path / "trace")))
    return repository


@pytest.fixture
def walked(threadsmith: Threadsmith, configured: Path, tmp_path: Path) -> Any:
    """`walked("main", answers={…})`: the report, with what each attempt was called and where it led."""

    def call(workflow: str, *more: str | Path, answers: Any = None, code: int = 0) -> dict[str, Any]:
        arguments: list[str | Path] = ["simulate", workflow, "--config", configured, "--format", "json", *more]
        if answers is not None:
            (tmp_path / "answers.json").write_text(json.dumps(answers))
            arguments += ["--answers", tmp_path / "answers.json"]
        said: Said = threadsmith(*arguments)
        assert said.code == code, said.err
        report: dict[str, Any] = json.loads(said.out) if said.out else {"err": said.err}
        report["path"] = [f"{one['name']} {one['state']}" for one in report.get("visits", [])]
        return report

    return call


def test_a_walk_without_answers_takes_what_fits(walked: Any) -> None:
    """The first option of an enum, two elements of a list, success; what is not on the way is told."""
    report = walked("main")
    assert report["path"] == [
        "plan success",
        "build success",
        "build[name-1] success",
        "build[name-2] success",
        "test success",
        "tell success",
    ]
    assert report["unreached"] == ["approve"]
    assert report["state"] == "succeeded"
    plan, *_, tell = report["visits"]
    assert (plan["to"], plan["why"]) == ("build", "`decide`: `result.risk` is `low`")
    assert report["visits"][4]["why"] == "no condition before the default is true"
    assert tell["warnings"] == ["`steps.approve.output` has no value; it stays as written"]


def test_nothing_is_called(walked: Any, tmp_path: Path) -> None:
    """Neither commands of inputs nor those of steps."""
    walked("main")
    assert not (tmp_path / "trace").exists()


def test_prompts_have_their_real_sizes(walked: Any, configured: Path, tmp_path: Path) -> None:
    """By kind of block; what only a real run computes is named. A longer thread makes a longer prompt."""
    short = walked("main")["visits"][0]["prompt"]
    assert short["uncomputed"] == ["log"]
    assert [one["kind"] for one in short["blocks"]] == [
        *("system", "run", "issue", "context", "comment", "input", "request", "task")
    ]
    assert short["bytes"] == sum(one["bytes"] for one in short["blocks"])
    thread = {**THREAD, "issue": {**THREAD["issue"], "body": "long " * 1000}}
    (tmp_path / "thread.json").write_text(json.dumps(thread))
    longer = walked("main", "--thread", tmp_path / "thread.json")["visits"][0]["prompt"]
    assert longer["bytes"] > short["bytes"] + 4900


def test_answers_decide_the_way(walked: Any) -> None:
    """A list gives one attempt after the other; a rework says why; the last entry stays."""
    high = {"result": {"risk": "high", "parts": []}}
    gate = [{"answer": "again", "text": "smaller"}, {"answer": "go on"}]
    report = walked("main", answers={"plan": high, "approve": gate})
    assert report["path"][:5] == ["plan success", "approve success", "plan success", "approve success", "build success"]
    first, second = report["visits"][1], report["visits"][3]
    assert first["asked"] == {
        "kind": "answer",
        "question": "Build this?",
        "options": ["go on", "again", "stop"],
        "answered": "`again`, “smaller”",
    }
    assert (first["to"], first["why"]) == ("plan", "answer `again`: back to do it again")
    assert second["to"] == "build"
    assert "rework" in {one["kind"] for one in report["visits"][2]["prompt"]["blocks"]}
    assert report["visits"][0]["given"]
    assert not report["visits"][4]["given"]


def test_a_gate_without_a_word_takes_its_first_option(walked: Any) -> None:
    """As a list of choices is read."""
    report = walked("main", answers={"plan": {"result": {"risk": "high", "parts": []}}})
    assert (report["visits"][1]["to"], report["visits"][1]["asked"]["answered"]) == ("build", "`go on`")
    assert not report["visits"][1]["given"]


def test_what_nobody_declares_is_made_up_as_it_is_read(walked: Any) -> None:
    """Lists with two elements, their names and fields, values at any depth."""
    report = walked("undeclared")
    assert report["path"] == [
        "find success",
        "each_one success",
        "each_one[sku-1] success",
        "each_one[sku-2] success",
    ]
    assert report["state"] == "succeeded"


def test_a_gate_without_an_answer_in_time(walked: Any) -> None:
    """Its `on_timeout` is taken."""
    report = walked(
        "main", answers={"plan": {"result": {"risk": "high", "parts": []}}, "approve": {"outcome": "timeout"}}
    )
    assert report["visits"][1]["asked"]["answered"] == "nobody, until its time is over"
    assert report["visits"][1]["to"] == "end"


def test_a_result_that_does_not_fit_goes_the_way_of_one(walked: Any) -> None:
    """Answers are held against the schema as a model's are."""
    report = walked("main", answers={"plan": [{"result": {"risk": "none"}}, {"result": {"risk": "low", "parts": []}}]})
    assert report["path"][:2] == ["plan fail", "plan success"]
    assert report["visits"][0]["error"].startswith("result_mismatch: `risk`")
    assert report["visits"][0]["why"] == "the result does not fit: back to do it again"


def test_a_failure_takes_the_route_that_waits_for_it(walked: Any) -> None:
    """And what follows when a loop is used up."""
    report = walked("main", answers={"test": {"outcome": "fail"}})
    tests = [one for one in report["visits"] if one["name"] == "test"]
    assert [one["to"] for one in tests] == ["build", "tell"]
    assert tests[0]["why"].endswith("is true (back, see `loop`)")
    assert tests[1]["why"] == "its way back is used up (`on_exhaust`)"


def test_one_element_may_fail(walked: Any) -> None:
    """Named by its key."""
    report = walked("main", answers={"build[name-2]": {"outcome": "fail", "code": "model_refused"}})
    assert report["path"][1:4] == ["build fail", "build[name-1] success", "build[name-2] fail"]
    assert report["state"] == "failed"
    assert report["reason"] == "build failed: element_failed"


def test_a_transient_fault_is_tried_again(walked: Any) -> None:
    """The time that a retry waits for comes at once."""
    report = walked("main", answers={"test": [{"outcome": "transient"}, {}]})
    assert "test transient" in report["path"]
    assert report["state"] == "succeeded"


def test_gates_forms_times_and_events(walked: Any) -> None:
    """A form is filled by its types; a time comes; an event happens."""
    report = walked("gates")
    assert [one["asked"] and one["asked"]["answered"] for one in report["visits"]] == [
        "size: 1, kind: small",
        "the time comes",
        "it happens",
        None,
    ]
    assert report["state"] == "succeeded"
    late = walked("gates", answers={"checks": {"outcome": "timeout"}})
    assert late["visits"][2]["error"].startswith("wait_timed_out")


def test_used_workflows_and_branches_have_names_of_their_own(walked: Any) -> None:
    """`outer/id` and `id[branch]`; a condition that misses a value is told."""
    report = walked("outer", answers={"inner/word": {"result": {"word": "given"}}, "two[right]": {"output": "said"}})
    assert report["path"] == [
        "inner success",
        "inner/word success",
        "both success",
        "one[left] success",
        "two[right] success",
        "last_word skipped",
    ]
    assert [one["name"] for one in report["visits"] if one["given"]] == ["inner/word", "two[right]"]
    assert report["unreached"] == []
    assert report["visits"][-1]["why"] == "skipped: its `when` is false"
    assert "`steps.both.result.left.none` has no value" in report["visits"][-1]["warnings"][0]


def test_inputs_that_are_needed_are_made_up_and_said(walked: Any) -> None:
    """Unless they are given."""
    assert walked("used")["assumed"] == {"inputs.text": "example", "inputs.size": "3.0"}
    assert walked("used", "--input", "text=said", "--input", "size=7")["assumed"] == {}
    assert "range" in walked("used", "--input", "size=1", code=1)["err"]


def test_a_text_without_a_value_fails_as_in_a_real_run(walked: Any) -> None:
    """The model would not have been asked."""
    report = walked("lacking")
    assert report["visits"][1]["error"].startswith("template_undefined: `steps.first.exit_code`")
    assert report["visits"][1]["prompt"] is None
    assert report["state"] == "failed"


def test_a_walk_without_an_end_is_given_up(walked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the step that it was at."""
    monkeypatch.setattr("bot.cli.simulation.walker.MOST", 20)
    assert "has not come to its end; it is at `turn" in walked("waits_for_good", code=1)["err"]


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ({"plam": {}}, "did you mean `plan`"),
        ({"plan": {"reslt": 1}}, "did you mean `result`"),
        ({"plan": {"output": 1}}, "`output` of `plan` is of the wrong type"),
        ({"plan": {"outcome": "maybe"}}, "`outcome` of `plan` is one of"),
        ({"plan": []}, "`plan` has an empty list"),
        ({"plan": "low"}, "`plan` is no mapping"),
        ([], "the answers are a mapping"),
        ({"plan": {"result": {"risk": "high", "parts": []}}, "approve": {"answer": "no"}}, "`no` is no option"),
    ],
    ids=str,
)
def test_answers_that_mean_nothing_are_refused(walked: Any, answers: Any, told: str) -> None:
    """With what would be right."""
    assert told in walked("main", answers=answers, code=1)["err"]


def test_answers_that_nobody_asked_for_are_told(walked: Any) -> None:
    """They are for a way that was not taken."""
    assert walked("main", answers={"approve": {"answer": "stop"}})["warnings"] == [
        "the answers for `approve` were not asked for"
    ]


def test_answers_may_be_yaml(threadsmith: Threadsmith, configured: Path, tmp_path: Path) -> None:
    """Checked as YAML is everywhere."""
    file = tmp_path / "answers.yml"
    file.write_text("plan: {result: {risk: high, parts: []}}\napprove: {answer: stop}\n")
    assert (
        "approve  ask  success (given)"
        in threadsmith("simulate", "main", "--config", configured, "--answers", file).out
    )
    file.write_text("plan: {}\nplan: {}\n")
    said = threadsmith("simulate", "main", "--config", configured, "--answers", file)
    assert (said.code, "yaml_duplicate_key" in said.err) == (3, True)


def test_the_same_walk_is_printed_the_same(threadsmith: Threadsmith, configured: Path) -> None:
    """Whenever it is made."""
    one, other = (threadsmith("simulate", "main", "--config", configured).out for _ in range(2))
    assert one == other
    assert "prompt: " in one
    assert "  not computed here: log" in one
    assert one.endswith("not reached: approve\nmain: succeeded\n")


def test_checks_come_first(threadsmith: Threadsmith, configured: Path) -> None:
    """With their exit code."""
    file = configured / ".github" / "bot.yml"
    file.write_text(file.read_text().replace("to: build}, {to: tell}", "to: biuld}, {to: tell}"))
    said = threadsmith("simulate", "main", "--config", configured)
    assert said.code == 3
    assert "biuld" in said.err
    assert said.out == ""


def test_an_unknown_workflow_or_param(threadsmith: Threadsmith, configured: Path) -> None:
    """What there is, is told."""
    assert "there are: ask, gates" in threadsmith("simulate", "nothing", "--config", configured).err
    assert "declared: base" in threadsmith("simulate", "main", "--config", configured, "--param", "x=1").err


REVIEW = """\
version: 1
workflows:
  review:
    steps:
      - id: read
        agent: ask
        inputs: {change: {diff: true}, also: {file: src/a.txt}}
        result: {fields: {found: {type: array, required: true}}}
      - {id: post, review: {findings: "${{ steps.read.result.found }}"}}
"""


def test_a_review_is_held_against_its_form(threadsmith: Threadsmith, repository: Path, tmp_path: Path) -> None:
    """The made-up thread is a pull request then; findings of another form fail as they would."""
    (repository / ".github" / "bot.yml").write_text(REVIEW)
    (repository / "src").mkdir()
    (repository / "src" / "a.txt").write_text("the file itself\n" * 100)
    said = threadsmith("simulate", "review", "--config", repository)
    assert "review_findings: findings[0]: expected an object" in said.out
    assert "not computed here: change\n" in said.out  # the file is the repository's own
    report = json.loads(threadsmith("simulate", "review", "--config", repository, "--format", "json").out)
    (blocks,) = [one for one in report["visits"][0]["prompt"]["blocks"] if one["kind"] == "input"]
    assert (blocks["count"], blocks["bytes"] > 1600) == (2, True)
    (tmp_path / "a.yml").write_text("read: {result: {found: [{path: a.py, line: 1, body: wrong}]}}")
    said = threadsmith("simulate", "review", "--config", repository, "--answers", tmp_path / "a.yml")
    assert said.out.endswith("review: succeeded\n")
    (tmp_path / "thread.json").write_text(json.dumps(THREAD))
    said = threadsmith("simulate", "review", "--config", repository, "--thread", tmp_path / "thread.json")
    assert "this thread is an issue" in said.out


TRIGGERED = """\
version: 1
workflows:
  main:
    on: {mention: false, labeled: [ready, go], checks_failed: true, schedule: {cron: "0 6 * * 1", thread: new}}
    steps:
      - id: said
        ask: >-
            ${{ trigger.name }} ${{ trigger.label ?? "-" }} ${{ trigger.sha ?? "-" }} ${{ trigger.conclusion ?? "-" }}
            ${{ trigger.cron ?? "-" }} ${{ trigger.text ?? "no words" }} ${{ issue.is_pull_request }}
"""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "labeled ready - - - no words false"),
        (["--trigger", "labeled"], "labeled ready - - - no words false"),
        (
            ["--trigger", "checks_failed"],
            "checks_failed - 0123456789abcdef0123456789abcdef01234567 failure - no words true",
        ),
        (["--trigger", "schedule"], "schedule - - - 0 6 * * 1 no words false"),
    ],
)
def test_what_starts_the_walk(threadsmith: Threadsmith, repository: Path, arguments: list[str], told: str) -> None:
    """The event that is named, with what it tells; without one the first where no mention may."""
    (repository / ".github" / "bot.yml").write_text(TRIGGERED)
    said = threadsmith("simulate", "main", "--config", repository, *arguments)
    assert said.code == 0
    assert told in " ".join(said.out.split())


def test_an_event_that_does_not_start_it(threadsmith: Threadsmith, repository: Path) -> None:
    """Those that do are named."""
    (repository / ".github" / "bot.yml").write_text(TRIGGERED)
    said = threadsmith("simulate", "main", "--config", repository, "--trigger", "mention")
    assert said.code != 0
    assert "what does: labeled, checks_failed, schedule" in said.err
