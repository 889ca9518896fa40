"""Listing and searching many files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from bot.steps.tools import folders
from bot.steps.tools.folders import list_files, search_files
from bot.steps.tools.root import Refused, Root


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small workspace."""
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "a.py").write_text("import os\nSEEK: one\n")
    (tmp_path / "src" / "deep" / "b.py").write_text("seek: two\r\n")
    (tmp_path / "notes.md").write_text("SEEK: three")
    (tmp_path / "data.bin").write_bytes(b"SEEK\0")
    (tmp_path / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("SEEK")
    return tmp_path


async def listed(folder: Path, **arguments: Any) -> list[str]:
    """The lines of a listing."""
    return (await list_files(Root(folder), arguments)).text.splitlines()


async def found(folder: Path, text: str, **arguments: Any) -> list[str]:
    """The lines of a search."""
    return (await search_files(Root(folder), {"text": text, **arguments})).text.splitlines()


async def test_a_folder_is_listed(folder: Path) -> None:
    """Sizes of files, targets of links, and nothing of git's."""
    assert await listed(folder) == [
        "data.bin (5 bytes)",
        "link -> /etc/passwd",
        "notes.md (11 bytes)",
        "pipe (no ordinary file)",
        "src/",
    ]
    assert await listed(folder, path="src", recursive=True) == [
        "src/a.py (20 bytes)",
        "src/deep/",
        "src/deep/b.py (11 bytes)",
    ]


async def test_what_is_no_folder_and_what_is_empty(folder: Path) -> None:
    """Told apart."""
    (folder / "empty").mkdir()
    assert await listed(folder, path="empty") == ["[the folder is empty]"]
    with pytest.raises(Refused, match="not a folder"):
        await listed(folder, path="notes.md")
    with pytest.raises(Refused, match="no `none`"):
        await listed(folder, path="none")


async def test_a_long_listing_is_cut_with_a_mark(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mark says that there is more."""
    monkeypatch.setattr(folders, "LISTED_MAX", 3)
    lines = await listed(folder, recursive=True)
    assert len(lines) == 4
    assert "more than 3 entries" in lines[-1]
    monkeypatch.setattr(folders, "LISTED_MAX", 8)
    assert "more than" not in (await listed(folder, recursive=True))[-1]


async def test_lines_that_hold_a_text_are_found(folder: Path) -> None:
    """In text files, by path and number; not in binary ones, nor through links, pipes or git's own."""
    assert await found(folder, "SEEK") == ["notes.md:1: SEEK: three", "src/a.py:2: SEEK: one"]
    assert await found(folder, "seek", ignore_case=True) == [
        "notes.md:1: SEEK: three",
        "src/a.py:2: SEEK: one",
        "src/deep/b.py:1: seek: two",
    ]


@pytest.mark.parametrize(
    ("where", "lines"),
    [
        ({"path": "src"}, ["src/a.py:2: SEEK: one"]),
        ({"path": "notes.md"}, ["notes.md:1: SEEK: three"]),
        ({"files": "*.md"}, ["notes.md:1: SEEK: three"]),
        ({"path": "src", "files": "*.md"}, ["[no line has it]"]),
    ],
)
async def test_a_search_within(folder: Path, where: dict[str, str], lines: list[str]) -> None:
    """One file, one folder, some names."""
    assert await found(folder, "SEEK", **where) == lines


@pytest.mark.parametrize("text", [".*", "$", "(one", "[a-z]+"])
async def test_a_text_is_no_pattern(folder: Path, text: str) -> None:
    """It is looked for as it is."""
    (folder / "p").write_text(f"x\n<{text}>\n")
    assert await found(folder, text) == [f"p:2: <{text}>"]


@pytest.mark.parametrize(
    ("path", "words"), [("link", "symbolic link"), ("none", "no `none`"), ("pipe", "not a folder")]
)
async def test_what_cannot_be_searched_says_why(folder: Path, path: str, words: str) -> None:
    """A link is not followed here either."""
    with pytest.raises(Refused, match=words):
        await found(folder, "root", path=path)


async def test_a_text_over_lines_is_refused(folder: Path) -> None:
    """Rather than never found."""
    with pytest.raises(Refused, match="one by one"):
        await found(folder, "a\nb")


async def test_all_that_is_left_out_is_marked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many lines, too long a line, too large a file, too much in all."""
    (folder / "many").write_text("hit\n" * 5)
    monkeypatch.setattr(folders, "FOUND_MAX", 5)
    assert len(await found(folder, "hit")) == 5
    (folder / "more").write_text("hit\n")
    lines = await found(folder, "hit")
    assert len(lines) == 6
    assert "more than 5 lines" in lines[-1]
    (folder / "long").write_text("lone" + "x" * 1000)
    assert (await found(folder, "lone"))[0].endswith("x […]")
    monkeypatch.setattr(folders, "FILE_MAX", 100)
    assert "1 file above 100 bytes left out" in (await found(folder, "lone"))[-1]
    monkeypatch.setattr(folders, "FILE_MAX", 10_000)
    monkeypatch.setattr(folders, "TOTAL_MAX", 5)
    assert "took too long" in (await found(folder, "hit"))[-1]
    monkeypatch.setattr(folders, "TOTAL_MAX", 10**9)
    monkeypatch.setattr(folders, "SECONDS_MAX", -1.0)
    assert "took too long" in (await found(folder, "hit"))[-1]
