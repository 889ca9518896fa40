"""A long text in parts that each stand alone, cut where the text allows it best.

GitHub takes at most 65,536 characters and 262,144 bytes a comment (a character is at most four bytes, so the first
bound holds the second). A fence or `<details>` that a cut goes through is closed in one part and opened again in the
next; so are lists and table heads. The `text` of the parts joined is the text that was split.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, replace

from markdown_it.token import Token

from bot.publish import tags
from bot.publish.clean import whole
from bot.publish.markdown import Effort, parse

CHARACTERS = 65_536
BYTES = 262_144
#: kept free in every part for the marker and a footer
RESERVE = 2_500
_SUMMARY = re.compile(r"<details[^>]{0,200}>\s*(<summary>[^\n]{0,200}?</summary>)")
_UNCLOSED = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">"))
_RAW = re.compile(r"<(pre|script|style|textarea)\b", re.IGNORECASE)
#: what is put behind a text to see whether it is still open
_PROBE = "probe"
#: no place to cut while there is another
_NEVER = 99
#: how often a part is made shorter until what closes it fits
_TRIES = 12


@dataclass(frozen=True, slots=True)
class Part:
    """`text` is the piece of the original, `head` and `tail` open and close what the cuts went through."""

    text: str
    head: str = ""
    tail: str = ""

    @property
    def body(self) -> str:
        """What is posted."""
        return self.head + self.text + self.tail


def split(
    text: str,
    *,
    max_parts: int = 3,
    rest: str = "",
    more: bool = False,
    characters: int = CHARACTERS,
    size: int = BYTES,
    reserve: int = RESERVE,
) -> tuple[Part, ...]:
    """Cut `text` into at most `max_parts` parts; what does not fit is left out and `rest` (a link) says so.

    `more`: something behind `text` was left out already, so `rest` is said in any case.

    Every body has at most `characters` characters and `size` bytes less `reserve`. Raises ValueError where that leaves
    no room to speak of, and `TooComplex` for a text that takes too long to read.
    """
    limit = min(characters, size // 4) - reserve
    if max_parts < 1 or limit < len(rest) + 100:
        raise ValueError("no room for a part")
    note = f"\n\n{rest}" if rest else ""
    said = note if more else ""
    if len(text) + len(said) <= limit:
        end = closing(text) + said
        if len(text) + len(end) <= limit:
            return (Part(text, tail=end),)
    outline = _Outline(text)
    parts: list[Part] = []
    start, head = 0, ""
    while True:
        last = len(parts) + 1 == max_parts
        remaining = text[start:]
        if len(head) + len(remaining) + len(said) <= limit:
            end = closing(head + remaining) + said
            if len(head) + len(remaining) + len(end) <= limit:
                return (*parts, Part(remaining, head, end))
        part, cut = _cut(outline, start, head, limit - (len(note) if last else 0))
        parts.append(replace(part, tail=part.tail + note) if last else part)
        if last:
            return tuple(parts)
        start, head = cut, _head(outline, part, cut, limit)


def closing(text: str) -> str:
    """What closes the fence, the hidden HTML and the `<details>` that `text` leaves open; empty for none."""
    end = ""
    for _ in range(5):
        tokens = _tokens(f"{text}{end}\n\n{_PROBE}")
        if _ends_with_probe(tokens):
            break
        end += _closer(tokens[-1], (end or text).endswith("\n"))
    return end + "\n\n</details>" * len(_open_details(tokens))


def _tokens(text: str) -> list[Token]:
    return parse(text, Effort.of(text))


def _ends_with_probe(tokens: list[Token]) -> bool:
    return len(tokens) > 1 and tokens[-1].type == "paragraph_close" and tokens[-2].content == _PROBE


def _closer(token: Token, new_line: bool) -> str:
    if token.type == "fence":
        # an empty line would be one of the code
        return token.markup if new_line else f"\n{token.markup}"
    content = token.content.lstrip()
    for opening, end in _UNCLOSED:
        if content.startswith(opening):
            return f"\n{end}"
    raw = _RAW.match(content)
    return f"\n</{raw[1]}>" if raw else "\n\n"


def _open_details(tokens: list[Token]) -> list[str]:
    """How to open again each `<details>` that a text leaves open, outermost first."""
    stack: list[str] = []
    for token in tokens:
        if token.type == "html_block":
            pieces = [token.content]
        elif token.type == "inline":
            pieces = ["".join(c.content for c in token.children or [] if c.type == "html_inline")]
        else:
            continue
        for piece in pieces:
            for tag in tags.TAG.finditer(piece):
                if tag["name"].lower() != "details":
                    continue
                if not tag["slash"]:
                    summary = _SUMMARY.match(piece, tag.start())
                    stack.append(f"<details>{summary[1] if summary else ''}\n\n")
                elif stack:
                    stack.pop()
    return stack


class _Outline:
    """Where the lines of a text begin, how good a cut before each is, and what it would go through."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0]
        for line in text.split("\n")[:-1]:
            self.starts.append(self.starts[-1] + len(line) + 1)
        #: lower is better: the depth of the block that begins there, then lines inside of blocks
        self.ranks = [50] * len(self.starts)
        self.fences: dict[int, Token] = {}
        self.tables: dict[int, tuple[int, int]] = {}
        self.listed: set[int] = set()
        for token in _tokens(text):
            if token.map is not None and token.nesting >= 0:
                self._note(token, *token.map)

    def _note(self, token: Token, first: int, last: int) -> None:
        last = min(last, len(self.ranks))
        if first >= last:
            return
        if token.type == "fence":
            self.ranks[first + 1 : last] = [30] * (last - first - 1)
            if last - first > 1:
                self.ranks[first + 1] = _NEVER  # an empty fence would stay behind
            self.ranks[last - 1] = max(self.ranks[last - 1], 90) if last - first > 1 else self.ranks[last - 1]
            self.fences.update((line, token) for line in range(first + 1, last))
        elif token.type == "heading_open" or token.type == "html_block":
            self.ranks[first + 1 : last] = [60] * (last - first - 1)
        elif token.type == "table_open" and token.level == 0:
            self.tables.update((line, (first, first + 2)) for line in range(first + 2, last))
            self.ranks[first + 1] = 90
        elif token.type == "list_item_open":
            self.listed.update(range(first + 1, last))
        if token.type != "inline":
            self.ranks[first] = min(self.ranks[first], token.level)

    def line(self, offset: int) -> int:
        """The line that begins at `offset` or holds it."""
        return bisect_right(self.starts, offset) - 1


def _cut(outline: _Outline, start: int, head: str, limit: int) -> tuple[Part, int]:
    """The next part from `start`, and where the one after it begins."""
    if len(head) * 2 > limit:
        head = ""
    budget = limit - len(head)
    for tries in range(_TRIES):
        cut = _place(outline, start, budget)
        text = outline.text[start:cut]
        part = Part(text, head, closing(head + text))
        over = len(part.body) - limit
        if over <= 0:
            return part, cut
        if budget <= max(over, 16):
            break
        # soon in large steps: each try reads the part again
        budget = min(budget - over * 2**tries, cut - start - 1)
        if budget <= 16:
            break
    # closing it takes more room than there is: absurd markup, kept small rather than closed
    cut = start + max(1, limit - len(head))
    cut = max(whole(outline.text, cut), start + 1)
    return Part(outline.text[start:cut], head), cut


def _place(outline: _Outline, start: int, budget: int) -> int:
    """The best offset to cut at, at most `budget` behind `start`: a good line in the second half, else any."""
    first, last = outline.line(start) + 1, outline.line(start + budget)
    lines = range(first, last + 1)
    for lowest in (start + budget // 2, start):
        fitting = [line for line in lines if outline.starts[line] > lowest and outline.ranks[line] < _NEVER]
        if fitting:
            return outline.starts[min(fitting, key=lambda line: (outline.ranks[line], -line))]
    # one line longer than a part: at its last space, else anywhere
    space = outline.text.rfind(" ", start + budget // 2, start + budget)
    return space + 1 if space != -1 else max(whole(outline.text, start + budget), start + 1)


def _head(outline: _Outline, part: Part, cut: int, limit: int) -> str:
    """What opens again at the beginning of the part that starts at `cut`."""
    line = outline.line(cut)
    # of absurd nesting only the innermost: a stray end tag does no harm
    head = "".join(_open_details(_tokens(part.head + part.text))[-3:])
    whole = outline.starts[line] == cut
    if fence := outline.fences.get(line):
        assert fence.map is not None
        prefix = _prefix(outline.text[outline.starts[fence.map[0]] :], fence.markup)
        if len(fence.markup) < 100:
            head += f"{_bullets(prefix)}{prefix}{fence.markup}{(fence.info.split() or [''])[0][:40]}\n"
    elif table := outline.tables.get(line):
        first, last = (outline.starts[number] for number in table)
        head += outline.text[first:last]
    elif line in outline.listed and whole:
        indented = re.match(r"[ >]*", outline.text[cut:])
        head += _bullets(indented[0] if indented else "")
    return head if len(head) * 2 <= limit else ""


def _prefix(opener: str, markup: str) -> str:
    """What stands before a fence in its line, list markers made spaces, so that it continues its containers."""
    return re.sub(r"[^ \t>]", " ", opener[: opener.index(markup)]).expandtabs(4)


def _bullets(prefix: str) -> str:
    """A line that opens as many list items as make `prefix` a small indent again; empty where it is one."""
    quotes, _, inner = prefix.rpartition(">")
    if quotes or ">" in prefix:
        quotes, inner = f"{quotes}> ", inner[1:]
    items = max(0, (len(inner) - 2) // 2)
    return f"{quotes}{'- ' * items}".rstrip() + "\n" if items else ""
