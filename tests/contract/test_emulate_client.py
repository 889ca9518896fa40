"""Our client against an independent GitHub: the npm package `emulate`."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bot.errors import Forbidden, NotFound
from bot.github import GitHub, RepositoryClient
from bot.model.clock import SystemClock
from bot.model.pull import CheckState
from bot.model.role import Role
from tests.contract.emulate import Emulator, private_key, require
from tests.contract.emulate import emulator as emulator  # the fixture: pytest finds it by this name


@pytest.fixture
async def github(emulator: Emulator) -> AsyncIterator[GitHub]:
    """The App."""
    made = GitHub(
        base_url=emulator.base_url, app_id=emulator.app_id, private_key=emulator.private_key, clock=SystemClock()
    )
    yield made
    await made.aclose()


@pytest.fixture
def client(github: GitHub, emulator: Emulator) -> RepositoryClient:
    """The repository."""
    return github.repository(emulator.installation_id, emulator.repository)


async def test_app(github: GitHub, emulator: Emulator) -> None:
    """The JWT is checked for real there."""
    app = await github.app()
    assert (str(app.id), app.slug) == (emulator.app_id, emulator.slug)
    assert await github.installation("ana", "parser") == emulator.installation_id
    with pytest.raises(NotFound):
        await github.installation("ana", "nowhere")


async def test_app_with_a_wrong_id(emulator: Emulator) -> None:
    """Refused, and said so."""
    github = GitHub(base_url=emulator.base_url, app_id="7", private_key=private_key(), clock=SystemClock())
    with pytest.raises(Forbidden) as caught:
        await github.app()
    assert caught.value.status == 401
    await github.aclose()


async def test_thread(client: RepositoryClient, emulator: Emulator) -> None:
    """An issue and its pages, with times that carry milliseconds."""
    number = emulator.new_issue("Long", "body")
    for n in range(5):
        emulator.call("meg", "POST", f"/issues/{number}/comments", body=f"number {n}")
    issue = await client.issue(number)
    assert (issue.title, issue.author.login, issue.comment_count, issue.locked) == ("Long", "meg", 5, False)
    assert abs(issue.created_at - datetime.now(UTC)) < timedelta(minutes=1)
    first = await client.comments(number, page=1, per_page=2)
    last = await client.comments(number, page=first.last, per_page=2)
    assert first.last == last.last == 3
    assert [comment.body for comment in last.items] == ["number 4"]
    assert not first.items[0].pinned
    assert await client.comment(last.items[0].id) == last.items[0]
    since = await client.comments_since(number, datetime.now(UTC) + timedelta(hours=1))
    assert since == ()
    assert len(await client.comments_since(number, issue.created_at)) == 5


async def test_posting(client: RepositoryClient, emulator: Emulator) -> None:
    """Created, edited and taken back by the App; a person sees each step."""
    number = emulator.new_issue("Talk")
    path = f"/issues/{number}/comments"
    made = await client.create_comment(number, "hello")
    assert made.author.is_bot
    await client.edit_comment(made.id, "hello again")
    assert [comment["body"] for comment in emulator.call("meg", "GET", path)] == ["hello again"]
    await client.delete_comment(made.id)
    assert emulator.call("meg", "GET", path) == []
    with pytest.raises(NotFound):
        await client.edit_comment(made.id, "too late")


async def test_what_it_does_not_have(client: RepositoryClient, emulator: Emulator) -> None:
    """No reactions: plainly NotFound, for the bot to carry on."""
    with pytest.raises(NotFound):
        await client.react("eyes", number=emulator.issue, comment_id=None)


@pytest.mark.parametrize(
    ("login", "role"), [("ana", Role.ADMIN), ("meg", Role.WRITE), ("sam", Role.NONE), ("nobody", Role.NONE)]
)
async def test_permission(client: RepositoryClient, login: str, role: Role) -> None:
    """Who may command."""
    assert await client.permission(login) is role


async def test_configuration(client: RepositoryClient, emulator: Emulator) -> None:
    """The files of the branch's head, and of each commit what was there then."""
    branch = emulator.repository.default_branch
    before = await client.configuration_files(await client.head(branch))
    first = emulator.write_file(".github/bot/build.yml", b"steps: []\n")
    second = emulator.write_file(".github/bot/prompts/ask.md", "Grüße".encode())
    emulator.write_file("src/main.py", b"print()")
    assert await client.head(branch) not in (first, second)
    assert await client.configuration_files(first) == before | {".github/bot/build.yml": b"steps: []\n"}
    after = await client.configuration_files(await client.head(branch))
    assert after == await client.configuration_files(second)
    assert after[".github/bot/prompts/ask.md"] == "Grüße".encode()
    with pytest.raises(NotFound):
        await client.head("no-such-branch")


async def test_labels(client: RepositoryClient, emulator: Emulator) -> None:
    """Set and taken off; of one that is not there it does not say, as GitHub does, that it is the label that is not."""
    number = emulator.new_issue("Sort me")
    assert await client.add_labels(number, ["bug", "later"]) == ("bug", "later")
    assert await client.remove_label(number, "later")
    with pytest.raises(NotFound):
        await client.remove_label(number, "later")
    assert (await client.issue(number)).labels == ("bug",)


async def test_a_check_run(client: RepositoryClient, emulator: Emulator) -> None:
    """Made and changed; whose it is, is not told there."""
    head = emulator.write_file("checked.txt", b"x")
    under_way = CheckState("in_progress", "under way", "soon")
    made = await client.create_check_run(head, "threadsmith / check", under_way, external_id="r1")
    await client.update_check_run(made, CheckState("completed", "done", "fine", "success"))
    (found,) = emulator.call("meg", "GET", f"/commits/{head}/check-runs")["check_runs"]
    assert (found["id"], found["name"], found["status"], found["conclusion"]) == (
        made, "threadsmith / check", "completed", "success",
    )  # fmt: skip


async def test_a_pull_request(client: RepositoryClient, emulator: Emulator) -> None:
    """Its head, and a review by the App; of its files it has none."""
    main = emulator.call("ana", "GET", "/git/ref/heads/main")["object"]["sha"]
    emulator.call("ana", "POST", "/git/refs", ref="refs/heads/mend", sha=main)
    emulator.call("ana", "PUT", "/contents/mended.txt", message="Mend", content="eA==", branch="mend")
    number = emulator.call("ana", "POST", "/pulls", title="Mend it", head="mend", base="main")["number"]
    found = await client.pull_request(number)
    assert (found.head, found.base, found.state, found.author.login) == ("mend", "main", "open", "ana")
    assert await client.pull_files(number) == ()
    review = await client.create_review(
        number, head_sha=found.head_sha, body="It is fine.", event="COMMENT", remarks=[]
    )
    assert [one.id for one in await client.newest_reviews(number)] == [review.id]


async def test_tokens_are_narrow(client: RepositoryClient, emulator: Emulator) -> None:
    """What the server recorded of the tokens that it gave out."""
    await client.issue(emulator.issue)
    access = await client.clone_access()
    assert access.url == f"{emulator.base_url}/ana/parser.git"
    listed = emulator.people["ana"].get("/_emulate/installation-tokens").json()["installation_tokens"]
    assert {tuple(token["repository_ids"]) for token in listed} == {(emulator.repository.id,)}
    assert listed[-1]["permissions"] == {"contents": "read"}


async def test_a_repository_that_is_not_ours(github: GitHub, emulator: Emulator) -> None:
    """Named by an id that the installation does not cover: no token."""
    stranger = github.repository(emulator.installation_id, replace(emulator.repository, id=99))
    with pytest.raises(Forbidden, match="not accessible"):
        await stranger.issue(emulator.issue)


def test_nothing_is_skipped_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the emulator a user's machine skips, with the reason; CI fails."""
    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="node is not installed"):
        require()
    monkeypatch.setenv("CI", "1")
    with pytest.raises(pytest.fail.Exception, match="node is not installed"):
        require()
