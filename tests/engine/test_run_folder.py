"""What earlier steps left, as files: places that cannot collide or escape, written once, without secrets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from bot.engine.frames import Tree
from bot.engine.run_folder import RunFolder, has_commands, place_of
from bot.errors import OperatorError
from bot.model.outcome import Done, Failed
from bot.store import Store, snapshots
from bot.workflows import load
from tests.engine.play import Play


class Shelf:
    """A run's folder, and how often bytes were read for it."""

    def __init__(self, play: Play, store: Store, parent: Path) -> None:
        self.play, self.store, self.reads = play, store, 0
        self.folder = RunFolder(parent, lambda text: text.replace("s3cret", "[redacted]"))

    async def lay_out(self) -> Path:
        rows = await self.play.case.rows()
        terms = self.play.case.terms
        return await self.folder.lay_out(Tree.of(rows, terms.workflow, terms.find), self._read)

    async def _read(self, digest: str) -> bytes:
        self.reads += 1
        return await self.store.read(lambda session: snapshots.get_blob(session, digest))


def files(folder: Path) -> dict[str, str]:
    """Every file with its text."""
    return {str(one.relative_to(folder)): one.read_text() for one in sorted(folder.rglob("*")) if one.is_file()}


LOOP = """
- {id: make, run: make}
- {id: test, run: test, next: [{when: "outcome == 'fail'", to: make}, {to: tell}], loop: {max: 3}}
- {id: tell, agent: writer}
"""


async def test_the_newest_attempt_of_each_step_and_the_older_ones(store: Store, tmp_path: Path) -> None:
    """Under their numbers; a step that printed nothing has empty files; no prompt is there."""
    script = {
        "make": [Done("m1", stdout="m1", stderr="warned"), Done(result={"n": 2})],
        "test": [
            Failed("command_failed", "no", output="t1", stdout="t1", stderr="last words"),
            Done("t2", stdout="t2"),
        ],
        "tell": Done("the s3cret answer"),
    }
    play = await (await Play.of(store, LOOP, script)).go()
    folder = await Shelf(play, store, tmp_path).lay_out()
    assert files(folder) == {
        "make/attempts/1/response.md": "m1",
        "make/attempts/1/stderr": "warned",
        "make/attempts/1/stdout": "m1",
        "make/response.md": "",
        "make/result.json": '{"n":2}\n',
        "make/stderr": "",
        "make/stdout": "",
        "tell/response.md": "the [redacted] answer",
        "test/attempts/1/response.md": "t1",
        "test/attempts/1/stderr": "last words",
        "test/attempts/1/stdout": "t1",
        "test/response.md": "t2",
        "test/stderr": "",
        "test/stdout": "t2",
    }
    assert {one.stat().st_mode & 0o777 for one in folder.rglob("*") if one.is_file()} == {0o400}


async def test_nothing_is_written_twice(store: Store, tmp_path: Path) -> None:
    """Only what has ended since; the folder stays the same."""
    script = {"make": [Done("m1"), Done("m2")], "test": [Failed("x", "no", output="t1"), Done("t2")]}
    play = await Play.of(store, LOOP, script)
    shelf = Shelf(play, store, tmp_path)
    await play.more()
    await play.step()
    folder = await shelf.lay_out()
    first = (folder / "make/response.md").stat()
    assert shelf.reads == 1
    await play.step()
    assert await shelf.lay_out() == folder
    assert (folder / "make/response.md").stat().st_ino == first.st_ino
    assert shelf.reads == 2
    await play.go()
    await shelf.lay_out()
    assert (folder / "make/attempts/1/response.md").stat().st_ino == first.st_ino
    assert (folder / "make/response.md").read_text() == "m2"
    before = shelf.reads
    await shelf.lay_out()
    assert shelf.reads == before


async def test_what_is_under_way_or_ended_without_an_outcome_is_not_there(store: Store, tmp_path: Path) -> None:
    """Neither a step that runs, nor one that was skipped."""
    steps = "- {id: a, run: a, when: \"outcome == 'never'\"}\n- {id: b, run: b}\n- {id: c, run: c}"
    play = await Play.of(store, steps)
    await play.more()
    await play.step()
    folder = await Shelf(play, store, tmp_path).lay_out()
    assert sorted(one.name for one in folder.iterdir()) == ["b"]


async def test_another_process_trusts_nothing_that_it_did_not_write(store: Store, tmp_path: Path) -> None:
    """It makes a folder of its own from the rows."""
    play = await (await Play.of(store, LOOP)).go()
    first = await Shelf(play, store, tmp_path).lay_out()
    (first / "make").rename(first / "gone")
    second = await Shelf(play, store, tmp_path).lay_out()
    assert second != first
    assert (second / "make/response.md").read_text() == "did make"


async def test_a_disk_that_refuses(store: Store, tmp_path: Path) -> None:
    """Is the operator's matter; the next time everything is made anew."""
    play = await Play.of(store, LOOP)
    shelf = Shelf(play, store, tmp_path)
    await play.more()
    await play.step()
    folder = await shelf.lay_out()
    await play.step()
    folder.rename(tmp_path / "moved")
    folder.touch()
    with pytest.raises(OperatorError, match="cannot write"):
        await shelf.lay_out()
    again = await shelf.lay_out()
    assert again != folder
    assert (again / "make/response.md").read_text() == "did make"
    assert (again / "test/response.md").read_text() == "did test"


# -- places


async def test_steps_of_inner_frames_stand_behind_the_path_of_their_frame(store: Store, tmp_path: Path) -> None:
    """Keys of elements are quoted: none leads out, and none is another step's."""
    steps = """
- {id: find, run: ls}
- id: fix
  each: {over: "${{ steps.find.result.files }}", key: name}
  run: fix
"""
    names = ["..", "/etc", "a/../b", "fix", "ä " * 200, "ä " * 199 + "ö "]
    script = {"find": Done(result={"files": [{"name": name} for name in names]})}
    play = await (await Play.of(store, steps, script)).go()
    folder = await Shelf(play, store, tmp_path).lay_out()
    found = sorted(str(one.relative_to(folder)) for one in folder.rglob("response.md"))
    keys = ("..", "%2Fetc", "a%2F..%2Fb", "fix")
    assert {"find/response.md", "fix/response.md", *(f"fix[{key}]#1/fix/response.md" for key in keys)} < set(found)
    assert len(found) == 2 + len(names)
    assert all(len(part) <= 100 for path in found for part in path.split("/"))


@pytest.mark.parametrize(
    ("path", "step", "expected"),
    [
        ("/", "plan", r"plan"),
        ("/fan[web]#1/", "plan", r"fan\[web\]#1/plan"),
        ("/fan[web]#1/one#2.1", "plan", r"fan\[web\]#1/one#2\.1/plan"),
        ("/", "p" * 300, r"p{60}\+[0-9a-f]{32}"),
        (f"/{'x' * 300}#1", "plan", r"x{60}\+[0-9a-f]{32}/plan"),
        ("/" + "/".join(f"step_number_{n:03}#1" for n in range(80)), "plan", r"\+[0-9a-f]{32}/plan"),
    ],
)
def test_a_place(path: str, step: str, expected: str) -> None:
    """Every part fits a file system; what is cut carries a digest behind a sign that no id and no key has."""
    assert re.fullmatch(expected, place_of(path, step))


def test_places_differ() -> None:
    """Also where only what is cut differs, and where a key looks like something that was cut."""
    long = [f"/e[{'x' * 200}{end}]#1" for end in "ab"]
    deep = ["/" + "/".join(f"step_number_{n:03}#{turn}" for n in range(80)) for turn in (1, 2)]
    places = [place_of(path, "s") for path in (*long, *deep, "/", "/s#1")]
    assert len(set(places)) == len(places)


# -- which steps


FILE = """
version: 1
agents:
  model: {model: demo:demo}
  hands: {model: demo:demo, tools: [run_command]}
  program: {runner: {exec: [cat]}}
workflows:
  main:
    steps:
      - %s
"""


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("{id: s, run: x}", True),
        ("{id: s, code: return 1}", True),
        ("{id: s, agent: program}", True),
        ("{id: s, agent: hands}", True),
        ("{id: s, agent: model, inputs: {a: {exec: ls}}}", True),
        ("{id: s, agent: model, inputs: {a: {value: 1}}}", False),
        ("{id: s, agent: model}", False),
        ("{id: s, ask: Good?}", False),
    ],
)
def test_which_steps_have_commands(step: str, expected: bool) -> None:
    """For the others nothing is laid out."""
    configuration = load({".github/bot.yml": FILE % step})
    workflow: Any = configuration.workflow_for("main")
    assert has_commands(workflow.steps[0], configuration) is expected
