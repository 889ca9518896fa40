"""`dispatch`, `add_labels`, `remove_labels`, `set_assignees`, `close_issue`: what is to be done on GitHub.

Nothing is done here: each records an intent, which the engine commits with the step's outcome.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

from bot.model.outcome import Intent
from bot.runners import ToolAnswer
from bot.steps.tools.root import Refused
from bot.steps.tools.thread import AT_END
from bot.workflows.findings import listing, nearest

#: characters of a label's name, GitHub's own limit
LABEL_MAX = 50
#: logins of people, of managed users (`_`), and of Apps (`[bot]`)
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}(?:\[bot\])?")


async def dispatch(known: Collection[str], arguments: dict[str, Any]) -> ToolAnswer:
    """Another workflow or agent of the repository. Raises Refused for a name that it does not have."""
    name = arguments["workflow"]
    if name not in known:
        raise Refused(f"there is no workflow or agent `{name}`; {nearest(name, known)}")
    payload: dict[str, Any] = {
        "workflow": name,
        "request": arguments.get("request", ""),
        "params": dict(arguments.get("params", {})),
    }
    if arguments.get("pin"):
        payload["pin"] = True
    return ToolAnswer(f"`{name}` is to be started. {AT_END}", intents=(Intent("dispatch", payload),))


async def add_labels(arguments: dict[str, Any]) -> ToolAnswer:
    """Labels that are to be there. Raises Refused for what is no label's name."""
    labels = _labels(arguments["labels"])
    intent = Intent("labels", {"add": labels, "remove": []})
    return ToolAnswer(f"To be added: {listing(labels)}. {AT_END}", intents=(intent,))


async def remove_labels(arguments: dict[str, Any]) -> ToolAnswer:
    """Labels that are not to be there. Raises Refused for what is no label's name."""
    labels = _labels(arguments["labels"])
    intent = Intent("labels", {"add": [], "remove": labels})
    return ToolAnswer(f"To be removed: {listing(labels)}. {AT_END}", intents=(intent,))


async def set_assignees(arguments: dict[str, Any]) -> ToolAnswer:
    """People who are to be assigned. Raises Refused for what is no login."""
    logins = list(dict.fromkeys(login.strip().removeprefix("@") for login in arguments["logins"]))
    for login in logins:
        if not _LOGIN.fullmatch(login):
            raise Refused(f"`{login}` is no login on GitHub")
    return ToolAnswer(f"To be assigned: {listing(logins)}. {AT_END}", intents=(Intent("assign", {"logins": logins}),))


async def close_issue(arguments: dict[str, Any]) -> ToolAnswer:
    """The issue is to be closed."""
    intent = Intent("close", {"reason": arguments.get("reason", "completed")})
    return ToolAnswer(f"This issue is to be closed. {AT_END}", intents=(intent,))


def _labels(names: Iterable[str]) -> list[str]:
    labels = list(dict.fromkeys(name.strip() for name in names))
    for label in labels:
        if not label or not label.isprintable() or len(label) > LABEL_MAX:
            raise Refused(f"`{label}` is no name of a label: 1 to {LABEL_MAX} printable characters")
    return labels
