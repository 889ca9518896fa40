"""What leaves as an action: every text through the policy, every string without secrets."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.publish import Redactor
from bot.publish.payload import Payload, suggested
from bot.publish.redact import redacted
from bot.publish.split import CHARACTERS

SECRET = "canary-of-the-tests"
REDACT = Redactor([SECRET, "4815162342"])


def composed(kind: str, payload: dict[str, Any], **more: Any) -> dict[str, Any]:
    (body,) = Payload(kind, json.dumps(payload), **more).composed(REDACT)
    made: dict[str, Any] = json.loads(body)
    return made


def review(**more: Any) -> dict[str, Any]:
    payload = {"head_sha": "c0ffee", "event": "COMMENT", "body": "Two.", "comments": [], "outside": []}
    return composed("review", {**payload, **more})


def remark(**more: Any) -> dict[str, Any]:
    (made,) = review(comments=[{"path": "a.py", "line": 3, "side": "RIGHT", "body": "x", "fingerprint": "f", **more}])[
        "comments"
    ]
    return dict(made)


def test_every_text_of_a_review_passes_the_policy() -> None:
    """Body, comments, suggestions, and what lies outside the diff."""
    item = {"path": "b.py", "line": 9, "body": f"@sam {SECRET}", "fingerprint": "g", "url": "https://github.test/b"}
    made = review(
        body=f"@sam, fixes #1 {SECRET}",
        comments=[{"path": "a.py", "line": 3, "body": f"@sam fixes #1 {SECRET}", "suggestion": f"x = '{SECRET}'"}],
        outside=[item],
    )
    assert made["body"] == (
        "`@sam`, fixes `#1` [redacted]\n\n### Outside the diff\n\n"
        "**[`b.py:9`](https://github.test/b)**\n\n`@sam` [redacted]"
    )
    assert made["comments"][0]["body"] == "`@sam` fixes `#1` [redacted]\n\n```suggestion\nx = '[redacted]'\n```"
    assert made["outside"] == ["g"]
    assert SECRET not in json.dumps(made)


def test_what_a_review_keeps() -> None:
    """Head, event, places and fingerprints are GitHub's and ours."""
    made = review(comments=[{"path": "a.py", "line": 3, "side": "LEFT", "start_line": 2, "body": "x"}])
    assert (made["head_sha"], made["event"]) == ("c0ffee", "COMMENT")
    assert made["comments"] == [{"path": "a.py", "line": 3, "side": "LEFT", "start_line": 2, "body": "x"}]
    assert "suggestion" not in remark(suggestion="y")
    assert remark()["fingerprint"] == "f"


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("x = 1", "```suggestion\nx = 1\n```"),
        ("x = 1\n", "```suggestion\nx = 1\n```"),
        ("x\n\n", "```suggestion\nx\n\n```"),
        ("", "```suggestion\n```"),
        ("\n", "```suggestion\n\n```"),
        ("a\r\nb", "```suggestion\na\nb\n```"),
        ("```python\nx\n```", "````suggestion\n```python\nx\n```\n````"),
        ("`````", "``````suggestion\n`````\n``````"),
        ("\tx  ", "```suggestion\n\tx  \n```"),
    ],
)
def test_a_suggestion_is_taken_as_it_is(code: str, shown: str) -> None:
    """In a fence longer than any in it; no text at all is no line."""
    assert suggested(code, "suggestion") == shown
    assert remark(suggestion=code)["body"] == f"x\n\n{shown}"


def test_a_comment_that_leaves_something_open() -> None:
    """Its suggestion, and what follows outside the diff, stand by themselves all the same."""
    assert remark(body="~~~\ncode", suggestion="y")["body"] == "~~~\ncode\n~~~\n\n```suggestion\ny\n```"
    items = [
        {"path": "b.py", "body": "```\ncode", "fingerprint": "g"},
        {"path": "c.py", "body": "x", "fingerprint": "h"},
    ]
    body = review(body="~~~\nopen", outside=items)["body"]
    assert body == ("~~~\nopen\n~~~\n\n### Outside the diff\n\n**`b.py`**\n\n```\ncode\n```\n\n**`c.py`**\n\nx")


def test_a_suggestion_outside_the_diff_is_only_shown() -> None:
    """GitHub applies nothing there."""
    item = {"path": "b.py", "line": 9, "body": "x", "suggestion": "y", "fingerprint": "g"}
    assert review(outside=[item])["body"].endswith("**`b.py:9`**\n\nx\n\n```\ny\n```")


def test_a_long_review_ends_with_where_the_rest_is() -> None:
    """Within GitHub's bound, with room for markers."""
    made = composed(
        "review",
        {"head_sha": "c", "event": "COMMENT", "body": "word " * 20_000, "comments": [], "outside": []},
        rest="The rest is elsewhere.",
    )
    assert made["body"].endswith("The rest is elsewhere.")
    assert len(made["body"]) < CHARACTERS - 2_000


def pull_request(**more: Any) -> dict[str, Any]:
    payload = {"head": "bot/7-crash", "base": "main", "title": "Mend it", "body": "Text.", "draft": True, "closes": 7}
    return composed("pull_request", {**payload, **more}, closes=("#7", "ana/parser#7"))


def test_a_pull_request_closes_its_issue_and_no_other() -> None:
    """Title and body pass the policy."""
    made = pull_request(title=f"fixes #7\nand @sam {SECRET}", body=f"@sam fixes #8 {SECRET}")
    assert made == {
        "head": "bot/7-crash",
        "base": "main",
        "title": "fixes #7 and @\u200bsam [redacted]",
        "body": "`@sam` fixes `#8` [redacted]\n\nCloses #7",
        "draft": True,
    }


def test_an_open_fence_does_not_take_the_issue_in() -> None:
    """Else nothing would be closed."""
    assert pull_request(body="```\ncode")["body"] == "```\ncode\n```\n\nCloses #7"
    assert pull_request(body="")["body"] == "Closes #7"
    assert pull_request(closes=None)["body"] == "Text."


def test_a_title_is_cut() -> None:
    made = pull_request(title="word " * 100)["title"]
    assert len(made) <= 256
    assert made.endswith("word…")


def test_names_of_branches_stay() -> None:
    """What git takes, the policy for new names might not; only a secret goes."""
    made = pull_request(base="release+1@{x}", head=f"bot/{SECRET}")
    assert (made["base"], made["head"]) == ("release+1@{x}", "bot/[redacted]")


def test_everything_else_is_redacted() -> None:
    """Strings at any depth, keys, and numbers."""
    body = {"text": f"<{SECRET}>", SECRET: [1, 4815162342, 1.5, None, True, {"deep": SECRET}]}
    made = composed("webhook", {"resource": "chat", "body": body})
    assert made == {
        "resource": "chat",
        "body": {"text": "<[redacted]>", "[redacted]": [1, "[redacted]", 1.5, None, True, {"deep": "[redacted]"}]},
    }
    assert composed("labels", {"add": [SECRET], "remove": ["@sam"]}) == {"add": ["[redacted]"], "remove": ["@sam"]}


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner)))
def test_redaction_leaves_other_json_alone(value: Any) -> None:
    assert redacted(value, Redactor([SECRET])) == value
