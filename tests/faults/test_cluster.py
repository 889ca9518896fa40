"""Several processes on one PostgreSQL: whoever dies, sleeps or stops, nothing is lost, doubled or out of order."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import httpx
import pytest

from tests.faults.cluster import Cluster, open_cluster
from tests.faults.process import BotProcess

FLAG_YML = """\
version: 1
workflows:
  slow:
    steps:
      - {{id: one, run: "until test -e {flag}; do sleep 0.2; done; echo one"}}
      - {{id: two, run: "echo two"}}
  quick:
    steps:
      - {{id: it, run: "echo quick"}}
"""


def configuration(flag: Path) -> dict[str, str]:
    """`slow` goes on until the flag is there."""
    return {".github/bot.yml": FLAG_YML.format(flag=flag)}


#: steps see the flag, and need nothing that a sandbox keeps from them
OPEN = {"BOT_SANDBOX": "off", "BOT_WORKERS": "4"}
ATTEMPTS = "SELECT run_id, step, state FROM attempt WHERE step = 'one' ORDER BY id"


async def working(cluster: Cluster, count: int) -> None:
    """Until so many first steps run."""
    query = "SELECT count(*) FROM attempt WHERE step = 'one' AND state = 'running'"
    await cluster.until(lambda: cluster.rows(query) == [(count,)])


def held(cluster: Cluster, member: BotProcess) -> set[str]:
    """Runs that a member holds."""
    owner = cluster.holder(member)
    return {row[0] for row in cluster.rows("SELECT id FROM run WHERE lease_owner = %s", owner)}


async def test_a_killed_worker(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The one with the duties and half of the runs dies: all goes on in under 15 s, in order, each told once."""
    flag = tmp_path / "flag"
    parts = ("receiver", "receiver", "worker", "worker")
    async with open_cluster(tmp_path, configuration(flag), *parts, more=OPEN | {"BOT_WORKERS": "2"}) as cluster:
        cluster.open_issues(4)
        for number in range(1, 5):
            await cluster.ask("@bot slow", number)
            await cluster.ask("@bot quick", number)
        await working(cluster, 4)
        victim = cluster.having("outbox")
        assert victim is cluster.having("intake")
        lost = held(cluster, victim)
        assert len(lost) == 2
        dead = cluster.holder(victim)
        await victim.stop()
        taken = await cluster.until(lambda: cluster.rows("SELECT 1 FROM run WHERE lease_owner = %s", dead) == [], 30)
        duty = await cluster.until(lambda: cluster.rows("SELECT 1 FROM duty WHERE owner = %s", dead) == [], 30)
        with capsys.disabled():
            print(f"\n  runs taken over after {taken:.1f} s, duties after {taken + duty:.1f} s")  # measured
        assert taken + duty < 15
        # what the living one had under way is not disturbed
        assert {state for run, _, state in cluster.rows(ATTEMPTS) if run not in lost} == {"running"}
        flag.touch()
        await cluster.settled(90)
        codes = "SELECT DISTINCT error->>'code' FROM attempt WHERE state = 'interrupted'"
        assert cluster.rows(codes) == [("interrupted_with_others",)]
        for number in range(1, 5):
            assert cluster.numbers(number) == ["r1", "r2"]


async def test_a_worker_that_sleeps(tmp_path: Path) -> None:
    """Stopped with runs and duties and woken when others have done it all: it finds its writes refused."""
    flag = tmp_path / "flag"
    async with open_cluster(tmp_path, configuration(flag), "receiver", "worker", "worker", more=OPEN) as cluster:
        sleeper = cluster.having("outbox")
        # everything goes to the one that will sleep
        (other,) = (one for one in cluster.members.values() if one.part == "worker" and one is not sleeper)
        await other.stop(signal.SIGTERM)
        await cluster.ask("@bot slow")
        await working(cluster, 1)
        held_post = cluster.world.faults.hold("POST", r".*/issues/2/comments")
        cluster.open_issues(2)
        await cluster.ask("@bot quick", 2)
        await cluster.until(held_post.met.is_set)
        assert sleeper.process is not None
        sleeper.process.send_signal(signal.SIGSTOP)
        flag.touch()
        await other.start()
        assert held_post.until is not None
        held_post.until.set()
        await cluster.settled()
        said = [cluster.replies(number) for number in (1, 2)]
        assert [len(one) for one in said] == [1, 1]
        attempts = cluster.rows("SELECT step, number, state FROM attempt ORDER BY id")
        sleeper.process.send_signal(signal.SIGCONT)
        woken = "SELECT count(*) FROM process WHERE beat_at > clock_timestamp() - interval '2 seconds'"
        await cluster.until(lambda: cluster.rows(woken)[0][0] >= 3)
        await cluster.ask("@bot quick")
        await cluster.settled()
        assert cluster.rows("SELECT step, number, state FROM attempt ORDER BY id")[: len(attempts)] == attempts
        assert cluster.numbers() == ["r1", "r2"]
        assert [len(cluster.replies(number)) for number in (1, 2)] == [2, 1]


async def test_one_delivery_at_two_doors(tmp_path: Path) -> None:
    """At once, again, and under another GUID: one dispatch, one comment."""
    files = configuration(tmp_path / "flag")
    async with open_cluster(tmp_path, files, "receiver", "receiver", "worker", more=OPEN) as cluster:
        await cluster.ask("@bot quick")
        delivery = next(one for one in reversed(cluster.world.deliveries) if one.action == "created")
        first, second = (one.webhook for one in cluster.members.values() if one.part == "receiver")
        await cluster.settled()
        other = delivery.headers() | {"X-GitHub-Delivery": "6e1c1e9a-0000-4000-8000-000000000001"}
        cluster.world.comment(cluster.repo, 1, "meg", "@bot quick")
        async with httpx.AsyncClient(trust_env=False) as client:
            answers = await asyncio.gather(
                *(
                    client.post(url, content=delivery.body, headers=headers)
                    for url in (first, second) * 5
                    for headers in (delivery.headers(), other)
                )
            )
        assert {answer.json()["status"] for answer in answers} == {"duplicate"}
        await cluster.deliverer.settle()
        fresh = next(one for one in reversed(cluster.world.deliveries) if one.action == "created")
        async with httpx.AsyncClient(trust_env=False) as client:
            await asyncio.gather(
                *(client.post(url, content=fresh.body, headers=fresh.headers()) for url in (first, second) * 5)
            )
        await cluster.settled()
        assert cluster.rows("SELECT actor FROM dispatch ORDER BY id") == [("ana",), ("meg",)]
        assert cluster.numbers() == ["r1", "r2"]


async def test_a_graceful_stop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SIGTERM with 20 runs under way: gone within ten seconds, and the next one goes on at once with all of them."""
    flag = tmp_path / "flag"
    more = OPEN | {"BOT_WORKERS": "20"}
    async with open_cluster(tmp_path, configuration(flag), "receiver", "worker", "worker", more=more) as cluster:
        first, second = (one for one in cluster.members.values() if one.part == "worker")
        await second.stop(signal.SIGTERM)
        cluster.open_issues(20)
        for number in range(1, 21):
            await cluster.ask("@bot slow", number)
        await working(cluster, 20)
        await second.start()
        begun = asyncio.get_running_loop().time()
        await first.stop(signal.SIGTERM)
        took = asyncio.get_running_loop().time() - begun
        with capsys.disabled():
            print(f"\n  gone after {took:.1f} s with 20 runs under way")  # measured
        assert took < 10
        assert first.process is not None
        assert first.process.returncode == 0
        taken = "SELECT count(*) FROM run WHERE state = 'running'"
        after = await cluster.until(lambda: cluster.rows(taken)[0][0] > 0)
        assert after < 2
        flag.touch()
        # results go first; signs on twenty comments take a minute at GitHub's pace
        threads = range(1, 21)
        await cluster.until(lambda: all(cluster.numbers(number) for number in threads), 90)
        codes = "SELECT DISTINCT error->>'code' FROM attempt WHERE state = 'interrupted'"
        assert cluster.rows(codes) == [("stopped",)]
        assert cluster.rows("SELECT DISTINCT suspect FROM run") == [(False,)]
        assert [cluster.numbers(number) for number in threads] == [["r1"]] * 20


async def test_what_people_say_reaches_the_process_that_runs_it(tmp_path: Path) -> None:
    """A cancellation is heard by one process and meant for another: it rings across."""
    more = OPEN | {"BOT_WORKERS": "1"}
    files = configuration(tmp_path / "flag")
    async with open_cluster(tmp_path, files, "receiver", "worker", "worker", more=more) as cluster:
        cluster.open_issues(2)
        for number in (1, 2):
            await cluster.ask("@bot slow", number)
        await working(cluster, 2)
        assert len({row[0] for row in cluster.rows("SELECT lease_owner FROM run")}) == 2
        for number in (1, 2):
            await cluster.ask("@bot cancel r1", number)
        await cluster.until(lambda: cluster.rows("SELECT DISTINCT state FROM run") == [("cancelled",)], 8)


CLONE_YML = """\
version: 1
workflows:
  build:
    steps:
      - id: make
        workspace: read
        run: mkdir -p out/deep && echo made > out/deep/file && ln -s deep/file out/link && echo heard
      - {{id: hold, run: "until test -e {flag}; do sleep 0.2; done"}}
      - id: see
        workspace: read
        run: cat out/link README.md; cat "$BOT_RUN_DIR/make/stdout"; ls -A out
"""


async def test_a_run_ends_on_another_machine_with_what_its_steps_left(tmp_path: Path) -> None:
    """It began on one data folder and ends on another: the same commit, though the branch moved, and the same files."""
    flag = tmp_path / "flag"
    files = {".github/bot.yml": CLONE_YML.format(flag=flag), "README.md": "first\n"}
    async with open_cluster(tmp_path, files, "receiver", "worker", "worker", more=OPEN) as cluster:
        await cluster.ask("@bot build")
        holding = "SELECT count(*) FROM attempt WHERE step = 'hold' AND state = 'running'"
        await cluster.until(lambda: cluster.rows(holding) == [(1,)])
        workers = [one for one in cluster.members.values() if one.part == "worker"]
        first = next(one for one in workers if held(cluster, one))
        (second,) = (one for one in workers if one is not first)
        cluster.world.write_file(cluster.repo, "README.md", "second\n", "meg")
        assert (first.data / "work" / "runs").is_dir()
        assert not (second.data / "work" / "runs").is_dir()
        await first.stop()
        flag.touch()
        await cluster.settled()
        (reply,) = cluster.replies()
        assert "made\nfirst\nheard\ndeep\nlink" in reply
        attempts = "SELECT step, number, state FROM attempt ORDER BY id"
        assert cluster.rows(attempts) == [
            ("make", 1, "success"),
            ("hold", 1, "interrupted"),
            ("hold", 2, "success"),
            ("see", 1, "success"),
        ]
        # when a run is over, what was kept for others goes
        assert cluster.rows("SELECT run_id FROM clone") == []
