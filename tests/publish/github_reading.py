"""A second reading of what the bot writes: the rendered HTML as a tree, and the rules as GitHub documents them.

It shares nothing with the policy but the CommonMark parser's library, and that in another configuration (GitHub's
`js-default` rules, no bound of effort); the text is looked at only after it is HTML, and strictly: where GitHub's own
filters might look, this does.

Sources: https://docs.github.com/en/issues/tracking-your-work-with-issues/using-issues/linking-a-pull-request-to-an-issue
and https://docs.github.com/en/get-started/writing-on-github/working-with-advanced-formatting/autolinked-references-and-urls
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urlsplit

from markdown_it import MarkdownIt

#: in the text of a block: something that no word goes across
WALL = "\N{OBJECT REPLACEMENT CHARACTER}"
_MENTION = re.compile(r"(?:^|[^A-Za-z0-9_])@([A-Za-z0-9][A-Za-z0-9-]*)(/[A-Za-z0-9][A-Za-z0-9_-]*)?")
_ADDRESS = re.compile(r"(?:(?<=[\s*_~(])|^)(?:https?://|www\.)[A-Za-z0-9][^\s<]*")
_WORD = r"(?<![A-Za-z0-9_])(?:close|closes|closed|fix|fixes|fixed|resolve|resolves|resolved):?\s+"
_CLOSING = re.compile(
    _WORD + r"((?:[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+)?#[0-9]+|GH-[0-9]+"
    r"|https?://[^\s/]+/[^\s/]+/[^\s/]+/(?:issues|pull)/[0-9]+)",
    re.IGNORECASE,
)
_BEFORE = re.compile(_WORD + r"$", re.IGNORECASE)
_ISSUE = re.compile(r"https?://[^\s/]+/([^\s/]+/[^\s/]+)/(?:issues|pull)/([0-9]+)", re.IGNORECASE)
_TAGS = "p li ul ol div h1 h2 h3 h4 h5 h6 table thead tbody tr td th pre summary blockquote details hr dl dt dd"
_BLOCKS = frozenset(_TAGS.split())
_VOID = frozenset({"br", "hr", "img", "input", "source", "wbr", "meta", "link"})
#: their content is not shown, or shown by somebody else
_NAMES = (
    "script style template noscript iframe object embed svg math title textarea select xmp noembed noframes plaintext"
    " video audio link meta base form frameset"
)
_UNSEEN = frozenset(_NAMES.split())
_LOADS = ("src", "srcset", "poster", "background", "data", "style", "lowsrc", "dynsrc", "xlink:href")


@dataclass
class Reading(HTMLParser):
    """What stands in a page, and what acts in it."""

    html: str
    pings: list[str] = field(default_factory=list)
    closes: list[str] = field(default_factory=list)
    #: addresses that a browser would fetch
    loads: list[str] = field(default_factory=list)
    #: comments, instructions, elements and attributes that nobody sees
    hidden: list[str] = field(default_factory=list)
    #: all that a person can see, code and links' addresses too
    shown: str = ""
    code: list[str] = field(default_factory=list)
    #: the texts of the blocks, code in them a wall
    _blocks: list[str] = field(default_factory=lambda: [""])
    _run: str = ""
    _open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.html)
        self.close()
        self._end_run()
        for block in self._blocks:
            self.closes += [match[1].lower() for match in _CLOSING.finditer(block)]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNSEEN:
            self.hidden.append(f"<{tag}>")
        self._attributes(tag, attrs)
        self._border(tag)
        if tag == "a":
            self._link(dict(attrs).get("href") or "")
        if tag == "code":
            self.code.append("")
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self._border(tag)
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        self.shown += data
        if "code" in self._open and self.code:
            self.code[-1] += data
        if {"code", "pre", "tt"} & set(self._open):
            self._end_run()
            self._blocks[-1] += WALL
            return
        self._blocks[-1] += data
        if "a" in self._open:
            self._end_run()
        else:
            self._run += data

    def handle_comment(self, data: str) -> None:
        self.hidden.append(data)

    def handle_decl(self, decl: str) -> None:
        self.hidden.append(decl)

    def unknown_decl(self, data: str) -> None:
        self.hidden.append(data)

    def handle_pi(self, data: str) -> None:
        self.hidden.append(data)

    def _attributes(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in _LOADS:
                self.loads.append(value or "")
            if name in ("hidden", "style", "aria-hidden") or name.startswith(("on", "data-")):
                self.hidden.append(f"{tag} {name}")
            self.shown += (
                f" {value} " if name in ("href", "src", "alt", "title", "align", "start", "class", "lang") else ""
            )

    def _border(self, tag: str) -> None:
        """A block ends, or a run of text: a mention does not go across a tag."""
        self._end_run()
        if tag in _BLOCKS:
            self._blocks.append("")
            self.shown += "\n"
        elif tag == "br":
            self._blocks[-1] += "\n"

    def _link(self, address: str) -> None:
        issue = _ISSUE.match(address)
        if issue and _BEFORE.search(self._blocks[-1]):
            self.closes.append(f"{issue[1]}#{issue[2]}".lower())

    def _end_run(self) -> None:
        run, self._run = self._run, ""
        addresses = [match.span() for match in _ADDRESS.finditer(run)]
        for match in _MENTION.finditer(run):
            if not any(start < match.start(1) < end for start, end in addresses):
                self.pings.append((match[1].rstrip("-") + (match[2] or "")).lower())


def render(text: str) -> str:
    """`text` as HTML, nothing left out of it."""
    html: str = MarkdownIt("js-default", {"html": True, "linkify": False, "maxNesting": 400}).render(text)
    return html


def reading(text: str) -> Reading:
    """A Markdown text as it is read on the page."""
    return Reading(render(text))


def foreign(address: str) -> bool:
    """Whether loading an address tells a stranger that somebody reads the page."""
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return True
    if parts.scheme or parts.netloc or address.lstrip().startswith(("//", "\\")):
        return (parts.hostname or "") != "github.com"
    return False
