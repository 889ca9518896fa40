"""Reading, writing and changing one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.steps.tools import files
from bot.steps.tools.files import READ_MAX, WRITE_MAX, edit_file, read_file, write_file
from bot.steps.tools.root import Refused, Root


async def read(folder: Path, path: str, **more: Any) -> str:
    """What the model is told of a file."""
    return (await read_file(Root(folder), {"path": path, **more})).text


def lines(*numbers: int) -> str:
    """Lines that say their number."""
    return "".join(f"line {number}\n" for number in numbers)


async def test_a_file_is_told_as_it_is(tmp_path: Path) -> None:
    """White space, CRLF and a missing last newline included."""
    (tmp_path / "x").write_bytes("a\t\r\n\n  ä".encode())
    assert await read(tmp_path, "x") == "a\t\r\n\n  ä"


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"first_line": 3}, lines(3, 4, 5)),
        ({"first_line": 5}, lines(5)),
        ({"lines": 2}, lines(1, 2) + "[… more from line 3; go on with first_line 3 …]"),
        ({"first_line": 2, "lines": 2}, lines(2, 3) + "[… more from line 4; go on with first_line 4 …]"),
        ({"first_line": 4, "lines": 2}, lines(4, 5)),
    ],
)
async def test_parts_of_a_file(tmp_path: Path, more: dict[str, int], text: str) -> None:
    """The mark says where to go on, and is there only where there is more."""
    (tmp_path / "x").write_text(lines(1, 2, 3, 4, 5))
    assert await read(tmp_path, "x", **more) == text


async def test_going_on_by_the_marks_gives_the_whole_file(tmp_path: Path) -> None:
    """Nothing is lost and nothing doubled between two parts."""
    whole = "".join(f"{number} {'x' * (number % 300)}\n" for number in range(2000))
    (tmp_path / "x").write_text(whole)
    got, first = "", 1
    while True:
        text = await read(tmp_path, "x", first_line=first)
        head, mark, rest = text.rpartition("[… more from line ")
        if not mark:
            break
        assert len(head.encode()) <= READ_MAX
        got, first = got + head, int(rest.partition(";")[0])
    assert got + text == whole
    assert first > 1


async def test_a_line_without_end_is_cut_with_a_mark(tmp_path: Path) -> None:
    """And does not hide what follows it."""
    (tmp_path / "x").write_text("a" * (READ_MAX + 5) + "\nnext\n")
    text = await read(tmp_path, "x")
    assert text.startswith("aaa")
    assert text.endswith("line 1 is longer than 65,536 bytes and cut; go on with first_line 2 …]")
    assert await read(tmp_path, "x", first_line=2) == "next\n"


async def test_nothing_and_beyond_the_end(tmp_path: Path) -> None:
    """An empty file is told to be one; a line that is not there is refused with the last one."""
    (tmp_path / "x").write_text("")
    assert await read(tmp_path, "x") == "[`x` is empty]"
    (tmp_path / "x").write_text("one\n")
    with pytest.raises(Refused, match="no line 7"):
        await read(tmp_path, "x", first_line=7)


async def test_a_binary_file_is_told_to_be_one(tmp_path: Path) -> None:
    """Its bytes are of no use to a model."""
    (tmp_path / "x").write_bytes(b"\x7fELF\0\0")
    with pytest.raises(Refused, match="binary file of 6 bytes"):
        await read(tmp_path, "x")


async def test_what_is_no_utf8_is_shown_as_far_as_it_goes(tmp_path: Path) -> None:
    """Latin-1 in an old file."""
    (tmp_path / "x").write_bytes(b"caf\xe9\n")
    assert await read(tmp_path, "x") == "caf�\n"


async def test_a_line_far_behind_is_not_looked_for_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Passing over bytes is bounded too."""
    monkeypatch.setattr(files, "SCAN_MAX", 1000)
    (tmp_path / "x").write_text("a" * 99 + "\n")
    (tmp_path / "y").write_text(("a" * 99 + "\n") * 100)
    with pytest.raises(Refused, match="behind the first"):
        await read(tmp_path, "y", first_line=50)


async def test_a_file_is_written_whole(tmp_path: Path) -> None:
    """The answer says which of the two it was."""
    root = Root(tmp_path)
    made = await write_file(root, {"path": "a/b.txt", "content": "ä\r\n"})
    assert (tmp_path / "a/b.txt").read_bytes() == "ä\r\n".encode()
    assert "was made: 4 bytes" in made.text
    replaced = await write_file(root, {"path": "a/b.txt", "content": ""})
    assert (tmp_path / "a/b.txt").read_bytes() == b""
    assert "was replaced: 0 bytes" in replaced.text


async def test_too_much_is_not_written(tmp_path: Path) -> None:
    """Not even in part."""
    with pytest.raises(Refused, match="more than a file may have"):
        await write_file(Root(tmp_path), {"path": "x", "content": "ä" * WRITE_MAX})
    assert list(tmp_path.iterdir()) == []


async def edit(folder: Path, text: str, old: str, new: str, **more: Any) -> str:
    """What the file holds after the change."""
    (folder / "x").write_bytes(text.encode())
    await edit_file(Root(folder), {"path": "x", "old": old, "new": new, **more})
    return (folder / "x").read_bytes().decode()


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("a b c", "b", "B", "a B c"),
        ("a\r\nb\r\n", "a\r\nb", "c", "c\r\n"),
        ("a b", " b", "", "a"),
        ("$1 \\1 {0}", "\\1", "\\g<0>$&", "$1 \\g<0>$& {0}"),
    ],
)
async def test_a_piece_is_replaced_as_it_is(tmp_path: Path, text: str, old: str, new: str, after: str) -> None:
    """Nothing in it is a pattern."""
    assert await edit(tmp_path, text, old, new) == after


async def test_a_piece_everywhere(tmp_path: Path) -> None:
    """Only where that was asked for."""
    assert await edit(tmp_path, "a a a", "a", "b", every=True) == "b b b"
    with pytest.raises(Refused, match="3 times"):
        await edit(tmp_path, "a a a", "a", "b")
    assert (tmp_path / "x").read_text() == "a a a"


@pytest.mark.parametrize(
    ("content", "old", "words"),
    [
        (b"a\r\nb", "a\nb", "CRLF"),
        (b"a", "z", "does not stand"),
        (b"a", "b", "the same"),
        (b"a\0", "a", "binary"),
        (b"caf\xe9", "c", "no UTF-8"),
        (b"a" * (WRITE_MAX + 1), "b", "larger than"),
    ],
)
async def test_what_cannot_be_changed_says_why(tmp_path: Path, content: bytes, old: str, words: str) -> None:
    """And stays as it was."""
    (tmp_path / "x").write_bytes(content)
    new = old if words == "the same" else "new"
    with pytest.raises(Refused, match=words):
        await edit_file(Root(tmp_path), {"path": "x", "old": old, "new": new})
    assert (tmp_path / "x").read_bytes() == content


async def test_a_change_does_not_outgrow_a_file(tmp_path: Path) -> None:
    """The result is bounded like a written file."""
    (tmp_path / "x").write_text("a" * 2000)
    with pytest.raises(Refused, match="more than a file may have"):
        await edit_file(Root(tmp_path), {"path": "x", "old": "a", "new": "b" * 1000, "every": True})
    assert (tmp_path / "x").read_text() == "a" * 2000
