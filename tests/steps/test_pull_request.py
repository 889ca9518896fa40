"""The kind `pull_request`: nothing to propose, what is proposed, what came of it, and what the branch is called."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import NotFound
from bot.model.outcome import Done, Failed, Intent, Outcome, Wait
from bot.model.pull import PullFile
from bot.publish import Policy, Sink
from bot.steps import branch_name, perform_pull_request, pull_request_result
from bot.steps.pull_request import MOST_FILES

NO_DRAFTS = "This repository has no drafts, so it is an ordinary one."
HEAD = "4be1d02" + "0" * 33


class Remote:
    """A repository in which one branch may be, with what it changes."""

    def __init__(self, *files: PullFile, branch: str | None = "bot/7-crash") -> None:
        self.files, self.branch = files, branch

    async def branch_head(self, name: str) -> str:
        if name != self.branch:
            raise NotFound("no such branch")
        return HEAD

    async def compare(self, base: str, head: str) -> tuple[PullFile, ...]:
        assert (base, head) == ("main", self.branch)
        return self.files


FILES = (PullFile("a.py", "modified", 10, 2), PullFile("b.py", "added", 5, 0))


async def perform(remote: Remote, **more: Any) -> Outcome:
    given: dict[str, Any] = {
        "title": "Mend the crash", "body": "It crashed.", "draft": True, "base": "main", "branch": "bot/7-crash",
        "issue": 7,
    }  # fmt: skip
    return await perform_pull_request(**{**given, **more}, remote=remote)


async def test_what_is_proposed() -> None:
    """One intent; the issue that it closes is named."""
    outcome = await perform(Remote(*FILES), title=" Mend\nthe crash ")
    assert isinstance(outcome, Wait)
    assert outcome.what == "posts"
    payload = {"head": "bot/7-crash", "base": "main", "title": "Mend the crash", "body": "It crashed.", "draft": True}
    assert outcome.intents == (Intent("pull_request", {**payload, "closes": 7}),)


@pytest.mark.parametrize(
    ("body", "closes"),
    [
        ("Why.\n\nFixes #7", False),
        ("closes: #7.\r\nMore.", False),
        ("Fixes #77", True),
        ("It fixes #7 at last", True),
        ("", True),
    ],
)
async def test_the_issue_is_named_once(body: str, closes: bool) -> None:
    """Not where a line of the body does so by itself."""
    outcome = await perform(Remote(*FILES), body=body)
    assert isinstance(outcome, Wait)
    assert ("closes" in outcome.intents[0].payload) is closes


async def test_a_thread_that_is_a_pull_request_closes_nothing() -> None:
    outcome = await perform(Remote(*FILES), issue=None)
    assert isinstance(outcome, Wait)
    assert "closes" not in outcome.intents[0].payload


@pytest.mark.parametrize("remote", [Remote(branch=None), Remote()])
async def test_no_change_is_said_so(remote: Remote) -> None:
    """No branch, or one that changes nothing: no pull request."""
    outcome = await perform(remote)
    assert outcome == Done(
        output="No change: there is nothing to propose to `main`, so there is no pull request.",
        result={"branch": None, "pr_url": None, "number": None, "head_sha": None},
    )


@pytest.mark.parametrize(
    ("values", "code"),
    [({"title": " \n "}, "pull_request_title"), ({"base": "bot/7-crash"}, "pull_request_branch")],
)
async def test_what_cannot_be_proposed(values: dict[str, Any], code: str) -> None:
    outcome = await perform(Remote(*FILES), **values)
    assert isinstance(outcome, Failed)
    assert outcome.code == code


@pytest.mark.parametrize(
    ("made", "output"),
    [
        ({"opened": True, "draft": True}, "Draft pull request [#9](https://x.test/9) opened: 2 files, +15 −2."),
        ({"opened": False}, "Pull request [#9](https://x.test/9) updated: 2 files, +15 −2."),
        (
            {"opened": True, "draft_refused": True},
            f"Pull request [#9](https://x.test/9) opened: 2 files, +15 −2.\n\n{NO_DRAFTS}",
        ),
    ],
)
async def test_what_came_of_it(made: dict[str, Any], output: str) -> None:
    """Link and statistics; the result names branch, address, number and commit."""
    outcome = await perform(Remote(*FILES))
    assert isinstance(outcome, Wait)
    done = pull_request_result({"number": 9, "pr_url": "https://x.test/9", **made}, outcome.kept)
    assert done.output == output
    assert done.result == {"branch": "bot/7-crash", "pr_url": "https://x.test/9", "number": 9, "head_sha": HEAD}


async def test_more_files_than_github_compares() -> None:
    outcome = await perform(Remote(*[PullFile(f"{n}", "added", 1, 0) for n in range(MOST_FILES)]))
    assert isinstance(outcome, Wait)
    done = pull_request_result({"number": 9, "pr_url": "https://x.test/9"}, outcome.kept)
    assert "at least 300 files, +300 −0" in str(done.output)


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Crash on empty input", "bot/7-crash-on-empty-input"),
        ("  Größe: `parse_size('')` — boom! ", "bot/7-grosse-parse-size-boom"),
        ("Łódź ærø Œuvre", "bot/7-lodz-aero-oeuvre"),
        ("日本語", "bot/7"),
        ("../../etc/passwd.lock", "bot/7-etc-passwd-lock"),
        ("", "bot/7"),
        ("word " * 30, "bot/7-" + "-".join(["word"] * 10)),
        ("x" * 80, "bot/7-" + "x" * 50),
    ],
)
def test_what_the_branch_is_called(title: str, name: str) -> None:
    assert branch_name("bot/", 7, title) == name


@given(st.text(max_size=120))
def test_every_title_gives_a_name_that_git_and_the_policy_take(title: str) -> None:
    """The policy leaves it as it is."""
    name = branch_name("bot/", 7, title)
    assert Policy().apply(name, Sink.BRANCH) == name
    assert len(name) <= 60
