"""What was missed comes in all the same, once: GitHub's log is read on start and every ten minutes."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from tests.restarts import until
from tests.stories.away import away

#: by then the log is read again
LATER = timedelta(minutes=11)


async def test_asked_while_the_bot_was_down(tmp_path: Path) -> None:
    """Nobody was there, something else was, nobody answered in time: after the start each is answered once."""
    async with away(tmp_path) as here:
        async with here.bot() as bot:
            await here.says("ana", "@bot one before")
            await here.at_rest(bot)
        assert len(here.replies()) == 1
        for code in (0, 502, 1, 500, 302):
            here.door.answers = [code]
            await here.says("ana", f"@bot one during {code}")
        await here.says("sam", "@bot one me too")
        async with here.bot() as bot:
            await here.at_rest(bot)
            assert len(here.replies()) == 6
            assert (await here.origins(bot))["log"] == ["issues.opened", *["issue_comment.created"] * 6]
            await here.passes(LATER, bot)
        async with here.bot() as bot:
            await here.at_rest(bot)
        assert len(here.replies()) == 6


async def test_a_bot_that_github_cannot_reach_at_all(tmp_path: Path) -> None:
    """It works by the log alone: asked, and answered ten minutes later at most; so its own words come back."""
    async with away(tmp_path) as here, here.bot(reachable=False) as bot:
        await here.says("ana", "@bot one")
        await here.at_rest(bot)
        await here.passes(LATER, bot)
        assert len(here.replies()) == 1
        await here.says("ana", "@bot two")
        for _ in range(3):
            await here.passes(LATER, bot)
        assert len(here.replies()) == 2
        assert "webhook" not in await here.origins(bot)


async def test_half_of_the_attempts_fail(tmp_path: Path) -> None:
    """Those that arrived are not asked for again, those that did not come in within ten minutes."""
    async with away(tmp_path) as here, here.bot() as bot:
        await here.at_rest(bot)
        asked = len([seen for seen in here.world.requests if "/hook/deliveries/" in seen.path])
        for number in range(6):
            here.door.answers = ["bot" if number % 2 else 502]
            await here.says("ana", f"@bot one {number}")
        here.door.answers = ["bot"]
        await here.quiet(bot)
        assert len(here.replies()) == 3
        await here.passes(LATER, bot)
        assert len(here.replies()) == 6
        fetched = [seen for seen in here.world.requests if "/hook/deliveries/" in seen.path][asked:]
        # what was said meanwhile by the bot itself may have met a closed door too
        assert (await here.origins(bot))["log"].count("issue_comment.created") == len(fetched)


async def test_the_webhook_arrives_while_its_payload_is_fetched(tmp_path: Path) -> None:
    """Whichever comes second is the same request: under its GUID, and under another."""
    async with away(tmp_path) as here:
        await here.says("ana", "@bot one now")
        made = here.world.deliveries[-1]
        held = here.world.faults.hold("GET", "/app/hook/deliveries/.*", count=1)
        async with here.bot() as bot:
            await until(lambda: held.met.is_set())
            await here.deliverer.redeliver(made.guid)
            await here.quiet(bot)
            assert len(here.replies()) == 1
            assert held.until is not None
            held.until.set()
            await here.at_rest(bot)
            await here.deliverer.replay(made.guid)
            await here.quiet(bot)
            assert len(here.replies()) == 1


async def test_more_than_a_page_of_them(tmp_path: Path) -> None:
    """A thread's requests keep their order."""
    async with away(tmp_path) as here:
        await here.says("ana", "@bot one first")
        for number in range(110):
            here.world.comment(here.repo, 1, "sam", f"{number}")
        await here.says("ana", "@bot two last")
        async with here.bot() as bot:
            await here.at_rest(bot)
            assert len((await here.origins(bot))["log"]) >= 112
            assert await here.commands(bot) == ["one", "two"]
        pages = [seen for seen in here.world.requests if seen.path == "/app/hook/deliveries"]
        assert len(pages) >= 2


async def test_a_page_that_answered_in_the_bots_place(tmp_path: Path) -> None:
    """A proxy's 200 is no acceptance, and is found out."""
    async with away(tmp_path) as here:
        async with here.bot() as bot:
            await here.at_rest(bot)
        here.door.answers = ["<html>We are back soon</html>"]
        await here.says("ana", "@bot one now")
        async with here.bot() as bot:
            await here.at_rest(bot)
        assert len(here.replies()) == 1


async def test_a_database_that_was_replaced_says_nothing_again(tmp_path: Path) -> None:
    """What another database has answered is not answered by a new one; what nobody took, is."""
    async with away(tmp_path) as here:
        async with here.bot() as bot:
            await here.says("ana", "@bot one before")
            await here.at_rest(bot)
        here.door.answers = [0]
        await here.says("ana", "@bot one during")
        async with here.bot(data="new") as bot:
            await here.at_rest(bot)
            await here.passes(LATER, bot)
        assert len(here.replies()) == 2
