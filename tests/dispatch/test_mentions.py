"""Mentions: what counts as one, how far its text goes, what an edit adds."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.dispatch.commands import parse, sort
from bot.dispatch.mentions import added, find

HANDLES = ["@bot"]


def texts(text: str, *handles: str) -> list[str]:
    return [mention.text for mention in find(text, handles or HANDLES)]


@pytest.mark.parametrize(
    ("comment", "request_text"),
    [
        ("@bot triage base=dev now", "triage base=dev now"),
        ("@bot", ""),
        ("@BOT Triage", "Triage"),
        ("could @bot triage this?", "triage this?"),
        ("It crashes.\n\n@bot triage", "triage"),
        ("(@bot) triage", "triage"),
        ("**@bot** triage", "triage"),
        ("@bot: triage", "triage"),
        ("@bot, triage", "triage"),
        ("@bot - triage", "triage"),
        ("@bot — triage", "triage"),
        ("@bot.", ""),
        ("thanks @bot!", ""),
        ("@bot's idea", "'s idea"),
        ("@bot[bot] triage", "triage"),
        ("# @bot triage", "triage"),
        ("- [ ] @bot triage", "triage"),
        ("> quoted\n\n@bot triage", "triage"),
        ("<b>@bot</b>: triage", "triage"),
        ("<details>\n\n@bot triage\n\n</details>", "triage\n\n</details>"),
        ("so <!-- a note --> @bot triage", "triage"),
        ("so <!-- <pre> --> it\n\n@bot triage", "triage"),
        ("`code` @bot triage", "triage"),
        ("see https://example.com/a @bot triage", "triage"),
        ("<a name='top'>\n\n@bot triage", "triage"),
        ("请@bot 看", "看"),
        ("@bot请看", "请看"),
        ("\\@bot triage", "triage"),
        ("@bot keep\r\n\r\nthe lines", "keep\n\nthe lines"),
        ("@bot see\n```\n@bot not me\n```\n> @bot nor me\n", "see\n```\n@bot not me\n```\n> @bot nor me"),
        ("@bot ask about `@bot` and @bot too", "ask about `@bot` and @bot too"),
        ("@bot-2 and @bot triage", "triage"),
        ("\ufdd0\U000f0000 @bot triage \U000f0001", "triage \U000f0001"),
    ],
)
def test_a_mention_and_its_text(comment: str, request_text: str) -> None:
    """The handle in running text counts; what follows it is kept as it was written."""
    assert texts(comment) == [request_text]


@pytest.mark.parametrize(
    "comment",
    [
        "",
        "bot triage",
        "@bo",
        "@bot-2 triage",
        "@bot- triage",
        "@bot_2 triage",
        "@bot2",
        "@botč",
        "@bot.example.com",
        "@bot/team triage",
        "@bot@example.com",
        "x@bot",
        "ž@bot",
        "x.y@bot.com",
        "@@bot",
        "/@bot",
        "https://example.com/@bot triage",
        "https://example.com/?who=(@bot)",
        "www.example.com/(@bot",
        "<https://example.com/(@bot>",
        "mailto:(@bot",
        "`@bot triage`",
        "\U000f0000 `@bot triage`",
        "``a ` @bot triage``",
        "```\n@bot triage\n```",
        "~~~text\n@bot triage",
        "    @bot triage",
        "- a\n\n      @bot triage",
        "<code>@bot triage</code>",
        "<pre>\n@bot triage\n</pre>",
        "<pre>\n\n@bot triage\n\n</pre>",
        "> @bot triage",
        "> quoted\n@bot triage",
        "- > @bot triage",
        "> > a\n> @bot triage",
        "<blockquote>\n\n@bot triage\n\n</blockquote>",
        "<!-- @bot triage -->",
        "a <!-- @bot triage --> b",
        "<!--\n\n@bot triage\n\n-->",
        "<div>@bot triage</div>",
        "<img alt='@bot triage'>",
        "[a](@bot)",
        "[a](https://example.com '@bot triage')",
        "[@bot triage](https://example.com)",
        "<a href='https://example.com'>@bot triage</a>",
        "![@bot triage](https://example.com/a.png)",
        "[a]\n\n[a]: https://example.com '@bot triage'",
        "@\u200bbot triage",
    ],
)
def test_no_mention(comment: str) -> None:
    """Other names, addresses, code, quotes, HTML, links and images are none."""
    assert texts(comment) == []


def test_each_line_that_begins_with_a_mention_is_a_request() -> None:
    """Several mentions are several requests, in order; list signs may stand before them; identical ones collapse."""
    comment = "Please:\n\n- @bot triage\n  with care\n- @bot label\n1. **@bot** triage\n  with   care\n@bot  label\n"
    assert texts(comment) == ["triage\n  with care", "label"]


def test_several_handles() -> None:
    """Each handle counts, the longer one first, with or without its "@" in the configuration."""
    mentions = find("@bot-2 a\n@bot b\n@BOT-2 c", ["bot", "@bot-2", "@", " "])
    assert [(mention.handle, mention.text) for mention in mentions] == [("@bot-2", "a"), ("bot", "b"), ("@bot-2", "c")]
    assert find("@bot a", []) == ()


def test_the_same_words_to_two_handles_are_two() -> None:
    """Only identical requests collapse."""
    assert texts("@bot a\n@ann a\n@bot A", "@bot", "@ann") == ["a", "a", "A"]


def test_start_is_where_the_handle_stands() -> None:
    """The position leads back to the text."""
    (mention,) = find("ab `@bot` @bot x", HANDLES)
    assert mention.start == 10


def read(text: str) -> object:
    """What a text comes to where `triage` (with a key) and `label` are known, and all else is for `ask`."""
    names = {"ask": (), "triage": ("depth",), "label": ()}
    return sort(parse(text, names=names, default="ask", asked=True))


@pytest.mark.parametrize(
    ("old", "new", "asked"),
    [
        ("@bot triage", "@bot triage", []),
        ("@bot triage", "Hello. @bot  triage\n", []),
        ("hello", "hello @bot triage", ["triage"]),
        ("`@bot triage`", "@bot triage", ["triage"]),
        ("@bot triage", "@bot triage\n@bot label", ["label"]),
        ("@bot triage", "@bot label", ["label"]),
        ("@bot a\n@bot b", "@bot b\n@bot a", []),
        ("@bot triage", "never mind", []),
        ("", "@bot", [""]),
        # other words behind a mention that was there
        ("@bot triage this\n- [ ] a\n- [ ] b", "@bot triage this\n- [x] a\n- [ ] b", []),
        ("@bot explain tihs", "@bot explain this", []),
        ("@bot explain this", "@bot ask explain this", []),
        ("@bot status", "@bot status\n\nThanks!", []),
        ("@bot steer leave it", "@bot steer leave it alone", []),
        # one mention more, wherever it stands, is that one
        ("@bot explain a", "@bot explain b\n@bot explain a", ["explain b"]),
        ("@bot explain a", "@bot explain a!\n@bot explain b", ["explain b"]),
        ("@bot triage\n@bot explain", "@bot triage now\n@bot triage too\n@bot explain it", ["triage too"]),
        # another command, other params
        ("@bot triage", "@bot triage depth=2", ["triage depth=2"]),
        ("@bot triage depth=1 x", "@bot triage depth=2 x", ["triage depth=2 x"]),
        ("@bot triage depth=1 x", "@bot triage depth=1 y", []),
        ("@bot triage", "@bot triage usd=1", ["triage usd=1"]),
        ("@bot cancel r1", "@bot cancel r2", ["cancel r2"]),
        ("@bot traige", "@bot triage", ["triage"]),
        ("@bot traige", "@bot ask traige", ["ask traige"]),
        ("@bot explain", "@bot status", ["status"]),
        ("@bot answer revise it", "@bot answer stop it", ["answer stop it"]),
        ("@bot try topic triage", "@bot try topic label", ["try topic label"]),
        ("@bot try topic triage a", "@bot try topic triage b", []),
    ],
)
def test_an_edit_adds_what_was_not_there(old: str, new: str, asked: list[str]) -> None:
    """Requests that the old text had do not count again, whatever moved around them or stands behind them now."""
    assert [mention.text for mention in added(old, new, HANDLES, read)] == asked


# what decides about structure in Markdown and HTML, and characters that trip up parsers
SIGNS = (
    "`",
    "```",
    "~~~",
    "    ",
    "> ",
    "- ",
    "1. ",
    "#",
    "|",
    "=",
    "[",
    "](",
    ")",
    "![",
    "[a]: ",
    "*",
    "_",
    "\\",
    "<",
    "&",
)
HTML = ("<!--", "-->", "<pre>", "</pre>", "<a href='x'>", "</a>", "https://")
HANDLES_LIKE = ("@bot", "@bot ", "@bot-2", "&#64;bot")
CHARACTERS = ("x", "請", "\n", "\n\n", "\r\n", "\t", "\x00", "\ud800", "\U000f0000", "\u200d")
PIECES = st.lists(st.sampled_from(SIGNS + HTML + HANDLES_LIKE + CHARACTERS), max_size=40).map("".join)


@settings(max_examples=300, deadline=None)
@given(PIECES | st.text(max_size=200))
def test_any_text_can_be_searched(text: str) -> None:
    """It never raises, and what it finds is the handle where it says."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    for mention in find(text, HANDLES):
        assert plain[mention.start :].lower().startswith("@bot")
        assert mention.text in plain
        assert mention.text == mention.text.strip()
    assert added(text, text, HANDLES, read) == ()


@settings(max_examples=200, deadline=None)
@given(PIECES, st.sampled_from(["```", "~~~", "`````"]))
def test_a_fence_hides_everything(text: str, fence: str) -> None:
    """Whatever stands in a fence that nothing in it closes is no mention."""
    inside = text.replace("`", "").replace("~", "")
    assert texts(f"{fence}\n{inside}\n{fence}\n") == []


@settings(max_examples=200, deadline=None)
@given(PIECES)
def test_a_quote_hides_everything(text: str) -> None:
    """Whatever stands on quoted lines is no mention."""
    lines = "\n".join(f"> {line}" for line in text.replace("\r", "").split("\n"))
    assert texts(lines) == []


@pytest.mark.parametrize("piece", ["@bot ", "@bot*", "[@bot](", "<a <a", "<a></a>", "![", "[", "> ", "`@bot", "://"])
def test_the_longest_comment_is_read_in_time(piece: str) -> None:
    """65,536 characters of anything hold nobody up."""
    comment = ("@bot x\n\n<div>\n" + piece * 65_536)[:65_536]
    started = time.process_time()
    find(comment, HANDLES)
    assert time.process_time() - started < 5
