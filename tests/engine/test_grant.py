"""What a step is granted: its variables and its limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.engine.grant import REQUESTS, TOKENS, environment, own_variables, step_limits
from bot.errors import UserError
from bot.model.state import AttemptState
from bot.store import Store
from bot.store.tables import Attempt
from bot.workflows import AgentStep, Budget, load
from bot.workspace import Workspace
from tests.engine.scene import open_case
from tests.rows import NOW

PAST = [
    Attempt(
        run_id="r",
        frame_id="f",
        step="s",
        kind="agent",
        state=AttemptState.SUCCESS,
        number=1,
        started_at=NOW,
        cost=0.75,
        input_tokens=11,
        output_tokens=5,
    )
]


@pytest.mark.parametrize(
    ("own", "budget", "expected"),
    [
        ("", Budget(usd=2, tokens=100), (84, 1.25)),
        ("budget: {usd: 1, tokens: 50}, ", Budget(usd=2, tokens=100), (50, 1.0)),
        ("budget: {usd: 9, tokens: 500}, ", Budget(usd=2, tokens=100), (84, 1.25)),
        ("", Budget(), (TOKENS, None)),
        ("budget: {tokens: 50}, ", Budget(), (50, None)),
    ],
)
def test_a_step_gets_what_is_left_and_no_more_than_its_own(
    own: str, budget: Budget, expected: tuple[int, float | None]
) -> None:
    """The tighter of both, key by key; tokens and requests are bounded even where nothing says so."""
    agent = f'agents: {{a: {{{own}model: "demo:echo"}}}}'
    workflow = load({".github/bot.yml": f"version: 1\n{agent}\n"}).workflow_for("a")
    assert workflow is not None
    step = workflow.steps[0]
    assert isinstance(step, AgentStep)
    limits = step_limits(step, budget, PAST, 12.5)
    assert ((limits.tokens, limits.usd), limits.requests, limits.seconds) == (expected, REQUESTS, 12.5)


async def test_every_command_knows_where_it_is(store: Store, tmp_path: Path) -> None:
    """Run, step, folder, issue, repository."""
    case = await open_case(store)
    step = case.terms.workflow.steps[0]
    assert own_variables(await case.rows(), step, Workspace(tmp_path, None, "none")) == {
        "BOT_RUN_ID": case.run_id,
        "BOT_STEP_ID": "s1",
        "BOT_WORKSPACE": str(tmp_path),
        "BOT_ISSUE_NUMBER": "1",
        "BOT_REPOSITORY": "acme/widgets",
    }
    with_folder = own_variables(await case.rows(), step, Workspace(tmp_path, None, "none"), tmp_path / "steps")
    assert with_folder["BOT_RUN_DIR"] == str(tmp_path / "steps")


def test_variables_of_the_engine_only_where_the_operator_opens_them() -> None:
    """A value in the YAML is taken as it is; null means the engine's own of that name."""
    engine = {"OPEN": "o", "CLOSED": "c", "BOT_SECRET": "s"}
    assert environment({"A": "a", "OPEN": None}, ["OPEN"], engine) == {"A": "a", "OPEN": "o"}
    assert environment({"OPEN": "mine"}, [], engine) == {"OPEN": "mine"}
    for name, opened in (("CLOSED", ["OPEN"]), ("BOT_SECRET", ["BOT_SECRET"]), ("UNSET", ["UNSET"])):
        with pytest.raises(UserError, match=name):
            environment({name: None}, opened, engine)


def test_steps_that_ask_at_once_share_what_is_left() -> None:
    """Two branches cannot both spend all of it."""
    workflow = load({".github/bot.yml": 'version: 1\nagents: {a: {model: "demo:echo"}}\n'}).workflow_for("a")
    assert workflow is not None
    step = workflow.steps[0]
    assert isinstance(step, AgentStep)
    beside = Attempt(run_id="r", frame_id="f", step="t", kind="agent", number=1, started_at=NOW)
    limits = step_limits(step, Budget(usd=2.75, tokens=116), [*PAST, beside], 1.0)
    assert (limits.usd, limits.tokens) == (1.0, 50)
