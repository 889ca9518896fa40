"""What starts a workflow besides a mention: events on threads, failed checks, the clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

from cronsim import CronSim, CronSimError
from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from bot.workflows.node import Node, describe, fault

#: the one whose event has a text that is a request: what whoever opened the thread wrote
OPENED = "opened"
#: the names of all triggers but mentions, as `trigger.name` shows them
EVENTS = (
    OPENED,
    "labeled",
    "closed",
    "synchronize",
    "ready_for_review",
    "review_submitted",
    "checks_failed",
    "schedule",
)
#: a schedule that is due more often is refused
LEAST_GAP = timedelta(minutes=5)

_CRON_CHARACTERS_MAX = 200
_FIELDS = "minute, hour, day of the month, month, day of the week"
_DAY = 24 * 60
#: after this many years the calendar's weeks and leap days have shown every two days that can follow each other
_YEARS = 5
_EPOCH = datetime(2024, 1, 1, tzinfo=UTC)


def next_time(cron: str, after: datetime) -> datetime:
    """When `cron` is due next, later than `after`; in UTC, whole minutes. `cron` has passed the check of a file."""
    return next(CronSim(cron, after.astimezone(UTC)))


def last_time(cron: str, now: datetime) -> datetime:
    """When `cron` was due last, `now` included."""
    # backwards begins before the time that is given
    return next(CronSim(cron, now.astimezone(UTC).replace(microsecond=0) + timedelta(seconds=1), reverse=True))


def _cron(value: Any) -> str:
    if not isinstance(value, str):
        raise fault("type_mismatch", f"expected a cron expression, got {describe(value)}", "put it in quotes")
    parts = value.split()
    if len(value) > _CRON_CHARACTERS_MAX or len(parts) != 5:
        raise fault("cron", f"{describe(value)} is no cron expression", f'five fields: {_FIELDS}, as "0 6 * * MON"')
    try:
        found = CronSim(value, _EPOCH)
        next(found)
    except CronSimError as error:
        if _no_such_day(parts):
            raise fault("cron", f"`{value}` is never due", "choose a day that there is") from None
        field = str(error).removeprefix("Bad ").replace("-", " ")
        raise fault("cron", f"`{value}` is no cron expression: its {field} does not fit", _FIELDS) from None
    except StopIteration:
        raise fault("cron", f"`{value}` is never due", "choose a day that there is") from None
    gap = _least_gap(value)
    if gap < LEAST_GAP:
        minutes = LEAST_GAP.seconds // 60
        message = f"`{value}` is due again after {gap.seconds // 60} min; at most once every {minutes} minutes"
        raise fault("cron", message, f"`*/{minutes} * * * *` is the most often that is possible")
    return value


def _least_gap(cron: str) -> timedelta:
    """The shortest time between two times at which it is due."""
    pattern = CronSim(cron, _EPOCH)
    minutes = sorted(60 * hour + minute for hour in pattern.hours for minute in pattern.minutes)
    gaps = [later - earlier for earlier, later in pairwise(minutes)]
    over_midnight = minutes[0] + _DAY - minutes[-1]
    if timedelta(minutes=over_midnight) < LEAST_GAP and _days_follow(cron):
        gaps.append(over_midnight)
    return timedelta(minutes=min(gaps, default=_DAY))


def _no_such_day(parts: list[str]) -> bool:
    """Whether the day of the month and the month fit each by itself, and never together: 31 February."""
    minute, hour, day, month, weekday = parts
    try:
        CronSim(" ".join([minute, hour, day, "*", weekday]), _EPOCH)
        CronSim(" ".join([minute, hour, "*", month, weekday]), _EPOCH)
    except CronSimError:
        return False
    return True


def _days_follow(cron: str) -> bool:
    """Whether it is due on two days that follow each other."""
    days = CronSim(" ".join(["0", "0", *cron.split()[2:]]), _EPOCH)
    before: datetime | None = None
    for day in days:
        if before is not None and day - before == timedelta(days=1):
            return True
        if day.year >= _EPOCH.year + _YEARS:
            break
        before = day
    return False


def _thread(value: Any) -> Any:
    if value == "new" or (type(value) is int and value > 0):
        return value
    hint = "the number of an issue or pull request, or `new` for an issue of its own each time"
    raise fault("option", f"`thread` is a number or `new`, got {describe(value)}", hint)


def _labels(value: Any) -> Any:
    if isinstance(value, str):
        raise fault("type_mismatch", f"`labeled` is a list of labels, got {describe(value)}", f"write `[{value}]`")
    if isinstance(value, bool) or value is None:
        raise fault("type_mismatch", f"`labeled` is a list of labels, got {describe(value)}", "write `[name, …]`")
    if isinstance(value, list) and not all(isinstance(one, str) and one.strip() for one in value):
        raise fault("type_mismatch", "a label is text", "put names that look like numbers in quotes")
    # what a validator gives is held to be a tuple, unlike what stands in the file
    return tuple(value) if isinstance(value, list) else value


Cron = Annotated[str, BeforeValidator(_cron), WithJsonSchema({"type": "string"})]
ThreadOf = Annotated[
    int | Literal["new"],
    BeforeValidator(_thread),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"const": "new"}]}),
]
LabelNames = Annotated[
    tuple[str, ...],
    Field(min_length=1),
    BeforeValidator(_labels),
    WithJsonSchema({"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1}),
]


class Schedule(Node):
    """When a workflow is due, and on which thread it runs then."""

    NOUN: ClassVar[str] = "a schedule"

    cron: Cron = Field(description="five fields, in UTC; at most once every 5 minutes")
    thread: ThreadOf = Field(description="the number of a thread, or `new`: an issue is opened for it each time")


class Triggers(Node):
    """What starts a workflow. Mentions do unless they are turned off."""

    NOUN: ClassVar[str] = "`on`"

    mention: bool = Field(True, description="whether a mention may name it")
    opened: bool = Field(False, description="an issue or pull request was opened")
    labeled: LabelNames = Field((), description="one of these labels was set")
    closed: bool = Field(False, description="an issue or pull request was closed, merged or not")
    synchronize: bool = Field(False, description="a pull request has new commits; pushes within 30 s count once")
    ready_for_review: bool = Field(False, description="a draft became a pull request for review")
    review_submitted: bool = Field(False, description="somebody submitted a review")
    checks_failed: bool = Field(
        False, description="all checks of a pull request's head have ended, and not well; once a commit"
    )
    schedule: Schedule | None = Field(None, description="at certain times")

    @model_validator(mode="before")
    @classmethod
    def _shape(cls, data: Any) -> Any:
        """Say how it is written to those who know it from other workflow languages."""
        if isinstance(data, str) and data in EVENTS:
            raise fault("type_mismatch", "`on` is a mapping", f"write `on: {{{_example(data)}}}`")
        if isinstance(data, list) and data and all(one in EVENTS for one in data):
            raise fault("type_mismatch", "`on` is a mapping", f"write `on: {{{', '.join(map(_example, data))}}}`")
        if isinstance(data, dict) and "schedule" in data and data["schedule"] is None:
            raise fault("type_mismatch", "`schedule` has no value", f"write `{_example('schedule')}`", "schedule")
        return data

    @property
    def events(self) -> tuple[str, ...]:
        """The names of what starts it besides a mention."""
        return tuple(name for name in EVENTS if getattr(self, name))

    def heard(self, name: str, label: str = "") -> bool:
        """Whether the trigger `name` starts it; of `labeled` with this label, whose case does not count."""
        if name == "labeled":
            return label.casefold() in {one.casefold() for one in self.labeled}
        return name in self.events


def _example(name: str) -> str:
    """How a trigger is written."""
    match name:
        case "labeled":
            return "labeled: [name]"
        case "schedule":
            return 'schedule: {cron: "0 6 * * MON", thread: new}'
        case _:
            return f"{name}: true"
