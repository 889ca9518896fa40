"""Output of any length."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from bot.workspace.capture import Capture


def fed(limit: int, *chunks: bytes) -> Capture:
    capture = Capture(limit)
    for chunk in chunks:
        capture.feed(chunk)
    return capture


def test_what_fits_is_whole() -> None:
    """Up to the limit nothing is cut and nothing is marked."""
    capture = fed(10, b"01234", b"56789")
    assert (capture.text(), capture.cut, capture.size) == ("0123456789", 0, 10)


def test_one_byte_more_is_marked() -> None:
    """The mark says how much is missing and of how much."""
    capture = fed(10, b"0123456789a")
    assert capture.text() == "01234\n[… 1 of 11 bytes cut …]\n6789a"


def test_a_head_that_ends_a_line_gets_no_second_one() -> None:
    assert fed(4, b"a\n", b"bcdef").text() == "a\n\n[… 3 of 7 bytes cut …]\nef".replace("\n\n", "\n")


def test_characters_are_not_halved_at_the_cut() -> None:
    """é is two bytes, 🙂 four: what is left of them at the cut counts as cut."""
    text = fed(12, ("a" * 5 + "é" + "x" * 50 + "🙂" + "b" * 3).encode()).text()
    assert text == "aaaaa\n[… 56 of 64 bytes cut …]\nbbb"


def test_binary_is_replaced() -> None:
    assert fed(100, b"\xff\xfe\x00ok").text() == "��\x00ok"


def test_no_room_keeps_nothing_but_counts() -> None:
    capture = fed(0, b"abc")
    assert (capture.raw(), capture.size, capture.cut) == (b"", 3, 3)


def test_memory_stays_flat() -> None:
    """200 MB through a capture of 64 KiB never hold more than a few hundred KiB."""
    chunk = b"x" * 65536
    tracemalloc.start()
    try:
        capture = Capture(65536)
        for _ in range(3200):
            capture.feed(chunk)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert capture.size == 3200 * 65536
    assert peak < 500_000


@given(st.integers(0, 40), st.lists(st.binary(max_size=30)))
def test_head_and_tail_are_the_streams_own(limit: int, chunks: list[bytes]) -> None:
    """However it comes in, the first and last bytes are kept, as many as the limit says."""
    whole = b"".join(chunks)
    capture = fed(limit, *chunks)
    head = limit - limit // 2
    kept = whole if len(whole) <= limit else whole[:head] + whole[len(whole) - limit // 2 :]
    assert capture.raw() == kept
    assert capture.cut == len(whole) - len(kept)


@given(st.integers(0, 40), st.text())
def test_text_never_gains_replacement_characters(limit: int, text: str) -> None:
    """Valid UTF-8 stays valid through a cut."""
    raw = text.encode("utf-8", "replace")
    assert fed(limit, raw).text().count("�") <= raw.decode().count("�")
