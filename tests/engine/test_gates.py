"""Gates and waits: what is asked, what an answer leads to, and what time does."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.errors import UserError
from bot.model.outcome import Done
from bot.model.state import AttemptState, GateState, RunState
from bot.store import Store
from bot.workflows import Budget
from tests.engine.play import Play, open_gate
from tests.rows import NOW

APPROVE = """
- {id: plan, agent: writer, prompt: "Plan it ${{ ctx.words ?? '' }}"}
- id: approve
  ask: Build this?
  show: "${{ steps.plan.output }}"
  options: {approve: build, revise: {rework: plan}, stop: end}
  rework: {to: plan, max_loops: 2, comments_as: words}
  timeout: 3d
  on_timeout: stop
- {id: build, run: make}
"""


async def asked(store: Store, steps: str = APPROVE) -> Play:
    """A run that waits at its gate."""
    play = await (await Play.of(store, steps, {"plan": Done("the plan")})).go()
    assert (await play.case.run()).state is RunState.WAITING
    return play


async def test_a_run_that_waits_holds_nothing(store: Store) -> None:
    """No lease, no worker; its gate is open and shows what it is about."""
    play = await asked(store)
    rows = await play.case.rows()
    assert rows.run.lease_owner is None
    gate = open_gate(rows)
    # it is looked at again when people are to be reminded, and when it is over
    assert (rows.run.not_before, gate.deadline) == (NOW + timedelta(days=1.5), NOW + timedelta(days=3))
    assert (gate.question, gate.options["show"]) == ("Build this?", "the plan")
    assert list(gate.options["options"]) == ["approve", "revise", "stop"]
    assert rows.attempts[-1].state is AttemptState.WAITING


async def test_an_option_leads_on(store: Store) -> None:
    """To its step, with the answer as the result."""
    play = await asked(store)
    await play.answer(answer="approve")
    assert play.end == "succeeded"
    assert play.started == ["plan", "build"]
    assert await play.result("approve") == {"answer": "approve", "text": "", "by": "meg"}


async def test_an_option_ends(store: Store) -> None:
    """`end` ends the run with success."""
    play = await asked(store)
    await play.answer(answer="stop")
    assert play.end == "succeeded"
    assert play.started == ["plan"]


async def test_an_option_sends_back(store: Store) -> None:
    """With the person's words; as often as allowed."""
    play = await asked(store)
    await play.answer(answer="revise", text="smaller, please")
    assert play.started == ["plan", "plan"]
    assert (await play.context())["words"] == "smaller, please"
    assert (await play.context())["human_response"] == "smaller, please"
    await play.answer(answer="revise", text="still smaller")
    await play.answer(answer="revise", text="and smaller")
    assert play.end.startswith("failed approve failed: rework_exhausted") or "rework_exhausted" in play.end


async def test_time_answers(store: Store) -> None:
    """After the time-out its option is taken."""
    play = await asked(store)
    await play.claim(after=3 * 86400)
    await play.go()
    assert play.end == "succeeded"
    assert open_gates(await play.case.rows()) == []


def open_gates(rows: object) -> list[object]:
    """Gates that still wait."""
    return [gate for gate in rows.gates if gate.state is GateState.OPEN]  # type: ignore[attr-defined]


async def test_nobody_answers(store: Store) -> None:
    """Without an option for it the step fails."""
    play = await asked(store, "- {id: plan, agent: writer, prompt: p}\n- {id: ok, ask: Fine?}")
    await play.claim(after=7 * 86400)
    await play.go()
    assert play.end == "failed ok failed: gate_timed_out"


@pytest.mark.parametrize(("label", "end"), [("approve", "succeeded"), ("reject", "failed ok failed: rejected")])
async def test_a_plain_gate(store: Store, label: str, end: str) -> None:
    """Approve goes on, reject fails the step."""
    play = await asked(store, "- {id: plan, agent: writer, prompt: p}\n- {id: ok, ask: Fine?}")
    await play.answer(answer=label)
    assert play.end == end


async def test_a_form(store: Store) -> None:
    """Answers by id and by the question's words; `writes` takes them."""
    steps = """
- id: form
  ask: Some things
  questions:
    - {id: size, question: "How big is it?", type: number}
    - {id: kind, question: Which?, type: enum, options: [a, b]}
    - {id: more, question: Else?, required: false}
  writes: [size]
- {id: after, run: echo}
"""
    play = await (await Play.of(store, steps)).go()
    with pytest.raises(UserError, match="needs an answer"):
        await play.answer(answers={"size": "7"})
    await play.answer(answers={"size": "7", "kind": "b"})
    assert play.end == "succeeded"
    context = await play.context()
    assert context["size"] == "7"
    assert '"how_big_is_it":7' in context["interview_answers"]
    assert '"kind":"b"' in context["interview_answers"]


async def test_a_gate_in_a_branch_lets_the_other_go_on(store: Store) -> None:
    """The run waits only when nothing else is left."""
    steps = """
- id: fan
  parallel: {branches: {a: [{id: ok, ask: Fine?}, {id: one, run: x}], b: [{id: two, run: y}]}}
"""
    play = await Play.of(store, steps)
    await play.more()
    assert [one.step.id for one in play.begun] == ["two"]
    assert (await play.case.run()).state is RunState.RUNNING
    await play.go()
    assert (await play.case.run()).state is RunState.WAITING
    await play.answer(answer="approve")
    assert play.end == "succeeded"


async def test_a_wait_for_a_time(store: Store) -> None:
    """It ends by itself."""
    play = await (await Play.of(store, "- {id: w, wait: {for: 2h}}\n- {id: after, run: echo}")).go()
    assert (await play.case.run()).state is RunState.WAITING
    await play.claim(after=7200)
    await play.go()
    assert play.end == "succeeded"


async def test_a_wait_for_what_does_not_happen(store: Store) -> None:
    """It fails, and `next` may catch it."""
    steps = "- {id: w, wait: {event: merged}, timeout: 1h}\n- {id: after, run: echo}"
    play = await (await Play.of(store, steps)).go()
    await play.claim(after=3600)
    await play.go()
    assert play.end == "failed w failed: wait_timed_out"


async def test_the_time_of_people_is_not_the_runs(store: Store) -> None:
    """A gate may stay open longer than the run has minutes."""
    steps = "- {id: plan, agent: writer, prompt: p}\n- {id: ok, ask: Fine?, timeout: 3d}\n- {id: build, run: x}"
    play = await Play.of(store, steps, budget=Budget(minutes=60))
    await play.go()
    play.now += timedelta(days=1)
    await play.answer(answer="approve")
    assert play.end == "succeeded"


@pytest.mark.parametrize("time", ["timeout: 1h", "budget: {minutes: 60}"])
async def test_a_groups_time_ends_while_it_waits(store: Store, time: str) -> None:
    """Its gate is withdrawn, and the step fails."""
    steps = f"""
- id: group
  {time}
  steps: [{{id: ok, ask: Fine?, timeout: 3d}}]
- {{id: after, run: x}}
"""
    play = await (await Play.of(store, steps)).go()
    assert (await play.case.run()).not_before == NOW + timedelta(hours=1)
    await play.claim(after=3600)
    await play.go()
    assert play.end == "failed group failed: timeout"
    assert open_gates(await play.case.rows()) == []
    assert [line for line in await play.ledger() if "ok" in line] == ["/group#1/ok cancelled"]


async def test_a_forms_answers_are_its_result(store: Store) -> None:
    """By the ids of its questions."""
    steps = """
- id: form
  ask: Some things
  questions: [{id: size, question: How big?, type: number}]
- {id: after, when: "steps.form.result.size > 5", run: echo}
"""
    play = await (await Play.of(store, steps)).go()
    await play.answer(answers={"size": 7})
    assert await play.result("form") == {"size": 7}
    assert "after" in play.started
