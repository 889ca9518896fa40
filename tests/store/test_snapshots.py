"""Configuration snapshots and bytes by digest: kept once, never changed."""

from __future__ import annotations

import hashlib

import pytest
from sqlalchemy.exc import NoResultFound
from sqlmodel import select

from bot.store import Session, Store, snapshots
from bot.store.tables import Blob, Snapshot

from .conftest import NOW


async def test_a_commits_files_are_kept_once(store: Store) -> None:
    """By repository and commit; what was kept first stays, whatever is offered later."""
    first = await store.write(lambda s: snapshots.keep(s, 1, "c0ffee", {"a": "1"}, NOW))
    again = await store.write(lambda s: snapshots.keep(s, 1, "c0ffee", {"a": "2"}, NOW))
    assert (again.id, again.files) == (first.id, {"a": "1"})
    other = await store.write(lambda s: snapshots.keep(s, 2, "c0ffee", {"a": "3"}, NOW))
    newer = await store.write(lambda s: snapshots.keep(s, 1, "decade", {}, NOW))
    assert len({first.id, other.id, newer.id}) == 3
    assert await store.read(lambda s: snapshots.find(s, 1, "nothing")) is None
    found = await store.read(lambda s: snapshots.find(s, 2, "c0ffee"))
    assert found is not None
    assert found.files == {"a": "3"}
    assert len(await store.read(lambda s: s.exec(select(Snapshot)).all())) == 3


async def test_bytes_are_kept_once_by_their_digest(store: Store) -> None:
    """SHA-256; asked for by it; gone ones raise."""
    data = bytes(range(256))
    digest = await store.write(lambda s: snapshots.put_blob(s, data, NOW))
    assert digest == hashlib.sha256(data).hexdigest() == snapshots.digest_of(data)
    assert await store.write(lambda s: snapshots.put_blob(s, data, NOW)) == digest
    assert await store.read(lambda s: snapshots.get_blob(s, digest)) == data
    assert len(await store.read(lambda s: s.exec(select(Blob)).all())) == 1
    with pytest.raises(NoResultFound):
        await store.read(lambda s: snapshots.get_blob(s, "0" * 64))


async def test_a_blob_has_a_bound(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound itself fits."""
    assert snapshots.BLOB_MAX == 64 * 1024 * 1024
    monkeypatch.setattr(snapshots, "BLOB_MAX", 4)
    await store.write(lambda s: snapshots.put_blob(s, b"1234", NOW))
    with pytest.raises(ValueError, match="5 bytes"):
        await store.write(lambda s: snapshots.put_blob(s, b"12345", NOW))


async def test_only_small_blobs_are_read(store: Store) -> None:
    """By their size in bytes; what is not there, or was not asked for, is left out."""

    def work(session: Session) -> list[str]:
        return [snapshots.put_blob(session, data, NOW) for data in (b"1234", "ää".encode(), b"12345", b"1")]

    four, other, five, one = await store.write(work)
    wanted = [four, other, five, "0" * 64]
    found = await store.read(lambda session: snapshots.small_blobs(session, wanted, 4))
    assert found == {four: b"1234", other: "ää".encode()}
    assert one not in found
