"""Floods of mentions: each comment is looked at once, a few requests of it are taken, and nobody else waits."""

from __future__ import annotations

from time import monotonic

from bot.dispatch.acceptance import REQUESTS_MAX
from bot.model.state import DeliveryState
from tests.dispatch.scene import MEG, SAM, Scene, comment_payload
from tests.rows import ANA

MANY = 10_000


def flood(count: int) -> str:
    """As many different requests as one comment holds."""
    return "\n".join(f"@bot {number}" for number in range(count))[:65_536]


async def test_one_comment_with_ten_thousand_mentions(scene: Scene) -> None:
    """Of a writer the first twenty are taken and one sentence says how many were not; of a stranger none."""
    assert flood(MANY).count("@bot") > 6_000
    begun = monotonic()
    theirs = await scene.says(SAM, flood(MANY), comment_id=501)
    assert await scene.became(theirs) == (DeliveryState.IGNORED, "sam has the role read, write is needed")
    assert (await scene.dispatched(), await scene.said(), await scene.said("reaction")) == ([], [], [])
    await scene.says(ANA, flood(MANY), comment_id=502)
    assert len(await scene.dispatched()) == REQUESTS_MAX
    (surplus,) = await scene.said()
    assert surplus.startswith("One comment can ask for 20 things; ")
    assert len(await scene.said("reaction")) == 1
    # GitHub was asked for each one's role once, not for each mention
    assert len(scene.asked("collaborators")) == 2
    assert monotonic() - begun < 10


async def test_ten_thousand_times_the_same(scene: Scene) -> None:
    """Identical requests are one."""
    await scene.says(ANA, "\n".join(["@bot help"] * MANY)[:65_536])
    assert len(await scene.said()) == 1


async def test_an_edit_of_a_flood(scene: Scene) -> None:
    """Only what it adds is asked, however long both texts are."""
    before = flood(MANY)[:60_000]
    await scene.says(ANA, f"{before}\n@bot help", action="edited", old=before, comment_id=502)
    asked = [*[one.request[-9:] for one in await scene.dispatched()], *await scene.said()]
    # the last line of the old text was cut and goes on
    assert len(asked) <= 2
    assert any("What you can ask me here" in one for one in asked)


async def test_five_hundred_comments_of_a_stranger(scene: Scene) -> None:
    """Nothing comes of them, and who may ask in the middle of them is heard in a thread of their own."""
    for number in range(500):
        body = f"@bot {number}\n@bot help"
        await scene.deliver(comment_payload(body, SAM, comment_id=1000 + number, number=2 + number % 5))
    urgent = await scene.deliver(comment_payload("@bot stand by me", MEG, comment_id=9000))
    scene.start()
    await scene.until(lambda: _state(scene, urgent), DeliveryState.PLANNED)
    assert await scene.open() > 300
    await scene.settle()
    (one,) = await scene.dispatched()
    assert one.actor == "meg"
    assert (await scene.said(), await scene.said("reaction")) == ([], ["eyes"])
    # two requests a comment at most: the head of the branch, which has not changed, and the role
    assert len(scene.asked("collaborators")) == 501


async def test_a_hundred_comments_of_a_writer(scene: Scene) -> None:
    """The thread's breaker lets twenty through and says so once; the others get a reaction each."""
    for number in range(100):
        await scene.deliver(comment_payload(f"@bot {number}", ANA, comment_id=1000 + number))
    await scene.settle()
    started = [one for one in await scene.dispatched() if one.state != "refused"]
    assert len(started) == 20
    (told,) = await scene.said()
    assert "more than 20 requests were made in this thread within an hour" in told
    assert sorted(set(await scene.said("reaction"))) == ["confused", "eyes"]


async def _state(scene: Scene, guid: str) -> DeliveryState:
    return (await scene.became(guid))[0]
