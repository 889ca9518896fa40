"""Git: the repository on disk, and real clients over a real port."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from bot.demo.git import GitRepository, Symlink, environment
from bot.demo.server import LookAlikeServer
from tests.demo.scene import Scene, scene

AT = datetime(2025, 11, 3, tzinfo=UTC)


def test_commits_build_on_each_other(tmp_path: Path) -> None:
    """Content, modes, deletion and history are git's own."""
    repo = GitRepository.create(tmp_path / "x.git", "main")
    assert repo.resolve("main") is None
    who = ("Ana", "ana@example.org")
    first = repo.commit("main", {"a b/ü.txt": "one\n", "run.sh": "#!/bin/sh\n", "to": Symlink("a b")}, who, "First", AT)
    second = repo.commit("main", {"a b/ü.txt": None, 'q"uote': b"\x00\xff"}, who, "Second\n\nwith more", AT)
    made = repo.details(second)
    assert made is not None
    assert (made.parents, made.message, made.author) == ((first,), "Second\n\nwith more", (*who, int(AT.timestamp())))
    entries = {entry.path: entry for entry in repo.tree(first, recursive=True) or ()}
    assert {path: entry.mode for path, entry in entries.items() if entry.type == "blob"} == {
        "a b/ü.txt": "100644", "run.sh": "100755", "to": "120000",
    }  # fmt: skip
    assert repo.blob(entries["a b/ü.txt"].sha) == b"one\n"
    assert entries["a b"].type == "tree"
    changes = {change.path: change for change in repo.changes(second)}
    assert {path: change.status for path, change in changes.items()} == {"a b/ü.txt": "removed", 'q"uote': "added"}
    assert (changes["a b/ü.txt"].additions, changes["a b/ü.txt"].deletions) == (0, 1)
    assert repo.log(second, first) == [second]


def test_references_are_no_expressions(tmp_path: Path) -> None:
    """Branches, full refs and SHAs resolve; what rev-parse would compute does not."""
    repo = GitRepository.create(tmp_path / "x.git", "main")
    for number in range(2):
        sha = repo.commit("main", {"a": str(number)}, ("Ana", "a@example.org"), "x", AT)
    for name in ("main", "refs/heads/main", "heads/main", "HEAD", sha, sha[:10]):
        assert repo.resolve(name) == sha, name
    for name in ("main~1", "main^", "HEAD@{0}", "--all", "../../x", ":a", "nothing", ""):
        assert repo.resolve(name) is None, name
    assert repo.read("main") is None
    assert repo.tree("-r") is None


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Scene]:
    """A scene on a real port."""
    made = scene(tmp_path / "world")
    async with LookAlikeServer(made.world):
        yield made


async def git(*argv: str, cwd: Path) -> tuple[int, str]:
    """Run git; exit code and everything it said."""
    process = await asyncio.create_subprocess_exec(
        "git", "-c", "protocol.version=2", *argv, cwd=cwd, env=environment(),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    out, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode()


def address(made: Scene, token: str = "", repo: str = "ana/parser") -> str:
    """A clone address with a token in it."""
    host = made.world.site_url.removeprefix("http://")
    return f"http://{f'x-access-token:{token}@' if token else ''}{host}/{repo}.git"


async def test_clone_fetch_and_push(served: Scene, tmp_path: Path) -> None:
    """A clone holds the files; a later commit is fetched; a push is known to the world and told."""
    token = served.world.user_token("meg")
    async with httpx.AsyncClient() as client:
        shown = (await client.get(f"{served.world.api_url}/repos/ana/parser")).json()
    assert shown["clone_url"] == address(served)
    assert (await git("clone", "-q", "--depth=1", shown["clone_url"], "shallow", cwd=tmp_path))[0] == 0
    code, said = await git("clone", "-q", address(served, token), "full", cwd=tmp_path)
    assert (code, said) == (0, "")
    folder = tmp_path / "full"
    assert (folder / "src/size.py").read_text().startswith("def parse_size")
    sha = served.world.write_file(served.repo, "later.txt", "x", "ana")
    await git("pull", "-q", cwd=folder)
    assert (await git("rev-parse", "HEAD", cwd=folder))[1].strip() == sha
    (folder / "big.bin").write_bytes(bytes(range(256)) * 8192)
    await git("add", ".", cwd=folder)
    await git("-c", "user.name=Meg", "-c", "user.email=m@example.org", "commit", "-qm", "Big", cwd=folder)
    code, said = await git("push", "-q", "origin", "HEAD:refs/heads/side", cwd=folder)
    assert code == 0, said
    body = served.world.deliveries[-1].payload()
    assert (body["ref"], body["created"], body["pusher"]["name"]) == ("refs/heads/side", True, "meg")
    assert body["after"] == served.repo.git.resolve("side")
    assert (await git("push", "-q", "origin", ":side", cwd=folder))[0] == 0
    assert served.world.deliveries[-1].payload()["deleted"] is True
    assert served.repo.git.resolve("side") is None


async def test_who_may_use_git(served: Scene, tmp_path: Path) -> None:
    """Contents permission for the repository, write to push, a role for people; private ones stay unseen."""
    world = served.world
    world.add_repository("ana", "secret", private=True)
    other = world.add_repository("ana", "other", private=True)
    narrow = world.mint(served.installation, [other.id], {"contents": "read"}).value
    tokens = {
        ("", "ana/parser"): True,
        ("", "ana/secret"): False,
        ("wrong", "ana/secret"): False,
        (narrow, "ana/other"): True,
        (narrow, "ana/secret"): False,
        (world.mint(served.installation, None, {"issues": "write"}).value, "ana/secret"): False,
        (world.user_token("sam"), "ana/secret"): False,
        (world.user_token("ana"), "ana/secret"): True,
        (world.user_token("ana"), "ana/nothing"): False,
    }
    for (token, repo), allowed in tokens.items():
        code, said = await git("ls-remote", address(served, token, repo), cwd=tmp_path)
        assert (code == 0) is allowed, (token, repo, said)
    await git("clone", "-q", address(served), "x", cwd=tmp_path)
    for token in ("", narrow, world.user_token("sam"), world.mint(served.installation).value):
        where = address(served, token)
        code, said = await git("push", "-q", where, "HEAD:refs/heads/new", cwd=tmp_path / "x")
        assert code != 0, token
    assert served.repo.git.resolve("new") is None
    assert {seen.kind for seen in world.requests} == {"git"}


async def test_a_lost_reply_over_a_real_port(served: Scene) -> None:
    """The connection breaks; the comment is there."""
    token = served.world.mint(served.installation).value
    served.world.faults.lose_reply()
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as client:
        here = f"{served.world.api_url}/repos/ana/parser/issues/1/comments"
        with pytest.raises(httpx.TransportError):
            await client.post(here, json={"body": "once"})
        assert len((await client.get(here)).json()) == 1


async def test_the_port_is_free_afterwards(tmp_path: Path) -> None:
    """A stopped server refuses, also while a page was being followed."""
    made = scene(tmp_path)
    async with LookAlikeServer(made.world) as server:
        url = f"{server.url}/_demo/ana/parser/issues/1/events"
        client = httpx.AsyncClient()
        streaming = client.stream("GET", url)
        answer = await streaming.__aenter__()
        assert answer.headers["content-type"].startswith("text/event-stream")
    assert made.world.feed.subscriptions == set()
    await streaming.__aexit__(None, None, None)
    with pytest.raises(httpx.ConnectError):
        await client.get(url)
    await client.aclose()
