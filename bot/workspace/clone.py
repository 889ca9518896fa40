"""One run's clone on disk, and what is known of it beside the workspace, where no child can write."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import stat
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from bot.errors import BotError, OperatorError, UserError
from bot.workspace import luggage
from bot.workspace.folder import discard, fingerprint
from bot.workspace.git import Git
from bot.workspace.mirrors import Mirror, Mirrors
from bot.workspace.remote import Origin

#: all that a clone's configuration holds: no remote, so nothing to push to and no address to read
_CONFIG = (
    "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"
    "[gc]\n\tauto = 0\n"
)
#: a child's `git status` rewrites it; it is replaced, never read
_INDEX = "index"
#: the folders of the commit, parents first, each with a NUL byte after it
_FOLDERS = "folders"
#: the same of its files
_FILES = "files"


@dataclass(frozen=True, slots=True)
class Kept:
    """What rows know of a run's clone, wherever it was: its commit, and what its steps left there beside that.

    `mark` names that state; `fetch` brings it (see `luggage`), None where it was too much to be kept.
    """

    commit: str
    mark: str = ""
    fetch: Callable[[], Awaitable[bytes]] | None = None


@dataclass(frozen=True, slots=True)
class Left:
    """What steps have left in a run's clone, under a mark; `data` is None where it is too much to be carried."""

    mark: str
    data: bytes | None


class State(BaseModel):
    """What is in a run's folder, kept beside the workspace, where no child can write."""

    model_config = ConfigDict(frozen=True)

    repository_id: int
    ref: str
    commit: str
    #: fingerprint of `.git` as we made it
    git: str
    #: nobody was let in since we made or restored it
    clean: bool
    #: the mark of what was last carried from or to here, and what that was made from
    mark: str = ""
    seen: str = ""


class Clone:
    """One run's clone on disk. Git is never run in a `.git` that a child could write: the files are restored with the
    mirror as repository and an index of ours, and `.git` is put back whole if anything but its index has changed."""

    def __init__(self, git: Git, mirrors: Mirrors, run: Path, origin: Origin) -> None:
        self.path = run / "workspace"
        self._git = git
        self._mirrors = mirrors
        self._run = run
        self._origin = origin

    async def enter(self, repository_id: int, ref: str, *, alone: bool, kept: Kept | None) -> str:
        """Make the clone ready and mark it as used. The commit that is checked out."""
        state = load(self._run)
        if alone and kept is not None and (state is None or (state.commit, state.mark) != (kept.commit, kept.mark)):
            state = await self._brought(repository_id, ref, kept)
        if state and (state.repository_id, state.ref) != (repository_id, ref):
            if not alone:
                raise ValueError(f"the run's clone is in use at {state.ref}")
            state = None
        if state is None or (alone and not state.clean and not await self._restored(state)):
            state = await self._make(repository_id, ref, state.commit if state else None)
        save(self._run, state.model_copy(update={"clean": False}))
        return state.commit

    async def leave(self) -> None:
        """Restore the clone after its last user. Where that fails, the next `enter` makes it anew."""
        state = load(self._run)
        if state and await self._restored(state) and (state := load(self._run)):
            with contextlib.suppress(OSError):  # a full disk costs the next attempt a restoration, not this one its end
                save(self._run, state.model_copy(update={"clean": True}))

    async def _brought(self, repository_id: int, ref: str, kept: Kept) -> State:
        """The clone as it was where the run was before."""
        if kept.mark and kept.fetch is None:
            raise UserError(
                "files_lost",
                "the files that earlier steps left lay on another machine, and were too many to be kept",
                f"Leave less than {luggage.MOST_BYTES // 1024 // 1024} MiB in the clone, then ask again.",
            )
        data = await kept.fetch() if kept.mark and kept.fetch is not None else b""
        state = await self._make(repository_id, ref, kept.commit)
        if data:
            await asyncio.to_thread(luggage.unpack, self.path, data)
        tracked = tracked_of(self._run)
        seen = await asyncio.to_thread(luggage.mark_of, self.path, tracked)
        state = state.model_copy(update={"mark": kept.mark, "seen": seen})
        save(self._run, state)
        return state

    async def _make(self, repository_id: int, ref: str, commit: str | None) -> State:
        (self._run / "state.json").unlink(missing_ok=True)
        self._run.mkdir(mode=0o700, parents=True, exist_ok=True)
        async with self._mirrors.open(repository_id) as mirror:
            for last in (False, True):
                try:
                    if at := commit or "":
                        await mirror.recall(self._origin, at)
                    else:
                        at = await mirror.bring(self._origin, ref)
                    mirror.keep(at, self._run.name)
                    await discard(self.path)
                    (self._run / _INDEX).unlink(missing_ok=True)
                    self.path.mkdir(mode=0o700)
                    await self._checkout(mirror.path, at)
                    await self._list_folders(mirror.path, at)
                    made = await self._place_git(mirror, ref, at)
                    break
                except OperatorError:
                    if last:
                        raise
                    # half a mirror, or objects are missing: the remote has them all
                    await mirror.discard()
        state = State(repository_id=repository_id, ref=ref, commit=at, git=made, clean=True)
        save(self._run, state)
        return state

    async def _restored(self, state: State) -> bool:
        """Whether the clone is again as it was made."""
        try:
            if not stat.S_ISDIR(os.lstat(self.path).st_mode):
                return False
            mirror = self._mirrors.path(state.repository_id)
            _unlink_links(self.path, (self._run / _FOLDERS).read_bytes().split(b"\0"))
            await self._checkout(mirror, state.commit)
            if fingerprint(self.path / ".git", without={_INDEX}) == state.git:
                await discard(self.path / ".git" / _INDEX)
                shutil.copyfile(self._run / _INDEX, self.path / ".git" / _INDEX)
            else:
                async with self._mirrors.open(state.repository_id) as held:
                    made = await self._place_git(held, state.ref, state.commit)
                save(self._run, state.model_copy(update={"git": made}))
        except (BotError, OSError):
            return False
        return True

    async def _checkout(self, git_dir: Path, commit: str) -> None:
        """Make the tracked files those of `commit`; others stay."""
        (self._run / "index.lock").unlink(missing_ok=True)  # of a git that was killed
        await self._git.run(
            *("read-tree", "--reset", "-u", commit),
            cwd=self._run,
            env={
                "GIT_DIR": str(git_dir),
                "GIT_WORK_TREE": str(self.path),
                "GIT_INDEX_FILE": str(self._run / _INDEX),
            },
        )

    async def _list_folders(self, git_dir: Path, commit: str) -> None:
        """Note which folders and files `commit` has."""
        listed = await self._git.run("ls-tree", "-r", "-t", "-z", commit, cwd=git_dir)
        folders, files = [], []
        for entry in filter(None, listed.split(b"\0")):
            facts, _, name = entry.partition(b"\t")
            kind = facts.split()[1]
            if kind != b"blob":  # a submodule's is an empty folder
                folders.append(name + b"\0")
            if kind != b"tree":
                files.append(name + b"\0")
        (self._run / _FOLDERS).write_bytes(b"".join(folders))
        (self._run / _FILES).write_bytes(b"".join(files))

    async def _place_git(self, mirror: Mirror, ref: str, commit: str) -> str:
        """Make a `.git` with copies of the mirror's objects and move it into the workspace. Its fingerprint."""
        fresh = self._run / "fresh"
        await discard(fresh)
        await self._git.run(
            *("clone", "--quiet", "--no-checkout", "--local", "--no-hardlinks", "--template="),
            *("--", str(mirror.path), str(fresh)),
            cwd=self._run,
            protocols=("file",),
        )
        made = fresh / ".git"
        await discard(made / "logs")
        (made / "config").write_text(_CONFIG)
        (made / "info").mkdir(exist_ok=True)
        (made / "info" / "exclude").write_text("/.bot/\n")
        if ref.startswith("refs/heads/"):
            branch = made / ref
            branch.parent.mkdir(parents=True, exist_ok=True)
            branch.write_text(f"{commit}\n")
            (made / "HEAD").write_text(f"ref: {ref}\n")
        else:
            (made / "HEAD").write_text(f"{commit}\n")
        shutil.copyfile(self._run / _INDEX, made / _INDEX)
        await discard(self.path / ".git")
        made.rename(self.path / ".git")
        await discard(fresh)
        return fingerprint(self.path / ".git", without={_INDEX})


def _unlink_links(root: Path, names: Iterable[bytes]) -> None:
    """Remove links that stand where folders belong: through one, git would take a moved file for unmoved."""
    for name in filter(None, names):  # parents come before what is in them
        path = os.path.join(os.fsencode(root), name)
        if os.path.islink(path):
            os.unlink(path)


def tracked_of(run: Path) -> frozenset[str]:
    """Paths of the files that the clone's commit has. Raises OSError where there is no clone."""
    return frozenset(map(os.fsdecode, (run / _FILES).read_bytes().split(b"\0")))


def load(run: Path) -> State | None:
    """What is known of the clone in a run's folder; None where there is none."""
    try:
        return State.model_validate_json((run / "state.json").read_bytes())
    except (OSError, ValidationError):
        return None


def save(run: Path, state: State) -> None:
    """Note it, whole or not at all."""
    draft = run / "state.json.new"
    draft.write_text(state.model_dump_json())
    draft.replace(run / "state.json")
