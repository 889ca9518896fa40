"""`threadsmith run`: a workflow on a thread from a file; nothing is posted, nothing here is touched."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.models import override_allow_model_requests

from bot.context import estimate
from tests.cli.conftest import Threadsmith
from tests.fake_llm import FakeLLM, Reply

BOT_YML = """\
version: 1
agents:
  helper:
    description: Answers from what it sees.
    model: openai:some-model
    prompt: You help with issues.
workflows:
  several:
    params: {name: nobody}
    steps:
      - id: first
        run: printf 'first for %s' "$NAME"
        env: {NAME: "${{ params.name }}"}
      - {id: second, agent: helper, prompt: "The step before said: ${{ steps.first.output }}"}
      - {id: third, run: "echo last"}
  writes:
    steps:
      - {id: writes, run: "ls; echo changed > README.md; echo new > made.txt; rm -rf .github", workspace: read}
  state:
    steps:
      - {id: one, run: "echo hello > made.txt; echo said", produces: [{id: made, kind: text, path: made.txt}]}
      - id: two
        run: |
          cat "$BOT_RUN_DIR/one/stdout"
          python3 -c 'import json; print(list(json.load(open(".bot/run.json"))["steps"]))'
          echo "$MADE"
        env: {MADE: "${{ artifacts.made.content }}"}
  fails:
    steps:
      - {id: boom, run: "echo last words >&2; exit 3"}
      - {id: never, run: "echo never"}
"""


def account(login: str, number: int) -> dict[str, Any]:
    return {"id": number, "login": login, "type": "User"}


def comment(number: int, login: str, body: str) -> dict[str, Any]:
    at = f"2026-11-03T10:0{number}:00Z"
    return {
        "id": number,
        "user": account(login, number),
        "body": body,
        "html_url": f"https://github.test/acme/widgets/issues/7#issuecomment-{number}",
        "created_at": at,
        "updated_at": at,
    }


THREAD: dict[str, Any] = {
    "request": "what is this about?",
    "issue": {
        "id": 70,
        "number": 7,
        "title": "Crash on empty input",
        "body": "It crashes when the input is empty.",
        "user": account("sam", 3),
        "state": "open",
        "html_url": "https://github.test/acme/widgets/issues/7",
        "labels": [],
        "created_at": "2026-11-03T09:00:00Z",
        "updated_at": "2026-11-03T09:00:00Z",
        "comments": 2,
    },
    "comments": [comment(1, "meg", "Only since version two"), comment(2, "sam", "I saw it too")],
    "roles": {"meg": "maintain"},
    "pins": [1],
}


@pytest.fixture(autouse=True)
def _configured(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The workflows above; what isolation does is shown elsewhere."""
    (repository / ".github" / "bot.yml").write_text(BOT_YML)
    monkeypatch.setenv("BOT_SANDBOX", "off")


@pytest.fixture
def thread(tmp_path: Path) -> Path:
    """A thread file."""
    made = tmp_path / "thread.json"
    made.write_text(json.dumps(THREAD))
    return made


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeLLM]:
    """A provider that counts what it is asked."""
    with override_allow_model_requests(True), FakeLLM() as fake:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-tests-0123456789")
        monkeypatch.setenv("OPENAI_BASE_URL", fake.openai_url)
        fake.script(Reply("the model's answer"))
        yield fake


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_agent_answers(threadsmith: Threadsmith, repository: Path, thread: Path, model: FakeLLM) -> None:
    """What the model said, alone, on standard output; it was given what is in the file."""
    said = threadsmith("run", "helper", "--thread", thread, "--config", repository)
    assert (said.code, said.out) == (0, "the model's answer\n")
    (asked,) = model.requests
    assert "what is this about?" in asked.prompt
    assert "Only since version two" in asked.prompt


def test_a_dry_run_prints_what_a_real_one_sends(
    threadsmith: Threadsmith, repository: Path, thread: Path, model: FakeLLM
) -> None:
    """Byte for byte but for the nonces, and no model is asked."""
    said = threadsmith("run", "helper", "--thread", thread, "--config", repository, "--dry-run")
    assert said.code == 0
    assert model.requests == []
    assert "You help with issues." in said.out
    assert "helper was not asked" in said.out
    threadsmith("run", "helper", "--thread", thread, "--config", repository)
    sent = [line for line in model.requests[0].prompt.splitlines() if not line.startswith(("[begin ", "[end "))]
    assert len(sent) > 5
    assert [line for line in sent if line not in said.out.splitlines()] == []
    # counted as everywhere else where a prompt has tokens; the line's end behind each part is not sent
    told = re.search(r"about (\d+) tokens", said.out)
    assert told is not None
    tokens = estimate(f"{model.requests[0].system}\n") + estimate(f"{model.requests[0].prompt}\n")
    assert int(told[1]) == pytest.approx(tokens, abs=1)


def test_steps_run_in_order_with_params(
    threadsmith: Threadsmith, repository: Path, thread: Path, model: FakeLLM
) -> None:
    """Each output is printed, and later steps are given it."""
    said = threadsmith("run", "several", "--thread", thread, "--config", repository, "--param", "name=ana=b")
    assert said.code == 0
    assert said.out.splitlines() == ["first for ana=b", "the model's answer", "last"]
    assert 'source="steps.first.output"]\nfirst for ana=b\n[end ' in model.requests[0].prompt
    assert [line.split(" ")[0] for line in said.err.splitlines()] == ["first", "second", "third"]


def test_a_param_has_its_default(threadsmith: Threadsmith, repository: Path, thread: Path) -> None:
    """As in a dispatch."""
    said = threadsmith("run", "several", "--thread", thread, "--config", repository, "--dry-run")
    assert said.out.startswith("first for nobody\n")


@pytest.mark.parametrize("param", ["colour=red", "name"])
def test_a_param_that_is_not_declared(threadsmith: Threadsmith, repository: Path, thread: Path, param: str) -> None:
    """Told with those that are."""
    said = threadsmith("run", "several", "--thread", thread, "--config", repository, "--param", param)
    assert (said.code, said.out) == (1, "")
    assert said.err == f"unknown_param: `{param}` names no param of this workflow\n  declared: name\n"


def test_a_workflow_that_is_not_there(threadsmith: Threadsmith, repository: Path, thread: Path) -> None:
    """Told with those that are."""
    said = threadsmith("run", "nonsense", "--thread", thread, "--config", repository)
    assert (said.code, said.out) == (1, "")
    assert "unknown_workflow" in said.err
    assert "helper" in said.err
    assert "several" in said.err


def test_a_step_that_fails_ends_it(threadsmith: Threadsmith, repository: Path, thread: Path) -> None:
    """Exit code 1, the step, its code, its last words; the next step never runs."""
    said = threadsmith("run", "fails", "--thread", thread, "--config", repository)
    assert (said.code, said.out) == (1, "")
    assert "boom failed: command_failed: " in said.err
    assert "last words" in said.err
    assert "never" not in said.err


@pytest.mark.parametrize("inside", ["", ".github", ".github/bot.yml"])
def test_a_step_works_on_a_copy(threadsmith: Threadsmith, repository: Path, thread: Path, inside: str) -> None:
    """It sees the repository's files and may do to them what it likes; here nothing changes."""
    before = contents(repository)
    said = threadsmith("run", "writes", "--thread", thread, "--config", repository / inside)
    assert (said.code, said.out) == (0, "README.md\n")
    assert contents(repository) == before
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "Expecting property name"),
        ("[]", "is no JSON object"),
        ("{}", "issue: not an object"),
        (json.dumps(THREAD | {"issue": {"number": 7}}), "issue"),
        (json.dumps(THREAD | {"comments": [{"id": 1}]}), "comment"),
        (json.dumps(THREAD | {"comments": 5}), "not iterable"),
        (json.dumps(THREAD | {"roles": {"meg": "queen"}}), "queen"),
        (json.dumps(THREAD | {"pins": 1}), "not iterable"),
    ],
)
def test_what_is_no_thread_file(
    threadsmith: Threadsmith, repository: Path, thread: Path, text: str, reason: str
) -> None:
    """Told in two lines, with the shape that is expected."""
    thread.write_text(text)
    said = threadsmith("run", "fails", "--thread", thread, "--config", repository)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("thread_file: ")
    assert "in the shapes of GitHub's REST API" in said.err
    assert reason in said.err


def test_a_thread_file_that_is_not_there(threadsmith: Threadsmith, repository: Path) -> None:
    """Told, with the system's words."""
    said = threadsmith("run", "fails", "--thread", "nowhere.json", "--config", repository)
    assert said.code == 1
    assert "cannot read nowhere.json: No such file" in said.err


def test_a_broken_configuration(threadsmith: Threadsmith, repository: Path, thread: Path) -> None:
    """As `validate` tells it, with its exit code."""
    (repository / ".github" / "bot.yml").write_text(BOT_YML.replace("model:", "modle:"))
    said = threadsmith("run", "helper", "--thread", thread, "--config", repository)
    assert said.code == 3
    assert said.err.startswith(".github/bot.yml:5:5: error unknown_key: ")


def test_a_configuration_that_is_not_there(threadsmith: Threadsmith, thread: Path, tmp_path: Path) -> None:
    """A fault of the call."""
    assert threadsmith("run", "ask", "--thread", thread, "--config", tmp_path / "nowhere").code == 2


def test_a_model_that_is_away(threadsmith: Threadsmith, repository: Path, thread: Path, model: FakeLLM) -> None:
    """Here nobody waits for it: exit code 1, and when to come back."""
    model.script(Reply(status=503, message="overloaded"))
    said = threadsmith("run", "helper", "--thread", thread, "--config", repository)
    assert (said.code, said.out) == (1, "")
    assert "try again later" in said.err


LANGUAGE = """\
version: 1
workflows:
  count:
    inputs: {times: {type: number, max: 3}}
    steps:
      - {id: tick, run: "echo x >> ticks; wc -l < ticks"}
      - id: enough
        run: test "$(wc -l < ticks)" -ge "$TIMES"
        env: {TIMES: "${{ inputs.times }}"}
        next: [{when: "outcome == 'fail'", to: tick}, {to: done}]
      - {id: done, end: {message: "ticked ${{ steps.tick.output }}"}}
"""


def test_a_local_run_walks_as_the_service_does(threadsmith: Threadsmith, repository: Path, thread: Path) -> None:
    """Inputs, a loop and an end; what does not fit runs nothing."""
    (repository / ".github" / "bot.yml").write_text(LANGUAGE)
    said = threadsmith("run", "count", "--thread", thread, "--config", repository, "--input", "times=2")
    assert said.code == 0
    assert said.out.split() == ["1", "2", "ticked", "2"]
    refused = threadsmith("run", "count", "--thread", thread, "--config", repository, "--input", "times=4")
    assert refused.code != 0
    assert (refused.out, "`times` is at most 3" in refused.err) == ("", True)


def test_a_step_sees_the_run(threadsmith: Threadsmith, repository: Path, thread: Path) -> None:
    """As in the service: the document, what steps left, what they produced."""
    said = threadsmith("run", "state", "--thread", thread, "--config", repository)
    assert said.code == 0
    assert said.out.split("\n") == ["said", "said", "['one']", "hello", ""]


@pytest.mark.parametrize("step", ["ask: Go on?", "wait: {for: 2h}"])
def test_a_step_that_waits_is_named(threadsmith: Threadsmith, repository: Path, thread: Path, step: str) -> None:
    steps = f"      - {{id: one, run: echo one}}\n      - id: held\n        {step}\n"
    text = f"version: 1\nworkflows:\n  waits:\n    steps:\n{steps}"
    (repository / ".github" / "bot.yml").write_text(text)
    said = threadsmith("run", "waits", "--thread", thread, "--config", repository)
    assert (said.code, said.out) == (1, "one\n")
    assert f"held ({step.split(':')[0]}) waits" in said.err
