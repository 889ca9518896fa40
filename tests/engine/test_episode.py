"""What an agent did with its tools, in the run context."""

from __future__ import annotations

import json

from bot.engine.episode import LINES_MAX, summary
from bot.engine.judge import judged
from bot.model.outcome import Done, Failed, Faulted, ToolCall
from bot.store import Store
from tests.engine.play import Play

READ, FAILED, WRITE = ToolCall("read_file", "done"), ToolCall("read_file", "failed"), ToolCall("pin", "over_budget")


def test_a_list_of_calls() -> None:
    """In order, equal ones in a row once."""
    assert summary([READ, READ, FAILED, WRITE, READ]) == (
        "read_file: done (2 times)\nread_file: failed\npin: over budget\nread_file: done"
    )
    assert summary([]) == "no tool was called"


def test_a_long_list_keeps_both_ends() -> None:
    """What lies between is counted."""
    lines = summary([READ, FAILED] * LINES_MAX).splitlines()
    assert len(lines) == LINES_MAX + 1
    assert lines[LINES_MAX // 2] == f"… {LINES_MAX} lines left out …"
    assert (lines[0], lines[-1]) == ("read_file: done", "read_file: failed")


STEPS = """
- {id: one, agent: writer, retry: {max: 2}, next: [{when: "outcome == 'fail'", to: one}, {to: two}]}
- {id: two, agent: writer}
- {id: three, run: x}
"""


async def test_every_attempt_has_its_list(store: Store) -> None:
    """Of a failure too; the array is the step's own; a repetition after a passing fault is one attempt."""
    script = {
        "one": [Failed("x", "no", episode=(READ,)), Faulted("503", 0.0), Done("a", episode=(READ, WRITE))],
        "two": Done("b"),
    }
    play = await Play.of(store, STEPS, script)
    await play.go()
    await play.claim(after=60)
    await play.go()
    rows = await play.case.rows()
    texts = {(each.step, each.key): each.text for each in rows.values}
    assert texts["one", "episode_summary"] == "read_file: done\npin: over budget"
    assert json.loads(texts["one", "episode_summaries"]) == ["read_file: done", "read_file: done\npin: over budget"]
    assert json.loads(texts["two", "episode_summaries"]) == ["no tool was called"]
    assert ("three", "episode_summary") not in texts
    assert (await play.context())["episode_summary"] == "no tool was called"


async def test_a_result_that_does_not_fit_keeps_the_list(store: Store) -> None:
    """The engine's keys are written whatever the outcome."""
    steps = "- {id: one, agent: writer, result: {fields: {n: {type: number, required: true}}}}"
    play = await Play.of(store, steps)
    step = play.case.terms.workflow.steps[0]
    outcome = judged(step, Done("a", episode=(READ,)))
    assert isinstance(outcome, Failed)
    assert outcome.episode == (READ,)


async def test_a_decide_that_leads_nowhere_keeps_the_list(store: Store) -> None:
    """The step has failed then; what it did stays."""
    steps = """
    - {id: one, agent: writer, decide: result.x, transitions: {a: end}}
    """
    play = await (await Play.of(store, steps, {"one": Done("a", result={"x": "b"}, episode=(READ,))})).go()
    assert (await play.error("one")).startswith(("no_transition", "decide_missing"))
    assert (await play.context())["episode_summary"] == "read_file: done"
