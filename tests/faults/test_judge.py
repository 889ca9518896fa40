"""Whether the judge of a storm finds what it is there to find: a world that is well, spoilt in every way."""

from __future__ import annotations

import asyncio
import random
import shutil
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from httpx import ASGITransport

from bot.app import open_bot
from bot.demo.deliveries import Deliverer
from bot.demo.records import Comment
from bot.demo.server import LookAlikeServer
from bot.publish.set_aside import REASON
from bot.serving import attach
from bot.settings import load
from bot.store.rest import unfinished
from tests.faults.doings import Doings
from tests.faults.haste import Haste, HastyClock, HastyLoop
from tests.faults.judge import judge
from tests.faults.place import Place, make_place
from tests.faults.verdict import Verdict
from tests.faults.wishes import Wish


@dataclass
class Case:
    """A world in which people asked and were answered, and a database of its own to be spoilt."""

    place: Place
    doings: Doings
    acknowledged: list[str]
    database: Path
    patch: pytest.MonkeyPatch

    def judged(self) -> Verdict:
        return judge(self.place, f"sqlite:///{self.database}", self.doings, self.acknowledged)

    def execute(self, statement: str) -> None:
        """Spoil rows; it has to meet some."""
        with closing(sqlite3.connect(self.database)) as connection:
            assert connection.execute(statement).rowcount > 0, statement
            connection.commit()

    def columns(self, table: str) -> list[str]:
        with closing(sqlite3.connect(self.database)) as connection:
            return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]

    def wish(self, kind: str) -> Wish:
        return next(wish for wish in self.doings.wishes if wish.kind == kind)

    def results(self) -> list[Comment]:
        """Those of the thread that has two at least, oldest first."""
        for issue in self.place.repo.issues.values():
            found = [one for one in issue.comments if one.author is self.place.app.bot and "r1 ·" in one.body]
            others = [one for one in issue.comments if one.author is self.place.app.bot and "r2 ·" in one.body]
            if found and others and issue.pull is None:
                return [found[0], others[0]]
        raise AssertionError("no thread has two results")

    def puts(self, comments: list[Comment]) -> None:
        """A thread's comments are these now."""
        self.patch.setattr(comments[0].issue, "comments", comments)


async def _play(folder: Path, haste: Haste) -> tuple[Place, Doings]:
    place = make_place(folder, haste)
    doings = Doings(place, random.Random(1))
    async with LookAlikeServer(place.world):
        settings, _ = load(place.environ(0, ""), None)
        async with open_bot(settings, clock=HastyClock(haste), environ={}) as bot:
            front = FastAPI()
            attach(front, bot)
            transport = ASGITransport(front)
            async with Deliverer(place.world, "http://bot.test/webhook", transport=transport, timeout=600) as deliverer:
                for _ in range(5):  # two of them meet in one of the four threads
                    doings.says()
                while not any(wish.kind == "help" for wish in doings.wishes):
                    doings.builtin()
                for does in (doings.pins, doings.sorts, doings.looks):
                    does()
                place.world.write_file(place.repo, "NEWS.md", "New.\n", "meg")
                async with asyncio.timeout(60 * haste.factor):
                    await deliverer.settle()
                    while await bot.store.read(unfinished):
                        await asyncio.sleep(0.01)
                        await deliverer.settle()
    return place, doings


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Place, Doings]:
    folder, haste = tmp_path_factory.mktemp("judged"), Haste(10, time.time())
    with asyncio.Runner(loop_factory=partial(HastyLoop, haste.factor)) as runner:
        return folder, *runner.run(_play(folder, haste))


@pytest.fixture
def case(played: tuple[Path, Place, Doings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    folder, place, doings = played
    database = tmp_path / "bot.db"
    shutil.copy(folder / "data0" / "bot.db", database)
    return Case(place, doings, [one.guid for one in place.world.deliveries], database, monkeypatch)


def test_a_world_that_is_well(case: Case) -> None:
    """Nothing is found where nothing is wrong."""
    verdict = case.judged()
    assert verdict.faults == []
    assert verdict.dispatches == 7


def test_a_post_that_is_set_aside(case: Case) -> None:
    """A reaction over which three processes ended is missed by nobody, and counted."""
    case.execute(f"UPDATE outbox SET state = 'dropped', reason = '{REASON}' WHERE slot LIKE 'run/%|reaction-rocket|0'")
    for wish in case.doings.wishes:
        if wish.dispatches and wish.subject is not None:
            case.patch.setattr(wish.subject, "reactions", [])
    verdict = case.judged()
    assert verdict.faults == []
    assert verdict.ends["post set aside"] == verdict.dispatches


def test_a_check_that_is_set_aside(case: Case) -> None:
    """One that was never made, and one that is under way for ever: the run's end tells of both."""
    case.execute(f"UPDATE outbox SET state = 'dropped', reason = '{REASON}' WHERE action = 'check'")
    check_open(case)
    assert case.judged().faults == []
    check_gone(case)
    assert case.judged().faults == []


def test_a_check_that_is_set_aside_and_whose_request_is_deleted(case: Case) -> None:
    """The reason went with the request."""
    case.execute("UPDATE run SET purged_at = ended_at WHERE id IN (SELECT run_id FROM outbox WHERE action = 'check')")
    case.execute("UPDATE outbox SET state = 'dropped', reason = '' WHERE action = 'check'")
    check_open(case)
    assert not any("check" in fault for fault in case.judged().faults)


def test_words_about_a_request_that_was_set_aside(case: Case) -> None:
    """Three processes ended over the request, and as many over the words that say so: those are told of instead."""
    last = f"SELECT max(delivery_id) FROM dispatch WHERE {ECHO}"
    words = f"purpose = 'error', slot = 'dispatch/' || ({last}) || '|/||0|failed|0'"
    case.execute(f"UPDATE outbox SET state = 'dropped', reason = '{REASON}', {words} WHERE action = 'check'")
    aside = "UPDATE delivery SET state = 'failed', interruptions = 3, reason = 'set aside: three processes ended'"
    case.execute(f"{aside} WHERE id = ({last})")
    case.execute(f"UPDATE dispatch SET comment_id = 1 WHERE delivery_id = ({last})")
    faults = case.judged().faults
    assert not any("made 0 dispatches" in fault for fault in faults)
    assert any("failed|0 was set aside and nobody was told" in fault for fault in faults)
    case.execute("DELETE FROM outbox WHERE slot LIKE 'dispatch/%|failed|0'")
    assert any("made 0 dispatches" in fault for fault in case.judged().faults)


def test_what_comes_due_while_the_last_bot_stops(case: Case) -> None:
    """A time of a schedule, the last of all that came: nobody could look at it any more."""
    case.execute("UPDATE delivery SET event = 'schedule', state = 'new' WHERE id = (SELECT max(id) FROM delivery)")
    assert not any("is new" in fault for fault in case.judged().faults)
    case.execute("UPDATE delivery SET event = 'schedule', state = 'new' WHERE id = (SELECT min(id) FROM delivery)")
    assert any("is new" in fault for fault in case.judged().faults)


def test_an_answer_that_is_set_aside_and_purged(case: Case) -> None:
    """Its text and reason go with a comment that it may quote; one that has its text has a reason."""
    case.execute("UPDATE outbox SET state = 'dropped', reason = '', run_id = NULL WHERE action = 'check'")
    assert any("was dropped" in fault for fault in case.judged().faults)
    case.execute("UPDATE outbox SET body = '' WHERE action = 'check'")
    assert not any("was dropped" in fault for fault in case.judged().faults)


def test_a_run_that_was_called_off_before_its_first_step(case: Case) -> None:
    """It was claimed: it may have a check already, or have none."""
    of_the_pull = "SELECT run.id FROM run JOIN thread ON thread.id = run.thread_id WHERE thread.is_pull_request"
    case.execute(f"DELETE FROM attempt WHERE run_id IN ({of_the_pull})")
    assert not any("check" in fault for fault in case.judged().faults)
    check_gone(case)
    assert not any("check" in fault for fault in case.judged().faults)


def one_more(record: Any, **other: object) -> Any:
    """What stands there once more, under a number of its own."""
    return replace(record, id=10**9, **other)


def said_twice(case: Case) -> None:
    """A second comment has the marker of the first."""
    first, _ = case.results()
    case.puts([*first.issue.comments, one_more(first)])


def result_gone(case: Case) -> None:
    first, _ = case.results()
    case.puts([one for one in first.issue.comments if one is not first])


def other_order(case: Case) -> None:
    first, second = case.results()
    swapped = {first.id: second, second.id: first}
    case.puts([swapped.get(one.id, one) for one in first.issue.comments])


def marker_gone(case: Case) -> None:
    first, _ = case.results()
    case.patch.setattr(first, "body", first.body.partition("<!--")[0])


def word_twice(case: Case) -> None:
    """What was asked for is in the result of something else, too; each has a marker of its own."""
    first, second = case.results()
    word = next(word for wish in case.doings.wishes for word in wish.tokens if word in first.body)
    case.patch.setattr(second, "body", f"{word} {second.body}")


def excused_and_said_twice(case: Case) -> None:
    case.execute("UPDATE run SET state = 'set_aside'")
    word_twice(case)


def deleted_and_said_twice(case: Case) -> None:
    first, second = case.results()
    case.patch.setattr(case.doings, "gone", {" · ": first.issue.number})
    assert first.issue is second.issue


def eyes_left(case: Case) -> None:
    subject = case.wish("echo").subject
    assert subject is not None
    seen = replace(subject.reactions[0], content="eyes")
    case.patch.setattr(subject, "reactions", [*subject.reactions, seen])


def rocket_gone(case: Case) -> None:
    case.patch.setattr(case.wish("echo").subject, "reactions", [])


def answer_gone(case: Case) -> None:
    answer_twice(case, times=0)


def answer_twice(case: Case, times: int = 2) -> None:
    wish = case.wish("help")
    comments = case.place.repo.issues[wish.number].comments
    (said,) = (one for one in comments if "|help|" in one.body)
    case.patch.setattr(wish.subject, "reactions", [])
    case.puts([one for one in comments if one is not said] + [one_more(said) for _ in range(times)])


def label_gone(case: Case) -> None:
    case.patch.setattr(case.place.repo.issues[case.wish("sort").number], "labels", [])


def review_twice(case: Case) -> None:
    pull = case.place.pull
    case.patch.setattr(pull, "reviews", [*pull.reviews, *(one_more(one) for one in pull.reviews)])


def review_gone(case: Case) -> None:
    case.patch.setattr(case.place.pull, "reviews", [])


def remark_twice(case: Case) -> None:
    (thread, *_) = case.place.pull.review_threads
    case.patch.setattr(thread, "comments", [*thread.comments, *(one_more(one) for one in thread.comments)])


def check_twice(case: Case) -> None:
    repo = case.place.repo
    case.patch.setattr(repo, "checks", [*repo.checks, *(one_more(one) for one in repo.checks)])


def check_open(case: Case) -> None:
    case.patch.setattr(case.place.repo.checks[0], "status", "in_progress")


def check_gone(case: Case) -> None:
    case.patch.setattr(case.place.repo, "checks", [])


def rows(statement: str) -> Callable[[Case], None]:
    """Something is another in the database."""
    return lambda case: case.execute(statement)


def copied(table: str, where: str, **other: str) -> Callable[[Case], None]:
    """A row stands there twice, with other values in some columns."""

    def spoil(case: Case) -> None:
        names = case.columns(table)
        values = [other.get(name, f'"{name}"') for name in names]
        listed = ", ".join(f'"{name}"' for name in names)
        case.execute(f"INSERT INTO {table} ({listed}) SELECT {', '.join(values)} FROM {table} WHERE {where} LIMIT 1")

    return spoil


ECHO = "command = 'echo'"
LOST: Mapping[str, tuple[Callable[[Case], None], str]] = {
    "a result": (result_gone, "and is not there"),
    "a word of a result": (result_gone, "stands in 0 results"),
    "a reaction": (rocket_gone, "has the reactions []"),
    "a label": (label_gone, "stands 0 times"),
    "a review": (review_gone, "reviews were posted, 0 stand"),
    "a check": (check_gone, "began and have no check"),
    "a check's end": (check_open, "is in_progress still"),
    "an answer": (answer_gone, "was not answered"),
    "a pin": (rows("DELETE FROM pin"), "pinned 0 times"),
    "a delivery": (rows("UPDATE delivery SET guid = guid || 'x' WHERE event = 'issue_comment'"), "was acknowledged"),
    "a push": (rows("UPDATE delivery SET guid = 'other' WHERE event = 'push'"), "(push None) was acknowledged"),
    "a delivery's look": (rows("UPDATE delivery SET state = 'new' WHERE event = 'issue_comment'"), "is new"),
    "a delivery that failed": (rows("UPDATE delivery SET state = 'failed' WHERE event = 'issue_comment'"), "is failed"),
    "a run": (rows("UPDATE run SET state = 'queued' WHERE workflow = 'sort'"), "is queued still"),
    "a run's success": (rows("UPDATE run SET state = 'failed' WHERE workflow = 'sort'"), "ended as failed"),
    "a run's end": (rows("DELETE FROM outbox WHERE run_id IS NOT NULL"), "has no end that anybody sees"),
    "a post": (rows("UPDATE outbox SET state = 'unsure' WHERE action = 'comment'"), "is unsure still"),
    "a post's reason": (rows("UPDATE outbox SET state = 'dropped', reason = 'x'"), "was dropped: x"),
    "word of what was set aside": (
        rows(f"UPDATE outbox SET state = 'dropped', reason = '{REASON}' WHERE action = 'comment'"),
        "was set aside and nobody was told",
    ),
    "an attempt": (rows("UPDATE attempt SET state = 'running'"), "is running still"),
    "a dispatch": (rows(f"UPDATE dispatch SET comment_id = 1 WHERE {ECHO}"), "made 0 dispatches"),
}
DOUBLED: Mapping[str, tuple[Callable[[Case], None], str]] = {
    "a result": (said_twice, "2 comments fill"),
    "a word of a result": (word_twice, "stands in 2 results"),
    "a word of a result that may be missing": (excused_and_said_twice, "stands in 2 results"),
    "what was deleted": (deleted_and_said_twice, "which was deleted, stands in 2 results"),
    "an answer": (answer_twice, "was answered by 2 comments"),
    "a review": (review_twice, "2 reviews stand for 1"),
    "a remark": (remark_twice, "stands 2 times"),
    "a check": (check_twice, "2 checks are"),
    "a step": (copied("attempt", "1", id="'again'", number="2"), "succeeded 2 times"),
    "a dispatch": (copied("dispatch", ECHO, id="'again'", ordinal="9", sequence="99"), "made 2 dispatches"),
    "an end": (
        rows("UPDATE outbox SET slot = 'run/' || run_id || '|/|' || id || '|0|end|0' WHERE run_id IS NOT NULL"),
        "has several ends",
    ),
    "a status": (
        rows("UPDATE outbox SET purpose = 'status', action = 'comment' WHERE run_id IS NOT NULL"),
        "has several status comments",
    ),
}
ODD: Mapping[str, tuple[Callable[[Case], None], str]] = {
    "the order": (other_order, "stand in the order [2, 1]"),
    "a check of a run that was never claimed": (
        rows("UPDATE run SET started_at = NULL WHERE workflow = 'look'"),
        "stand for what never began",
    ),
    "a comment without a marker": (marker_gone, "has no marker"),
    "👀 that stay": (eyes_left, "has 👀 still"),
}


SPOILT = {(kind, what): one for kind, table in (("lost", LOST), ("doubled", DOUBLED), ("odd", ODD))
          for what, one in table.items()}  # fmt: skip


@pytest.mark.parametrize(("kind", "what"), SPOILT)
def test_what_is_wrong(case: Case, kind: str, what: str) -> None:
    """Is found, and told as what it is."""
    spoil, words = SPOILT[kind, what]
    spoil(case)
    found = getattr(case.judged(), kind)
    assert any(words in one for one in found), found
