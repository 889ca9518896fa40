"""What is kept of a payload, however it came in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.model.delivery import NewDelivery
from bot.webhook import admit, content_key
from tests.webhook.senders import APP, comment_payload


def admitted(payload: dict[str, Any], event: str = "issue_comment", **more: Any) -> NewDelivery | None:
    """As the log tells it."""
    headers = {"x-github-event": event, "x-hub-signature-256": "sha256=0", "user-agent": "GitHub-Hookshot"}
    text = json.dumps(payload).encode()
    return admit(payload, text, guid="g", event=event, headers=headers, app_id=APP, origin="log", **more)


def test_a_payload_becomes_a_delivery() -> None:
    """Its content by what it says; of the headers GitHub's own, the signature is of other bytes."""
    payload = comment_payload()
    kept = {"x-github-event": "issue_comment"}
    assert admitted(payload) == NewDelivery(
        APP, "g", "issue_comment", "created", content_key(payload), 101, json.dumps(payload).encode(), kept, "log"
    )


@pytest.mark.parametrize(
    ("event", "change"),
    [
        ("issues", {}),
        ("star", {}),
        ("issue_comment", {"action": "minimized"}),
        ("issue_comment", {"action": ["created"]}),
        ("issue_comment", {"repository": None}),
        ("issue_comment", {"comment": None}),
    ],
)
def test_what_means_nothing_is_not_kept(event: str, change: dict[str, Any]) -> None:
    """An event or action that nobody acts on, and a body that is another event's."""
    assert admitted(comment_payload() | change, event) is None


def test_an_installation_is_of_no_repository() -> None:
    """Its events are about an account."""
    made = admitted({"action": "deleted", "installation": {"id": 9}}, "installation")
    assert made is not None
    assert made.repository_id == 0


def test_only_what_is_handled() -> None:
    """By the caller's own table."""
    assert admitted(comment_payload(), handled={"issue_comment": {"edited"}}) is None
