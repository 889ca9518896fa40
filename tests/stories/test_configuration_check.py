"""The check on a pull request that edits the bot's files: what is wrong, whoever opened it, and no secret of a base."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.demo.records import Check
from tests.stage import Stage, open_stage

OWN = "version: 1\n"
#: a name of the base's, misspelt: what is wrong would tell how it is spelt
EXTENDS = "version: 1\nextends: acme/.github@main\ndefault: acquire_initec\n"
BASE = "version: 1\nagents:\n  acquire_initech: {model: 'demo:helper', prompt: A plan that nobody knows.}\n"


def checks(stage: Stage, sha: str) -> list[Check]:
    """The checks of a commit that are ours."""
    return [one for one in stage.world.checks(stage.repo, sha) if one.app is stage.app]


def base(stage: Stage, *, private: bool) -> None:
    """The organisation's repository."""
    made = stage.world.add_repository("acme", ".github", {".github/bot.yml": BASE}, private)
    stage.world.set_role(made, "meg", "write")


def shown(check: Check) -> str:
    """All that a check tells whoever reads it."""
    return f"{check.title}\n{check.summary}\n{check.annotations}"


async def test_a_pull_request_of_our_own(tmp_path: Path) -> None:
    """Is checked when the bot opens it and when the bot pushes; it starts nothing."""
    async with open_stage(tmp_path, {".github/bot.yml": OWN}, sandbox="off") as stage:
        world, me = stage.world, stage.app.bot
        world.write_file(stage.repo, ".github/bot.yml", "version: 1\nagnets: {}\n", "meg", branch="topic")
        pull = world.open_pull(stage.repo, me, "Mend it, @bot help", head="topic", app=stage.app)
        await stage.settle()
        (check,) = checks(stage, pull.head_sha)
        assert (check.name, check.conclusion) == ("threadsmith configuration", "failure")
        assert "did you mean `agents`" in shown(check)
        assert stage.replies(pull.number) == []


@pytest.mark.parametrize("private", [True, False])
async def test_a_fork_learns_nothing_of_a_base(tmp_path: Path, private: bool) -> None:
    """What its head names is not read: it says so, and nothing is called wrong."""
    async with open_stage(tmp_path, {".github/bot.yml": OWN}, sandbox="off") as stage:
        base(stage, private=private)
        stage.world.add_user("eve")
        fork = stage.world.fork(stage.repo, "eve")
        stage.world.write_file(fork, ".github/bot.yml", EXTENDS, "eve", branch="fix")
        pull = stage.world.open_pull(stage.repo, "eve", "x", head="eve:fix")
        await stage.settle()
        (check,) = checks(stage, pull.head_sha)
        assert "initech" not in shown(check)
        assert check.conclusion == "neutral"
        assert "is not read here, so the rest was not checked: a fork's head names it" in shown(check)
        assert stage.reads("/repos/acme/.github/") == []


@pytest.mark.parametrize("private", [True, False])
async def test_a_private_base_is_not_shown_in_public(tmp_path: Path, private: bool) -> None:
    """A public one is read for a head of the repository's own."""
    async with open_stage(tmp_path, {".github/bot.yml": OWN}, sandbox="off") as stage:
        base(stage, private=private)
        stage.world.write_file(stage.repo, ".github/bot.yml", EXTENDS, "ana", branch="topic")
        pull = stage.world.open_pull(stage.repo, "ana", "x", head="topic")
        await stage.settle()
        (check,) = checks(stage, pull.head_sha)
        if private:
            assert check.conclusion == "neutral"
            assert "initech" not in shown(check)
            assert "it is private and this repository is not" in shown(check)
        else:
            assert check.conclusion == "failure"
            assert "did you mean `acquire_initech`" in shown(check)


async def test_a_private_base_of_a_private_repository(tmp_path: Path) -> None:
    """Whoever sees the one sees the other's names in what is wrong."""
    async with open_stage(tmp_path, {".github/bot.yml": OWN}, sandbox="off") as stage:
        base(stage, private=True)
        stage.repo.private = True
        stage.world.write_file(stage.repo, ".github/bot.yml", EXTENDS, "ana", branch="topic")
        pull = stage.world.open_pull(stage.repo, "ana", "x", head="topic")
        await stage.settle()
        (check,) = checks(stage, pull.head_sha)
        assert "did you mean `acquire_initech`" in shown(check)
