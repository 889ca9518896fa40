"""What a step's inputs read of GitHub, on the look-alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.context import Anchor, ThreadSnapshot, Unavailable, WindowPolicy, read_thread
from bot.demo.reviews import Remark
from bot.engine.sources import LOGS_MAX, GitHubSources
from bot.github import RepositoryClient
from bot.model.role import Role
from bot.model.thread import Account
from tests.contract.pull_routes import with_pull
from tests.demo.scene import Scene, scene
from tests.github.lookalike import client_of


def sources(made: Scene, number: int, client: RepositoryClient | None = None, **policy: Any) -> GitHubSources:
    """Of a thread of the scene, at its end."""
    reader = client or client_of(made)

    async def thread(count: int) -> ThreadSnapshot:
        return await read_thread(
            reader, number=number, anchor=Anchor(None, made.clock.now()), window=count,
            is_ours=lambda comment: "status" if comment.author.is_bot else None,
            is_command_only=lambda text: text == "@bot pins",
        )  # fmt: skip

    async def role_of(account: Account) -> Role:
        return made.world.role(made.repo, account.login)

    return GitHubSources(
        reader, number=number, is_pull_request=made.world.issue(made.repo, number).pull is not None,
        read_thread=thread, policy=WindowPolicy(**policy), role_of=role_of,
    )  # fmt: skip


async def test_diff(tmp_path: Path) -> None:
    """What the pull request changes, with the branch that it goes to."""
    made = scene(tmp_path)
    pull = with_pull(made)
    diff = await sources(made, pull.number).diff()
    assert (diff.number, diff.base, diff.head_sha) == (pull.number, "main", pull.head_sha)
    assert "+    return int(text or 0)" in diff.text


async def test_an_issue_has_none_of_it(tmp_path: Path) -> None:
    """The reason says so, and nothing is asked of GitHub."""
    made = scene(tmp_path)
    of = sources(made, made.issue.number)
    for what in (of.diff, of.failed_logs, of.unresolved_threads):
        with pytest.raises(Unavailable, match="this thread is an issue; only a pull request has"):
            await what()
    assert made.world.requests == []


async def test_failed_logs(tmp_path: Path) -> None:
    """Of the head's failed checks: logs of jobs, and what others say; the running ones are counted."""
    made = scene(tmp_path)
    pull, world = with_pull(made), made.world
    world.add_check(made.repo, "main", "tests", "failure", log="of another commit\n")
    world.add_check(made.repo, pull.head, "tests", "failure", log="not ok 5\n")
    world.add_check(made.repo, pull.head, "gone", "failure", summary="It failed.").log = None
    world.add_check(made.repo, pull.head, "style", "failure", title="2 faults", summary="a.py", app=made.app)
    world.add_check(made.repo, pull.head, "quiet", "timed_out", app=made.app)
    world.add_check(made.repo, pull.head, "docs", "success", log="fine\n")
    world.add_check(made.repo, pull.head, "slow", None)
    logs = await sources(made, pull.number).failed_logs()
    assert [(one.check.name, one.text, one.note) for one in logs.failed] == [
        ("gone", "It failed.", "its log cannot be had: NotFound"),
        ("quiet", "", "it says nothing more"),
        ("style", "2 faults\n\na.py", ""),
        ("tests", "not ok 5\n", ""),
    ]
    assert (logs.head_sha, logs.running, logs.unread) == (pull.head_sha, 1, 0)


async def test_logs_are_bounded(tmp_path: Path) -> None:
    """Ten at most; the others are counted."""
    made = scene(tmp_path)
    pull = with_pull(made)
    for number in range(LOGS_MAX + 3):
        made.world.add_check(made.repo, pull.head, f"check {number:02}", "failure", log=f"{number}\n")
    client = client_of(made)
    logs = await sources(made, pull.number, client).failed_logs()
    assert (len(logs.failed), logs.unread) == (LOGS_MAX, 3)


async def test_unresolved_threads(tmp_path: Path) -> None:
    """Without those that somebody resolved; a resolved one that was opened again is there."""
    made = scene(tmp_path)
    pull, world = with_pull(made), made.world
    world.review(made.repo, pull.number, "ana", remarks=[Remark("docs/size.md", word) for word in ("a", "b", "c")])
    for thread in pull.review_threads[:2]:
        world.resolve(thread, "meg")
    world.resolve(pull.review_threads[1], "meg", resolved=False)
    found = await sources(made, pull.number).unresolved_threads()
    assert [one.comments[0].body for one in found] == ["b", "c"]


async def test_linked_issues(tmp_path: Path) -> None:
    """Both ways."""
    made = scene(tmp_path)
    pull = with_pull(made)
    assert [one.number for one in await sources(made, pull.number).linked_issues()] == [1]
    assert [one.number for one in await sources(made, 1).linked_issues()] == [pull.number]


async def test_linked_issues_without_graphql(tmp_path: Path) -> None:
    """What the body says is taken where GraphQL is refused."""
    made = scene(tmp_path)
    pull = with_pull(made, body="Resolves #1")
    made.world.faults.refused(403, "POST", "/graphql", message="Resource not accessible by integration")
    assert [one.number for one in await sources(made, pull.number).linked_issues()] == [1]


async def test_comments(tmp_path: Path) -> None:
    """The last n that can be mentioned, oldest first, sanitised, whatever the window."""
    made = scene(tmp_path)
    for number in range(30):
        made.world.comment(made.repo, 1, "meg", f"comment {number}<!-- hidden -->")
        made.clock.advance(60)
    for body in ("@bot pins", "a status"):
        made.world.comment(made.repo, 1, "meg" if body[0] == "@" else made.app.bot, body, app=None)
    made.clock.advance(60)
    selection = await sources(made, 1, count=3).comments(20)
    assert [one.message.text for one in selection.comments] == [f"comment {number}" for number in range(10, 30)]


async def test_comments_by_strangers(tmp_path: Path) -> None:
    """The step's policy holds: what a risky step must not see is left out here too, and said."""
    made = scene(tmp_path)
    for login, body in (("meg", "one"), ("sam", "two"), ("meg", "three")):
        made.world.comment(made.repo, 1, login, body)
        made.clock.advance(60)
    all_of_them = await sources(made, 1, public=True).comments(2)
    assert [one.message.text for one in all_of_them.comments] == ["two", "three"]
    risky = await sources(made, 1, public=True, writes=True).comments(2)
    assert [one.message.text for one in risky.comments] == ["one", "three"]
    assert [record.fate for record in risky.records].count("below trust") == 1
