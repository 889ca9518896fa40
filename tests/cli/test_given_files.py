"""Files and secrets given on the command line: `threadsmith run` and `simulate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Threadsmith
from tests.cli.test_run import THREAD

BOT_YML = """\
version: 1
workflows:
  read:
    inputs: {spec: {type: file, accept: [.md]}, token: {type: secret, required: false}}
    steps:
      - id: one
        run: cat "$SPEC"; echo "${#TOKEN} of $TOKEN"
        env: {SPEC: "${{ inputs.spec }}", TOKEN: "${{ inputs.token ?? '-' }}"}
      - {id: two, uses: inner, inputs: {file: made.md}}
      - {id: three, when: inputs.spec.size_bytes > 0, run: echo last}
  inner:
    inputs: {file: {type: file}}
    export: {from: [a]}
    steps:
      - {id: a, run: 'cat "$F"; echo 1 > "$BOT_RESULT_FILE"', env: {F: "${{ inputs.file }}"}}
"""


@pytest.fixture(autouse=True)
def thread(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A thread file of a repository with numbers, the workflows above, and two files."""
    (repository / ".github" / "bot.yml").write_text(BOT_YML)
    (repository / "a.md").write_text("# A\n")
    (repository / "made.md").write_text("made\n")
    monkeypatch.setenv("BOT_SANDBOX", "off")
    made = tmp_path / "thread.json"
    made.write_text(json.dumps(THREAD))
    return made


def test_a_file_of_the_folder(threadsmith: Threadsmith, repository: Path, thread: Path) -> None:
    """It is read once and found by every step; a used workflow has its own."""
    said = threadsmith("run", "read", "--thread", thread, "--config", repository, "--input", "spec=a.md")
    assert (said.code, said.out.splitlines()) == (0, ["# A", "1 of -", "made", "last"])


@pytest.mark.parametrize(
    ("given", "words"),
    [("spec=none.md", "there is no file `none.md`"), ("spec=LICENSE", "accepted are `.md`"),
     ("spec=https://github.com/a.md", "a local run has no GitHub"), ("spec=../a.md", "a path of the repository")],
)  # fmt: skip
def test_a_file_that_does_not_do(
    threadsmith: Threadsmith, repository: Path, thread: Path, given: str, words: str
) -> None:
    """Nothing runs."""
    (repository / "LICENSE").write_text("text\n")
    said = threadsmith("run", "read", "--thread", thread, "--config", repository, "--input", given)
    assert said.code != 0
    assert words in said.err
    assert "# A" not in said.out


def test_a_secret_by_its_name(
    threadsmith: Threadsmith, repository: Path, thread: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the folder that the settings name, redacted; one that is not there fails the step."""
    folder = tmp_path / "secrets"
    (folder / "1").mkdir(parents=True, mode=0o700)
    (folder / "1" / "TOKEN").write_text("s3cr3t-of-the-tests")
    (folder / "1" / "TOKEN").chmod(0o600)
    monkeypatch.setenv("BOT_SECRETS_DIR", str(folder))
    call = ("run", "read", "--thread", thread, "--config", repository, "--input", "spec=a.md", "--input")
    said = threadsmith(*call, "token=TOKEN")
    assert said.code == 0, said.err
    assert "19 of" in said.out
    assert "s3cr3t" not in said.out
    said = threadsmith(*call, "token=OTHER")
    assert "secret_unavailable" in said.err


def test_a_simulation_takes_any_file(threadsmith: Threadsmith, repository: Path) -> None:
    """Of the repository, or made up; nothing is refused for its content."""
    for given in ("spec=a.md", "spec=none.md", "spec=https://github.com/user-attachments/files/1/a.md"):
        said = threadsmith("simulate", "read", "--config", repository, "--input", given, "--input", "token=ANY")
        assert said.code == 0, said.err
        assert "three" in said.out
