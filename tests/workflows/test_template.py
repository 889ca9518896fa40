"""Templates: what is a token, what is inserted, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.errors import UserError
from bot.workflows import Slot, Template
from bot.workflows.template import TOKENS_MAX, Fault

SCOPE: dict[str, Any] = {
    "trigger": {"name": "mention", "text": "please", "actor": "ana"},
    "issue": {"number": 7, "title": "Crash", "labels": ["bug", "ü"], "is_pull_request": False, "body": ""},
    "run": {"id": "r1", "url": None},
    "params": {"base": "main", "0": "zero", "a-b": "dash"},
    "steps": {"plan": {"output": "the plan", "outcome": "success", "exit_code": 0}},
}


def render(text: str, slot: Slot = Slot.PROMPT, **params: Any) -> str:
    scope = {**SCOPE, "params": {**SCOPE["params"], **params}}
    return Template.parse(text, slot).render(scope).text


def fault(text: str, slot: Slot = Slot.PROMPT) -> Fault:
    faults: list[Fault] = []
    Template.parse(text, slot, faults)
    assert len(faults) == 1, faults
    return faults[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("no token", "no token"),
        ("${{ issue.number }}", "7"),
        ("a${{issue.title}}b", "aCrashb"),
        ("${{  \n issue.title\n }}", "Crash"),
        ("${{ issue.title }}${{ run.id }}", "Crashr1"),
        ("${{ issue.labels }}", '["bug","ü"]'),
        ("${{ issue.is_pull_request }}", "false"),
        ("${{ run.url }}", "null"),
        ('${{ run.url ?? "none" }}', "null"),
        ("${{ issue.body }}", ""),
        ("${{ params.a-b }}", "dash"),
        ("${{ params.0 }}", "zero"),
        ('${{ params.nope ?? "x }} y" }}', "x }} y"),
        ("${{ params.nope ?? 'it' }}", "it"),
        ('${{ params.nope ?? "" }}', ""),
        ('${{ params.nope??"a\\n\\"b\\"" }}', 'a\n"b"'),
        ("${{ params.nope ?? -1.5 }}", "-1.5"),
        ("${{ params.nope ?? true }}", "true"),
        ("${{ params.nope ?? null }}", "null"),
        ('${{ issue.title ?? "x" }}', "Crash"),
        ("$${{ issue.title }}", "${{ issue.title }}"),
        ("$$${{ issue.title }}", "$${{ issue.title }}"),
        ("${ {{ }} $ {{", "${ {{ }} $ {{"),
        ("${{ steps.plan.output }} ${{ steps.plan.exit_code }}", "the plan 0"),
    ],
)
def test_rendering(text: str, expected: str) -> None:
    """One syntax, spaces do not matter, null is a value, `$${{` is literal."""
    assert render(text) == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("${{", "template_syntax"),
        ("${{ }}", "template_syntax"),
        ("${{ issue.title", "template_syntax"),
        ("${{ issue.title | upper }}", "template_syntax"),
        ("${{ issue.title ?? nope }}", "template_syntax"),
        ("${{ issue.title ?? }}", "template_syntax"),
        ('${{ issue.title ?? "\\q" }}', "template_syntax"),
        ("${{ issue..title }}", "template_syntax"),
        ("${{ issue.title ?? issue.body }}", "template_syntax"),
        ("${{ isue.title }}", "namespace"),
        ("${{ secrets.KEY }}", "namespace"),
        ("${{ resources.db }}", "namespace"),
        ("${{ steps.plan.ctx }}", "unknown_field"),
        ("${{ inputs.x.y.z }}", "template_depth"),
        ("${{ artifacts.x }}", "unknown_field"),
        ("${{ artifacts.x.size }}", "unknown_field"),
        ("${{ loop.number }}", "unknown_field"),
        ("${{ agent.prompt }}", "unknown_field"),
        ("${{ issue.titel }}", "unknown_field"),
        ("${{ issue }}", "unknown_field"),
        ("${{ steps.plan }}", "unknown_field"),
        ("${{ steps.plan.outputs }}", "unknown_field"),
        ("${{ issue.title.length }}", "template_depth"),
        ("${{ steps.plan.output.x }}", "template_depth"),
        ("${{ params" + ".x" * 32 + " }}", "template_depth"),
    ],
)
def test_refused_at_load(text: str, code: str) -> None:
    """Each fault has its code and the place of its token; as a single call it raises."""
    found = fault("é " + text)
    assert (found.code, found.offset) == (code, 2)
    with pytest.raises(UserError) as raised:
        Template.parse(text, Slot.PROMPT)
    assert raised.value.code == code


def test_hints_point_at_what_was_meant() -> None:
    """Near misses are named; a foreign namespace is told what the place takes."""
    assert fault("${{ issue.titel }}").hint == "did you mean `title`?"
    assert fault("${{ isue.title }}").hint == "did you mean `issue`?"
    assert (
        "which takes `agent`, `artifacts`, `ctx`, `inputs`, `issue`, `item`, `loop`"
        in fault("${{ secrets.K }}").message
    )


def test_a_miss_fails_and_says_what_to_do() -> None:
    """Without a default the step fails; the message names the reference."""
    with pytest.raises(UserError) as raised:
        render("${{ params.nope }}")
    assert raised.value.code == "template_undefined"
    assert "`params.nope`" in raised.value.message
    assert "upstream" in raised.value.hint
    assert "??" in raised.value.hint


@pytest.mark.parametrize("text", ["", " \n"])
def test_empty_free_text_is_a_miss(text: str) -> None:
    """A bare mention takes the default; an empty issue body is a value."""
    template = Template.parse('${{ trigger.text ?? "resolve the issue" }}', Slot.PROMPT)
    assert template.render({"trigger": {"text": text}}).text == "resolve the issue"
    assert template.render({"trigger": {"text": " do it "}}).text == " do it "


def test_what_people_read_keeps_a_token_without_a_value() -> None:
    """There a miss is no failure: the token stays as written and is recorded."""
    rendered = Template.parse("See ${{ params.nope }}.", Slot.SPEECH).render(SCOPE)
    assert rendered.text == "See ${{ params.nope }}."
    assert rendered.warnings == ("`params.nope` has no value; it stays as written",)


def test_paths_try_the_exact_field_first() -> None:
    """A key with dots beats the walk, at each level; `0` as a key beats the index; else indices count from 0."""
    parse = Template.parse

    def at(scope: dict[str, Any], path: str) -> str:
        faults: list[Fault] = []
        return parse("${{ " + path + " }}", Slot.PROMPT, faults).render(scope).text

    assert at({"steps": {"a": {"result": {"x.y": 1, "x": {"y": 2}}}}}, "steps.a.result.x.y") == "1"
    assert at({"steps": {"a": {"result": {"x": {"y": 2}}}}}, "steps.a.result.x.y") == "2"
    assert at({"steps": {"a": {"result": [5, [6, 7]]}}}, "steps.a.result.1.0") == "6"
    assert at({"steps": {"a": {"result": {"0": "key"}}}}, "steps.a.result.0") == "key"
    assert at({"ctx": {"graph.goal": "g"}}, "ctx.graph.goal") == "g"
    for path in ("steps.a.result.2", "steps.a.result.x"):
        with pytest.raises(UserError):
            at({"steps": {"a": {"result": [5, 6]}}}, path)
    with pytest.raises(UserError):
        at({"steps": {"a": {"result": "text"}}}, "steps.a.result.0")


def test_foreign_values_are_fenced_and_ours_are_not() -> None:
    """The fence gets the reference's name and the text; the author's default is the author's."""
    template = Template.parse(
        'On ${{ issue.number }} by ${{ run.id }}: ${{ issue.title }} ${{ params.nope ?? "lit" }} ${{ params.base }}',
        Slot.PROMPT,
    )
    rendered = template.render(SCOPE, fence=lambda source, text: f"<{source}:{text}>")
    assert rendered.text == "On 7 by r1: <issue.title:Crash> lit <params.base:main>"


@pytest.mark.parametrize(
    ("path", "fenced"),
    [
        ("trigger.text", True),
        ("issue.body", True),
        ("issue.labels", True),
        ("steps.plan.output", True),
        ("steps.plan.error", True),
        ("steps.plan.outcome", False),
        ("trigger.actor", False),
    ],
)
def test_which_values_are_foreign(path: str, fenced: bool) -> None:
    """What people, models and commands wrote is data."""
    scope = {
        **SCOPE,
        "issue": {"body": "x", "labels": []},
        "steps": {"plan": {"output": "", "error": "", "outcome": "x"}},
    }
    text = Template.parse("${{ " + path + " }}", Slot.PROMPT).render(scope, fence=lambda *_: "FENCED").text
    assert (text == "FENCED") == fenced


def test_a_command_gets_one_quoted_word() -> None:
    """Quotes, spaces and expansions stay in the word; an empty value is an empty word."""
    assert render("make ${{ params.base }}", Slot.COMMAND) == "make 'main'"
    assert render("make ${{ params.base }};", Slot.COMMAND, base="a b'$(x)") == "make 'a b'\\''$(x)';"
    assert render("make ${{ params.base }}", Slot.COMMAND, base="") == "make ''"
    assert render("make ${{ issue.number }}", Slot.COMMAND) == "make '7'"


@pytest.mark.parametrize("value", ["-x", "--exec=x", "a\0b", "\ud800", "X=$(shell id)", "X:=`id`"])
@pytest.mark.parametrize("slot", [Slot.COMMAND, Slot.ARGV])
def test_values_that_cannot_stand_in_a_command(value: str, slot: Slot) -> None:
    """An option, a NUL and half a surrogate pair are refused; the message names the reference."""
    text = "${{ params.base }}" if slot is Slot.ARGV else "make ${{ params.base }}"
    with pytest.raises(UserError) as raised:
        render(text, slot, base=value)
    assert raised.value.code == "command_value"
    assert "`params.base`" in raised.value.message


def test_an_environment_takes_options_but_no_nul() -> None:
    """A variable may begin with a dash; nothing can carry NUL."""
    assert render("${{ params.base }}", Slot.ENVIRONMENT, base="-x 'y'") == "-x 'y'"
    with pytest.raises(UserError):
        render("${{ params.base }}", Slot.ENVIRONMENT, base="a\0")


def test_a_key_that_is_not_safe_never_reaches_a_command() -> None:
    """Refused at load; if one arrives all the same it is empty, with a warning."""
    faults: list[Fault] = []
    template = Template.parse("echo ${{ issue.title }} x", Slot.COMMAND, faults)
    assert [one.code for one in faults] == ["namespace"]
    rendered = template.render({"issue": {"title": "$(x)"}})
    assert rendered.text == "echo '' x"
    assert rendered.warnings


def test_a_param_without_a_value_is_an_empty_word() -> None:
    """A command is checked at load; what is missing all the same is empty and recorded."""
    rendered = Template.parse("make ${{ params.nope }}", Slot.COMMAND).render(SCOPE)
    assert rendered.text == "make ''"
    assert len(rendered.warnings) == 1


@pytest.mark.parametrize("text", ["x${{ params.base }}", "${{ params.base }} ", "${{ params.base }}${{ run.id }}"])
def test_in_argv_a_token_is_the_whole_entry(text: str) -> None:
    """A part of an argument is refused."""
    assert fault(text, Slot.ARGV).code == "command_word"


def test_a_command_cannot_hold_nul() -> None:
    """Neither as text nor as an argument."""
    assert fault("echo a\0", Slot.COMMAND).code == "command_word"
    assert fault("a\0", Slot.ARGV).code == "command_word"


def test_where_templates_are_not_read_text_stays() -> None:
    """There a token is refused and the escape is no escape."""
    assert fault("${{ issue.title }}", Slot.FIXED).code == "template_slot"
    assert fault("${{ issue", Slot.FIXED).code == "template_slot"
    assert render("$${{ x }}", Slot.FIXED) == "$${{ x }}"


HOSTILE = st.lists(
    st.sampled_from(
        ["$&", "\\1", "\\g<0>", "{0}", "%s", "${{", "}}", "$${{", "${{ issue.title }}", "$1", "\n", "'", '"']
    )
    | st.text(max_size=5),
    max_size=8,
).map("".join)


@settings(max_examples=200, deadline=None)
@given(HOSTILE, HOSTILE)
def test_inserted_text_comes_through_as_it_is(title: str, body: str) -> None:
    """Nothing in a value is interpreted, and no value is scanned for tokens."""
    template = Template.parse("<${{ issue.title }}|${{ issue.body }}>", Slot.PROMPT)
    assert template.render({"issue": {"title": title, "body": body}}).text == f"<{title}|{body}>"


@settings(max_examples=300, deadline=None)
@given(HOSTILE, st.sampled_from(list(Slot)))
def test_any_text_parses_or_has_faults(text: str, slot: Slot) -> None:
    """Parsing never raises when faults are collected, and the text is kept."""
    faults: list[Fault] = []
    template = Template.parse(text, slot, faults)
    if not faults and not template.references and "$${{" not in text:
        assert "".join(str(part) for part in template.parts) == text


@pytest.mark.parametrize("unit", ["${{ ", "${{ x", "${{ issue.number }} ", "${{ a ?? "])
def test_a_text_of_nothing_but_templates_is_read_once(unit: str) -> None:
    """The number of templates that are looked at is bounded, and the surplus is one fault at its place."""
    faults: list[Fault] = []
    text = unit * 20_000
    template = Template.parse(text, Slot.PROMPT, faults)
    assert len(template.references) <= TOKENS_MAX
    assert [(one.code, one.offset) for one in faults][-1] == ("too_many", len(unit) * TOKENS_MAX)
