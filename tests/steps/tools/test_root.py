"""Nothing leaves the workspace: not by a path, not by a link, not by a race."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.steps.tools import root as room
from bot.steps.tools.root import Refused, Root, parts_of, put, shown


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace beside a folder with a secret."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("s3cret")
    workspace = tmp_path / "workspace"
    (workspace / "src").mkdir(parents=True)
    (workspace / "src" / "main.py").write_text("print(1)\n")
    return workspace


def read(root: Root, path: str) -> bytes:
    """A file's content through the root."""
    with root.file(parts_of(path)) as descriptor:
        return os.read(descriptor, 1000)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/etc/passwd", "absolute"),
        ("../outside/secret", "`..`"),
        ("src/../../outside/secret", "`..`"),
        ("src/..", "`..`"),
        ("a\0b", "NUL"),
        (".git/config", ".git"),
        ("sub/.GIT/hooks/x", ".git"),
    ],
)
def test_a_path_that_is_none_of_the_workspace_says_why(path: str, words: str) -> None:
    """Before anything is opened."""
    with pytest.raises(Refused, match=words):
        parts_of(path)


@pytest.mark.parametrize("path", ["src/main.py", "./src//main.py", "src/./main.py/"])
def test_ways_to_write_one_path(folder: Path, path: str) -> None:
    """Dots and doubled slashes mean nothing."""
    assert read(Root(folder), path) == b"print(1)\n"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("none", "no `none`"),
        ("src", "is a folder"),
        ("src/main.py/x", "not a folder"),
        ("", "itself"),
        ("x" * 300, "too long"),
    ],
)
def test_what_is_no_file_says_so(folder: Path, path: str, words: str) -> None:
    """In words that a model can act on."""
    with pytest.raises(Refused, match=words):
        read(Root(folder), path)


@pytest.mark.parametrize("target", ["../outside/secret", "/etc/passwd", "src/main.py", "link", "nowhere"])
def test_a_link_is_told_and_not_followed(folder: Path, target: str) -> None:
    """Wherever it leads, also back into the workspace, also to itself."""
    (folder / "link").symlink_to(target)
    with pytest.raises(Refused, match="symbolic link") as refused:
        read(Root(folder), "link")
    assert shown(target) in str(refused.value)


def test_a_linked_folder_is_not_entered(folder: Path) -> None:
    """Neither to read, nor to list, nor to write."""
    (folder / "out").symlink_to("../outside")
    root = Root(folder)
    for act in (
        lambda: read(root, "out/secret"),
        lambda: list(root.walk(("out",), recursive=False)),
        lambda: root.write(("out", "new"), b"x"),
        lambda: root.write(("out", "deep", "new"), b"x"),
    ):
        with pytest.raises(Refused, match="symbolic link"):
            act()
    assert os.listdir(folder.parent / "outside") == ["secret"]


def test_a_write_to_a_link_leaves_its_target_alone(folder: Path) -> None:
    """The link is told; what it names keeps its text."""
    (folder / "link").symlink_to("../outside/secret")
    with pytest.raises(Refused, match="symbolic link"):
        Root(folder).write(("link",), b"mine")
    assert (folder.parent / "outside" / "secret").read_text() == "s3cret"


def test_a_folder_that_is_swapped_for_a_link_leads_nowhere(folder: Path) -> None:
    """A command that runs beside swaps it as fast as it can; nothing outside is ever read or written."""
    real, aside = folder / "a", folder / "b"
    real.mkdir()
    (real / "secret").write_text("inside")
    os.symlink("../outside", aside)
    done = threading.Event()

    def swap() -> None:
        third = folder / "c"
        while not done.is_set():
            real.rename(third)
            aside.rename(real)
            real.rename(aside)
            third.rename(real)

    thread = threading.Thread(target=swap)
    thread.start()
    inside = 0
    try:
        for _ in range(3000):
            try:
                assert read(Root(folder), "a/secret") == b"inside"
                inside += 1
                with Root(folder).folder(("a",)) as descriptor:
                    put(descriptor, ("a", "new"), b"x")
            except Refused:
                pass
    finally:
        done.set()
        thread.join()
    assert inside
    assert os.listdir(folder.parent / "outside") == ["secret"]


def test_a_name_that_becomes_a_link_before_the_rename_is_replaced_itself(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last moment of all: the file is there when it is looked at, and a link when it is put in place."""
    target, rename = folder / "src" / "main.py", os.rename

    def late(*args: object, **more: object) -> None:
        target.unlink()
        target.symlink_to("../../outside/secret")
        rename(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "rename", late)
    assert Root(folder).write(("src", "main.py"), b"new")
    assert (folder.parent / "outside" / "secret").read_text() == "s3cret"
    assert target.read_bytes() == b"new"
    assert not target.is_symlink()


def test_a_pipe_does_not_hold_us_up(folder: Path) -> None:
    """Opening one to read waits for a writer, unless it is opened not to."""
    os.mkfifo(folder / "pipe")
    with pytest.raises(Refused, match="no ordinary file"):
        read(Root(folder), "pipe")
    with pytest.raises(Refused, match="no ordinary file"):
        Root(folder).write(("pipe",), b"x")


def test_writing_makes_folders_and_keeps_the_mode(folder: Path) -> None:
    """An executable stays one; bits that lend rights do not."""
    root = Root(folder)
    assert root.write(("new", "deep", "x.txt"), b"1") is False
    assert stat.S_IMODE((folder / "new/deep/x.txt").stat().st_mode) == 0o644
    script = folder / "run.sh"
    script.write_text("old")
    script.chmod(0o4755)
    assert root.write(("run.sh",), b"new") is True
    assert (script.read_text(), stat.S_IMODE(script.stat().st_mode)) == ("new", 0o755)
    assert sorted(os.listdir(folder)) == ["new", "run.sh", "src"], "no temporary file stays"


def test_a_failed_write_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither half a file nor a temporary one."""

    def full(*_args: object, **_more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(Refused, match="no room left"):
        Root(folder).write(("src", "main.py"), b"new")
    assert (folder / "src" / "main.py").read_text() == "print(1)\n"
    assert os.listdir(folder / "src") == ["main.py"]


def test_a_walk_tells_links_and_stays_out_of_them(folder: Path) -> None:
    """By name, a folder before what is in it, without git's own."""
    (folder / "out").symlink_to("../outside")
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("")
    entries = list(Root(folder).walk((), recursive=True))
    assert [entry.path for entry in entries] == ["out", "src", "src/main.py"]
    assert [(entry.is_link, entry.is_folder, entry.is_file) for entry in entries] == [
        (True, False, False),
        (False, True, False),
        (False, False, True),
    ]
    assert [entry.path for entry in Root(folder).walk((), recursive=False)] == ["out", "src"]


def _descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


def test_no_descriptor_stays_open(folder: Path) -> None:
    """Also where something is refused, and where a walk is left early."""
    root, before = Root(folder), _descriptors()

    def tries() -> Iterator[None]:
        for path in ("none", "src", "src/main.py", "src/main.py/x"):
            try:
                read(root, path)
            except Refused:
                yield
        walk = root.walk((), recursive=True)
        next(walk)
        next(walk)
        walk.close()

    list(tries())
    assert _descriptors() == before


def test_deep_folders_end_somewhere(folder: Path) -> None:
    """A walk holds one descriptor a level."""
    place = folder
    for _ in range(room.DEPTH_MAX + 10):
        place = place / "d"
        place.mkdir()
    paths = [entry.path for entry in Root(folder).walk((), recursive=True)]
    assert max(path.count("/") for path in paths) == room.DEPTH_MAX - 1


@pytest.mark.parametrize(
    ("path", "words"),
    [("ä.py", "ä.py"), ("a\nb", "a\\x0ab"), ("a\x1b[2J", "a\\x1b[2J"), ("a\udcff", "a\\udcff"), ("a`b", "a\\x60b")],
)
def test_names_are_shown_without_what_moves_the_cursor(path: str, words: str) -> None:
    """A name may hold any byte but two."""
    assert shown(path).lower() == words.lower()
