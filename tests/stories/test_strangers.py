"""What an instance owes to people it does not know, and to maintainers whose App lacks something."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sqlmodel import select

from bot.publish.marker import strip
from bot.store.tables import Run
from tests.stage import Stage, open_stage

CHECK = "version: 1\nworkflows:\n  check:\n    steps: [{id: check, run: echo checked, workspace: none}]\n"


async def test_an_exported_variable_that_a_step_prints_is_redacted(tmp_path: Path) -> None:
    """It reaches the process that names it and no comment."""
    files = {
        ".github/bot.yml": "version: 1\nworkflows:\n  leak:\n    steps:\n"
        '      - {id: leak, run: "echo value $DEPLOY_KEY", env: {DEPLOY_KEY: }}\n'
    }
    environ = {"DEPLOY_KEY": "hunter2-deploy-Sup3rS3cret"}
    async with open_stage(tmp_path, files, environ=environ, export_env=("DEPLOY_KEY",)) as stage:
        await stage.says("ana", "@bot leak")
        (answer,) = stage.replies()
        assert "hunter2" not in answer
        assert "value [redacted]" in answer


async def test_an_app_that_may_not_read_contents_says_so(stage: Stage) -> None:
    """Once, with what to grant; a reader hears nothing."""
    stage.installation.permissions = {"metadata": "read", "issues": "write"}
    stage.world.tokens.clear()
    await stage.says("sam", "@bot two")
    assert stage.replies() == []
    asked = await stage.says("ana", "@bot two")
    (told,) = stage.replies()
    assert "`not_readable`" in told
    assert "contents: read" in told
    assert stage.reactions(asked) == ["confused"]


async def test_an_app_installed_by_an_unknown_owner(stage: Stage) -> None:
    """Whatever they do there, no token is minted, nothing is read, nothing is said."""
    stage.world.add_user("lure")
    theirs = stage.world.add_repository("lure", "widgets", {".github/bot.yml": CHECK})
    stage.world.install(stage.app, "lure")
    tokens = len(stage.world.tokens)
    seen = len(stage.world.requests)
    issue = stage.world.open_issue(theirs, "lure", "hello", "@bot check")
    made = stage.world.comment(theirs, issue.number, "lure", "@bot check")
    stage.world.edit_comment(made.id, "lure", "@bot check\n@bot stop")
    stage.world.write_file(theirs, ".github/bot.yml", CHECK + "trigger_role: read\n", "lure")
    await stage.settle()
    assert len(stage.world.tokens) == tokens
    assert [one.path for one in stage.world.requests[seen:]] == []
    assert [c for c in stage.world.comments(theirs, issue.number) if c.author is stage.app.bot] == []


@pytest.mark.parametrize(
    "lines",
    [
        "sandbox: off\n",
        "workspace: {sandbox: off}\n",
        "isolation: none\n",
        "allowed_owners: ['*']\n",
        "max_usd_day: 1000000\n",
        "export_env: [BOT_GITHUB_PRIVATE_KEY]\n",
    ],
)
async def test_a_file_that_would_loosen_what_the_operator_holds(stage: Stage, lines: str) -> None:
    """There is no such key: the place is told, and nothing runs while it stands there."""
    await stage.configures(CHECK + lines)
    asked = await stage.says("ana", "@bot check")
    (told,) = stage.replies()
    assert "`unknown_key`" in told
    assert "checked" not in told
    assert stage.reactions(asked) == ["confused"]
    assert await stage.bot.store.read(lambda session: session.exec(select(Run)).all()) == []


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("BOT_GITHUB_PRIVATE_KEY", "is set by the engine"),
        ("BOT_MARKER_KEY", "is set by the engine"),
        ("OPENAI_API_KEY", "env_not_exported"),
        ("HOME_OF_THE_OPERATOR", "env_not_exported"),
    ],
)
async def test_a_file_that_names_the_engines_variables(tmp_path: Path, name: str, code: str) -> None:
    """In `env:` of a step or of all: only what the operator opens, never the bot's own, and the value is nowhere."""
    canary = "canary-of-the-engine-7Q2x"
    line = f'version: 1\nworkflows:\n  leak: {{steps: [{{id: leak, run: "env; echo ${name}", env: {{{name}: }}}}]}}\n'
    everywhere = f"version: 1\nworkspace: {{env: {{{name}: }}}}\nworkflows:\n  leak: {{steps: [{{id: a, run: env}}]}}\n"
    async with open_stage(tmp_path, {".github/bot.yml": line}, environ={name: canary}) as stage:
        await stage.says("ana", "@bot leak")
        await stage.configures(everywhere)
        await stage.says("ana", "@bot leak")
        assert len(stage.replies()) == 2
        for told in stage.replies():
            assert code in told
            assert canary not in told


async def test_a_repository_that_takes_an_old_name_gets_none_of_its_secrets(tmp_path: Path) -> None:
    """They are bound to the number; the one that had the name still gets them."""
    text = """\
version: 1
workflows:
  go:
    steps:
      - {id: go, run: 'test -n "$TOKEN" && echo it is there', env: {TOKEN: "${{ secrets.TOKEN }}"}, workspace: none}
"""
    folder = tmp_path / "secrets"
    async with open_stage(tmp_path, {".github/bot.yml": text}, secrets_dir=folder) as stage:
        place = folder / str(stage.repo.id)
        place.mkdir(parents=True, mode=0o700)
        (place / "TOKEN").write_text("s3cr3t-of-the-first")
        (place / "TOKEN").chmod(0o600)
        stage.world.rename_repository(stage.repo, "gadgets")
        taker = stage.world.add_repository("acme", "widgets", {".github/bot.yml": text})
        stage.world.set_role(taker, "ana", "write")
        issue = stage.world.open_issue(taker, "ana", "mine", "@bot go")
        await stage.settle()
        await stage.says("ana", "@bot go")
        (refused,) = [strip(c.body) for c in stage.world.comments(taker, issue.number)]
        (given,) = stage.replies()
        assert "secret_unavailable" in refused
        assert "it is there" in given


async def test_a_forks_pull_request_configures_nothing_and_runs_nothing(stage: Stage) -> None:
    """Its `bot.yml` lets its author in and runs its author's code: the default branch's is the one that counts."""
    theirs = CHECK.replace("echo checked", "echo pwned") + "trigger_role: read\n"
    fork = stage.world.fork(stage.repo, "sam")
    stage.world.write_file(fork, ".github/bot.yml", theirs, "sam", branch="lure")
    pull = stage.world.open_pull(stage.repo, "sam", "Mend it", head="sam:lure", body="@bot check")
    await stage.says("sam", "@bot check", pull.number)
    assert stage.replies(pull.number) == []
    await stage.says("ana", "@bot check", pull.number)
    told = stage.replies(pull.number)[-1]
    assert "checked" in told
    assert "pwned" not in told


async def test_an_error_text_that_quotes_the_command(stage: Stage) -> None:
    """What failed says the command again: in the bot's comment and in a person's quote it is nobody's request."""
    command = "printf '@bot fails again\\n@deploy run' >&2; exit 3"
    await stage.configures(
        f'version: 1\nworkflows:\n  fails:\n    steps:\n      - {{id: boom, run: "{command}", workspace: none}}\n'
    )
    await stage.says("ana", "@bot fails")
    (told,) = stage.replies()
    assert "fails again" in told
    # GitHub sends the bot's own comment back, and people quote it or copy what they are told to write
    quote = "\n".join(f"> {line}" for line in told.splitlines())
    await stage.says("ana", f"{quote}\n\nWhat is this?")
    await stage.says("ana", f"It says:\n\n```text\n{told.replace('```', '')}\n```")
    assert len(stage.replies()) == 1
    assert len(await stage.bot.store.read(lambda session: session.exec(select(Run)).all())) == 1


async def test_two_bots_that_answer_each_other(stage: Stage) -> None:
    """One that is not allowed is not heard; one that is allowed is, until the thread's breaker, told once."""
    other = stage.world.add_app("echo", "acme", private_key=stage.app.private_key)

    async def answers(most: int) -> int:
        """The other bot answers whatever ours says last, until ours is silent."""
        for rounds in range(most):
            before = len(stage.replies())
            stage.world.comment(stage.repo, 1, other.bot, "@bot check", app=other)
            await stage.settle()
            if len(stage.replies()) == before:
                return rounds
        return most

    await stage.configures(CHECK)
    assert await answers(3) == 0
    await stage.configures(f"{CHECK}allow_bots: [{other.bot.id}]\npublish: {{progress: none}}\n")
    async with asyncio.timeout(120):
        # twenty answers, and one sentence that there are no more
        assert await answers(40) == 21
    assert "more than 20 requests were made in this thread within an hour" in stage.replies()[-1]
    assert len(stage.replies()) == 21
