"""Ears that GitHub refuses: what is asked beside them goes on, and what only informs is left out in the end."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.dispatch.owed import BROKEN
from bot.model.state import DeliveryState
from tests.dispatch.happenings import NEWER, SHA, head_is, listening, pull_event
from tests.dispatch.scene import ME, REPO, SAM, Scene
from tests.github.fake import answer
from tests.rows import ANA

FILES = f"{REPO}/pulls/1/files"
BOT_YML = listening("w: {on: {opened: true}}", "sync: {on: {synchronize: true}}")


async def opened(scene: Scene, body: str = "It crashes.") -> str:
    guid = await scene.deliver(pull_event("opened", body=body), "pull_request")
    await scene.settle()
    return guid


@pytest.mark.parametrize("status", [403, 404, 422])
async def test_a_check_that_cannot_be_made(scene: Scene, status: int) -> None:
    """The mention is answered, the trigger starts its workflow."""
    scene.configure(BOT_YML)
    head_is(scene, SHA)
    scene.server.on("GET", FILES, answer({"message": "no"}, status))
    guid = await opened(scene, "@bot help")
    assert len(await scene.said()) == 1
    assert [one.command for one in await scene.dispatched()] == ["w"]
    assert (await scene.became(guid))[0] is DeliveryState.PLANNED


async def test_a_check_that_gets_no_answer(scene: Scene) -> None:
    """It is looked at again, and in the end everything else is done without it."""
    scene.configure(BOT_YML)
    head_is(scene, SHA)
    scene.server.on("GET", FILES, answer({}, 502))
    guid = await opened(scene, "@bot help")
    assert (await scene.became(guid))[0] is DeliveryState.NEW
    for _ in range(20):
        await scene.pass_time(timedelta(minutes=1))
    assert len(await scene.said()) == 1
    assert [one.command for one in await scene.dispatched()] == ["w"]
    assert (await scene.became(guid))[0] is DeliveryState.PLANNED


async def test_a_push_that_is_held(scene: Scene) -> None:
    """GitHub is asked what it changes once, when it is looked at."""
    scene.configure(BOT_YML)
    head_is(scene, SHA)
    scene.server.on("GET", FILES, answer([]))
    await scene.deliver(pull_event("synchronize"), "pull_request")
    await scene.settle()
    assert scene.asked(FILES) == []
    await scene.pass_time(timedelta(minutes=1))
    assert [one.command for one in await scene.dispatched()] == ["sync"]
    assert len(scene.asked(FILES)) == 1


@pytest.mark.parametrize("status", [403, 404, 502])
async def test_our_own_pull_request_whose_check_cannot_be_made(scene: Scene, status: int) -> None:
    """No delivery has failed for it; why there is no check is kept with it."""
    scene.server.on("GET", FILES, answer({"message": "no"}, status))
    guid = await scene.deliver(pull_event("synchronize", ME), "pull_request")
    await scene.settle()
    for _ in range(20):
        await scene.pass_time(timedelta(minutes=1))
    state, reason = await scene.became(guid)
    assert state is DeliveryState.IGNORED
    assert reason.startswith("our own; hear_configuration was left out: ")


async def test_what_starts_something_and_is_refused_alone(scene: Scene) -> None:
    """The delivery has failed and can be played again; nobody asked, so nobody is told."""
    scene.configure(BOT_YML)
    head_is(scene, NEWER)
    scene.server.on("GET", f"{REPO}/pulls/1", answer({"message": "no"}, 404))
    guid = await scene.deliver(pull_event("synchronize"), "pull_request")
    await scene.settle()
    await scene.pass_time(timedelta(minutes=1))
    assert (await scene.became(guid))[0] is DeliveryState.FAILED
    assert await scene.said() == []


async def test_a_request_that_breaks_is_told(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may is told once in one sentence; who may not hears nothing."""
    scene.configure(BOT_YML)

    async def broken(*_args: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(scene.actions, "prepare", broken)
    await scene.says(SAM, "@bot w", comment_id=502)
    assert await scene.said() == []
    guid = await scene.says(ANA, "@bot w")
    assert (await scene.became(guid))[0] is DeliveryState.FAILED
    (said,) = await scene.said()
    assert BROKEN in said
