"""How many tokens a text is, about: no network, no vocabulary, the same on every machine."""

from __future__ import annotations

_HIGH = bytes(range(0x80, 0x100))
_NOT_TWO = bytes(b for b in range(256) if not 0xC0 <= b < 0xE0)
_NOT_THREE = bytes(b for b in range(256) if not 0xE0 <= b < 0xF0)
_NOT_FOUR = bytes(b for b in range(256) if b < 0xF0)


def estimate(text: str) -> int:
    """On the high side, as a bound should be.

    ASCII: 3.5 characters a token (prose has about 4, code and JSON about 3). Accented Latin, Greek, Cyrillic, Hebrew,
    Arabic (two bytes in UTF-8): 2 characters a token. CJK, Indic and the rest of the basic plane (three bytes): 1 token
    each. Emoji and rare scripts (four bytes): 2 tokens each.
    """
    raw = text.encode("utf-8", "replace")
    if len(raw) == len(text):
        return -(-2 * len(raw) // 7)
    ascii_count = len(raw.translate(None, _HIGH))
    two, three, four = (len(raw.translate(None, delete)) for delete in (_NOT_TWO, _NOT_THREE, _NOT_FOUR))
    return -(-(4 * ascii_count + 7 * two + 14 * three + 28 * four) // 14)
