"""What a CEL expression reads: the paths in it, found in its text without running it.

The library tells names, not paths. Knowing the paths, a check can say which step or key is not there, and an evaluation
hands over these values alone: handing over a whole run with its outputs costs a thousand times as much.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from bot.workflows.mark import Mark

#: macros whose first argument is a name of their own
_MACROS = frozenset({"exists", "all", "exists_one", "existsOne", "map", "filter"})
_WORDS = frozenset({"true", "false", "null", "in"})

_TOKEN = re.compile(
    r"""(?:\s++|//[^\n]*+)*+(?:
        (?P<string>[rRbB]{0,2}(?:\"\"\"(?:[^\\]|\\.)*?\"\"\" | '''(?:[^\\]|\\.)*?'''
                               | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'))
      | (?P<number>0x[0-9a-fA-F]+u?|(?:[0-9]+\.[0-9]+|\.[0-9]+|[0-9]+)(?:[eE][+-]?[0-9]+)?u?)
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<sign>[=!<>&|+*%?:-]+|.)
      | \Z)""",
    re.VERBOSE | re.DOTALL,
)


class Reference(NamedTuple):
    """One path of an expression; `guarded` stands in `has(…)`, where a miss is an answer."""

    path: tuple[str, ...]
    offset: int
    guarded: bool = False
    #: its place in the file, where it is known
    mark: Mark | None = None

    @property
    def name(self) -> str:
        return ".".join(self.path)


class _Word(NamedTuple):
    kind: str
    text: str
    offset: int


_NOTHING = _Word("sign", "", 0)


def references(text: str, place: Callable[[int], Mark] | None = None) -> tuple[tuple[Reference, ...], frozenset[str]]:
    """The paths in an expression that parses, in order; and the names that its macros bind.

    `place` tells where an offset of the text stands in its file.
    """
    words = [
        _Word(kind, match[kind], match.start(kind))
        for match in _TOKEN.finditer(text)
        if (kind := match.lastgroup) is not None
    ]
    words += [_NOTHING] * 4
    # a macro has its name in front of a comma
    bound = _bound(words) if "," in text else frozenset()
    found = []
    guards: list[bool] = []
    for at, word in enumerate(words[:-4]):
        if word.text == "(" and word.kind == "sign":
            guards.append(words[at - 1].text == "has" and at > 0 and not _is_member(words, at - 1))
        elif word.text == ")" and word.kind == "sign" and guards:
            guards.pop()
        elif word.kind == "name" and word.text not in _WORDS and not _is_member(words, at):
            if words[at + 1].text == "(" or word.text in bound:
                continue
            mark = place(word.offset) if place is not None else None
            found.append(Reference(_path(words, at), word.offset, any(guards), mark))
    return tuple(found), bound


def _bound(words: list[_Word]) -> frozenset[str]:
    """The names that macros bind."""
    return frozenset(
        words[at + 2].text
        for at, word in enumerate(words[:-4])
        if word.text in _MACROS
        and words[at + 1].text == "("
        and words[at + 2].kind == "name"
        and words[at + 3].text == ","
    )


def _is_member(words: list[_Word], at: int) -> bool:
    """Whether the word follows the dot of a value before it."""
    if at < 2 or words[at - 1].text != ".":
        return False
    before = words[at - 2]
    return before.kind != "sign" or before.text in (")", "]", "}")


def _path(words: list[_Word], at: int) -> tuple[str, ...]:
    """The longest path that begins here: names behind dots, and text in brackets; a method's name is no part of it."""
    path = [words[at].text]
    at += 1
    while True:
        one, two, three = words[at : at + 3]
        if one.text == "." and two.kind == "name" and three.text != "(":
            path.append(two.text)
            at += 2
        elif (
            one.text == "[" and two.kind == "string" and three.text == "]" and two.text[0] in "'\"" and _plain(two.text)
        ):
            path.append(two.text[1:-1])
            at += 3
        else:
            return tuple(path)
        if at + 3 > len(words):
            return tuple(path)


def _plain(text: str) -> bool:
    return "\\" not in text and not text.startswith(('"""', "'''"))
