"""A real bare git repository on disk, read and written through git's plumbing (one process a call)."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

_SHA = re.compile(r"[0-9a-f]{40}")
#: the SHA of nothing, as in webhooks and push protocols
ZERO = "0" * 40
#: what no ref name may hold; rev-parse would take it for an expression
_EXPRESSION = re.compile(r"^-|[~^:?*\[\\\s\0]|\.\.|@\{")


class Symlink(str):
    """Content of a file that is a symbolic link: its target."""


def environment() -> dict[str, str]:
    """Variables for git: nobody's configuration, no prompts, stable words."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a tree. `type` is `blob`, `tree` or `commit`; `size` is of blobs only."""

    mode: str
    type: str
    sha: str
    size: int | None
    path: str


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as its raw object says. Times are Unix seconds."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author: tuple[str, str, int]
    committer: tuple[str, str, int]
    message: str


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file that a commit touched. `status` is GitHub's word."""

    path: str
    status: str
    sha: str
    additions: int
    deletions: int


class GitRepository:
    """A bare repository at `path`. Objects never change, so what was read once is kept."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._objects: dict[str, tuple[str, bytes]] = {}
        self._trees: dict[tuple[str, bool], tuple[Entry, ...]] = {}
        self._peeled: dict[tuple[str, str], str] = {}
        self._changes: dict[str, tuple[FileChange, ...]] = {}

    @classmethod
    def create(cls, path: Path, branch: str) -> GitRepository:
        """Make an empty one whose HEAD names `branch`."""
        path.mkdir(parents=True)
        made = cls(path)
        made.run("init", "--quiet", "--bare", f"--initial-branch={branch}")
        return made

    def run(self, *argv: str, stdin: bytes = b"", check: bool = True) -> bytes:
        """git's standard output; with `check` off, nothing where it failed."""
        done = subprocess.run(
            ["git", "-C", str(self.path), *argv], input=stdin, capture_output=True, env=environment(), check=False
        )
        if check and done.returncode:
            raise RuntimeError(f"git {argv[0]}: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout if done.returncode == 0 else b""

    def commit(
        self,
        branch: str,
        changes: Mapping[str, str | bytes | None],
        author: tuple[str, str],
        message: str,
        at: datetime,
        start: str | None = None,
    ) -> str:
        """Commit `changes` (path to new content, None to delete) on top of `branch`; returns the commit's SHA.

        `author` is name and e-mail address; `start` is the commit from which a branch that is new goes out.
        """
        ref = f"refs/heads/{branch}"
        who = f"{author[0]} <{author[1]}> {int(at.timestamp())} +0000"
        lines = [f"commit {ref}\n", f"author {who}\n", f"committer {who}\n"]
        stream = bytearray("".join(lines).encode() + _data(message.encode()))
        if origin := self.resolve(branch) or start:
            stream += f"from {origin}\n".encode()
        for path, content in changes.items():
            quoted = '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
            if content is None:
                stream += f"D {quoted}\n".encode()
                continue
            raw = content.encode() if isinstance(content, str) else content
            mode = "120000" if isinstance(content, Symlink) else "100755" if raw.startswith(b"#!") else "100644"
            stream += f"M {mode} inline {quoted}\n".encode() + _data(raw)
        self.run("fast-import", "--quiet", "--date-format=raw", stdin=bytes(stream))
        made = self.resolve(branch)
        assert made is not None
        return made

    def resolve(self, ref: str) -> str | None:
        """The commit SHA of a branch, tag, full ref or SHA; None where there is none."""
        if not _EXPRESSION.search(ref):
            for name in (f"refs/heads/{ref}", ref, f"refs/{ref}"):
                # the common case without a process: a loose branch is a file that holds its SHA
                loose = self.path / name
                if name.startswith("refs/heads/") and loose.is_file():
                    return loose.read_text().strip()
        return self._peel(ref, "commit")

    def _peel(self, name: str, kind: str) -> str | None:
        if _EXPRESSION.search(name):
            return None
        if (known := self._peeled.get((name, kind))) is not None:
            return known
        found = self.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{{kind}}}", check=False)
        sha = found.decode().strip() or None
        if sha is not None and _SHA.fullmatch(name):
            self._peeled[name, kind] = sha
        return sha

    def read(self, sha: str) -> tuple[str, bytes] | None:
        """Type and content of an object by its full SHA."""
        if not _SHA.fullmatch(sha):
            return None
        if sha not in self._objects:
            raw = self.run("cat-file", "--batch", stdin=sha.encode() + b"\n")
            head, _, rest = raw.partition(b"\n")
            words = head.split()
            if len(words) != 3:
                return None
            self._objects[sha] = (words[1].decode(), rest[: int(words[2])])
        return self._objects[sha]

    def blob(self, sha: str) -> bytes | None:
        """Content of a blob."""
        found = self.read(sha)
        return found[1] if found and found[0] == "blob" else None

    def log(self, ref: str, not_in: str = ZERO) -> Sequence[str]:
        """SHAs reachable from `ref` and not from `not_in`, oldest first."""
        spec = [ref] if not_in == ZERO else [ref, f"^{not_in}"]
        return self.run("rev-list", "--reverse", *spec).decode().split()

    def details(self, sha: str) -> Commit | None:
        """A commit, parsed."""
        found = self.read(sha)
        if not found or found[0] != "commit":
            return None
        head, _, message = found[1].decode(errors="replace").partition("\n\n")
        fields: dict[str, list[str]] = {}
        for line in head.split("\n"):
            key, _, value = line.partition(" ")
            fields.setdefault(key, []).append(value)
        author, committer = (_person(fields[key][0]) for key in ("author", "committer"))
        return Commit(sha, fields["tree"][0], tuple(fields.get("parent", ())), author, committer, message)

    def tree(self, treeish: str, *, recursive: bool = False) -> tuple[Entry, ...] | None:
        """Entries of a tree (or of a commit's tree); with `recursive`, all below it too."""
        if (sha := self.tree_sha(treeish)) is None:
            return None
        key = (sha, recursive)
        if key not in self._trees:
            raw = self.run("ls-tree", "-l", "-z", "--full-tree", *(("-r", "-t") if recursive else ()), sha)
            self._trees[key] = tuple(_entry(line) for line in raw.split(b"\0") if line)
        return self._trees[key]

    def tree_sha(self, treeish: str) -> str | None:
        """SHA of the tree that `treeish` names."""
        return self._peel(treeish, "tree")

    def changes(self, sha: str) -> tuple[FileChange, ...]:
        """The files that a commit touched against its first parent."""
        if sha not in self._changes:
            self._changes[sha] = self._diff(sha)
        return self._changes[sha]

    def _diff(self, sha: str) -> tuple[FileChange, ...]:
        raw = self.run("diff-tree", "--root", "--no-commit-id", "--no-renames", "-r", "-m", "--first-parent",
                        "--raw", "--no-abbrev", "--numstat", "-z", sha)  # fmt: skip
        fields = raw.decode(errors="replace").split("\0")
        touched: dict[str, tuple[str, str]] = {}
        counts: dict[str, tuple[int, int]] = {}
        words = {"A": "added", "D": "removed", "M": "modified", "T": "changed"}
        position = 0
        while position < len(fields) - 1:
            if fields[position].startswith(":"):
                _, _, old, new, status = fields[position].split()
                touched[fields[position + 1]] = (words[status[0]], new if status[0] != "D" else old)
                position += 2
            else:
                more, less, path = fields[position].split("\t", 2)
                counts[path] = (int(more) if more != "-" else 0, int(less) if less != "-" else 0)
                position += 1
        return tuple(FileChange(path, word, blob, *counts[path]) for path, (word, blob) in touched.items())

    def refs(self) -> dict[str, str]:
        """Every ref with its SHA."""
        out = self.run("for-each-ref", "--format=%(refname) %(objectname)").decode()
        return dict(line.split(" ", 1) for line in out.splitlines())


def _data(raw: bytes) -> bytes:
    return f"data {len(raw)}\n".encode() + raw + b"\n"


def _person(line: str) -> tuple[str, str, int]:
    match = re.fullmatch(r"(.*?) ?<(.*)> (-?\d+) [+-]\d{4}", line)
    assert match, line
    return match[1], match[2], int(match[3])


def _entry(line: bytes) -> Entry:
    head, _, path = line.partition(b"\t")
    mode, kind, sha, size = head.decode().split()
    return Entry(mode, kind, sha, None if size == "-" else int(size), path.decode(errors="replace"))
