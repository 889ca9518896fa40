"""What a column may hold and when it may go: the words of the table in `bot.store.kept`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


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


def only(*members: str) -> Callable[[Any], Any]:
    """Of an object these members."""

    def rest(value: Any) -> Any:
        return {name: value[name] for name in members if name in value} if isinstance(value, dict) else value

    return rest


def identity(*names: str) -> dict[str, Kept]:
    """Numbers and names of rows, ours and GitHub's."""
    return dict.fromkeys(names, Kept(What.IDENTITY, Goes.STAYS))


def names(*names: str) -> dict[str, Kept]:
    """What people and things are called, in one of few words."""
    return dict.fromkeys(names, Kept(What.NAME, Goes.STAYS))


def states(*names: str) -> dict[str, Kept]:
    """How something stands."""
    return dict.fromkeys(names, Kept(What.STATE, Goes.STAYS))


def times(*names: str) -> dict[str, Kept]:
    """When something was."""
    return dict.fromkeys(names, Kept(What.TIME, Goes.STAYS))


def figures(*names: str) -> dict[str, Kept]:
    """How much or how many."""
    return dict.fromkeys(names, Kept(What.FIGURE, Goes.STAYS))


def texts(goes: Goes, *names: str) -> dict[str, Kept]:
    """Whatever people, agents or commands wrote."""
    return dict.fromkeys(names, Kept(What.TEXT, goes))


def digest(goes: Goes, *names: str) -> dict[str, Kept]:
    """Which bytes in `blob`."""
    return dict.fromkeys(names, Kept(What.DIGEST, goes))


def row(goes: Goes, columns: Mapping[str, Kept]) -> dict[str, Kept]:
    """The whole row goes."""
    return {name: Kept(kept.what, goes) for name, kept in columns.items()}
