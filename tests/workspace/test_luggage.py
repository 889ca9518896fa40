"""What steps left in a clone, packed and unpacked: the same again, and nothing through a link."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from bot.workspace import luggage
from bot.workspace.luggage import TooMuch, mark_of, pack, unpack


def tree(root: Path) -> dict[str, object]:
    """Everything below, with kind, mode and content."""
    found: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))
        elif path.is_dir():
            found[name] = "folder"
        elif path.is_file():
            found[name] = (stat.S_IMODE(path.stat().st_mode), path.read_bytes())
    return found


def filled(root: Path) -> Path:
    """A clone with a commit's file, what is ours, and all sorts of things beside them."""
    for folder in (".git", ".bot", "src", "out/deep", "empty"):
        (root / folder).mkdir(parents=True)
    for name in (".git/HEAD", ".bot/run.json", "src/app.py", "src/new.py", "out/deep/a b\n\u00e9", "top"):
        (root / name).write_text(name)
    (root / os.fsdecode(b"odd\xff")).write_bytes(b"\0\xff")
    (root / "tool").write_text("#!/bin/sh\n")
    (root / "tool").chmod(0o755)
    (root / "link").symlink_to("/nowhere/at all")
    os.mkfifo(root / "pipe")
    return root


TRACKED = {"src/app.py"}


def test_the_same_again(tmp_path: Path) -> None:
    """Files, links, modes, empty folders and odd names; not the commit's own, not ours, and no pipe."""
    made = filled(tmp_path / "one")
    other = tmp_path / "two"
    (other / "src").mkdir(parents=True)
    (other / "src/app.py").write_text("its own")
    unpack(other, pack(made, TRACKED))
    wanted = tree(made)
    for name in (".git", ".git/HEAD", ".bot", ".bot/run.json"):
        del wanted[name]
    wanted["src/app.py"] = (stat.S_IMODE((other / "src/app.py").stat().st_mode), b"its own")
    assert tree(other) == wanted


def test_one_state_is_one_mark(tmp_path: Path) -> None:
    """Each change is another; what is the commit's or ours counts for nothing, and nothing is nothing."""
    made = filled(tmp_path / "one")
    marks = [mark_of(made, TRACKED)]
    (made / "src/app.py").write_text("changed")
    (made / ".bot/run.json").write_text("changed")
    assert mark_of(made, TRACKED) == marks[0]
    for change in (
        lambda: (made / "top").write_text("other"),
        lambda: (made / "tool").chmod(0o644),
        lambda: (made / "empty").rmdir(),
        lambda: (made / "link").unlink(),
    ):
        change()
        marks.append(mark_of(made, TRACKED))
    assert len(set(marks)) == len(marks)
    (tmp_path / "bare" / ".git").mkdir(parents=True)
    assert mark_of(tmp_path / "bare", TRACKED) == ""


def test_the_same_bytes_for_the_same_files(tmp_path: Path) -> None:
    """What did not change is one blob."""
    made = filled(tmp_path / "one")
    assert pack(made, TRACKED) == pack(made, TRACKED)


def test_nothing_leads_out(tmp_path: Path) -> None:
    """A link is carried as a link, not what it leads to; where the commit has a link, nothing goes through it."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("key")
    made = tmp_path / "one"
    (made / "a").mkdir(parents=True)
    (made / "a/x").write_text("x")
    (made / "b").symlink_to(secret)
    data = pack(made, set())
    other = tmp_path / "two"
    other.mkdir()
    (other / "a").symlink_to(secret)
    unpack(other, data)
    assert sorted(os.listdir(secret)) == ["key"]
    assert (other / "b").is_symlink()


@pytest.mark.parametrize(("most_bytes", "most_entries"), [(9, 100), (100, 2)])
def test_too_much_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_bytes: int, most_entries: int) -> None:
    """By bytes of all files together, and by their number."""
    monkeypatch.setattr(luggage, "MOST_BYTES", most_bytes)
    monkeypatch.setattr(luggage, "MOST_ENTRIES", most_entries)
    for name in ("a", "b"):
        (tmp_path / name).write_text("12345")
    if most_bytes >= 10:
        pack(tmp_path, set())
    (tmp_path / "c").write_text("")
    with pytest.raises(TooMuch):
        pack(tmp_path, set())


def test_what_may_not_be_read_is_left(tmp_path: Path) -> None:
    """A child may have made it so; the rest is carried. (Root may read everything.)"""
    made = tmp_path / "one"
    made.mkdir()
    for name in ("closed", "open"):
        (made / name).write_text(name)
    (made / "closed").chmod(0)
    other = tmp_path / "two"
    other.mkdir()
    unpack(other, pack(made, set()))
    assert "open" in tree(other)
    assert ("closed" in tree(other)) == (os.geteuid() == 0)
