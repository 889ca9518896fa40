"""Steering that only a race refuses, and that of trials."""

from __future__ import annotations

from sqlmodel import select

from bot.dispatch.commands import Command
from bot.model.role import Role
from bot.store import Session
from bot.store.tables import Dispatch, Steer
from tests import rows
from tests.dispatch.scene import MEG, SAM, Scene, acceptance, asked, client_of, configured, event

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


async def test_a_trial_hears_whoever_may_try(scene: Scene) -> None:
    """Readers may start anything here, but no trial; so they have no say in one that runs."""

    def begin(session: Session) -> None:
        run = rows.run(session, guid="tried", workflow="main")
        session.get_one(Dispatch, run.dispatch_id).trial = True

    scene.configure(TEXT.replace("version: 1\n", "version: 1\ntrigger_role: read\n").replace("admin", "read"))
    await scene.store.write(begin)
    await scene.says(SAM, "@bot steer Hurry.", comment_id=501)
    await scene.says(MEG, "@bot steer Mind the tests.", comment_id=502)
    told = await scene.store.read(lambda session: session.exec(select(Steer)).all())
    assert [one.text for one in told] == ["Mind the tests."]
