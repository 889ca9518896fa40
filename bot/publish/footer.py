"""The small last line of a comment: which run, by whom, how long, how much, and what it saw."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot.model.context import Manifest
from bot.model.outcome import Usage

#: review threads that are named before the rest is counted
_MOST_THREADS = 10
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#!|~])")


@dataclass(frozen=True, slots=True)
class Saw:
    """What the model was given, counted."""

    comments: int = 0
    pins: int = 0
    inputs: int = 0
    below_trust: int = 0
    #: what of the run context was left out and why, where it is less than declared
    fidelity: str = ""

    @classmethod
    def of(cls, manifest: Manifest) -> Saw:
        """The counts of a manifest."""
        less = f"run context {manifest.fidelity} {manifest.fidelity_reason}" if manifest.fidelity_reason else ""
        return cls(manifest.comments_seen, manifest.pins_seen, len(manifest.inputs), manifest.below_trust, less)

    def __str__(self) -> str:
        text = f"saw {_count(self.comments, 'comment')}, {_count(self.pins, 'pin')}, {_count(self.inputs, 'input')}"
        if self.below_trust:
            text = f"{text} ({self.below_trust:,} below trust left out)"
        return f"{text}, {plain(self.fidelity)}" if self.fidelity else text


@dataclass(frozen=True, slots=True)
class Footer:
    """Every piece but `run` may be missing. `name` is the workflow, step or agent."""

    run: int
    url: str = ""
    name: str = ""
    model: str = ""
    seconds: float | None = None
    usage: Usage | None = None
    saw: Saw | None = None
    #: names and addresses of the review threads that it answers elsewhere than in them
    threads: Sequence[tuple[str, str]] = ()
    #: what is tried, in words; empty where nothing is
    trial: str = ""
    #: the number of the run that it repeats
    again: int | None = None

    @property
    def link(self) -> str:
        """The run, linked where there is a page of it."""
        return f"[r{self.run}]({self.url})" if self.url else f"r{self.run}"

    @property
    def spent(self) -> str:
        """Tokens and cost, as far as they are known."""
        tokens, cost = (self.usage.tokens, self.usage.cost) if self.usage is not None else (0, None)
        return " · ".join(filter(None, [_count(tokens, "token") if tokens else "", dollars(cost) if cost else ""]))

    def __str__(self) -> str:
        again = f", again r{self.again}" if self.again is not None else ""
        pieces = [f"{self.link}{again}", plain(self.name), plain(self.trial), plain(self.model)]
        if self.seconds is not None:
            pieces.append(duration(self.seconds))
        pieces.append(self.spent)
        if self.saw is not None:
            pieces.append(str(self.saw))
        if self.threads:
            pieces.append(f"on {_listed(self.threads)}")
        return f"<sub>{' · '.join(piece for piece in pieces if piece)}</sub>"


def _listed(threads: Sequence[tuple[str, str]]) -> str:
    named = [f"[{plain(name)}]({url})" if url else plain(name) for name, url in threads[:_MOST_THREADS]]
    more = len(threads) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def plain(text: str) -> str:
    """`text` on one line, with nothing in it that Markdown would read."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def duration(seconds: float) -> str:
    """`21 s`, `2 min 5 s`, `1 h 10 min`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def dollars(cost: float) -> str:
    """`$0.004`, `$0.11`, `$1,200.00`; what is less than a tenth of a cent is said so."""
    if cost >= 0.095:
        return f"${cost:,.2f}"
    return f"${cost:.3f}" if cost >= 0.001 or cost <= 0 else "under $0.001"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
