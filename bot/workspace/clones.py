"""A run's folders: private clones that no child can use to reach the mirror, the token, or the next step's trust."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from bot.errors import BotError, OperatorError
from bot.workspace.files import write_file
from bot.workspace.folder import discard, fingerprint
from bot.workspace.git import Git
from bot.workspace.mirrors import Mirror, Mirrors
from bot.workspace.remote import check_url, full_ref

WorkspaceMode = Literal["none", "read"]
Token = Callable[[], Awaitable[str]]

_RUN = re.compile(r"[A-Za-z0-9_-]{1,64}")
#: all that a clone's configuration holds: no remote, so nothing to push to and no address to read
_CONFIG = (
    "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"
    "[gc]\n\tauto = 0\n"
)
#: a child's `git status` rewrites it; it is replaced, never read
_INDEX = "index"
#: the folders of the commit, parents first, each with a NUL byte after it
_FOLDERS = "folders"


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder for a step's commands. `commit` is what is checked out, None for `none`."""

    path: Path
    commit: str | None
    mode: WorkspaceMode


class _State(BaseModel):
    """What is in a run's folder, kept beside the workspace, where no child can write."""

    model_config = ConfigDict(frozen=True)

    repository_id: int
    ref: str
    commit: str
    #: fingerprint of `.git` as we made it
    git: str
    #: nobody was let in since we made or restored it
    clean: bool


@dataclass(slots=True)
class _Use:
    """Who is in a run's clone now: parallel steps share it, the last one out restores it."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0


class Workspaces:
    """The mirrors and runs under a data folder. `allowed_host` is `scheme://host[:port]` of the clones' server."""

    def __init__(self, directory: Path, git: Git, *, allowed_host: str) -> None:
        # children are given these paths; with a link in them they would be refused
        self._directory = directory.resolve()
        self._git = git
        self._allowed_host = allowed_host
        self._mirrors = Mirrors(self._directory / "mirrors", git)
        self._uses: dict[str, _Use] = {}

    @asynccontextmanager
    async def open(
        self, mode: WorkspaceMode, *, run_id: str, repository_id: int, clone_url: str, token: Token, ref: str
    ) -> AsyncIterator[Workspace]:
        """A folder for one attempt.

        `none` is empty and gone afterwards. `read` is the run's private clone at the commit that `ref` (a branch or
        `refs/pull/N/head`) had when the run first came; afterwards tracked files return to that commit, untracked and
        ignored ones stay. `token` is asked only where something has to be fetched. Raises OperatorError for an address
        elsewhere and for faults of this machine, UserError for an impossible ref, NotFound, Forbidden or Transient for
        what the remote said.
        """
        run = self._run(run_id)
        if mode == "none":
            run.mkdir(mode=0o700, parents=True, exist_ok=True)
            empty = Path(tempfile.mkdtemp(prefix="empty-", dir=run))
            try:
                yield Workspace(empty, None, mode)
            finally:
                await discard(empty)
            return
        clone = _Clone(self._git, self._mirrors, run, check_url(clone_url, self._allowed_host), token)
        ref = full_ref(ref)
        use = self._uses.setdefault(run_id, _Use())
        async with use.lock:
            commit = await clone.enter(repository_id, ref, alone=use.users == 0)
            use.users += 1
        try:
            yield Workspace(clone.path, commit, mode)
        finally:
            use.users -= 1
            async with use.lock:
                if use.users == 0:
                    await clone.leave()

    async def write(self, run_id: str, path: str, make: Callable[[], Awaitable[bytes]]) -> bool:
        """Put a file into the run's clone, where it has one here; links and what else is in its way go.

        Whether there is a clone. `make` is asked for the content when nobody else writes, so that the newest stays.
        Raises Unreadable and OSError.
        """
        run = self._run(run_id)
        if _load(run) is None:
            return False
        async with self._uses.setdefault(run_id, _Use()).writing:
            await asyncio.to_thread(write_file, run / "workspace", path, await make(), force=True)
        return True

    def folder(self, run_id: str) -> Path:
        """Where everything of a run is on this machine, until it is removed; it may not be there yet."""
        return self._run(run_id)

    async def remove(self, run_id: str) -> None:
        """Everything of a run goes; the mirror stays. Nothing to remove is fine."""
        run = self._run(run_id)
        if state := _load(run):
            async with self._mirrors.open(state.repository_id) as mirror:
                if mirror.path.is_dir():
                    await mirror.release(run_id)
        await discard(run)
        self._uses.pop(run_id, None)

    def known(self) -> list[str]:
        """Ids of the runs that have a folder here."""
        runs = self._directory / "runs"
        return sorted(entry.name for entry in runs.iterdir() if _RUN.fullmatch(entry.name)) if runs.is_dir() else []

    def _run(self, run_id: str) -> Path:
        if not _RUN.fullmatch(run_id):
            raise ValueError(f"{run_id!r} is no run id")
        return self._directory / "runs" / run_id


class _Clone:
    """One run's clone on disk. Git is never run in a `.git` that a child could write: the files are restored with the
    mirror as repository and an index of ours, and `.git` is put back whole if anything but its index has changed."""

    def __init__(self, git: Git, mirrors: Mirrors, run: Path, url: str, token: Token) -> None:
        self.path = run / "workspace"
        self._git = git
        self._mirrors = mirrors
        self._run = run
        self._url = url
        self._token = token

    async def enter(self, repository_id: int, ref: str, *, alone: bool) -> str:
        """Make the clone ready and mark it as used. The commit that is checked out."""
        state = _load(self._run)
        if state and (state.repository_id, state.ref) != (repository_id, ref):
            if not alone:
                raise ValueError(f"the run's clone is in use at {state.ref}")
            state = None
        if state is None or (alone and not state.clean and not await self._restored(state)):
            state = await self._make(repository_id, ref, state.commit if state else None)
        _save(self._run, state.model_copy(update={"clean": False}))
        return state.commit

    async def leave(self) -> None:
        """Restore the clone after its last user. Where that fails, the next `enter` makes it anew."""
        state = _load(self._run)
        if state and await self._restored(state) and (state := _load(self._run)):
            with contextlib.suppress(OSError):  # a full disk costs the next attempt a restoration, not this one its end
                _save(self._run, state.model_copy(update={"clean": True}))

    async def _make(self, repository_id: int, ref: str, commit: str | None) -> _State:
        (self._run / "state.json").unlink(missing_ok=True)
        self._run.mkdir(mode=0o700, parents=True, exist_ok=True)
        async with self._mirrors.open(repository_id) as mirror:
            for last in (False, True):
                try:
                    if at := commit or "":
                        await mirror.recall(self._url, self._token, at)
                    else:
                        at = await mirror.bring(self._url, self._token, ref)
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
        state = _State(repository_id=repository_id, ref=ref, commit=at, git=made, clean=True)
        _save(self._run, state)
        return state

    async def _restored(self, state: _State) -> bool:
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
                _save(self._run, state.model_copy(update={"git": made}))
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
        """Note which folders `commit` has."""
        listed = await self._git.run("ls-tree", "-r", "-d", "-z", "--name-only", commit, cwd=git_dir)
        (self._run / _FOLDERS).write_bytes(listed)

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


def _load(run: Path) -> _State | None:
    try:
        return _State.model_validate_json((run / "state.json").read_bytes())
    except (OSError, ValidationError):
        return None


def _save(run: Path, state: _State) -> None:
    draft = run / "state.json.new"
    draft.write_text(state.model_dump_json())
    draft.replace(run / "state.json")
