"""Every way in which GitHub fails to tell a role: nobody is let in by it, nobody else waits for it, nobody is told."""

from __future__ import annotations

from datetime import timedelta
from email.utils import format_datetime

import httpx
import pytest

from bot.model.state import DeliveryState
from tests.dispatch.scene import MEG, Scene, comment_payload, role_answer
from tests.github.fake import Answer, answer
from tests.rows import ANA, NOW

PLANNED, NEW = DeliveryState.PLANNED, DeliveryState.NEW
#: the most that may pass until it is a no, and what the tries of one look take
PATIENCE = timedelta(minutes=15)
ONE_LOOK = timedelta(seconds=3.5)
ADMIN = {"permission": "admin", "role_name": "admin", "user": None}
LIMIT = {"message": "You have exceeded a secondary rate limit. Please wait."}


def _after(seconds: float) -> str:
    return format_datetime(NOW + timedelta(seconds=seconds), usegmt=True)


#: answers after which it is a no at once: GitHub has answered, and it was no role that lets anybody in
DEFINITE: dict[str, Answer] = {
    "404": answer({"message": "Not Found"}, 404),
    "403 of a missing permission": answer({"message": "Resource not accessible by integration"}, 403),
    "410": answer({"message": "Gone"}, 410),
    "451": answer({"message": "Repository access blocked"}, 451),
    "a role that is none": answer({"permission": "none", "role_name": "none", "user": None}),
    "a role that nobody knows": answer({"permission": "superuser", "role_name": "superuser", "user": None}),
    "a role in other letters": answer({"permission": "ADMIN", "role_name": "Admin", "user": None}),
    "a role that is a number": answer({"permission": 5, "role_name": ["admin"], "user": None}),
    "no role": answer({}),
    "the role of another who has that name now": answer(ADMIN | {"user": {"id": 999, "login": "meg"}}),
}  # fmt: skip

#: answers that are none: asked again until it is a no
PASSING: dict[str, Answer] = {
    "500": answer({"message": "Server Error"}, 500),
    "502 as a page": httpx.Response(502, text="<html>Unicorn!</html>"),
    "503 with a time": answer({}, 503, retry_after="30"),
    "504": httpx.Response(504),
    "no answer in time": httpx.ReadTimeout("too slow"),
    "no connection in time": httpx.ConnectTimeout("too slow"),
    "no connection": httpx.ConnectError("refused"),
    "a connection that breaks off": httpx.RemoteProtocolError("gone"),
    "no JSON": httpx.Response(200, text="{"),
    "a page": httpx.Response(200, text="<html>admin</html>"),
    "nothing": httpx.Response(200),
    "a list": answer(["admin"]),
    "a bare word": answer("admin"),
}

#: limits, which hold up all of the installation until they are over, and then nobody
LIMITS: dict[str, Answer] = {
    "a minute": answer(LIMIT, 429, retry_after="60"),
    "a minute as a date": answer(LIMIT, 403, retry_after=_after(60)),
    "no time": answer(LIMIT, 403),
    "not a word": httpx.Response(429),
    "an hour": answer(LIMIT, 429, retry_after="3600"),
    "nothing left of the hour": answer(
        {"message": "API rate limit exceeded"}, 403,
        x_ratelimit_remaining="0", x_ratelimit_reset=str(int(NOW.timestamp()) + 3000),
    ),
}  # fmt: skip


async def ended(scene: Scene, guid: str) -> int:
    """Let time pass as far as the delivery asks for; how often GitHub was asked about it."""
    while (row := await scene.delivery(guid)).state is NEW:
        assert row.not_before is not None
        assert row.not_before <= NOW + ONE_LOOK + PATIENCE
        await scene.pass_time(row.not_before)
    return len(scene.asked(scene.permission(MEG)))


@pytest.mark.parametrize("name", [*DEFINITE, *PASSING])
async def test_it_is_a_no_in_the_end(scene: Scene, name: str) -> None:
    """Within 15 minutes; meanwhile and afterwards nothing is said, and her thread and others go on."""
    scene.server.on("GET", scene.permission(MEG), (DEFINITE | PASSING)[name])
    hers = await scene.deliver(comment_payload("@bot first", MEG, comment_id=501))
    behind = await scene.deliver(comment_payload("@bot second", ANA, comment_id=502))
    beside = await scene.deliver(comment_payload("@bot elsewhere", ANA, comment_id=503, number=2))
    await scene.settle()
    assert [await scene.became(guid) for guid in (behind, beside)] == [(PLANNED, ""), (PLANNED, "")]
    assert ((await scene.delivery(hers)).state is NEW) is (name in PASSING)
    tries = await ended(scene, hers)
    assert (await scene.delivery(hers)).state is not PLANNED
    assert scene.clock.now() - NOW <= ONE_LOOK + PATIENCE + ONE_LOOK
    if name in DEFINITE:
        assert scene.clock.now() == NOW
    assert tries <= 80
    dispatched = [(one.actor, one.sequence) for one in await scene.dispatched()]
    assert sorted(dispatched) == [("ana", 1), ("ana", 1)]
    assert (await scene.said(), await scene.said("reaction")) == ([], ["eyes", "eyes"])


@pytest.mark.parametrize("fault", [*PASSING.values(), answer(LIMIT, 429, retry_after=_after(-60))])
async def test_a_yes_that_comes_late_takes_its_place_then(scene: Scene, fault: Answer) -> None:
    """It counts, behind what was accepted meanwhile."""
    # each look asks up to four times before it gives up
    scene.server.on("GET", scene.permission(MEG), *[fault] * 4, role_answer("maintain"))
    hers = await scene.deliver(comment_payload("@bot first", MEG, comment_id=501))
    behind = await scene.deliver(comment_payload("@bot second", ANA, comment_id=502))
    await scene.settle()
    assert await scene.became(behind) == (PLANNED, "")
    await ended(scene, hers)
    assert await scene.became(hers) == (PLANNED, "")
    assert [(one.actor, one.sequence) for one in await scene.dispatched()] == [("ana", 1), ("meg", 2)]


@pytest.mark.parametrize("name", LIMITS)
async def test_a_limit_costs_nobody_a_request(scene: Scene, name: str) -> None:
    """GitHub is not asked before it ends; then everybody's turn comes in the order in which they asked."""
    scene.server.on("GET", scene.permission(MEG), LIMITS[name], role_answer("maintain"))
    hers = await scene.deliver(comment_payload("@bot first", MEG, comment_id=501))
    behind = await scene.deliver(comment_payload("@bot second", ANA, comment_id=502))
    await scene.settle()
    assert [(await scene.delivery(guid)).state for guid in (hers, behind)] == [NEW, NEW]
    while (row := await scene.delivery(hers)).state is NEW:
        assert row.not_before is not None
        assert row.not_before <= NOW + timedelta(minutes=61)
        await scene.pass_time(row.not_before)
    assert [await scene.became(guid) for guid in (hers, behind)] == [(PLANNED, ""), (PLANNED, "")]
    assert len(scene.asked(scene.permission(MEG))) == 2
    assert [(one.actor, one.sequence) for one in await scene.dispatched()] == [("meg", 1), ("ana", 2)]


async def test_a_limit_until_tomorrow_is_a_no(scene: Scene) -> None:
    """Whoever asked has long forgotten it."""
    scene.server.on("GET", scene.permission(MEG), answer(LIMIT, 403, retry_after=_after(86_400)))
    hers = await scene.deliver(comment_payload("@bot first", MEG, comment_id=501))
    await scene.settle()
    assert (await scene.delivery(hers)).state is DeliveryState.IGNORED
    assert (await scene.delivery(hers)).reason.startswith("the role could not be read within 120 minutes")
