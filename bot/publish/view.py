"""One region of a source as GitHub reads it: its text with escapes and entities decoded, each character with its place.

Patterns are looked for in `View.text`; what they find is replaced in the source through `View.place`. On the way hidden
HTML, foreign images and tags that are not allowed are noted as edits.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from bot.publish import tags
from bot.publish.clean import clean
from bot.publish.markdown import Page, Region, TooComplex

#: stands between text nodes: what is on two sides of it never makes one word
BORDER = "\0"
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_AUTOLINK = re.compile(r"<(?P<address>[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*|[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[\w.-]+)>")
_TICKS = re.compile(r"`+")
_BANGS = re.compile(r"!+")
#: what neither Markdown nor HTML reads anything into
_TEXT_RUN = re.compile(r"[^\\`<&!\]]+")
_HTML_RUN = re.compile(r"[^<&]+")
_PARENTHESES = r"[^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*"
_DESTINATION = re.compile(
    rf"\]\(\s*+(?P<address><[^<>\n]*>|{_PARENTHESES})"
    r"(?P<title>\s++(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*+\)"
)
#: a title with one of these might act where GitHub takes the brackets for a part of an address before them
_LIVE = re.compile(r"[@#&/\\<>`]|\bGH-", re.IGNORECASE)
#: GitHub makes a link of it before it looks for anything else inside, backticks and backslashes too
_BARE = re.compile(r"(?:(?:https?|ftp)://|www\.)[^\s<]+", re.IGNORECASE)
#: a longer run of backticks is no code to GitHub, whatever follows
_LONGEST = 80
#: lines that begin a block to GitHub's parser and not to ours: an element that newer HTML blocks leave out, a table's
#: second line behind a line that is indented or belongs to a list by laziness only
_DASHES = r"[ \t]*:?-+:?[ \t]*"
_OTHER_BLOCK = re.compile(
    rf"\n[ \t>]*(?=</?source\b|(?=[ \t:-]*[|:])\|?{_DASHES}(?:\|{_DASHES})*\|?[ \t]*(?:\n|\Z))", re.IGNORECASE
)
#: and, in a line that belongs to a list or quote by laziness only, a tag alone
_LONE_TAG = re.compile(r"\n[ \t>]*(?=</?[A-Za-z][A-Za-z0-9-]*\b[^\n]*>[ \t]*(?:\n|\Z))")
_IMAGE = re.compile(rf"\[(?P<alt>[^\[\]]*)\](?:\(\s*(?P<address><[^<>\n]*>|{_PARENTHESES})|\[(?P<label>[^\[\]]*)\])?")
_MARKUP = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


class Edit(NamedTuple):
    """Replace source from `start` to `end`."""

    start: int
    end: int
    text: str


@dataclass(slots=True)
class View:
    """`text[i]` was made from the source between `places[i]`."""

    region: Region
    characters: list[str] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    #: addresses of links, by the index in `text` where their destination stood, with its place in the source
    links: list[tuple[int, int, int, str]] = field(default_factory=list)
    #: a backtick that opens nothing stands in the text: one more would
    loose: bool = False

    @property
    def text(self) -> str:
        return "".join(self.characters)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Source offsets of `text[start:end]`."""
        return self.places[start][0], self.places[end - 1][1]

    def add(self, text: str, start: int, end: int) -> None:
        self.characters.extend(text)
        self.places.extend([(start, end)] * len(text))

    def add_as_is(self, text: str, start: int) -> None:
        """Text whose every character stands for itself."""
        self.characters.extend(text)
        end = start + len(text)
        self.places.extend(zip(range(start, end), range(start + 1, end + 1), strict=True))


def look(page: Page, region: Region, own: Callable[[str], bool], *, trusting: bool) -> View:
    """Read a region. `trusting` takes what looks like a link's destination for one; else it is text."""
    view = View(region)
    reader = _Html(page, view, own) if region.kind == "html" else _Text(page, view, own, trusting)
    position = region.start
    while position < region.end:
        position = reader.step(position)
    return view


class _Html:
    """Inside an HTML block: tags, comments, entities; Markdown means nothing."""

    _run = _HTML_RUN

    def __init__(self, page: Page, view: View, own: Callable[[str], bool]) -> None:
        self.source = page.source
        self.end = view.region.end
        self.view = view
        self.own = own
        #: what does not stand anywhere behind this: not looked for again
        self._absent: set[str] = set()

    def step(self, position: int) -> int:
        """Read what stands at `position`; returns where the next thing begins."""
        character = self.source[position]
        if run := self._run.match(self.source, position, self.end):
            return self._as_is(run)
        if character == "<":
            return self._angle(position) or self._visible(position, "&lt;")
        if character == "&":
            return self._entity(position) or self._visible(position, "&amp;")
        return self._plain(position)

    def _plain(self, position: int) -> int:
        self.view.add(self.source[position], position, position + 1)
        return position + 1

    def _as_is(self, run: re.Match[str]) -> int:
        self.view.add_as_is(run[0], run.start())
        return run.end()

    def _visible(self, position: int, entity: str) -> int:
        """A sign that browsers might make more of than its writer: shown as itself."""
        self.view.edits.append(Edit(position, position + 1, entity))
        return self._plain(position)

    def _angle(self, position: int) -> int:
        """A tag or something hidden; 0 where it is neither."""
        if hidden := self._hidden(position):
            ticks = self.source[max(0, position - 1) : position] == self.source[hidden : hidden + 1] == "`"
            # two runs of backticks that met would be another run
            self.view.edits.append(Edit(position, hidden, " " if ticks else ""))
            return hidden
        if code := tags.CODE.match(self.source, position, self.end):
            return self._border(position, code.end())
        tag = tags.TAG.match(self.source, position, self.end)
        if tag is None:
            return 0
        stays = tags.rewrite(tag, self.own)
        if stays != tag[0]:
            self.view.edits.append(Edit(position, tag.end(), stays))
        return self._border(position, tag.end())

    def _border(self, start: int, end: int) -> int:
        self.view.add(BORDER, start, end)
        return end

    def _hidden(self, position: int) -> int:
        """The end of a comment, declaration, instruction or CDATA section that begins here, else 0."""
        for opening, short, closing in (
            ("<!--", ("<!-->", "<!--->"), "-->"),
            ("<![CDATA[", (), "]]>"),
            ("<?", (), "?>"),
            ("<!", (), ">"),
        ):
            if not self.source.startswith(opening, position):
                continue
            for whole in short:
                if self.source.startswith(whole, position):
                    return position + len(whole)
            if opening == "<!" and not self.source[position + 2 : position + 3].isalpha():
                return 0
            if closing in self._absent:
                return 0
            found = self.source.find(closing, position + len(opening), self.end)
            if found == -1:
                self._absent.add(closing)
                return 0
            return found + len(closing)
        return 0

    def _entity(self, position: int) -> int:
        match = _ENTITY.match(self.source, position, self.end)
        if match is None:
            return 0
        decoded = html.unescape(match[0])
        if decoded == match[0]:
            return 0
        if clean(decoded) == "":
            self.view.edits.append(Edit(position, match.end(), ""))
        else:
            self.view.add(decoded, position, match.end())
        return match.end()


class _Text(_Html):
    """Markdown text: code spans, autolinks, escapes, images and destinations, then what HTML has."""

    _run = _TEXT_RUN

    def __init__(self, page: Page, view: View, own: Callable[[str], bool], trusting: bool) -> None:
        super().__init__(page, view, own)
        self._page = page
        self._trusting = trusting
        self._runs: dict[int, list[int]] = {}
        self._last_run = -1
        for run in _TICKS.finditer(self.source, view.region.start, view.region.end):
            self._runs.setdefault(len(run[0]), []).append(run.start())
            self._last_run = run.start()
        self._bare = [match.span() for match in _BARE.finditer(self.source, view.region.start, view.region.end)]
        #: where the last thing ended in which no address is a link of its own
        self._clear = view.region.start
        self._other_blocks()

    def step(self, position: int) -> int:
        if run := self._run.match(self.source, position, self.end):
            return self._as_is(run)
        match self.source[position]:
            case "\\" if position + 1 < self.end and self.source[position + 1] in _MARKUP:
                if self.source[position + 1] == "<" and self._in_address(position):
                    # the backslash belongs to the address, and a tag would begin
                    self.view.edits.append(Edit(position, position + 2, "&lt;"))
                self.view.add(self.source[position + 1], position, position + 2)
                return position + 2
            case "`":
                return self._ticks(position)
            case "<":
                return self._autolink(position) or self._angle(position) or self._plain(position)
            case "&":
                return self._entity(position) or self._plain(position)
            case "!" if bangs := _BANGS.match(self.source, position, self.end):
                # at the end of the region nothing follows that it could belong to
                image = bangs.end() < self.end and self.source[bangs.end()] == "["
                return self._bang(position, bangs.end()) if image else self._as_is(bangs)
            case "]" if destination := _DESTINATION.match(self.source, position, self.end):
                return self._destination(destination)
            case _:
                return self._plain(position)

    def _ticks(self, position: int) -> int:
        run = _TICKS.match(self.source, position, self.end)
        assert run is not None
        length = len(run[0])
        if length > _LONGEST:
            raise TooComplex
        same = self._runs.get(length, [])
        following = bisect_left(same, run.end())
        if self._in_address(position):
            self.view.edits.append(Edit(position, position, " "))
        if following < len(same):
            self._clear = same[following] + length
            return self._border(position, self._clear)
        self.view.loose = True
        if run.start() < self._last_run:
            # GitHub's parser misses code behind a run that nothing closes
            self.view.edits.append(Edit(position, run.end(), "&#96;" * length))
        self.view.add(run[0][0], position, run.end())
        return run.end()

    def _in_address(self, position: int) -> bool:
        """Whether GitHub takes what stands here for a part of the address before it."""
        before = bisect_left(self._bare, (position,)) - 1
        return before >= 0 and self._clear <= self._bare[before][0] and position < self._bare[before][1]

    def _other_blocks(self) -> None:
        """What would begin a block to GitHub alone goes on the line before."""
        start = self.view.region.start
        for pattern in (_OTHER_BLOCK, _LONE_TAG) if self.view.region.nested else (_OTHER_BLOCK,):
            for match in pattern.finditer(self.source, start, self.end):
                self.view.edits.append(Edit(match.start(), match.end(), " "))

    def _autolink(self, position: int) -> int:
        link = _AUTOLINK.match(self.source, position, self.end)
        if link is None:
            return 0
        self.view.links.append((len(self.view.characters), position, link.end(), link["address"]))
        return self._border(position, link.end())

    def _bang(self, start: int, end: int) -> int:
        """`!` before a bracket: an image of another host loses it and is a link."""
        image = _IMAGE.match(self.source, end, self.end)
        address: str | None = None
        if image is not None and image["address"] is not None:
            address = image["address"].strip("<>")
        elif image is not None:
            address = self._page.refers(image["label"] or image["alt"])
        if self._trusting and (self.own(address) if address is not None else image is not None):
            self.view.add("!", start, end)
            return end
        empty = image is not None and not image["alt"].strip()
        self.view.edits.append(Edit(start, end + 1, "[image" if empty else "["))
        return end

    def _destination(self, match: re.Match[str]) -> int:
        self.view.links.append(
            (len(self.view.characters), match.start(), match.end(), html.unescape(match["address"].strip("<>")))
        )
        if not self._trusting:
            return self._plain(match.start())
        if match["title"] and _LIVE.search(match["title"]):
            self.view.edits.append(Edit(match.start("title"), match.end("title"), ""))
        return self._border(match.start(), match.end())
