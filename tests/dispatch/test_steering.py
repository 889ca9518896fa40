"""Steering that only a race refuses."""

from __future__ import annotations

from sqlmodel import select

from bot.dispatch.commands import Command
from bot.model.role import Role
from bot.store import Session
from bot.store.tables import Steer
from tests import rows
from tests.dispatch.scene import Scene, acceptance, asked, client_of, configured, event

TEXT = "version: 1\nworkflows:\n  main:\n    trigger_role: admin\n    steps: [{id: one, run: 'true'}]\n"


async def test_another_run_has_begun_meanwhile(scene: Scene) -> None:
    """The role was asked for with another run in mind; this one's workflow takes more, and hears nothing."""
    await scene.store.write(lambda session: rows.run(session, guid="first", workflow="main"))
    about = event("@bot steer Hurry.")
    given = await scene.store.write(lambda session: acceptance(session, about, configured(TEXT)))
    request = asked(Command("builtin", "steer", {}, "Hurry."), role=Role.WRITE)
    act = await scene.actions.prepare(request, given, client_of(scene.server))
    assert act is not None

    def work(session: Session) -> None:
        act(session, rows.thread(session))

    await scene.store.write(work)
    assert "Another run has begun meanwhile, so nobody was told." in (await scene.said())[-1]
    assert await scene.store.read(lambda session: session.exec(select(Steer)).all()) == []
