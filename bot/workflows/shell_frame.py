"""One level of nesting in a shell command that is being read, and how far reading goes."""

from __future__ import annotations

from dataclasses import dataclass, field

#: a longer word, a command of more words, or one with more places where another may begin is followed no further
WORD_MAX = 1024
WORDS_MAX = 64
STARTS_MAX = 4


@dataclass(slots=True)
class Frame:
    """One level of nesting. `command` frames hold words; `safe` ones may hold values."""

    kind: str  # command, double, brace, arithmetic
    safe: bool = False
    in_word: bool = False
    word: str = ""
    words: list[str] = field(default_factory=list)
    #: the indices of `words` at which another command may begin: behind `then`, `do`, `f()`, a pattern of `case`
    starts: list[int] = field(default_factory=list)
    redirect: bool = False
    depth: int = 0

    def take(self, text: str) -> None:
        """More of the word under way. Of one that is longer than any name the rest is dropped, and it is uncertain."""
        if len(self.word) < WORD_MAX:
            self.word = (
                self.word + text if len(self.word) + len(text) < WORD_MAX else (self.word + text)[:WORD_MAX] + "$"
            )
