"""What every column of every table is, and when it goes: what is purged and what the documentation says follow from it.

A column that is not named here fails a test, so nobody adds one without saying how long it is kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, LargeBinary, Table
from sqlmodel import SQLModel


class What(StrEnum):
    """What a column holds. `DIGEST` names bytes in `blob`; `TEXT` is whatever people, agents or commands wrote.

    There is no kind for secrets: no row holds one.
    """

    IDENTITY = "identity"
    NAME = "name"
    STATE = "state"
    TIME = "time"
    FIGURE = "figure"
    DIGEST = "digest of bytes"
    TEXT = "text"


class Goes(StrEnum):
    """When a column goes, as the documentation says it. `days` is `BOT_KEEP_DAYS`."""

    STAYS = "stays"
    RUN = "`BOT_KEEP_DAYS` after the end of its run"
    REQUEST = "`BOT_KEEP_DAYS` after the end of what it asked for; of what was refused, after it was asked"
    BODY = "`BOT_KEEP_DAYS` after it came, and after the end of what it began"
    DELIVERY = "90 days after it came, with its row"
    SAID = "`BOT_KEEP_DAYS` after it was said; the list of a thread's pins when it has none"
    SEEN = (
        "`BOT_KEEP_DAYS` after it was seen, with its row, if it was replaced since or nothing was asked in its thread"
    )
    PINNED = "with its pin"
    SHARED = "when no run needs it that has its bytes"
    UNUSED = "within minutes of when nothing refers to it"
    HOUR = "after an hour in which it counts, with its row"
    GONE = "when its schedule, its repository or the App is taken away"
    DEAD = "a day after the process was last heard of, with its row"


@dataclass(frozen=True, slots=True)
class Kept:
    """One column. `rest` is what stays of its value; without one it becomes empty."""

    what: What
    goes: Goes
    rest: Callable[[Any], Any] | None = None


def code(text: Any) -> str:
    """Of a reason the code that it begins with (`budget_exceeded: …`); words of people and programs go."""
    found = re.match(r"[a-z][a-z_]*(?=:|$)", text or "")
    return found[0] if found else ""


def code_of(error: Any) -> dict[str, Any]:
    """Of an error its code."""
    return {"code": error["code"]} if error and "code" in error else {}


def _only(*names: str) -> Callable[[Any], Any]:
    """Of an object the members of these names."""

    def rest(value: Any) -> Any:
        return {name: value[name] for name in names if name in value} if isinstance(value, dict) else value

    return rest


def _identity(*names: str) -> dict[str, Kept]:
    return dict.fromkeys(names, Kept(What.IDENTITY, Goes.STAYS))


def _names(*names: str) -> dict[str, Kept]:
    return dict.fromkeys(names, Kept(What.NAME, Goes.STAYS))


def _states(*names: str) -> dict[str, Kept]:
    return dict.fromkeys(names, Kept(What.STATE, Goes.STAYS))


def _times(*names: str) -> dict[str, Kept]:
    return dict.fromkeys(names, Kept(What.TIME, Goes.STAYS))


def _figures(*names: str) -> dict[str, Kept]:
    return dict.fromkeys(names, Kept(What.FIGURE, Goes.STAYS))


def _texts(goes: Goes, *names: str) -> dict[str, Kept]:
    return dict.fromkeys(names, Kept(What.TEXT, goes))


def _digests(goes: Goes, *names: str) -> dict[str, Kept]:
    return dict.fromkeys(names, Kept(What.DIGEST, goes))


def _rows(goes: Goes, columns: Mapping[str, Kept]) -> dict[str, Kept]:
    """The whole row goes."""
    return {name: Kept(kept.what, goes) for name, kept in columns.items()}


#: of a cause what later events are held against: which it was, of which commit, and who may not have it twice
_TRIGGER = _only("name", "at", "comment_id", "review_id", "sha", "ref")
#: of what GitHub made of a post what later events name
_OUTCOME = _only("id", "url", "number", "pr_url", "pushed")

#: table → column → what it is and when it goes
KEPT: Mapping[str, Mapping[str, Kept]] = {
    "allowance": {
        **_identity("installation_id", "resource"),
        **_figures("ceiling", "remaining", "strikes"),
        **_times("reset_at", "blocked_until", "seen_at"),
    },
    "artifact": _rows(
        Goes.RUN,
        {
            **_identity("id", "run_id", "attempt_id", "frame_id"),
            **_names("name", "kind"),
            **_texts(Goes.RUN, "path"),
            **_digests(Goes.RUN, "blob"),
            **_states("state"),
        },
    ),
    "attempt": {
        **_identity("id", "run_id", "frame_id", "taken_from"),
        **_names("step", "kind", "model"),
        **_states("state", "exit_code"),
        **_times("started_at", "ended_at", "not_before"),
        **_figures("number", "iteration", "input_tokens", "output_tokens", "requests", "cost"),
        **_texts(Goes.RUN, "output", "result", "route", "manifest"),
        "error": Kept(What.TEXT, Goes.RUN, code_of),
        **_digests(Goes.RUN, "streams", "prompt_blob"),
    },
    "blob": {
        "digest": Kept(What.IDENTITY, Goes.UNUSED),
        "data": Kept(What.TEXT, Goes.UNUSED),
        "created_at": Kept(What.TIME, Goes.UNUSED),
        "round": Kept(What.FIGURE, Goes.UNUSED),
    },
    "clone": _rows(
        Goes.RUN,
        {
            **_identity("run_id", "repository_id", "commit", "mark"),
            **_names("ref"),
            **_digests(Goes.RUN, "blob"),
        },
    ),
    "commentversion": _rows(
        Goes.SEEN,
        {
            **_identity("id", "thread_id", "comment_id", "author_id", "app_id", "slot"),
            **_names("author", "author_type", "role", "kind", "url"),
            **_texts(Goes.SEEN, "body", "digest", "place"),
            **_times("created_at", "updated_at", "seen_at", "deleted_at"),
            **_states("minimized"),
        },
    ),
    "creation": _rows(Goes.HOUR, {**_identity("id", "installation_id", "outbox_id"), **_times("at")}),
    "delivery": {
        **_rows(
            Goes.DELIVERY,
            {
                **_identity("id", "app_id", "guid", "content_key", "repository_id", "comment_id", "number"),
                **_identity("looked_by"),
                **_names("event", "action", "origin"),
                **_states("state"),
                **_figures("interruptions"),
                **_texts(Goes.DELIVERY, "reason"),
                **_times("received_at", "not_before", "trying_since"),
            },
        ),
        **_texts(Goes.BODY, "headers", "body"),
    },
    "dispatch": {
        **_identity("id", "thread_id", "delivery_id", "snapshot_id", "actor_id", "comment_id", "reply_to"),
        **_names("actor", "actor_role", "command", "target_kind"),
        **_states("state", "trial"),
        **_figures("ordinal", "sequence", "comment_count", "depth"),
        **_times("created_at"),
        **_texts(Goes.REQUEST, "request", "params", "inputs"),
        "trigger": Kept(What.TEXT, Goes.REQUEST, _TRIGGER),
        "issue": Kept(What.TEXT, Goes.REQUEST, _only("number", "is_pull_request")),
        "reason": Kept(What.TEXT, Goes.REQUEST, code),
    },
    "duty": {**_identity("name", "owner"), **_times("until")},
    "export": _rows(
        Goes.RUN,
        {
            **_identity("id", "run_id", "frame_id", "attempts"),
            **_figures("revision"),
            **_texts(Goes.RUN, "value"),
            **_times("made_at"),
            **_states("state"),
        },
    ),
    "frame": {
        **_identity("id", "run_id", "parent_id", "attempt_id", "path"),
        **_names("step", "workflow"),
        **_states("cursor"),
        **_figures("iteration", "place"),
        **_texts(Goes.RUN, "key", "given", "item"),
    },
    "gate": {
        **_identity("id", "attempt_id", "run_id", "digest", "head_sha"),
        **_names("kind"),
        **_states("state"),
        **_figures("asked"),
        **_times("deadline", "opened_at", "remind_at", "reminded_at"),
        **_texts(Goes.RUN, "question", "options", "who", "note", "altered_by"),
        "answer": Kept(What.TEXT, Goes.RUN, _only("by_id", "channel", "at")),
        **_digests(Goes.RUN, "kept"),
    },
    "landmark": {**_identity("name", "detail"), **_times("at")},
    "meter": {
        **_identity("installation_id"),
        **_figures("tokens", "strikes"),
        **_times("filled_at", "blocked_until"),
    },
    "outbox": {
        **_identity("id", "slot", "thread_id", "run_id", "attempt_id", "posted_id", "target_id", "url", "digest"),
        **_names("action", "purpose", "target_kind", "lease_owner"),
        **_states("state"),
        **_figures("sequence", "priority", "tries", "interruptions"),
        **_times("not_before", "created_at", "sent_at", "posted_at"),
        **_texts(Goes.SAID, "body"),
        "reason": Kept(What.TEXT, Goes.SAID, code),
        "outcome": Kept(What.TEXT, Goes.SAID, _OUTCOME),
    },
    "pin": _rows(
        Goes.PINNED,
        {
            **_identity("id", "thread_id", "comment_id", "pinned_by_id"),
            **_names("pinned_by", "pinned_by_role"),
            **_states("native"),
            **_times("pinned_at"),
            **_texts(Goes.PINNED, "comment"),
        },
    ),
    "process": _rows(Goes.DEAD, {**_identity("id"), **_names("host", "kind"), **_times("started_at", "beat_at")}),
    "reply": _rows(Goes.HOUR, {**_identity("id", "thread_id", "actor_id"), **_times("at"), **_states("unsaid")}),
    "run": {
        **_identity("id", "dispatch_id", "thread_id", "snapshot_id", "retry_of", "lease_owner"),
        **_names("workflow", "cancelled_by"),
        **_states("state", "front", "suspect"),
        **_figures("number", "sequence", "waited"),
        **_times("not_before", "queued_at", "started_at", "waiting_since", "ended_at"),
        **_times("purged_at", "purge_at", "status_at"),
        "reason": Kept(What.TEXT, Goes.RUN, code),
        **_digests(Goes.RUN, "thread_blob"),
    },
    "schedule": _rows(
        Goes.GONE,
        {
            **_identity("id", "repository_id", "installation_id", "commit"),
            **_names("repository", "workflow", "cron"),
            **_figures("thread"),
            **_times("next_at"),
        },
    ),
    "snapshot": {
        **_identity("id", "repository_id", "commit"),
        **_times("created_at"),
        **_texts(Goes.SHARED, "files"),
    },
    "spend": {
        **_identity("id", "installation_id", "repository_id", "thread_id", "actor_id", "run_id"),
        **_names("model"),
        **_figures("input_tokens", "output_tokens", "cost"),
        **_times("at"),
    },
    "steer": {
        **_identity("id", "run_id", "by_id", "comment_id", "attempt_id"),
        **_names("by"),
        **_times("at", "read_at"),
        **_texts(Goes.RUN, "text"),
    },
    "thread": {
        **_identity("id", "repository_id", "number", "issue_id", "installation_id", "owner_id"),
        **_names("owner", "name", "default_branch", "branch", "slug", "paused_by"),
        **_states("private", "is_pull_request", "paused", "gone"),
        **_figures("next_sequence", "next_run"),
        **_times("paused_at", "breaker_until", "gone_at"),
    },
    "value": _rows(
        Goes.RUN,
        {**_identity("id", "run_id", "frame_id", "attempt_id"), **_names("step"), **_texts(Goes.RUN, "key", "text")},
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
