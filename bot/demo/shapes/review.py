"""Reviews and their comments (schemas `pull-request-review`, `pull-request-review-comment`)."""

from __future__ import annotations

from bot.demo.records import Review, ReviewComment
from bot.demo.shapes.account import user
from bot.demo.shapes.common import JSON, Addresses, node_id, stamp
from bot.demo.shapes.pull import pull_url
from bot.demo.shapes.repository import base
from bot.demo.shapes.thread import association, issue_page, rollup


def review(at: Addresses, row: Review) -> JSON:
    """Schema `pull-request-review`."""
    pull = row.pull
    html = f"{issue_page(at, pull.issue)}#pullrequestreview-{row.id}"
    return {
        "id": row.id,
        "node_id": node_id("PullRequestReview", row.id),
        "user": user(at, row.author),
        "body": row.body,
        "state": row.state,
        "html_url": html,
        "pull_request_url": pull_url(at, pull),
        "author_association": association(pull.repository, row.author),
        "_links": {"html": {"href": html}, "pull_request": {"href": pull_url(at, pull)}},
        "submitted_at": stamp(row.submitted_at),
        "commit_id": row.commit_id,
    }


def webhook_review(at: Addresses, row: Review) -> JSON:
    """The `review` of a payload: its state in small letters, no text as null.

    Source: https://docs.github.com/en/webhooks/webhook-events-and-payloads#pull_request_review
    """
    return {**review(at, row), "state": row.state.lower(), "body": row.body or None}


def comment(at: Addresses, row: ReviewComment) -> JSON:
    """Schema `pull-request-review-comment`. Where the place has gone from the diff only the original one is told."""
    thread, pull = row.thread, row.thread.pull
    url = f"{base(at, pull.repository)}/pulls/comments/{row.id}"
    html = f"{issue_page(at, pull.issue)}#discussion_r{row.id}"
    first = thread.comments[0] if thread.comments else row
    place: JSON = {"subject_type": "file"}
    if thread.line is not None:
        place = {
            "subject_type": "line",
            "original_line": thread.line,
            "original_start_line": thread.start_line,
            "start_side": thread.start_side,
            "side": thread.side,
        }
        if not thread.outdated:
            place |= {"line": thread.line, "start_line": thread.start_line}
    return {
        "url": url,
        "id": row.id,
        "node_id": node_id("PullRequestReviewComment", row.id),
        "pull_request_review_id": row.review.id,
        "diff_hunk": row.hunk,
        "path": thread.path,
        "commit_id": pull.head_sha,
        "original_commit_id": row.commit_id,
        "user": user(at, row.author),
        "body": row.body,
        "created_at": stamp(row.created_at),
        "updated_at": stamp(row.updated_at),
        "html_url": html,
        "pull_request_url": pull_url(at, pull),
        "author_association": association(pull.repository, row.author),
        "_links": {
            "self": {"href": url},
            "html": {"href": html},
            "pull_request": {"href": pull_url(at, pull)},
        },
        "reactions": rollup(url, row.reactions),
        **({} if first is row else {"in_reply_to_id": first.id}),
        **place,
    }
