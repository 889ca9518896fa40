"""`threadsmith forget` on a database that a bot wrote."""

from __future__ import annotations

import io

import pytest

from tests.cli.conftest import Threadsmith
from tests.cli.test_look import Kept, kept, rows, written  # noqa: F401  # fixtures


def test_a_repository_is_shown_and_forgotten(threadsmith: Threadsmith, kept: Kept) -> None:  # noqa: F811
    """Counts first; then nothing is left but numbers, and once more changes nothing."""
    said = threadsmith("forget", "--repository", "Acme/Widgets", "--yes")
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert lines[0].startswith("repository acme/widgets (")
    assert lines[-1] == "forgotten"
    assert any(line.split() == ["1", "threads"] for line in lines)
    for table in ("thread", "dispatch", "run", "attempt", "outbox", "commentversion", "blob"):
        assert rows(kept.data, f"SELECT count(*) FROM {table}") == [(0,)], table
    assert rows(kept.data, "SELECT count(*) FROM delivery WHERE length(body) > 0 AND repository_id > 0") == [(0,)]
    again = threadsmith("forget", "--repository", "acme/widgets", "--yes")
    assert (again.code, again.out) == (1, "")
    assert again.err.startswith("unknown_repository: nothing is kept of acme/widgets\n")


def test_a_person_is_forgotten_by_login(threadsmith: Threadsmith, kept: Kept) -> None:  # noqa: F811
    """The number stays, the login is nowhere."""
    said = threadsmith("forget", "--user", "ana", "--yes")
    assert said.code == 0, said.err
    assert rows(kept.data, "SELECT count(*) FROM dispatch WHERE actor = 'ana' OR request <> ''") == [(0,)]
    assert rows(kept.data, "SELECT count(*) FROM commentversion WHERE author = 'ana'") == [(0,)]
    assert rows(kept.data, "SELECT DISTINCT actor FROM dispatch") == [("(forgotten)",)]


def test_it_asks(threadsmith: Threadsmith, kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """After a no nothing is forgotten."""
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    before = rows(kept.data, "SELECT count(*) FROM run")
    said = threadsmith("forget", "--user", "ana")
    assert said.code == 1
    assert rows(kept.data, "SELECT count(*) FROM run") == before
    assert rows(kept.data, "SELECT count(*) FROM dispatch WHERE actor = 'ana'") != [(0,)]


@pytest.mark.parametrize("call", [(), ("--repository", "a/b", "--user", "c")])
def test_one_of_both_is_said(threadsmith: Threadsmith, kept: Kept, call: tuple[str, ...]) -> None:  # noqa: F811
    """Neither none nor two."""
    assert threadsmith("forget", *call).code == 2


def test_who_is_not_known(threadsmith: Threadsmith, kept: Kept) -> None:  # noqa: F811
    """Told."""
    said = threadsmith("forget", "--user", "nobody", "--yes")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("unknown_user: nothing is kept of nobody\n")


def test_a_purged_prompt(threadsmith: Threadsmith, kept: Kept) -> None:  # noqa: F811
    """It says that it is gone, and since when."""
    rows(kept.data, "UPDATE run SET purged_at = '2026-11-03 12:00:00.000000'")
    said = threadsmith("prompt", kept.runs["helper"], "helper")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(f"purged: the prompts of {kept.runs['helper']} are kept no longer: they went on 03 Nov")


@pytest.mark.parametrize(("level", "told"), [(None, False), ("info", True), ("warning", False)])
def test_its_words_are_all_that_is_said(
    threadsmith: Threadsmith,
    kept: Kept,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    level: str | None,
    told: bool,
) -> None:
    """No line of the log stands among them, unless `BOT_LOG` asks for it."""
    if level is not None:
        monkeypatch.setenv("BOT_LOG", level)
    said = threadsmith("forget", "--repository", "acme/widgets", "--yes")
    assert said.code == 0
    assert ('"event": "forgotten"' in said.err) is told
    assert ("{" in said.out + said.err) is told
