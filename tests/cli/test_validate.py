"""`threadsmith validate`: the checks of a dispatch, on this machine's files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import BOT_YML, Threadsmith

BROKEN = BOT_YML.replace("model:", "modle:")
BASE_FILE = "version: 1\nagents: {shared: {model: 'demo:x'}}\n"
LINKED = ":1:1: error symlink: a symlink is not followed (put the file itself here)"
WHERE = ".github/bot.yml:5:5: error unknown_key:"


@pytest.fixture
def broken(repository: Path) -> Path:
    """The same repository with a misspelt key."""
    (repository / ".github" / "bot.yml").write_text(BROKEN)
    return repository


def test_a_good_file(threadsmith: Threadsmith, repository: Path) -> None:
    """Nothing on standard output, so that a script may rely on it."""
    said = threadsmith("validate", repository)
    assert (said.code, said.out, said.err) == (0, "", "1 file checked, nothing to mend\n")


@pytest.mark.parametrize("inside", ["", ".github", ".github/bot.yml"])
def test_a_path_may_be_the_root_the_folder_or_the_file(threadsmith: Threadsmith, broken: Path, inside: str) -> None:
    """Findings name the path in the repository, whichever was given."""
    said = threadsmith("validate", broken / inside)
    assert said.code == 3
    assert said.out.startswith(WHERE)
    assert "did you mean `model`" in said.out


def test_without_a_path_it_is_the_working_directory(
    threadsmith: Threadsmith, broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As people call it."""
    monkeypatch.chdir(broken)
    assert threadsmith("validate").out.startswith(WHERE)


def test_json(threadsmith: Threadsmith, broken: Path) -> None:
    """For programs: a list with every key, and the same exit code."""
    said = threadsmith("validate", broken, "--format", "json")
    first, *_ = json.loads(said.out)
    assert said.code == 3
    assert (first["file"], first["line"], first["column"]) == (".github/bot.yml", 5, 5)
    assert first["code"] == "unknown_key"


def test_json_of_a_good_file(threadsmith: Threadsmith, repository: Path) -> None:
    """An empty list, and not a word beside it."""
    said = threadsmith("validate", repository, "--format", "json")
    assert (said.code, json.loads(said.out), said.err) == (0, [], "")


def test_github(threadsmith: Threadsmith, broken: Path) -> None:
    """Annotations, one a line."""
    said = threadsmith("validate", broken, "--format", "github")
    assert said.code == 3
    assert said.out.splitlines()[0].startswith("::error file=.github/bot.yml,line=5,col=5,title=unknown_key::")


@pytest.mark.parametrize("inside", ["", ".github/bot.yml"])
def test_files_of_the_folder_are_checked_too(threadsmith: Threadsmith, repository: Path, inside: str) -> None:
    """`.github/bot/workflows/*.yml` beside `bot.yml`, each fault in its own file."""
    more = repository / ".github" / "bot" / "workflows" / "build.yml"
    more.parent.mkdir(parents=True)
    more.write_text("steps: 5\n")
    said = threadsmith("validate", repository / inside)
    assert said.code == 3
    assert said.out.startswith(".github/bot/workflows/build.yml:1:")
    more.write_text('steps:\n  - {id: one, run: "true"}\n')
    assert threadsmith("validate", repository / inside).err == "2 files checked, nothing to mend\n"


def test_what_is_not_utf8(threadsmith: Threadsmith, repository: Path) -> None:
    """Named with the byte; the other file's faults are told as well."""
    (repository / ".github" / "bot.yml").write_bytes(BOT_YML.encode() + b"# \xff\n")
    (repository / ".github" / "bot" / "workflows").mkdir(parents=True)
    (repository / ".github" / "bot" / "workflows" / "build.yml").write_text("steps: 5\n")
    said = threadsmith("validate", repository)
    assert said.code == 3
    bad, other = (line for line in said.out.splitlines() if line)
    assert bad.startswith(".github/bot.yml:1:1: error not_utf8: byte ")
    assert f"byte {len(BOT_YML) + 2} " in bad
    assert other.startswith(".github/bot/workflows/build.yml:")


@pytest.mark.parametrize("inside", ["", ".github/bot.yml"])
@pytest.mark.parametrize("link", [".github/bot.yml", ".github/bot/prompts/a.md", ".github/bot/prompts"])
def test_a_link_is_refused_as_the_bot_refuses_it(
    threadsmith: Threadsmith, repository: Path, tmp_path: Path, link: str, inside: str
) -> None:
    """It could lead out of the repository, so it is not read, whatever it leads to."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text(BOT_YML)
    path = repository / link
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(outside if link.endswith("prompts") else outside / "file")
    said = threadsmith("validate", repository / inside)
    assert said.code == 3
    assert said.out.splitlines() == [link + LINKED]


@pytest.mark.parametrize("link", [".github", ".github/bot"])
def test_a_linked_folder_is_refused(threadsmith: Threadsmith, repository: Path, tmp_path: Path, link: str) -> None:
    """Said once, and nothing behind it is looked at."""
    real = tmp_path / "real"
    (real / "workflows").mkdir(parents=True)
    (real / "workflows" / "a.yml").write_text("steps: 5\n")
    path = repository / link
    if path.exists():
        path.rename(tmp_path / "away")
    path.symlink_to(real)
    assert threadsmith("validate", repository).out.splitlines() == [link + LINKED]


def test_a_repository_behind_a_link(threadsmith: Threadsmith, broken: Path, tmp_path: Path) -> None:
    """What leads to it is no part of it, but the machine's business."""
    (tmp_path / "there").symlink_to(broken)
    assert threadsmith("validate", tmp_path / "there").out.startswith(WHERE)
    (tmp_path / "folder").symlink_to(broken / ".github")
    assert threadsmith("validate", tmp_path / "folder").out.startswith(WHERE)


def test_a_byte_order_mark_does_no_harm(threadsmith: Threadsmith, repository: Path) -> None:
    """Some editors write one."""
    (repository / ".github" / "bot.yml").write_bytes(b"\xef\xbb\xbf" + BOT_YML.encode())
    assert threadsmith("validate", repository).code == 0


def test_nothing_to_check(threadsmith: Threadsmith, tmp_path: Path) -> None:
    """A repository without a file is served by the product's own agent; that is no fault."""
    said = threadsmith("validate", tmp_path)
    assert said.code == 0
    assert "`ask` agent serves" in said.err
    assert "checked" not in said.err


def test_a_path_that_is_not_there(threadsmith: Threadsmith, tmp_path: Path) -> None:
    """A fault of the call, not of a configuration."""
    said = threadsmith("validate", tmp_path / "nowhere")
    assert said.code == 2
    assert "does not exist" in said.err


def test_the_other_ending_is_noticed(threadsmith: Threadsmith, tmp_path: Path) -> None:
    """`bot.yaml` is not read, which would otherwise look like a bot that ignores its configuration."""
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github" / "bot.yaml").write_text("version: 1\n")
    said = threadsmith("validate", tmp_path)
    assert "ignored_file" in said.out


def test_a_base_is_read_from_a_checkout(threadsmith: Threadsmith, tmp_path: Path) -> None:
    """With `--base`; without it the finding says so."""
    for place, text in (("own", "extends: acme/.github@main\ndefault: shared\n"), ("base", BASE_FILE)):
        folder = tmp_path / place / ".github"
        folder.mkdir(parents=True)
        (folder / "bot.yml").write_text(text)
    said = threadsmith("validate", tmp_path / "own")
    assert said.code == 3
    assert ".github/bot.yml:1:10: error extends: `acme/.github@main` was not read" in said.out
    said = threadsmith("validate", tmp_path / "own", "--base", tmp_path / "base")
    assert (said.code, said.out) == (0, "")
    (tmp_path / "base" / ".github" / "bot.yml").write_text(BASE_FILE + "nonsense: 1\n")
    said = threadsmith("validate", tmp_path / "own", "--base", tmp_path / "base")
    assert said.out.startswith("acme/.github@main:.github/bot.yml:3:1: error unknown_key")


def test_a_path_may_be_any_of_its_configuration_files_and_folders(threadsmith: Threadsmith, repository: Path) -> None:
    """The whole configuration is checked, as one file may use another."""
    folder = repository / ".github" / "bot" / "workflows"
    folder.mkdir(parents=True)
    (folder / "look.yml").write_text("steps: [{id: look, agent: nobody}]\n")
    told = ".github/bot/workflows/look.yml:1:27: error unknown_agent:"
    for path in (folder / "look.yml", folder, folder.parent):
        said = threadsmith("validate", path)
        assert (said.code, said.out.startswith(told)) == (3, True), said.out
    (folder / "look.yml").write_text("steps: [{id: look, agent: helper}]\n")
    assert threadsmith("validate", folder / "look.yml").code == 0  # `bot.yml` has the agent


def test_one_workflow_by_itself(threadsmith: Threadsmith, tmp_path: Path) -> None:
    """A file that has steps and no version is held to be one; the built-in agent is there."""
    file = tmp_path / "look.yml"
    file.write_text("steps: [{id: look, agent: ask, promt: Look.}]\n")
    said = threadsmith("validate", file)
    assert said.code == 3
    assert said.out.startswith(".github/bot/workflows/look.yml:1:32: error unknown_key:")
    file.write_text("steps: [{id: look, agent: ask, prompt: Look.}]\n")
    assert threadsmith("validate", file).code == 0


def test_a_file_that_is_not_the_bots_is_taken_for_itself(threadsmith: Threadsmith, repository: Path) -> None:
    """GitHub's own workflows stand in `.github` too."""
    other = repository / ".github" / "workflows" / "ci.yml"
    other.parent.mkdir()
    other.write_text("on: push\njobs: {}\n")
    said = threadsmith("validate", other)
    assert (said.code, "unknown_key" in said.out) == (3, True)
