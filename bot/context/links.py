"""Text that links and images hide: titles, alternative texts, labels, and definitions that nothing refers to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from bot.context.structure import Definition, label_key
from bot.context.tally import Tally

_DEPTH = 16


def _nested(opening: str, closing: str, plain: str, depth: int) -> str:
    """A pattern for `plain` with balanced brackets to a depth. Possessive, so that it never goes back."""
    pattern = f"(?:{plain})*+"
    for _ in range(depth):
        pattern = f"(?:{plain}|{opening}{pattern}{closing})*+"
    return pattern


_TARGET = _nested(r"\(", r"\)", r"[^\s()<>\\]|\\.", _DEPTH)
_TITLE = r"\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\)"
#: `(target "title")`
_TAIL = rf"\(\s*+(?P<target><[^<>\n]*+>|{_TARGET})(?:\s++(?P<title>{_TITLE}))?+\s*+\)"
_BRACKETED = _nested(r"\[", r"\]", r"[^\[\]\\]|\\.", _DEPTH)
_IMAGE = re.compile(rf"(?P<escapes>(?<!\\)(?:\\\\)*+)!\[(?P<alt>{_BRACKETED})\](?:{_TAIL})", re.DOTALL)
_LINK = re.compile(rf"\]{_TAIL}", re.DOTALL)
#: a link that shows nothing, or (with a bang) an image
_EMPTY_LINK = re.compile(rf"(?P<escapes>(?<!\\)(?:\\\\)*+)(?P<bang>!?)\[\s*+\]{_TAIL}", re.DOTALL)
_SHORT_IMAGE = re.compile(rf"(?P<escapes>(?<!\\)(?:\\\\)*+)!\[(?P<alt>{_BRACKETED})\](?:\[\])?", re.DOTALL)
_SECOND_LABEL = re.compile(r"\]\[(?P<label>(?:[^\[\]\\]|\\.)++)\]", re.DOTALL)
_LABEL = re.compile(r"\[(?P<label>(?:[^\[\]\\]|\\.)++)\]", re.DOTALL)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
#: the marks of quotes and lists before a block
_MARKS = r"(?: {0,3}(?:>|(?:[-+*]|[0-9]{1,9}[.)])(?=[ \t]))[ \t]?)*+"
_FOOTNOTE_LABEL = re.compile(r"\[\^[^\]\s]+\]")
_FOOTNOTE_START = re.compile(rf"^{_MARKS} {{0,3}}({_FOOTNOTE_LABEL.pattern}):", re.MULTILINE)
#: what ends a paragraph without a blank line: another footnote, a list, a heading
_MORE = (
    rf"(?:\n(?!{_FOOTNOTE_START.pattern[1:]}|(?: {{0,3}}>)*+ {{0,3}}(?:(?:[-+*]|1[.)])[ \t]+\S|\#{{1,6}}[ \t]))"
    r"[^\n]*\S[^\n]*)*+"
)
#: a footnote with its paragraph and the indented paragraphs that follow (GFM)
_FOOTNOTE = re.compile(
    rf"^(?P<marks>{_MARKS}) {{0,3}}(?P<label>{_FOOTNOTE_LABEL.pattern}):[^\n]*{_MORE}"
    rf"(?:\n(?:[ \t]*\n)+(?: {{4}}|\t)[^\n]*{_MORE})*+",
    re.MULTILINE,
)
_MASK = re.compile("\ufdd0([0-9]+)\ufdd1")


def without_hidden_link_text(text: str, kept: list[tuple[str, Definition | None]], tally: Tally) -> str:
    """`text` with code and definitions masked; `kept` says what each mask stands for, and is written to."""
    definitions = [definition for _, definition in kept if definition]
    targets: dict[str, str] = {}
    for definition in definitions:
        # the first of a name counts
        targets.setdefault(label_key(definition.label), _pointed(definition.url))
    if targets:
        text = _SECOND_LABEL.sub(lambda match: _resolved(match, targets, tally), text)
        text = _SHORT_IMAGE.sub(lambda match: _short_image(match, targets, tally), text)
    text = _IMAGE.sub(lambda match: _image(match, tally), text)
    text = _LINK.sub(lambda match: _link(match, tally), text)
    text = _EMPTY_LINK.sub(lambda match: _empty_link(match, tally), text)
    if definitions:
        used = {label_key(match["label"]) for match in _LABEL.finditer(text)}
        for number, (raw, kept_definition) in enumerate(kept):
            if kept_definition:
                kept[number] = (_plain_definition(raw, kept_definition, used, tally), kept_definition)
                # the first of a name counts
                used.discard(label_key(kept_definition.label))
    return _without_unused_footnotes(text, kept, tally)


def _pointed(url: str) -> str:
    """A target as it may stand in parentheses."""
    return url if url and re.fullmatch(_TARGET, url) else f"<{re.sub('[<>]', '', url)}>"


def _resolved(match: re.Match[str], targets: dict[str, str], tally: Tally) -> str:
    target = targets.get(label_key(match["label"]))
    if target is None:
        return match.group()
    tally.add("link label", match["label"])
    return f"]({target})"


def _short_image(match: re.Match[str], targets: dict[str, str], tally: Tally) -> str:
    target = targets.get(label_key(match["alt"]))
    if target is None or match.string.startswith("(", match.end()):
        return match.group()
    tally.add("alternative text", match["alt"])
    return f"{match['escapes']}![]({target})"


def _image(match: re.Match[str], tally: Tally) -> str:
    if _BLANK_LINE.search(match.group()):
        return match.group()
    if match["alt"]:
        tally.add("alternative text", match["alt"])
    if match["title"]:
        tally.add("link title", match["title"])
    if not match["alt"] and not match["title"]:
        return match.group()
    return f"{match['escapes']}![]({match['target']})"


def _link(match: re.Match[str], tally: Tally) -> str:
    if not match["title"] or _BLANK_LINE.search(match.group()):
        return match.group()
    tally.add("link title", match["title"])
    return f"]({match['target']})"


def _empty_link(match: re.Match[str], tally: Tally) -> str:
    """Where the link points, as text."""
    target = match["target"].removeprefix("<").removesuffix(">").strip()
    if match["bang"] or not target or _BLANK_LINE.search(match.group()):
        return match.group()
    tally.add("empty link", match.group()[len(match["escapes"]) :])
    return match["escapes"] + target


def _plain_definition(raw: str, definition: Definition, used: set[str], tally: Tally) -> str:
    """Nothing if it is not `used` (no text refers to it, or an earlier one has its name), else without its title.

    What stands before it (a list's mark) stays.
    """
    end = "\n" if raw.endswith("\n") else ""
    before = raw[: raw.index("[")]
    if label_key(definition.label) not in used:
        tally.add("unused link definition", raw.strip())
        return before + end if before.strip() else ""
    if not definition.title:
        return raw
    tally.add("link title", definition.title)
    url = definition.url if definition.url and not re.search(r"[\s<>]", definition.url) else _pointed(definition.url)
    return f"{before}[{definition.label}]: {url}{end}"


def _without_unused_footnotes(text: str, kept: Sequence[tuple[str, Definition | None]], tally: Tally) -> str:
    if "[^" not in text:
        return text

    named = Counter(label_key(label) for label in _FOOTNOTE_LABEL.findall(text))
    named.subtract(label_key(label) for label in _FOOTNOTE_START.findall(text))
    seen: set[str] = set()

    def replace(match: re.Match[str]) -> str:
        key = label_key(match["label"])
        if named[key] > 0 and key not in seen:
            # the first of a name counts
            seen.add(key)
            return match.group()
        hidden = _MASK.sub(lambda mask: kept[int(mask.group(1))][0], match.group())
        tally.add("unused footnote", hidden)
        return match["marks"]

    return _FOOTNOTE.sub(replace, text)
