"""What people say to an agent while it works: asked for before each request, and in the conversation from then on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a person, as the model reads it. `id` tells whether a conversation holds it already."""

    id: str
    text: str


#: gives what a conversation that holds these ids has not heard yet, oldest first, and records that it is read now
Listen = Callable[[Collection[str]], Awaitable[Sequence[Said]]]
