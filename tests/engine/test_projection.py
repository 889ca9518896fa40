"""A run as one document."""

from __future__ import annotations

import json
from typing import Any

from bot.engine.frames import Tree
from bot.engine.projection import projection, to_bytes
from bot.model.outcome import Done, Failed
from bot.store import Session, Store
from bot.store.tables import Dispatch
from tests.engine.play import Play
from tests.engine.scene import open_case

TEXT = """
version: 1
agents:
  writer: {model: demo:demo}
workspace: {env: {SHARED: hidden-one}}
workflows:
  main:
    goal: Mend it
    inputs: {area: {type: text, default: hidden-two}}
    export: {from: [plan]}
    steps:
      - {id: plan, run: plan, env: {MINE: hidden-three}, produces: [{id: plan_document, kind: plan}]}
      - id: fan
        parallel: {branches: {web: [{id: one, run: one}], api: [{id: two, run: two}]}, on_error: collect}
      - {id: approve, ask: Good?, options: {yes_: last_one, again: {rework: plan}}}
      - {id: last_one, run: last}
"""


async def documented(play: Play) -> dict[str, Any]:
    rows, terms = await play.case.rows(), play.case.terms
    return projection(rows, Tree.of(rows, terms.workflow, terms.find))


async def test_everything_that_a_step_may_want_to_know(store: Store) -> None:
    """Intent, run context, newest attempts, gates, artifacts, export; steps of inner frames behind their paths."""
    script = {
        "plan": Done("First.\n\nSecond.", result={"risk": "low"}, stdout="out"),
        "one": Failed("command_failed", "it exited with 2", "Mend it."),
    }
    play = await Play(await open_case(store, TEXT), script).go()
    rows = await play.case.rows()
    document = await documented(play)
    assert document["run"] == {"id": play.case.run_id, "number": 1, "state": "waiting"}
    assert document["intent"] == {
        "workflow": "main",
        "request": rows.dispatch.request,
        "goal": "Mend it",
        "actor": "ana",
        "repository": "acme/widgets",
        "issue": rows.dispatch.issue,
    }
    assert document["context"]["graph.goal"] == "Mend it"
    assert document["context"]["tool_stdout"] == "out"
    assert list(document["context"]) == sorted(document["context"])
    assert list(document["steps"]) == ["plan", "fan", "/fan[web]#1/one", "/fan[api]#1/two"]
    assert document["steps"]["plan"] == {
        "kind": "run",
        "attempt": 1,
        "outcome": "success",
        "summary": "First.",
        "result": {"risk": "low"},
        "files": "plan",
    }
    failed = document["steps"]["/fan[web]#1/one"]
    assert failed["error"] == "command_failed: it exited with 2"
    assert (failed["outcome"], failed["files"]) == ("fail", "fan[web]#1/one")
    (gate,) = document["gates"]
    assert gate.pop("deadline")
    assert gate == {
        "step": "approve",
        "kind": "answer",
        "state": "open",
        "question": "Good?",
        "options": ["yes_", "again"],
        "answer": None,
    }
    (kept,) = rows.artifacts
    assert document["artifacts"] == [
        {
            "id": "plan_document",
            "kind": "plan",
            "path": None,
            "uri": f"artifact:{play.case.run_id}/{kept.id}",
            "validity": "current",
            "step": "plan",
            "attempt": 1,
            "sha256": kept.blob,
        }
    ]
    assert document["export"] == {
        "revision": 1,
        "state": "current",
        "commit": rows.snapshot.commit,
        "value": {"risk": "low"},
    }


async def test_it_follows_every_transition(store: Store) -> None:
    """The newest attempt counts, and what became stale says so."""
    play = await Play(await open_case(store, TEXT), {"plan": [Done("p1"), Done("p2")]}).go()
    seen: list[Any] = []

    def plan(begun: Any) -> Done:
        seen.append(projection(begun.rows, begun.tree))
        return Done("p2")

    play.script["plan"] = plan
    await play.answer(answer="again", text="shorter")
    (before,) = seen
    assert before["export"]["state"] == "stale"
    assert before["artifacts"][0]["validity"] == "stale"
    assert before["steps"]["plan"]["summary"] == "p1"
    assert before["gates"][0]["answer"] == {"answer": "again", "text": "shorter", "by": "meg"}
    after = await documented(play)
    assert (after["steps"]["plan"]["attempt"], after["steps"]["plan"]["summary"]) == (2, "p2")
    assert after["export"]["revision"] == 2


async def test_a_run_that_has_just_begun(store: Store) -> None:
    """Nothing is there yet, and it is a document all the same."""
    play = Play(await open_case(store, TEXT), {})
    document = await documented(play)
    assert (document["steps"], document["gates"], document["artifacts"], document["export"]) == ({}, [], [], None)


async def test_no_values_of_environment_or_inputs(store: Store) -> None:
    """Whoever may read the workspace may not read them."""
    case = await open_case(store, TEXT)

    def give(session: Session) -> None:
        dispatch = session.get_one(Dispatch, dispatch_id)
        dispatch.inputs = {"area": "hidden-two"}
        session.add(dispatch)

    dispatch_id = (await case.rows()).dispatch.id
    await store.write(give)
    play = await Play(case, {}).go()
    assert "hidden" not in json.dumps(await documented(play))


def test_secrets_are_taken_out_of_every_text() -> None:
    """Keys too; what is left is JSON, whatever the text was."""

    def redact(text: str) -> str:
        return text.replace('a"b', "[redacted]")

    document = {'a"b': ['x a"b y', {"n": 1, "deep": ('a"b', None, True)}], "ok": "\ud800 ä"}
    raw = to_bytes(document, redact)
    assert json.loads(raw) == {
        "[redacted]": ["x [redacted] y", {"n": 1, "deep": ["[redacted]", None, True]}],
        "ok": "? ä",
    }
