"""Log lines: JSON off a terminal, text on one, and no secret in either."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bot import log
from bot.publish import Redactor
from tests.plain_log import log_plainly
from tests.publish.test_redact import FORMS, core
from tests.publish.test_redact import SECRET as FORMED

SECRET = "canary-of-the-tests"


class Terminal(io.StringIO):
    """A stream that somebody looks at."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(params=[io.StringIO, Terminal])
def stream(request: pytest.FixtureRequest) -> io.StringIO:
    """Both sorts of stream."""
    made: io.StringIO = request.param()
    return made


@pytest.fixture(autouse=True)
def _logging_as_it_was(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(logging.root, "handlers", [])
    monkeypatch.setattr(logging.root, "level", logging.root.level)
    yield
    log_plainly()


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    """What was written, as programs read it."""
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_json_off_a_terminal() -> None:
    """One object a line, with level, time, room and everything that was given, also in several lines of text."""
    stream = io.StringIO()
    log.configure(stream=stream)
    log.get("dispatch").info("two\nlines", number=7, names=["a", "b"], nothing=None)
    log.get("publish").warning("second")
    first, second = lines(stream)
    assert first.pop("timestamp").endswith("Z")
    assert first == {
        "event": "two\nlines", "level": "info", "room": "dispatch", "number": 7, "names": ["a", "b"], "nothing": None,
    }  # fmt: skip
    assert (second["event"], second["level"], second["room"]) == ("second", "warning", "publish")


def test_a_line_is_text_on_a_terminal() -> None:
    """For people."""
    stream = Terminal()
    log.configure(stream=stream)
    log.get("dispatch").info("something happened", number=7)
    assert not stream.getvalue().startswith("{")
    assert "something happened" in stream.getvalue()


def test_a_logger_made_before_is_configured_too() -> None:
    """Rooms make theirs when they are imported."""
    stream, before = io.StringIO(), log.get("early")
    log.configure(stream=stream)
    before.info("said")
    assert lines(stream)[0]["room"] == "early"


@pytest.mark.parametrize(
    ("level", "written"),
    [
        ("debug", ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"]),
        ("warning", ["warning", "error"]),
        ("error", ["error"]),
    ],
)
def test_the_least_level(level: str, written: list[str]) -> None:
    """`BOT_LOG`."""
    stream = io.StringIO()
    log.configure(level, stream=stream)
    for each in ("debug", "info", "warning", "error"):
        getattr(log.get("x"), each)("said")
    assert [line["level"] for line in lines(stream)] == written


class Odd:
    """A value of no common type."""

    def __repr__(self) -> str:
        return f"Odd({SECRET})"


@pytest.mark.parametrize(
    "say",
    [
        lambda logger: logger.info(f"with {SECRET} in it"),
        lambda logger: logger.info("said", value=f"with {SECRET} in it"),
        lambda logger: logger.info("said", value={"deep": [{"er": (SECRET,)}]}),
        lambda logger: logger.info("said", value={SECRET: 1}),
        lambda logger: logger.info("said", value={SECRET}),
        lambda logger: logger.info("said", value=SECRET.encode()),
        lambda logger: logger.info("said", value=Odd()),
        lambda logger: logger.info("said", error=ValueError(SECRET)),
        lambda logger: logger.bind(value=SECRET).info("said"),
        lambda logger: logging.getLogger("library").error("said %s", SECRET),
    ],
)
def test_no_secret_reaches_a_line(stream: io.StringIO, say: Callable[[Any], None]) -> None:
    """Wherever it stands, whichever sort of stream, whoever logs it."""
    log.configure(stream=stream, redact=Redactor([SECRET]))
    say(log.get("x"))
    assert SECRET not in stream.getvalue()
    assert "[redacted]" in stream.getvalue()


@pytest.mark.parametrize("name", FORMS)
def test_no_form_of_a_secret_reaches_a_line(stream: io.StringIO, name: str) -> None:
    """What travels is not always the raw value; what a line escapes is a form of it too."""
    form = FORMS[name]
    log.configure(stream=stream, redact=Redactor([FORMED]))
    log.get("x").info(f"said {form}", value=form, deep={"in": [form], form: 1}, raw=form.encode())
    logging.getLogger("library").error("said %s", form)
    written = "".join(stream.getvalue().split())
    assert core("".join(form.split())) not in written
    assert core("".join(json.dumps(form)[1:-1].split())) not in written
    assert written.count("[redacted]") >= 6


def test_what_is_redacted_keeps_its_shape() -> None:
    """Programs find the same objects, lists and numbers."""
    stream = io.StringIO()
    log.configure(stream=stream, redact=Redactor([SECRET]))
    log.get("x").info("said", value={"a": [1, 2.5, True, None, SECRET], "b": ("text", {"c": 3})})
    assert lines(stream)[0]["value"] == {"a": [1, 2.5, True, None, "[redacted]"], "b": ["text", {"c": 3}]}


def fails() -> None:
    """Raises with a secret in its words, in those of its cause, and in a local variable."""
    local = SECRET
    try:
        raise ValueError(f"{local} is the cause")
    except ValueError as error:
        raise RuntimeError(f"failed at {local}") from error


@pytest.mark.parametrize("library", [False, True])
def test_no_secret_reaches_a_traceback(stream: io.StringIO, library: bool) -> None:
    """The traceback itself is there, local variables are not."""
    log.configure(stream=stream, redact=Redactor([SECRET]))
    try:
        fails()
    except RuntimeError:
        (logging.getLogger("library") if library else log.get("x")).exception("it failed")
    written = stream.getvalue()
    assert SECRET not in written
    assert "failed at [redacted]" in written
    assert "[redacted] is the cause" in written
    assert "in fails" in written
    assert "it failed" in written


def test_what_libraries_log() -> None:
    """From warnings on, in lines of the same kind."""
    stream = io.StringIO()
    log.configure("debug", stream=stream)
    for level in (logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL):
        logging.getLogger("library.part").log(level, "said %d", level)
    assert [(line["room"], line["level"], line["event"]) for line in lines(stream)] == [
        ("library.part", "warning", "said 30"),
        ("library.part", "error", "said 40"),
        ("library.part", "error", "said 50"),
    ]


def test_a_redactor_that_learns_reaches_the_log() -> None:
    """As long as it is in use; what was set up before goes on."""
    stream = io.StringIO()
    log.configure(stream=stream, redact=Redactor([SECRET]))
    later = Redactor()
    with log.redacted_with(later):
        log.get("room").warning("one", text="late-value")
        later.add("late-value")
        log.get("room").warning("two", text=f"late-value {SECRET}")
        logging.getLogger("library").warning("three late-value")
    log.get("room").warning("four", text=f"late-value {SECRET}")
    one, two, three, four = (json.loads(line) for line in stream.getvalue().splitlines())
    assert one["text"] == "late-value"
    assert two["text"] == "[redacted] [redacted]"
    assert three["event"] == "three [redacted]"
    assert four["text"] == "late-value [redacted]"
