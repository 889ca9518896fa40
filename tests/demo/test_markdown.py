"""Comments as HTML: what people write is shown, nothing that they write becomes markup of its own."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.demo.markdown import render

TAGS = frozenset(
    ("a", "blockquote", "br", "code", "del", "details", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "input", "kbd",
     "li", "ol", "p", "pre", "s", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "th", "thead",
     "tr", "ul")
)  # fmt: skip
VOID = frozenset({"br", "hr", "input"})
BOX = frozenset({"type", "data-box", "disabled", "checked", "aria-label"})


class Reader(HTMLParser):
    """Collects tags and attributes, and whether they nest."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str]] = set()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {(name, value or "") for name, value in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.wrong.append(f"comment {data}")


def read(text: str) -> Reader:
    """The rendered HTML, taken apart."""
    reader = Reader()
    reader.feed(render(text))
    reader.close()
    return reader


def test_what_people_use() -> None:
    """Emphasis, code, lists, tables, quotes, folded parts, small print, mentions."""
    html = render(
        "**b** `c` ~~d~~ @meg\nnext\n\n> q\n\n| a |\n|---|\n| 1 |\n\n"
        "<details><summary>Result</summary>\n\n`low`\n\n</details>\n\n<sub>[r4](https://bot.example/4) · x</sub>"
    )
    for part in (
        "<strong>b</strong>", "<code>c</code>", "<s>d</s>", '<span class="mention">@meg</span><br', "<blockquote>",
        "<td>1</td>", "<details><summary>Result</summary>", "<code>low</code>", "</details>", "<sub><a href=",
    ):  # fmt: skip
        assert part in html, part


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "a <b onclick=alert(1)>b</b>",
        '<details ontoggle="alert(1)" open>x',
        "<details\nontoggle=alert(1)>",
        "<a href='javascript:alert(1)'>x</a>",
        "[x](javascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "![x](javascript:alert(1))",
        '[x](https://a.example "\\" onclick=alert(1)")',
        "<iframe src=//evil.example></iframe>",
        "<style>*{display:none}</style>",
        "<form action=//evil.example><input name=a></form>",
        "<svg><script>alert(1)</script></svg>",
        "<!--><script>alert(1)</script>-->",
        "<!-- <b> --> <scr<!-- -->ipt>alert(1)</script>",
        "</div></article></main><h1>gone</h1>",
        "</details></details>",
        "<details><summary>a\n\n- <sub>x\n- y</details>",
        "<sub>x <sup>y</sub> z</sup>",
        "`<script>` and ```<script>```",
        "```js onclick=alert(1)\n</code></pre><script>\n```",
        "&lt;script&gt; <p>&lt;script&gt;</p>",
        "| <details> | </td> |\n|---|---|\n| <sub> | x |",
        "<<script>script>alert(1)<</script>/script>",
        "<kbd/onclick=alert(1)>x",
        '- [ ] "><script>alert(1)</script> <b title="x">',
        "<input type=text autofocus onfocus=alert(1)>",
    ],
)
def test_nothing_gets_through(text: str) -> None:
    """Only known tags, only links with harmless addresses, everything balanced, no comment."""
    _is_safe(text)


def _is_safe(text: str) -> None:
    found = read(text)
    assert found.tags <= TAGS
    assert found.wrong == []
    assert found.open == []
    for name, value in found.attributes:
        assert name in {"href", "rel", "target", "class", "start"} | BOX, name
        if name == "href":
            assert not value.lower().lstrip().startswith(("javascript:", "data:text", "vbscript:", "file:"))


PARTS = (
    "<details>", "</details>", "<summary>", "</summary>", "<sub>", "</sub>", "<kbd>", "<br>", "</p>", "<!--", "-->",
    "<script", "<b", ">", "\n", "\n\n", "- ", "[x] ", "> ", "    ", "| a |", "|---|", "`", "```", "*", "[x](", ")",
    "javascript:", "&lt;", "x", "'", '"', "@meg",
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=25))
def test_no_mixture_gets_through(parts: list[str]) -> None:
    """Whatever is put together stays balanced and harmless."""
    _is_safe("".join(parts))


def test_columns_are_aligned_by_class() -> None:
    """The page's policy forbids styles in place, and a browser complains about each."""
    html = render("| a | b | c | d |\n|---|:--|:-:|--:|\n| 1 | 2 | 3 | 4 |")
    assert "style" not in html
    for cell in ("<th>a</th>", "<th>b</th>", '<th class="center">c</th>', '<th class="right">d</th>', "<td>2</td>",
                 '<td class="right">4</td>'):  # fmt: skip
        assert cell in html, cell


def test_hidden_text_stays_hidden() -> None:
    """Comments vanish, an unclosed block of one too; what is dropped around text leaves the text."""
    assert "secret" not in render("a <!-- secret --> b\n\n<!-- secret\nmore -->\n\nc\n\n<!-- secret")
    assert "kept" in read("<font color=red>kept</font>").text


def test_images_become_links() -> None:
    """The page loads nothing from elsewhere."""
    found = read("![a *cat*](https://img.example/cat.png)")
    assert "img" not in found.tags
    assert ("href", "https://img.example/cat.png") in found.attributes
    assert found.text.strip() == "a *cat*"


def test_mentions_are_people_only() -> None:
    """No addresses, no packages, no code."""
    for text in ("mail a@meg.example", "`@meg`", "x/@meg", "@types/node"):
        assert "mention" not in render(text), text
    assert render("@meg, @ana-2!").count("mention") == 2
