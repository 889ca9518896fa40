"""Identities sort as they were made, and no two lists of parts share a digest."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ulid import ULID

from bot.model import ident
from bot.model.ident import compact, digest, new_id, sort_behind


def test_ids_of_many_threads_are_distinct_and_sort_as_made() -> None:
    """Each thread sees its own in order, and none twice."""
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: [new_id() for _ in range(500)], range(8)))
    assert all(ids == sorted(ids) for ids in made)
    assert len({each for ids in made for each in ids}) == 4000


def test_a_clock_that_is_set_back_does_not_put_a_later_row_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next id is one beyond the last."""
    last = new_id()
    past: Callable[[], ULID] = lambda: ULID.from_timestamp(1_000_000_000)  # noqa: E731  # a stand-in for the class
    past.from_int = ULID.from_int  # type: ignore[attr-defined]  # the only other thing that is used of it
    monkeypatch.setattr(ident, "ULID", past)
    assert last < new_id() < new_id()


def test_ids_go_on_behind_those_of_an_earlier_process() -> None:
    """One that was made when the clock was ahead; an older one changes nothing."""
    ahead = str(ULID.from_int(int(ULID.from_str(new_id())) + 2**90))
    sort_behind(ahead)
    later = new_id()
    assert later > ahead
    sort_behind(str(ULID.from_timestamp(1_000_000_000)))
    assert new_id() > later


@given(st.lists(st.one_of(st.none(), st.text(), st.binary())), st.lists(st.one_of(st.none(), st.text(), st.binary())))
def test_digests_tell_lists_of_parts_apart(one: list[str | bytes | None], other: list[str | bytes | None]) -> None:
    """`ab`, `c` is not `a`, `bc`, and nothing is not the empty text."""

    def raw(parts: list[str | bytes | None]) -> list[bytes | None]:
        return [part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part for part in parts]

    assert (digest(*one) == digest(*other)) == (raw(one) == raw(other))


def test_compact_json_keeps_order_and_letters() -> None:
    """No spaces, no escapes."""
    assert compact({"b": [1, "ä"], "a": None}) == '{"b":[1,"ä"],"a":null}'
