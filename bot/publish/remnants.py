"""What a cut leaves of a secret: its beginning before the mark of the cut, its end behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from bot.model.cut import MARK

#: a text that was cut more often is made to have marks in it, and takes no more time than this
MARKS_MOST = 100
#: a text, and the place of each of its characters in the text that it was taken from
_Read = tuple[str, list[int]]


def remnants(text: str, forms: Sequence[str], breaks: re.Pattern[str], least: int) -> list[tuple[int, int]]:
    """The spans beside each mark that are part of a form, of `least` characters at least; `breaks` do not count.

    `forms` are in lower case. Neither the beginning nor the end of a secret is one of its forms, so that nothing else
    would find them.
    """
    room = 2 * max(map(len, forms), default=0) + 64
    spans: list[tuple[int, int]] = []
    for mark in islice(MARK.finditer(text), MARKS_MOST):
        # the mark is a line of its own
        before, behind = mark.start() - text.endswith("\n", 0, mark.start()), mark.end()
        behind += text.startswith("\n", behind)
        first = max(0, before - room)
        heads = list(_read(_lower(text[first:before]), breaks))
        tails = list(_read(_lower(text[behind : behind + room]), breaks))
        start = min((first + at for form in forms for at in _beginnings(heads, form, least)), default=before)
        end = max((behind + at for form in forms for at in _ends(tails, form, least)), default=behind)
        spans += [(one, other) for one, other in ((start, before), (behind, end)) if one < other]
    return spans


def _beginnings(heads: list[_Read], form: str, least: int) -> Iterator[int]:
    """Where the last characters of a text begin that are the form's first ones."""
    for flat, places in heads:
        at = flat.find(form[:least], max(0, len(flat) - len(form) + 1))
        while at != -1:
            if form.startswith(flat[at:]):
                yield places[at]
                break
            at = flat.find(form[:least], at + 1)


def _ends(tails: list[_Read], form: str, least: int) -> Iterator[int]:
    """Where the first characters of a text end that are the form's last ones."""
    for flat, places in tails:
        at = flat.rfind(form[-least:], 0, len(form) - 1)
        while at != -1:
            end = at + least
            if form.endswith(flat[:end]):
                yield places[end - 1] + 1
                break
            at = flat.rfind(form[-least:], 0, end - 1)


def _lower(text: str) -> str:
    """In lower case; a letter that would become two stays, so that every place is that of the text."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c if len(c.lower()) > 1 else c.lower() for c in text)


def _read(text: str, breaks: re.Pattern[str]) -> Iterator[_Read]:
    """The text as it is, and without breaks of lines."""
    every = list(range(len(text)))
    yield text, every
    broken = {place for found in breaks.finditer(text) for place in range(*found.span())}
    if broken:
        kept = [place for place in every if place not in broken]
        yield "".join(text[place] for place in kept), kept
