"""The values that templates may name."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bot.engine.frames import Tree
from bot.engine.scope import OUTPUT_MAX, cut, scope
from bot.model.outcome import Done, Failed, Faulted
from bot.model.state import RunState
from bot.store import Session, Store
from bot.store.tables import Dispatch
from tests.engine.scene import Case, open_case
from tests.rows import NOW

TEXT = """\
version: 1
workflows:
  main:
    goal: Mend it
    params: {base: main, depth: "1"}
    steps:
      - {id: one, run: "true", retry: {max: 3}}
      - {id: two, run: "true"}
"""


async def values(case: Case, attempt: int = 1) -> dict[str, Any]:
    found = await case.rows()
    tree = Tree.of(found, case.terms.workflow)
    return scope(found, tree, tree.root, attempt=attempt)


def own(found: dict[str, Any]) -> dict[str, Any]:
    """What the attempts gave, without what they put into the run context."""
    return {name: {key: one[key] for key in one if key != "ctx"} for name, one in found["steps"].items()}


async def test_run_and_params(store: Store) -> None:
    """The dispatch's params over the workflow's; the run's id, link, workflow, goal, attempt."""
    case = await open_case(store, TEXT)

    def give(session: Session) -> None:
        dispatch = session.get_one(Dispatch, case_dispatch)
        dispatch.params = {"depth": "9"}
        session.add(dispatch)

    case_dispatch = (await case.rows()).dispatch.id
    await store.write(give)
    found = await values(case, 4)
    assert found["params"] == {"base": "main", "depth": "9"}
    assert found["run"] == {
        "id": case.run_id,
        "url": "https://x.test/1",
        "workflow": "main",
        "goal": "Mend it",
        "attempt": 4,
    }
    assert found["trigger"]["text"] == "hello"
    assert set(found) == {"trigger", "issue", "run", "params", "inputs", "steps", "ctx", "loop", "artifacts"}


@pytest.mark.parametrize("text", ["", "  \n"])
async def test_empty_free_text_is_a_miss(store: Store, text: str) -> None:
    """So that `trigger.text ?? "…"` has its default; the other values stay."""
    case = await open_case(store, TEXT)
    found = await case.rows()
    found.dispatch.trigger = {"text": text, "actor": ""}
    tree = Tree.of(found, case.terms.workflow)
    assert scope(found, tree, tree.root, attempt=1)["trigger"] == {"actor": ""}


async def test_steps_are_those_that_have_ended(store: Store) -> None:
    """The newest ended attempt of each: outcome, output, exit code, error; what was tried again does not count."""
    case = await open_case(store, TEXT)
    begun = await case.begin()
    assert (await values(case))["steps"] == {}
    await case.record(begun, Faulted("busy", 0))
    assert (await values(case))["steps"] == {}
    await case.change(state=RunState.RUNNING)
    later = NOW + timedelta(hours=1)
    two = await case.record(await case.begin(later), Done("out", exit_code=0), later)
    assert two is not None
    done = {"outcome": "success", "output": "out", "summary": "out", "exit_code": 0}
    assert own(await values(case)) == {"one": done}
    await case.record(two, Failed("code", "why", exit_code=3))
    failed = {"outcome": "fail", "exit_code": 3, "error": "code: why"}
    assert own(await values(case)) == {"one": done, "two": failed}


async def test_a_long_output_is_cut_once(store: Store) -> None:
    """So that its mark tells the right number."""
    case = await open_case(store, TEXT)
    await case.record(await case.begin(), Done("x" * (OUTPUT_MAX + 7)))
    output = (await values(case))["steps"]["one"]["output"]
    assert output == "x" * OUTPUT_MAX + "\n[… 7 bytes left out]"


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "abc\n[… 1 bytes left out]"),
        ("ab✓", 4, "ab\n[… 1 bytes left out]"),
        ("", 0, ""),
        ("a\ud800b", 3, "a?b"),
    ],
    ids=["fits", "cut", "within a character", "nothing", "a lone surrogate"],
)
def test_a_long_text_is_cut_with_a_mark(text: str, limit: int, expected: str) -> None:
    """By bytes, never within a character."""
    assert cut(text, limit) == expected
