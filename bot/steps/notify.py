"""The kind `notify`: a comment, labels, assignees, closing, a message to a webhook. All of it, in this order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bot.model.outcome import Done, Failed, Intent, Outcome, Wait

#: GitHub's bounds. Source: https://docs.github.com/en/rest/issues (labels of 50 characters, ten assignees)
_LABEL, _ASSIGNEES, _LABELS = 50, 10, 100
_REASONS = ("completed", "not_planned")


class _Wrong(ValueError):
    """A resolved value that cannot be used; the text names the key."""


def perform_notify(
    *,
    comment: str = "",
    labels: Mapping[str, Any] | None = None,
    assign: Any = None,
    close: Any = False,
    webhook: Mapping[str, Any] | None = None,
) -> Outcome:
    """From resolved values to intents. Null, nothing and empty lists mean that this part has nothing to do.

    `labels` is `{add, remove}`, lists of names; `assign` a list of logins, with or without `@`; `close` true or
    GitHub's reason; `webhook` is `{resource, body}`, JSON.
    """
    try:
        intents = [*_comment(comment), *_labels(labels or {}), *_assign(assign), *_close(close), *_webhook(webhook)]
    except _Wrong as error:
        return Failed("notify_value", str(error), "Mend what the template gives, or write the value out.")
    if not intents:
        return Done(result={})
    return Wait("posts", intents=tuple(intents))


def notify_result(outcomes: Iterable[tuple[str, Mapping[str, Any]]]) -> Done:
    """The step's end once all is done: of each row its kind and what was made of it, in order. It has no output.

    `{comments: [{id, url}], labels: {added, removed}, assigned: [logins], closed: reason, webhook: {resource, status}}`
    with the keys of what was asked for.
    """
    result: dict[str, Any] = {}
    for kind, outcome in outcomes:
        match kind:
            case "comment":
                result.setdefault("comments", []).append({"id": outcome.get("id"), "url": outcome.get("url")})
            case "labels":
                result["labels"] = {key: list(outcome.get(key, ())) for key in ("added", "removed")}
            case "assign":
                result["assigned"] = list(outcome.get("assigned", ()))
            case "close":
                result["closed"] = outcome.get("reason") or True
            case "webhook":
                result["webhook"] = {key: outcome.get(key) for key in ("resource", "status")}
    return Done(result=result)


def _comment(text: str) -> Iterable[Intent]:
    if text and text.strip():
        yield Intent("comment", {"body": text})


def _labels(labels: Mapping[str, Any]) -> Iterable[Intent]:
    add, remove = (_names(labels.get(key), f"labels.{key}", _LABEL, _LABELS) for key in ("add", "remove"))
    added = {name.lower() for name in add}
    if both := [name for name in remove if name.lower() in added]:
        raise _Wrong(f"labels: `{both[0]}` is to be added and removed")
    if add or remove:
        yield Intent("labels", {"add": add, "remove": remove})


def _assign(value: Any) -> Iterable[Intent]:
    logins = [login.removeprefix("@") for login in _names(value, "assign", _LABEL, _ASSIGNEES)]
    if not all(logins):
        raise _Wrong("assign: expected logins, got a bare `@`")
    if logins:
        yield Intent("assign", {"logins": logins})


def _close(value: Any) -> Iterable[Intent]:
    if value is None or value is False:
        return
    if value is not True and value not in _REASONS:
        raise _Wrong(f"close: expected true, {' or '.join(_REASONS)}")
    yield Intent("close", {"reason": None if value is True else value})


def _webhook(value: Mapping[str, Any] | None) -> Iterable[Intent]:
    if value is not None:
        yield Intent("webhook", {"resource": value["resource"], "body": value.get("body")}, name=value["resource"])


def _names(value: Any, key: str, longest: int, most: int) -> list[str]:
    """A list of names, each once whatever its case, in order."""
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise _Wrong(f"{key}: expected a list of names")
    names: dict[str, str] = {}
    for index, name in enumerate(value):
        if not isinstance(name, str) or not name.strip():
            raise _Wrong(f"{key}[{index}]: expected a name")
        if len(name.strip()) > longest:
            raise _Wrong(f"{key}[{index}]: longer than {longest} characters")
        names.setdefault(name.strip().lower(), name.strip())
    if len(names) > most:
        raise _Wrong(f"{key}: more than {most}")
    return list(names.values())
