"""Which lines of a diff can carry a comment: checked with what git itself writes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.steps.diff import Diff, Hunk, read_diff


def git(where: Path, *argv: str) -> str:
    """git's output, as it is."""
    who = ("-c", "user.name=ana", "-c", "user.email=ana@example.test", "-c", "core.hooksPath=/dev/null")
    done = subprocess.run(["git", "-C", str(where), *who, *argv], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


def commit(where: Path, files: dict[str, bytes | None]) -> None:
    """Write and delete files, then commit them all."""
    for name, content in files.items():
        path = where / name
        if content is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    git(where, "add", "--all")
    git(where, "commit", "--quiet", "--allow-empty", "--message", "x")


def difference(where: Path, before: dict[str, bytes | None], after: dict[str, bytes | None], *flags: str) -> Diff:
    """What git says lies between two states."""
    where.mkdir(exist_ok=True)
    git(where, "init", "--quiet", "--initial-branch=main")
    commit(where, before)
    commit(where, after)
    return read_diff(git(where, "diff", "-M", *flags, "HEAD~1", "HEAD"))


def numbered(count: int, **changes: str) -> bytes:
    """Lines `line 1`, …; `l7="x"` makes the seventh another one."""
    return "".join(f"{changes.get(f'l{n}', f'line {n}')}\n" for n in range(1, count + 1)).encode()


def test_a_changed_line(tmp_path: Path) -> None:
    """The new line and the three around it on the right, the old one on the left, and nothing else."""
    diff = difference(tmp_path, {"a.py": numbered(20)}, {"a.py": numbered(20, l10="ten")})
    assert diff.files == {"a.py": (Hunk(frozenset({10}), frozenset(range(7, 14))),)}
    assert diff.carries("a.py", "RIGHT", 10)
    assert diff.carries("a.py", "LEFT", 10)
    assert diff.carries("a.py", "RIGHT", 13, 7)
    assert not diff.carries("a.py", "RIGHT", 6)
    assert not diff.carries("a.py", "RIGHT", 14)
    assert not diff.carries("a.py", "LEFT", 9)
    assert not diff.carries("a.py", "RIGHT", 10, 6)
    assert not diff.carries("b.py", "RIGHT", 10)


def test_lines_that_moved(tmp_path: Path) -> None:
    """Each side counts by its own file."""
    before, after = b"a\nb\nc\nd\n", b"new\na\nc\nd\nend\n"
    diff = difference(tmp_path, {"x": before}, {"x": after})
    assert diff.files["x"] == (Hunk(frozenset({2}), frozenset({1, 2, 3, 4, 5})),)


def test_a_range_stays_in_one_hunk(tmp_path: Path) -> None:
    """GitHub takes no range over two."""
    diff = difference(tmp_path, {"a": numbered(40)}, {"a": numbered(40, l5="five", l30="thirty")})
    assert len(diff.files["a"]) == 2
    assert diff.carries("a", "RIGHT", 30)
    assert not diff.carries("a", "RIGHT", 30, 5)


def test_made_and_deleted_files(tmp_path: Path) -> None:
    """A file that is gone is known by its old name and has lines on the left only."""
    diff = difference(tmp_path, {"gone.py": b"one\ntwo\n"}, {"gone.py": None, "made.py": b"1\n"})
    assert diff.files["gone.py"] == (Hunk(frozenset({1, 2}), frozenset()),)
    assert diff.files["made.py"] == (Hunk(frozenset(), frozenset({1})),)
    assert diff.carries("gone.py", "LEFT", 2)
    assert not diff.carries("gone.py", "RIGHT", 1)


def test_a_renamed_file(tmp_path: Path) -> None:
    """By its new name; one that only moved has no lines."""
    before: dict[str, bytes | None] = {"old.py": numbered(30), "same.py": numbered(20)}
    after: dict[str, bytes | None] = {
        "old.py": None, "new.py": numbered(30, l15="x"), "same.py": None, "moved.py": numbered(20),
    }  # fmt: skip
    diff = difference(tmp_path, before, after)
    assert set(diff.files) == {"new.py"}
    assert diff.carries("new.py", "RIGHT", 15)


def test_binary_and_empty_files_and_modes(tmp_path: Path) -> None:
    """Nothing to stand at, and the file behind them is read rightly."""
    before: dict[str, bytes | None] = {"a.bin": b"\0\1", "run.sh": b"x\n", "z.py": b"1\n"}
    (tmp_path / "r").mkdir()
    git(tmp_path / "r", "init", "--quiet", "--initial-branch=main")
    commit(tmp_path / "r", before)
    (tmp_path / "r" / "run.sh").chmod(0o755)
    commit(tmp_path / "r", {"a.bin": b"\0\2", "empty": b"", "z.py": b"2\n"})
    for flags in ((), ("--binary",)):
        diff = read_diff(git(tmp_path / "r", "diff", *flags, "HEAD~1", "HEAD"))
        assert diff.files == {"z.py": (Hunk(frozenset({1}), frozenset({1})),)}


@pytest.mark.parametrize(("before", "after"), [(b"a\nb", b"a\nc\n"), (b"a\nb\n", b"a\nc"), (b"b", b"c")])
def test_no_newline_at_the_end(tmp_path: Path, before: bytes, after: bytes) -> None:
    """Its mark is no line, and what follows is read rightly."""
    diff = difference(tmp_path, {"a": before, "b": b"1\n"}, {"a": after, "b": b"2\n"})
    last = len(before.rstrip(b"\n").split(b"\n"))
    assert diff.carries("a", "RIGHT", last)
    assert diff.carries("a", "LEFT", last)
    assert not diff.carries("a", "RIGHT", last + 1)
    assert diff.files["b"] == (Hunk(frozenset({1}), frozenset({1})),)


@pytest.mark.parametrize("name", ["café.py", "with space.py", 'a"b.py', "tab\there.py", "back\\slash", "日本/文.md"])
@pytest.mark.parametrize("quote", ["true", "false"])
def test_names_that_git_quotes(tmp_path: Path, name: str, quote: str) -> None:
    """Octal, escapes, spaces: the name comes back."""
    tmp_path = tmp_path / "r"
    tmp_path.mkdir()
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "config", "core.quotePath", quote)
    commit(tmp_path, {name: b"1\n"})
    commit(tmp_path, {name: b"2\n"})
    diff = read_diff(git(tmp_path, "diff", "HEAD~1", "HEAD"))
    assert list(diff.files) == [name]


def test_lines_that_look_like_the_diff_itself(tmp_path: Path) -> None:
    """Content that begins as headers do is content: hunks are counted."""
    before = b"-- a/x\n++ b/x\n@@ -1 +1 @@\nend\n"
    after = b"-- a/y\n++ b/y\n@@ -9 +9 @@\ndiff --git a/q b/q\nend\n"
    diff = difference(tmp_path, {"f": before}, {"f": after})
    assert set(diff.files) == {"f"}
    assert diff.files["f"][0].right == frozenset({1, 2, 3, 4, 5})


def test_line_ends_of_other_kinds(tmp_path: Path) -> None:
    """Only LF ends a line of a diff."""
    before = "one\r\ntwo\x0c\u2028two\r\nthree\r\n".encode()
    diff = difference(tmp_path, {"f": before}, {"f": before.replace(b"three", b"3")})
    assert diff.files["f"] == (Hunk(frozenset({3}), frozenset({1, 2, 3})),)


def test_without_context(tmp_path: Path) -> None:
    """Hunks whose headers leave counts out, or say 0."""
    diff = difference(tmp_path, {"f": b"a\nb\nc\n"}, {"f": b"a\nc\n"}, "--unified=0")
    assert diff.files["f"] == (Hunk(frozenset({2}), frozenset()),)


def test_an_empty_line_without_its_space() -> None:
    """As programs leave it that trim line ends."""
    text = "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n"
    assert read_diff(text).files["f"] == (Hunk(frozenset({3}), frozenset({1, 2, 3})),)


def test_a_diff_that_breaks_off() -> None:
    """What was read stands; what follows in another file is read."""
    text = "--- a/f\n+++ b/f\n@@ -1,9 +1,9 @@\n a\n+b\ndiff --git a/g b/g\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-x\n+y\n"
    diff = read_diff(text)
    assert diff.files["f"] == (Hunk(frozenset(), frozenset({1, 2})),)
    assert diff.files["g"] == (Hunk(frozenset({1}), frozenset({1})),)


def test_files_without_a_line_of_git_between_them() -> None:
    """A header is not taken for a line of the hunk before it."""
    one = "--- a/{0}\n+++ b/{0}\n@@ -1 +1 @@\n-x\n+y\n"
    hunk = Hunk(frozenset({1}), frozenset({1}))
    assert read_diff(one.format("f") + one.format("g")).files == {"f": (hunk,), "g": (hunk,)}


def test_a_merge_has_no_lines() -> None:
    """Combined diffs say three things of each line; none of them can be commented."""
    assert read_diff("diff --cc f\n--- a/f\n+++ b/f\n@@@ -1,1 -1,1 +1,1 @@@\n++x\n").files == {"f": ()}


@given(st.text(alphabet='-+ @ab\\\n"019,/', max_size=200))
def test_any_text_has_an_answer(text: str) -> None:
    """Never an exception."""
    read_diff("--- a/f\n+++ b/f\n" + text)
