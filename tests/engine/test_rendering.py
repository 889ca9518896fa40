"""What templates are filled from: contents of artifacts only where they are named, small, and current."""

from __future__ import annotations

from typing import Any

import pytest

from bot.engine.frames import Tree
from bot.engine.rendering import CONTENT_MAX, named, rendering
from bot.model.outcome import Done
from bot.store import Store
from bot.workflows import load
from tests.engine.play import Play, open_gate
from tests.engine.scene import open_case

TEXT = """
version: 1
agents:
  writer: {model: demo:demo, prompt: "Mind ${{ artifacts.rules.content }}"}
workflows:
  main:
    steps:
      - {id: make, run: make, produces: [{id: plan, kind: plan}, {id: rules, kind: text}]}
      - {id: one, run: x, env: {P: "${{ artifacts.plan.content ?? 'none' }}", K: "${{ artifacts.rules.kind }}"}}
      - {id: two, agent: writer, prompt: "Do ${{ artifacts.plan.content }}"}
      - {id: three, ask: "This? ${{ artifacts.plan.content }}", options: {yes_: four, more: group}}
      - {id: group, steps: [{id: inner, run: x, env: {P: "${{ artifacts.plan.content }}"}}]}
      - {id: four, end: {message: "Made ${{ artifacts.plan.content }}"}}
"""


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("make", set()),
        ("one", {"plan"}),
        ("two", {"plan", "rules"}),
        ("three", {"plan"}),
        ("group", set()),
        ("inner", {"plan"}),
    ],
)
def test_which_contents_a_step_names(step: str, expected: set[str]) -> None:
    """At any depth of it; of an agent's step also in the agent's prompt; not in the steps within."""
    configuration = load({".github/bot.yml": TEXT})
    found = configuration.workflow_for("main")
    assert found is not None
    wanted: Any = found.step(step)
    assert named(wanted, configuration) == expected


async def values(play: Play, step: str) -> Any:
    rows, terms = await play.case.rows(), play.case.terms
    tree = Tree.of(rows, terms.workflow)
    wanted: Any = terms.workflow.step(step)
    attempt = rows.attempts[-1]
    return await play.case.store.read(
        lambda session: rendering(session, rows, tree, tree.root, wanted, attempt, terms.configuration)
    )


@pytest.mark.parametrize(("size", "there"), [(CONTENT_MAX, True), (CONTENT_MAX + 1, False)])
async def test_contents_are_small(store: Store, size: int, there: bool) -> None:
    """What is longer has no value; the rest of what is known of it has."""
    play = Play(await open_case(store, TEXT), {"make": Done("x" * size)})
    await play.more()
    await play.step()
    found = (await values(play, "one"))["artifacts"]["plan"]
    assert found.get("content") == ("x" * size if there else None)
    assert (found["kind"], found["validity"], found["step"]) == ("plan", "current", "make")


async def test_what_is_not_named_is_not_read(store: Store) -> None:
    """It may be large, and a step has no use for it."""
    play = Play(await open_case(store, TEXT), {"make": Done("a plan")})
    await play.more()
    await play.step()
    assert "content" not in (await values(play, "make"))["artifacts"]["plan"]


async def test_contents_reach_gates_and_ends(store: Store) -> None:
    """Which are put together within the transaction."""
    play = await Play(await open_case(store, TEXT), {"make": Done("a plan")}).go()
    assert open_gate(await play.case.rows()).question == "This? a plan"
    await play.answer(answer="yes_")
    assert (await play.case.rows()).attempts[-1].output == "Made a plan"
