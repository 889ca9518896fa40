"""HTML entities, decoded until none is left, in linear time."""

from __future__ import annotations

import re
from html.entities import html5

#: the longest is `&CounterClockwiseContourIntegral;`; numbers have at most 7 digits (CommonMark 0.31, 6.2)
_LONGEST = 40
_ENTITY = re.compile(r"&(?:#(?P<decimal>[0-9]{1,7})|#[xX](?P<hex>[0-9a-fA-F]{1,6})|(?P<name>[A-Za-z][A-Za-z0-9]*));\Z")


def decode(text: str) -> str:
    """`text` with every entity that ends in a semicolon decoded, those that decoding makes included (`&amp;lt;` → `<`).

    White space other than the no-break kinds becomes a space: an entity cannot end a line.
    """
    if "&" not in text:
        return text
    *pieces, rest = text.split(";")
    out: list[str] = []
    for piece in pieces:
        out.extend(piece)
        char = ";"
        # an entity is complete with its semicolon, so only there the end of what we have can be one
        while char == ";":
            out.append(char)
            match = _ENTITY.search("".join(out[-_LONGEST:]))
            value = _value(match) if match else None
            if match is None or value is None:
                break
            del out[match.start() - match.end() :]
            char = value
            if char != ";":
                out.extend(char)
    out.extend(rest)
    return "".join(out)


def _value(match: re.Match[str]) -> str | None:
    if name := match.group("name"):
        value = html5.get(f"{name};")
    else:
        number = int(match.group("decimal") or match.group("hex"), 10 if match.group("decimal") else 16)
        value = chr(number) if 0 < number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
    return " " if value in ("\t", "\n", "\r", "\f", "\v", "\x85", "\u2028", "\u2029") else value
