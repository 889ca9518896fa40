"""`runs`, `prompt` and `replay` on a database that a bot wrote."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

from bot.store import Session, snapshots
from bot.store.tables import Attempt, Delivery, Run
from tests.cli.conftest import Threadsmith
from tests.stage import open_stage
from tests.stories.conftest import BOT_YML


@dataclass(frozen=True, slots=True)
class Kept:
    """A data folder, what stands in it, and the newest prompt with its manifest."""

    data: Path
    runs: dict[str, str]
    prompt: str
    manifest: dict[str, Any]
    ignored: str
    planned: str


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """A bot that answered an agent's mention, a command that fails, and ignored a stranger."""
    folder = tmp_path_factory.mktemp("written")

    async def write() -> Kept:
        files = {".github/bot.yml": BOT_YML, "README.md": "# widgets\n"}
        async with open_stage(folder, files, database="sqlite") as stage:
            await stage.says("sam", "It crashes here too")
            await stage.says("ana", "@bot helper what is this?")
            await stage.says("ana", "@bot fails")
            await stage.says("sam", "@bot helper me too")

            def read(session: Session) -> Kept:
                attempt = session.exec(select(Attempt).where(Attempt.step == "helper")).one()
                states = {str(row.state): row.guid for row in session.exec(select(Delivery))}
                return Kept(
                    folder / "data",
                    {run.workflow: run.id for run in session.exec(select(Run))},
                    snapshots.get_blob(session, attempt.prompt_blob or "").decode(),
                    attempt.manifest or {},
                    states["ignored"],
                    states["planned"],
                )

            return await stage.bot.store.read(read)

    return asyncio.run(write())


@pytest.fixture
def kept(written: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    """A copy of it that this test may change; the settings point there."""
    data = tmp_path / "data"
    shutil.copytree(written.data, data)
    monkeypatch.setenv("BOT_DATA_DIR", str(data))
    return Kept(data, written.runs, written.prompt, written.manifest, written.ignored, written.planned)


def rows(data: Path, query: str, *values: str) -> list[tuple[Any, ...]]:
    """What the database says, or is told from outside."""
    with closing(sqlite3.connect(data / "bot.db", isolation_level=None)) as connection:
        return connection.execute(query, values).fetchall()


def test_the_newest_runs_come_first(threadsmith: Threadsmith, kept: Kept) -> None:
    """Ids, thread, who asked, how it ended."""
    said = threadsmith("runs")
    head, first, second = said.out.splitlines()
    assert said.code == 0
    assert head.split() == ["run", "thread", "no.", "workflow", "asked", "by", "state", "took", "reason"]
    assert first.split()[:6] == [kept.runs["fails"], "acme/widgets#1", "r2", "fails", "ana", "failed"]
    assert second.split()[:6] == [kept.runs["helper"], "acme/widgets#1", "r1", "helper", "ana", "succeeded"]


def test_as_many_as_asked_for(threadsmith: Threadsmith, kept: Kept) -> None:
    """`--limit`."""
    told = threadsmith("runs", "--limit", "1").out
    assert kept.runs["fails"] in told
    assert kept.runs["helper"] not in told


@pytest.mark.parametrize("typed", [str, str.lower])
def test_a_prompt_byte_for_byte(threadsmith: Threadsmith, kept: Kept, typed: type[str]) -> None:
    """What is on disk, on standard output alone; the digest beside it. Ids may be typed in small letters."""
    said = threadsmith("prompt", typed(kept.runs["helper"]), "helper")
    assert (said.code, said.out) == (0, f"{kept.prompt}\n")
    assert "It crashes here too" in said.out
    assert said.err == f"digest {kept.manifest['digest']}\n"


@pytest.mark.parametrize("name", ["r1", "R1", "acme/widgets#1:r1", "Acme/Widgets#1:r1"])
def test_a_prompt_by_the_runs_name(threadsmith: Threadsmith, kept: Kept, name: str) -> None:
    """As it stands below each result."""
    assert threadsmith("prompt", name, "helper").out == f"{kept.prompt}\n"


def test_a_name_that_several_threads_know(threadsmith: Threadsmith, kept: Kept) -> None:
    """Told with the full ones; the longer name is enough."""
    columns = [name for _, name, *_ in rows(kept.data, "PRAGMA table_info(thread)")]
    other = ", ".join({"id": "'another'", "number": "2", "issue_id": "99"}.get(name, name) for name in columns)
    rows(kept.data, f"INSERT INTO thread SELECT {other} FROM thread WHERE number = 1")
    rows(kept.data, "UPDATE run SET thread_id = 'another', number = 1 WHERE workflow = 'fails'")
    said = threadsmith("prompt", "r1", "helper")
    assert (said.code, said.out) == (1, "")
    assert said.err.splitlines() == [
        "ambiguous_run: several threads have a run r1",
        "  say which: acme/widgets#2:r1, acme/widgets#1:r1",
    ]
    assert threadsmith("prompt", "acme/widgets#1:r1", "helper").out == f"{kept.prompt}\n"


@pytest.mark.parametrize("name", ["r3", "acme/widgets#2:r1", "acme/gadgets#1:r1", "1", "r"])
def test_a_name_that_no_run_has(threadsmith: Threadsmith, kept: Kept, name: str) -> None:
    """Told."""
    said = threadsmith("prompt", name, "helper")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(f"unknown_run: there is no run {name}\n")


def test_its_manifest(threadsmith: Threadsmith, kept: Kept) -> None:
    """As JSON."""
    said = threadsmith("prompt", kept.runs["helper"], "helper", "--manifest")
    assert (said.code, json.loads(said.out), said.err) == (0, kept.manifest, "")


def test_a_run_that_is_not_there(threadsmith: Threadsmith, kept: Kept) -> None:
    """Told, with where ids come from."""
    said = threadsmith("prompt", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "helper")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("unknown_run: there is no run 01ARZ3NDEKTSV4RRFFQ69G5FAV\n")


@pytest.mark.parametrize(("workflow", "known"), [("helper", "helper"), ("fails", "none")])
def test_a_step_that_asked_no_model(threadsmith: Threadsmith, kept: Kept, workflow: str, known: str) -> None:
    """Told, with the steps that did."""
    said = threadsmith("prompt", kept.runs[workflow], "boom")
    assert (said.code, said.out) == (1, "")
    assert said.err.endswith(f"  steps with a prompt: {known}\n")


@pytest.mark.parametrize("by", ["guid", "id"])
def test_an_ignored_delivery_is_looked_at_again(threadsmith: Threadsmith, kept: Kept, by: str) -> None:
    """By GUID or row id; the answer says what it was."""
    ((key, reason),) = rows(kept.data, f"SELECT {by}, reason FROM delivery WHERE guid = ?", kept.ignored)
    said = threadsmith("replay", key)
    assert (said.code, said.err) == (0, "")
    assert said.out == f"issue_comment {kept.ignored} will be looked at again (it was ignored: {reason})\n"
    assert reason
    assert rows(kept.data, "SELECT state, reason FROM delivery WHERE guid = ?", kept.ignored) == [("new", "")]


def test_a_planned_delivery_is_not(threadsmith: Threadsmith, kept: Kept) -> None:
    """It would say things twice."""
    said = threadsmith("replay", kept.planned)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(f"already_planned: {kept.planned} led to a dispatch")
    assert rows(kept.data, "SELECT state FROM delivery WHERE guid = ?", kept.planned) == [("planned",)]


def test_a_delivery_whose_comment_was_deleted(threadsmith: Threadsmith, kept: Kept) -> None:
    """There is nothing left to look at."""
    rows(kept.data, "UPDATE delivery SET body = x'' WHERE guid = ?", kept.ignored)
    said = threadsmith("replay", kept.ignored)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("purged: ")
    assert rows(kept.data, "SELECT state FROM delivery WHERE guid = ?", kept.ignored) == [("ignored",)]


def test_a_delivery_that_is_not_kept(threadsmith: Threadsmith, kept: Kept) -> None:
    """Told."""
    said = threadsmith("replay", "nonsense")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("unknown_delivery: no delivery nonsense is kept\n")


@pytest.mark.parametrize("call", [("runs",), ("prompt", "x", "y"), ("replay", "x")])
def test_without_a_database(threadsmith: Threadsmith, call: tuple[str, ...]) -> None:
    """Looking does not make one."""
    said = threadsmith(*call)
    assert (said.code, said.out) == (1, "")
    assert f"there is no database at {Path.cwd() / 'data' / 'bot.db'}" in said.err
    assert "BOT_DATA_DIR" in said.err
    assert not Path("data").exists()
