"""A retry from a step: everything before it reads as it did, and the walk ends as the first one did."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.engine.budget import Spent
from bot.engine.frames import Tree
from bot.engine.projection import projection
from bot.engine.takeover import take_over
from bot.errors import UserError
from bot.model.ident import new_id
from bot.model.outcome import Done, Failed, Usage
from bot.model.state import ArtifactState, GateState
from bot.store import Session, Store, open_store, run_context, runs
from bot.store.tables import Gate, Value
from bot.workflows import Configuration, builtin_files, load
from tests import rows
from tests.databases import DATABASES
from tests.engine.play import Play, Script, workflow_of
from tests.engine.scene import Case, open_case
from tests.engine.walks import Sketch, Walk, Walked, script_of, sketches

#: beside the workflows: what a result has to fit
FILES = {
    ".github/bot/number.json": '{"schemaVersion": 1, "fields": [{"name": "n", "type": "number", "required": true}]}'
}
_ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")


async def again(
    first: Play, step: str, script: Script, configuration: Configuration | None = None, head: str | None = None
) -> Play:
    """A new run that takes over what `first` came to before `step`, claimed."""
    case, now = first.case, configuration or first.case.configuration

    def work(session: Session) -> str:
        old = runs.rows(session, case.run_id)
        write = take_over(old, run_context.every(session, case.run_id), case.configuration, now, step, head)
        run = rows.run(session, guid=new_id(), workflow="main", comment_id=501)
        run.retry_of = case.run_id
        write(session, run)
        assert runs.claim(session, "me", first.now) == run.id
        return run.id

    run_id = await case.store.write(work)
    made = Case(case.store, run_id, now, case.workflow, case.budget, case.usd_day, case.result_bytes)
    return Play(made, dict(script), now=first.now)


async def document(play: Play) -> Any:
    """The run as its steps read it, without what no two runs share."""
    found = await play.case.rows()
    terms = play.case.terms
    whole = projection(found, Tree.of(found, terms.workflow, terms.find))
    for gate in whole["gates"]:
        del gate["deadline"]
    del whole["run"]
    return json.loads(_ID.sub("ID", json.dumps(whole)))


async def reached(play: Play) -> list[str]:
    """The steps of the root frame that the walk came to."""
    found = await play.case.rows()
    return list(dict.fromkeys(one.step for one in found.attempts if one.frame_id == found.root.id))


async def holds_from_everywhere(store: Store, sketch: Sketch) -> None:
    """A retry from each step that was reached comes to the same, twice over, and does none of what was done."""
    first = await Play.of(store, sketch.steps, script_of(sketch), guid=new_id())
    whole = await Walk(store, first, sketch, [0], ()).go()
    told = await document(first)
    for step in await reached(first):
        second = await again(first, step, script_of(sketch))
        taken = [one.taken_from for one in (await second.case.rows()).attempts]
        assert all(taken)
        assert _same(await Walk(store, second, sketch, [0], ()).go(), whole), step
        assert await document(second) == told, step
        assert len(second.started) + len(taken) <= len((await second.case.rows()).attempts)
        # what a retry took over can be taken over again
        third = await again(second, step, script_of(sketch))
        assert _same(await Walk(store, third, sketch, [0], ()).go(), whole), step


def _same(one: Walked, other: Walked) -> bool:
    return (one.end, one.attempts, one.context) == (other.end, other.attempts, other.context)


def test_a_retry_from_each_reached_step_ends_as_the_first_run_did(tmp_path: Path) -> None:
    """Through branches, elements, repetitions, gates and waits."""
    with asyncio.Runner() as runner:
        store = open_store(DATABASES.of_folder(tmp_path))

        @settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @given(sketches())
        def holds(sketch: Sketch) -> None:
            runner.run(holds_from_everywhere(store, sketch))

        try:
            holds()
        finally:
            runner.run(store.close())


@st.composite
def roundabouts(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Rows of the root frame with ways back, files that are evidence, and an export; outcomes by visit."""
    count = draw(st.integers(2, 4))
    lines, script = [], {}
    for place in range(count):
        step: dict[str, Any] = {
            "id": f"s{place}",
            "run": "x",
            "produces": [{"id": f"a{0 if not place else draw(st.integers(0, 1))}", "kind": "log"}],
        }
        back, ahead = f"s{draw(st.integers(0, place))}", f"s{place + 1}" if place + 1 < count else "end"
        match draw(st.sampled_from(["plain", "loop", "rework"])):
            case "loop":
                step["next"] = [{"when": "outcome == 'fail'", "to": back}, {"to": ahead}]
                step["loop"] = {"max": draw(st.integers(1, 2)), "on_exhaust": draw(st.sampled_from(["last", "fail"]))}
            case "rework":
                step["result"] = {"schema": "number.json", "on_mismatch": "retry"}
                step["rework"] = {
                    "to": back,
                    "max_loops": 1,
                    "on_exhaust": draw(st.sampled_from(["fail", ahead if ahead != "end" else "fail"])),
                }
        lines.append(f"- {json.dumps(step)}")
        fates = draw(st.lists(st.booleans(), min_size=1, max_size=3))

        def outcome(begun: Any, fates: list[bool] = fates) -> Any:
            visit = begun.attempt.iteration
            if fates[visit % len(fates)]:
                return Done(output=f"{begun.step.id} at {visit}", result={"n": visit})
            if "result" in begun.step.model_fields_set:
                return Done(output="no", result={"n": "no number"})
            return Failed("command_failed", f"at {visit}")

        script[f"s{place}"] = outcome
    return "\n".join(lines), script


def test_ways_back_are_taken_as_often_as_before(tmp_path: Path) -> None:
    """Loops, reworks and what they leave of artifacts: a retry neither gains nor loses a way back."""
    with asyncio.Runner() as runner:
        store = open_store(DATABASES.of_folder(tmp_path))

        @settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @given(roundabouts())
        def holds(drawn: tuple[str, dict[str, Any]]) -> None:
            steps, script = drawn

            async def each() -> None:
                text = workflow_of(steps).replace(
                    "    steps:", "    export: {from: [s0, a0], required: false}\n    steps:", 1
                )
                first = await Play(await open_case(store, text, guid=new_id(), beside=FILES), dict(script)).go()
                told = await document(first)
                for step in await reached(first):
                    second = await (await again(first, step, script)).go()
                    assert second.end == first.end, step
                    assert await second.context() == await first.context(), step
                    assert await document(second) == told, step
                    assert await second.ledger() == await first.ledger(), step

            runner.run(each())

        try:
            holds()
        finally:
            runner.run(store.close())


THREE = """
- {id: plan, agent: writer, prompt: p, writes: [risk]}
- {id: build, run: x}
- {id: test, run: x}
"""


async def played(store: Store, steps: str = THREE, script: Script | None = None) -> Play:
    return await (await Play.of(store, steps, script, guid=new_id(), beside=FILES)).go()


async def test_what_was_paid_is_not_paid_again(store: Store) -> None:
    """Tokens of the first run are no part of the second's; the outcome is."""
    paid = Done(output="the plan", usage=Usage(1000, 200, 1, 0.5))
    first = await played(store, script={"plan": paid, "build": Failed("command_failed", "no")})
    second = await (await again(first, "build", {"build": Done(output="built")})).go()
    assert second.started == ["build", "test"]
    found = (await second.case.rows()).attempts
    assert (found[0].step, found[0].output, found[0].cost) == ("plan", "the plan", 0.5)
    assert Spent.of(found) == Spent(0.0, 0)


async def test_what_came_later_is_not_known_yet(store: Store) -> None:
    """An artifact that a later step replaced is current again before that step; so is an export."""
    steps = """
- {id: one, run: x, produces: [{id: report, kind: log}]}
- {id: two, run: x, produces: [{id: report, kind: log}]}
- {id: three, run: x, result: {schema: number.json, on_mismatch: retry}, rework: {to: one, max_loops: 1}}
"""
    first = await played(store, steps, {"three": [Done(output="not it"), Failed("command_failed", "no")]})

    async def states(play: Play) -> list[tuple[str, ArtifactState]]:
        found = await play.case.rows()
        steps = {one.id: one.step for one in found.attempts}
        return [(steps[one.attempt_id], one.state) for one in found.artifacts]

    old, stale, current = ArtifactState.SUPERSEDED, ArtifactState.STALE, ArtifactState.CURRENT
    assert await states(first) == [("one", old), ("two", old), ("one", old), ("two", current)]
    assert await states(await again(first, "two", {})) == [("one", old), ("two", old), ("one", current)]
    assert stale not in [state for _, state in await states(first)]


@pytest.mark.parametrize(
    ("step", "now", "told"),
    [
        ("tset", THREE, "`main` has no step `tset`|its steps are `plan`, `build`, `test`"),
        ("test", THREE, "r1 never came to `test`, so nothing before it is known|it came to `plan`, `build`"),
        ("build", THREE.replace("prompt: p", "prompt: q"), "`plan`, which comes before `build`, has changed since"),
        ("build", THREE.replace("- {id: plan", "- {id: lint, run: x}\n- {id: plan"), "`lint`, which comes before"),
        ("build", "\n".join(THREE.strip().splitlines()[1:]), "`plan`, which stood before `build`, is gone"),
        (
            "build",
            "- {id: all, steps: [{id: build, run: x}]}",
            "`build` is no step of the workflow's own row|it stands",
        ),
    ],
)
async def test_refused(store: Store, step: str, now: str, told: str) -> None:
    """With what is wrong, and what can be done."""
    first = await played(store, script={"build": Failed("command_failed", "no")})
    with pytest.raises(UserError) as caught:
        await again(first, step, {}, load({".github/bot.yml": workflow_of(now)}, builtin_files()))
    message, _, hint = told.partition("|")
    assert caught.value.code == "retry_refused"
    assert message in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    "now",
    [
        THREE.replace("- {id: build, run: x}", "- {id: build, run: 'mended'}"),
        THREE.replace("- {id: test, run: x}", "- {id: other, run: x}"),
        f"\n\n{THREE}\n",
    ],
)
async def test_what_comes_later_may_be_another(store: Store, now: str) -> None:
    """The step itself may have been mended: that is what a retry is for. Neither does it matter where a step stands."""
    first = await played(store, script={"build": Failed("command_failed", "no")})
    second = await again(first, "build", {}, load({".github/bot.yml": workflow_of(now)}, builtin_files()))
    assert (await second.go()).end == "succeeded"
    assert second.started[0] == "build"


async def test_a_step_that_could_not_begin_any_more_was_reached(store: Store) -> None:
    """The run was called off, or out of money, just before it: everything before it is known."""
    first = await played(store, script={"build": Failed("command_failed", "no")})
    await first.case.store.write(lambda session: _forget_last(session, first.case.run_id))
    second = await again(first, "build", {})
    assert (await second.go()).end == "succeeded"
    assert second.started == ["build", "test"]


def _forget_last(session: Session, run_id: str) -> None:
    found = runs.rows(session, run_id)
    for value in run_context.every(session, run_id):
        if value.attempt_id == found.attempts[-1].id:
            session.delete(session.get_one(Value, value.id))
    session.flush()
    session.delete(found.attempts[-1])
    session.flush()


async def test_used_workflows_count_among_what_comes_before(store: Store) -> None:
    """A step that uses another workflow has changed when that one has."""
    steps = "- {id: plan, uses: other}\n- {id: build, run: x}"

    def configuration(prompt: str) -> Configuration:
        step = f"{{id: inner, agent: writer, prompt: {prompt}}}"
        other = f"  other:\n    export: {{from: [inner], required: false}}\n    steps:\n      - {step}\n"
        return load({".github/bot.yml": workflow_of(steps) + other, **FILES}, builtin_files())

    case = (await Play.of(store, "- {id: x, run: x}", guid=new_id())).case
    script = {"inner": Done(result={"n": 1}), "build": Failed("command_failed", "no")}
    first = Play(Case(store, case.run_id, configuration("p"), "main"), script)
    await first.go()
    same = await (await again(first, "build", {}, configuration("p"))).go()
    assert (same.end, same.started) == ("succeeded", ["build"])
    with pytest.raises(UserError, match="`plan`, which comes before `build`, has changed since"):
        await again(first, "build", {}, configuration("q"))


async def test_an_answer_holds_for_the_head_it_was_given_at(store: Store) -> None:
    """Where the branch has moved since, the question has to be asked again: nobody approved what is there now."""
    steps = "- {id: go, ask: Fine?}\n- {id: build, run: x}"
    first = await played(
        store, steps, {"go": Done(result={"answer": "approve"}), "build": Failed("command_failed", "no")}
    )

    def bind(session: Session) -> None:
        found = runs.rows(session, first.case.run_id)
        gate = Gate(
            attempt_id=found.attempts[0].id, run_id=first.case.run_id, question="Fine?", digest="d",
            head_sha="a" * 40, state=GateState.ANSWERED, answer={"answer": "approve", "by": "meg"},
        )  # fmt: skip
        for one in found.gates:
            session.delete(one)
        session.flush()
        session.add(gate)

    await first.answer(answer="approve")
    await first.case.store.write(bind)
    with pytest.raises(UserError) as caught:
        await again(first, "build", {}, head="b" * 40)
    assert caught.value.message == "the answer in `go` was given at head aaaaaaa, which is not the head now"
    assert caught.value.hint == "`retry r1 from go` asks again"
    second = await again(first, "build", {}, head="a" * 40)
    assert (await second.go()).end == "succeeded"
    assert [(one.state, one.answer) for one in (await second.case.rows()).gates] == [
        (GateState.ANSWERED, {"answer": "approve", "by": "meg"})
    ]
