"""Pull requests of the look-alike: real branches, and what follows when they move."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.demo.comparison import hunk_to
from bot.demo.refusal import Refused
from tests.contract.openapi import complaints, component
from tests.contract.pull_routes import with_pull
from tests.demo.scene import Scene, scene

EVENTS = {
    "pull_request", "issues", "issue_comment", "push", "check_run",
    "pull_request_review", "pull_request_review_comment", "pull_request_review_thread",
}  # fmt: skip


def listening(made: Scene) -> None:
    """The App is sent everything that happens to pull requests."""
    made.app.events[:] = sorted(EVENTS)


def told(made: Scene, event: str) -> list[tuple[str | None, dict[str, Any]]]:
    return [(one.action, one.payload()) for one in made.world.deliveries if one.event == event]


def test_it_is_a_thread_too(tmp_path: Path) -> None:
    """One numbering with issues; labels, comments and edits are the issue's, events are its own."""
    made = scene(tmp_path)
    listening(made)
    world = made.world
    pull = with_pull(made)
    assert pull.number == made.issue.number + 1
    world.comment(made.repo, pull.number, "ana", "Hello")
    world.set_labels(made.repo, pull.number, "meg", ["bug"])
    world.edit_issue(made.repo, pull.number, "meg", title="Other")
    world.set_draft(made.repo, pull.number, "meg", True)
    world.set_draft(made.repo, pull.number, "meg", True)
    world.set_draft(made.repo, pull.number, "meg", False)
    actions = [action for action, _ in told(made, "pull_request")]
    assert actions == ["opened", "labeled", "edited", "converted_to_draft", "ready_for_review"]
    assert told(made, "issues")[1:] == []
    (_, comment) = told(made, "issue_comment")[0]
    assert comment["issue"]["pull_request"]["url"].endswith(f"/pulls/{pull.number}")
    for _, payload in told(made, "pull_request"):
        assert complaints(component("pull-request"), payload["pull_request"]) == []
        assert payload["number"] == pull.number
    with pytest.raises(Refused):
        world.pull(made.repo, made.issue.number)


def test_it_follows_its_branches(tmp_path: Path) -> None:
    """A push to the head is a `synchronize` with both commits; `refs/pull/N/head` moves with it."""
    made = scene(tmp_path)
    listening(made)
    world, repo = made.world, made.repo
    pull = with_pull(made)
    before = pull.head_sha
    after = world.write_file(repo, "docs/size.md", "# More\n", "meg", branch="fix/size")
    assert pull.head_sha == after == repo.git.resolve(f"refs/pull/{pull.number}/head")
    action, payload = told(made, "pull_request")[-1]
    assert (action, payload["before"], payload["after"]) == ("synchronize", before, after)
    base = world.write_file(repo, "README.md", "# other\n", "meg")
    assert (pull.base_sha, pull.head_sha) == (base, after)
    world.set_state(repo, pull.number, "meg", "closed")
    world.write_file(repo, "docs/size.md", "# Again\n", "meg", branch="fix/size")
    assert pull.head_sha == after
    world.set_state(repo, pull.number, "meg", "open")
    assert pull.head_sha == repo.git.resolve("fix/size")


def test_a_fork(tmp_path: Path) -> None:
    """Its commits are there for the base; who may only read opens one from there, and not from a branch here."""
    made = scene(tmp_path)
    world, repo = made.world, made.repo
    fork = world.fork(repo, "sam")
    first = world.write_file(fork, "README.md", "# Other\n", "sam", branch="doc")
    pull = world.open_pull(repo, "sam", "Doc", head="sam:doc")
    assert (pull.head_repository, pull.head_sha) == (fork, first)
    assert repo.git.read(first) is not None
    second = world.write_file(fork, "README.md", "# More\n", "sam", branch="doc")
    assert repo.git.resolve(f"refs/pull/{pull.number}/head") == second == pull.head_sha
    with_pull(made)
    with pytest.raises(Refused, match="write rights"):
        world.open_pull(repo, "sam", "Mine", head="fix/size")


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    """422 with GitHub's words."""
    made = scene(tmp_path)
    world, repo = made.world, made.repo
    with_pull(made)

    def refusal(head: str, base: str = "main", title: str = "T") -> str:
        with pytest.raises(Refused) as caught:
            world.open_pull(repo, "meg", title, head=head, base=base)
        assert caught.value.status_code == 422
        (error,) = caught.value.errors or []
        assert isinstance(error, dict)
        return f"{error['field']}: {error['message']}"

    assert refusal("none") == "head: "
    assert refusal("sam:none") == "head: "
    assert refusal("fix/size", "none") == "base: "
    assert refusal("fix/size") == "head: A pull request already exists for ana:fix/size."
    assert refusal("main") == "head: No commits between main and main"
    world.write_file(repo, "x", "x", "meg", branch="other")
    assert refusal("other", title=" ") == "title: title can't be blank"


def test_merging(tmp_path: Path) -> None:
    """A merge commit on the base; the pull request stays closed, and a draft or a conflict is not merged."""
    made = scene(tmp_path)
    listening(made)
    world, repo = made.world, made.repo
    pull = with_pull(made)
    world.set_draft(repo, pull.number, "meg", True)
    with pytest.raises(Refused, match="not mergeable"):
        world.merge(repo, pull.number, "meg")
    world.set_draft(repo, pull.number, "meg", False)
    world.write_file(repo, "other", "x", "meg")
    world.merge(repo, pull.number, "meg")
    sha = pull.merge_commit_sha
    assert repo.git.resolve("main") == sha
    assert sha is not None
    details = repo.git.details(sha)
    assert details is not None
    assert len(details.parents) == 2
    assert {entry.path for entry in repo.git.tree(sha) or ()} >= {"other", "docs", "check.sh"}
    action, payload = told(made, "pull_request")[-1]
    assert (action, payload["pull_request"]["merged"]) == ("closed", True)
    with pytest.raises(Refused):
        world.set_state(repo, pull.number, "meg", "open")
    text = "def parse_size(text):\n    return {}\n"
    world.write_file(repo, "src/size.py", text.format(1), "meg", branch="one")
    clash = world.open_pull(repo, "meg", "Clash", head="one")
    world.write_file(repo, "src/size.py", text.format(2), "meg")
    with pytest.raises(Refused, match="not mergeable"):
        world.merge(repo, clash.number, "meg")


def test_a_branch_that_goes(tmp_path: Path) -> None:
    """Closes what came from it; without it nothing can be opened again."""
    made = scene(tmp_path)
    pull = with_pull(made)
    made.world.delete_branch(made.repo, "fix/size", "meg")
    assert (pull.issue.state, made.repo.git.resolve("fix/size")) == ("closed", None)
    with pytest.raises(Refused):
        made.world.set_state(made.repo, pull.number, "meg", "open")
    with pytest.raises(Refused):
        made.world.delete_branch(made.repo, "fix/size", "meg")


async def test_lists(tmp_path: Path) -> None:
    """Filtered and in order; an issue has no pull request's address, a pull request has an issue's."""
    made = scene(tmp_path)
    first = with_pull(made)
    made.clock.advance(60)
    made.world.write_file(made.repo, "x", "x", "meg", branch="other")
    second = made.world.open_pull(made.repo, "meg", "Other", head="other")
    async with made.as_installation() as bot:

        async def numbers(**params: str) -> list[int]:
            answer = await bot.get(made.path("/pulls"), params=params)
            return [row["number"] for row in answer.json()]

        assert await numbers() == [second.number, first.number]
        assert await numbers(direction="asc") == [first.number, second.number]
        assert await numbers(head="ana:other") == [second.number]
        assert await numbers(base="other") == []
        made.world.set_state(made.repo, first.number, "meg", "closed")
        assert await numbers(state="closed") == [first.number]
        assert (await bot.get(made.path(f"/pulls/{made.issue.number}"))).status_code == 404
        assert "pull_request" not in (await bot.get(made.path(f"/issues/{made.issue.number}"))).json()
        assert (await bot.get(made.path(f"/issues/{first.number}"))).json()["draft"] is False
    async with made.as_installation(issues="write") as other:
        assert (await other.get(made.path(f"/pulls/{first.number}"))).status_code == 403


async def test_comparison(tmp_path: Path) -> None:
    """Ahead, behind, diverged, identical; from the merge base, not from the tip."""
    made = scene(tmp_path)
    with_pull(made)
    async with made.as_installation() as bot:

        async def compared(spec: str) -> dict[str, Any]:
            answer = await bot.get(made.path(f"/compare/{spec}"))
            assert answer.status_code == 200
            found: dict[str, Any] = answer.json()
            return found

        assert [(await compared(spec))["status"] for spec in ("main...fix/size", "fix/size...main", "main...main")] == [
            "ahead", "behind", "identical",
        ]  # fmt: skip
        made.world.write_file(made.repo, "other", "x", "meg")
        found = await compared("main...fix/size")
        assert (found["status"], found["ahead_by"], found["behind_by"]) == ("diverged", 1, 1)
        assert "other" not in {file["filename"] for file in found["files"]}
        for wrong in ("main...none", "none...main", "main"):
            assert (await bot.get(made.path(f"/compare/{wrong}"))).status_code == 404
        assert (await bot.get(made.path("/branches/fix"))).status_code == 404
        assert (await bot.get(made.path("/git/ref/heads/fix"))).status_code == 404


PATCH = "@@ -1,3 +1,4 @@\n a\n-b\n+B\n+C\n d\n@@ -10,1 +11,1 @@ def x\n-k\n+K"


@pytest.mark.parametrize(
    ("line", "side", "last"),
    [
        (1, "RIGHT", " a"),
        (2, "LEFT", "-b"),
        (2, "RIGHT", "+B"),
        (3, "RIGHT", "+C"),
        (3, "LEFT", " d"),
        (11, "RIGHT", "+K"),
        (10, "LEFT", "-k"),
        (5, "RIGHT", None),
        (11, "LEFT", None),
        (7, "RIGHT", None),
    ],
)
def test_a_line_of_a_diff(line: int, side: str, last: str | None) -> None:
    """The hunk up to it; None for a line that the diff does not show."""
    hunk = hunk_to(PATCH, line, side)
    assert (hunk.split("\n")[-1] if hunk else None) == last
    assert hunk is None or hunk.startswith("@@")
