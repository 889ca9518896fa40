"""Comments by version, pins, purge."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bot.model.thread import Comment
from bot.store import Store, threads
from tests import rows

from .conftest import NOW

COMMENT = Comment(id=5, author=rows.ANA, body="first", created_at=NOW, updated_at=NOW, url="u")


async def test_every_text_is_kept_once(store: Store) -> None:
    """Told twice is one version; an edit, even in the same second, is another."""
    where = await store.write(rows.thread)
    for comment in (COMMENT, COMMENT, replace(COMMENT, body="second")):
        await store.write(lambda s, c=comment: threads.remember(s, where.id, c, NOW))  # type: ignore[misc]  # mypy cannot infer the lambda's default
    assert [v.body for v in await store.read(lambda s: threads.versions(s, where.id))] == ["first", "second"]


async def test_a_deleted_comment_leaves_no_text_and_no_pin(store: Store) -> None:
    """Purged at once; the fact of it stays."""
    where = await store.write(rows.thread)
    await store.write(lambda s: threads.remember(s, where.id, COMMENT, NOW))
    await store.write(
        lambda s: threads.pin(s, where.id, 5, {"body": "first"}, by_id=1, by="ana", role="write", when=NOW)
    )
    gone = NOW + timedelta(minutes=1)
    await store.write(lambda s: threads.forget(s, where.id, COMMENT, gone))
    versions = await store.read(lambda s: threads.versions(s, where.id))
    assert [(v.body, v.deleted_at) for v in versions] == [("", gone)]
    assert await store.read(lambda s: threads.pins(s, where.id)) == []


async def test_pinning_twice_is_one_pin_and_native_is_another(store: Store) -> None:
    """The bot's pins and GitHub's own are told apart; taking one away leaves the other."""
    where = await store.write(rows.thread)

    async def pin(native: bool) -> bool:
        return await store.write(
            lambda s: threads.pin(s, where.id, 5, {}, by_id=1, by="ana", role="write", when=NOW, native=native)
        )

    assert [await pin(False), await pin(False), await pin(True)] == [True, False, True]
    assert await store.write(lambda s: threads.unpin(s, where.id, 5))
    assert not await store.write(lambda s: threads.unpin(s, where.id, 5))
    assert [p.native for p in await store.read(lambda s: threads.pins(s, where.id))] == [True]


async def test_a_renamed_repository_keeps_its_threads(store: Store) -> None:
    """Numeric ids are the key; the name is brought up to date."""
    before = await store.write(rows.thread)
    renamed = replace(rows.REPOSITORY, name="gadgets")
    after = await store.write(lambda s: threads.ensure(s, renamed, rows.issue(), 78))
    assert (after.id, after.name, after.installation_id) == (before.id, "gadgets", 78)
