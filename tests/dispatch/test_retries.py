"""Retries that only a race or a database of yesterday refuses."""

from __future__ import annotations

import pytest

from bot.dispatch.commands import Command
from bot.model.role import Role
from bot.model.state import RunState
from bot.store import Session
from bot.store.tables import Run
from tests import rows
from tests.dispatch.scene import Scene, acceptance, asked, client_of, configured, event
from tests.rows import NOW

TEXT = """\
version: 1
workflows:
  main:
    trigger_role: admin
    steps: [{id: one, run: "true"}, {id: two, run: "true"}]
"""


async def ended(scene: Scene, text: str) -> None:
    """A run of `main` has ended."""

    def work(session: Session) -> None:
        run: Run = rows.run(session, guid="first", workflow="main", files={".github/bot.yml": text})
        run.state, run.ended_at = RunState.FAILED, NOW
        session.add(run)

    await scene.store.write(work)


async def told(scene: Scene, params: dict[str, str], role: Role) -> str:
    """What somebody hears who asks for a retry with this role."""
    about = event("@bot retry")
    given = await scene.store.write(lambda session: acceptance(session, about, configured(TEXT)))
    request = asked(Command("builtin", "retry", params), role=role)
    act = await scene.actions.prepare(request, given, client_of(scene.server))
    assert act is not None

    def work(session: Session) -> None:
        act(session, rows.thread(session))

    await scene.store.write(work)
    return (await scene.said())[-1]


async def test_another_run_has_ended_meanwhile(scene: Scene) -> None:
    """The role was asked for with another run in mind; this one's workflow takes more."""
    await ended(scene, TEXT)
    assert "another run has ended meanwhile" in await told(scene, {}, Role.WRITE)
    assert len(await scene.runs()) == 1


@pytest.mark.parametrize("text", ["version: 7\n", "a: [\n"])
async def test_a_configuration_that_is_none_any_more(scene: Scene, text: str) -> None:
    """What it ran with was fine for the bot of then."""
    await ended(scene, text)
    said = await told(scene, {"run": "r1", "from": "two"}, Role.ADMIN)
    assert "the configuration of r1 cannot be read any more" in said
    assert len(await scene.runs()) == 1
