"""A program's long output as people read it: its last lines in sight, what came before folded.

Nobody scrolls through sixty thousand characters, and of what a program prints the end says how it went.
"""

from __future__ import annotations

from bot.model.fence import fence
from bot.publish.clean import clean
from bot.publish.redact import Redactor

#: an output of no more than this is shown whole
WHOLE_LINES, WHOLE = 60, 6_000
#: what of a longer one is in sight, and how many characters before that are folded
SIGHT_LINES, SIGHT = 40, 4_000
FOLDED = 16_000
#: how far before a cut is read, so that a secret which lies across it is seen whole
_MARGIN = 32_768


def is_long(text: str) -> bool:
    """Whether an output is more than is shown whole."""
    return len(text) > WHOLE or text.count("\n", 0, len(text.rstrip())) >= WHOLE_LINES


def excerpt(text: str, redactor: Redactor) -> str:
    """Markdown for a long output: of bounded size, whatever it is. No cut goes through a secret."""
    shown = clean(text).rstrip()
    window = shown[-(SIGHT + FOLDED + _MARGIN) :]
    spans = [(start, last) for start, last in redactor.spans(window)]

    def cut(place: int) -> int:
        return next((last for start, last in spans if start < place < last), place)

    lines = window[-SIGHT:].split("\n")
    sight = cut(max(0, len(window) - len("\n".join(lines[-SIGHT_LINES:]))))
    folded = cut(max(0, sight - FOLDED))
    if folded:  # at a line's beginning, where there is one
        folded = cut(window.find("\n", folded, sight) + 1 or folded)
    before = window[folded:sight].strip("\n")
    if not before.strip():
        return fence(window[sight:])
    skipped = len(shown) - len(window) + folded
    note = f"{shown.count(chr(10), 0, skipped):,} more lines" if "\n" in shown[:skipped] else f"{skipped:,} characters"
    head = f"*{note} before these are left out.*\n\n" if skipped else ""
    count = before.count("\n") + 1
    summary = f"{count:,} line{'' if count == 1 else 's'} before"
    return f"{fence(window[sight:])}\n\n<details><summary>{summary}</summary>\n\n{head}{fence(before)}\n\n</details>"
