"""A run's folders, against a real git server and hostile children."""

from __future__ import annotations

import asyncio
import base64
import fcntl
import os
import shutil
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from bot.errors import Forbidden, NotFound, OperatorError, Transient, UserError
from bot.workspace import Kept, luggage, mirrors, remote
from bot.workspace.clones import Workspace, WorkspaceMode, Workspaces
from bot.workspace.git import Git
from tests.workspace.conftest import GitServer, Origin


class Runs:
    """Workspaces of one data folder, opened with this test's server and token."""

    def __init__(self, data: Path, server: GitServer) -> None:
        self.data = data
        self.server = server
        self.tokens = 0
        #: what the repository is called now, and how often that was asked
        self.name = "repo"
        self.looked_up = 0
        self.restart()

    def restart(self) -> None:
        """As a new process would find the folder."""
        self.workspaces = Workspaces(self.data, Git(), allowed_host=self.server.origin)

    def open(
        self, ref: str = "main", *, run: str = "r1", mode: WorkspaceMode = "read", **more: Any
    ) -> AbstractAsyncContextManager[Workspace]:
        async def token(_refused: str) -> str:
            self.tokens += 1
            return self.server.token

        async def renamed() -> str:
            self.looked_up += 1
            return self.server.url(self.name)

        origin = remote.Origin(more.pop("clone_url", self.server.url()), more.pop("token", token), renamed)
        values: dict[str, Any] = {"repository_id": 7, "origin": origin, **more}
        return self.workspaces.open(mode, run_id=run, ref=ref, **values)

    @property
    def mirror(self) -> Path:
        return self.data / "mirrors" / "7.git"


@pytest.fixture
def runs(tmp_path: Path, server: GitServer) -> Runs:
    return Runs(tmp_path / "data", server)


def files(path: Path) -> dict[str, str]:
    return {
        str(p.relative_to(path)): p.read_text()
        for p in sorted(path.rglob("*"))
        if ".git" not in p.relative_to(path).parts and p.is_file() and not p.is_symlink()
    }


CLEAN = {".gitignore": "ignored\n", "README.md": "hello\n", "src/app.py": "print(1)\n"}


@pytest.mark.parametrize(("second", "works"), [("", True), ("ghs_wrongToo", False)])
async def test_a_token_that_is_refused_is_replaced_once(runs: Runs, origin: Origin, second: str, works: bool) -> None:
    """Tokens end before their time where their installation changes; one more refusal is the remote's last word."""
    refused: list[str] = []

    async def token(before: str) -> str:
        refused.append(before)
        return (second or runs.server.token) if before else "ghs_wrongCanary"

    if works:
        async with runs.open(token=token) as workspace:
            assert files(workspace.path) == CLEAN
    else:
        with pytest.raises(Forbidden):
            async with runs.open(token=token):
                pass
    assert refused == ["", "ghs_wrongCanary"]


async def test_none_is_empty_and_gone_afterwards(runs: Runs) -> None:
    """No clone, no token, no request."""
    async with runs.open(mode="none") as first, runs.open(mode="none") as second:
        assert first.path != second.path
        assert list(first.path.iterdir()) == []
        assert first.commit is None
        (first.path / "x").write_text("x")
    assert not first.path.exists()
    assert runs.tokens == 0
    assert runs.server.requests == []


async def test_read_has_the_branch(runs: Runs, origin: Origin) -> None:
    """Files, history and other branches, at the commit of the branch."""
    origin.commit({"new.txt": "x\n"}, ref="refs/heads/feature/x")
    head = origin.git("rev-parse", "origin/main")
    async with runs.open() as workspace:
        assert workspace.path == runs.data / "runs" / "r1" / "workspace"
        assert (workspace.commit, workspace.mode) == (head, "read")
        assert files(workspace.path) == CLEAN
        assert origin.git("rev-parse", "HEAD", cwd=workspace.path) == head
        assert origin.git("branch", "--show-current", cwd=workspace.path) == "main"
        assert origin.git("status", "--porcelain", cwd=workspace.path) == ""
        assert origin.git("log", "--format=%s", "origin/feature/x", cwd=workspace.path) == "change\nchange"
    async with runs.open("feature/x", run="r2") as workspace:
        assert "new.txt" in files(workspace.path)
        assert origin.git("branch", "--show-current", cwd=workspace.path) == "feature/x"


async def test_read_has_the_head_of_a_pull_request(runs: Runs, origin: Origin) -> None:
    commit = origin.commit({"pull.txt": "x\n"}, ref="refs/pull/3/head")
    async with runs.open("refs/pull/3/head") as workspace:
        assert workspace.commit == commit
        assert "pull.txt" in files(workspace.path)
        assert origin.git("rev-parse", "HEAD", cwd=workspace.path) == commit
        assert origin.git("merge-base", "HEAD", "origin/main", cwd=workspace.path)


async def test_a_clone_has_no_way_back(runs: Runs, origin: Origin) -> None:
    """No remote, no address, no alternates, no file shared with the mirror, no hooks; and no token anywhere."""
    origin.commit({}, ref="refs/heads/threadsmith-none")  # the mirror's HEAD: git takes it for the default branch
    async with runs.open() as workspace:
        git = workspace.path / ".git"
        assert origin.git("remote", cwd=workspace.path) == ""
        assert not (git / "objects" / "info" / "alternates").exists()
        assert not (git / "hooks").exists()
        assert (git / "info" / "exclude").read_text() == "/.bot/\n"
        inside = [p for p in git.rglob("*") if p.is_file()]
        assert [p for p in inside if p.stat().st_nlink != 1] == []
        for secret in (str(runs.data / "mirrors"), runs.server.origin):
            assert [p for p in inside if secret.encode() in p.read_bytes()] == []
    basic = base64.b64encode(f"x-access-token:{runs.server.token}".encode())
    for path in runs.data.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert runs.server.token.encode() not in content
            assert basic not in content


async def test_damage_in_a_clone_does_not_reach_the_mirror(runs: Runs, origin: Origin) -> None:
    async with runs.open() as workspace:
        for path in (workspace.path / ".git").rglob("*"):
            if path.is_file():
                path.chmod(0o644)
                path.write_bytes(b"damage")
    origin.git("fsck", "--strict", cwd=runs.mirror)
    async with runs.open(run="r2") as workspace:
        assert files(workspace.path) == CLEAN


async def test_tracked_files_return_untracked_ones_stay(runs: Runs, origin: Origin) -> None:
    """After each attempt, and the next one sees a clean status."""
    async with runs.open() as workspace:
        (workspace.path / "README.md").write_text("HELLO\n")
        (workspace.path / "src" / "app.py").unlink()
        (workspace.path / "src" / "app.py").mkdir()
        (workspace.path / "untracked").write_text("u\n")
        (workspace.path / "ignored").write_text("i\n")
        os.chmod(workspace.path / ".gitignore", 0o755)
        origin.git("add", "README.md", cwd=workspace.path)
        origin.git("update-index", "--assume-unchanged", "README.md", cwd=workspace.path)
    assert files(workspace.path) == {**CLEAN, "untracked": "u\n", "ignored": "i\n"}
    async with runs.open() as workspace:
        assert origin.git("status", "--porcelain", cwd=workspace.path) == "?? untracked"
        assert origin.git("ls-files", "-v", "README.md", cwd=workspace.path) == "H README.md"


async def test_same_size_and_time_do_not_hide_a_change(runs: Runs, origin: Origin) -> None:
    async with runs.open() as workspace:
        file = workspace.path / "README.md"
        times = file.stat()
        file.write_text("HELLO\n")
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert files(workspace.path) == CLEAN


async def test_a_folder_turned_into_a_link_returns(runs: Runs, origin: Origin, tmp_path: Path) -> None:
    """Outside nothing is written; a moved folder behind a link is not taken for the folder."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "app.py").write_text("mine\n")
    async with runs.open() as workspace:
        shutil.rmtree(workspace.path / "src")
        (workspace.path / "src").symlink_to(outside)
    assert files(workspace.path) == CLEAN
    async with runs.open() as workspace:
        (workspace.path / "src").rename(workspace.path / "moved")
        (workspace.path / "src").symlink_to("moved")
    assert not (workspace.path / "src").is_symlink()
    assert files(workspace.path) == {**CLEAN, "moved/app.py": "print(1)\n"}
    assert files(outside) == {"app.py": "mine\n"}


async def test_it_stays_at_its_commit_over_the_steps_of_a_run_and_a_restart(runs: Runs, origin: Origin) -> None:
    """What is pushed meanwhile is for other runs; nothing is fetched again."""
    async with runs.open() as workspace:
        first = workspace.commit
        (workspace.path / "notes").write_text("kept\n")
    moved = origin.commit({"README.md": "moved\n"})
    asked = len(runs.server.requests)
    runs.restart()
    async with runs.open() as workspace:
        assert workspace.commit == first
        assert files(workspace.path) == {**CLEAN, "notes": "kept\n"}
    assert (runs.tokens, len(runs.server.requests)) == (1, asked)
    async with runs.open(run="r2") as workspace:
        assert workspace.commit == moved


async def test_a_kill_in_the_middle_of_an_attempt_is_mended_by_the_next(runs: Runs, origin: Origin) -> None:
    """The block never ended; what git left locked is no obstacle."""
    opened = runs.open()
    workspace = await opened.__aenter__()
    (workspace.path / "README.md").write_text("half\n")
    (runs.data / "runs" / "r1" / "index.lock").touch()
    runs.restart()
    async with runs.open() as workspace:
        assert files(workspace.path) == CLEAN
    await opened.__aexit__(None, None, None)


async def test_an_attempt_that_raises_is_restored_too(runs: Runs, origin: Origin) -> None:
    opened = runs.open()
    workspace = await opened.__aenter__()
    (workspace.path / "README.md").write_text("half\n")
    assert not await opened.__aexit__(KeyError, KeyError(), None)
    assert files(workspace.path) == CLEAN


async def test_parallel_steps_share_it_and_the_last_one_restores(runs: Runs, origin: Origin) -> None:
    async with runs.open() as first:
        async with runs.open() as second:
            assert first == second
            (second.path / "README.md").write_text("seen by both\n")
        assert files(first.path)["README.md"] == "seen by both\n"
        with pytest.raises(ValueError, match="in use"):
            async with runs.open("other"):
                pass
    assert files(first.path) == CLEAN


def hostile(path: Path, how: str, pwned: Path) -> None:
    """What a child does to the `.git` that it was given."""
    git = path / ".git"
    script = path / "script"
    script.write_text(f"#!/bin/sh\ntouch {pwned}\ncat\n")
    script.chmod(0o755)
    config = git / "config"
    match how:
        case "hooks":
            (git / "hooks").mkdir()
            for name in ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc"):
                shutil.copy(script, git / "hooks" / name)
        case "hooksPath":
            config.write_text(config.read_text() + f"[core]\n\thooksPath = {path}\n")
            shutil.copy(script, path / "post-checkout")
        case "fsmonitor":
            config.write_text(config.read_text() + f"[core]\n\tfsmonitor = {script}\n")
        case "filter":
            config.write_text(config.read_text() + f'[filter "x"]\n\tclean = {script}\n\tsmudge = {script}\n')
            (path / ".gitattributes").write_text("* filter=x\n")
            (path / "README.md").write_text("changed\n")
        case "insteadOf":
            config.write_text(config.read_text() + '[url "ext::touch pwned "]\n\tinsteadOf = http\n')
        case "alternates":
            (git / "objects" / "info").mkdir(exist_ok=True)
            (git / "objects" / "info" / "alternates").write_text("/etc\n")
        case "worktree":
            config.write_text(config.read_text() + f"[core]\n\tworktree = {pwned.parent}\n")
        case "link":
            (path / "own").mkdir()
            git.rename(path / "own" / ".git")
            git.symlink_to("own/.git")
        case "link out":
            shutil.rmtree(git)
            git.symlink_to(pwned.parent)
        case "file":
            shutil.rmtree(git)
            git.write_text(f"gitdir: {pwned.parent}\n")
        case "fifo":
            shutil.rmtree(git)
            os.mkfifo(git)
        case "gone":
            shutil.rmtree(git)
        case "index folder":
            (git / "index").unlink()
            (git / "index" / "deep").mkdir(parents=True)
        case "index link":
            (git / "index").unlink()
            (git / "index").symlink_to(pwned.parent / "victim")
        case "config include":
            config.write_text(config.read_text() + "[include]\n\tpath = ../evil\n")
        case "commit":
            head = (git / "refs" / "heads" / "main").read_text()
            (git / "HEAD").write_text(head)
        case _:
            raise AssertionError(how)


@pytest.mark.parametrize(
    "how",
    [
        *("hooks", "hooksPath", "fsmonitor", "filter", "insteadOf", "alternates", "worktree", "link", "link out"),
        *("file", "fifo", "gone", "index folder", "index link", "config include", "commit"),
    ],
)
async def test_a_hostile_git_folder_runs_nothing_and_is_made_anew(
    runs: Runs, origin: Origin, tmp_path: Path, how: str
) -> None:
    """The engine runs no program of the child's, writes nothing outside, and the next step gets a clean clone."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "victim").write_text("whole\n")
    async with runs.open() as workspace:
        commit = workspace.commit
        hostile(workspace.path, how, outside / "pwned")
    async with runs.open() as workspace:
        assert workspace.commit == commit
        git = workspace.path / ".git"
        assert git.is_dir()
        assert not git.is_symlink()
        assert (git / "config").read_text().count("[") == 2
        assert not (git / "hooks").exists()
        assert not (git / "objects" / "info" / "alternates").exists()
        assert (git / "HEAD").read_text() == "ref: refs/heads/main\n"
        assert (git / "index").is_file()
        assert not (git / "index").is_symlink()
        kept = files(workspace.path)
        assert {name: kept[name] for name in CLEAN} == CLEAN
        assert "script" in kept
        if how != "filter":
            tracked = origin.git("status", "--porcelain", "--untracked-files=no", cwd=workspace.path)
            assert tracked == ""
    assert files(outside) == {"victim": "whole\n"}
    assert runs.tokens == 1, "the mirror has it all"


async def test_a_workspace_replaced_whole_is_made_anew(runs: Runs, origin: Origin, tmp_path: Path) -> None:
    """Possible only without isolation."""
    outside = tmp_path / "outside"
    outside.mkdir()
    async with runs.open() as workspace:
        shutil.rmtree(workspace.path)
        workspace.path.symlink_to(outside)
    async with runs.open() as workspace:
        assert not workspace.path.is_symlink()
        assert files(workspace.path) == CLEAN
    assert list(outside.iterdir()) == []


async def test_another_ref_for_the_same_run_is_another_clone(runs: Runs, origin: Origin) -> None:
    origin.commit({"b.txt": "b\n"}, ref="refs/heads/b")
    async with runs.open() as workspace:
        (workspace.path / "left").write_text("x")
    async with runs.open("b") as workspace:
        assert "b.txt" in files(workspace.path)
        assert "left" not in files(workspace.path)


async def test_the_mirror_fetches_only_what_is_new(runs: Runs, origin: Origin) -> None:
    """A branch that was forced or removed on the server is so here too."""
    origin.commit({}, ref="refs/heads/a")
    async with runs.open():
        pass
    made = (runs.mirror / "HEAD").stat().st_ino
    origin.git("push", "--quiet", "origin", ":refs/heads/a")
    forced = origin.commit({"a/b.txt": "1\n"}, ref="refs/heads/a/b")
    async with runs.open("a/b", run="r2") as workspace:
        assert workspace.commit == forced
        assert origin.git("branch", "-r", cwd=workspace.path).split() == ["origin/a/b", "origin/main"]
    assert (runs.mirror / "HEAD").stat().st_ino == made


@pytest.mark.parametrize("how", ["no objects", "no head", "empty", "locked", "bad refs", "a file"])
async def test_a_broken_mirror_is_made_anew(runs: Runs, origin: Origin, how: str) -> None:
    """As a kill in the middle, or a bad disk, may leave it."""
    async with runs.open():
        pass
    head = origin.commit({"more.txt": "more\n"})
    match how:
        case "no objects":
            shutil.rmtree(runs.mirror / "objects")
            (runs.mirror / "objects").mkdir()
        case "no head":
            (runs.mirror / "HEAD").unlink()
        case "empty":
            shutil.rmtree(runs.mirror)
            runs.mirror.mkdir()
        case "locked":
            (runs.mirror / "refs" / "heads" / "main.lock").touch()
            (runs.mirror / "packed-refs.lock").touch()
        case "bad refs":
            (runs.mirror / "refs" / "heads" / "main").write_text("")
        case _:
            shutil.rmtree(runs.mirror)
            runs.mirror.write_text("x")
    async with runs.open(run="r2") as workspace:
        assert workspace.commit == head
        assert files(workspace.path) == {**CLEAN, "more.txt": "more\n"}


async def test_a_run_finds_its_commit_again_after_the_mirror_is_lost(runs: Runs, origin: Origin) -> None:
    """Also where no branch leads to it any more."""
    async with runs.open() as workspace:
        commit = workspace.commit
        shutil.rmtree(workspace.path / ".git")
        shutil.rmtree(runs.mirror)
    origin.git("checkout", "--quiet", "--orphan", "fresh")
    origin.commit({"README.md": "rewritten\n"})
    async with runs.open() as workspace:
        assert workspace.commit == commit
        assert files(workspace.path) == CLEAN


async def test_many_runs_of_one_repository_at_once(runs: Runs, origin: Origin) -> None:
    """In this process and, as far as the mirror can tell, in another one."""
    other = Runs(runs.data, runs.server)

    async def one(which: Runs, name: str) -> dict[str, str]:
        async with which.open(run=name) as workspace:
            return files(workspace.path)

    seen = await asyncio.gather(*(one(which, f"{i}-{n}") for i, which in enumerate((runs, other)) for n in range(3)))
    assert seen == [CLEAN] * 6


async def test_another_process_s_lock_is_waited_for(
    runs: Runs, origin: Origin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is made or asked before it is free."""
    tried = asyncio.Semaphore(0)
    locked = mirrors._locked

    def trying(fd: int) -> bool:
        tried.release()
        return locked(fd)

    monkeypatch.setattr(mirrors, "_locked", trying)
    runs.mirror.parent.mkdir(parents=True)
    with open(runs.data / "mirrors" / "7.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        opened = runs.open()
        opening = asyncio.ensure_future(opened.__aenter__())
        for _ in range(3):
            await asyncio.wait_for(tried.acquire(), 10)
        assert not runs.mirror.exists()
        assert runs.server.requests == []
    workspace = await opening
    assert files(workspace.path) == CLEAN
    await opened.__aexit__(None, None, None)


async def test_a_cancelled_fetch_leaves_a_mirror_that_works(
    runs: Runs, origin: Origin, processes: Callable[[str], list[int]]
) -> None:
    """git dies with the task; its lock is free again."""
    reached, go = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    answer = runs.server.answer

    def slow(request: Any) -> None:
        loop.call_soon_threadsafe(reached.set)
        asyncio.run_coroutine_threadsafe(go.wait(), loop).result()
        try:
            answer(request)
        except OSError:
            request.close_connection = True

    runs.server.answer = slow  # type: ignore[method-assign] # to hold a request open
    opening = asyncio.ensure_future(runs.open().__aenter__())
    await reached.wait()
    assert processes(runs.server.url())
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert processes(runs.server.url()) == []
    go.set()
    async with runs.open() as workspace:
        assert files(workspace.path) == CLEAN


async def test_submodules_and_large_files_stay_pointers(runs: Runs, origin: Origin) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    origin.commit({".gitattributes": "*.bin filter=lfs\n", "a.bin": pointer})
    head = origin.git("rev-parse", "HEAD")
    (origin.work / ".gitmodules").write_text('[submodule "s"]\n\tpath = s\n\turl = https://example.invalid/s.git\n')
    origin.git("update-index", "--add", "--cacheinfo", f"160000,{head},s")
    origin.git("add", ".gitmodules")
    origin.commit({})
    for _ in range(2):
        async with runs.open() as workspace:
            assert files(workspace.path)["a.bin"] == pointer
            assert list((workspace.path / "s").iterdir()) == []


async def test_odd_names_and_links_in_the_repository(runs: Runs, origin: Origin) -> None:
    """Names that are no UTF-8, links that lead out, names that look like options."""
    os.symlink("/etc/passwd", origin.work / "link")
    raw = os.path.join(os.fsencode(origin.work), b"dir-\xff")
    os.mkdir(raw)
    with open(os.path.join(raw, b"-f \n"), "w") as file:
        file.write("odd\n")
    origin.git("add", ".")
    origin.commit({})
    async with runs.open() as workspace:
        assert os.readlink(workspace.path / "link") == "/etc/passwd"
        (workspace.path / "link").unlink()
        shutil.rmtree(os.path.join(os.fsencode(workspace.path), b"dir-\xff"))
    assert os.readlink(workspace.path / "link") == "/etc/passwd"
    assert os.path.exists(os.path.join(os.fsencode(workspace.path), b"dir-\xff", b"-f \n"))


async def test_what_the_remote_says_is_passed_on(runs: Runs, origin: Origin) -> None:
    """Each as what it is; and it works again afterwards."""
    for status, kind in ((403, Forbidden), (404, NotFound), (503, Transient)):
        runs.server.status = status
        with pytest.raises(kind):
            await runs.open().__aenter__()
    runs.server.status = 0
    for ref in ("no-such-branch", "refs/pull/99/head"):
        with pytest.raises(NotFound):
            await runs.open(ref).__aenter__()
    async with runs.open() as workspace:
        assert files(workspace.path) == CLEAN


async def test_a_failed_fetch_does_not_cost_the_mirror(runs: Runs, origin: Origin) -> None:
    async with runs.open():
        pass
    made = (runs.mirror / "HEAD").stat().st_ino
    runs.server.status = 503
    with pytest.raises(Transient):
        await runs.open(run="r2").__aenter__()
    assert (runs.mirror / "HEAD").stat().st_ino == made


async def test_a_renamed_repository_is_cloned_by_its_new_name(runs: Runs, origin: Origin) -> None:
    """Git follows no redirect; the mirror is the same, and only a missing repository is looked up."""
    async with runs.open() as workspace:
        first = workspace.commit
    commit = origin.commit({"new.txt": "x\n"})
    assert runs.looked_up == 0
    origin.bare.rename(origin.bare.with_name("sprockets.git"))
    runs.name = "sprockets"
    made = (runs.mirror / "HEAD").stat().st_ino
    async with runs.open(run="r2") as workspace:
        assert workspace.commit == commit != first
    assert (runs.looked_up, (runs.mirror / "HEAD").stat().st_ino) == (1, made)


async def test_a_repository_that_is_gone_is_looked_up_once(runs: Runs, origin: Origin) -> None:
    shutil.rmtree(origin.bare)
    with pytest.raises(NotFound):
        await runs.open().__aenter__()
    assert (runs.looked_up, runs.tokens) == (1, 1)


async def test_a_new_address_elsewhere_gets_no_token(runs: Runs, origin: Origin) -> None:
    shutil.rmtree(origin.bare)
    runs.name = "../../repo"
    with pytest.raises(OperatorError, match="not at"):
        await runs.open().__aenter__()
    assert all("/../" not in path for path in runs.server.requests)


async def test_an_address_elsewhere_gets_no_token(runs: Runs, origin: Origin) -> None:
    with pytest.raises(OperatorError, match="not at"):
        await runs.open(clone_url="https://evil.example/repo.git").__aenter__()
    with pytest.raises(UserError):
        await runs.open("--upload-pack=id").__aenter__()
    for run in ("", "../r1", "a/b", "r" * 65):
        with pytest.raises(ValueError, match="no run id"):
            await runs.open(run=run).__aenter__()
    assert runs.tokens == 0


async def test_remove_takes_everything_of_the_run(runs: Runs, origin: Origin) -> None:
    """The mirror stays, without the run's mark."""
    async with runs.open():
        pass
    assert origin.git("for-each-ref", "refs/runs", cwd=runs.mirror)
    await runs.workspaces.remove("r1")
    await runs.workspaces.remove("r1")
    assert list((runs.data / "runs").iterdir()) == []
    assert origin.git("for-each-ref", "refs/runs", cwd=runs.mirror) == ""
    assert runs.mirror.is_dir()


async def test_a_data_folder_behind_a_link_gives_paths_without_one(runs: Runs, origin: Origin, tmp_path: Path) -> None:
    """Or the sandbox would refuse them."""
    (tmp_path / "real").mkdir()
    (tmp_path / "linked").symlink_to("real")
    async with Runs(tmp_path / "linked", runs.server).open() as workspace:
        assert workspace.path.is_relative_to(tmp_path / "real")


class Rows:
    """What rows know of a run's clone, as its steps leave it."""

    def __init__(self) -> None:
        self.kept: Kept | None = None
        self.fetched = 0

    async def step(self, runs: Runs, *, write: dict[str, str] | None = None, arrive: bool = True) -> dict[str, str]:
        """One attempt, in a clone that the run comes to or is at; what it saw."""
        if arrive:
            runs.workspaces.arrive("r1")
        async with runs.open(kept=self.kept) as workspace:
            seen = files(workspace.path)
            for name, text in (write or {}).items():
                (workspace.path / name).parent.mkdir(parents=True, exist_ok=True)
                (workspace.path / name).write_text(text)
            commit = workspace.commit or ""
        self.kept = self.kept or Kept(commit)
        assert self.kept.commit == commit
        left = await runs.workspaces.left("r1")
        if left is not None:
            self.kept = Kept(commit, left.mark, self._fetch(left.data) if left.data is not None else None)
        return seen

    def _fetch(self, data: bytes) -> Callable[[], Awaitable[bytes]]:
        async def fetch() -> bytes:
            self.fetched += 1
            return data

        return fetch


async def test_a_run_goes_on_with_its_files_on_another_machine(
    runs: Runs, origin: Origin, tmp_path: Path, server: GitServer
) -> None:
    """Their and the commit's, also when it comes back to the first one, which has older files of it."""
    there, known = Runs(tmp_path / "there", server), Rows()
    assert await known.step(runs, write={"out/a": "1"}) == CLEAN
    origin.commit({"README.md": "changed\n"})
    assert await known.step(there, write={"out/b": "2", "README.md": "by a step\n"}) == {**CLEAN, "out/a": "1"}
    (there.data / "runs" / "r1" / "workspace" / "out" / "a").unlink()
    await known.step(there, arrive=False)
    assert await known.step(runs) == {**CLEAN, "out/b": "2"}
    assert known.fetched == 2


async def test_a_run_that_stays_fetches_nothing(runs: Runs, origin: Origin) -> None:
    """Over steps, a claim anew, and a restart; what an attempt left that was not recorded is not there again."""
    known = Rows()
    await known.step(runs, write={"out": "1"})
    await known.step(runs, arrive=False)
    await known.step(runs)
    runs.restart()
    assert await known.step(runs) == {**CLEAN, "out": "1"}
    assert known.fetched == 0
    before = known.kept
    await known.step(runs, write={"more": "2"})
    known.kept = before
    runs.restart()
    assert await known.step(runs) == {**CLEAN, "out": "1"}
    assert known.fetched == 1


async def test_what_was_all_taken_away_is_not_there_elsewhere(
    runs: Runs, origin: Origin, tmp_path: Path, server: GitServer
) -> None:
    """Nothing is a state too; and nothing new is not kept again."""
    known, there = Rows(), Runs(tmp_path / "there", server)
    await known.step(runs, write={"out": "1"})
    assert await runs.workspaces.left("r1") is None
    (runs.data / "runs" / "r1" / "workspace" / "out").unlink()
    await known.step(runs)
    assert known.kept is not None
    assert known.kept.mark == ""
    assert await known.step(there) == CLEAN
    assert await Runs(tmp_path / "nowhere", server).workspaces.left("r1") is None


async def test_more_than_is_carried_is_told_where_it_is_missed(
    runs: Runs, origin: Origin, tmp_path: Path, server: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run goes on where the files are; elsewhere it ends rather than go on without them."""
    monkeypatch.setattr(luggage, "MOST_BYTES", 3)
    known = Rows()
    await known.step(runs, write={"out": "four"})
    assert await known.step(runs) == {**CLEAN, "out": "four"}
    with pytest.raises(UserError, match="files_lost"):
        await known.step(Runs(tmp_path / "there", server))
