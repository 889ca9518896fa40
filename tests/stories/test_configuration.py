"""A broken configuration is told once, with place and hint; a mended one works."""

from __future__ import annotations

import pytest

from tests.stage import Stage
from tests.stories.conftest import BOT_YML

#: a run that waits for somebody between its beginning and its end
STEPS = """\
version: 1
workflows:
  slow:
    steps:
      - {id: may, ask: May I?, options: {approve: told, reject: end}}
      - {id: told, run: echo as it was begun}
"""


async def test_a_broken_file_is_told_with_file_line_column_and_hint(stage: Stage) -> None:
    """One comment for the commit, a reaction for who asks again, and after the mend it works."""
    broken = BOT_YML.replace("model: demo:helper", "modle: demo:helper")
    sha = await stage.configures(broken)
    await stage.says("ana", "@bot helper hello")
    (told,) = stage.replies()
    assert f"`.github/bot.yml` at {sha[:7]} cannot be used" in told
    assert f"| [5:5]({stage.world.site_url}/acme/widgets/blob/{sha}/.github/bot.yml#L5) `unknown_key` |" in told
    assert "did you mean `model`" in told
    again = await stage.says("ana", "@bot helper hello?")
    assert len(stage.replies()) == 1
    assert stage.reactions(again) == ["confused"]
    await stage.configures(BOT_YML)
    await stage.says("ana", "@bot two")
    assert "second after first" in stage.replies()[-1]


async def test_another_repository_is_unharmed(stage: Stage) -> None:
    """A broken file breaks only its own repository."""
    other = stage.world.add_repository("acme", "gadgets", {".github/bot.yml": BOT_YML})
    stage.world.set_role(other, "ana", "write")
    await stage.configures("version: 1\nagents: [")
    opened = stage.world.open_issue(other, "ana", "hello", "@bot two")
    await stage.settle()
    bodies = [c.body for c in stage.world.comments(other, opened.number)]
    assert len(bodies) == 1
    assert "second after first" in bodies[0]


async def test_a_reader_is_not_told_of_a_broken_file(stage: Stage) -> None:
    """`trigger_role` counts as write while the file is broken."""
    await stage.configures("version: 1\nagents: [")
    await stage.says("sam", "@bot hello")
    assert stage.replies() == []


async def test_without_any_file_the_ask_agent_serves(stage: Stage) -> None:
    """The product's own configuration is all there is then."""
    other = stage.world.add_repository("acme", "bare")
    stage.world.set_role(other, "ana", "write")
    opened = stage.world.open_issue(other, "ana", "hello", "@bot what is this?")
    await stage.settle()
    assert len(stage.world.comments(other, opened.number)) == 1


async def test_config_shows_what_is_in_force(stage: Stage) -> None:
    """Commit, roster, limits."""
    await stage.says("ana", "@bot config")
    (told,) = stage.replies()
    assert "Configuration in force" in told
    assert "`helper`" in told
    assert "$2" in told


async def test_a_branch_changes_nothing_until_it_is_merged(stage: Stage) -> None:
    """Neither in an issue nor on the pull request that would change it."""
    theirs = BOT_YML.replace("echo checked", "echo changed") + "trigger_role: read\n"
    stage.world.write_file(stage.repo, ".github/bot.yml", theirs, "ana", branch="topic")
    pull = stage.world.open_pull(stage.repo, "ana", "Change it", head="topic")
    await stage.says("sam", "@bot check", pull.number)
    for number in (1, pull.number):
        await stage.says("ana", "@bot check", number)
        (told,) = stage.replies(number)
        assert "checked" in told
        assert "changed" not in told
    await stage.configures(theirs)
    await stage.says("sam", "@bot check", pull.number)
    assert "changed" in stage.replies(pull.number)[-1]


@pytest.mark.parametrize("now", ["version: 1\nagents: [", BOT_YML, STEPS.replace("begun", "changed")])
async def test_a_change_during_a_run_is_for_the_next_one(stage: Stage, now: str) -> None:
    """A run ends as it began, whether its workflow is changed, gone, or the file is broken by now."""
    await stage.configures(STEPS)
    await stage.says("ana", "@bot slow")
    await stage.configures(now)
    await stage.says("ana", "@bot approve")
    assert "begun" in stage.replies()[-1]
    await stage.says("ana", "@bot slow")
    assert "begun" not in stage.replies()[-1]
