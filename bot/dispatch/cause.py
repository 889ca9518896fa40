"""What starts a workflow without anybody's words: an event, as its trigger names it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bot.model.event import Event
from bot.workflows.triggers import OPENED

REVIEWED = "review_submitted"
SYNCHRONIZE = "synchronize"


@dataclass(frozen=True, slots=True)
class Cause:
    """`name` is the trigger's. `text` is the request: what whoever opened the thread wrote, else a sentence of ours.

    `depth` counts the dispatches that led to the event; 0 where it is none of our own doing. `cap` is
    what is left of the budget that the request at their root set, as words of a command.
    """

    name: str
    text: str
    depth: int = 0
    cap: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_subject(self) -> bool:
        """Whether there is a text of somebody's that asks for it, which can be reacted to."""
        return self.name in (OPENED, REVIEWED)


def caused(event: Event) -> Cause | None:
    """The trigger that an event is; None for those that start nothing."""
    found = _CAUSES.get((event.name, event.action))
    return found(event) if found is not None else None


def _opened(event: Event) -> Cause:
    return Cause(OPENED, event.text.strip() or f"{_thread(event)} was opened by {event.sender.login}.")


def _labeled(event: Event) -> Cause:
    label = event.fields.get("label", "")
    return Cause("labeled", f"The label {label!r} was set by {event.sender.login}.")


def _closed(event: Event) -> Cause:
    how = "merged" if event.pull is not None and event.pull.merged else "closed"
    return Cause("closed", f"{_thread(event)} was {how} by {event.sender.login}.")


def _synchronize(event: Event) -> Cause:
    return Cause(SYNCHRONIZE, f"{event.sender.login} pushed; the head is {event.fields.get('sha', '')[:7]} now.")


def _ready(event: Event) -> Cause:
    return Cause("ready_for_review", f"{event.sender.login} says that the pull request is ready for review.")


def _reviewed(event: Event) -> Cause:
    said = event.review.state.replace("_", " ") if event.review is not None else "commented"
    return Cause(REVIEWED, event.text.strip() or f"{event.sender.login} submitted a review: {said}.")


def _thread(event: Event) -> str:
    return "The pull request" if event.issue.is_pull_request else "The issue"


_CAUSES: Mapping[tuple[str, str], Callable[[Event], Cause]] = {
    ("issues", "opened"): _opened,
    ("pull_request", "opened"): _opened,
    ("issues", "labeled"): _labeled,
    ("pull_request", "labeled"): _labeled,
    ("issues", "closed"): _closed,
    ("pull_request", "closed"): _closed,
    ("pull_request", "synchronize"): _synchronize,
    ("pull_request", "ready_for_review"): _ready,
    ("pull_request_review", "submitted"): _reviewed,
}
