"""The kind `review`: what is posted where, and what is not said again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.model.outcome import Done, Failed, Outcome, Wait
from bot.steps import not_done, perform_review, review_result
from bot.steps.diff import read_diff
from bot.steps.findings import Finding
from bot.steps.review import MOST_INLINE, MOST_OUTSIDE

DIFF = read_diff("--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+three\n")
HEAD = "4be1d02" + "0" * 33


def perform(findings: Any, body: str = "", verdict: Any = "comment", **more: Any) -> Outcome:
    given = {"diff": DIFF, "known": (), "head_sha": HEAD, "blob_url": "https://github.test/ana/parser/blob/4be1d02"}
    return perform_review(findings, body, verdict, **{**given, **more})


def posted(outcome: Outcome) -> dict[str, Any]:
    assert isinstance(outcome, Wait)
    assert outcome.what == "posts"
    (intent,) = outcome.intents
    assert intent.kind == "review"
    return intent.payload


def test_a_finding_in_the_diff_is_a_comment_there() -> None:
    """With its range, side, suggestion and fingerprint; the review names the head it was checked against."""
    item = {"path": "a.py", "line": 3, "start_line": 2, "body": "Say why.", "suggestion": "2\n3"}
    left = {"path": "a.py", "line": 2, "side": "LEFT", "body": "Why not?"}
    payload = posted(perform([item, left], "Two things."))
    known = [Finding("a.py", "Say why.", suggestion="2\n3"), Finding("a.py", "Why not?", side="LEFT")]
    assert payload == {
        "head_sha": HEAD,
        "event": "COMMENT",
        "body": "Two things.",
        "comments": [
            {**item, "side": "RIGHT", "fingerprint": known[0].fingerprint},
            {**left, "fingerprint": known[1].fingerprint},
        ],
        "outside": [],
    }


@pytest.mark.parametrize(
    ("item", "url"),
    [
        ({"path": "a.py", "line": 9}, "/a.py#L9"),
        ({"path": "a.py", "line": 9, "start_line": 4}, "/a.py#L4-L9"),
        ({"path": "dir/b c.py", "line": 1}, "/dir/b%20c.py#L1"),
        ({"path": "a.py"}, "/a.py"),
        ({"path": "a.py", "line": 7, "side": "LEFT"}, None),
    ],
)
def test_what_no_line_can_carry_goes_into_the_body(item: dict[str, Any], url: str | None) -> None:
    """With a link to the place at the head; what was removed is nowhere there."""
    payload = posted(perform([{**item, "body": "x"}]))
    assert payload["comments"] == []
    (outside,) = payload["outside"]
    assert outside.get("url") == (url and f"https://github.test/ana/parser/blob/4be1d02{url}")
    assert outside["path"] == item["path"]
    assert outside["fingerprint"]


def test_known_findings_are_not_repeated() -> None:
    """Wherever their lines are now; the others are said."""
    known = [Finding("a.py", "Say why.").fingerprint]
    items = [{"path": "a.py", "line": 2, "body": "say why."}, {"path": "a.py", "line": 3, "body": "New."}]
    outcome = perform(items, known=known)
    assert [one["body"] for one in posted(outcome)["comments"]] == ["New."]
    assert isinstance(outcome, Wait)
    done = review_result({"id": 5, "url": "https://x.test/5", "comments": [{"id": 6, "url": "u"}]}, outcome.kept)
    assert done.output == "[Reviewed](https://x.test/5) at 4be1d02: 1 comment, 1 known before."


def test_nothing_new_is_said_so_and_posts_nothing() -> None:
    """Whatever the body says."""
    items = [{"path": "a.py", "line": 2, "body": "x"}, {"path": "a.py", "line": 3, "body": "y"}]
    outcome = perform(items, "A review.", known=[Finding("a.py", "x").fingerprint, Finding("a.py", "y").fingerprint])
    assert isinstance(outcome, Done)
    assert outcome.output == "Nothing new: 2 findings known before."
    assert outcome.result == {
        "id": None, "url": None, "event": "COMMENT", "head_sha": HEAD, "comments": [], "inline": 0, "outside": 0,
        "known": 2, "left_out": 0,
    }  # fmt: skip
    assert outcome.intents == ()


def test_no_findings_at_all() -> None:
    """Nothing is posted, except what the body itself has to say."""
    outcome = perform([])
    assert isinstance(outcome, Done)
    assert outcome.output == "Nothing to say: no findings."
    assert posted(perform(None, "All is well."))["body"] == "All is well."


@pytest.mark.parametrize(
    ("verdict", "allow", "event"),
    [
        ("comment", ["approve"], "COMMENT"),
        ("approve", [], "COMMENT"),
        ("approve", ["request_changes"], "COMMENT"),
        ("approve", ["approve"], "APPROVE"),
        ("request_changes", ["approve", "request_changes"], "REQUEST_CHANGES"),
        ("merge", ["merge"], "COMMENT"),
        (None, ["approve"], "COMMENT"),
        (["approve"], ["approve"], "COMMENT"),
    ],
)
def test_a_verdict_counts_where_the_step_allows_it(verdict: Any, allow: list[str], event: str) -> None:
    items = [{"path": "a.py", "line": 2, "body": "x"}]
    assert posted(perform(items, verdict=verdict, allow=allow))["event"] == event


def test_an_approval_needs_no_findings() -> None:
    """It is something to say by itself, and has a body as every review."""
    payload = posted(perform([], verdict="approve", allow=["approve"]))
    assert (payload["event"], payload["body"]) == ("APPROVE", "No findings.")


def test_a_review_without_a_body_counts_its_findings() -> None:
    """GitHub takes no review without one."""
    assert posted(perform([{"path": "a.py", "line": 2, "body": "x"}]))["body"] == "1 finding."


def test_the_same_finding_twice_is_one() -> None:
    item = {"path": "a.py", "line": 2, "body": "x"}
    assert len(posted(perform([item, dict(item), {**item, "line": 3}]))["comments"]) == 2


def test_more_than_a_review_takes() -> None:
    """The rest goes into the body, and what does not fit there is counted."""
    items = [{"path": "a.py", "line": 2, "body": f"x {n}"} for n in range(MOST_INLINE + MOST_OUTSIDE + 3)]
    outcome = perform(items, "Many.")
    payload = posted(outcome)
    assert (len(payload["comments"]), len(payload["outside"])) == (MOST_INLINE, MOST_OUTSIDE)
    assert payload["body"] == "Many.\n\n3 more are left out."
    assert isinstance(outcome, Wait)
    assert (
        review_result({}, outcome.kept).output == "Reviewed at 4be1d02: 100 comments, 40 outside the diff, 3 left out."
    )


def test_violations_fail_the_step() -> None:
    """Each with its index."""
    outcome = perform([{"path": "a.py", "line": 2}])
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.message) == ("review_findings", "findings[0].body: expected text, got nothing")


def test_the_result_has_the_ids() -> None:
    """Of the review and of its comments."""
    items = [{"path": "a.py", "line": 2, "body": "x"}, {"path": "b.py", "line": 2, "body": "y"}]
    outcome = perform(items, verdict="request_changes", allow=["request_changes"])
    assert isinstance(outcome, Wait)
    made = {"id": 5, "url": "https://x.test/5", "event": "REQUEST_CHANGES", "comments": [{"id": 6, "url": "u"}]}
    done = review_result(made, outcome.kept)
    assert done.result == {
        "id": 5, "url": "https://x.test/5", "event": "REQUEST_CHANGES", "head_sha": HEAD,
        "comments": [{"id": 6, "url": "u"}], "inline": 1, "outside": 1, "known": 0, "left_out": 0,
    }  # fmt: skip
    assert done.output == "[Changes requested](https://x.test/5) at 4be1d02: 1 comment, 1 outside the diff."
    json.dumps(done.result)


def test_a_head_that_moved_fails_the_step() -> None:
    """Naming both commits."""
    failed = not_done("review", "head_moved", {"head_sha": HEAD, "moved_to": "9" * 40})
    assert failed.code == "head_moved"
    assert "`4be1d02`" in failed.message
    assert "`9999999`" in failed.message


@pytest.mark.parametrize(
    ("kind", "reason", "outcome", "code", "message"),
    [
        ("webhook", "unsure", {"error": "no answer"}, "unsure",
         "the webhook was sent and no answer came (no answer); it is not sent twice"),
        ("webhook", "unsure", None, "unsure",
         "the webhook was sent and no answer came (the process ended); it is not sent twice"),
        ("labels", "403 no", None, "not_done", "setting the labels was refused: 403 no"),
        ("pin", "gone", None, "not_done", "`pin` was refused: gone"),
        ("comment", "locked", None, "not_done", "the comment was refused: the conversation is locked (`locked`)"),
        (
            "review",
            "permission_missing: pull_requests: write",
            None,
            "not_done",
            "the review was refused: the App was not granted `pull_requests: write`",
        ),
        (
            "close",
            "permission_missing",
            None,
            "not_done",
            "closing the thread was refused: the App was not granted a permission",
        ),
    ],
)  # fmt: skip
def test_what_was_not_done(kind: str, reason: str, outcome: dict[str, Any] | None, code: str, message: str) -> None:
    """The step fails with the reason."""
    failed = not_done(kind, reason, outcome)
    assert (failed.code, failed.message) == (code, message)
