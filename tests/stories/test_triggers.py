"""What starts workflows besides mentions: something happens on GitHub, and a run answers it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlmodel import col, func, select

from bot.demo.records import Issue, Pull
from bot.model.state import DeliveryState
from bot.publish.marker import strip
from bot.store import Session
from bot.store.tables import Delivery, Schedule
from tests.stage import Stage, open_stage

SHOWN = 'echo ${{ run.workflow }} saw "$WHAT"'


def workflow(name: str, on: str, what: str = "trigger.name", more: str = "") -> str:
    """A workflow that tells what it was started by."""
    env = f'{{WHAT: "${{{{ {what} }}}}"}}'
    step = f"{{id: tell, run: '{SHOWN}', env: {env}}}"
    return f"  {name}:\n    {more}\n    on: {{{on}}}\n    steps:\n      - {step}\n"


def configuration(*workflows: str, head: str = "") -> str:
    """A `bot.yml` with these workflows."""
    return f"version: 1\n{head}workflows:\n{''.join(workflows)}"


@asynccontextmanager
async def staged(tmp_path: Path, *workflows: str, head: str = "", **options: Any) -> AsyncIterator[Stage]:
    """A stage whose repository has these workflows."""
    files = {".github/bot.yml": configuration(*workflows, head=head), "README.md": "# widgets\n"}
    async with open_stage(tmp_path, files, sandbox="off", **options) as stage:
        yield stage


async def all_looked_at(stage: Stage) -> None:
    """Wait until no delivery is held any more, and what followed is done."""

    def held(session: Session) -> int:
        return session.exec(select(func.count(col(Delivery.id))).where(Delivery.state == DeliveryState.NEW)).one()

    async with asyncio.timeout(30):
        await stage.settle()
        while await stage.bot.store.read(held):
            await asyncio.sleep(0.02)
    await stage.settle()


async def reason(stage: Stage, event: str) -> str:
    """Why the newest delivery of an event came to what it came to."""
    query = select(Delivery.reason).where(Delivery.event == event).order_by(col(Delivery.id).desc()).limit(1)
    return str(await stage.bot.store.read(lambda session: session.exec(query).one()))


def answers(stage: Stage, number: int = 1) -> list[str]:
    """The results on a thread, in a word or two."""
    return [reply.split("\n")[1] for reply in stage.replies(number)]


def reacted(stage: Stage, issue: Issue) -> list[str]:
    """The bot's reactions on what opened a thread."""
    return [each.content for each in issue.reactions if each.user is stage.app.bot]


def opened_pull(stage: Stage, *, draft: bool = False, body: str = "") -> Pull:
    """ana opens a pull request from a branch of her own."""
    stage.world.write_file(stage.repo, "new.py", "1\n", "ana", branch="topic")
    return stage.world.open_pull(stage.repo, "ana", "New", head="topic", body=body, draft=draft)


async def test_a_new_issue(tmp_path: Path) -> None:
    """Anybody may open one; the workflow lets readers start it. Its body has the reactions, the thread the result."""
    triage = workflow("triage", "opened: true", more="trigger_role: read")
    async with staged(tmp_path, triage, workflow("guarded", "opened: true")) as stage:
        issue = stage.world.open_issue(stage.repo, "sam", "It is slow", "Very.")
        await stage.settle()
        assert answers(stage, 2) == ["triage saw opened"]
        assert reacted(stage, issue) == ["rocket"]
        told = await reason(stage, "issues")
        assert told == "opened: triage; opened: guarded was not started: sam has the role read, write is needed"


async def test_a_stranger_hears_nothing(tmp_path: Path) -> None:
    """Who may not start it gets neither comment nor reaction."""
    async with staged(tmp_path, workflow("guarded", "opened: true")) as stage:
        issue = stage.world.open_issue(stage.repo, "sam", "It is slow", "Very.")
        await stage.settle()
        assert (stage.replies(2), reacted(stage, issue)) == ([], [])


async def test_a_label(tmp_path: Path) -> None:
    """Of a name that the workflow lists; there is nothing to react to."""
    async with staged(tmp_path, workflow("build", "labeled: [Ready]", "trigger.label")) as stage:
        stage.world.set_labels(stage.repo, 1, "meg", ["other"])
        await stage.settle()
        assert stage.replies() == []
        stage.world.set_labels(stage.repo, 1, "meg", ["other", "ready"])
        await stage.settle()
        assert answers(stage) == ["build saw ready"]
        assert reacted(stage, stage.world.issue(stage.repo, 1)) == []


async def test_what_our_own_runs_do_starts_nothing(tmp_path: Path) -> None:
    """A run sets a label that another workflow listens to."""
    sets = "  sets:\n    steps:\n      - {id: set, notify: {labels: {add: [ready]}}}\n"
    async with staged(tmp_path, sets, workflow("build", "labeled: [ready]")) as stage:
        await stage.says("ana", "@bot sets")
        assert [one.name for one in stage.world.issue(stage.repo, 1).labels] == ["ready"]
        assert await reason(stage, "issues") == "our own"
        assert stage.replies() == []


async def test_an_issue_is_closed(tmp_path: Path) -> None:
    """And a run that fails says why, though nobody asked in words."""
    fails = "  after:\n    on: {closed: true}\n    steps:\n      - {id: boom, run: exit 3}\n"
    async with staged(tmp_path, fails) as stage:
        stage.world.set_state(stage.repo, 1, "ana", "closed")
        await stage.settle()
        (told,) = stage.replies()
        assert "exit code 3" in told
        assert reacted(stage, stage.world.issue(stage.repo, 1)) == []


async def test_a_run_without_output_is_told_of(tmp_path: Path) -> None:
    """Where neither a reaction nor a deed shows that it was there."""
    quiet = "  quiet:\n    on: {closed: true}\n    steps:\n      - {id: nothing, run: 'true', publish: false}\n"
    labels = "  labels:\n    on: {closed: true}\n    steps:\n      - {id: set, notify: {labels: {add: [done]}}}\n"
    async with staged(tmp_path, quiet, labels) as stage:
        stage.world.set_state(stage.repo, 1, "ana", "closed")
        await stage.settle()
        (told,) = stage.replies()
        assert told.startswith("r1 `quiet` succeeded without output.")


async def test_a_pull_request(tmp_path: Path) -> None:
    """Opened as a draft, ready for review, merged: each is told to the workflow with its head."""
    names = ("opened", "ready_for_review", "closed")
    async with staged(tmp_path, *(workflow(f"on-{n}", f"{n}: true", "trigger.sha") for n in names)) as stage:
        pull = opened_pull(stage, draft=True)
        await stage.settle()
        head = pull.head_sha
        assert answers(stage, 2) == [f"on-opened saw {head}"]
        assert reacted(stage, pull.issue) == ["rocket"]
        stage.world.set_draft(stage.repo, 2, "ana", False)
        await stage.settle()
        assert answers(stage, 2)[1:] == [f"on-ready_for_review saw {head}"]
        stage.world.merge(stage.repo, 2, "meg")
        await stage.settle()
        assert answers(stage, 2)[2:] == [f"on-closed saw {pull.merge_commit_sha}"]


async def test_a_mention_in_a_pull_requests_text(tmp_path: Path) -> None:
    """Counts when it is opened, and when an edit adds one."""
    async with staged(tmp_path, workflow("look", "mention: true")) as stage:
        pull = opened_pull(stage, body="Please, @bot look")
        await stage.settle()
        assert answers(stage, 2) == ["look saw mention"]
        assert reacted(stage, pull.issue) == ["rocket"]
        stage.world.edit_issue(stage.repo, 2, "ana", title="@bot look")
        await stage.settle()
        stage.world.edit_issue(stage.repo, 2, "ana", body="Please, @bot look\n\n@bot look again")
        await stage.settle()
        assert len(answers(stage, 2)) == 2


async def test_several_pushes_are_one_run(tmp_path: Path) -> None:
    """For the newest head; the one before is superseded."""
    push = workflow("review", "synchronize: true", "trigger.sha")
    async with staged(tmp_path, push, debounce=timedelta(seconds=0.5)) as stage:
        pull = opened_pull(stage)
        await all_looked_at(stage)
        for text in ("2\n", "3\n"):
            stage.world.write_file(stage.repo, "new.py", text, "ana", branch="topic")
        await all_looked_at(stage)
        assert answers(stage, 2) == [f"review saw {pull.head_sha}"]


async def test_failed_checks(tmp_path: Path) -> None:
    """Once all have ended, once for a commit; a program that tells of them is admitted by its id."""
    fix = workflow("fix", "checks_failed: true", "trigger.conclusion")
    async with staged(tmp_path) as stage:
        bots = f"allow_bots: [{stage.world.actions().bot.id}]\n"
        await stage.configures(configuration(fix, head=bots))
        opened_pull(stage)
        slow = stage.world.add_check(stage.repo, "topic", "slow", None)
        stage.world.add_check(stage.repo, "topic", "test", "failure", log="1 failed")
        await stage.settle()
        assert stage.replies(2) == []
        stage.world.finish(slow, "success")
        await stage.settle()
        assert answers(stage, 2) == ["fix saw failure"]
        stage.world.add_check(stage.repo, "topic", "late", "failure")
        await stage.settle()
        assert len(stage.replies(2)) == 1


async def test_checks_told_of_by_a_bot_that_is_not_admitted(tmp_path: Path) -> None:
    """Silence, with the bot's id in the record."""
    async with staged(tmp_path, workflow("fix", "checks_failed: true")) as stage:
        opened_pull(stage)
        stage.world.add_check(stage.repo, "topic", "test", "failure")
        await stage.settle()
        assert stage.replies(2) == []
        assert f"({stage.world.actions().bot.id}) is not in `allow_bots`" in await reason(stage, "check_suite")


async def comes_due(stage: Stage) -> None:
    """The time of every schedule has come."""

    def work(session: Session) -> None:
        for row in session.exec(select(Schedule)):
            row.next_at = datetime.now(UTC) - timedelta(minutes=1)
            session.add(row)

    await stage.bot.store.write(work)
    stage.bot.store.bell("schedule").ring()

    def came(session: Session) -> int:
        return session.exec(select(func.count(col(Delivery.id))).where(Delivery.event == "schedule")).one()

    async with asyncio.timeout(30):
        while not await stage.bot.store.read(came):
            await asyncio.sleep(0.02)
    await all_looked_at(stage)


async def test_the_clock(tmp_path: Path) -> None:
    """On a thread of the repository's, in the name of whoever last changed the configuration."""
    async with staged(tmp_path) as stage:
        daily = workflow("daily", 'schedule: {cron: "0 6 * * *", thread: 1}', "trigger.actor")
        await stage.configures(configuration(daily), author="meg")
        await comes_due(stage)
        assert answers(stage) == ["daily saw meg"]
        assert reacted(stage, stage.world.issue(stage.repo, 1)) == []


async def test_an_issue_for_each_time(tmp_path: Path) -> None:
    """Opened by the bot, which starts nothing by itself; the result stands in it."""
    async with staged(tmp_path) as stage:
        on = 'schedule: {cron: "0 6 * * *", thread: new}'
        weekly = workflow("weekly", on, "trigger.cron", 'description: "What happened, @ana"')
        await stage.configures(configuration(weekly, workflow("triage", "opened: true")))
        await comes_due(stage)
        issue = stage.world.issue(stage.repo, 2)
        assert issue.author is stage.app.bot
        assert issue.title.startswith("What happened, ")
        assert "@ana" not in issue.title
        assert strip(issue.body or "") == "Opened for `weekly`, which runs at `0 6 * * *` (UTC)."
        assert answers(stage, 2) == ["weekly saw 0 6 * * *"]


async def test_a_schedule_that_its_committer_may_not_start(tmp_path: Path) -> None:
    """Nothing is opened, nobody is told; the record has the reason."""
    async with staged(tmp_path) as stage:
        on = 'schedule: {cron: "0 6 * * *", thread: new}'
        await stage.configures(configuration(workflow("weekly", on, more="trigger_role: admin")))
        await comes_due(stage)
        assert len(stage.repo.issues) == 1
        assert await reason(stage, "schedule") == (
            "schedule: weekly was not started: it needs admin, and a commit, which can be made to name anybody, "
            "counts for write and no more"
        )


async def test_schedules_of_a_repository_that_nobody_spoke_in(tmp_path: Path) -> None:
    """They are read when the bot starts."""
    daily = workflow("daily", 'schedule: {cron: "0 6 * * *", thread: 1}')
    async with staged(tmp_path, daily) as stage, asyncio.timeout(30):
        query = select(Schedule.workflow)
        while await stage.bot.store.read(lambda session: session.exec(query).all()) != ["daily"]:
            await asyncio.sleep(0.02)
