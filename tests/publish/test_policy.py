"""What the bot writes pings nobody, closes nothing, loads nothing, hides nothing, and reads as it was meant."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bot.model.clock import monotonic
from bot.publish.policy import Policy, Sink

from .github_page import code_of, page

POLICY = Policy(["hunter22secret"], mentions=["ana", "acme/core"], closes=["#7"])


def apply(text: str, sink: Sink = Sink.COMMENT) -> str:
    return POLICY.apply(text, sink)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ask @bob or @acme/ops", "ask `@bob` or `@acme/ops`"),
        ("thanks @ana and @acme/core, @Ana.", "thanks @ana and @acme/core, @Ana."),
        ("install @types/node@20 and node@20", "install `@types/node@20` and node@20"),
        ("use @app.route, not @property.", "use `@app.route`, not `@property`."),
        ("mail bob@example.com", "mail bob@example.com"),
        ("`@bob` and ``@a`b``", "`@bob` and ``@a`b``"),
        ("```py\n@cached\ndef f(): ...\n```", "```py\n@cached\ndef f(): ...\n```"),
        ("text\n\n    @indented", "text\n\n    @indented"),
        ("**@bob** _@bob_ ~~@bob~~", "**`@bob`** _`@bob`_ ~~`@bob`~~"),
        ("\\@bob &#64;bob &commat;bob &#x40;bo&#98;", "`@bob` `@bob` `@bob` `@bob`"),
        ("@b\u200bob @bo&#8203;b", "`@bob` `@bob`"),
        ("@b<!-- -->ob", "`@bob`"),
        ("[@bob](https://x.test/@bob)", "[`@bob`](https://x.test/@bob)"),
        ("https://x.test/@bob <https://x.test/@bob>", "https://x.test/@bob <https://x.test/@bob>"),
        ("*https://x.test/a*@bob", "*https://x.test/a* `@bob`"),
        ("| a |\n|---|\n| @bob |", "| a |\n|---|\n| `@bob` |"),
        ("> - @bob", "> - `@bob`"),
        ("# @bob", "# `@bob`"),
        ("a ` @bob", "a ` <code>&#64;bob</code>"),
        ("`x`@bob", "`x`<code>&#64;bob</code>"),
        ("<div>\n@bob\n</div>", "<div>\n<code>&#64;bob</code>\n</div>"),
        ("<div>&#64bob &commat;bob</div>", "<div>&amp;#64bob <code>&#64;bob</code></div>"),
        ("[^1]: @bob\n\n    @sam", "\\[^1]: `@bob`\n\n    @sam"),
        (">" * 70 + " @bob", ">" * 70 + " `@bob`"),
    ],
)
def test_mentions(text: str, wanted: str) -> None:
    """Names that are not allowed become code; addresses, packages and code stay what they are."""
    assert apply(text) == wanted
    assert set(page(wanted).pings) <= {"ana", "acme"}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("fixes #1", "fixes `#1`"),
        ("Closes: acme/widgets#2, see #3", "Closes: `acme/widgets#2`, see #3"),
        ("resolved GH-4", "resolved `GH-4`"),
        ("closes #7 and fixes #70", "closes #7 and fixes `#70`"),
        ("fix https://github.com/a/b/issues/5", "fix `https://github.com/a/b/issues/5`"),
        ("fix <https://github.com/a/b/pull/5>", "fix `https://github.com/a/b/pull/5`"),
        ("fixes [#1](https://github.com/a/b/issues/1).", "fixes `#1` (`https://github.com/a/b/issues/1`)."),
        ("fixes [it](https://github.com/a/b/issues/1).", "fixes it (`https://github.com/a/b/issues/1`)."),
        ("fixes **#1**", "fixes **`#1`**"),
        ("fi&#120;es &#35;1", "fi&#120;es `#1`"),
        ("fixes\n#1", "fixes\n`#1`"),
        ("`fixes #1` prefixes #1 fixed it in #1", "`fixes #1` prefixes #1 fixed it in #1"),
    ],
)
def test_closing_keywords(text: str, wanted: str) -> None:
    """A keyword before a reference closes nothing but what it may."""
    assert apply(text) == wanted
    assert set(page(wanted).closes) <= {"#7"}


def test_a_keyword_before_a_distant_link_is_shown_as_it_is() -> None:
    """What cannot be made harmless in place goes into a fence."""
    text = "fixes [it][1]\n\n[1]: https://github.com/a/b/issues/1"
    assert apply(text) == f"```text\n{text}\n```"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("![chart](https://evil.test/c.png)", "[chart](https://evil.test/c.png)"),
        ("![](https://evil.test/c.png 'x')", "[image](https://evil.test/c.png 'x')"),
        ("![a][r] ![r]\n\n[r]: https://evil.test/c", "[a][r] [r]\n\n[r]: https://evil.test/c"),
        ("!![a](//evil.test/c)", "[a](//evil.test/c)"),
        ("<img src='https://evil.test/c' alt='a *b*'>", '<a href="https://evil.test/c">a &#42;b&#42;</a>'),
        ("<img src='javascript:x' alt=a>", "a"),
        (
            "<picture><source srcset='https://evil.test/d'><img src=https://evil.test/c></picture>",
            '<a href="https://evil.test/c">image</a>',
        ),
        (
            "[![badge](https://evil.test/b)](https://evil.test)",
            "[[badge](https://evil.test/b)](https://evil.test)",
        ),
        (
            "![shot](https://user-images.githubusercontent.com/1/a.png) ![in](docs/a.png)",
            "![shot](https://user-images.githubusercontent.com/1/a.png) ![in](docs/a.png)",
        ),
        ("`![a](https://evil.test/c)` wow![1]", "`![a](https://evil.test/c)` wow![1]"),
        ("![a](https://github.com@evil.test/c)", "[a](https://github.com@evil.test/c)"),
        ("![a](https://camo.githubusercontent.com/c)", "[a](https://camo.githubusercontent.com/c)"),
    ],
)
def test_images(text: str, wanted: str) -> None:
    """Nothing is loaded from a host that somebody else runs."""
    assert apply(text) == wanted
    assert not any("evil" in image for image in page(wanted).images)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a<!-- secret plan -->b", "ab"),
        ("a <!-<!-- x -->- y --> b", "a  b"),
        ("`a`<!-- x -->`b`", "`a` `b`"),
        ("<!-- never closed\n\ntext", "&lt;!-- never closed\n\ntext"),
        ("<div>\n<!-- open\n</div>\n\nb -->", "<div>\n&lt;!-- open\n</div>\n\nb -->"),
        ("a <?php x ?> <![CDATA[y]]> b", "a   b"),
        ("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>"),
        ("a Vec<T> and List<String>", "a Vec&lt;T> and List&lt;String>"),
        ("<p style='display:none' title=x>a</p>", "<p>a</p>"),
        ("<a href='javascript:x' onclick=y>a</a>", "<a>a</a>"),
        ("text\n\n[//]: # (a hidden note)", "text\n\n"),
        ("[a]\n\n[a]: https://x.test\n[b]: https://y.test", "[a]\n\n[a]: https://x.test\n"),
        ("\x1b[1mbold\x1b[0m\u202e\ud800\0", "bold\ufffd"),
        ("1 < 2 && a<b", "1 < 2 && a<b"),
        ("`<!-- shown -->`", "`<!-- shown -->`"),
    ],
)
def test_hidden_text(text: str, wanted: str) -> None:
    """Comments, instructions, unused definitions, attributes and invisible characters are gone or visible."""
    assert apply(text) == wanted
    assert page(wanted).comments == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("/close", "\\/close"),
        ("done\n  /lgtm cancel", "done\n  \\/lgtm cancel"),
        ("<div>\n/close\n</div>", "<div>\n&#47;close\n</div>"),
        ("@dependabot rebase", "`@dependabot` rebase"),
        ("/etc/passwd and a /close inside", "/etc/passwd and a /close inside"),
        ("```\n/close\n```", "```\n/close\n```"),
    ],
)
def test_commands_to_other_bots(text: str, wanted: str) -> None:
    """A line that another bot would act on is no such line any more, and looks the same."""
    assert apply(text) == wanted


@pytest.mark.parametrize("sink", Sink)
@pytest.mark.parametrize(
    "secret", ["hunter22secret", "aHVudGVyMjJzZWNyZXQ=", "hunter22\u200bsecret", "hunter22\x1b[0msecret"]
)
def test_secrets_in_every_sink(sink: Sink, secret: str) -> None:
    """Redacted wherever it goes, also when it is taken apart by what nobody sees."""
    written = apply(f"it is `{secret}` or {secret}", sink)
    assert "redacted" in written
    assert "hunter22" not in written
    assert "aHVudGVy" not in written


def test_what_people_write_stays() -> None:
    """An ordinary answer in the shapes of the product, with CJK, emoji, accents, tables and code."""
    text = (
        "The crash comes from `parse_size()` accepting an empty string … naïve 漢字 👩‍👩‍👧‍👦 🏳️‍🌈.\n\n"
        '1. First, see #12 and https://x.test/a?b=c&d\n2. **Then** [this](https://x.test "t") & that\n\n'
        "| a | b |\n|---|:-:|\n| `x\\|y` | 1 < 2 |\n\n"
        "```diff\n- @old\n+ <!-- new -->\n/close\n```\n\n"
        "<details><summary>Result</summary>\n\n`risk: low`\n\n</details>\n\n"
        "- [ ] a task\n- [x] ~~done~~\n\n"
        "<sub>[r4](https://bot.test/runs/1) · triage · 21 s</sub>"
    )
    assert apply(text) == text


def test_titles_and_commits() -> None:
    """Where Markdown means nothing a zero-width space comes between; a title is one line."""
    text = "fix: @bob and @ana\n\nfixes #1, closes #7, closes https://github.com/a/b/issues/12"
    commit = apply(text, Sink.COMMIT)
    assert commit.replace("\u200b", "") == text
    assert "@\u200bbob and @ana" in commit
    assert "fixes #\u200b1, closes #7, closes https://github.com/a/b/issues/\u200b12" in commit
    assert apply("two\nlines  @bob", Sink.TITLE) == "two lines @\u200bbob"
    assert "\u200b" not in apply("`@types/node` is @ana's", Sink.ERROR)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("bot/12-fix the crash", "bot/12-fix-the-crash"),
        ("../../etc/passwd.lock", "etc/passwd"),
        ("a..b~^:?*[\\c", "a-b-c"),
        ("", "branch"),
        ("-x/.y/@{z", "x/y/z"),
        ("ünï", "n"),
    ],
)
def test_branch_names(text: str, wanted: str) -> None:
    """Something git accepts."""
    assert apply(text, Sink.BRANCH) == wanted


def test_an_instance_may_allow_more() -> None:
    """`mentions: all`, and hosts of images on an own server."""
    policy = Policy(every_mention=True, image_hosts=["ghe.test"])
    assert policy.apply("@bob @acme/ops", Sink.COMMENT) == "@bob @acme/ops"
    assert policy.apply("![a](https://ghe.test/a)", Sink.COMMENT) == "![a](https://ghe.test/a)"
    assert policy.apply("![a](https://github.com/a)", Sink.COMMENT) == "[a](https://github.com/a)"


#: what texts that mean harm are made of
WORDS = r"""
    @bob @ana @acme/ops @types/node@20 fixes closes #1 #7 acme/x#2 GH-3 https://github.com/a/b/issues/4 /close
    ` `` ``` ~~~ * ** _ ~~ \ \` & &#64; &commat; &#96; &lt; &#8203; &#35; < > <!-- --> <!--> <! <? ?> <![CDATA[ ]]>
    <code> </code> <pre> </pre> <div> </div> <details> <summary> </summary> </details> <script> <a> </a> <img
    <img/src=//e.test/i> src=https://e.test/i alt="@bob"> ! [ ] ( ) ![ ]( ](https://e.test/i) ](@bob) [x] [x]: [//]:
    [^1] [^1]: | --- |---| > - 1. # === : ; @ a b 0 é 漢 👍 https://x.test/@bob <https://x.test/@bob> <@bob> .
    hunter22secret
"""
SPACES = [" ", " ", "\n", "\n", "\n\n", "    ", "\t", "\n> ", "\n- ", "\n| ", "\r\n"]
UNSEEN = ["\u200b", "\u202e", "\x1b[0m", "\ud800", "\0"]
PIECES = st.sampled_from([*WORDS.split(), *SPACES, *UNSEEN])
HARM = st.lists(PIECES, max_size=25).map("".join)


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(HARM)
@example("[^1]: @bob")
@example("`@bob`` `")
@example("<pre>\n\n@bob\n")
@example("[x]: @bob\n[x]")
@example("closes-](@bob)acme/x#2\n")
@example("GH-3<code>](@bob)acme/x#2](@bob)\n- ](https://e.test/i)<details>")
def test_whatever_is_written_does_no_harm(text: str) -> None:
    """Pings nobody else, closes nothing else, loads nothing, hides nothing, and is a fixed point."""
    written = apply(text)
    seen = page(written)
    assert set(seen.pings) <= {"ana"}
    assert set(seen.closes) <= {"#7"}
    assert not any("e.test" in image for image in seen.images)
    assert seen.comments == []
    assert "hunter22secret" not in written
    assert apply(written) == written
    written.encode()


CODE_WORDS = "` `` ``` ~~~ @bob x fixes #1 | &#64; ![a](http://e.test)"


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(st.sampled_from([*CODE_WORDS.split(), "\n", " ", "    ", "> ", "- "]), max_size=20).map("".join))
def test_code_is_unchanged(text: str) -> None:
    """All code of a text is there afterwards, in order, the same to the byte."""
    before, after = code_of(text), iter(code_of(apply(text)))
    assert all(any(code == found for found in after) for code in before) or apply(text).startswith("```")


@settings(max_examples=150, deadline=None)
@given(st.text(), st.sampled_from(Sink))
def test_any_text_in_any_sink(text: str, sink: Sink) -> None:
    """Total, a fixed point, encodable."""
    written = apply(text, sink)
    assert apply(written, sink) == written
    written.encode()


@pytest.mark.parametrize("piece", ["`", "[", "<", "![](", "@a ", "fixes ", "](", "<!--", "&#64;", "fixes [", "[^1]:"])
def test_long_texts_take_their_time_and_no_more(piece: str) -> None:
    """Texts made to be slow: ten times as much takes about ten times as long, never a hundred."""

    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        begin = monotonic()
        apply(text)
        return monotonic() - begin

    seconds(100)
    assert seconds(10_000) < 70 * max(seconds(1_000), 0.05)
