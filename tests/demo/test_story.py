"""The demo as people start it, and what it says when something is missing."""

from __future__ import annotations

import io
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from rich.console import Console

from bot import log
from bot.demo import repository
from bot.demo import stage as demo_stage
from bot.demo.__main__ import main
from bot.demo.acts import conversation
from bot.demo.page.view import View
from bot.demo.records import Comment, Push
from bot.demo.saw import Sight
from bot.demo.screen import Screen
from bot.demo.stage import Stage, open_stage, shown
from bot.demo.story import Story
from tests.demo.picture import play

#: generous: other tests use the same machine meanwhile
LIMIT = 90
TITLES = [act.title for act in conversation("")]


def environment(tmp_path: Path) -> dict[str, str]:
    """This process's variables, with a temporary folder that can be looked into, and a screen wide enough."""
    return {**os.environ, "TMPDIR": str(tmp_path), "COLUMNS": "200"}


def children() -> float:
    """Processor seconds of all processes that this one started and that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(tmp_path: Path, *argv: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Python to its end."""
    env = environment(tmp_path) | variables
    return subprocess.run([sys.executable, *argv], env=env, capture_output=True, text=True, timeout=LIMIT, check=False)


def test_once_plays_every_act_and_leaves_nothing(tmp_path: Path) -> None:
    """The command of the README's second line: exit code 0, each act told, no folder left."""
    before = children()
    done = run(tmp_path, "-m", "bot", "demo", "--once")
    # in processor time, which does not depend on what else the machine does; under ten seconds is the promise
    assert children() - before < 10
    assert (done.returncode, done.stderr) == (0, "")
    position = 0
    for title in TITLES:
        position = done.stdout.index(title, position)
    assert "isolation is o" in done.stdout
    assert "stays silent: sam has the role read, write is needed" in done.stdout
    assert "9:5 unknown_key" in done.stdout
    assert "26 comments, each as expected and none besides" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def silent_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo played in this process leaves the tests' logging as it is."""
    monkeypatch.setattr(log, "configure", lambda level: None)


@pytest.mark.usefixtures("silent_log")
def test_a_sabotaged_world_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A bot that hears nothing: exit code 1, and in words what is missing."""
    monkeypatch.setattr(demo_stage, "attach", lambda app, bot: None)
    assert main(["--once"]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "✗ " in told
    assert "the bot did not take the webhook issue_comment" in told
    assert "the bot's comment is missing" in told


@contextmanager
def started(tmp_path: Path, *argv: str) -> Iterator[tuple[subprocess.Popen[str], Callable[[str], str]]]:
    """The demo running, and a function that reads on to the first line with some words in it."""
    demo = subprocess.Popen(
        [sys.executable, "-u", "-m", "bot.demo", *argv],
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    overdue = threading.Timer(LIMIT, demo.kill)
    overdue.start()

    def until(words: str) -> str:
        assert demo.stdout is not None
        for line in demo.stdout:
            if words in line:
                return line
        raise AssertionError(f"the demo ended without saying {words!r}")

    try:
        yield demo, until
    finally:
        overdue.cancel()
        demo.kill()
        demo.communicate()


def test_it_serves_until_it_is_stopped(tmp_path: Path) -> None:
    """The page answers after the play; with a page open it ends within seconds, without a traceback or a folder."""
    with started(tmp_path, "--port", "0") as (demo, until):
        until("Go on as")
        url = until("http").strip()
        until("Ctrl-C")
        assert "Mend a typo" in httpx.get(url, trust_env=False).text
        assert len(list(tmp_path.iterdir())) == 1
        events = url.replace("/acme/", "/_demo/acme/") + "/events"
        with httpx.stream("GET", events, trust_env=False) as stream:
            assert next(stream.iter_lines()) == "retry: 1000"
            demo.send_signal(signal.SIGTERM)
            _, errors = demo.communicate(timeout=30)
    assert (demo.returncode, errors) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_the_play_can_be_stopped(tmp_path: Path) -> None:
    """In the middle of an act: the exit code says so, and nothing is left."""
    with started(tmp_path, "--once") as (demo, until):
        until("2/6")
        demo.send_signal(signal.SIGINT)
        _, errors = demo.communicate(timeout=30)
    assert (demo.returncode, errors) == (130, "")
    assert list(tmp_path.iterdir()) == []


async def test_without_isolation_it_works_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but git and a shell for the commands: no bubblewrap. Commands run all the same."""
    for name in ("git", "bash", "sh", "dirname"):
        found = shutil.which(name)
        assert found is not None
        (tmp_path / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(tmp_path))
    async with open_stage() as stage:
        assert stage.isolation.isolated is False
        assert "bubblewrap is not installed" in stage.isolation.describe()
        stage.world.comment(stage.issue.repository, 1, "ana", "@bot checks")
        await stage.rest()
        (told,) = map(shown, stage.said())
    assert "not ok 5 - an empty size" in told


@pytest.mark.usefixtures("silent_log")
def test_a_taken_port_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Which port, and what to do, in the words of the command that was given."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["--port", port]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert f"port {port} cannot be used" in told
    assert 'make demo ARGS="--port 0"' in told
    assert "threadsmith demo --port 0" in told


async def saw(stage: Stage, comment: Comment) -> str:
    """What the page shows of what the bot saw."""
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.get(f"{stage.world.site_url}/_demo/comments/{comment.id}/saw")
    assert answer.status_code == 200
    return answer.text


async def test_the_page_shows_what_the_bot_saw() -> None:
    """Blocks with their texts, comments with their fates, inputs, from the bot's own store; nothing without a model."""
    async with open_stage() as stage:
        assert await play(stage) == []
        index, first, checks, broken, second, plan, status, planned, built = stage.said()
        for comment in (index, checks, broken, status):
            assert "No model was asked" in await saw(stage, comment)
        html = await saw(stage, first)
        for part in ("r1", "demo:helper", "You help the maintainers", "<b>pin</b>", "by ana", "not ok 5", "exit 0",
                     "sh tests/run.sh || true", "7 of 11 shown to the model", "beyond window", "newest_commits",
                     "why is an empty size taken for 0?"):  # fmt: skip
            assert part in html, part
        pin = html.split("<b>pin</b>")[1].split("</li>")[0]
        assert "bad input must end with exit code 2" in pin
        html = await saw(stage, second)
        # a comment too old to be read with the others still has its words in the list
        assert all(part in html for part in ("r3", "For us a skipped row would be fine"))
        assert "No model was asked" in await saw(stage, stage.issue.comments[0])
        sight = Sight(stage.world)
        sight.store = stage.bot.store
        assert await sight.written(stage.issue.comments) == {first.id, second.id, plan.id, planned.id, built.id}
        # a comment that the bot has not noted yet is known by its marker; one of somebody else's never is
        copy = stage.world.comment(stage.issue.repository, 1, stage.app.bot, first.body, app=stage.app)
        forged = stage.world.comment(stage.issue.repository, 1, "sam", first.body)
        assert await sight.written([checks, copy, forged]) == {copy.id}
        boxes = await View(stage.world, None, ()).entries(stage.issue)
        order = [box.message if isinstance(box, Push) else box.id for box in boxes]
        place = order.index("Mend a typo")
        assert order[place - 1] == broken.id
        assert order.index("Try another model") == place - 3


async def test_faults_are_found() -> None:
    """A comment that GitHub refuses, one that nobody expected, a reaction to an old one: each is told."""
    async with open_stage() as stage:
        stage.world.faults.refused(404, "POST", r".*/issues/1/comments")
        stage.world.faults.refused(404, "POST", r".*/comments/\d+/reactions", 1)
        old = stage.issue.comments[3]
        stage.world.react(old, stage.app.bot, "heart")
        story = Story(stage, Screen(Console(file=io.StringIO())))
        stage.world.comment(stage.issue.repository, 1, "sam", "nobody expected this")
        faults = await story.play()
    assert any(fault.startswith(f"{TITLES[0]}: the bot's comment is missing") for fault in faults)
    assert f"{TITLES[0]}: the bot's reactions to meg are none, expected +1" in faults
    assert f"the bot reacted to an old comment of {old.author.login}: heart" in faults
    assert "the thread holds 26 comments, 25 were expected" in faults


async def test_a_bot_that_hangs_is_not_waited_for() -> None:
    """After one turn without an end the play stops, and the fault says at whom it stopped."""
    async with open_stage() as stage:
        held = stage.world.faults.hold("POST", r".*/issues/1/comments")
        faults = await Story(stage, Screen(Console(file=io.StringIO())), patience=1).play()
        assert held.until is not None
        held.until.set()
    assert f"{TITLES[0]}: the bot was not done 1 s after meg's turn" in faults
    assert not any(fault.startswith(TITLES[1]) for fault in faults)


async def test_the_scene_is_what_the_configuration_says() -> None:
    """The checks that the demo's repository holds fail for the reason that the issue tells."""
    async with open_stage() as stage:
        repo = stage.issue.repository
        assert [c.author.login for c in stage.issue.comments] == [who for who, _, _ in repository.COMMENTS]
        assert stage.issue.comments[0].created_at < stage.issue.comments[-1].created_at
        assert stage.said() == []
        assert stage.world.deliveries == []
        stage.world.comment(repo, 1, "ana", "@bot help")
        await stage.rest()
        (told,) = map(shown, stage.said())
    assert "`@bot checks …`" in told
    assert "`@bot explain …`" in told
