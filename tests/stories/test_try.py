"""`try <branch> <command>`: a branch's configuration on a thread, without secrets, and nothing is written."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

from bot.model.state import AttemptState, DispatchState
from bot.store import Session
from bot.store.tables import Attempt, Delivery, Dispatch
from tests.fake_llm import Reply
from tests.stage import Stage, open_stage
from tests.stories.talking import agent, calls, offered, provider, stage_with, told

PATH = ".github/bot.yml"
MAIN = 'version: 1\nagents:\n  echo: {model: "demo:echo", prompt: Repeat.}\n'
THEIRS = MAIN + '  other: {model: "demo:echo", prompt: Say it again.}\n'


@asynccontextmanager
async def trying(
    tmp_path: Path, theirs: str = THEIRS, main: str = MAIN, **overrides: Any
) -> AsyncIterator[tuple[Stage, str]]:
    """A stage with the branch `topic`, and its commit."""
    async with open_stage(tmp_path, {PATH: main}, **overrides) as stage:
        sha = stage.world.write_file(stage.repo, PATH, theirs, "ana", "Try", branch="topic")
        await stage.settle()
        yield stage, sha


async def attempts(stage: Stage) -> list[tuple[str, AttemptState, list[str]]]:
    """What became of each step, with the notes of the record."""

    def work(session: Session) -> list[tuple[str, AttemptState, list[str]]]:
        rows = session.exec(select(Attempt).order_by(Attempt.id))
        return [(row.step, row.state, list(row.route.get("notes", ()))) for row in rows]

    return await stage.bot.store.read(work)


async def test_a_branch_is_tried(tmp_path: Path) -> None:
    """What only the branch has runs, and the answer says where from."""
    async with trying(tmp_path) as (stage, sha):
        asked = await stage.says("ana", "@bot try topic other Good morning")
        (reply,) = stage.replies()
        assert "Good morning" in reply
        assert f"r1 · other · tried from topic at {sha[:7]}, nothing written · " in reply
        assert stage.reactions(asked) == ["rocket"]
        row = await stage.bot.store.read(lambda session: session.exec(select(Dispatch)).one())
        assert row.trial
        assert row.command == "other"
        assert row.trigger["text"] == "Good morning"


async def test_free_text_goes_to_the_branch_s_default(tmp_path: Path) -> None:
    """`default` is read from that branch too."""
    async with trying(tmp_path, THEIRS + "default: other\n") as (stage, _):
        await stage.says("ana", "@bot try topic what is this")
        assert "· other ·" in stage.replies()[0]


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ("try nowhere other x", "this repository has no branch `nowhere`"),
        ("try sam:topic other x", "`sam:topic` is a branch of a fork"),
        ("try ../../topic other x", "`../../topic` is no name that a branch can have"),
        ("try refs/heads/topic other x", "`refs/heads/topic` is no name that a branch can have"),
        ("try HEAD other x", "`HEAD` is no name that a branch can have"),
        ("try topic~1 other x", "`topic~1` is no name that a branch can have"),
        ("try topic..main other x", "`topic..main` is no name that a branch can have"),
        ("try topic help", "`help` is built in, and the same on every branch"),
        ("try topic othar now", "`topic` has no agent or workflow of that name (did you mean `other`?)"),
    ],
)
async def test_what_cannot_be_tried(tmp_path: Path, request_: str, answer: str) -> None:
    """Told in words, with 😕; nothing is started."""
    async with trying(tmp_path) as (stage, _):
        asked = await stage.says("ana", f"@bot {request_}")
        (reply,) = stage.replies()
        assert reply.startswith(f"Not done: {answer}")
        assert stage.reactions(asked) == ["confused"]
        assert await attempts(stage) == []


async def test_a_commit_and_a_fork_s_branch_are_none(tmp_path: Path) -> None:
    """Neither what GitHub calls the head of a pull request nor a commit's name is a branch."""
    async with trying(tmp_path) as (stage, sha):
        for name in (sha, "pull/1/head"):
            await stage.says("ana", f"@bot try {name} other x")
            assert f"has no branch `{name}`" in stage.replies()[-1]


async def test_a_broken_branch(tmp_path: Path) -> None:
    """Its findings are told as those of the default branch are, with that commit, once; the default branch works on."""
    async with trying(tmp_path, THEIRS.replace("prompt: Say", "promt: Say")) as (stage, sha):
        await stage.says("ana", "@bot try topic other x")
        await stage.says("ana", "@bot try topic other y")
        (reply,) = stage.replies()
        assert f"at {sha[:7]} cannot be used" in reply
        assert f"/blob/{sha}/.github/bot.yml#L4" in reply
        assert "`unknown_key`" in reply
        await stage.says("ana", "@bot echo Good morning")
        assert "Good morning" in stage.replies()[-1]


async def test_who_may(tmp_path: Path) -> None:
    """The default branch decides, and `write` is the least: a branch that lets everybody in lets in nobody."""
    theirs = THEIRS + "trigger_role: read\n"
    async with trying(tmp_path, theirs, MAIN + "trigger_role: read\n") as (stage, _):
        asked = await stage.says("sam", "@bot try topic other x")
        assert stage.replies() == []
        assert stage.reactions(asked) == []
    async with trying(tmp_path / "strict", theirs, MAIN + "trigger_role: maintain\n") as (stage, _):
        await stage.says("ana", "@bot try topic other x")
        assert stage.replies() == []
        await stage.says("meg", "@bot try topic other x")
        assert len(stage.replies()) == 1


async def test_a_workflow_s_own_role(tmp_path: Path) -> None:
    """What the default branch asks for a workflow, its name on the branch asks too, whatever stands there."""
    main = MAIN + '  other: {model: "demo:echo", prompt: Say it., trigger_role: maintain}\n'
    async with trying(tmp_path, THEIRS, main) as (stage, _):
        await stage.says("ana", "@bot try topic other x")
        assert stage.replies() == ["Not done: `other` takes the role maintain, as the default branch says."]
        await stage.says("meg", "@bot try topic other x")
        assert "tried from topic" in stage.replies()[-1]


@pytest.mark.parametrize("strict", ["main", "topic"])
async def test_limits_of_a_day(tmp_path: Path, strict: str) -> None:
    """The stricter of both holds."""
    bound = "limits: {per_actor_day: {dispatches: 1}}\n"
    theirs, main = (THEIRS, MAIN + bound) if strict == "main" else (THEIRS + bound, MAIN)
    async with trying(tmp_path, theirs, main) as (stage, _):
        await stage.says("ana", "@bot try topic other x")
        await stage.says("ana", "@bot try topic other y")
        assert "Nothing was started: ana has used up the 1 requests" in stage.replies()[-1]


@pytest.mark.parametrize("strict", ["main", "topic"])
async def test_limits_of_a_run(tmp_path: Path, strict: str) -> None:
    """The stricter of both holds, also where the branch's workflow has a budget of its own."""
    bound = "limits: {per_run: {tokens: 1}}\n"
    theirs, main = (THEIRS, MAIN + bound) if strict == "main" else (THEIRS + bound, MAIN)
    async with trying(tmp_path, theirs, main) as (stage, _):
        await stage.says("ana", "@bot try topic other x")
        assert "budget_exceeded" in stage.replies()[-1]


WRITES = """\
version: 1
resources:
  hook: {webhook: "https://hooks.example.org/x"}
workflows:
  go:
    steps:
      - {id: tell, notify: {comment: Seen., labels: {add: [bug]}, assign: [meg], close: true}}
      - {id: label, notify: {labels: {add: [bug]}}}
      - {id: hook, notify: {webhook: {resource: hook, body: {}}}}
      - {id: open, pull_request: {title: New}}
      - {id: finish, run: echo the end, workspace: none}
"""


async def test_nothing_is_written(tmp_path: Path) -> None:
    """Steps that write are passed by with a note; of a notice only the comment is said."""
    async with trying(tmp_path, WRITES, sandbox="off") as (stage, _):
        await stage.says("ana", "@bot try topic go")
        issue = stage.world.issue(stage.repo, 1)
        assert (issue.labels, issue.assignees, issue.state) == ([], [], "open")
        note = ["a trial writes nothing"]
        assert await attempts(stage) == [
            ("tell", AttemptState.SUCCESS, []),
            ("label", AttemptState.SKIPPED, note),
            ("hook", AttemptState.SKIPPED, note),
            ("open", AttemptState.SKIPPED, note),
            ("finish", AttemptState.SUCCESS, []),
        ]
        replies = stage.replies()
        assert any(reply.startswith("Seen.") for reply in replies)
        assert any("the end" in reply and "nothing written" in reply for reply in replies)


async def test_a_trial_without_an_answer(tmp_path: Path) -> None:
    """All that it would do is to write: it says so much."""
    steps = "      - {id: label, notify: {labels: {add: [bug]}}}\n"
    async with trying(tmp_path, f"version: 1\nworkflows:\n  go:\n    steps:\n{steps}") as (stage, sha):
        await stage.says("ana", "@bot try topic go")
        (reply,) = stage.replies()
        assert reply.startswith("r1 `go` succeeded without output.")
        assert f"tried from topic at {sha[:7]}, nothing written" in reply


async def test_no_secret_and_no_variable_is_given(tmp_path: Path) -> None:
    """What the operator gives this repository, a trial does not get."""
    folder = tmp_path / "secrets"
    step = "{id: it, run: 'echo $TOKEN', workspace: none, env: {TOKEN: '${{ secrets.TOKEN }}'}}"
    yml = f"version: 1\nworkflows:\n  go:\n    steps:\n      - {step}\n"
    async with trying(tmp_path, yml, yml, sandbox="off", secrets_dir=folder) as (stage, _):
        place = folder / str(stage.repo.id)
        place.mkdir(parents=True)
        for one in (folder, place):
            one.chmod(0o700)
        (place / "TOKEN").write_text("hunter2hunter2")
        (place / "TOKEN").chmod(0o600)
        await stage.says("ana", "@bot try topic go")
        assert "secret_unavailable" in stage.replies()[-1]
        assert (await attempts(stage))[0][1] is AttemptState.FAIL
        await stage.says("ana", "@bot go")
        assert (await attempts(stage))[-1][1] is AttemptState.SUCCESS


async def test_tools_that_write_say_that_it_is_a_trial(tmp_path: Path) -> None:
    """The model is offered them, nobody is asked to approve them, and each does nothing."""
    tools = "[{name: add_labels, approval: true}, dispatch, read_thread]"
    script = (
        calls("add_labels", labels=["bug"]),
        calls("dispatch", workflow="helper", request="again"),
        Reply("Nothing done."),
    )
    with provider(*script) as fake:
        async with stage_with(tmp_path, fake, MAIN) as stage:
            stage.world.write_file(stage.repo, PATH, agent(tools), "ana", "Try", branch="topic")
            await stage.says("ana", "@bot try topic helper sort")
            (reply,) = stage.replies()
            assert reply.startswith("Nothing done.")
            assert stage.world.issue(stage.repo, 1).labels == []
        assert set(offered(fake.requests[0])) == {"add_labels", "dispatch", "read_thread"}
        first, second = told(fake.requests[-1])
        assert first == "This is a trial, which writes nothing: `add_labels` did nothing. Go on without."
        assert "`dispatch` did nothing" in second


async def test_a_trial_on_a_pull_request_says_nothing_about_its_commit(tmp_path: Path) -> None:
    """No check run: a branch's own configuration must not make a commit look good."""
    async with trying(tmp_path) as (stage, _):
        made = stage.world.open_pull(stage.repo, "ana", "Topic", head="topic", base="main")
        await stage.settle()
        before = [seen.path for seen in stage.world.requests if seen.method == "POST" and "check-runs" in seen.path]
        await stage.says("ana", "@bot try topic other Good morning", made.number)
        assert "tried from topic" in stage.replies(made.number)[-1]
        after = [seen.path for seen in stage.world.requests if seen.method == "POST" and "check-runs" in seen.path]
        assert after == before


async def test_a_trial_is_not_tried_again_by_retry(tmp_path: Path) -> None:
    """A retry runs with the default branch's configuration, and would write."""
    async with trying(tmp_path) as (stage, _):
        await stage.says("ana", "@bot try topic other x")
        await stage.says("ana", "@bot retry r1")
        assert stage.replies()[-1] == "Not done: r1 was a trial (ask for it anew with `@bot try`)."


async def test_a_locked_thread(tmp_path: Path) -> None:
    """Nothing can be said there: no run, and the reason stands with the dispatch and the delivery."""
    async with trying(tmp_path) as (stage, _):
        stage.world.lock(stage.repo, 1, "meg")
        await stage.settle()
        for request in ("@bot echo x", "@bot try topic other x"):
            asked = await stage.says("ana", request)
            assert stage.reactions(asked) == []
        assert stage.replies() == []
        assert await attempts(stage) == []

        def kept(session: Session) -> list[tuple[DispatchState, str, str]]:
            return [
                (row.state, row.reason, session.get_one(Delivery, row.delivery_id).reason)
                for row in session.exec(select(Dispatch))
            ]

        reason = "locked: the conversation is locked, so nothing can be said in it"
        assert await stage.bot.store.read(kept) == [(DispatchState.REFUSED, reason, reason)] * 2
