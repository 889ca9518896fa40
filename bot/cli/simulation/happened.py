"""An event where none is given: what it tells a run, the same every time."""

from __future__ import annotations

from collections.abc import Mapping

from bot.errors import UserError
from bot.workflows import Workflow

MENTION = "mention"
#: triggers that only pull requests have
OF_PULLS = frozenset({"synchronize", "ready_for_review", "review_submitted", "checks_failed"})
_SHA = "0123456789abcdef0123456789abcdef01234567"


def chosen_trigger(workflow: Workflow, name: str | None) -> str:
    """What starts the walk: the one that is named, else a mention, else the first event that does.

    Raises `UserError` for one that does not start the workflow.
    """
    possible = (*((MENTION,) if workflow.on.mention else ()), *workflow.on.events)
    if name is None:
        return possible[0] if possible else MENTION
    if name not in possible:
        there = ", ".join(possible) or "nothing: only other workflows use it"
        raise UserError("unknown_trigger", f"`{name}` does not start `{workflow.called}`", f"what does: {there}")
    return name


def event_fields(workflow: Workflow, name: str) -> Mapping[str, str]:
    """The namespace `trigger` beyond what every run has; nothing for a mention."""
    if name == MENTION:
        return {}
    fields = {"name": name, "text": ""}
    if name == "labeled":
        fields["label"] = workflow.on.labeled[0]
    if name in OF_PULLS:
        fields |= {"sha": _SHA, "ref": "a-branch"}
    if name == "checks_failed":
        fields["conclusion"] = "failure"
    if workflow.on.schedule is not None and name == "schedule":
        fields["cron"] = workflow.on.schedule.cron
    return fields
