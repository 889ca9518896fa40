"""From ten deliveries to ten posted comments, against a script that does the same fsyncs and HTTP calls by hand."""

from __future__ import annotations

import sys
from contextlib import AsyncExitStack
from pathlib import Path

from tests.bench.child import Child, child, python
from tests.bench.contestants import environment
from tests.bench.figures import Goal, Pace, Row, counted, middle, percentile, shown
from tests.bench.receiver import bot

THREADS = 10


async def measure(pace: Pace, folder: Path) -> Row:
    """Rounds on ten fresh installations each (an installation may write only so fast); then the script repeats them."""
    rounds = pace.of(10, 2)
    ours, script, calls, commits = list[float](), list[float](), list[float](), list[float]()
    async with AsyncExitStack() as stack:
        size = str(rounds * THREADS)
        github = await stack.enter_async_context(child(*python("github_process"), str(folder / "github"), "0", size))
        facts = (await github.hear())["facts"]
        # ten runs at once, as the script does
        started = await stack.enter_async_context(bot({**facts, "BOT_WORKERS": str(THREADS)}, folder / "data"))
        port = (await started.hear())["port"]
        await github.ask(deliver=[f"http://127.0.0.1:{port}/webhook"])
        script_path = Path(environment.__file__).with_name("posting_script.py")
        by_hand = await stack.enter_async_context(
            child(sys.executable, str(script_path), str(folder), facts["BOT_GITHUB_URL"])
        )
        tokens = (await github.ask(mint=True))["tokens"]
        for turn in range(rounds):
            await github.ask(threads=THREADS, first=turn * THREADS)
            await github.ask(ask="@bot go", times=1)  # tokens and configurations are known from here on
            await _at_rest(started)
            before = (await started.ask())["commits"]
            answer = await github.ask(ask="@bot go", times=1)
            ours.append(answer["seconds"])
            await _at_rest(started)
            made = (await started.ask())["commits"] - before
            commits.append(made)
            # of all its requests those until the last comment was posted
            calls.append(len(answer["requests"]))
            answer = await by_hand.ask(
                requests=answer["requests"],
                threads=answer["threads"],
                tokens=tokens[turn * THREADS : (turn + 1) * THREADS],
                commits=made,
            )
            script.append(answer["seconds"])
    ratio = middle(one / other for one, other in zip(ours, script, strict=True))
    return Row(
        "posted",
        "From delivery to posted comment",
        "a straight script that sends the same HTTP requests and makes as many commits, ten threads side by side",
        (Goal("time until ten comments are posted, against the script", ratio, "at most", 2, "×"),),
        ("what", "seconds (median)", "slowest round", "HTTP requests", "commits"),
        (
            ("bot", shown(middle(ours)), shown(percentile(ours, 1)), shown(middle(calls)), shown(middle(commits))),
            (
                "script",
                shown(middle(script)),
                shown(percentile(script, 1)),
                shown(middle(calls)),
                shown(middle(commits)),
            ),
        ),
        (
            (
                f"In {THREADS} repositories of {THREADS} installations people ask at once for a workflow whose one"
                f" step posts a comment; {counted(rounds, 'round')}, each on other installations whose tokens are"
                " known."
            ),
            "Both talk to the same look-alike, a process of its own, which takes most of the time of both.",
            "The script makes all the bot's commits of the round, also those after the comments were posted.",
        ),
        {"bot (s)": ours, "script (s)": script},
    )


async def _at_rest(started: Child) -> None:
    """Wait until the bot has nothing left to do."""
    while (await started.ask(open=True))["open"]:
        pass
