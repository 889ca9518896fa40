"""Thread text as people see it: the one function between what was written and every consumer of it.

A comment can hold text that a reader of the page never sees and a model would obey. What is hidden goes or is shown;
what people see stays, code character by character (docs: context, *Blocks are data*).
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.context.invisible import make_visible
from bot.context.markup import harden, without_hidden_text
from bot.context.tally import Tally

#: what is taken out may reveal more; honest text is done after one or two passes
_PASSES = 6


@dataclass(frozen=True, slots=True)
class Sanitised:
    """`removed` says what went and how much of it, for the manifest: `2 HTML comments (57 bytes)`."""

    text: str
    removed: tuple[str, ...] = ()


def sanitise(text: str) -> Sanitised:
    """Idempotent: NFC, LF, entities decoded, nothing hidden. Never raises, whatever the text.

    Outside code: HTML comments, declarations and attributes, ruby fallbacks, link titles, alternative texts, empty
    links, definitions and footnotes that are unused or not the first of their name. Everywhere: invisible characters
    (see `invisible`). A text that still changes after six passes is an attack; its markup is then shown as escapes.
    """
    tally = Tally()
    text = make_visible(text, tally)
    for _ in range(_PASSES):
        after = make_visible(without_hidden_text(text, tally), tally)
        if after == text:
            return Sanitised(text, tally.lines())
        text = after
    tally.add("nested trick", text)
    return Sanitised(make_visible(harden(text), tally), tally.lines())
