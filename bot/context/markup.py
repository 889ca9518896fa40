"""What a text hides from people when GitHub renders it, found and taken out in one pass.

Code is masked first, so that nothing in it is touched. The mask is a noncharacter, which `make_visible` took out of
the text before. Sources: CommonMark 0.31, GFM (tables, footnotes), the HTML standard's tokenizer (comments, bogus
comments, attributes).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from bot.context.entities import decode
from bot.context.links import without_hidden_link_text
from bot.context.structure import Definition, Span, Structure, structure
from bot.context.tally import Tally

_WORTH_A_LOOK = re.compile(r"[<&|]|\][(\[:]|!\[|```|~~~")
_MASK = re.compile("\ufdd0([0-9]+)\ufdd1")
_TOKEN = re.compile(r"\\[!-/:-@\[-`{-~]|`+|<(?:!--|[!?/A-Za-z])")
#: what is a declaration in running text; raw HTML takes anything after `<!`, `<?` or `</`
_DECLARATION = re.compile(r"<(?:\?|!\[|![A-Za-z])")
_AUTOLINK = re.compile(r"<(?:[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*|[\w.!#$%&'*+/=?^`{|}~-]+@[A-Za-z0-9.-]+)>")
_COMMENT_END = re.compile(r"--!?>")
#: an HTML tag in running text (CommonMark 6.6)
_TAG = re.compile(
    r"<(?P<slash>/?)(?P<name>[A-Za-z][A-Za-z0-9-]*+)"
    r"(?P<rest>(?:\s++[A-Za-z_:][\w:.-]*+(?:\s*+=\s*+(?:[^\s\"'=<>`]++|'[^']*+'|\"[^\"]*+\"))?)*+\s*+/?)>"
)
#: the same in raw HTML, where browsers forgive anything
_LOOSE_TAG = re.compile(r"<(?P<slash>/?)(?P<name>[A-Za-z][^\s/>]*+)(?P<rest>(?:[^>\"']|\"[^\"]*+\"|'[^']*+')*+)>")
_ATTRIBUTE = re.compile(r"([^\s\"'<>/=]++)(?:\s*+=\s*+(\"[^\"]*+\"|'[^']*+'|[^\s\"'=<>`]++))?")
#: what ends an `rp` without an end tag (HTML standard, optional tags)
_RUBY_PARTS = ("rp", "rt", "rb", "rtc")
_VOID = ("br", "hr", "img", "input", "wbr", "source", "col")
_KEPT_ATTRIBUTES = ("href", "src")
#: no HTML element has a longer name; a longer one is a sentence
_LONGEST_NAME = 24
_FENCE = re.compile(r"(?P<open>`{3,}|~{3,})(?P<space>[ \t]*)(?P<word>[^\s`]*)(?P<rest>[^\n]*)")


def without_hidden_text(text: str, tally: Tally) -> str:
    """One pass over a text that `make_visible` gave. Apply it until nothing changes: what goes may reveal more."""
    if not _WORTH_A_LOOK.search(text):
        return text
    masked, kept = _Scan(text, structure(text), tally).run()
    masked = decode(without_hidden_link_text(masked, kept, tally))
    return _MASK.sub(lambda match: kept[int(match.group(1))][0], masked)


def harden(text: str) -> str:
    """For a text that goes on revealing more, pass after pass, as only an attack does: nothing in it stays markup."""
    text = re.sub(r"&(?=[#A-Za-z])", r"\\u{26}", text)
    text = re.sub(r"<(?=[!?/A-Za-z])", r"\\u{3c}", text)
    text = re.sub(r"`(?=``)|~(?=~~)", lambda match: f"\\u{{{ord(match.group()):x}}}", text)
    return re.sub(r"\](?=[(\[:])", r"\\u{5d}", text)


@dataclass(slots=True)
class _Fallback:
    """An open `rp` element: what it holds is for browsers that know no ruby, which nobody has."""

    start: int
    #: the paragraph's end, which ends it too; None in raw HTML
    end: int | None
    #: how much was put out before it
    before: int
    #: how many `ruby` elements were open
    ruby: int
    #: the elements open in it; while there are any, nothing but the paragraph's end is sure to end it
    inside: list[str] = field(default_factory=list)


class _Scan:
    """Left to right: masks code, removes comments and the like, strips tags. The leftmost construct wins."""

    def __init__(self, text: str, blocks: Structure, tally: Tally) -> None:
        self.text = text
        self.blocks = blocks
        self.tally = tally
        self.out: list[str] = []
        #: what each mask stands for, and the definition that it is, if any
        self.kept: list[tuple[str, Definition | None]] = []
        self._ruby = 0
        self._fallback: _Fallback | None = None
        self._runs: dict[int, dict[int, list[int]]] = {}

    def run(self) -> tuple[str, list[tuple[str, Definition | None]]]:
        position = 0
        for span in self.blocks.spans:
            if span.kind in ("html", "text") or span.start < position:
                continue
            position = self._prose(position, span.start)
            if position > span.start:
                # raw HTML swallowed the rest
                break
            raw = self.text[span.start : span.end]
            if isinstance(span, Definition):
                self._mask(raw, span)
            elif span.kind == "surplus":
                self.tally.add("surplus table cell", raw)
            else:
                self._mask(self._plain_info(raw))
            position = span.end
        else:
            self._prose(position, len(self.text))
        self._end_fallback(len(self.text))
        return "".join(self.out), self.kept

    def _mask(self, raw: str, definition: Definition | None = None) -> None:
        self.out.append(f"\ufdd0{len(self.kept)}\ufdd1")
        self.kept.append((raw, definition))

    def _plain_info(self, raw: str) -> str:
        """A fence's info string shows as nothing but the colours of its first word."""
        match = _FENCE.search(raw.split("\n", 1)[0])
        if match is None or not match["rest"].strip() or "`" in match["rest"]:
            return raw
        self.tally.add("info string", match["rest"].strip())
        return raw[: match.start("rest")].rstrip(" \t") + raw[match.end() :]

    def _prose(self, start: int, stop: int) -> int:
        """Go through the text from `start` to `stop`. Returns where it ended: after `stop` if all the rest went."""
        position = start
        while True:
            limit = self._fallback.end if self._fallback and self._fallback.end is not None else stop
            match = _TOKEN.search(self.text, position, limit)
            if match is None and limit < stop:
                self.out.append(self.text[position:limit])
                position = max(position, limit)
                self._end_fallback(limit)
                continue
            if match is None:
                break
            at = match.start()
            self.out.append(self.text[position:at])
            span = self.blocks.at(at) or Span(start, stop, "text")
            end = min(span.end, stop)
            char = match.group()[0]
            if char == "\\":
                # no escapes in raw HTML
                position = at + 1 if span.kind == "html" else match.end()
                self.out.append(self.text[at:position])
            elif char == "`":
                position = self._backticks(at, match.end(), span)
            else:
                position = self._angle(match, span, end, stop)
        if position <= stop:
            self.out.append(self.text[position:stop])
            position = stop
        if self._fallback and self._fallback.end is not None:
            self._end_fallback(self._fallback.end)
        return position

    def _backticks(self, at: int, after: int, span: Span) -> int:
        length = after - at
        if span.kind == "text":
            runs = self._runs.get(span.start)
            if runs is None:
                runs = self._runs[span.start] = {}
                for run in re.finditer("`+", self.text[span.start : span.end]):
                    runs.setdefault(run.end() - run.start(), []).append(span.start + run.start())
                for positions in runs.values():
                    positions.reverse()
            positions = runs.get(length, [])
            while positions and positions[-1] < after:
                positions.pop()
            if positions:
                end = positions[-1] + length
                self._mask(self.text[at:end])
                return end
        self.out.append(self.text[at:after])
        return after

    def _angle(self, match: re.Match[str], span: Span, end: int, stop: int) -> int:
        """What begins with `<`. Returns where to go on: beyond the text's end if all the rest is hidden."""
        text, at, html = self.text, match.start(), span.kind == "html"
        everything = len(text) + 1
        if match.group() == "<!--":
            return self._comment(at, html, end, stop, everything)
        if match.group() in ("<!", "<?") or (match.group() == "</" and not text[at + 2 : at + 3].isalpha()):
            close = text.find(">", at, stop if html else end) + 1
            if html or (close and _DECLARATION.match(text, at)):
                return self._drop("HTML declaration", at, close or everything)
        elif found := (None if html else _AUTOLINK.match(text, at, end)):
            self.out.append(found.group())
            return found.end()
        elif tag := (_LOOSE_TAG.match(text, at, stop) if html else _TAG.match(text, at, end)):
            if not self._is_fallback(tag, None if html else end):
                self.out.append(self._plain_tag(tag))
            return tag.end()
        elif html:
            # an unfinished tag swallows what follows
            return self._drop("unfinished HTML tag", at, everything)
        self.out.append("<")
        return at + 1

    def _comment(self, at: int, html: bool, end: int, stop: int, everything: int) -> int:
        for empty in ("<!-->", "<!--->"):
            if self.text.startswith(empty, at):
                return self._drop("HTML comment", at, at + len(empty))
        # raw HTML is closed only by raw HTML; running text is generously taken as one
        closing = _COMMENT_END.search(self.text, at + 4, end if html else stop)
        if closing:
            return self._drop("HTML comment", at, closing.end())
        return self._drop("unclosed HTML comment", at, everything if html else end)

    def _drop(self, name: str, start: int, end: int) -> int:
        dropped = self.text[start:end]
        if end <= len(self.text) and dropped.endswith("\n"):
            # the block's line end is not part of it
            dropped, end = dropped[:-1], end - 1
        self.tally.add(name, dropped)
        return end

    def _is_fallback(self, tag: re.Match[str], end: int | None) -> bool:
        """Keep account of ruby. Says whether the tag is one of an `rp` element, which goes with all that it holds."""
        name, opens, open_ = tag["name"].lower(), not tag["slash"], self._fallback
        ours = open_ is not None and not open_.inside
        if open_ and ours and not opens and name == "rp":
            self._end_fallback(tag.end())
            return True
        if open_ and ours and open_.ruby and name in (_RUBY_PARTS if opens else ("ruby",)):
            self._end_fallback(tag.start())
        if self._fallback:
            if opens and name not in _VOID:
                self._fallback.inside.append(name)
            elif not opens and self._fallback.inside[-1:] == [name]:
                self._fallback.inside.pop()
        elif opens and name == "rp":
            self._fallback = _Fallback(tag.start(), end, len(self.out), self._ruby)
            return True
        elif name == "ruby":
            self._ruby = max(0, self._ruby + (1 if opens else -1))
        return False

    def _end_fallback(self, end: int) -> None:
        if self._fallback:
            del self.out[self._fallback.before :]
            dropped = self.text[self._fallback.start : end]
            self.tally.add("ruby fallback", dropped)
            if end == self._fallback.end and dropped[-1] in "\n|":
                # the line's end and the cell's border are not part of it
                self.out.append(dropped[-1])
            self._fallback = None

    def _plain_tag(self, tag: re.Match[str]) -> str:
        """The tag with nothing but its name and where it points."""
        if len(tag["name"]) > _LONGEST_NAME:
            self.tally.add("HTML tag", tag.group())
            return ""
        if not tag["rest"].strip(" \n/"):
            return tag.group()
        kept: list[str] = []
        dropped: list[str] = []
        for attribute in _ATTRIBUTE.finditer(tag["rest"]):
            name, value = attribute.groups()
            if name.lower() in _KEPT_ATTRIBUTES and value:
                kept.append(f"{name}={value}")
            else:
                dropped.append(attribute.group())
        plain = f"<{tag['slash']}{' '.join([tag['name'], *kept])}>"
        if not dropped and _same_but_space(plain, tag.group()):
            return tag.group()
        for text in dropped or [tag["rest"]]:
            self.tally.add("HTML attribute", text)
        return plain


def _same_but_space(one: str, other: str) -> bool:
    return re.sub(r"[\s/]", "", one) == re.sub(r"[\s/]", "", other)
