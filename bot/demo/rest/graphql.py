"""GraphQL, as far as pull requests need it: selections, arguments, variables and inline fragments of one operation.

Source: https://spec.graphql.org/October2021/, https://docs.github.com/en/graphql
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

_TOKEN = re.compile(r'\s+|,|(\.\.\.|[{}()\[\]:$!=]|[_A-Za-z]\w*|-?\d+(?:\.\d+)?|"(?:[^"\\]|\\.)*")')


class GraphError(Exception):
    """An entry of `errors`; `kind` is GitHub's `type`, empty for a query that is wrong."""

    def __init__(self, message: str, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Selection:
    """A field with its arguments and what is wanted of it; of an inline fragment `on` is the type."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    of: tuple[Selection, ...] = ()
    on: str = ""


@dataclass(frozen=True, slots=True)
class Thing:
    """An object of a type. A field is a value, or a function of the arguments that it takes."""

    type: str
    fields: Mapping[str, Any]


Resolver = Callable[[Mapping[str, Any]], Thing]


def parse(text: str, variables: Mapping[str, Any]) -> tuple[Selection, ...]:
    """What a query selects, its variables filled in. Raises GraphError."""
    words: list[str] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise GraphError(f"Unexpected character at {position}")
        position = match.end()
        if match[1]:
            words.append(match[1])
    stream = _Words(words, variables)
    if stream.peek() in {"query", "mutation"}:
        stream.take()
        while stream.peek() != "{":
            stream.take()  # the declarations: types are the schema's, values are in `variables`
    return tuple(stream.selections())


class _Words:
    def __init__(self, words: list[str], variables: Mapping[str, Any]) -> None:
        self._words = words
        self._variables = variables
        self._at = 0

    def peek(self) -> str:
        if self._at >= len(self._words):
            raise GraphError("Unexpected end of document")
        return self._words[self._at]

    def take(self, wanted: str = "") -> str:
        word = self.peek()
        if wanted and word != wanted:
            raise GraphError(f"Expected {wanted}, got {word}")
        self._at += 1
        return word

    def selections(self) -> Iterator[Selection]:
        self.take("{")
        while self.peek() != "}":
            if self.peek() == "...":
                self.take("...")
                self.take("on")
                kind = self.take()
                yield Selection("", of=tuple(self.selections()), on=kind)
                continue
            name = self.take()
            arguments = dict(self._arguments()) if self.peek() == "(" else {}
            inner = tuple(self.selections()) if self.peek() == "{" else ()
            yield Selection(name, arguments, inner)
        self.take("}")

    def _arguments(self) -> Iterator[tuple[str, Any]]:
        self.take("(")
        while self.peek() != ")":
            name = self.take()
            self.take(":")
            yield name, self._value()
        self.take(")")

    def _value(self) -> Any:
        word = self.take()
        if word == "$":
            return self._variables.get(self.take())
        if word == "{":
            given: dict[str, Any] = {}
            while self.peek() != "}":
                name = self.take()
                self.take(":")
                given[name] = self._value()
            self.take("}")
            return given
        if word.startswith('"'):
            return word[1:-1]
        return {"true": True, "false": False, "null": None}.get(word, int(word) if word.isdecimal() else word)


def select(value: Any, wanted: tuple[Selection, ...]) -> Any:
    """The part of a value that was asked for. Raises GraphError for a field that its type has not."""
    if isinstance(value, list):
        return [select(one, wanted) for one in value]
    if not isinstance(value, Thing):
        return value
    out: dict[str, Any] = {}
    for one in wanted:
        if one.on:
            out |= select(value, one.of) if one.on == value.type else {}
        elif one.name == "__typename":
            out[one.name] = value.type
        elif one.name not in value.fields:
            raise GraphError(f"Field '{one.name}' doesn't exist on type '{value.type}'")
        else:
            found = value.fields[one.name]
            found = found(one.arguments) if callable(found) else found
            if isinstance(found, (Thing, list)) and not one.of:
                raise GraphError(f"Field '{one.name}' must have selections")
            out[one.name] = select(found, one.of)
    return out
