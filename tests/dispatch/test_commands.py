"""Commands: built-ins by their whole line, names, params, and free text for the default."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.dispatch import inputs
from bot.dispatch.builtins import BUILTINS, Builtin
from bot.dispatch.commands import Command, is_builtin_only, parse
from tests.workflows.yaml_cases import configured

NAMES = {"triage": (), "implement": ("base", "note"), "ask": ("tone",), "Fix-It": ()}


def read(text: str, default: str = "ask", *, asked: bool = False) -> Command:
    return parse(text, names=NAMES, default=default, asked=asked)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("help", Command("builtin", "help")),
        ("  HELP\n", Command("builtin", "help")),
        ("help!", Command("builtin", "help")),
        ("status?", Command("builtin", "status")),
        ("status\n\nthank you", Command("builtin", "status", {}, "thank you")),
        ("cancel", Command("builtin", "cancel")),
        ("cancel R12", Command("builtin", "cancel", {"run": "r12"})),
        ("cancel r3.", Command("builtin", "cancel", {"run": "r3"})),
        ("why", Command("builtin", "why")),
        ("why r3?", Command("builtin", "why", {"run": "r3"})),
        ("pins", Command("builtin", "pins")),
        ("config", Command("builtin", "config")),
        ("pin", Command("builtin", "pin")),
        ("pin Keep Python 3.9.", Command("builtin", "pin", {}, "Keep Python 3.9.")),
        ("pin Keep this:\n\n- a\n- b", Command("builtin", "pin", {}, "Keep this:\n\n- a\n- b")),
        ("pin\nKeep this", Command("builtin", "pin", {}, "Keep this")),
        ("pin https://h.example/o/r/issues/1", Command("builtin", "pin", {"link": "https://h.example/o/r/issues/1"})),
        (
            "pin <https://h.example/o/r/issues/1#issuecomment-5> please",
            Command("builtin", "pin", {"link": "https://h.example/o/r/issues/1#issuecomment-5"}),
        ),
        (
            "pin https://h.example/api is the reference",
            Command("builtin", "pin", {}, "https://h.example/api is the reference"),
        ),
        ("unpin 2", Command("builtin", "unpin", {"number": "2"})),
        ("unpin #2", Command("builtin", "unpin", {"number": "2"})),
        (
            "unpin https://h.example/1#issuecomment-5",
            Command("builtin", "unpin", {"link": "https://h.example/1#issuecomment-5"}),
        ),
    ],
)
def test_a_builtin_by_its_whole_line(text: str, command: Command) -> None:
    """The line fits the usage, case and a closing sign aside."""
    assert read(text) == command


@pytest.mark.parametrize(
    "text",
    [
        "help me with the parser",
        "status of the build",
        "cancel using var",
        "cancel r3 and r4",
        "cancel run 3",
        "why does it crash?",
        "config is wrong",
        "pins and needles",
        "stop using var",
        "helpful",
    ],
)
def test_a_line_that_only_begins_like_a_builtin_is_free_text(text: str) -> None:
    """`@bot stop using var` is a request, not a built-in, and needs no correction."""
    assert read(text) == Command("default", "ask", {}, text)


@pytest.mark.parametrize(("text", "usage"), [("cancel r0", "cancel [run]"), ("unpin all", "unpin <link|number>")])
def test_a_builtin_with_one_wrong_word_is_suggested_with_its_usage(text: str, usage: str) -> None:
    """An argument that was got wrong does not cost a model call."""
    assert read(text) == Command("default", "ask", {}, text, usage)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("triage", Command("named", "triage")),
        ("Triage: the crash", Command("named", "triage", {}, "the crash")),
        ("fix-it now", Command("named", "Fix-It", {}, "now")),
        ("triage\n\n  keep   this\n", Command("named", "triage", {}, "keep   this")),
        ("triage base=dev", Command("named", "triage", {}, "base=dev")),
        ("implement base=dev now", Command("named", "implement", {"base": "dev"}, "now")),
        ("implement base=dev note=x", Command("named", "implement", {"base": "dev", "note": "x"})),
        ("implement base=a base=b", Command("named", "implement", {"base": "b"})),
        ("implement base= now", Command("named", "implement", {"base": ""}, "now")),
        ("implement now base=dev", Command("named", "implement", {}, "now base=dev")),
        ("implement other=1 base=dev", Command("named", "implement", {}, "other=1 base=dev")),
        ("implement base=dev other=1", Command("named", "implement", {"base": "dev"}, "other=1")),
        ('implement note="a b" c', Command("named", "implement", {"note": "a b"}, "c")),
        (r'implement note="a \"b\" \\" c', Command("named", "implement", {"note": 'a "b" \\'}, "c")),
        ("implement note='a b' c", Command("named", "implement", {"note": "a b"}, "c")),
        ("implement note=“a b” c", Command("named", "implement", {"note": "a b"}, "c")),
        ('implement note="a b', Command("named", "implement", {}, 'note="a b')),
        ('implement note="a"b', Command("named", "implement", {}, 'note="a"b')),
        ("implement base=a=b", Command("named", "implement", {"base": "a=b"})),
        ("tone=dry what is this", Command("default", "ask", {"tone": "dry"}, "what is this")),
        ("what is this", Command("default", "ask", {}, "what is this")),
        ("", Command("default", "ask")),
    ],
)
def test_names_params_and_free_text(text: str, command: Command) -> None:
    """Declared leading keys are params; the first other word begins the free text, which stays as it is."""
    assert read(text) == command


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("traige this", "triage"),
        ("Implment it", "implement"),
        ("statsu", "status"),
        ("unpin", "unpin <link|number>"),
        ("unpin that one", None),
        ("fixit now", "Fix-It"),
        ("what is this", None),
        ("pen", None),
        ("看看", None),
        ("", None),
    ],
)
def test_did_you_mean(text: str, suggestion: str | None) -> None:
    """A first word close to a known command gets a hint and is free text all the same."""
    command = read(text)
    assert (command.kind, command.text, command.suggestion) == ("default", text, suggestion)


def test_an_unknown_default_takes_no_params() -> None:
    """The default may be missing from a broken configuration; its request is kept."""
    assert read("tone=dry hello", default="gone") == Command("default", "gone", {}, "tone=dry hello")


@pytest.mark.parametrize("builtin", BUILTINS, ids=lambda builtin: builtin.name)
def test_every_example_is_its_own_command(builtin: Builtin) -> None:
    """What `help` shows works when it is typed."""
    command = read(builtin.example, asked=True)
    assert (command.kind, command.name) == ("builtin", builtin.name)


@pytest.mark.parametrize(
    ("text", "asked", "kind", "params", "free"),
    [
        ("approve", False, "builtin", {}, ""),
        ("approve it", False, "default", {}, "approve it"),
        ("approve it", True, "builtin", {}, "it"),
        ("approve\nand then some", False, "default", {}, "approve\nand then some"),
        ("approve r5.plan", False, "builtin", {"gate": "r5.plan"}, ""),
        ("Reject r5.plan It is\nbad", False, "builtin", {"gate": "r5.plan"}, "It is\nbad"),
        ("answer size=7 kind=b", True, "builtin", {}, "size=7 kind=b"),
        ("answer me this", False, "default", {}, "answer me this"),
        ("approve r9", False, "builtin", {"gate": "r9"}, ""),
        ("approve r9: fine", True, "builtin", {"gate": "r9"}, "fine"),
        ("approve r9 at last", False, "default", {}, "approve r9 at last"),
        ("approve?", True, "builtin", {}, "?"),
        ("approve r1.ok?", True, "builtin", {"gate": "r1.ok"}, "?"),
    ],
)  # fmt: skip
def test_an_answer(text: str, asked: bool, kind: str, params: dict[str, str], free: str) -> None:
    """With words behind it, it answers only while somebody is asked; a gate by its whole name is always meant."""
    command = read(text, asked=asked)
    assert (command.kind, command.params, command.text) == (kind, params, free)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["triage", "help", "pin", "cancel", "r3", "base=", "note=", '"', "'", "“", "”", "\\", " ", "\n"]
        )
        | st.text(max_size=4),
        max_size=15,
    ).map("".join)
)
def test_any_text_is_a_command(text: str) -> None:
    """Never an error, and the free text is an end of what was written."""
    command = read(text)
    assert command.kind in ("builtin", "named", "default")
    assert text.strip().endswith(command.text)
    assert set(command.params) <= {"base", "note", "tone", "run", "link", "number"}


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=30).filter(lambda value: "\\" not in value and '"' not in value), st.text("abc", max_size=5))
def test_a_quoted_value_comes_back_whole(value: str, rest: str) -> None:
    """Quotes keep spaces, lines and signs."""
    assert read(f'implement note="{value}" {rest}') == Command("named", "implement", {"note": value}, rest)


def test_a_signed_name_takes_every_key() -> None:
    """So that any other is told as unknown; for others it is free text, unless it is close."""
    names = {"ship": ("area",), "ask": ()}
    got = parse("ship aera=api go area=web", names=names, default="ask", signed={"ship"})
    assert (got.name, got.params, got.text) == ("ship", {"aera": "api"}, "go area=web")
    assert parse("ship note=api", names=names, default="ask").params == {}
    assert parse("x=1 y", names=names, default="ask", signed={"ask"}).params == {"x": "1"}


def test_words_of_the_requests_own_budget() -> None:
    """They are taken wherever a command begins, declared or not."""
    got = parse("ship usd=2 base=dev minutes=5 please", names={"ship": {"base"}}, default="ask")
    assert (got.params, got.text) == ({"usd": "2", "base": "dev", "minutes": "5"}, "please")
    assert parse("tokens=900 why?", names={"ask": ()}, default="ask").params == {"tokens": "900"}


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("@bot answer approve", True),
        ("@bot answer size=7 colour=red", True),
        ("@bot approve", True),
        ("@bot answer the question about the cache", False),
        ("@bot reject It breaks the old format", False),
        ("Fine. @bot answer approve", False),
    ],
)
def test_an_answer_alone_is_a_command_alone(text: str, *, alone: bool) -> None:
    """An option or a form's values say nothing to an agent; somebody's own words may."""
    assert is_builtin_only(text, ["bot"]) == alone


@pytest.mark.parametrize(
    ("text", "params", "free"),
    [
        ("ship targt=unit", {"targt": "unit"}, ""),
        ("ship target=unit tagret=all now", {"target": "unit", "tagret": "all"}, "now"),
        ("ship a=b", {}, "a=b"),
        ("ship now targt=unit", {}, "now targt=unit"),
    ],
)
def test_a_param_close_to_a_declared_one(text: str, params: dict[str, str], free: str) -> None:
    """It is taken for one, so that it can be told; other words with a sign in them are free text."""
    got = parse(text, names={"ship": ("target",)}, default="ship")
    assert (got.params, got.text) == (params, free)


def test_a_mistyped_param_is_told() -> None:
    """Without a signature too; a key that is close to none is no fault of the one who asked."""
    usable = configured("version: 1\nworkflows: {ship: {params: {target: all}, steps: [{id: a, run: make}]}}\n")
    workflow = usable.workflow_for("ship")
    assert workflow is not None
    told = inputs.sign(workflow, {"targt": "unit", "usd": "2", "other": "1"})
    assert [one.message for one in told.violations] == ["there is no param `targt`; did you mean `target`?"]
