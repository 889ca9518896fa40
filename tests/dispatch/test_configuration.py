"""The configuration at the head of the default branch, and what is in the way of reading it."""

from __future__ import annotations

from dataclasses import replace

import httpx
import pytest

from bot.dispatch import configuration
from bot.dispatch.configuration import Configured
from bot.errors import Transient
from bot.workflows import Memo, builtin_files
from tests.dispatch.scene import COMMIT, REPO, Scene
from tests.github.fake import answer
from tests.rows import REPOSITORY


async def current(scene: Scene, memo: Memo | None = None) -> Configured:
    client = scene.github.repository(5, REPOSITORY)
    return await configuration.current(client, REPOSITORY, memo or Memo(builtin_files()))


async def test_what_the_head_says(scene: Scene) -> None:
    """Commit, files and the checked configuration; a byte order mark is no part of it; checked once a commit."""
    scene.configure("\ufeffversion: 1\ndefault: mine\nagents: {mine: {model: 'demo:echo'}}\n")
    memo = Memo(builtin_files())
    found = await current(scene, memo)
    assert (found.commit, found.findings) == (COMMIT, ())
    assert found.files[".github/bot.yml"].startswith("version")
    assert found.configuration is not None
    assert found.configuration.bot.default == "mine"
    assert (await current(scene, memo)).configuration is found.configuration


@pytest.mark.parametrize("status", [404, 409])
async def test_nothing_there_is_no_fault(scene: Scene, status: int) -> None:
    """No branch, or an empty repository: the product's own configuration, at no commit."""
    scene.server.on("GET", f"{REPO}/commits/main", answer({"message": "nothing"}, status))
    found = await current(scene)
    assert (found.commit, found.files) == ("", {})
    assert found.configuration is not None
    assert found.configuration.bot.default == "ask"


async def test_a_fault_of_github_is_raised(scene: Scene) -> None:
    """It says nothing about the file."""
    scene.server.on("GET", f"{REPO}/commits/main", answer({}, 502, retry_after="60"))
    with pytest.raises(Transient):
        await current(scene)


@pytest.mark.parametrize(
    ("data", "line", "column"), [(b"version: 1\n# caf\xe9\n", 2, 6), (b"\xff", 1, 1), (b"a\nb\n\xc3(", 3, 1)]
)
async def test_a_file_that_is_no_text_has_a_finding(scene: Scene, data: bytes, line: int, column: int) -> None:
    """Line and column of the first byte that is not UTF-8, and what to do."""
    scene.configure(data)
    found = await current(scene)
    assert (found.configuration, found.files) == (None, {})
    (finding,) = found.findings
    assert (finding.line, finding.column, finding.code) == (line, column, "not_utf8")
    assert (finding.file, finding.hint) == (".github/bot.yml", "save the file as UTF-8")


async def test_a_broken_file_keeps_its_findings(scene: Scene) -> None:
    """The commit is named; there is no configuration."""
    scene.configure("version: 1\nnonsense: 2\n")
    found = await current(scene)
    assert (found.commit, found.configuration, found.findings[0].code) == (COMMIT, None, "unknown_key")


async def test_what_is_refused_unread_has_findings_too(scene: Scene) -> None:
    """A symlink in place of the file."""
    link = {"path": "bot.yml", "mode": "120000", "type": "blob", "sha": "f" * 40}
    root = {"path": ".github", "mode": "040000", "type": "tree", "sha": "e" * 40}
    scene.server.on("GET", f"{REPO}/commits/main", httpx.Response(200, text=COMMIT))
    scene.server.on("GET", f"{REPO}/git/trees/{COMMIT}", answer({"sha": COMMIT, "tree": [root], "truncated": False}))
    scene.server.on("GET", f"{REPO}/git/trees/{'e' * 40}", answer({"sha": "e", "tree": [link], "truncated": False}))
    found = await current(scene)
    assert (found.commit, found.configuration, found.findings[0].code) == (COMMIT, None, "symlink")


async def test_another_default_branch_is_followed(scene: Scene) -> None:
    """The payload names it."""
    scene.configure("version: 1\n")
    other = replace(REPOSITORY, default_branch="trunk")
    found = await configuration.current(scene.github.repository(5, other), other, Memo(builtin_files()))
    assert found.commit == ""
    assert scene.asked("commits") == [f"{REPO}/commits/trunk"]
