"""What somebody wants in an episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.demo.records import Comment, Issue, Review

#: what was written, and gets the reactions
Subject = Comment | Issue | Review


@dataclass(eq=False)
class Wish:
    """One thing that somebody wants. `dispatches`: how many dispatches it makes, each with its own visible end."""

    kind: str
    number: int
    #: what was written; None where an event asks, without words
    subject: Subject | None
    dispatches: int = 1
    #: words, and in how many results each of them stands
    tokens: Mapping[str, int] = field(default_factory=dict)
    #: the states in which its runs may end
    ends: frozenset[str] = frozenset({"succeeded"})
    #: how many answers it gets at once, beside its dispatches: a comment or a reaction that is no 👀, 🚀 or 😕
    answers: int = 0
    label: str = ""
    command: str = ""
