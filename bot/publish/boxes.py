"""The boxes of a task list that stand for a gate's options: which are ticked, and the text without their states. Pure.

What a gate shows may hold task lists of its own. Those of the options are the last ones, as many as there are options.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_BOX = re.compile(r"^(- \[)([ xX])(\] )", re.MULTILINE)


def box(label: str) -> str:
    """One option as a line of a task list."""
    return f"- [ ] {label}"


def spread(bodies: Sequence[str], count: int) -> list[range]:
    """Of each part of a text that holds `count` options: which of them stand in it.

    Where they do not stand any more, whoever has an older text before them takes them to be in the last part.
    """
    if sum(len(_BOX.findall(_lf(body))) for body in bodies) < count:
        return [*(range(0) for _ in bodies[:-1]), range(count)]
    found: list[range] = []
    end = count
    for body in reversed(bodies):
        begin = max(0, end - len(_BOX.findall(_lf(body))))
        found.append(range(begin, end))
        end = begin
    return found[::-1]


def ticked(text: str, count: int) -> frozenset[int]:
    """The places, from 0, of those of the last `count` boxes that are ticked."""
    states = [mark for _, mark, _ in _BOX.findall(_lf(text))][-count:] if count else []
    return frozenset(place for place, mark in enumerate(states) if mark != " ")


def plainly(text: str, count: int) -> str:
    """The text with none of the last `count` boxes ticked."""
    text = _lf(text)
    for found in list(_BOX.finditer(text))[-count:] if count else []:
        text = f"{text[: found.start(2)]} {text[found.end(2) :]}"
    return text


def _lf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
