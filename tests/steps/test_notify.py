"""The kind `notify`: from resolved values to intents, and from what was made of them to a result."""

from __future__ import annotations

from typing import Any

import pytest

from bot.model.outcome import Done, Failed, Intent, Wait
from bot.steps import notify_result, perform_notify


def intents(**values: Any) -> tuple[Intent, ...]:
    outcome = perform_notify(**values)
    assert isinstance(outcome, Wait)
    assert outcome.what == "posts"
    return outcome.intents


def test_all_of_it_in_order() -> None:
    """Comment, labels, assignees, closing, webhook."""
    assert intents(
        comment="Hello.",
        labels={"add": ["bug", " Bug ", "crash"], "remove": ["new"]},
        assign=["@meg", "sam"],
        close="not_planned",
        webhook={"resource": "chat", "body": {"text": "x"}},
    ) == (
        Intent("comment", {"body": "Hello."}),
        Intent("labels", {"add": ["bug", "crash"], "remove": ["new"]}),
        Intent("assign", {"logins": ["meg", "sam"]}),
        Intent("close", {"reason": "not_planned"}),
        Intent("webhook", {"resource": "chat", "body": {"text": "x"}}, name="chat"),
    )


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"comment": "  \n", "labels": {"add": [], "remove": None}, "assign": None, "close": False, "webhook": None},
        {"labels": {}, "assign": [], "close": None},
    ],
)
def test_nothing_to_do(values: dict[str, Any]) -> None:
    """Null and empty lists, as templates may give them."""
    assert perform_notify(**values) == Done(result={})


def test_closing_without_a_reason() -> None:
    assert intents(close=True) == (Intent("close", {"reason": None}),)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"labels": {"add": "bug"}}, "labels.add: expected a list of names"),
        ({"labels": {"remove": {"a": 1}}}, "labels.remove: expected a list of names"),
        ({"labels": {"add": ["bug", 5]}}, "labels.add[1]: expected a name"),
        ({"labels": {"add": [" "]}}, "labels.add[0]: expected a name"),
        ({"labels": {"add": ["x" * 51]}}, "labels.add[0]: longer than 50 characters"),
        ({"labels": {"add": [f"l{n}" for n in range(101)]}}, "labels.add: more than 100"),
        ({"labels": {"add": ["Bug"], "remove": ["bug"]}}, "labels: `bug` is to be added and removed"),
        ({"assign": [None]}, "assign[0]: expected a name"),
        ({"assign": ["@"]}, "assign: expected logins, got a bare `@`"),
        ({"assign": [f"p{n}" for n in range(11)]}, "assign: more than 10"),
        ({"close": "done"}, "close: expected true, completed or not_planned"),
    ],
)
def test_values_that_cannot_be_used(values: dict[str, Any], message: str) -> None:
    """The key is named, and nothing is done."""
    outcome = perform_notify(comment="Hello.", **values)
    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.message) == ("notify_value", message)


def test_the_result_names_what_was_made() -> None:
    """Only what was asked for; a long comment has several parts."""
    made: list[tuple[str, dict[str, Any]]] = [
        ("comment", {"id": 1, "url": "u1"}),
        ("comment", {"id": 2, "url": "u2"}),
        ("labels", {"added": ["bug"], "removed": []}),
        ("assign", {"assigned": ["meg"], "not_assigned": ["sam"]}),
        ("close", {"state": "closed", "reason": "not_planned"}),
        ("webhook", {"resource": "chat", "status": 204}),
    ]
    assert notify_result(made) == Done(
        result={
            "comments": [{"id": 1, "url": "u1"}, {"id": 2, "url": "u2"}],
            "labels": {"added": ["bug"], "removed": []},
            "assigned": ["meg"],
            "closed": "not_planned",
            "webhook": {"resource": "chat", "status": 204},
        }
    )
    assert notify_result([("close", {"state": "closed", "reason": None})]).result == {"closed": True}
    assert notify_result([]).result == {}
