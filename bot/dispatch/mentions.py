"""Finds the requests in a comment: the bot's handle outside code, quotes and links, and the text that follows it."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from markdown_it import MarkdownIt
from markdown_it.token import Token

#: Longest text that is looked at, in characters; GitHub allows 65,536.
LIMIT = 262_144

# Stand-ins for the "@" of each candidate while the text is parsed: markdown-it keeps no positions of inline text, but
# it keeps characters, so the k-th private character tells what became of the k-th candidate.
_FIRST, _LAST = 0xF0000, 0xFFFFD
_STANDS_IN = re.compile(f"[{chr(_FIRST)}-{chr(_LAST)}]")

# HTML whose content people see as a quote or as code; the block elements go on over paragraphs
_BLOCK_TAGS = ("blockquote", "pre")
_TAG = re.compile(r"<(/?)(blockquote|pre|a|code|kbd|samp|tt)\b[^<>]*>", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:://|\bwww\.|\bmailto:)\S+", re.IGNORECASE)
# what may stand before a mention that begins a line: list signs, a task box, heading signs, emphasis
_LINE_START = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)*(?:\[[ xX]\]\s+)?(?:#{1,6}\s+)?[*_~(\"'“]*")
# signs that belong to the sentence around the handle, not to what is asked: "@bot, …", "**@bot** …", "@bot - …"
_CLINGS = re.compile(r"(?:[,:;.!?*_~)\"”]|</\w+>)*(?:[ \t]*[-–—](?=\s))?")


@dataclass(frozen=True, slots=True)
class Mention:
    """One request. `text` is what follows the handle, verbatim but for white space and signs at its ends.

    `start` is the position of the handle's "@", in characters of the text that was searched.
    """

    handle: str
    text: str
    start: int


def find(text: str, handles: Collection[str]) -> tuple[Mention, ...]:
    """The requests in a comment, in order; identical ones appear once.

    The first counts wherever it stands in a sentence; its text goes on to the next mention that begins a line. The text
    is read as CommonMark: code, quotes, HTML comments and blocks, links and images hold no mentions. Never raises.
    """
    seen: dict[tuple[str, str], Mention] = {}
    for mention in _split(_searchable(text), handles):
        seen.setdefault(_same(mention), mention)
    return tuple(seen.values())


def added(old: str, new: str, handles: Collection[str], read: Callable[[str], Hashable]) -> tuple[Mention, ...]:
    """The requests of `new` that `old` did not have: what an edit asks for.

    `read` tells what the text behind a handle comes to: its command and params, without the free text. A mention counts
    if it is one more than `old` had of that; other words behind one that was there do not make it another, nor do ticks
    and white space. Those whose words did not change are told apart first, so that it is the new one that counts.
    """
    before, fresh = find(old, handles), find(new, handles)
    for alike in (_same, partial(_comes_to, read=read)):
        before, fresh = _without(before, fresh, alike), _without(fresh, before, alike)
    return fresh


def _without(
    these: Sequence[Mention], those: Sequence[Mention], alike: Callable[[Mention], Hashable]
) -> tuple[Mention, ...]:
    """These without as many as there are alike among those, the first ones first."""
    left = Counter(map(alike, those))
    kept: list[Mention] = []
    for mention in these:
        if left[alike(mention)]:
            left[alike(mention)] -= 1
        else:
            kept.append(mention)
    return tuple(kept)


def _comes_to(mention: Mention, read: Callable[[str], Hashable]) -> tuple[str, Hashable]:
    return mention.handle.casefold(), read(mention.text)


def _same(mention: Mention) -> tuple[str, str]:
    """What makes two requests identical; white space does not tell them apart."""
    return mention.handle.casefold(), " ".join(mention.text.split())


def _searchable(text: str) -> str:
    return text[:LIMIT].replace("\r\n", "\n").replace("\r", "\n")


def _split(text: str, handles: Collection[str]) -> Iterator[Mention]:
    live = _live(text, list(_candidates(text, handles)))
    starts = live[:1] + [found for found in live[1:] if _begins_line(text, found[0])]
    for number, (start, end, handle) in enumerate(starts):
        last = number + 1 == len(starts)
        stop = len(text) if last else text.rfind("\n", 0, starts[number + 1][0])
        rest = text[end:stop]
        yield Mention(handle, _CLINGS.sub("", rest, count=1).strip(), start)


def _candidates(text: str, handles: Collection[str]) -> Iterator[tuple[int, int, str]]:
    """Start, end and handle wherever a handle stands between word boundaries."""
    names = {name.casefold(): handle for handle in handles if (name := handle.strip().removeprefix("@"))}
    if not names:
        return
    longest_first = sorted(names, key=len, reverse=True)
    pattern = re.compile(rf"@({'|'.join(map(re.escape, longest_first))})(?:\[bot\])?", re.IGNORECASE)
    addresses = _ADDRESS.finditer(text)
    address = next(addresses, None)
    for match in pattern.finditer(text):
        start, end = match.span()
        while address and address.end() <= start:
            address = next(addresses, None)
        if address and address.start() < start:
            continue
        handle = names.get(match[1].casefold())
        if handle and _free_before(text[start - 1 : start]) and _free_after(text[end : end + 2]):
            yield start, end, handle


def _free_before(one: str) -> bool:
    return not one or not (_joins(one) or one in "@/.+-=&#")


def _free_after(two: str) -> bool:
    if not two:
        return True
    if two[0] == "." and len(two) > 1:
        return not _joins(two[1])
    return not (_joins(two[0]) or two[0] in "@/-")


def _joins(char: str) -> bool:
    """Whether a character makes one word with a handle beside it.

    Letters of scripts that are written without spaces (category Lo) do not: "请@bot 看" is a mention.
    """
    category = unicodedata.category(char)
    return category in ("Pc", "Lu", "Ll", "Lt", "Lm") or category[0] in "NM"


def _begins_line(text: str, start: int) -> bool:
    line = text.rfind("\n", 0, start) + 1
    return _LINE_START.fullmatch(text, line, start) is not None


def _live(text: str, found: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Those candidates that stand in running text."""
    if not found:
        return []
    chars = list(_STANDS_IN.sub("\ufffd", text))
    found = found[: _LAST - _FIRST + 1]
    for number, (start, _, _) in enumerate(found):
        chars[start] = chr(_FIRST + number)
    tokens = MarkdownIt("commonmark").parse("".join(chars))
    alive = {ord(char) - _FIRST for part in _prose(tokens) for char in _STANDS_IN.findall(part)}
    return [each for number, each in enumerate(found) if number in alive]


def _prose(tokens: Sequence[Token]) -> Iterator[str]:
    """The pieces of running text in a parsed document."""
    quotes = 0
    html: Counter[str] = Counter()
    for token in tokens:
        if token.type == "blockquote_open":
            quotes += 1
        elif token.type == "blockquote_close":
            quotes -= 1
        elif token.type == "html_block":
            _see(html, token.content)
        elif token.type == "inline":
            links = 0
            for child in token.children or ():
                if child.type == "link_open":
                    links += 1
                elif child.type == "link_close":
                    links -= 1
                elif child.type == "html_inline":
                    _see(html, child.content)
                elif child.type == "text" and not (quotes or links or html.total()):
                    yield child.content
        if token.type in ("inline", "html_block"):
            for tag in [name for name in html if name not in _BLOCK_TAGS]:
                del html[tag]


def _see(html: Counter[str], source: str) -> None:
    """Keep count of the elements that are open after `source`, a piece of HTML."""
    if source.startswith("<!--"):
        return
    for closing, name in _TAG.findall(source):
        tag = name.lower()
        html[tag] = max(0, html[tag] + (-1 if closing else 1))
