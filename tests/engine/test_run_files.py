"""The run's own files on this machine, in a real clone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from bot.engine.run_files import RunFiles
from bot.store import Store
from bot.workspace import Git, Workspace, Workspaces
from bot.workspace import Origin as CloneOrigin
from tests.engine.play import Play
from tests.workspace.conftest import GitServer, Origin

STEPS = "- {id: a, run: a}\n- {id: b, run: b}\n- {id: c, run: c}"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    (tmp_path / "served").mkdir()
    server = GitServer(tmp_path / "served")
    Origin(server.root / "repo.git", tmp_path / "author").commit({"README.md": "hello\n"})
    yield server
    server.close()


class Machine:
    """One machine's workspaces, and a run that is worked on there."""

    def __init__(self, play: Play, server: GitServer, data: Path) -> None:
        self.play, self.server = play, server
        self.workspaces = Workspaces(data, Git(), allowed_host=server.origin)
        self.files = RunFiles(play.case.store, self.workspaces, lambda text: text.replace("did", "[redacted]"))

    def open(self) -> AbstractAsyncContextManager[Workspace]:
        async def token(_refused: str) -> str:
            return self.server.token

        async def renamed() -> str:
            return self.server.url()

        return self.workspaces.open(
            "read",
            run_id=self.play.case.run_id,
            repository_id=7,
            origin=CloneOrigin(self.server.url(), token, renamed),
            ref="main",
        )

    async def note(self) -> None:
        await self.files.note(self.play.case.run_id, self.play.case.terms)


def read(workspace: Workspace) -> Any:
    return json.loads((workspace.path / ".bot/run.json").read_text())


async def test_the_file_follows_the_run(store: Store, server: GitServer, tmp_path: Path) -> None:
    """Whether or not somebody is in the clone; git does not see it; its values are clean."""
    machine = Machine(await Play.of(store, STEPS), server, tmp_path / "data")
    async with machine.open() as workspace:
        await machine.note()
        assert read(workspace)["steps"] == {}
        await machine.play.more()
        await machine.play.step()
        await machine.note()
        assert read(workspace)["steps"]["a"]["summary"] == "[redacted] a"
        seen = await Git().run("status", "--short", cwd=workspace.path)
        assert seen == b""
    await machine.play.go()
    await machine.note()
    assert list(read(workspace)["steps"]) == ["a", "b", "c"]
    await machine.workspaces.remove(machine.play.case.run_id)


async def test_without_a_clone_nothing_is_written(store: Store, server: GitServer, tmp_path: Path) -> None:
    """Nor is a folder made."""
    machine = Machine(await Play.of(store, STEPS), server, tmp_path / "data")
    await machine.note()
    assert machine.workspaces.known() == []


@pytest.mark.parametrize("way", ["link", "folder link", "file", "folder", "broken link"])
async def test_what_a_step_left_in_its_place(store: Store, server: GitServer, tmp_path: Path, way: str) -> None:
    """Is not followed, and does not keep the next step from seeing the run."""
    machine = Machine(await Play.of(store, STEPS), server, tmp_path / "data")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "run.json").write_text("mine")
    async with machine.open() as workspace:
        bot = workspace.path / ".bot"
        if way in ("folder link", "file"):
            bot.symlink_to(outside) if way == "folder link" else bot.touch()
        else:
            bot.mkdir()
            match way:
                case "link":
                    (bot / "run.json").symlink_to(outside / "run.json")
                case "broken link":
                    (bot / "run.json").symlink_to(outside / "not there")
                case _:
                    (bot / "run.json" / "deep").mkdir(parents=True)
        await machine.note()
        assert read(workspace)["run"]["id"] == machine.play.case.run_id
    assert [one.read_text() for one in outside.iterdir()] == ["mine"]


async def test_of_two_writers_the_newer_stays(store: Store, server: GitServer, tmp_path: Path) -> None:
    """Rows are read when nobody else writes."""
    machine = Machine(await Play.of(store, STEPS), server, tmp_path / "data")
    async with machine.open() as workspace:
        first = asyncio.Event()
        order: list[str] = []

        async def slow() -> bytes:
            await first.wait()
            order.append("slow")
            return b"old"

        async def quick() -> bytes:
            order.append("quick")
            return b"new"

        run_id = machine.play.case.run_id
        writers = [asyncio.create_task(machine.workspaces.write(run_id, ".bot/x", make)) for make in (slow, quick)]
        await asyncio.wait(writers[1:], timeout=0.05)
        first.set()
        assert await asyncio.gather(*writers) == [True, True]
        assert order == ["slow", "quick"]
        assert (workspace.path / ".bot/x").read_bytes() == b"new"


async def test_a_file_that_cannot_be_written_costs_no_step(store: Store, server: GitServer, tmp_path: Path) -> None:
    """It is a projection; the log says so."""
    machine = Machine(await Play.of(store, STEPS), server, tmp_path / "data")
    async with machine.open() as workspace:
        workspace.path.rename(tmp_path / "moved")
        workspace.path.touch()
        await machine.note()
        workspace.path.unlink()


async def test_the_folder_goes_with_the_run(store: Store, server: GitServer, tmp_path: Path) -> None:
    """It lies where everything of the run lies, and is made once a process."""
    machine = Machine(await Play.of(store, STEPS), server, tmp_path / "data")
    play = machine.play
    await play.more()
    (begun,) = play.begun
    folder = await machine.files.lay_out(begun)
    await play.step()
    (begun,) = play.begun
    assert await machine.files.lay_out(begun) == folder
    assert (folder / "a/stdout").read_text() == ""
    assert (folder / "a/response.md").read_text() == "[redacted] a"
    await machine.workspaces.remove(play.case.run_id)
    assert not folder.exists()
    machine.files.forget(play.case.run_id)
    assert (await machine.files.lay_out(begun) / "a/response.md").is_file()
