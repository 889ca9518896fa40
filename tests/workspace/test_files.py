"""Files of a workspace: nothing outside is read or written, whatever stands in the way."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from bot.workspace.files import Unreadable, read_file, write_file


def test_read(tmp_path: Path) -> None:
    """The whole, or both ends."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b").write_bytes(b"0123456789")
    assert read_file(tmp_path, "a/b", 10).raw() == b"0123456789"
    capture = read_file(tmp_path, "a/b", 5)
    assert (capture.raw(), capture.size, capture.cut) == (b"01289", 10, 5)


def test_write(tmp_path: Path) -> None:
    """A plain file that only we may read, in folders that are made; what was there is replaced."""
    for content in (b"one", b"two"):
        write_file(tmp_path, ".bot/inputs/spec", content)
        file = tmp_path / ".bot/inputs/spec"
        assert file.read_bytes() == content
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / ".bot/inputs").stat().st_mode) == 0o700
    assert os.listdir(tmp_path / ".bot/inputs") == ["spec"]


def test_a_link_in_its_place_is_replaced(tmp_path: Path) -> None:
    """And what it pointed at stays as it was."""
    outside, workspace = tmp_path / "outside", tmp_path / "workspace"
    outside.write_text("mine")
    (workspace / "in").mkdir(parents=True)
    (workspace / "in/spec").symlink_to(outside)
    write_file(workspace, "in/spec", b"new")
    assert (outside.read_text(), (workspace / "in/spec").read_text()) == ("mine", "new")
    assert not (workspace / "in/spec").is_symlink()


@pytest.mark.parametrize("path", ["link/spec", "file/spec", "../spec", "/spec", "folder"])
def test_a_way_out_is_refused(path: str, tmp_path: Path) -> None:
    """A folder that is a link or none at all; a path outside; a folder in the file's place."""
    outside, workspace = tmp_path / "outside", tmp_path / "workspace"
    outside.mkdir()
    workspace.mkdir()
    (workspace / "link").symlink_to(outside)
    (workspace / "file").write_text("x")
    (workspace / "folder").mkdir()
    with pytest.raises(Unreadable):
        write_file(workspace, path, b"new")
    assert os.listdir(outside) == []
    assert sorted(os.listdir(workspace)) == ["file", "folder", "link"]
    assert sorted(os.listdir(tmp_path)) == ["outside", "workspace"]


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    """Neither after success nor after a refusal."""
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/c").write_text("x")
    before = len(os.listdir("/proc/self/fd"))
    read_file(tmp_path, "a/b/c", 9)
    write_file(tmp_path, "a/b/d", b"x")
    for path in ("a/b", "a/none/c", "a/b/c/d", "../a"):
        with pytest.raises(Unreadable):
            read_file(tmp_path, path, 9)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("way", ["link", "file", "folder", "link to a file"])
def test_with_force_nothing_stands_in_the_way(tmp_path: Path, way: str) -> None:
    """Links and files go, a folder is put aside; nothing outside is touched."""
    outside, workspace = tmp_path / "outside", tmp_path / "workspace"
    (outside / "deep").mkdir(parents=True)
    (outside / "deep/spec").write_text("mine")
    (workspace / "in").mkdir(parents=True)
    place = workspace / "in/deep"
    match way:
        case "link":
            place.symlink_to(outside / "deep")
        case "file":
            place.touch()
        case "folder":
            (place / "spec/more").mkdir(parents=True)
        case _:
            place.symlink_to(outside / "deep/spec")
    with pytest.raises(Unreadable):
        write_file(workspace, "in/deep/spec", b"new")
    write_file(workspace, "in/deep/spec", b"new", force=True)
    assert (workspace / "in/deep/spec").read_bytes() == b"new"
    assert (outside / "deep/spec").read_text() == "mine"
