"""One bare mirror per repository, so that a run fetches only what is new; a cache that may vanish at any time."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bot.errors import Forbidden, NotFound, OperatorError
from bot.workspace.folder import discard
from bot.workspace.git import Credential, Git
from bot.workspace.remote import Origin

#: seconds between two looks at a lock that another process holds
_LOOK = 0.05
_BRANCHES = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")


class Mirror:
    """A mirror whose lock is held.

    A kill in the middle may leave it so that git fails in it (OperatorError, not what the remote said): whoever gets
    that discards it and asks once more.
    """

    def __init__(self, path: Path, git: Git) -> None:
        self.path = path
        self._git = git

    async def bring(self, origin: Origin, ref: str) -> str:
        """Fetch branches, tags and `ref`; the commit that `ref` points to now.

        Raises NotFound where the remote has no such ref, and what git's fetch raises.
        """
        extra = () if ref.startswith("refs/heads/") else (f"+{ref}:{ref}",)
        await self._fetch(origin, "--prune", *_BRANCHES, *extra)
        found = await self._git.attempt(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", cwd=self.path
        )
        if found.exit_code != 0:
            raise NotFound(f"there is no commit at {ref}")
        return found.stdout.decode().strip()

    async def recall(self, origin: Origin, commit: str) -> None:
        """Fetch a commit that was here before, if it no longer is."""
        if not await self._has(commit):
            await self._fetch(origin, "--prune", *_BRANCHES)
            if not await self._has(commit):  # no branch leads to it any more
                await self._fetch(origin, commit)

    def keep(self, commit: str, name: str) -> None:
        """Make `refs/runs/<name>` point to a commit that is here, so that git's own tidying leaves it."""
        # as update-ref would, under our lock and without starting it
        mark = self._mark(name)
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.write_text(f"{commit}\n")

    async def discard(self) -> None:
        """Throw away a mirror that turned out to be broken; the next fetch makes it anew."""
        await discard(self.path)

    async def release(self, name: str) -> None:
        """Let go of a run's commit."""
        self._mark(name).unlink(missing_ok=True)
        # git may have packed it meanwhile
        if f"refs/runs/{name}\n".encode() in _content(self.path / "packed-refs"):
            await self._git.attempt("update-ref", "-d", f"refs/runs/{name}", cwd=self.path)

    def _mark(self, name: str) -> Path:
        return self.path / "refs" / "runs" / name

    async def _has(self, commit: str) -> bool:
        found = await self._git.attempt("cat-file", "-e", f"{commit}^{{commit}}", cwd=self.path)
        return found.exit_code == 0

    async def _fetch(self, origin: Origin, *what: str) -> None:
        await self._create()
        try:
            await self._fetch_from(origin.url, origin, *what)
        except NotFound:
            url = await origin.renamed()
            if url == origin.url:
                raise
            await self._fetch_from(url, origin, *what)

    async def _fetch_from(self, url: str, origin: Origin, *what: str) -> None:
        options, refs = [w for w in what if w.startswith("--")], [w for w in what if not w.startswith("--")]
        args = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", *options, "--", url, *refs)
        using = await origin.token("")
        try:
            await self._git.run(*args, cwd=self.path, credential=Credential(url, using), protocols=(url.split(":")[0],))
        except Forbidden as error:
            if error.status != 401:
                raise
            # it ended before its time, as tokens do whose installation changes
            credential = Credential(url, await origin.token(using))
            await self._git.run(*args, cwd=self.path, credential=credential, protocols=(url.split(":")[0],))

    async def _create(self) -> None:
        if (self.path / "HEAD").is_file() and (self.path / "objects").is_dir():
            return
        await discard(self.path)
        # HEAD names no branch that anybody has, so that clones check none out by themselves
        await self._git.run(
            *("init", "--quiet", "--bare", "--template=", "--initial-branch=threadsmith-none", "--", str(self.path)),
            cwd=self.path.parent,
        )


class Mirrors:
    """The mirrors of this data folder, each under one lock for this process's tasks and one for other processes."""

    def __init__(self, directory: Path, git: Git) -> None:
        self._directory = directory
        self._git = git
        self._locks: dict[int, asyncio.Lock] = {}

    def path(self, repository_id: int) -> Path:
        """Where the mirror of a repository is, if it is; read-only without its lock."""
        return self._directory / f"{repository_id}.git"

    @asynccontextmanager
    async def open(self, repository_id: int) -> AsyncIterator[Mirror]:
        """The mirror of a repository, ours alone inside the block."""
        async with self._locks.setdefault(repository_id, asyncio.Lock()):
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            # the kernel lets go of it with our death, and git, which dies with us, does not inherit it
            lock = os.open(self._directory / f"{repository_id}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                while not _locked(lock):  # noqa: ASYNC110 - no event crosses processes
                    await asyncio.sleep(_LOOK)
                yield Mirror(self.path(repository_id), self._git)
            finally:
                os.close(lock)


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def _locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise OperatorError(f"cannot lock a mirror: {error.strerror}", "the data folder must support flock") from error
    return True
