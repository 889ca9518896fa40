"""One policy for everything that leaves: who may write, what each action's texts pass, and no secret anywhere."""

from __future__ import annotations

import ast
import base64
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

import bot
from bot.model.ident import compact
from bot.model.outcome import INTENTS
from bot.publish import Comments, Hooks, Marker, Redactor, ThreadActions
from bot.publish.checks import Checks
from bot.publish.compose import Draft, compose
from bot.publish.payload import Payload
from bot.publish.policy import Policy, Sink

from .github_reading import reading
from .test_redact import FORMS, SECRET, core

ROOT = Path(bot.__file__).parent
#: what writes to GitHub in `bot/github`, by method: where its words come from
WRITES = {
    "create_comment": "a row's body",
    "edit_comment": "a row's body",
    "reply_to_review_comment": "a row's body",
    "open_issue": "a row's body",
    "create_review": "a payload",
    "open_pull_request": "a payload",
    "change_pull_request": "a payload",
    "create_check_run": "a payload",
    "update_check_run": "a payload",
    "add_labels": "names",
    "remove_label": "names",
    "add_assignees": "names",
    "close": "one of GitHub's words",
    "react": "one of GitHub's words",
    "react_to_review": "one of GitHub's words",
    "unreact": "nothing",
    "unreact_to_review": "nothing",
    "delete_comment": "nothing",
}
#: the calls that send, and those that mint tokens, which carry no text
SENDS = {"write", "mutate", "_mark", "_annotate", "_update"}


@cache
def sources() -> dict[str, ast.Module]:
    """Every module of the product but the look-alike, which plays GitHub."""
    files = (file for file in ROOT.rglob("*.py") if "demo" not in file.relative_to(ROOT).parts)
    return {str(file.relative_to(ROOT)): ast.parse(file.read_text("utf-8")) for file in files}


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def called(call: ast.Call) -> str:
    """The last name of what is called."""
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_only_the_speaker_fills_the_outbox() -> None:
    """Rows are made in one function, which is called from one module, and no text of one is changed elsewhere."""
    makes = {name for name, tree in sources().items() for call in calls(tree) if called(call) == "Outbox"}
    assert makes == {"store/outbox.py"}
    ensures = {
        name
        for name, tree in sources().items()
        for call in calls(tree)
        if isinstance(call.func, ast.Attribute) and ast.unparse(call.func) == "outbox.ensure"
    }
    # that a reaction is taken away is said by one of GitHub's words; that a post is set aside, by one sentence of ours
    assert ensures == {"publish/speaker.py", "publish/eyes.py", "publish/set_aside.py"}
    sets = {
        name
        for name, tree in sources().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr == "body"
        # a module's tree of Python has a body too
        if ast.unparse(node.value) not in ("tree", "function", "made")
    }
    assert sets == {"store/outbox.py"}


def test_what_the_speaker_says_was_composed() -> None:
    """Each of its functions that makes a row has the body from `ready`; a reaction is one of GitHub's words."""
    makers = [
        function
        for function in functions(sources()["publish/speaker.py"])
        if any(ast.unparse(call.func) == "outbox.ensure" for call in calls(function))
    ]
    assert len(makers) >= 4
    for function in makers:
        reads = any(called(call) == "ready" for call in calls(function))
        assert reads or function.name == "reaction", function.name


def test_every_write_to_github_is_known_and_done_by_a_performer() -> None:
    """A new one fails here until it is said where its words come from; none is called but by what sends the outbox."""
    found = {
        function.name
        for name, tree in sources().items()
        if name.startswith("github/") and name != "github/channel.py"
        for function in functions(tree)
        for call in calls(function)
        if called(call) in SENDS and "self" in ast.unparse(call.func)
    }
    assert found - SENDS == set(WRITES)
    texts = {name for name, words in WRITES.items() if words in ("a row's body", "a payload")}
    callers = {
        name
        for name, tree in sources().items()
        if not name.startswith("github/")
        for call in calls(tree)
        if isinstance(call.func, ast.Attribute) and call.func.attr in texts
    }
    # the issue that a schedule opens is no row: what it says is composed by the speaker all the same
    assert {name for name in callers if not name.startswith("publish/")} == {"dispatch/scheduled.py"}
    assert "speaker.issue(" in ast.unparse(sources()["dispatch/scheduled.py"])


NASTY = f"@bob fixes #1 ![a](https://e.test/i)\x1b[31m {SECRET} <!-- hid -->\u202e"
PLACE = {"path": "a.py", "line": 3, "side": "RIGHT", "body": NASTY, "suggestion": "x", "fingerprint": "0" * 32}
#: a payload of each action with something nasty in every text of it
PAYLOADS: dict[str, dict[str, Any]] = {
    "review": {"head_sha": "c", "event": "COMMENT", "body": NASTY, "comments": [PLACE], "outside": [PLACE]},
    "pull_request": {"head": "b", "base": "m", "title": NASTY, "body": NASTY, "draft": True, "closes": 7},
    "check": {
        "name": "threadsmith",
        "head_sha": "c",
        "status": "completed",
        "conclusion": "success",
        "title": NASTY,
        "summary": NASTY,
        "annotations": [
            {"path": "a", "start_line": 1, "end_line": 1, "level": "notice", "title": NASTY, "message": NASTY}
        ],
    },
}
#: those without a text that GitHub reads anything into: names, numbers, words for other programs
WORDLESS = {
    "labels": {"add": [SECRET], "remove": []},
    "assign": {"logins": [SECRET]},
    "close": {"reason": "completed"},
    "webhook": {"resource": "chat", "body": {"text": f"a {SECRET}", SECRET: [1]}},
    "pin": {"comment_id": 1},
    "unpin": {"comment_id": 1},
    "dispatch": {"workflow": "w", "request": f"a {SECRET}", "params": {"p": SECRET}},
}
#: said as a text of its own, not as a payload
SAID = {"comment", "reaction"}
#: plain text: read by nobody as Markdown
PLAIN = {"title", "message"}


def performed() -> set[str]:
    """Every action that something performs, and every intent that a step may have."""
    port, mine, marker = cast("Any", None), cast("Any", None), Marker([b"k"])
    made = (Comments(port, marker, mine), ThreadActions(port, marker, mine), Hooks(cast("Any", None)), Checks(port))
    return {kind for one in made for kind in one.performers} | set(INTENTS)


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    match value:
        case str():
            yield key, value
        case dict():
            for name, item in value.items():
                yield from leaves(item, name)
        case list():
            for item in value:
                yield from leaves(item, key)


def test_every_action_is_known() -> None:
    """A new kind of action fails here until its texts are shown to pass the policy."""
    assert performed() == set(PAYLOADS) | set(WORDLESS) | SAID


@pytest.mark.parametrize("kind", PAYLOADS)
def test_every_text_of_an_action_passes_the_policy(kind: str) -> None:
    """Nothing in it acts, wherever in the payload it stands."""
    (text,) = Payload(kind, compact(PAYLOADS[kind])).composed(Redactor([SECRET]))
    texts = [(key, leaf) for key, leaf in leaves(json.loads(text)) if "bob" in leaf]
    assert sum(leaf.count("bob") for _, leaf in texts) == text.count("bob") > 1
    for key, leaf in texts:
        assert SECRET not in leaf
        assert not re.search("[\x1b\u202e]|hid", leaf) or key in PLAIN
        assert not re.search("[\x1b\u202e]", leaf)
        if key in PLAIN:
            assert "@bob" not in leaf
            assert "#1" not in leaf
        else:
            page = reading(leaf.replace("Closes #7", ""))
            assert (page.pings, page.closes, page.loads) == ([], [], [])


RAW = SECRET.encode()
#: beside the forms of the redactor's own tests: base64 at each offset and end, Markdown's ways to write a character
MORE = {
    f"base64, {before} before, {after} behind": base64.b64encode(b"a" * before + RAW + b"z" * after).decode()
    for before in range(3)
    for after in range(3)
}


@pytest.mark.parametrize("sink", Sink)
@pytest.mark.parametrize("name", [*FORMS, *MORE])
def test_no_form_of_a_secret_in_any_sink(name: str, sink: Sink) -> None:
    """Alone, in words, in code, beside what is taken out."""
    form = {**FORMS, **MORE}[name]
    policy = Policy([SECRET])
    for text in (form, f"it is {form}, and", f"`{form}`", f"```\n{form}\n```", f"\u200b{form}\x1b[0m"):
        written = policy.apply(text, sink)
        assert "redacted" in written
        assert "".join(core(form).split()).lower() not in "".join(written.split()).lower()
        assert policy.apply(written, sink) == written


@pytest.mark.parametrize("name", ["escaped", "entities", "hexadecimal entities", "half and half"])
@pytest.mark.parametrize("frame", ["{}", "a {} b", "- **{}**", "<div>{}</div>", "| a |\n|---|\n| {} |", "# {}"])
def test_a_secret_that_markdown_would_put_together(name: str, frame: str) -> None:
    """What the page shows is what counts."""
    secret = "correct.horse_battery*staple"
    form = {
        "escaped": re.sub(r"([._*])", r"\\\1", secret),
        "entities": "".join(f"&#{ord(sign)};" for sign in secret),
        "hexadecimal entities": "".join(f"&#x{ord(sign):x};" for sign in secret),
        "half and half": f"{secret[:5]}{''.join(f'&#{ord(sign)};' for sign in secret[5:])}",
    }[name]
    policy = Policy([secret])
    written = policy.apply(frame.format(form), Sink.COMMENT)
    assert secret not in reading(written).shown or (name == "escaped" and "<div>" in frame)
    assert policy.apply(written, Sink.COMMENT) == written


@pytest.mark.parametrize("name", [*FORMS, *MORE])
@pytest.mark.parametrize("kind", [*PAYLOADS, *WORDLESS])
def test_no_form_of_a_secret_in_any_action(name: str, kind: str) -> None:
    """Also where a payload is only names and numbers."""
    form = {**FORMS, **MORE}[name]
    payload = json.loads(
        compact({**PAYLOADS, **WORDLESS}[kind]).replace(json.dumps(SECRET)[1:-1], json.dumps(form)[1:-1])
    )
    (text,) = Payload(kind, compact(payload)).composed(Redactor([SECRET]))
    shown = "".join("".join(f"{key} {leaf}" for key, leaf in leaves(json.loads(text))).split()).lower()
    assert "".join(core(form).split()).lower() not in shown


@pytest.mark.parametrize("name", FORMS)
def test_no_form_of_a_secret_in_what_is_said(name: str) -> None:
    """Text, result and footer of a comment; of a long one at the very cut."""
    form, redactor = FORMS[name], Redactor([SECRET])
    for draft in (
        Draft(form, output=True, result=compact({"a": form, form: 1}), footer=f"<sub>{form}</sub>"),
        Draft(f"a {form}", output=True, fenced=True),
        *(Draft("x" * (63_036 - back) + form + " y" * 9_000, rest=form) for back in (0, 3, len(form) // 2, len(form))),
    ):
        for body in compose(draft, redactor):
            assert "".join(core(form).split()).lower() not in "".join(body.split()).lower()
