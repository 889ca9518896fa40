"""The repository's configuration at a commit: what is read, how often, and what is refused."""

from __future__ import annotations

import asyncio
import hashlib
from base64 import b64encode
from dataclasses import replace
from typing import Any

import httpx
import pytest

from bot.errors import ConfigurationError, Forbidden, NotFound, Transient
from bot.github import configuration
from tests.github.fake import COMMIT, REPOSITORY, FakeGitHub, answer, make_client, make_github

REPO = "/repos/ana/parser"
NEXT = "d" * 40
#: path → bytes, or what git knows besides files: a mode
Files = dict[str, bytes | str]
SMALL: Files = {
    "README.md": b"hello",
    ".github/bot.yml": b"agents: {}\n",
    ".github/bot/prompts/ask.md": b"\xff\x00 not text",
    ".github/bot/build.yml": b"",
    ".github/workflows/ci.yml": b"on: push",
    "src/bot.yml": b"no",
}
WANTED = {
    ".github/bot.yml": b"agents: {}\n",
    ".github/bot/prompts/ask.md": b"\xff\x00 not text",
    ".github/bot/build.yml": b"",
}


def sha(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


def trees(server: FakeGitHub, commit: str, files: Files, *, sizes: bool = True, flat: bool = False) -> None:
    """Serve files as git trees and blobs; `flat` as a server does that lists whole paths at the root."""
    for content in files.values():
        if isinstance(content, bytes):
            blob = {"content": b64encode(content).decode(), "encoding": "base64", "size": len(content)}
            server.on("GET", f"{REPO}/git/blobs/{sha(content)}", answer(blob))

    def tree(prefix: str) -> str:
        entries: dict[str, dict[str, Any]] = {}
        for path, content in files.items():
            if not path.startswith(prefix):
                continue
            name = path.removeprefix(prefix)
            if "/" in name and not flat:
                name = name.split("/")[0]
                if name in entries:
                    continue
                entries[name] = {"path": name, "mode": "040000", "type": "tree", "sha": tree(f"{prefix}{name}/")}
            elif isinstance(content, bytes):
                entries[name] = {"path": name, "mode": "100644", "type": "blob", "sha": sha(content)}
                if sizes:
                    entries[name]["size"] = len(content)
            else:
                kind = "commit" if content == "160000" else "blob"
                entries[name] = {"path": name, "mode": content, "type": kind, "sha": "f" * 40}
        name = commit if prefix == "" else sha(repr(sorted(entries.items())).encode())
        server.on(
            "GET", f"{REPO}/git/trees/{name}", answer({"sha": name, "tree": list(entries.values()), "truncated": False})
        )
        return name

    tree("")


def contents(server: FakeGitHub, files: Files) -> None:
    """Serve files by the contents API alone."""

    def entry(path: str, content: bytes | str) -> dict[str, Any]:
        data: dict[str, Any] = {"path": path, "type": "file", "sha": "e" * 40, "git_url": "https://x/git/blobs/e"}
        if content == "120000":
            return {**data, "type": "symlink"}
        if content == "160000":
            # what listings say about a submodule
            return {**data, "git_url": "https://x/git/trees/e", "size": 0}
        assert isinstance(content, bytes)
        return {**data, "sha": sha(content), "size": len(content)}

    folders = {path.rsplit("/", depth)[0] for path in files for depth in range(1, path.count("/") + 1)}
    for folder in folders:
        listing = [entry(p, c) for p, c in files.items() if p.rsplit("/", 1)[0] == folder]
        listing += [{"path": f, "type": "dir", "sha": ""} for f in folders if f.rpartition("/")[0] == folder]
        server.on("GET", f"{REPO}/contents/{folder}", answer(listing))
    for path, content in files.items():
        body = entry(path, content)
        if isinstance(content, bytes):
            body |= {"content": b64encode(content).decode(), "encoding": "base64"}
        server.on("GET", f"{REPO}/contents/{path}", answer(body))


async def refused(server: FakeGitHub) -> list[tuple[str, str]]:
    with pytest.raises(ConfigurationError) as caught:
        await make_client(server).configuration_files(COMMIT)
    assert all((f.line, f.column, f.severity) == (1, 1, "error") and f.hint for f in caught.value.findings)
    return [(finding.file, finding.code) for finding in caught.value.findings]


@pytest.mark.parametrize(("sizes", "flat"), [(True, False), (False, False), (True, True)])
async def test_by_trees(sizes: bool, flat: bool) -> None:
    """The file and the folder, as bytes, and nothing else of the repository."""
    server = FakeGitHub()
    trees(server, COMMIT, SMALL, sizes=sizes, flat=flat)
    assert await make_client(server).configuration_files(COMMIT) == WANTED


async def test_by_contents() -> None:
    """On a server without git objects; always at the commit that was asked for."""
    server = FakeGitHub()
    contents(server, SMALL)
    assert await make_client(server).configuration_files(COMMIT) == WANTED
    asked = [request.url.params.get("ref") for request in server.sent() if "/contents/" in request.url.path]
    assert set(asked) == {COMMIT}


async def test_nothing_at_all() -> None:
    """One request, and no configuration."""
    server = FakeGitHub()
    trees(server, COMMIT, {"README.md": b"hello", ".github/workflows/ci.yml": b""})
    assert await make_client(server).configuration_files(COMMIT) == {}
    server = FakeGitHub()
    trees(server, COMMIT, {"README.md": b"hello"})
    assert await make_client(server).configuration_files(COMMIT) == {}
    assert len(server.sent()) == 1


async def test_a_file_where_a_folder_could_be() -> None:
    """Nothing of ours is in it."""
    for files in ({".github": b"x"}, {".github/bot": b"x"}):
        server = FakeGitHub()
        trees(server, COMMIT, {**files})
        assert await make_client(server).configuration_files(COMMIT) == {}


async def test_a_new_commit_costs_one_request() -> None:
    """Trees and blobs are kept by what they hold: only the root is listed again."""
    server = FakeGitHub()
    trees(server, COMMIT, SMALL)
    trees(server, NEXT, {**SMALL, "README.md": b"changed"})
    client = make_client(server)
    await client.configuration_files(COMMIT)
    before = len(server.sent())
    assert await client.configuration_files(COMMIT) == WANTED
    assert len(server.sent()) == before
    assert await client.configuration_files(NEXT) == WANTED
    assert len(server.sent()) == before + 1


async def test_a_changed_file_is_read_again() -> None:
    """And only that one."""
    server = FakeGitHub()
    trees(server, COMMIT, SMALL)
    trees(server, NEXT, {**SMALL, ".github/bot.yml": b"agents: {a: 1}\n"})
    client = make_client(server)
    await client.configuration_files(COMMIT)
    before = len(server.sent())
    assert (await client.configuration_files(NEXT))[".github/bot.yml"] == b"agents: {a: 1}\n"
    # root, .github, the blob
    assert len(server.sent()) == before + 3


async def test_nothing_is_shared_between_repositories() -> None:
    """Another repository with the same SHA is asked on its own."""
    server = FakeGitHub()
    trees(server, COMMIT, SMALL)
    github = make_github(server)
    await github.repository(5, REPOSITORY).configuration_files(COMMIT)
    other = github.repository(5, replace(REPOSITORY, id=8))
    before = len(server.sent())
    assert await other.configuration_files(COMMIT) == WANTED
    assert len(server.sent()) == 2 * before


@pytest.mark.parametrize("serve", [lambda server, files: trees(server, COMMIT, files), contents])
async def test_links_are_refused(serve: Any) -> None:
    """Each with its place: a link could show what the repository does not hold."""
    server = FakeGitHub()
    serve(
        server,
        {
            ".github/bot.yml": "120000",
            ".github/bot/sub": "160000",
            ".github/bot/deep/link.md": "120000",
            ".github/other": "120000",
        },
    )
    assert await refused(server) == [
        (".github/bot.yml", "symlink"),
        (".github/bot/deep/link.md", "symlink"),
        (".github/bot/sub", "submodule"),
    ]


@pytest.mark.parametrize("mode", ["120000", "160000"])
@pytest.mark.parametrize("path", [".github", ".github/bot"])
async def test_linked_folders_are_refused(path: str, mode: str) -> None:
    """Said, rather than read as no configuration."""
    server = FakeGitHub()
    trees(server, COMMIT, {path: mode})
    assert await refused(server) == [(path, "symlink" if mode == "120000" else "submodule")]


async def test_a_linked_folder_by_contents() -> None:
    """The contents API answers with one object instead of a list."""
    server = FakeGitHub()
    contents(server, {".github": "120000"})
    assert await refused(server) == [(".github", "symlink")]


async def test_a_folder_in_place_of_the_file() -> None:
    """Said, with where more files go."""
    server = FakeGitHub()
    trees(server, COMMIT, {".github/bot.yml/x": b""})
    assert await refused(server) == [(".github/bot.yml", "not_a_file")]


@pytest.mark.parametrize("sizes", [True, False])
async def test_too_large(sizes: bool) -> None:
    """256 KiB are taken, a byte more is not, and is not even fetched where the listing tells."""
    server = FakeGitHub()
    limit = configuration.MAX_FILE_BYTES
    trees(server, COMMIT, {".github/bot.yml": b"x" * limit, ".github/bot/a.md": b"x" * (limit + 1)}, sizes=sizes)
    assert await refused(server) == [(".github/bot/a.md", "file_too_large")]
    assert bool(sizes) != any("/blobs/" in request.url.path for request in server.sent())


async def test_too_much_in_all() -> None:
    """Seventeen files of 256 KiB are more than four MiB."""
    server = FakeGitHub()
    files: Files = {f".github/bot/{n}": bytes([n]) * configuration.MAX_FILE_BYTES for n in range(17)}
    trees(server, COMMIT, files)
    assert await refused(server) == [(".github/bot", "too_many_bytes")]


async def test_too_many_files() -> None:
    """Nobody fetches six hundred files."""
    server = FakeGitHub()
    trees(server, COMMIT, {f".github/bot/{n}": b"" for n in range(configuration.MAX_FILES + 1)})
    assert await refused(server) == [(".github/bot", "too_many_files")]
    assert len(server.sent()) == 3


@pytest.mark.parametrize("path", ["/".join(["deep"] * 200), "{n}/x"])
async def test_too_many_folders(path: str) -> None:
    """Neither deep nor wide."""
    server = FakeGitHub()
    trees(server, COMMIT, {f".github/bot/{path.format(n=n)}": b"" for n in range(150)})
    assert await refused(server) == [(".github/bot", "too_many_files")]
    assert len(server.sent()) < 110


@pytest.mark.parametrize("status", [404, 409, 422])
async def test_no_such_commit(status: int) -> None:
    """Never read as "no configuration"."""
    server = FakeGitHub()
    server.on("GET", f"{REPO}/git/trees/{COMMIT}", answer({"message": "Git Repository is empty."}, status))
    server.on("GET", f"{REPO}/contents/.github", answer({"message": f"No commit found for the ref {COMMIT}"}, 404))
    with pytest.raises(NotFound, match="No commit found"):
        await make_client(server).configuration_files(COMMIT)


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (answer({}, 503), Transient),
        (answer({"message": "no"}, 403), Forbidden),
        (answer({"tree": None}), Transient),
        (httpx.Response(200, text="hello"), Transient),
    ],
)
async def test_a_listing_that_fails(response: httpx.Response, expected: type[Exception]) -> None:
    """Never read as "no configuration" either."""
    server = FakeGitHub()
    server.on("GET", f"{REPO}/git/trees/{COMMIT}", response)
    with pytest.raises(expected):
        await make_client(server).configuration_files(COMMIT)


@pytest.mark.parametrize(
    "blob", [{"content": "x", "encoding": "none"}, {"content": "a", "encoding": "base64"}, {"encoding": "base64"}, []]
)
async def test_a_blob_that_cannot_be_read(blob: Any) -> None:
    """Never a file with something else in it."""
    server = FakeGitHub()
    trees(server, COMMIT, {".github/bot.yml": b"x"})
    server.on("GET", f"{REPO}/git/blobs/{sha(b'x')}", answer(blob))
    with pytest.raises(Transient):
        await make_client(server).configuration_files(COMMIT)


async def test_a_blob_as_text() -> None:
    """GitHub's other encoding."""
    server = FakeGitHub()
    trees(server, COMMIT, {".github/bot.yml": b"x"})
    server.on("GET", f"{REPO}/git/blobs/{sha(b'x')}", answer({"content": "é", "encoding": "utf-8"}))
    assert await make_client(server).configuration_files(COMMIT) == {".github/bot.yml": "é".encode()}


async def test_a_few_blobs_at_once() -> None:
    """Side by side, and never a flood."""
    server = FakeGitHub()
    trees(server, COMMIT, {f".github/bot/{n}": bytes([n]) for n in range(30)})
    now, most = 0, 0

    async def counted(request: httpx.Request) -> httpx.Response:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        response = await server.handle(request)
        now -= 1
        return response

    files = await make_client(server, transport=httpx.MockTransport(counted)).configuration_files(COMMIT)
    assert len(files) == 30
    assert most == 6
