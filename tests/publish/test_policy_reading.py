"""Any text at all, read a second time: by other rules, from the rendered page, as strictly as GitHub might."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bot.publish.policy import Policy, Sink

from .fragments import HARM, PIECES, SECLUDED, SECRET
from .github_page import code_of
from .github_reading import foreign, reading

POLICY = Policy([SECRET], mentions=["ana", "acme/core"], closes=["#7"])
MARKDOWN = (Sink.COMMENT, Sink.REVIEW, Sink.BODY)
SLOW = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)


def apply(text: str, sink: Sink = Sink.COMMENT) -> str:
    return POLICY.apply(text, sink)


@SLOW
@given(HARM)
@example("clos<b>es</b><br>#1")
@example("<!--->\\\\```py\ngh-9!\\[a](//e.test)@types/node<summary>@types/node")
@example("[![a](https://e.test/b)](https://x.test)![a](https://e.test/i 'fixes #1')")
@example("- [ ] \n<sub>\n    @bob")
@example("=```py\n<source srcset='https://e.test/s'>```py\n")
def test_nothing_acts(text: str) -> None:
    """Nobody is pinged, nothing closed, loaded or hidden, no secret told; a second time changes nothing."""
    written = apply(text)
    page = reading(written)
    assert set(page.pings) <= {"ana", "acme/core"}
    assert set(page.closes) <= {"#7"}
    assert not any(map(foreign, page.loads))
    assert page.hidden == []
    assert SECRET not in written
    assert not re.search("[\x1b\x9b\u200b\u202e\u2060-\u206f\ufeff\ud800-\udfff\0\x7f]", written)
    assert apply(written) == written


@SLOW
@given(st.lists(st.sampled_from([*SECLUDED, *SECLUDED, *PIECES]), max_size=14))
@example(["[a]", "\n\n", "[a]: /y '{}'", "\n", "[a]: /y '{}'"])
@example(["|a|\n|-|\n", "1|{}|"])
@example(["```py {}\n"])
def test_every_word_that_is_left_can_be_seen(pieces: list[str]) -> None:
    """No comment, attribute, definition, cell or line of a fence keeps a word that the page does not show."""
    written = apply("".join(piece.replace("{}", f"zq{number}q") for number, piece in enumerate(pieces)))
    shown = reading(written).shown
    assert all(word in shown for word in re.findall("zq[0-9]+q", written))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        # a run of backticks that nothing closes: code behind it is missed
        ("a `` `x` and `@bob`", "a &#96;&#96; `x` and `@bob`"),
        ("a ` b", "a ` b"),
        # an address takes in what follows it: backticks, backslashes, brackets
        ("see https://x.test/a`@bob`", "see https://x.test/a `@bob`"),
        ("see `https://x.test/a`, `@bob`", "see `https://x.test/a`, `@bob`"),
        ("www.x.test/`@bob`", "www.x.test/ `@bob`"),
        ("https://x.test\\<img src=//e.test/i>", "https://x.test&lt;img src=//e.test/i>"),
        ("https://x.test[a](//y.test 'fixes #1')", "https://x.test[a](//y.test)"),
        ("[a](/b 'as it was')", "[a](/b 'as it was')"),
        # a line that a list or quote goes on with by laziness begins a block of HTML, or a table
        ("- a\n<sub>\n- `@bob`", "- a <sub>\n- `@bob`"),
        ("> a\n</b>\n> `@bob`", "> a </b>\n> `@bob`"),
        ("a\n<sub>\nb", "a\n<sub>\nb"),
        ("- a\n|a|b|\n|-|-|\n|`@bob|`|", "- a\n|a|b| |-|-|\n|`@bob|`|"),
        ("a `b\n<source srcset=//e.test>`", "a `b <source srcset=//e.test>`"),
        # and one that is indented belongs to the quote
        ("> > a\n    <?@bob", "> > a\n\n    <?@bob"),
        # a row that begins with a tag ends its table
        ("|a|\n|-|\n<b>\n|`@bob`|", "|a|\n|-|\n|<b>\n|`@bob`|"),
        ("<ol>|b|\n|-|-|\n@bob", "|<ol>|b|\n|-|-|\n`@bob`"),
        # what is no definition to one parser is one to another
        ("[x]: a b", "\\[x]: a b"),
        ("- [ ] [^1]: x", "- [ ] \\[^1]: x"),
        ("`a\n[^1]: b`", "`a [^1]: b`"),
        # and what everyone leaves out
        ("|a|\n|-|\n|b|c|\n|b||", "|a|\n|-|\n|b\\|c|\n|b||"),
        ("> |a|\n> |-|\n> |b|c", "> |a|\n> |-|\n> |b\\|c"),
        ("```py title=x\ny\n```\n\n> ~~~ <b>\n> z", "```py\ny\n```\n\n> ~~~ \n> z"),
        ("`[a]`\n\n[a]: /b", "`[a]`\n\n"),
        ("[a]\n\n[a]: /b\n[A]: /c", "[a]\n\n[a]: /b\n"),
    ],
)
def test_what_github_s_parser_reads_otherwise(text: str, wanted: str) -> None:
    """Found by putting texts through GitHub's own parser (cmark-gfm) beside this one."""
    assert apply(text) == wanted
    assert apply(wanted) == wanted


def test_a_run_of_backticks_that_github_does_not_count_is_shown_in_a_fence() -> None:
    """Beyond 80 it is no code there, whatever closes it."""
    ticks = "`" * 81
    assert apply(f"{ticks}@bob{ticks}").startswith(f"{ticks}`text\n")
    assert apply(f"{ticks[1:]}@bob{ticks[1:]}") == f"{ticks[1:]}@bob{ticks[1:]}"


@pytest.mark.parametrize("sink", MARKDOWN)
@pytest.mark.parametrize("command", ["/merge", "/lgtm!", "/close: now", "/label~x", "/approve\\", " \t/retest."])
def test_commands_of_other_bots(command: str, sink: Sink) -> None:
    """Whatever stands behind the word, no line begins with it any more; a path stays one."""
    written = apply(f"x\n{command}\n\n`a\n/merge`\n\n/usr/bin and\n/index.html", sink)
    assert not re.search(r"^\s*/(merge|lgtm|close|label|approve|retest)", written, re.MULTILINE)
    assert written.endswith("`a /merge`\n\n/usr/bin and\n/index.html")
    assert written.replace("\\/", "/").startswith(f"x\n{command}")


@pytest.mark.parametrize("sink", [Sink.TITLE, Sink.COMMIT])
@pytest.mark.parametrize("word", ["[skip ci]", "[CI skip]", "[no ci]", "[skip actions]", "[actions skip]"])
def test_nothing_that_is_written_turns_the_checks_off(word: str, sink: Sink) -> None:
    """In a commit's message, and in the title that becomes one."""
    written = apply(f"mend it {word} please", sink)
    assert word not in written
    assert written.replace("\u200b", "") == f"mend it {word} please"
    assert apply(written, sink) == written


def test_a_trailer_does_not_turn_the_checks_off() -> None:
    """Two empty lines and `skip-checks: true` are GitHub's other way."""
    written = apply("mend it\n\n\nskip-checks: true", Sink.COMMIT)
    assert "skip-checks: true" not in written
    assert written.replace("\u200b", "") == "mend it\n\n\nskip-checks: true"


#: what people write with: joiners, marks, selectors, flags, right to left
WRITING = [
    *(
        "naïve",
        "é",
        "e\u0301\u0323",
        "漢字",
        "葛\U000e0100",
        "한국어",
        "ไทย",
        "עִבְרִית",
        "العَرَبِيَّة",
        "می‌خواهم",
        "क्‍ष",
        "ශ්‍රී",
    ),
    *("👩‍👩‍👧‍👦", "🏳️‍🌈", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🇩🇪", "❤️", "☺︎", "1️⃣", "👍🏽", "🧑🏿‍💻", "…", "“x”", "—", "≤", "Ω", "ᠮᠣ\u180bᠩ", "100 €"),
]


@settings(deadline=None)
@given(st.lists(st.sampled_from(WRITING), min_size=1, max_size=12).map(" ".join), st.sampled_from(Sink))
def test_what_people_write_with_stays(text: str, sink: Sink) -> None:
    """Joiners, combining marks, selectors and flags are part of what is said."""
    if sink is not Sink.BRANCH:
        assert apply(text, sink) == text
    assert apply(f"`{text}`\n\n```\n{text}\n```") == f"`{text}`\n\n```\n{text}\n```"


@pytest.mark.parametrize(
    "word", ["$&", "\\1", "{0}", "\\g<0>", "\\g<place>", "$1", "%s", "${x}", "{{ x }}", "%(x)s", "\\0"]
)
def test_substitution_interprets_nothing(word: str) -> None:
    """What stands beside a replaced word is no pattern of it."""
    fenced = f"```text\n{word} @bob\n```"
    assert apply(f"`{word}` {SECRET} `{word}` @bob\n\n{fenced}") == f"`{word}` [redacted] `{word}` `@bob`\n\n{fenced}"
    for sink in (Sink.COMMIT, Sink.TITLE, Sink.ERROR):
        assert apply(f"{word} {SECRET} {word}", sink) == f"{word} [redacted] {word}"


@SLOW
@given(HARM)
def test_code_is_kept(text: str) -> None:
    """All code of a text without anything hidden is there afterwards, the same but for line ends inside a span."""
    clean = apply(text)
    again = f"{clean}\n\n`a @bob`\n\n    fixes #1\n\n~~~\n@x {{0}} <!-- y -->\n~~~"
    if clean.startswith("```") or code_of(again)[-1:] != ["@x {0} <!-- y -->\n"]:
        return
    assert code_of(apply(again)) == code_of(again)


PILES = [
    *("![](", "fixes [", "|a|\n|-|\n|b|c|\n", "[a]: b\n", "/merge\n", "http://a.b/`", "- a\n<b>\n", "- a\n|-|\n"),
    *("[x]: y z\n", "```a b\n```\n", "` `` ", "> a\n    <?\n"),
]


@pytest.mark.parametrize("piece", PILES)
def test_no_pile_takes_long(piece: str) -> None:
    """200 KB of it, in processor time of this thread; a bound that holds beside other work."""
    text = piece * (200_000 // len(piece))
    begin = time.thread_time()
    apply(text)
    assert time.thread_time() - begin < 4
