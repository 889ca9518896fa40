"""Folders in any state."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bot.workspace.folder import discard, fingerprint


async def test_a_tree_deeper_than_any_stack_goes(tmp_path: Path) -> None:
    """Fifteen hundred folders, each in the one before."""
    root = tmp_path / "root"
    root.mkdir()
    here = os.open(root, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("deep-folder", dir_fd=here)
        inner = os.open("deep-folder", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    await discard(root)
    assert not root.exists()


async def test_links_are_removed_not_followed(tmp_path: Path) -> None:
    keep = tmp_path / "keep"
    keep.mkdir()
    (keep / "file").write_text("x")
    root = tmp_path / "root"
    root.mkdir()
    (root / "inside").symlink_to(keep)
    await discard(root)
    (tmp_path / "itself").symlink_to(keep)
    await discard(tmp_path / "itself")
    await discard(tmp_path / "absent")
    assert [p.name for p in tmp_path.iterdir()] == ["keep"]
    assert (keep / "file").exists()


async def test_a_folder_closed_to_its_owner_goes(tmp_path: Path) -> None:
    closed = tmp_path / "root" / "closed"
    closed.mkdir(parents=True)
    (closed / "file").write_text("x")
    closed.chmod(0)
    await discard(tmp_path / "root")
    assert not (tmp_path / "root").exists()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "sub").mkdir(parents=True)
    (root / "index").write_text("x")
    (root / "sub" / "file").write_text("same")
    return root


def test_a_fingerprint_stays_without_a_change(tree: Path) -> None:
    before = fingerprint(tree, without={"index"})
    (tree / "index").write_text("other")
    assert fingerprint(tree, without={"index"}) == before != ""


@pytest.mark.parametrize("change", ["content", "new", "gone", "link", "mode", "inner index"])
def test_a_fingerprint_changes_with(tree: Path, change: str) -> None:
    """Also where size and modification time are put back."""
    before = fingerprint(tree, without={"index"})
    file = tree / "sub" / "file"
    times = file.stat()
    match change:
        case "content":
            file.write_text("evil")
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        case "new":
            (tree / "hooks").mkdir()
        case "gone":
            file.unlink()
        case "link":
            file.unlink()
            file.symlink_to("/etc/passwd")
        case "mode":
            (tree / "sub").chmod(0o777)
        case _:
            (tree / "sub" / "index").write_text("x")
    assert fingerprint(tree, without={"index"}) not in ("", before)


def test_what_is_no_folder_has_none(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tree)
    assert fingerprint(tmp_path / "link") == fingerprint(tree / "index") == fingerprint(tmp_path / "absent") == ""
