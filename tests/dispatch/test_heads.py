"""The head that a question is about is shown anew when somebody pushes."""

from __future__ import annotations

from dataclasses import replace

from bot.dispatch.heads import hear_head
from bot.dispatch.identity import Identity
from bot.dispatch.occasion import Heard, Occasion
from bot.dispatch.parts import Parts
from bot.model.event import PullState
from bot.model.state import GateState
from bot.store import threads
from tests import rows
from tests.dispatch.gate_scene import asking, gate_of, posted, row_of
from tests.dispatch.scene import APP_ID, MARKER, MEG, REPO, Scene, client_of, event
from tests.dispatch.test_ticks import NEW, OLD, pull
from tests.github.fake import answer
from tests.rows import REPOSITORY


async def heard(scene: Scene, head: str) -> Heard | None:
    """What the ear makes of an event that carries this head, done."""
    parts = Parts(scene.store, scene.github, scene.identities, scene.memo, MARKER, scene.speaker, scene.clock)
    said = replace(event("x", sender=MEG), comment=None, pull=PullState("fix", head, "main", MEG))
    guid = await scene.deliver({"action": "synchronize"}, "pull_request")
    identity = Identity(APP_ID, "bot", frozenset({"acme"}))
    occasion = Occasion(parts, await scene.delivery(guid), said, identity, client_of(scene.server))
    found = await hear_head(occasion)
    if found is not None:
        act = found.act
        await scene.store.write(lambda s: act(s, threads.ensure(s, REPOSITORY, rows.issue(), 77)))
    return found


async def test_a_push_while_nobody_has_answered(scene: Scene) -> None:
    """The comment shows the new head and says so; nothing is counted, and nobody is asked anew."""
    gate_id = await asking(scene, head_sha=OLD)
    await posted(scene, gate_id)
    scene.server.on("GET", f"{REPO}/pulls/1", pull(NEW))
    found = await heard(scene, NEW)
    assert found is not None
    assert found.silent
    gate = await gate_of(scene)
    assert (gate.state, gate.head_sha, gate.asked) == (GateState.OPEN, NEW, 1)
    body = (await row_of(scene)).body
    assert "*The head moved from aaaaaaa to bbbbbbb.*" in body
    assert body.endswith("at head bbbbbbb</sub>")


async def test_an_event_that_comes_late(scene: Scene) -> None:
    """What counts is where the head is now: an older event changes nothing back."""
    await posted(scene, await asking(scene, head_sha=NEW))
    scene.server.on("GET", f"{REPO}/pulls/1", pull(NEW))
    await heard(scene, OLD)
    gate = await gate_of(scene)
    assert (gate.head_sha, gate.note) == (NEW, "")


async def test_what_is_about_no_head(scene: Scene) -> None:
    """GitHub is asked nothing for a gate of an issue, nor where the head is known."""
    await posted(scene, await asking(scene))
    assert await heard(scene, NEW) is None
    assert scene.asked("/pulls/") == []


async def test_a_head_that_is_not_shown(scene: Scene) -> None:
    """It stays what it was: an answer will not count either."""
    await posted(scene, await asking(scene, head_sha=OLD))
    scene.server.on("GET", f"{REPO}/pulls/1", answer({"message": "Not Found"}, 404))
    assert await heard(scene, NEW) is None
    assert (await gate_of(scene)).head_sha == OLD
