"""Characters that nobody sees, out of text: ANSI sequences, controls, bidi and zero-width tricks, lone surrogates.

What carries meaning stays: joiners inside emoji and inside the scripts that need them, variation selectors behind what
they select for, flag tags. Accents, CJK, emoji and right-to-left text are as they were.
"""

from __future__ import annotations

import re
import unicodedata

_ANSI = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x90\x98\x9c-\x9f]{0,8192}+(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, …
    r"|\x1b[ -/]*[0-~]"  # two-character sequences
)
#: letters and marks that show nothing
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180e\u3164\uffa0")
_SUSPECT = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_SUSPECT_OR_FLAG = re.compile(f"{_SUSPECT.pattern}|\U0001f3f4")
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{2,7}\U000e007f")


def clean(text: str) -> str:
    """`text` without what is hidden in it. Line ends become LF, lone surrogates U+FFFD. Idempotent."""
    text = _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    if _SUSPECT.search(text) is None:
        return text
    kept: list[str] = []
    position = 0
    while (found := _SUSPECT_OR_FLAG.search(text, position)) is not None:
        if found.start() > position:
            kept.append(text[position : found.start()])
            position = found.start()
        character = text[position]
        if character == "\U0001f3f4" and (flag := _FLAG.match(text, position)):
            kept.append(flag[0])
            position = flag.end()
            continue
        if _SUSPECT.match(character) is None:
            kept.append(character)
        elif "\ud800" <= character <= "\udfff":
            kept.append("\ufffd")
        elif character in "\u2028\u2029":
            kept.append("\n")
        else:
            before = kept[-1][-1] if kept else ""
            after = text[position + 1] if position + 1 < len(text) else ""
            if after and _SUSPECT.match(after):
                after = ""  # it may go itself
            if _meant(character, before, after):
                kept.append(character)
        position += 1
    kept.append(text[position:])
    return "".join(kept)


def whole(text: str, cut: int) -> int:
    """The last place at or before `cut` that goes through nothing people see as one sign.

    Marks, joiners, selectors, skin tones and flags stay with what they belong to; of a longer pile than anybody
    writes the pieces may part.
    """
    lowest = max(1, cut - 64)
    place = cut
    while lowest < place < len(text) and _goes_on(text, place):
        place -= 1
    return cut if 0 < place == lowest < cut and _goes_on(text, place) else place


def _goes_on(text: str, place: int) -> bool:
    """Whether the character at `place` is a part of the sign before it."""
    before, after = text[place - 1], text[place]
    if "\U0001f1e6" <= after <= "\U0001f1ff":
        # flags are pairs: an odd number of letters before it, and this one ends a pair
        letters = place
        while letters and place - letters < 64 and "\U0001f1e6" <= text[letters - 1] <= "\U0001f1ff":
            letters -= 1
        return (place - letters) % 2 == 1
    return (
        before == "\u200d"
        or after in "\u200c\u200d"
        or unicodedata.category(after) in ("Mn", "Me", "Mc")
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or "\U000e0020" <= after <= "\U000e007f"
    )


def is_hidden(text: str) -> bool:
    """Whether `text` shows nothing at all (not even space)."""
    return bool(text) and clean(text) == ""


def _meant(character: str, before: str, after: str) -> bool:
    """Whether an invisible character does its work between these two."""
    match character:
        case "\u200d":
            return (_pictures(before) and _pictures(after)) or (_joins(before) and _joins(after))
        case "\u200c":
            return _joins(before) and _joins(after)
        case "\ufe0e" | "\ufe0f":
            return before in set("0123456789#*") or (_pictures(before) and before not in "\ufe0e\ufe0f")
        case "\u180b" | "\u180c" | "\u180d" | "\u180f":
            return "\u1820" <= before <= "\u18aa"
        case _ if "\U000e0100" <= character <= "\U000e01ef" or "\ufe00" <= character <= "\ufe02":
            return _ideograph(before)
        case _:
            return False


def _pictures(character: str) -> bool:
    """Whether emoji sequences are made of this."""
    return bool(character) and (
        "\U0001f000" <= character <= "\U0001faff"
        or "\u203c" <= character <= "\u303d"
        or character in "\xa9\xae\u3297\u3299\ufe0e\ufe0f"
    )


def _joins(character: str) -> bool:
    """Whether the script of this letter or mark uses joiners: Arabic to Mongolian, without letters that are blank."""
    if not character or character in _BLANKS:
        return False
    inside = "\u0600" <= character <= "\u109f" or "\u1780" <= character <= "\u18aa" or "\ua840" <= character <= "\uabff"
    return inside and unicodedata.category(character)[0] in "LM"


def _ideograph(character: str) -> bool:
    return bool(character) and (
        "\u3400" <= character <= "\u9fff"
        or "\uf900" <= character <= "\ufaff"
        or "\U00020000" <= character <= "\U0003ffff"
    )
