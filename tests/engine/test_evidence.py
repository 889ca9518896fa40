"""Artifacts and exports on a real database: every change of theirs in the transaction of the outcome behind it."""

from __future__ import annotations

from typing import Any

import pytest

from bot.engine import commit
from bot.engine.commit import Begun, Performed
from bot.engine.evidence import exported
from bot.engine.frames import Tree
from bot.engine.scope import scope
from bot.model.outcome import Done, Failed
from bot.store import Store, snapshots
from tests.engine.play import Play, Script
from tests.engine.scene import open_case

SCHEMA = ".github/bot/s.json"
NUMBER = '{"schemaVersion": 1, "fields": [{"name": "n", "type": "number", "required": true}]}'


async def played(
    store: Store, steps: str, export: str = "", script: Script | None = None, schema: str = NUMBER
) -> Play:
    """A run of `main` with steps in YAML's flow style, each from the beginning of a line, and with an export."""
    lines = "".join(
        f"      {'- ' if line.lstrip().startswith('{id') else '    '}{line.strip()}\n"
        for line in steps.strip().splitlines()
    )
    declared = f"    export: {export}\n" if export else ""
    text = f"version: 1\nagents:\n  writer: {{model: demo:demo}}\nworkflows:\n  main:\n{declared}    steps:\n{lines}"
    return Play(await open_case(store, text, beside={SCHEMA: schema}), dict(script or {}))


async def exports(play: Play) -> list[tuple[int, str, Any]]:
    """Every revision with its state and value."""
    return [(one.revision, str(one.state), one.value) for one in (await play.case.rows()).exports]


async def artifacts(play: Play) -> list[tuple[str, str]]:
    """Every artifact with its state, oldest first."""
    return [(one.name, str(one.state)) for one in (await play.case.rows()).artifacts]


APPROVED = """
{id: plan, run: plan, produces: [{id: plan_document, kind: plan}]}
{id: build, run: build, produces: [{id: log, kind: log}]}
{id: approve, ask: Good?, options: {yes_: end, again: {rework: build}, over: {rework: plan}, past: done},
 rework: {to: [build, plan], max_loops: 9}}
{id: done, run: done}
"""


# -- revisions


async def test_an_export_is_published_with_the_success_that_makes_it(store: Store) -> None:
    """Not before everything it is made from is there; of several ids an object."""
    play = await played(store, APPROVED, "{from: [plan, build]}", {"plan": Done(result={"n": 1}), "build": Done("b")})
    await play.more()
    await play.step()
    assert await exports(play) == []
    await play.step()
    assert await exports(play) == [(1, "current", {"plan": {"n": 1}, "build": "b"})]


async def test_work_that_is_sent_back_makes_the_export_stale_until_it_is_done_again(store: Store) -> None:
    """All in the transaction of the answer, and of the new success; what came before the target stays."""
    play = await played(store, APPROVED, "{from: [build]}", {"build": [Done("one"), Done("two")]})
    await play.go()
    assert await exports(play) == [(1, "current", "one")]
    seen: list[Any] = []
    play.order = lambda begun: 0

    def build(begun: Begun) -> Done:
        seen.append([str(one.state) for one in begun.rows.exports])
        return Done("two")

    play.script["build"] = build
    await play.answer(answer="again")
    assert seen == [["stale"]]
    assert await exports(play) == [(1, "superseded", "one"), (2, "current", "two")]
    assert await artifacts(play) == [("plan_document", "current"), ("log", "superseded"), ("log", "current")]


async def test_an_export_of_several_waits_for_all_that_is_done_again(store: Store) -> None:
    """The new plan is never published together with the old build."""
    script = {"plan": [Done("p1"), Done("p2")], "build": [Done("b1"), Done("b2")]}
    play = await played(store, APPROVED, "{from: [plan, build]}", script)
    await play.go()
    await play.answer(answer="over")
    assert await exports(play) == [
        (1, "superseded", {"plan": "p1", "build": "b1"}),
        (2, "current", {"plan": "p2", "build": "b2"}),
    ]


@pytest.mark.parametrize(("more", "end"), [("", "failed export_stale"), (", required: false", "succeeded")])
async def test_a_run_that_leads_past_the_work_that_was_sent_back(store: Store, more: str, end: str) -> None:
    """Its export is not handed out; where it is required the run fails."""
    steps = APPROVED.replace("{id: build, run: build", "{id: build, run: build, when: \"ctx.outcome != 'rework'\"")
    steps = steps.replace("{id: build, ", "{id: build, next: [{when: \"outcome == 'fail'\", to: approve}], ")
    play = await played(store, steps, f"{{from: [build]{more}}}", {"build": [Done("one"), Failed("x", "no")]})
    await play.go()
    await play.answer(answer="again")
    assert await exports(play) == [(1, "stale", "one")]
    await play.answer(answer="past")
    assert play.end.startswith(end)
    rows = await play.case.rows()
    found = exported(rows, Tree.of(rows, play.case.terms.workflow).root)
    assert (found.value, found.code) == (None, "" if more else "export_stale")


@pytest.mark.parametrize(("more", "end"), [("", "failed export_missing"), (", required: false", "succeeded")])
async def test_a_run_that_ends_without_its_export(store: Store, more: str, end: str) -> None:
    """It fails where the export is required."""
    steps = "{id: a, run: a}\n{id: b, run: b, when: \"outcome == 'never'\"}"
    play = await (await played(store, steps, f"{{from: [b]{more}}}")).go()
    assert play.end.startswith(end)
    assert await exports(play) == []


@pytest.mark.parametrize("more", ["", ", required: false"])
async def test_an_export_is_held_against_its_schema(store: Store, more: str) -> None:
    """Whatever `required` says; a revision that fitted before is not handed out instead."""
    script = {"build": [Done(result={"n": 1}), Done(result={"n": "one"})]}
    play = await played(store, APPROVED, f"{{from: [build], schema: s.json{more}}}", script)
    await play.go()
    assert await exports(play) == [(1, "current", {"n": 1})]
    await play.answer(answer="again")
    assert await exports(play) == [(1, "stale", {"n": 1})]
    await play.answer(answer="yes_")
    assert play.end.startswith("failed result_mismatch: the export does not fit: `n`: expected a number")


async def test_a_later_success_that_does_not_fit_takes_back_the_revision(store: Store) -> None:
    """Also where nobody sent the work back."""
    steps = """
    {id: a, run: a, next: [{when: "steps.a.result.n == 1", to: a}, {to: ok}]}
    {id: ok, ask: Good?}
    """
    script = {"a": [Done(result={"n": 1}), Done(result={"n": "two"})]}
    play = await (await played(store, steps, "{from: [a], schema: s.json}", script)).go()
    assert await exports(play) == [(1, "stale", {"n": 1})]


async def test_the_operator_bounds_an_export(store: Store) -> None:
    """In bytes of compact JSON."""
    play = await played(
        store, "{id: a, run: a}", "{from: [a], schema: s.json}", {"a": Done(result={"n": 1, "text": "x" * 2000})}
    )
    play.case.result_bytes = 1500
    await play.go()
    assert "at most 1,500 bytes" in play.end


async def test_a_success_that_changes_nothing_makes_no_revision(store: Store) -> None:
    """Other steps succeed too."""
    play = await (await played(store, "{id: a, run: a}\n{id: b, run: b}", "{from: [a]}")).go()
    assert await exports(play) == [(1, "current", "did a")]


# -- artifacts in `from`


async def test_an_artifact_is_exported_as_what_it_is(store: Store) -> None:
    """Also one of a step within a group; stale until it is made again."""
    steps = """
    {id: group, steps: [{id: make, run: make, produces: [{id: report, kind: log}]}]}
    {id: ok, ask: Good?, options: {yes_: end, again: {rework: group}}}
    """
    play = await played(store, steps, "{from: [report]}")
    await play.go()
    (first,) = (await play.case.rows()).artifacts
    uri = f"artifact:{play.case.run_id}/{first.id}"
    assert await exports(play) == [(1, "current", {"uri": uri, "kind": "log"})]
    await play.answer(answer="again")
    assert await artifacts(play) == [("report", "superseded"), ("report", "current")]
    assert [(state, value["uri"] == uri) for _, state, value in await exports(play)] == [
        ("superseded", True),
        ("current", False),
    ]


# -- what is sent back


async def test_the_record_of_an_answer_that_sends_back_is_stale_itself(store: Store) -> None:
    """What it decided about is done again."""
    steps = """
    {id: plan, run: plan}
    {id: ok, ask: Good?, options: {yes_: end, again: {rework: plan}}, produces: [{id: decision, kind: approval}]}
    """
    play = await (await played(store, steps)).go()
    states: list[Any] = []

    def plan(begun: Begun) -> Done:
        states.append([str(one.state) for one in begun.rows.artifacts])
        return Done("p")

    play.script["plan"] = plan
    await play.answer(answer="again")
    assert states == [["stale"]]
    await play.answer(answer="yes_")
    assert await artifacts(play) == [("decision", "superseded"), ("decision", "current")]


async def test_a_branch_beside_is_not_sent_back(store: Store) -> None:
    """Work that goes on at the same time counts on."""
    steps = """
    {id: fan, parallel: {branches: {
      one: [
        { id: w, run: w },
        { id: ok, run: ok, result: {fields: {n: {type: number, required: true}}, on_mismatch: retry},
          rework: {to: w, max_loops: 2} }],
      two: [{ id: x, run: x, produces: [{id: other, kind: log}] }]}}}
    """
    script = {"ok": [Done(result={"n": "a"}), Done(result={"n": 1})]}
    play = await (await played(store, steps, script=script)).go()
    assert play.end == "succeeded"
    assert play.started.count("w[one]") == 2
    assert await artifacts(play) == [("other", "current")]


async def test_what_is_inside_work_that_is_sent_back_is_stale_too(store: Store) -> None:
    """Also where the new work makes it no more."""
    steps = """
    {id: group, steps: [
      { id: a, run: a, when: "!has(ctx.human_response)", produces: [{id: x, kind: log}] }, { id: b, run: b }]}
    {id: ok, ask: Good?, options: {yes_: end, again: {rework: group}}}
    """
    play = await (await played(store, steps)).go()
    await play.answer(answer="again", text="leave it out")
    assert "a" in play.started
    assert await artifacts(play) == [("x", "stale")]


async def test_another_repetition_supersedes_the_one_before(store: Store) -> None:
    """It is made in the same place, though in a frame of its own; elements are places of their own."""
    steps = """
    {id: group, loop: {max: 2, until: "false", on_exhaust: last},
      steps: [{ id: many, each: {over: [p, q]}, run: m, produces: [{id: part, kind: log}] }]}
    """
    play = await (await played(store, steps)).go()
    states = [state for name, state in await artifacts(play)]
    # two elements and the whole, twice
    assert states == ["superseded"] * 3 + ["current"] * 3


# -- what `uses` gets


USED = """
version: 1
agents:
  writer: {model: demo:demo}
workflows:
  inner:
    export: {from: [make]%s}
    steps:
      - {id: make, run: make, next: [{when: "outcome == 'fail'", to: rest}]}
      - {id: rest, run: rest}
  main:
    steps:
      - {id: call, uses: inner}
"""


@pytest.mark.parametrize(
    ("more", "make", "end", "result"),
    [
        ("", Done(result={"n": 1}), "succeeded", {"n": 1}),
        ("", Failed("x", "no"), "failed call failed: export_missing", None),
        (", required: false", Failed("x", "no"), "succeeded", None),
    ],
)
async def test_a_workflow_that_is_used_gives_its_export(
    store: Store, more: str, make: Done | Failed, end: str, result: object
) -> None:
    """A current one, or none."""
    play = Play(await open_case(store, USED % more), {"make": make})
    await play.go()
    assert play.end.startswith(end)
    assert await play.result("call") == result


# -- files and contents


async def test_the_bytes_of_a_file_are_kept(store: Store) -> None:
    """As the performer read them; without a path it is the whole output."""
    steps = "{id: a, run: a, produces: [{id: file, kind: log, path: out/a.bin}, {id: said, kind: log}]}"
    play = await played(store, steps)
    await play.more()
    (begun,) = play.begun
    performed = Performed(Done("x" * 70_000), {"file": b"\0\xff"})
    await store.write(lambda s: commit.record(s, begun, performed, play.case.terms, play.now))
    kept = {one.name: one for one in (await play.case.rows()).artifacts}
    assert kept["file"].path == "out/a.bin"
    assert await store.read(lambda s: snapshots.get_blob(s, kept["file"].blob)) == b"\0\xff"
    assert await store.read(lambda s: snapshots.get_blob(s, kept["said"].blob)) == b"x" * 70_000


async def test_a_step_without_an_output_leaves_an_empty_artifact(store: Store) -> None:
    """It ended well, so it is there."""
    play = await (await played(store, "{id: a, run: a, produces: [{id: x, kind: log}]}", script={"a": Done()})).go()
    (row,) = (await play.case.rows()).artifacts
    assert await store.read(lambda s: snapshots.get_blob(s, row.blob)) == b""


async def test_what_templates_see_of_an_artifact(store: Store) -> None:
    """The newest of each id, its validity, and content only where it was read and counts."""
    play = await (await played(store, APPROVED)).go()
    play.script["build"] = Failed("x", "no")
    await play.answer(answer="again")
    rows = await play.case.rows()
    tree = Tree.of(rows, play.case.terms.workflow)
    plan, log = rows.artifacts
    content = {plan.blob: "the plan", log.blob: "the log"}
    found = scope(rows, tree, tree.root, attempt=1, content=content)["artifacts"]
    uri = f"artifact:{play.case.run_id}/"
    assert found == {
        "plan_document": {
            "kind": "plan",
            "uri": uri + plan.id,
            "validity": "current",
            "step": "plan",
            "content": "the plan",
        },
        "log": {"kind": "log", "uri": uri + log.id, "validity": "stale", "step": "build"},
    }
