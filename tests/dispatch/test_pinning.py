"""Which comment a pin means, and what stands in the index afterwards."""

from __future__ import annotations

from typing import Any

import pytest
from sqlmodel import select

from bot.dispatch import pinning, pins
from bot.dispatch.commands import Command
from bot.errors import NotFound, UserError
from bot.model.thread import Comment
from bot.publish import Redactor, Speaker
from bot.store import Session, Store, threads
from bot.store.tables import CommentVersion, Outbox, Pin
from tests import rows
from tests.dispatch.scene import REPO, SAM, acceptance, client_of, comment, event
from tests.github.fake import FakeClock, FakeGitHub, answer, comment_json
from tests.rows import ANA, NOW

SITE = "https://github.test/acme/widgets"
SPEAKER = Speaker(Redactor([]), FakeClock(NOW))


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        (f"{SITE}/issues/1#issuecomment-77", ("comment", 77)),
        (f"{SITE}/pull/1#issuecomment-77", ("comment", 77)),
        (f"{SITE}/issues/1/#issuecomment-77", ("comment", 77)),
        ("https://github.test/ACME/Widgets/issues/1?x=1#issuecomment-77", ("comment", 77)),
        (f"{SITE}/issues/2#issuecomment-77", "another thread"),
        (f"{SITE}/issues/11#issuecomment-77", "another thread"),
        ("https://github.test/acme/gadgets/issues/1#issuecomment-77", "another thread"),
        (f"{SITE}/issues/1", "no link to a comment"),
        (f"{SITE}/issues/1#issuecomment-", "no link to a comment"),
        (f"{SITE}/pull/1#discussion_r77", ("review_comment", 77)),
        (f"{SITE}/pull/1#pullrequestreview-77", ("review", 77)),
        (f"{SITE}/pull/2#discussion_r77", "another thread"),
        (f"{SITE}/pull/1#discussion-77", "no link to a comment"),
        (f"{SITE}/issues/1#issuecomment-77x", "no link to a comment"),
    ],
)
def test_a_link_to_a_comment_of_this_thread(link: str, expected: tuple[str, int] | str) -> None:
    """By path and fragment, in any case; every other link is refused with the reason."""
    if isinstance(expected, tuple):
        assert pinning.comment_of(link, "acme/widgets", 1) == expected
        return
    with pytest.raises(UserError) as refused:
        pinning.comment_of(link, "acme/widgets", 1)
    assert (refused.value.code, expected in refused.value.message) == ("pin_refused", True)


def at(comment_id: int, minute: int, **more: Any) -> dict[str, Any]:
    time = f"2026-11-03T11:{minute:02}:00Z"
    url = f"{SITE}/issues/1#issuecomment-{comment_id}"
    return comment_json(comment_id, **{"created_at": time, "updated_at": time, "html_url": url} | more)


async def chosen(store: Store, server: FakeGitHub, command: Command, count: int = 1) -> Comment:
    about = event("@bot pin")
    object.__setattr__(about.issue, "comment_count", count)
    held = await store.write(lambda s: acceptance(s, about))
    return await pinning.chosen(command, held, client_of(server))


async def test_with_text_it_is_the_asking_comment(store: Store) -> None:
    """Nothing is read for that; an issue's body is refused: agents see it anyway."""
    server = FakeGitHub()
    assert (await chosen(store, server, Command("builtin", "pin", {}, "keep this"))).id == 501
    assert server.requests == []


async def test_alone_it_is_the_comment_before(store: Store) -> None:
    """The newest earlier one that is not hidden; not the asking one, not later ones; pages back where it must."""
    server = FakeGitHub()
    path = f"{REPO}/issues/1/comments"

    def page(request: Any) -> Any:
        if request.url.params["page"] == "2":
            return answer([at(499, 58), at(500, 59), at(501, 59) | {"created_at": "2026-11-03T12:00:00Z"}])
        return answer([at(301, 1), at(303, 3), at(302, 2), at(304, 4, minimized={"reason": "spam"})])

    server.on("GET", path, page)
    assert (await chosen(store, server, Command("builtin", "pin"), count=101)).id == 500
    server.on("GET", path, answer([at(500, 30), comment_json(501, created_at="2026-11-03T12:00:00Z")]))
    assert (await chosen(store, server, Command("builtin", "pin"))).id == 500
    server.on("GET", path, lambda r: answer([]) if r.url.params["page"] == "2" else page(r))
    assert (await chosen(store, server, Command("builtin", "pin"), count=101)).id == 303
    server.on("GET", path, answer([comment_json(501, created_at="2026-11-03T12:00:00Z")]))
    with pytest.raises(UserError, match="no comment before yours"):
        await chosen(store, server, Command("builtin", "pin"))


async def test_a_thread_that_is_shorter_than_was_told(store: Store) -> None:
    """Comments were deleted since: the next page looked at is the last there is."""
    server = FakeGitHub()

    def page(request: Any) -> Any:
        if request.url.params["page"] == "1":
            return answer([at(400, 30)])
        return answer([], link=f'<{request.url.copy_set_param("page", 1)}>; rel="last"')

    server.on("GET", f"{REPO}/issues/1/comments", page)
    assert (await chosen(store, server, Command("builtin", "pin"), count=450)).id == 400
    assert [request.url.params["page"] for request in server.sent()] == ["5", "1"]


async def test_a_linked_comment_is_read_and_must_stand_here(store: Store) -> None:
    """The address in the link is what somebody typed; the comment's own counts."""
    server = FakeGitHub()
    command = Command("builtin", "pin", {"link": f"{SITE}/issues/1#issuecomment-77"})
    with pytest.raises(UserError, match="no such comment any more"):
        await chosen(store, server, command)
    server.on("GET", f"{REPO}/issues/comments/77", answer(at(77, 1, html_url=f"{SITE}/issues/2#issuecomment-77")))
    with pytest.raises(UserError, match="another thread"):
        await chosen(store, server, command)
    server.on("GET", f"{REPO}/issues/comments/77", answer(at(77, 1)))
    assert (await chosen(store, server, command)).body == "comment 77"
    server.on("GET", f"{REPO}/issues/1/comments", answer({}, 404))
    with pytest.raises(NotFound):
        await chosen(store, server, Command("builtin", "pin"))


async def pin(store: Store, what: Comment) -> bool:
    def work(session: Session) -> bool:
        return pins.pin(session, rows.thread(session), what, ANA, "write", SPEAKER, "@bot", NOW)

    return await store.write(work)


async def unpin(store: Store, **params: str) -> None:
    command = Command("builtin", "unpin", params)
    await store.write(lambda s: pinning.unpin(s, rows.thread(s), command, "@bot", SPEAKER))


async def index(store: Store) -> str:
    (row,) = await store.read(lambda s: s.exec(select(Outbox)).all())
    return row.body


async def test_a_pin_keeps_text_and_pinner_and_shows_in_the_index(store: Store) -> None:
    """Once; the pinner's role is kept with it."""
    assert await pin(store, comment(77, "keep 3.9", SAM)) is True
    assert await pin(store, comment(77, "keep 3.9", SAM)) is False
    (row,) = await store.read(lambda s: s.exec(select(Pin)).all())
    assert (row.comment_id, row.pinned_by, row.pinned_by_role, row.native) == (77, "ana", "write", False)
    assert "keep 3" in await index(store)
    assert len(await store.read(lambda s: s.exec(select(CommentVersion)).all())) == 1


async def test_unpin_by_number_or_link(store: Store) -> None:
    """Numbers are those of the index; GitHub's own pins have none and are named as such."""
    for number in (77, 78, 79):
        await pin(store, comment(number, f"text of {number}"))

    def native(session: Session) -> None:
        where = rows.thread(session)
        threads.pin(session, where.id, 70, {"id": 70}, by_id=1, by="meg", role=None, when=NOW, native=True)

    await unpin(store, number="2")
    assert "text of 78" not in await index(store)
    await unpin(store, link=f"{SITE}/issues/1#issuecomment-79")
    left = await store.read(lambda s: [p.comment_id for p in s.exec(select(Pin))])
    assert left == [77]
    for params, words in (
        ({"number": "2"}, "no pin 2 here"),
        ({"number": "0"}, "no pin 0 here"),
        ({"link": f"{SITE}/issues/1#issuecomment-78"}, "not pinned here"),
        ({"link": f"{SITE}/issues/9#issuecomment-77"}, "another thread"),
    ):
        with pytest.raises(UserError, match=words):
            await unpin(store, **params)
