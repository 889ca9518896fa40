"""A mention leads to one result; everything else leads to nothing."""

from __future__ import annotations

import re

import pytest

from tests.databases import on_both
from tests.stage import Stage


async def test_a_writer_mentions_an_agent_and_gets_one_answer(stage: Stage) -> None:
    """One result comment, 👀 at once, 🚀 at the end, a footer that says what was seen."""
    asked = await stage.says("ana", "@bot helper what is this about?")
    (answer,) = stage.replies()
    assert "helper" in answer
    assert "saw 0 comments, 0 pins, 0 inputs" in answer
    assert stage.reactions(asked) == ["rocket"]


async def test_a_command_step_posts_its_output_in_a_fence(stage: Stage) -> None:
    """The clone is there, the issue's number is in the text."""
    await stage.says("ana", "@bot check")
    (answer,) = stage.replies()
    assert answer.startswith("```text\nchecked 1 in README.md\n```")


async def test_a_later_step_gets_an_earlier_output_through_env(stage: Stage) -> None:
    """Only the last output is posted."""
    await stage.says("ana", "@bot two")
    (answer,) = stage.replies()
    assert answer.startswith("```text\nsecond after first\n```")


@on_both
async def test_a_failed_step_ends_the_run_and_says_what_to_do(stage: Stage) -> None:
    """The step, the code, its last words, the line to mend; the next step never runs."""
    asked = await stage.says("ana", "@bot fails")
    (answer,) = stage.replies()
    assert answer.startswith("**`fails` failed: `command_failed` its command ended with exit code 3** (step `boom`, [")
    assert re.search(
        r"\[`\.github/bot\.yml` line 16\]\(https?://[^ ]+/blob/[0-9a-f]{40}/\.github/bot\.yml#L16\)\)\.", answer
    )
    assert "last words" in answer
    assert "See its last lines; `@bot retry r" in answer
    assert "never" not in answer
    assert stage.reactions(asked) == ["confused"]


@pytest.mark.parametrize(
    "body",
    [
        "> @bot check",
        "`@bot check`",
        "```\n@bot check\n```",
        "<!-- @bot check -->",
        "write to x@bot.example",
        "see https://example.com/@bot check",
        "@bot-2 check",
        "@bot/team check",
        "[text](https://example.com/@bot)",
        "nothing at all",
    ],
)
async def test_what_is_no_mention_leads_to_nothing(stage: Stage, body: str) -> None:
    """No comment, no reaction."""
    comment = await stage.says("ana", body)
    assert (stage.replies(), stage.reactions(comment)) == ([], [])


async def test_someone_below_the_trigger_role_gets_nothing(stage: Stage) -> None:
    """sam may only read."""
    comment = await stage.says("sam", "@bot check")
    assert (stage.replies(), stage.reactions(comment)) == ([], [])


async def test_who_edits_decides_not_who_wrote(stage: Stage) -> None:
    """A writer's edit that adds a request to a reader's comment counts; an edit that adds none does not."""
    comment = await stage.says("sam", "it crashes")
    stage.world.edit_comment(comment.id, "meg", "it crashes\n\n@bot check")
    await stage.settle()
    assert len(stage.replies()) == 1
    stage.world.edit_comment(comment.id, "meg", "it crashes badly\n\n@bot check")
    await stage.settle()
    assert len(stage.replies()) == 1


@on_both
async def test_several_mentions_make_several_dispatches_in_order(stage: Stage) -> None:
    """Identical ones collapse."""
    await stage.says("ana", "@bot two\n@bot check\n@bot two")
    first, second = stage.replies()
    assert "second after first" in first
    assert "checked 1" in second


async def test_an_issue_that_asks_when_it_is_opened(stage: Stage) -> None:
    """The body counts, the title never."""
    opened = stage.world.open_issue(stage.repo, "ana", "@bot check", "please look\n\n@bot check")
    await stage.settle()
    assert len(stage.replies(opened.number)) == 1


async def test_the_bot_does_not_answer_itself(stage: Stage) -> None:
    """Its own comment with its handle in it comes back as a delivery and leads to nothing."""
    await stage.says("ana", "@bot two")
    stage.world.comment(stage.repo, 1, stage.app.bot, "@bot check")
    await stage.settle()
    assert len(stage.replies()) == 2


async def test_a_probable_typo_runs_nothing(stage: Stage) -> None:
    """The answer names the command that was probably meant."""
    await stage.says("ana", "@bot chekc it please")
    (answer,) = stage.replies()
    assert "Did you mean `@bot check`" in answer


async def test_an_owner_that_is_not_allowed_gets_nothing_and_no_token(stage: Stage) -> None:
    """The App installed elsewhere: nothing is minted, nothing is read."""
    stage.world.add_user("stranger")
    theirs = stage.world.add_repository("stranger", "lure", {".github/bot.yml": "version: 1\n"})
    stage.world.install(stage.app, "stranger")
    stage.world.open_issue(theirs, "stranger", "hello", "@bot help")
    before = len(stage.world.requests)
    await stage.settle()
    assert stage.world.comments(theirs, 1) == []
    assert len(stage.world.requests) == before
