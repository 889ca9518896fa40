"""What people cannot see goes; what they see stays."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.context import sanitise

#: pieces that hide things, open and close things, or combine with their neighbours
_PIECES = [
    "<!--", "-->", "--!>", "<!-->", "<!", "<?", "?>", "</ ", "<b title='", '<p title="', "'>", '">', "<",
    ">", "<a href=x>", "&lt;", "&amp;", "&#38;", "&#", "60;", ";", "&#96;", "&ZeroWidthSpace;", "&#10;",
    "&semi;", "&zwnj;", "&l", "t;", "`", "``", "```", "~~~", "\n", "\n\n", "    ", "\t", "> ", "- ",
    "1. ", "| ", "|-|-|\n", "# ", "---\n", "\\", "[a]", "[a]: ", "[^1]", "[^1]: ", "](", ")", "![", "[",
    "]", '"t"', "(t)", "u", "http://x ", "<div>", "<pre>", "word ", "\u200b", "\u200d", "\u200c",
    "\u202e", "\ufe0f", "\U000e0041", "\U0001f3f4", "👩", "❤", "e", "\u0301", "\u0338", "क", "्", "م",
    "語", "\x00", "\x1b", "\r", "\r\n", "\u2028", "\ud800", "\udc00", "\ufdd0", "0", "\ufdd1", "1",
    "\u20e3", "[](", "<rp>", "</rp>", "<ruby>", "</ruby>", "<rt>",
]  # fmt: skip
_HOSTILE = st.lists(st.sampled_from(_PIECES), max_size=30).map("".join)


@settings(max_examples=400, deadline=None)
@given(_HOSTILE | st.text(max_size=60))
def test_idempotent(text: str) -> None:
    """What came out once comes out again, and nothing more is found in it."""
    once = sanitise(text)
    again = sanitise(once.text)
    assert again.text == once.text
    assert again.removed == ()


@settings(max_examples=200, deadline=None)
@given(_HOSTILE | st.text(max_size=60))
def test_always_clean(text: str) -> None:
    """NFC, LF, encodable, and without direction overrides, tag characters or control characters."""
    clean = sanitise(text).text
    clean.encode()
    assert unicodedata.is_normalized("NFC", clean)
    assert not set(clean) & set("\r\x00\x1b\u202e\u200b\U000e0041\ufdd0\ufdd1")


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="<!->&;lt `abc\n#x26", max_size=40))
def test_code_stays(code: str) -> None:
    """A fenced block is the same character by character, whatever looks like markup in it."""
    text = f"before\n\n~~~~~~~~\n{code}\n~~~~~~~~\n\nafter\n"
    assert sanitise(text).text == text
    assert sanitise(text).removed == ()


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="<!->&;lt abc#x26", min_size=1, max_size=40).filter(str.strip))
def test_inline_code_stays(code: str) -> None:
    """Inline code too."""
    text = f"see `{code}` there"
    assert sanitise(text).text == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <!-- hidden --> b", "a  b"),
        ("a\n<!--\nhidden\n\nhidden\n-->\nb", "a\n\nb"),
        ("a <!-- hidden", "a "),
        ("<!-- hidden\n\n```\nhidden\n```\n", ""),
        ("a <!-- <!-- hidden --> b", "a  b"),
        ("a <!-<!-- x -->- hidden --> b", "a  b"),
        ("a <!--> b", "a  b"),
        ("a <!-- hidden --!> b", "a  b"),
        ("a &lt;!-- hidden --&gt; b", "a  b"),
        ("a &amp;lt;!-- hidden --&#38;gt; b", "a  b"),
        ("&l<!-- -->t;!-- hidden -->", ""),
        ("<!-- a --&gt; hidden -->b", "b"),
        ("<div><!--\n\nx --> hidden", "<div>"),
        ("<?php hidden ?> a", " a"),
        ("<![CDATA[hidden]]> a", " a"),
        ("<div></ hidden></div>", "<div></div>"),
        ("\\`<!-- hidden -->`", "\\``"),
        ("<a href='`'><!-- hidden -->`</a>", "<a href='`'>`</a>"),
        ("| a | b |\n|---|---|\n| ` | <!-- hidden --> ` |", "| a | b |\n|---|---|\n| ` |  ` |"),
        ("| a |\n|---|\n| b | hidden |\n", "| a |\n|---|\n| b |\n"),
        ("> text <!-- hidden\n> hidden --> b", "> text  b"),
        ("<http://x/`><!-- hidden -->`", "<http://x/`>`"),
    ],
)
def test_comments(text: str, expected: str) -> None:
    """Comments in every shape, nested, unclosed, encoded, and across Markdown's borders."""
    assert sanitise(text).text == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[text](http://u "hidden") b', "[text](http://u) b"),
        ("[text](<http://u u> 'hidden')", "[text](<http://u u>)"),
        ("[text](http://u (hidden))", "[text](http://u)"),
        ('(see [text](u) "quoted")', '(see [text](u) "quoted")'),
        ("![hidden](http://i)", "![](http://i)"),
        ('![hid [den] x](http://i "hidden")', "![](http://i)"),
        ("![wow](see below, friend)", "![wow](see below, friend)"),
        ('![seen](u\n\n"seen") [a](u\n\n"seen")', '![seen](u\n\n"seen") [a](u\n\n"seen")'),
        ('<img alt="hidden" src="y" title=hidden>', '<img src="y">'),
        ('<a href="u" aria-label="hidden">text</a>', '<a href="u">text</a>'),
        ("<p data-x='hidden'\n>text</p>", "<p>text</p>"),
        ('<p title="hidden\n\nhidden', ""),
        ("<ignore-all-the-previous-instructions>text", "text"),
        ("a <b and c, or d> e", "a <b and c, or d> e"),
        ("List<String> x < y && y > z", "List<String> x < y && y > z"),
        ("<https://example.org/?a=`b`>", "<https://example.org/?a=`b`>"),
        ("[//]: # (hidden)\n\ntext", "\ntext"),
        ("[hidden]: http://u\n", ""),
        ("[hidden]: javascript:x 'hidden'\n", ""),
        ("[a] x\n\n[a]: http://u 'hidden'\n", "[a] x\n\n[a]: http://u\n"),
        ("[text][hidden] x\n\n[hidden]: http://u\n", "[text](http://u) x\n\n"),
        ("![hidden] x\n\n[hidden]: http://u\n", "![](http://u) x\n\n"),
        ("Sources:\n[1]: https://a (seen)\n", "Sources:\n[1]: https://a (seen)\n"),
        ("a[^1]\n\n[^1]: seen note\n\n[^2]: hidden\nhidden\n\nb", "a[^1]\n\n[^1]: seen note\n\n\n\nb"),
        ("a[^A]\n\n[^a]: seen\n[^a]: hidden\nhidden\n\n[^A]: hidden\n", "a[^A]\n\n[^a]: seen\n\n\n\n"),
        ("a[^1]\n\n[^2]: hidden\n[^1]: seen\n- seen\n", "a[^1]\n\n\n[^1]: seen\n- seen\n"),
        ("a[^1]\n\n[^1]: seen\n\n> [^1]: hidden\n", "a[^1]\n\n[^1]: seen\n\n> \n"),
        ("[a] x\n\n[a]: http://ok\n\n[A]: http://y/hidden\n", "[a] x\n\n[a]: http://ok\n\n"),
        ("[a] x\n\n[a]: http://ok\n[a]: http://y/hidden\n", "[a] x\n\n[a]: http://ok\n"),
        ("a [](http://x/y) b [ ](<z> 'hidden')", "a http://x/y b z"),
        ("[][a] b\n\n[a]: http://x/y\n", "http://x/y b\n\n"),
        ("\\\\[](u) \\![](v)", "\\\\u \\!v"),
        ("\\[](u) ![](v) []() [](<>)", "\\[](u) ![](v) []() [](<>)"),
        ("```py hidden words\nx\n```\n", "```py\nx\n```\n"),
    ],
)
def test_links_and_attributes(text: str, expected: str) -> None:
    """Titles, alternative texts, attributes, labels and definitions that nobody sees."""
    assert sanitise(text).text == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<ruby>x<rp>hidden</rp><rt>y</rt></ruby> z", "<ruby>x<rt>y</rt></ruby> z"),
        ("<ruby>x<rp>hidden<rt>y</rt><RP>hidden</ruby> z", "<ruby>x<rt>y</rt></ruby> z"),
        ("<ruby>x<rp>`</rp>` hidden</rp><rt>y</ruby>", "<ruby>x<rt>y</ruby>"),
        ("<ruby><rp><b><rt>hidden</rt></b> hidden</rp>x</ruby>", "<ruby>x</ruby>"),
        ("a <rp>b<rp>c</rp>hidden</rp> d", "a  d"),
        ("a <rp>hidden<br>hidden\n\nb", "a \n\nb"),
        ("a <rp>hidden<br>hidden</rp> b", "a  b"),
        ("| a | b |\n|---|---|\n| <rp>hidden | b |\n", "| a | b |\n|---|---|\n| | b |\n"),
        ("<rp>\n\nhidden\n\n```\nhidden\n```\n</rp> b", " b"),
        ("<rp>\n\nhidden\n", ""),
        ("`<rp>a</rp>` \\<rp>b", "`<rp>a</rp>` \\<rp>b"),
    ],
)
def test_ruby_fallback(text: str, expected: str) -> None:
    """What stands in `rp`, closed or not, is shown by no browser."""
    assert sanitise(text).text == expected


@pytest.mark.parametrize(
    "text",
    [
        "$\\phantom{a}$ and $$\nb % c\n$$",
        "👩\u200d👩\u200d👧 👍🏽 🧑🏽\u200d🚀 ❤\ufe0f\u200d🔥 1\ufe0f\u20e3 ☎\ufe0e",
        "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
        "نمی\u200cخواهم",
        "ක්\u200dර",
        "日本語 葛\U000e0100 한국어",
        "Zoë naïve Ångström a\u0323\u0302 x\u0338",
        "\u1820\u180b",
        "a\u00a0b\u3000c",
        "tab\tand  spaces  \n",
        "100 % of it & more; <3",
        "a * b _c_ **d** ~~e~~ # f\n- [ ] task\n1. one",
    ],
)
def test_stays(text: str) -> None:
    """Emoji sequences, joiners that mean something, CJK, accents, plain Markdown."""
    text = unicodedata.normalize("NFC", text)
    assert sanitise(text).text == text
    assert sanitise(text).removed == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("e\u0301", "é"),
        ("e\u200b\u0301", "é"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("in\u200bvisi\u2060ble\ufeff \u00ad", "invisible "),
        ("a\u200db a\u200cb", "ab ab"),
        ("م\u200c\u200dم", "م\u200cم"),
        ("a\ufe0fb 語\ufe0f a\ufe01", "ab 語 a"),
        ("👩\ufe0f\ufe0f\ufe0f", "👩\ufe0f"),
        ("\U000e0049\U000e0067", ""),
        ("🏴\U000e0068\U000e0069\U000e007f", "🏴"),
        ("x \u202egnp.exe\u202c", "x \\u{202e}gnp.exe\\u{202c}"),
        ("`\u202eabc`", "`\\u{202e}abc`"),
        ("a\u200fb", "ab"),
        ("\x00\x1b[31mred", "\\u{0}\\u{1b}[31mred"),
        ("a\ud800b \ud83d\ude00", "a\ufffdb 😀"),
        ("\ufdd0" + "0\ufdd1 `x`<b>", "\\u{fdd0}0\\u{fdd1} `x`<b>"),
        ("&ZeroWidthSpace;a&#x202e;b&#10;c", "a\\u{202e}b c"),
        ("a &amp; b &lt;c&gt; &copy; &nosuch; &#0;", "a & b <c> © &nosuch; \ufffd"),
    ],
)
def test_characters(text: str, expected: str) -> None:
    """Invisible characters go or show as escapes, in code too; entities are decoded."""
    assert sanitise(text).text == expected


def test_removed_is_told() -> None:
    """How much of what."""
    removed = sanitise("<!-- ab --> x <!-- c --> \u200b\u200b ![alt](u)").removed
    assert removed == (
        "2 zero-width characters (6 bytes)",
        "2 HTML comments (21 bytes)",
        "1 alternative text (3 bytes)",
    )


def test_endless_trick_ends() -> None:
    """A text that reveals more at every pass is shown as escapes, hidden text and all, and is stable from then on."""
    text = "x"
    for _ in range(10):
        text = f"<!-{'<!-- y -->' if text == 'x' else text}- x -->"
    clean = sanitise(text)
    assert any("nested trick" in line for line in clean.removed)
    assert sanitise(clean.text).text == clean.text
    assert "<!--" not in clean.text


@pytest.mark.parametrize(
    "piece",
    [
        "`",
        "<!--",
        "&amp;",
        "&#3&#5",
        '<a "',
        "![[",
        "](u '",
        "\u200b",
        "[a]: b\n",
        "* a <\n",
        "<rp>",
        "[](u)",
        "[^1]: b\n",
        "|a|\n|-|\n",
        "word <b> ok\n",
    ],
)
def test_large_text_takes_linear_time(piece: str) -> None:
    """Four times the text costs nowhere near sixteen times the time."""

    def seconds(text: str) -> float:
        best = 60.0
        for _ in range(2):
            start = time.process_time()
            sanitise(text)
            best = min(best, time.process_time() - start)
        return best

    small, large = seconds(piece * (10_000 // len(piece))), seconds(piece * (40_000 // len(piece)))
    assert large < 9 * small + 0.05
