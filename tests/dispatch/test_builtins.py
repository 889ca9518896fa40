"""The table of built-ins and the help that is made from it."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt

from bot.dispatch.builtins import BUILTINS, Builtin, Offer, help_text
from bot.dispatch.mentions import find
from bot.model.role import Role


@pytest.mark.parametrize("builtin", BUILTINS, ids=lambda builtin: builtin.name)
def test_every_builtin_explains_itself(builtin: Builtin) -> None:
    """No entry without usage, example and a line that says what it does."""
    assert builtin.usage.split()[0] == builtin.example.split()[0] == builtin.name
    assert len(builtin.summary) > 10
    assert builtin.fit(builtin.example) is not None


def test_the_builtins_of_now() -> None:
    """These are promised; each name stands once."""
    names = [builtin.name for builtin in BUILTINS]
    assert sorted(names) == [
        *("answer", "approve", "cancel", "config", "help", "pin", "pins", "reject", "resume", "retry", "status"),
        *("steer", "stop", "try", "unpin", "why"),
    ]


def test_help_lists_the_repository_first_and_folds_the_builtins() -> None:
    """Agents and workflows with description and params, then the default, then every built-in."""
    offers = [Offer("triage", "Says what is missing"), Offer("build", "Builds it", ("[base=…]",)), Offer("ask")]
    text = help_text(BUILTINS, offers, "@bot", "ask")
    head, folded = text.split("<details>")
    assert re.findall(r"^\| `(.*?)` \| (.*?) \|$", head, re.MULTILINE) == [
        ("@bot ask …", "–"),
        ("@bot build [base=…] …", "Builds it"),
        ("@bot triage …", "Says what is missing"),
    ]
    assert "Anything else after `@bot` goes to `ask`." in head
    for builtin in BUILTINS:
        assert f"`@bot {builtin.example}`" in folded
        assert builtin.summary in folded


def test_help_folds_many_words() -> None:
    """What makes a table too wide stands below it."""
    words = tuple(f"[colour_{n}=red\\|blue]".replace("\\", "") for n in range(4))
    text = help_text(BUILTINS, [Offer("paint", "Paints", words), Offer("go", "Goes", ("kind=a|b",))], "@bot", "ask")
    assert "| `@bot paint key=… …` | Paints |" in text
    assert "| `@bot go kind=a\\|b …` | Goes |" in text
    assert f"<summary>What they take</summary>\n\n- `paint`: `{' '.join(words)}`\n" in text


def test_help_without_a_configuration() -> None:
    """A repository without agents of its own is told so."""
    text = help_text(BUILTINS, [], "@bot", "ask")
    assert "no agents or workflows of its own" in text
    assert "`@bot status`" in text


def test_help_names_a_role_that_is_needed() -> None:
    """Its own, else the repository's `trigger_role`, else what it says in words."""
    table = [
        Builtin("try", "try", "try", "try it", role=Role.WRITE),
        Builtin("pins", "pins", "pins", "list them"),
        Builtin("retry", "retry", "retry", "once more", who="whoever may start it"),
    ]
    text = help_text(table, [], "@bot", "ask", Role.TRIAGE)
    assert "| `@bot try` | try it | `@bot try` | write and above |" in text
    assert "| `@bot pins` | list them | `@bot pins` | triage and above |" in text
    assert "| `@bot retry` | once more | `@bot retry` | whoever may start it |" in text


def test_help_is_a_table_whatever_the_descriptions_hold() -> None:
    """Pipes and line breaks in a description do not break the table, and help mentions nobody."""
    text = help_text(BUILTINS, [Offer("a", "one | two\nthree")], "@bot", "a")
    html = MarkdownIt("commonmark").enable("table").render(text)
    assert "<td>one | two three</td>" in html
    assert html.count("<table>") == 2
    assert html.count("<tr>") == 2 + 1 + len(BUILTINS)
    assert all(cells == 4 for cells in (row.count("<td>") for row in html.split("<table>")[2].split("<tr>")[2:]))
    assert find(text, ["@bot"]) == ()
