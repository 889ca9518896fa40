"""What every column of every table is, and when it goes: what is purged and what the documentation says follow from it.

A column that is not named here fails a test, so nobody adds one without saying how long it is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import JSON, LargeBinary, Table
from sqlmodel import SQLModel

from bot.store.kind import (
    Goes,
    Kept,
    What,
    code,
    code_of,
    digest,
    figures,
    identity,
    names,
    only,
    row,
    states,
    texts,
    times,
)

#: of a cause what later events are held against: which it was, of which commit, and who may not have it twice
_TRIGGER = only("name", "at", "comment_id", "review_id", "sha", "ref")
#: of what GitHub made of a post what later events name
_OUTCOME = only("id", "url", "number", "pr_url", "pushed")

#: table → column → what it is and when it goes
KEPT: Mapping[str, Mapping[str, Kept]] = {
    "allowance": {
        **identity("installation_id", "resource"),
        **figures("ceiling", "remaining", "strikes"),
        **times("reset_at", "blocked_until", "seen_at"),
    },
    "artifact": row(
        Goes.RUN,
        {
            **identity("id", "run_id", "attempt_id", "frame_id"),
            **names("name", "kind"),
            **texts(Goes.RUN, "path"),
            **digest(Goes.RUN, "blob"),
            **states("state"),
        },
    ),
    "attempt": {
        **identity("id", "run_id", "frame_id", "taken_from"),
        **names("step", "kind", "model"),
        **states("state", "exit_code"),
        **times("started_at", "ended_at", "not_before"),
        **figures("number", "iteration", "input_tokens", "output_tokens", "requests", "cost"),
        **texts(Goes.RUN, "output", "result", "route", "manifest"),
        "error": Kept(What.TEXT, Goes.RUN, code_of),
        **digest(Goes.RUN, "streams", "prompt_blob"),
    },
    "blob": {
        "digest": Kept(What.IDENTITY, Goes.UNUSED),
        "data": Kept(What.TEXT, Goes.UNUSED),
        "created_at": Kept(What.TIME, Goes.UNUSED),
        "round": Kept(What.FIGURE, Goes.UNUSED),
    },
    "clone": row(
        Goes.RUN,
        {
            **identity("run_id", "repository_id", "commit", "mark"),
            **names("ref"),
            **digest(Goes.RUN, "blob"),
        },
    ),
    "commentversion": row(
        Goes.SEEN,
        {
            **identity("id", "thread_id", "comment_id", "author_id", "app_id", "slot"),
            **names("author", "author_type", "role", "kind", "url"),
            **texts(Goes.SEEN, "body", "digest", "place"),
            **times("created_at", "updated_at", "seen_at", "deleted_at"),
            **states("minimized"),
        },
    ),
    "creation": row(Goes.HOUR, {**identity("id", "installation_id", "outbox_id"), **times("at")}),
    "delivery": {
        **row(
            Goes.DELIVERY,
            {
                **identity("id", "app_id", "guid", "content_key", "repository_id", "comment_id", "number"),
                **identity("looked_by"),
                **names("event", "action", "origin"),
                **states("state"),
                **figures("interruptions"),
                **texts(Goes.DELIVERY, "reason"),
                **times("received_at", "not_before", "trying_since"),
            },
        ),
        **texts(Goes.BODY, "headers", "body"),
    },
    "dispatch": {
        **identity("id", "thread_id", "delivery_id", "snapshot_id", "actor_id", "comment_id", "reply_to"),
        **names("actor", "actor_role", "command", "target_kind"),
        **states("state", "trial"),
        **figures("ordinal", "sequence", "comment_count", "depth"),
        **times("created_at"),
        **texts(Goes.REQUEST, "request", "params", "inputs"),
        "trigger": Kept(What.TEXT, Goes.REQUEST, _TRIGGER),
        "issue": Kept(What.TEXT, Goes.REQUEST, only("number", "is_pull_request")),
        "reason": Kept(What.TEXT, Goes.REQUEST, code),
    },
    "duty": identity("name", "owner"),
    "export": row(
        Goes.RUN,
        {
            **identity("id", "run_id", "frame_id", "attempts"),
            **figures("revision"),
            **texts(Goes.RUN, "value"),
            **times("made_at"),
            **states("state"),
        },
    ),
    "frame": {
        **identity("id", "run_id", "parent_id", "attempt_id", "path"),
        **names("step", "workflow"),
        **states("cursor"),
        **figures("iteration", "place"),
        **texts(Goes.RUN, "key", "given", "item"),
    },
    "gate": {
        **identity("id", "attempt_id", "run_id", "digest", "head_sha"),
        **names("kind"),
        **states("state"),
        **figures("asked"),
        **times("deadline", "opened_at", "remind_at", "reminded_at"),
        **texts(Goes.RUN, "question", "options", "who", "note", "altered_by"),
        "answer": Kept(What.TEXT, Goes.RUN, only("by_id", "channel", "at")),
        **digest(Goes.RUN, "kept"),
    },
    "landmark": {**identity("name", "detail"), **times("at")},
    "meter": {
        **identity("installation_id"),
        **figures("tokens", "strikes"),
        **times("filled_at", "blocked_until"),
    },
    "outbox": {
        **identity("id", "slot", "thread_id", "run_id", "attempt_id", "posted_id", "target_id", "url", "digest"),
        **names("action", "purpose", "target_kind", "lease_owner"),
        **states("state"),
        **figures("sequence", "priority", "tries", "interruptions"),
        **times("not_before", "created_at", "sent_at", "posted_at"),
        **texts(Goes.SAID, "body"),
        "reason": Kept(What.TEXT, Goes.SAID, code),
        "outcome": Kept(What.TEXT, Goes.SAID, _OUTCOME),
    },
    "pin": row(
        Goes.PINNED,
        {
            **identity("id", "thread_id", "comment_id", "pinned_by_id"),
            **names("pinned_by", "pinned_by_role"),
            **states("native"),
            **times("pinned_at"),
            **texts(Goes.PINNED, "comment"),
        },
    ),
    "process": row(Goes.DEAD, {**identity("id"), **names("host", "kind"), **times("started_at", "beat_at")}),
    "reply": row(Goes.HOUR, {**identity("id", "thread_id", "actor_id"), **times("at"), **states("unsaid")}),
    "run": {
        **identity("id", "dispatch_id", "thread_id", "snapshot_id", "retry_of", "lease_owner"),
        **names("workflow", "cancelled_by"),
        **states("state", "front", "suspect"),
        **figures("number", "sequence", "waited"),
        **times("not_before", "queued_at", "started_at", "waiting_since", "ended_at"),
        **times("purged_at", "purge_at", "status_at"),
        "reason": Kept(What.TEXT, Goes.RUN, code),
        **digest(Goes.RUN, "thread_blob"),
    },
    "schedule": row(
        Goes.GONE,
        {
            **identity("id", "repository_id", "installation_id", "commit"),
            **names("repository", "workflow", "cron"),
            **figures("thread"),
            **times("next_at"),
        },
    ),
    "snapshot": {
        **identity("id", "repository_id", "commit"),
        **times("created_at"),
        **texts(Goes.SHARED, "files"),
    },
    "spend": {
        **identity("id", "installation_id", "repository_id", "thread_id", "actor_id", "run_id"),
        **names("model"),
        **figures("input_tokens", "output_tokens", "cost"),
        **times("at"),
    },
    "steer": {
        **identity("id", "run_id", "by_id", "comment_id", "attempt_id"),
        **names("by"),
        **times("at", "read_at"),
        **texts(Goes.RUN, "text"),
    },
    "thread": {
        **identity("id", "repository_id", "number", "issue_id", "installation_id", "owner_id"),
        **names("owner", "name", "default_branch", "branch", "slug", "paused_by"),
        **states("private", "is_pull_request", "paused", "gone"),
        **figures("next_sequence", "next_run"),
        **times("paused_at", "breaker_until", "gone_at"),
    },
    "value": row(
        Goes.RUN,
        {**identity("id", "run_id", "frame_id", "attempt_id"), **names("step"), **texts(Goes.RUN, "key", "text")},
    ),
}

#: logins, beside the numbers that they belong to: what `forget --user` replaces
LOGINS: Mapping[str, Mapping[str, str]] = {
    "commentversion": {"author": "author_id"},
    "dispatch": {"actor": "actor_id"},
    "pin": {"pinned_by": "pinned_by_id"},
    "steer": {"by": "by_id"},
}


def table(name: str) -> Table:
    """The table of that name."""
    return SQLModel.metadata.tables[name]


def whole(name: str, goes: Goes) -> bool:
    """Whether a row goes as a whole then, not only its texts."""
    return KEPT[name][next(iter(table(name).primary_key)).name].goes is goes


def going(name: str, goes: Goes) -> dict[str, Callable[[Any], Any]]:
    """The columns that go then, each with what stays of a value."""
    return {column: _rest(name, column, kept) for column, kept in KEPT[name].items() if kept.goes is goes}


def _rest(name: str, column: str, kept: Kept) -> Callable[[Any], Any]:
    if kept.rest is not None:
        return kept.rest
    empty = _empty(name, column)
    return lambda _value: empty


def _empty(name: str, column: str) -> Any:
    """The empty value of a column."""
    found = table(name).columns[column]
    if found.nullable:
        return None
    if isinstance(found.type, JSON):
        return {}
    return b"" if isinstance(found.type, LargeBinary) else ""


def digests() -> dict[str, list[str]]:
    """By table: the columns that name bytes in `blob`."""
    found = {
        name: [column for column, kept in columns.items() if kept.what is What.DIGEST] for name, columns in KEPT.items()
    }
    # the files that a workflow was given are named by theirs, among the facts of each
    found["frame"] = ["given"]
    return {name: columns for name, columns in found.items() if columns}
