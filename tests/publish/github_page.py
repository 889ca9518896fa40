"""What GitHub would make of a text: rendered, then looked through as its filters do. Written apart from the policy."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

from markdown_it import MarkdownIt

_MENTION = re.compile(r"(?:^|[^A-Za-z0-9_])@([A-Za-z0-9][A-Za-z0-9-]*)")
_URL = re.compile(r"(?:^|(?<=[\s*_~(]))https?://[\w.-]+(?::\d+)?[/?#]\S*")
_CLOSING = re.compile(
    r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+((?:[\w.-]+/[\w.-]+)?#\d+|GH-\d+|https?://\S+/(?:issues|pull)/\d+)",
    re.IGNORECASE,
)
_BLOCKS = ("p", "li", "div", "h1", "h2", "h3", "td", "th", "pre", "summary", "blockquote", "details", "hr")
_SILENT = ("code", "pre", "a", "tt")


@dataclass
class Seen(HTMLParser):
    """A rendered comment."""

    html: str
    pings: list[str] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    text: str = ""
    _open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.html)
        self.close()

    @property
    def closes(self) -> list[str]:
        return _CLOSING.findall(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "img":
            self.images.append(dict(attrs).get("src") or "")
        elif tag not in ("br", "hr"):
            self._open.append(tag)
        if tag in _BLOCKS:
            self.text += "\N{OBJECT REPLACEMENT CHARACTER}"
        if tag == "code":
            self.code.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def handle_data(self, data: str) -> None:
        if "code" in self._open and self.code:
            self.code[-1] += data
        if any(tag in _SILENT for tag in self._open):
            # GitHub looks into none of these
            self.text += "\N{OBJECT REPLACEMENT CHARACTER}"
            return
        self.text += data
        urls = [match.span() for match in _URL.finditer(data)]
        for match in _MENTION.finditer(data):
            if not any(a < match.start(1) < b for a, b in urls):
                self.pings.append(match[1].lower().rstrip("-"))


def page(text: str) -> Seen:
    """Render and look."""
    markdown = MarkdownIt("commonmark", {"html": True, "maxNesting": 200}).enable(["table", "strikethrough"])
    return Seen(markdown.render(text))


def code_of(text: str) -> list[str]:
    """The texts of all code in a Markdown source: spans, fences, indented blocks."""
    found: list[str] = []
    for token in MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text):
        if token.type in ("fence", "code_block"):
            found.append(token.content)
        found += [child.content for child in token.children or [] if child.type == "code_inline"]
    return found
