"""Built-in commands: comment in, comment or reaction out; they never queue."""

from __future__ import annotations

import asyncio

from sqlmodel import select

from bot.model.state import RunState
from bot.store import Session
from bot.store.tables import Run
from tests.stage import Stage
from tests.stories.test_context import link

SLOW = """\
version: 1
workflows:
  slow:
    steps:
      - {id: slow, run: sleep 60}
"""


async def test_help_lists_the_roster_and_the_builtins(stage: Stage) -> None:
    """Generated from the tables."""
    await stage.says("ana", "@bot help")
    (told,) = stage.replies()
    assert "| `@bot helper …` | Answers from what it sees. |" in told
    assert "`@bot cancel [run]`" in told


async def test_status_of_a_quiet_thread(stage: Stage) -> None:
    """Says so, with the last run."""
    await stage.says("ana", "@bot status")
    assert stage.replies() == ["Nothing is under way here."]
    await stage.says("ana", "@bot two")
    await stage.says("ana", "@bot status")
    assert "The last was r1 `two`: succeeded." in stage.replies()[-1]


async def running(stage: Stage) -> None:
    """Until a run is under way."""

    def state(session: Session) -> bool:
        return any(run.state is RunState.RUNNING for run in session.exec(select(Run)))

    async with asyncio.timeout(20):
        while not await stage.bot.store.read(state):
            await asyncio.sleep(0.01)


async def test_cancel_ends_the_running_one_and_the_waiting_one(stage: Stage) -> None:
    """Each accepted request has exactly one visible end, within two seconds."""
    await stage.configures(SLOW)
    stage.world.comment(stage.repo, 1, "ana", "@bot slow")
    await running(stage)
    stage.world.comment(stage.repo, 1, "ana", "@bot slow again")
    await stage.deliverer.settle()
    status = stage.world.comment(stage.repo, 1, "meg", "@bot status")
    async with asyncio.timeout(10):
        while not [body for body in stage.replies() if "Under way here" in body]:
            await asyncio.sleep(0.01)
    (told,) = stage.replies()
    assert "r1 `slow` · running" in told
    assert "r2 `slow` · queued" in told
    assert status is not None
    begun = asyncio.get_running_loop().time()
    asked = await stage.says("meg", "@bot cancel")
    assert asyncio.get_running_loop().time() - begun < 5
    assert stage.reactions(asked) == ["+1"]
    ends = sorted(body for body in stage.replies() if "was cancelled" in body)
    assert [body.split(" was")[0] for body in ends] == ["r1 `slow`", "r2 `slow`"]
    assert all("`meg`" in body for body in ends)


async def test_cancel_when_nothing_runs(stage: Stage) -> None:
    """Told, not silent."""
    asked = await stage.says("ana", "@bot cancel r9")
    assert stage.replies() == ["r9 is not under way here."]
    assert stage.reactions(asked) == ["confused"]
    asked = await stage.says("ana", "@bot why r9")
    assert stage.replies()[-1] == "There is no r9 in this thread."
    assert stage.reactions(asked) == ["confused"]


async def test_pin_unpin_and_pins(stage: Stage) -> None:
    """One index comment, edited in place; `pins` lists, `unpin` by number."""
    first = await stage.says("sam", "Keep Python 3.9 working")
    await stage.says("meg", f"@bot pin {link(stage, first.id)}")
    (index,) = stage.replies()
    assert "What the bot always sees here" in index
    assert '"Keep Python 3\\.9 working"' in index or '"Keep Python 3.9 working"' in index
    await stage.says("sam", "Five requests a second")
    asked = await stage.says("meg", "@bot pin")
    assert stage.reactions(asked) == ["+1"]
    (index,) = stage.replies()
    assert "Five requests a second" in index
    await stage.says("meg", "@bot pin Always be kind")
    (index,) = stage.replies()
    assert "3. [meg," in index
    await stage.says("ana", "@bot unpin 1")
    (index,) = stage.replies()
    assert "Keep Python" not in index
    await stage.says("ana", "@bot pins")
    assert "1. [sam," in stage.replies()[-1]


async def test_a_bare_pin_skips_what_the_bot_says_about_itself(stage: Stage) -> None:
    """The index, answers of built-ins and refusals are not meant; a result is."""
    await stage.says("sam", "Keep Python 3.9 working")
    for words in ("status", "pin Be kind", "pins", "cancel"):
        await stage.says("meg", f"@bot {words}")
    await stage.says("ana", "@bot unpin 1")
    # what people said to the bot stands between: theirs is the newest comment that is no machinery
    await stage.says("ana", "@bot pin")
    assert "@bot unpin 1" in stage.replies()[1]
    await stage.says("ana", "@bot two")
    asked = await stage.says("ana", "@bot pin")
    assert stage.reactions(asked) == ["+1"]
    index = next(one for one in stage.replies() if "What the bot always sees here" in one)
    assert '"text second after first' in index


async def test_a_pin_of_another_thread_is_refused(stage: Stage) -> None:
    """With the reason."""
    other = stage.world.open_issue(stage.repo, "sam", "another", "body")
    foreign = await stage.says("sam", "elsewhere", other.number)
    wrong = f"{stage.world.site_url}/acme/widgets/issues/{other.number}#issuecomment-{foreign.id}"
    await stage.says("meg", f"@bot pin {wrong}")
    assert "another thread" in stage.replies()[-1]
    await stage.says("meg", f"@bot pin {link(stage, foreign.id)}")
    assert "another thread" in stage.replies()[-1]


async def test_a_reader_cannot_pin(stage: Stage) -> None:
    """Below `trigger_role`: nothing."""
    await stage.says("sam", "@bot pin")
    assert stage.replies() == []


async def test_why_shows_the_manifest(stage: Stage) -> None:
    """Each comment with its fate."""
    await stage.says("sam", "I saw it too")
    await stage.says("ana", "@bot helper look")
    await stage.says("ana", "@bot why")
    told = stage.replies()[-1]
    assert "**What r1 saw**" in told
    assert "sam" in told
    await stage.says("ana", "@bot why r7")
    assert stage.replies()[-1] == "There is no r7 in this thread."


async def test_a_deleted_pin_leaves_the_index(stage: Stage) -> None:
    """A pin of a deleted comment is dropped."""
    first = await stage.says("sam", "to be deleted")
    await stage.says("meg", f"@bot pin {link(stage, first.id)}")
    stage.world.delete_comment(first.id, "meg")
    await stage.settle()
    (index,) = stage.replies()
    assert "to be deleted" not in index
    assert "Nothing is pinned." in index
