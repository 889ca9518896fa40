"""What is done on GitHub beside comments, once each, whatever breaks on the way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.model.slot import Slot
from bot.model.state import OutboxState
from bot.publish import told_findings

from .lookalike import MARKER, Stage, stage

LABELS = {"add": ["bug", "crash"], "remove": ["new", "never"]}
PROPOSAL: dict[str, Any] = {
    "head": "bot/1-crash",
    "base": "main",
    "title": "Mend it",
    "body": "Text.\n\nCloses #1",
    "draft": True,
}


@pytest.fixture
async def made(tmp_path: Path) -> AsyncIterator[Stage]:
    async with stage(tmp_path) as one:
        yield one


def labels(made: Stage, number: int = 1) -> list[str]:
    return sorted(label.name for label in made.world.issue(made.made.repo, number).labels)


def review(made: Stage, **more: Any) -> dict[str, Any]:
    comments = [
        {"path": "src/size.py", "line": 2, "side": "RIGHT", "body": "Why?", "fingerprint": "1" * 32},
        {"path": "src/size.py", "line": 2, "start_line": 1, "side": "RIGHT", "body": "Hm.", "fingerprint": "2" * 32},
    ]
    told = {"head_sha": made.pull.head_sha, "event": "COMMENT", "body": "Two things.", "comments": comments}
    return {**told, "outside": ["3" * 32], **more}


def branch(made: Stage, name: str = "bot/1-crash") -> None:
    made.world.write_file(made.made.repo, "src/size.py", "pass\n", "meg", branch=name)


async def test_labels_come_and_go(made: Stage) -> None:
    """GitHub makes those that are new; one that is not there is not missed."""
    made.world.set_labels(made.made.repo, 1, "meg", ["new", "old"])
    row_id = await made.want("labels", LABELS)
    await made.sender().sweep()
    assert labels(made) == ["bug", "crash", "old"]
    row = await made.row(row_id)
    assert (row.state, row.outcome) == (OutboxState.POSTED, {"added": LABELS["add"], "removed": LABELS["remove"]})


async def test_labels_of_a_pull_request(made: Stage) -> None:
    await made.want("labels", {"add": ["a/b c"], "remove": []}, thread=2)
    await made.sender().sweep()
    assert labels(made, 2) == ["a/b c"]
    await made.want("labels", {"add": [], "remove": ["a/b c"]}, thread=2, name="off")
    await made.sender().sweep()
    assert labels(made, 2) == []
    assert ("DELETE", "/issues/2/labels/a%2Fb%20c") in made.writes()


async def test_an_issue_that_is_gone_is_no_missing_label(made: Stage) -> None:
    """The row is dropped, not done."""
    row_id = await made.want("labels", {"add": [], "remove": ["new"]}, thread=99)
    await made.sender().sweep()
    row = await made.row(row_id)
    assert row.state is OutboxState.DROPPED
    assert "404" in row.reason


@pytest.mark.parametrize(
    ("action", "payload", "path"),
    [
        ("labels", {"add": ["bug"], "remove": []}, "/issues/1/labels"),
        ("assign", {"logins": ["meg"]}, "/issues/1/assignees"),
        ("close", {"reason": "not_planned"}, "/issues/1"),
    ],
)
async def test_an_answer_that_is_lost_is_asked_for_again(
    made: Stage, action: str, payload: dict[str, Any], path: str
) -> None:
    """Doing it twice is doing it once: one event is told of it."""
    made.world.faults.lose_reply("POST|PATCH", f".*{path}")
    row_id = await made.want(action, payload)
    before = len(made.world.deliveries)
    await made.later(made.sender(), 3)
    assert (await made.row(row_id)).state is OutboxState.POSTED
    assert [path_ for _, path_ in made.writes()] == [path, path]
    assert len(made.world.deliveries) == before + 1


@pytest.mark.parametrize("arrived", [True, False])
async def test_killed_while_it_labelled(made: Stage, arrived: bool) -> None:
    """The next process does it again."""
    row_id = await made.want("labels", {"add": ["bug"], "remove": []})
    sender = await made.killed(
        row_id, lambda: arrived and made.world.set_labels(made.made.repo, 1, "bot[bot]", ["bug"])
    )
    await made.later(sender, 5)
    assert (await made.row(row_id)).state is OutboxState.POSTED
    assert labels(made) == ["bug"]


async def test_many_calls_count_for_the_pace(made: Stage) -> None:
    """A row that took ten leaves nothing for the next second."""
    await made.want("labels", {"add": ["x"], "remove": [f"l{n}" for n in range(9)]})
    sender = made.sender()
    await sender.sweep()
    second = await made.want("close", {"reason": None})
    await sender.sweep()
    assert (await made.row(second)).state is OutboxState.PENDING
    await made.later(sender, 1)
    assert (await made.row(second)).state is OutboxState.POSTED


async def test_who_can_be_assigned(made: Stage) -> None:
    """GitHub leaves out silently whom it cannot assign; that is told."""
    row_id = await made.want("assign", {"logins": ["Meg", "sam"]})
    await made.sender().sweep()
    assert [who.login for who in made.world.issue(made.made.repo, 1).assignees] == ["meg"]
    assert (await made.row(row_id)).outcome == {"assigned": ["Meg"], "not_assigned": ["sam"]}


async def test_nobody_can_be_assigned(made: Stage) -> None:
    """Then it was not done."""
    row_id = await made.want("assign", {"logins": ["sam", "nobody"]})
    await made.sender().sweep()
    row = await made.row(row_id)
    assert (row.state, row.reason) == (OutboxState.DROPPED, "none of them can be assigned here")
    assert row.outcome == {"assigned": [], "not_assigned": ["sam", "nobody"]}


@pytest.mark.parametrize("reason", [None, "completed", "not_planned", "duplicate"])
async def test_closing(made: Stage, reason: str | None) -> None:
    """With GitHub's reason."""
    row_id = await made.want("close", {"reason": reason})
    await made.sender().sweep()
    issue = made.world.issue(made.made.repo, 1)
    assert (issue.state, issue.state_reason) == ("closed", reason or "completed")
    assert (await made.row(row_id)).outcome == {"state": "closed", "reason": reason}


async def test_closing_a_pull_request_has_no_reason(made: Stage) -> None:
    await made.want("close", {"reason": "completed"}, thread=2)
    await made.sender().sweep()
    assert made.pull.issue.state == "closed"


async def test_a_review_is_posted(made: Stage) -> None:
    """At the head it was checked against; its comments are known again by their fingerprints."""
    row_id = await made.want("review", review(made), thread=2)
    await made.sender().sweep()
    (posted,) = made.pull.reviews
    assert (posted.state, posted.commit_id) == ("COMMENTED", made.pull.head_sha)
    assert posted.body.startswith("Two things.\n\n<!-- threadsmith findings=")
    comments = [one for thread in made.pull.review_threads for one in thread.comments]
    assert [(one.thread.line, one.thread.start_line) for one in comments] == [(2, None), (2, 1)]
    row = await made.row(row_id)
    assert row.posted_id == posted.id
    assert row.url.endswith(f"#pullrequestreview-{posted.id}")
    assert row.outcome == {
        "id": posted.id,
        "url": row.url,
        "event": "COMMENT",
        "head_sha": made.pull.head_sha,
        "comments": [{"id": one.id, "url": f"{row.url.split('#')[0]}#discussion_r{one.id}"} for one in comments],
    }
    client = made.github.repository(made.made.installation.id, made.repository)
    everything = [*await client.reviews(2), *await client.review_comments(2)]
    told = told_findings(MARKER, everything, repository_id=made.made.repo.id, thread=2, mine=made.mine)
    assert told == {"1" * 32, "2" * 32, "3" * 32}


@pytest.mark.parametrize(("event", "state"), [("APPROVE", "APPROVED"), ("REQUEST_CHANGES", "CHANGES_REQUESTED")])
async def test_a_verdict(made: Stage, event: str, state: str) -> None:
    await made.want("review", review(made, event=event), thread=2)
    await made.sender().sweep()
    assert [one.state for one in made.pull.reviews] == [state]


async def test_a_head_that_moved(made: Stage) -> None:
    """Nothing is posted, and both commits are named."""
    checked = made.pull.head_sha
    row_id = await made.want("review", review(made), thread=2)
    made.world.write_file(made.made.repo, "src/size.py", "pass\n", "meg", branch="fix")
    await made.sender().sweep()
    row = await made.row(row_id)
    assert (row.state, row.reason) == (OutboxState.DROPPED, "head_moved")
    assert row.outcome == {"head_sha": checked, "moved_to": made.pull.head_sha}
    assert made.writes() == []


async def test_a_review_whose_answer_is_lost(made: Stage) -> None:
    """It is found by its marker, also where the head has moved meanwhile."""
    made.world.faults.lose_reply("POST", ".*/reviews")
    row_id = await made.want("review", review(made), thread=2)
    sender = made.sender()
    await sender.sweep()
    assert (await made.row(row_id)).state is OutboxState.UNSURE
    made.world.write_file(made.made.repo, "src/size.py", "pass\n", "meg", branch="fix")
    await made.later(sender, 5, 30, 60)
    row = await made.row(row_id)
    assert (row.state, row.posted_id) == (OutboxState.POSTED, made.pull.reviews[0].id)
    assert row.outcome is not None
    assert len(row.outcome["comments"]) == 2
    assert len(made.pull.reviews) == 1


async def test_a_review_that_never_arrived(made: Stage) -> None:
    """Looked for at 5, 30 and 90 s, and only then posted."""
    made.world.faults.broken(502, "POST", ".*/reviews")
    await made.want("review", review(made), thread=2)
    sender = made.sender()
    await made.later(sender, 5, 25, 59)
    assert made.pull.reviews == []
    await made.later(sender, 1)
    assert len(made.pull.reviews) == 1


async def test_a_review_whose_comments_cannot_be_read(made: Stage) -> None:
    """It stands there: it is found again, and then its comments are read."""
    made.world.faults.broken(502, "GET", ".*/reviews/.*/comments", count=5)
    row_id = await made.want("review", review(made), thread=2)
    sender = made.sender()
    await sender.sweep()
    assert (await made.row(row_id)).state is OutboxState.UNSURE
    await made.later(sender, 5, 30, 60, 60)
    row = await made.row(row_id)
    assert row.state is OutboxState.POSTED
    assert row.outcome is not None
    assert len(row.outcome["comments"]) == 2
    assert len(made.pull.reviews) == 1


@pytest.mark.parametrize("arrived", [True, False])
async def test_killed_while_it_reviewed(made: Stage, arrived: bool) -> None:
    """One review, whether or not the first one arrived."""
    row_id = await made.want("review", review(made), thread=2)
    slot = (await made.row(row_id)).slot

    def post() -> None:
        body = MARKER.sign("Two things.", repository_id=made.made.repo.id, thread=2, slot=Slot.parse(slot))
        made.world.review(made.made.repo, 2, "bot[bot]", body, app=made.made.app)

    sender = await made.killed(row_id, post if arrived else lambda: None)
    await made.later(sender, 5, 30, 60)
    assert (await made.row(row_id)).state is OutboxState.POSTED
    assert len(made.pull.reviews) == 1


async def test_a_copied_review_marker_is_worthless(made: Stage) -> None:
    """Somebody else's review fills no slot of ours."""
    made.world.faults.broken(502, "POST", ".*/reviews")
    row_id = await made.want("review", review(made), thread=2)
    sender = made.sender()
    await sender.sweep()
    slot = Slot.parse((await made.row(row_id)).slot)
    body = MARKER.sign("Mine.", repository_id=made.made.repo.id, thread=2, slot=slot)
    made.world.review(made.made.repo, 2, "meg", body)
    await made.later(sender, 5, 30, 60)
    assert [one.author.login for one in made.pull.reviews] == ["meg", "bot[bot]"]


async def test_a_line_that_github_does_not_take(made: Stage) -> None:
    """Its words are the reason."""
    comments = [{"path": "README.md", "line": 1, "side": "RIGHT", "body": "x"}]
    row_id = await made.want("review", review(made, comments=comments), thread=2)
    await made.sender().sweep()
    row = await made.row(row_id)
    assert row.state is OutboxState.DROPPED
    assert "422" in row.reason


async def test_a_pull_request_is_opened(made: Stage) -> None:
    """A draft, with what the step's result needs."""
    branch(made)
    row_id = await made.want("pull_request", PROPOSAL)
    await made.sender().sweep()
    pull = made.world.pulls(made.made.repo)[-1]
    assert (pull.head, pull.base, pull.draft, pull.issue.title) == ("bot/1-crash", "main", True, "Mend it")
    assert pull.issue.body == PROPOSAL["body"]
    row = await made.row(row_id)
    assert (row.state, row.posted_id) == (OutboxState.POSTED, pull.number)
    assert row.outcome == {
        "number": pull.number,
        "pr_url": row.url,
        "branch": "bot/1-crash",
        "head_sha": pull.head_sha,
        "draft": True,
        "opened": True,
        "draft_refused": False,
    }


async def test_an_open_one_is_updated(made: Stage) -> None:
    """The same branch: no second one; what is the same already is left alone."""
    branch(made)
    pull = made.world.open_pull(made.made.repo, "meg", "Old", head="bot/1-crash", body="Old.")
    row_id = await made.want("pull_request", PROPOSAL)
    await made.sender().sweep()
    await made.want("pull_request", PROPOSAL, name="again")
    await made.sender().sweep()
    assert (pull.issue.title, pull.issue.body) == ("Mend it", PROPOSAL["body"])
    assert made.writes() == [("PATCH", f"/pulls/{pull.number}")]
    row = await made.row(row_id)
    assert row.outcome is not None
    assert (row.outcome["number"], row.outcome["opened"]) == (pull.number, False)


async def test_a_closed_one_stays_closed(made: Stage) -> None:
    """Another is opened."""
    branch(made)
    old = made.world.open_pull(made.made.repo, "meg", "Old", head="bot/1-crash")
    made.world.set_state(made.made.repo, old.number, "meg", "closed")
    await made.want("pull_request", PROPOSAL)
    await made.sender().sweep()
    assert [(pull.issue.title, pull.issue.state) for pull in made.world.pulls(made.made.repo)[1:]] == [
        ("Old", "closed"),
        ("Mend it", "open"),
    ]


async def test_of_two_open_ones_that_for_the_base_is_updated(made: Stage) -> None:
    """A branch may go to several."""
    branch(made)
    made.world.write_file(made.made.repo, "x", "x", "meg", branch="next")
    ours = made.world.open_pull(made.made.repo, "meg", "Old", head="bot/1-crash", base="main")
    made.clock.advance(5)
    other = made.world.open_pull(made.made.repo, "meg", "Other", head="bot/1-crash", base="next")
    await made.want("pull_request", PROPOSAL)
    await made.sender().sweep()
    assert (ours.issue.title, other.issue.title) == ("Mend it", "Other")


async def test_a_pull_request_whose_answer_is_lost(made: Stage) -> None:
    """Its branch leads to it."""
    branch(made)
    made.world.faults.lose_reply("POST", ".*/pulls")
    row_id = await made.want("pull_request", PROPOSAL)
    await made.later(made.sender(), 3)
    row = await made.row(row_id)
    assert row.state is OutboxState.POSTED
    assert len(made.world.pulls(made.made.repo)) == 2
    assert made.writes() == [("POST", "/pulls")]


@pytest.mark.parametrize("arrived", [True, False])
async def test_killed_while_it_opened_one(made: Stage, arrived: bool) -> None:
    """One pull request in the end."""
    branch(made)
    row_id = await made.want("pull_request", PROPOSAL)
    sender = await made.killed(
        row_id,
        lambda: (
            arrived
            and made.world.open_pull(made.made.repo, "bot[bot]", "Mend it", head="bot/1-crash", app=made.made.app)
        ),
    )
    await made.later(sender, 5)
    assert (await made.row(row_id)).state is OutboxState.POSTED
    assert len(made.world.pulls(made.made.repo)) == 2


async def test_a_listing_of_pull_requests_that_lags(made: Stage) -> None:
    """GitHub refuses a second one; the first is looked for until it is listed."""
    branch(made)
    pull = made.world.open_pull(made.made.repo, "meg", "Mend it", head="bot/1-crash", body=PROPOSAL["body"])
    made.lag.count = 2
    row_id = await made.want("pull_request", PROPOSAL)
    sender = made.sender()
    await sender.sweep()
    assert (await made.row(row_id)).state is OutboxState.PENDING
    await made.later(sender, 3)
    row = await made.row(row_id)
    assert (row.state, row.posted_id) == (OutboxState.POSTED, pull.number)


async def test_a_repository_without_drafts(made: Stage) -> None:
    """An ordinary one, and it says so."""
    branch(made)
    made.world.faults.refused(
        422, "POST", ".*/pulls", message="Draft pull requests are not supported in this repository."
    )
    row_id = await made.want("pull_request", PROPOSAL)
    await made.sender().sweep()
    row = await made.row(row_id)
    assert row.outcome is not None
    assert (row.outcome["draft"], row.outcome["draft_refused"]) == (False, True)
    assert not made.world.pulls(made.made.repo)[-1].draft


async def test_a_pull_request_that_github_refuses(made: Stage) -> None:
    """A branch that is not there."""
    row_id = await made.want("pull_request", PROPOSAL)
    await made.sender().sweep()
    row = await made.row(row_id)
    assert row.state is OutboxState.DROPPED
    assert "422" in row.reason


async def test_an_action_that_nobody_does(made: Stage) -> None:
    """Dropped, and the others go on."""
    row_id = await made.want("merge", {})
    await made.want("close", {"reason": None})
    await made.sender().sweep()
    row = await made.row(row_id)
    assert (row.state, row.reason) == (OutboxState.DROPPED, "nothing here does `merge`")
    assert made.world.issue(made.made.repo, 1).state == "closed"


async def test_a_bug_ends_after_some_tries(made: Stage) -> None:
    """What may be repeated is not repeated for ever."""
    row_id = await made.want("assign", {"wrong": 1})
    sender = made.sender()
    await made.later(sender, *[400.0] * 12)
    row = await made.row(row_id)
    assert (row.state, row.tries) == (OutboxState.DROPPED, 10)
