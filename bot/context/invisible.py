"""Characters that people do not see and models do: taken out, or shown as escapes such as `\\u{202e}`.

What means something where it stands is kept: the joiner and the variation selector of an emoji sequence, the joiners of
Indic, Arabic and like scripts, the selectors of ideographs and Mongolian letters, every combining mark. Sources: UAX
#31 (joiners), UTS #51 (emoji sequences), UTR #36 and CVE-2021-42574 (bidirectional controls).
"""

from __future__ import annotations

import re
import unicodedata

from bot.context.tally import Tally

_PLAIN = re.compile(r"[\t\n\x20-\x7e]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
#: line ends of other worlds; the prompt knows only LF
_LINE_END = re.compile("\r\n|[\r\x85\u2028\u2029]")
#: the three flags that are tag sequences for general use (UTS #51, RGI): they stay whole
_FLAG = "\U0001f3f4(?:{})\U000e007f".format(
    "|".join("".join(chr(0xE0000 + ord(letter)) for letter in region) for region in ("gbeng", "gbsct", "gbwls"))
)
_SUSPECT = re.compile(
    f"(?P<flag>{_FLAG})|(?P<control>[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]|[{{}}])".format(
        "".join(f"{chr(plane * 0x10000 + 0xFFFE)}{chr(plane * 0x10000 + 0xFFFF)}" for plane in range(1, 17))
    )
    + "|(?P<bidi>[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069])"
    "|(?P<selector>[\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef])"
    "|(?P<joiner>[\u200c\u200d])"
    "|(?P<tag>[\U000e0000-\U000e007f])"
    "|(?P<blank>[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0080-\U000e00ff\U000e01f0-\U000e0fff])"
)
_NAMES = {
    "control": "control character",
    "bidi": "bidirectional control",
    "selector": "variation selector",
    "joiner": "zero-width character",
    "tag": "tag character",
    "blank": "zero-width character",
}
#: marks of direction change nothing that can be read; embeddings, overrides and isolates do, so they are shown
_DIRECTION_MARKS = "\u061c\u200e\u200f"
#: emoji that are neither of category So nor in the emoji planes: ‼ ⁉ ℹ ↔ ↕ 〰 〽
_OTHER_EMOJI = "\u203c\u2049\u2139\u2194\u2195\u3030\u303d"
#: blocks whose letters take joiners: Arabic to N'Ko, Indic to Sinhala, Tibetan and Myanmar, Khmer, Mongolian, Balinese
#: and Sundanese, Arabic's and Javanese's later blocks, Brahmi and its kin
_JOINING = (
    (0x0600, 0x08FF),
    (0x0900, 0x0DFF),
    (0x0F00, 0x109F),
    (0x1780, 0x18AA),
    (0x1B00, 0x1BBF),
    (0xA980, 0xA9DF),
    (0xFB50, 0xFDCF),
    (0xFE70, 0xFEFC),
    (0x11000, 0x11FFF),
)


def make_visible(text: str, tally: Tally) -> str:
    """NFC with LF line ends and nothing invisible in it. Idempotent. What went is counted in `tally`."""
    if _PLAIN.fullmatch(text):
        return text
    if _SURROGATE.search(text):
        # pairs become their character, lone ones U+FFFD
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text = unicodedata.normalize("NFC", _LINE_END.sub("\n", text))
    if not _SUSPECT.search(text):
        return text
    out: list[str] = []
    position = 0
    before = ""
    for match in _SUSPECT.finditer(text):
        if position < match.start():
            out.append(text[position : match.start()])
            before = out[-1][-1]
        position = match.end()
        if kept := _replacement(match, before, text[position : position + 1], tally):
            out.append(kept)
            before = kept[-1]
    out.append(text[position:])
    # what was apart may now compose
    return unicodedata.normalize("NFC", "".join(out))


def _replacement(match: re.Match[str], before: str, after: str, tally: Tally) -> str:
    kind = match.lastgroup
    char = match.group()
    assert kind is not None
    if (
        kind == "flag"
        or (kind == "joiner" and _joins(char, before, after))
        or (kind == "selector" and _selects(char, before, after))
    ):
        return char
    tally.add(_NAMES[kind], char)
    if kind == "control" or (kind == "bidi" and char not in _DIRECTION_MARKS):
        return f"\\u{{{ord(char):x}}}"
    return ""


def _joins(joiner: str, before: str, after: str) -> bool:
    """Whether a ZWJ or ZWNJ means something between these two."""
    if joiner == "\u200d" and _is_emoji(after) and (_is_emoji(before) or before == "\ufe0f" or _is_skin_tone(before)):
        return True
    # an initial letter shown in its joined form has the joiner in front
    return _is_joining(before) or (joiner == "\u200d" and before not in ("\u200c", "\u200d") and _is_joining(after))


def _selects(selector: str, before: str, after: str) -> bool:
    """Whether a variation selector changes the glyph before it. Only the first after a character can."""
    if selector in ("\ufe0e", "\ufe0f"):
        return _is_emoji(before) or (before != "" and before in "0123456789#*" and after == "\u20e3")
    if "\u180b" <= selector <= "\u180f":
        return "\u1820" <= before <= "\u18aa"
    return _is_ideograph(before) and (selector >= "\U000e0100" or selector <= "\ufe02")


def _is_emoji(char: str) -> bool:
    if not char:
        return False
    return "\U0001f000" <= char <= "\U0001faff" or char in _OTHER_EMOJI or unicodedata.category(char) == "So"


def _is_skin_tone(char: str) -> bool:
    return "\U0001f3fb" <= char <= "\U0001f3ff"


def _is_ideograph(char: str) -> bool:
    return "\u3400" <= char <= "\u9fff" or "\uf900" <= char <= "\ufaff" or "\U00020000" <= char <= "\U000323af"


def _is_joining(char: str) -> bool:
    if not char or unicodedata.category(char)[0] not in "LM":
        return False
    return any(first <= ord(char) <= last for first, last in _JOINING)
