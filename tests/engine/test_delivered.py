"""What the run hands to an agent's prompt, from rows that the engine wrote."""

from __future__ import annotations

import pytest

from bot.engine import commit
from bot.engine.delivered import Delivered, delivered
from bot.errors import UserError
from bot.model.outcome import Done
from bot.model.state import RunState
from bot.store import Store, snapshots
from bot.workflows import AgentStep
from tests.engine.scene import Case, open_case
from tests.rows import NOW

FILE = """\
version: 1
agents: {ask: {model: "demo:echo"}}
workflows:
  main:
    goal: Find it.
    steps:
      - {id: look, run: "true", writes: [found, more], result: {fields: {deep: {type: json}}}}
      - id: say
        agent: ask
        fidelity: summary:high
        context: [look, ctx.found, look.result.deep.key]
"""
LONG = "x" * 70_000


async def handed(case: Case) -> Delivered:
    """What the attempt that starts now is given."""
    begun = await case.begin()
    assert isinstance(begun.step, AgentStep)

    async def read(digest: str) -> bytes:
        return await case.store.read(lambda s: snapshots.get_blob(s, digest))

    return await delivered(begun, begun.step, read)


async def looked(store: Store, **more: object) -> Case:
    """A run whose first step is done and whose second is under way."""
    case = await open_case(store, FILE)
    fields: dict[str, object] = {"output": LONG, "stdout": LONG, "writes": {"found": "here", "more": ""}, **more}
    await case.record(await case.begin(), Done(**fields))  # type: ignore[arg-type]  # a builder for tests
    return case


async def stop(case: Case) -> None:
    """The process stops in the middle of the attempt, and another goes on."""
    await case.store.write(lambda s: commit.abandon(s, case.run_id, case.terms.say, NOW, cancelled=False))
    await case.change(state=RunState.RUNNING)


async def test_back_references_are_whole_and_in_order(store: Store) -> None:
    """An output beyond what the row holds, a key of the run context, a part of a result as JSON."""
    case = await looked(store, result={"deep": {"key": [1]}})
    await stop(case)
    got = await handed(case)
    assert [(block.kind, block.source, block.text) for block in got.references] == [
        ("reference", "look", LONG),
        ("reference", "ctx.found", "here"),
        ("reference", "look.result.deep.key", "[1]"),
    ]
    assert got.rework is None


async def test_a_reference_without_a_value_is_named(store: Store) -> None:
    """A result without that path is none."""
    case = await looked(store, result={})
    await stop(case)
    with pytest.raises(UserError, match=r"`look\.result\.deep\.key` in the `context` of `say` has no value"):
        await handed(case)


async def test_an_attempt_after_an_interruption_gets_one_level_less(store: Store) -> None:
    """And the next one less again; the reason says what was declared."""
    case = await looked(store, result={"deep": {"key": 1}})
    seen = []
    for _ in range(3):
        await stop(case)
        ambient = (await handed(case)).ambient
        seen.append((ambient.level, ambient.reason))
    reason = "after an interruption, instead of summary:high"
    assert seen == [("summary:medium", reason), ("summary:low", reason), ("compact", reason)]
    assert [block.source for block in ambient.blocks()] == ["ctx.graph.goal", "ctx.outcome"]


async def test_the_run_context_holds_what_every_step_wrote(store: Store) -> None:
    """The engine's keys and the author's; a label that was cleared is not there."""
    case = await looked(store, stderr="e", result={"deep": {"key": 1}})
    await stop(case)
    values = dict((await handed(case)).ambient.values)
    assert values == {
        "graph.goal": "Find it.",
        "outcome": "success",
        "tool_stdout": LONG,
        "tool_stderr": "e",
        "found": "here",
        "more": "",
    }
