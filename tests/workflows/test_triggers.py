"""What starts a workflow: how it is written, what is refused, and when a schedule is due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.workflows.triggers import EVENTS, LEAST_GAP, Schedule, Triggers, last_time, next_time
from tests.workflows.yaml_cases import configured, findings, marked, only, place

HEAD = "version: 1\nworkflows:\n w:\n  steps: [{id: a, run: date}]\n"


def triggers(on: str) -> Triggers:
    """The `on` of a correct file."""
    return configured(f"{HEAD}  on: {on}\n").workflows["w"].on


def test_every_trigger() -> None:
    """All of them at once; a mention goes on unless it is turned off."""
    every = ", ".join(f"{name}: true" for name in EVENTS if name not in ("labeled", "schedule"))
    on = triggers(f"{{{every}, labeled: [Ready, to do], schedule: {{cron: 0 6 * * MON, thread: 12}}}}")
    assert on.events == EVENTS
    assert on.mention
    assert isinstance(on.schedule, Schedule)
    assert (on.schedule.cron, on.schedule.thread) == ("0 6 * * MON", 12)
    assert on.labeled == ("Ready", "to do")
    assert triggers("{mention: false}").events == ()


@pytest.mark.parametrize(
    ("on", "name", "label", "heard"),
    [
        ("{opened: true}", "opened", "", True),
        ("{opened: true}", "closed", "", False),
        ("{opened: false}", "opened", "", False),
        ("{labeled: [ready]}", "labeled", "READY", True),
        ("{labeled: [ready]}", "labeled", "read", False),
        ("{labeled: [ready]}", "labeled", "", False),
        ("{mention: true}", "mention", "", False),
    ],
)
def test_what_starts_it(on: str, name: str, label: str, heard: bool) -> None:
    """The trigger of that name; of labels only those named, whatever their case."""
    assert triggers(on).heard(name, label) is heard


@pytest.mark.parametrize(
    ("on", "code", "hint"),
    [
        ("^opened", "type_mismatch", "write `on: {opened: true}`"),
        ("^[opened, labeled]", "type_mismatch", "write `on: {opened: true, labeled: [name]}`"),
        ("^[push]", "type_mismatch", ""),
        ("{opened: ^}", "type_mismatch", "give it a value or remove the key"),
        ("{opened: ^yes}", "type_mismatch", ""),
        ("{^opend: true}", "unknown_key", "did you mean `opened`?"),
        ("{labeled: ^ready}", "type_mismatch", "write `[ready]`"),
        ("{labeled: ^true}", "type_mismatch", "write `[name, …]`"),
        ("{^labeled: [1]}", "type_mismatch", "put names that look like numbers in quotes"),
        ("{^labeled: []}", "empty", "give it a value or remove the key"),
        ("{^schedule: }", "type_mismatch", 'write `schedule: {cron: "0 6 * * MON", thread: new}`'),
        ("{schedule: ^daily}", "type_mismatch", ""),
        ("{^schedule: {cron: 0 6 * * *}}", "missing_key", "add `thread:`"),
        ("{^schedule: {thread: new}}", "missing_key", "add `cron:`"),
        ("{schedule: {cron: 0 6 * * *, thread: ^0}}", "option", "the number of an issue"),
        ("{schedule: {cron: 0 6 * * *, thread: ^old}}", "option", "the number of an issue"),
        ("{schedule: {cron: 0 6 * * *, thread: ^true}}", "option", "the number of an issue"),
        ("{schedule: {cron: ^6, thread: new}}", "type_mismatch", "put it in quotes"),
        ("{schedule: {cron: ^0 6 * *, thread: new}}", "cron", "five fields"),
        ("{schedule: {cron: ^0 0 6 * * *, thread: new}}", "cron", "five fields"),
        ("{schedule: {cron: ^61 * * * *, thread: new}}", "cron", "minute, hour"),
        ("{schedule: {cron: ^0 6 30 2 *, thread: new}}", "cron", ""),
        ("{schedule: {cron: ^'*/4 * * * *', thread: new}}", "cron", "`*/5 * * * *` is the most often"),
        ("{schedule: {cron: ^'2,58 0,23 * * *', thread: new}}", "cron", "`*/5 * * * *` is the most often"),
    ],
)
def test_faults(on: str, code: str, hint: str) -> None:
    """Each has one finding, at its place, with what to write instead."""
    text, where = marked(f"{HEAD}  on: {on}\n")
    found = only(text)
    assert (found.severity, found.code) == ("error", code)
    assert place(found) == where or code in ("missing_key", "empty", "type_mismatch")
    assert found.hint
    assert found.hint.startswith(hint)


def test_an_input_that_no_event_gives() -> None:
    """A warning at the trigger: every such run would be refused."""
    inputs = "  inputs: {area: {type: text}, level: {type: number, default: 1}, note: {type: text, required: false}}\n"
    text, where = marked(f"{HEAD}{inputs}  on: {{opened: ^true}}\n")
    found = only(text)
    assert (found.severity, found.code, place(found)) == ("warning", "trigger_inputs", where)
    assert "`area`" in found.message
    assert "`level`" not in found.message
    assert findings(f"{HEAD}{inputs}") == ()


def at(day: int, hour: int, minute: int = 0, second: int = 0) -> datetime:
    """A moment in June 2026, whose first is a Monday."""
    return datetime(2026, 6, day, hour, minute, second, tzinfo=UTC)


@pytest.mark.parametrize(
    ("cron", "now", "last", "following"),
    [
        ("0 6 * * MON", at(3, 12), at(1, 6), at(8, 6)),
        ("0 6 * * 1", at(8, 6), at(8, 6), at(15, 6)),
        ("0 6 * * 7", at(8, 6), at(7, 6), at(14, 6)),
        ("*/5 * * * *", at(3, 12, 4, 59), at(3, 12), at(3, 12, 5)),
        ("*/5 * * * *", at(3, 12, 5, 0), at(3, 12, 5), at(3, 12, 10)),
        ("30 4 L * *", at(3, 12), datetime(2026, 5, 31, 4, 30, tzinfo=UTC), at(30, 4, 30)),
    ],
)
def test_when_it_is_due(cron: str, now: datetime, last: datetime, following: datetime) -> None:
    """In UTC; the last time counts the present moment, the next one does not."""
    assert (last_time(cron, now), next_time(cron, now)) == (last, following)


def test_times_are_utc() -> None:
    """Wherever a clock stands."""
    from zoneinfo import ZoneInfo

    there = at(3, 12).astimezone(ZoneInfo("Asia/Tokyo"))
    assert next_time("0 13 * * *", there) == at(3, 13)
    assert last_time("0 12 * * *", there) == at(3, 12)


_PART = st.one_of(
    st.just("*"),
    st.integers(0, 70).map(str),
    st.tuples(st.integers(0, 31), st.integers(0, 31)).map(lambda pair: f"{pair[0]}-{pair[1]}"),
    st.integers(0, 40).map(lambda step: f"*/{step}"),
    st.lists(st.integers(0, 31).map(str), min_size=1, max_size=4).map(",".join),
    st.sampled_from(["MON", "SUN-TUE", "5L", "2#1", "L", "LW", "JAN", "MON,5L/2", "1#2-3", "?", "", "²", "-1"]),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(_PART, min_size=5, max_size=5).map(" ".join))
def test_whatever_is_written(cron: str) -> None:
    """A file with any text there is read or refused; what is read is due again, and not too soon."""
    text = HEAD + f"  on: {{schedule: {{cron: '{cron}', thread: new}}}}\n"
    found = findings(text)
    assert [one.code for one in found] in ([], ["cron"])
    if not found:
        first = next_time(cron, at(1, 0))
        second = next_time(cron, first)
        assert second - first >= LEAST_GAP
        assert last_time(cron, second) == second
        assert last_time(cron, second - timedelta(seconds=1)) == first
