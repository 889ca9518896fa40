"""Who writes in the threads of an episode: words that nobody said before, room for commands, and what they wish for."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from bot.demo.records import Comment
from tests.faults.place import Place
from tests.faults.wishes import Subject, Wish

#: commands in one thread at most: more than 20 in an hour would trip its breaker
MOST = 14


@dataclass
class People:
    """They remember every wish in `wishes`."""

    place: Place
    rng: random.Random
    wishes: list[Wish] = field(default_factory=list)
    #: words of what was deleted after it was asked, and where: they stand in one result at most
    gone: dict[str, int] = field(default_factory=dict)
    #: how many words were said
    _count: int = 0
    _commands: Counter[int] = field(default_factory=Counter)
    _threads: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._threads = [n for n in self.place.repo.issues if n != self.place.pull.number]

    def _token(self) -> str:
        self._count += 1
        return f"word{self._count:04}"

    def _thread(self, commands: int = 1) -> int:
        """A thread that takes so many commands more."""
        free = [n for n in self._threads if self._commands[n] + commands <= MOST]
        if not free:
            self.opens()
            free = self._threads[-1:]
        number = self.rng.choice(free)
        self._commands[number] += commands
        return number

    def _write(self, number: int, body: str, author: str = "ana") -> Comment:
        return self.place.world.comment(self.place.repo, number, author, body)

    def _wish(self, kind: str, number: int, subject: Subject | None, **more: object) -> Wish:
        made = Wish(kind, number, subject, **more)  # type: ignore[arg-type]  # as the callers give them
        self.wishes.append(made)
        return made

    def opens(self) -> None:
        token = self._token()
        made = self.place.world.open_issue(self.place.repo, "ana", f"New {token}", f"It fails. @bot echo {token}")
        self._threads.append(made.number)
        self._commands[made.number] += 1
        self._wish("opened", made.number, made, tokens={token: 1})
