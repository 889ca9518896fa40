"""Where GitHub's log no longer tells what was missed, the threads do: each request once, in its own people's name."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from bot.demo.deliveries import Delivery
from tests.stories.away import Away, away

DAY = timedelta(days=1)
#: longer than the log keeps
LONG = timedelta(days=4)


async def before(here: Away) -> None:
    """A bot was there, and went."""
    async with here.bot() as bot:
        await here.says("ana", "@bot one before")
        await here.at_rest(bot)
    assert len(here.replies()) == 1
    here.door.answers = [0]
    here.clock.step(timedelta(hours=1))


async def redelivered(here: Away, made: list[Delivery]) -> None:
    """GitHub sends them after all."""
    here.door.answers = ["bot"]
    for one in made:
        await here.deliverer.redeliver(one.guid)


async def test_away_for_longer_than_the_log_keeps(tmp_path: Path) -> None:
    """Comments, issues and pull requests that speak to the bot are heard; late webhooks of them are nothing new."""
    async with away(tmp_path) as here:
        await before(here)
        since = len(here.world.deliveries)
        await here.says("ana", "@bot one in the comment")
        await here.says("sam", "no word to anybody")
        await here.says("sam", "@bot one me too")
        await here.says("ana", "see `@bot one` in code")
        here.world.open_issue(here.repo, "ana", "Second", "@bot one in the issue")
        here.world.write_file(here.repo, "x", "y", "meg", "x", branch="topic")
        here.world.open_pull(here.repo, "meg", "Third", head="topic", body="@bot one in the pull request")
        await here.deliverer.settle()
        missed = here.world.deliveries[since:]
        here.clock.step(LONG)
        async with here.bot() as bot:
            await here.at_rest(bot)
            assert [len(here.replies(number)) for number in (1, 2, 3)] == [2, 1, 1]
            found = sorted((await here.origins(bot))["scan"])
            told = ["issue_comment.created", "issue_comment.created", "issues.opened", "pull_request.opened"]
            assert found == told
            await redelivered(here, missed)
            await here.quiet(bot)
            await here.passes(timedelta(minutes=11), bot)
            assert [len(here.replies(number)) for number in (1, 2, 3)] == [2, 1, 1]
            assert sorted((await here.origins(bot))["scan"]) == told


async def test_an_edit_while_away_asks_for_what_it_adds(tmp_path: Path) -> None:
    """By the text that was known; the webhook of it that comes late adds nothing, a later one does."""
    async with away(tmp_path) as here:
        async with here.bot() as bot:
            comment = await here.says("ana", "@bot one")
            await here.at_rest(bot)
        here.door.answers = [0]
        here.clock.step(timedelta(hours=1))
        since = len(here.world.deliveries)
        here.world.edit_comment(comment.id, "ana", "@bot one\n\n@bot two")
        await here.deliverer.settle()
        missed = here.world.deliveries[since:]
        here.clock.step(LONG)
        async with here.bot() as bot:
            await here.at_rest(bot)
            assert (await here.origins(bot))["scan"] == ["issue_comment.edited"]
            asked = ["one", "two"]
            assert await here.commands(bot) == asked
            await redelivered(here, missed)
            await here.quiet(bot)
            assert await here.commands(bot) == asked
            here.clock.step(timedelta(minutes=1))
            here.world.edit_comment(comment.id, "ana", "@bot one\n\n@bot two\n\n@bot three")
            await here.quiet(bot)
            assert await here.commands(bot) == [*asked, "three"]


async def test_written_and_edited_while_away(tmp_path: Path) -> None:
    """The newest text counts as its writer's if nobody else touched it; the webhooks of its making come late."""
    async with away(tmp_path) as here:
        await before(here)
        since = len(here.world.deliveries)
        comment = await here.says("ana", "@bot two")
        here.clock.step(timedelta(minutes=1))
        here.world.edit_comment(comment.id, "ana", "@bot two\n\n@bot three")
        await here.deliverer.settle()
        missed = here.world.deliveries[since:]
        here.clock.step(LONG)
        async with here.bot() as bot:
            await here.at_rest(bot)
            asked = ["one", "two", "three"]
            assert await here.commands(bot) == asked
            await redelivered(here, missed)
            await here.quiet(bot)
            assert await here.commands(bot) == asked


@pytest.mark.parametrize(("author", "editor"), [("sam", "ana"), ("ana", "meg")])
async def test_words_of_several_people_are_nobodys(tmp_path: Path, author: str, editor: str) -> None:
    """Whoever mends somebody's comment does not lend their role to it, nor is anything put into a mouth."""
    async with away(tmp_path) as here:
        await before(here)
        comment = await here.says(author, "@bot one please")
        here.clock.step(timedelta(minutes=1))
        here.world.edit_comment(comment.id, editor, "@bot two please")
        await here.deliverer.settle()
        here.clock.step(LONG)
        async with here.bot() as bot:
            await here.at_rest(bot)
            assert "scan" not in await here.origins(bot)
        assert len(here.replies()) == 1


async def test_an_edit_is_its_editors(tmp_path: Path) -> None:
    """What meg adds to a known comment of sam's, meg asks; what sam adds to his, sam does, who may not."""
    async with away(tmp_path) as here:
        async with here.bot() as bot:
            comments = [await here.says("sam", text) for text in ("one", "two")]
            await here.at_rest(bot)
        here.door.answers = [0]
        here.clock.step(timedelta(hours=1))
        here.world.edit_comment(comments[0].id, "meg", "one\n\n@bot two")
        here.world.edit_comment(comments[1].id, "sam", "two\n\n@bot two")
        await here.deliverer.settle()
        here.clock.step(LONG)
        async with here.bot() as bot:
            await here.at_rest(bot)
            assert len((await here.origins(bot))["scan"]) == 2
            assert await here.commands(bot) == ["two"]


async def test_an_issue_that_was_edited_while_away(tmp_path: Path) -> None:
    """A known one asks for what its edit adds; one that was opened before anybody listened asks for nothing."""
    async with away(tmp_path) as here:
        async with here.bot() as bot:
            here.world.open_issue(here.repo, "ana", "Second", "nothing yet")
            await here.at_rest(bot)
        here.door.answers = [0]
        here.clock.step(timedelta(hours=1))
        since = len(here.world.deliveries)
        here.world.edit_issue(here.repo, 2, "ana", body="nothing yet\n\n@bot two")
        await here.deliverer.settle()
        missed = here.world.deliveries[since:]
        here.clock.step(LONG)
        async with here.bot() as bot:
            await here.at_rest(bot)
            assert (await here.origins(bot))["scan"] == ["issues.edited"]
            assert await here.commands(bot) == ["two"]
            await redelivered(here, missed)
            await here.quiet(bot)
            assert await here.commands(bot) == ["two"]


async def test_bots_and_the_bot_itself_are_not_heard(tmp_path: Path) -> None:
    """Neither another program's comment nor our own words that quote a command."""
    async with away(tmp_path) as here:
        await before(here)
        other = here.world.add_app("other", "acme", private_key=here.app.private_key)
        here.world.comment(here.repo, 1, other.bot, "@bot one please", app=other)
        here.world.comment(here.repo, 1, here.app.bot, "@bot one myself", app=here.app)
        await here.deliverer.settle()
        here.clock.step(LONG)
        async with here.bot() as bot:
            await here.at_rest(bot)
            assert "scan" not in await here.origins(bot)


@pytest.mark.parametrize("status", [404, 403])
async def test_a_log_that_is_refused(tmp_path: Path, status: int) -> None:
    """After a start the threads are read, up to this moment."""
    async with away(tmp_path) as here:
        await before(here)
        await here.says("ana", "@bot one during")
        here.world.faults.refused(status, "GET", "/app/hook/deliveries", message="no")
        async with here.bot() as bot:
            await here.at_rest(bot)
            assert (await here.origins(bot))["scan"] == ["issue_comment.created"]
            await here.passes(timedelta(minutes=11), bot)
        assert len(here.replies()) == 2


async def test_a_repository_that_is_refused_stops_no_other(tmp_path: Path) -> None:
    """Nor does an archived one count, or an installation that rests, or an owner who is not served."""
    async with away(tmp_path) as here:
        await before(here)
        world = here.world
        other = world.add_repository("acme", "other", {"README.md": "x"})
        rests = world.add_repository("acme", "rests", {"README.md": "x"})
        theirs = world.add_repository("meg", "hers", {"README.md": "x"})
        world.install(here.app, "meg")
        for repo in (other, rests, theirs):
            world.set_role(repo, "ana", "write")
            world.open_issue(repo, "ana", "First", "@bot one here")
        world.archive_repository("acme/rests")
        await here.says("ana", "@bot one during")
        here.clock.step(LONG)
        world.faults.refused(403, "GET", "/repos/acme/other/issues", message="no")
        seen = len(world.requests)
        async with here.bot() as bot:
            await here.at_rest(bot)
            assert (await here.origins(bot))["scan"] == ["issue_comment.created"]
        asked = {one.path for one in world.requests[seen:] if one.path.endswith("/issues/comments")}
        assert asked == {"/repos/acme/widgets/issues/comments"}


async def test_a_new_bot_scans_nothing(tmp_path: Path) -> None:
    """Nothing says that anything was missed: old mentions are not dug out."""
    async with away(tmp_path) as here:
        await here.says("ana", "@bot one long ago")
        here.clock.step(LONG)
        async with here.bot() as bot:
            await here.at_rest(bot)
        assert here.replies() == []
