"""A marker names its slot to us and to nobody else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.model.slot import Slot
from bot.publish.marker import ROOM, Mark, Marker, shown_digest, strip

KEY, OLD = b"k" * 32, b"o" * 32
SLOT = Slot("run/01JX", "result", step="triage")
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="|"), max_size=30)
SLOTS = st.builds(Slot, WORDS, WORDS, frame=WORDS, step=WORDS, iteration=st.integers(0, 99), part=st.integers(0, 9))


def sign(body: str, slot: Slot = SLOT, key: bytes = KEY) -> str:
    return Marker([key]).sign(body, repository_id=5, thread=7, slot=slot)


def find(body: str, repository_id: int = 5, thread: int = 7) -> Mark | None:
    return Marker([KEY, OLD]).find(body, repository_id=repository_id, thread=thread)


@given(body=st.text(), slot=SLOTS)
def test_what_was_signed_is_found_intact(body: str, slot: Slot) -> None:
    """Any text and any slot; GitHub's line ends and trimmed spaces change nothing."""
    signed = sign(body, slot)
    for seen in (signed, signed.replace("\r\n", "\n").replace("\n", "\r\n"), f"  {signed}\n"):
        mark = find(seen)
        assert mark is not None
        assert (mark.slot, mark.intact, mark.digest) == (slot, True, shown_digest(strip(body)))


@given(slot=SLOTS)
def test_nothing_ends_the_hidden_line(slot: Slot) -> None:
    """A slot's name can neither close the comment nor break the line."""
    line = sign("hello", slot).removeprefix("hello\n\n")
    assert line.startswith("<!-- ")
    assert line.index("-->") == len(line) - 3
    assert "--" not in line[4:-3]
    assert "\n" not in line


def test_an_edit_of_the_visible_text_is_noticed_and_survived() -> None:
    """The slot is still known; `intact` says that a person changed the text."""
    mark = find(sign("before").replace("before", "after"))
    assert mark is not None
    assert mark.slot == SLOT
    assert not mark.intact


def test_text_added_behind_the_marker_is_an_edit() -> None:
    """A person who writes at the end of our comment."""
    mark = find(sign("before") + "\n\nPS: me too")
    assert mark is not None
    assert not mark.intact


@pytest.mark.parametrize(("repository_id", "thread"), [(6, 7), (5, 8), (57, 0)])
def test_a_copy_elsewhere_is_worthless(repository_id: int, thread: int) -> None:
    """The signature stands on repository and thread."""
    assert find(sign("hello"), repository_id, thread) is None


@pytest.mark.parametrize("piece", ["triage", "digest=", "signature="])
def test_a_changed_marker_is_worthless(piece: str) -> None:
    """Slot, digest and signature are all signed."""
    signed = sign("hello")
    place = signed.index(piece) + len(piece)
    old = signed[place]
    new = "0" if old != "0" else "1"
    assert find(signed[:place] + new + signed[place + 1 :]) is None


def test_keys_rotate() -> None:
    """The first key signs, all verify; a key that is gone verifies nothing."""
    assert find(sign("hello", key=OLD)) is not None
    assert find(sign("hello", key=b"x" * 32)) is None
    assert Marker([KEY, OLD]).sign("a", repository_id=5, thread=7, slot=SLOT) == sign("a")


def test_keys_are_required() -> None:
    """An empty key would sign for everybody."""
    for keys in ([], [b""], [KEY, b""]):
        with pytest.raises(ValueError, match="key"):
            Marker(keys)


def test_signing_again_replaces_the_marker() -> None:
    """An edited comment has one marker, the new one."""
    again = sign(sign("hello"), Slot("run/2", "result"))
    assert again == sign("hello", Slot("run/2", "result"))
    assert strip(again) == "hello"


def test_the_last_marker_counts() -> None:
    """One that is quoted in the text above is not the comment's own."""
    body = f"look:\n\n{sign('x', Slot('run/old', 'result'))}\n\nthere"
    mark = find(sign(body))
    assert mark is not None
    assert mark.slot == SLOT
    assert mark.intact


def test_text_without_a_marker() -> None:
    """Nothing is found where nothing is, or where it stands inside a line."""
    assert find("") is None
    assert find("hello <!-- threadsmith -->") is None
    line = sign("a").splitlines()[-1]
    assert find(f"see {line}") is None


def test_a_marker_fits_its_room() -> None:
    """The splitter keeps this much free."""
    slot = Slot(f"run/{'0' * 26}", "configuration", frame="/" + "step[key]#12/" * 12, step="s" * 64)
    assert len(sign("a", slot)) < ROOM
