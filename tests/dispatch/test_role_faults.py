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
    "a limit of an hour": answer(LIMIT, 429, retry_after="3600"),
    "a limit until tomorrow as a date": answer(LIMIT, 403, retry_after=_after(86_400)),
    "nothing left of the hour": answer(
        {"message": "API rate limit exceeded"}, 403,
        x_ratelimit_remaining="0", x_ratelimit_reset=str(int(NOW.timestamp()) + 3000),
    ),
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
    "a limit with a time": answer(LIMIT, 429, retry_after="60"),
    "a limit with a date": answer(LIMIT, 403, retry_after=_after(60)),
    "a limit with a time that has passed": answer(LIMIT, 429, retry_after=_after(-60)),
    "a limit without a time": answer(LIMIT, 403),
    "too many requests without a word": httpx.Response(429),
    "no JSON": httpx.Response(200, text="{"),
    "a page": httpx.Response(200, text="<html>admin</html>"),
    "nothing": httpx.Response(200),
    "a list": answer(["admin"]),
    "a bare word": answer("admin"),
}


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


@pytest.mark.parametrize("name", PASSING)
async def test_a_yes_that_comes_late_takes_its_place_then(scene: Scene, name: str) -> None:
    """It counts, behind what was accepted meanwhile."""
    fault = PASSING[name]
    # each look asks up to four times before it gives up
    scene.server.on("GET", scene.permission(MEG), *[fault] * 4, role_answer("maintain"))
    hers = await scene.deliver(comment_payload("@bot first", MEG, comment_id=501))
    behind = await scene.deliver(comment_payload("@bot second", ANA, comment_id=502))
    await scene.settle()
    assert await scene.became(behind) == (PLANNED, "")
    await ended(scene, hers)
    assert await scene.became(hers) == (PLANNED, "")
    assert [(one.actor, one.sequence) for one in await scene.dispatched()] == [("ana", 1), ("meg", 2)]
