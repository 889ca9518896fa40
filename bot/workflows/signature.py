"""A workflow's `inputs`: what a run is given, bound and checked once, before any step."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from posixpath import normpath
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from bot.workflows.findings import listing, nearest
from bot.workflows.linear import pattern_fault, search
from bot.workflows.node import Node, describe, fault, scalar

InputType = Literal["text", "number", "bool", "enum", "file", "secret"]
Value = str | float | int | bool
ViolationClass = Literal[
    "missing_required", "type_mismatch", "pattern", "range", "length", "enum", "file", "unknown_input"
]

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_BOOLEANS = {"true": True, "false": False}
#: keys that say more about a value, by the types that take them
_BOUNDS: Mapping[str, frozenset[str]] = {
    "options": frozenset({"enum"}),
    "min": frozenset({"number"}),
    "max": frozenset({"number"}),
    "max_length": frozenset({"text"}),
    "pattern": frozenset({"text"}),
    "accept": frozenset({"file"}),
}
#: `.csv`, `text/csv`, `image/*`
_ACCEPTED = re.compile(r"\.[A-Za-z0-9]{1,16}|[a-z]+/(?:\*|[A-Za-z0-9][A-Za-z0-9.+-]{0,80})")
#: what an attachment is written as: its address alone, or the link that GitHub puts into the text
_LINK = re.compile(r"!?\[[^\]]*\]\((https?://[^\s()<>]+)\)")
_ADDRESS = re.compile(r"https?://[^\s()<>\"]{1,2000}")
#: the name of an operator's secret
_SECRET = re.compile(r"[A-Z][A-Z0-9_]{0,99}")
_PATH_MAX = 1024


@dataclass(frozen=True, slots=True)
class InputViolation:
    """One thing that is wrong with what was given. `kind` is its class, stable; `message` says it in words."""

    name: str
    kind: ViolationClass
    message: str


class Declared(Node):
    """One input. It is needed unless it has a `default` or says `required: false`."""

    NOUN: ClassVar[str] = "an input"

    type: InputType = Field(description="what the value must be")
    description: str = Field("", description="one line for `help`")
    required: bool = Field(True, description="whether a run needs it; a `default` makes up for it")
    default: Annotated[
        Value | None, BeforeValidator(scalar), WithJsonSchema({"type": ["string", "number", "boolean"]})
    ] = Field(None, description="the value where none is given")
    options: tuple[Annotated[str, Field(min_length=1)], ...] = Field((), description="values of an `enum`")
    min: float | None = Field(None, description="least number, inclusive")
    max: float | None = Field(None, description="greatest number, inclusive")
    max_length: int | None = Field(None, gt=0, description="longest text in characters")
    pattern: str | None = Field(None, description="a regular expression that the whole text matches")
    accept: tuple[str, ...] = Field((), description="endings and media types of a `file`: `.csv`, `image/*`")

    @model_validator(mode="after")
    def _consistent(self) -> Declared:
        for key, types in _BOUNDS.items():
            if key in self.model_fields_set and self.type not in types:
                message = f"`{key}` means nothing to an input of type `{self.type}`"
                raise fault("modifier", message, f"it is for {listing(sorted(types))}")
        if self.type == "enum" and not self.options:
            raise fault("missing_key", "an `enum` needs `options`", "add `options: [one, two]`")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise fault("range", "`min` is greater than `max`", "exchange them")
        if self.pattern is not None and (reason := pattern_fault(self.pattern)):
            raise fault("pattern", f"`pattern` is no regular expression: {reason}", "it takes RE2's syntax")
        for one in self.accept:
            if not _ACCEPTED.fullmatch(one):
                raise fault("option", f"{describe(one)} is no kind of file", "write `.csv`, `text/csv` or `image/*`")
        if self.default is not None:
            _, violation = self._take("default", self.default)
            if violation is not None:
                raise fault("input_default", f"the default does not fit: {violation.message}", "mend the default")
        return self

    def _take(self, name: str, given: Value) -> tuple[Value | None, InputViolation | None]:
        """The value as its type, or what is wrong with it."""
        value = self._parse(given)
        if value is None:
            words = {
                "number": "a number",
                "bool": "`true` or `false`",
                "enum": "one of its options",
                "file": "an attachment's address, or a path of the repository",
                "secret": "the name of a secret (capital letters, digits and `_`)",
            }
            message = f"`{name}` is {words.get(self.type, 'text')}, got {describe(given)}"
            return None, InputViolation(name, "file" if self.type == "file" else "type_mismatch", message)
        if self.type == "enum" and value not in self.options:
            message = f"`{name}` is one of {listing(self.options)}, got {describe(value)}"
            return None, InputViolation(name, "enum", message)
        if isinstance(value, str):
            if self.max_length is not None and len(value) > self.max_length:
                message = f"`{name}` has at most {self.max_length} characters, got {len(value)}"
                return None, InputViolation(name, "length", message)
            if self.pattern is not None and not search(f"^(?:{self.pattern})$", value):
                return None, InputViolation(name, "pattern", f"`{name}` does not match `{self.pattern}`")
        elif not isinstance(value, bool):
            if self.min is not None and value < self.min:
                return None, InputViolation(name, "range", f"`{name}` is at least {self.min:g}, got {value:g}")
            if self.max is not None and value > self.max:
                return None, InputViolation(name, "range", f"`{name}` is at most {self.max:g}, got {value:g}")
        return value, None

    def _parse(self, given: Value) -> Value | None:
        match self.type:
            case "text" | "enum":
                return given if isinstance(given, str) else None
            case "bool":
                return given if isinstance(given, bool) else _BOOLEANS.get(str(given).strip().lower())
            case "number":
                return _number(given)
            case "file":
                return file_source(given) if isinstance(given, str) else None
            case "secret":
                name = given.strip() if isinstance(given, str) else ""
                return name if _SECRET.fullmatch(name) else None


def file_source(text: str) -> str | None:
    """Where the file of an input is: an address, or a path from the repository's root; None for what is neither.

    Whether an address is an attachment on GitHub is seen when it is fetched.
    """
    text = text.strip()
    if match := _LINK.fullmatch(text):
        return match[1]
    if "://" in text:
        return text if _ADDRESS.fullmatch(text) else None
    if not text or len(text) > _PATH_MAX or text.startswith("/") or "\\" in text or not text.isprintable():
        return None
    path = normpath(text)
    outside = path in (".", "..", ".git") or path.startswith(("../", ".git/"))
    return None if outside else path


def _number(given: Value) -> float | int | None:
    if isinstance(given, bool) or not isinstance(given, (str, int, float)):
        return None
    if isinstance(given, str):
        text = given.strip()
        if _INTEGER.fullmatch(text):
            return int(text)
        if not _NUMBER.fullmatch(text):
            return None
        given = float(text)
    return given if math.isfinite(given) else None


@dataclass(frozen=True, slots=True)
class Bound:
    """What a run has as `inputs`, by name; or everything that is wrong, and then nothing runs."""

    values: Mapping[str, Value]
    violations: tuple[InputViolation, ...] = ()


def bind(declared: Mapping[str, Declared], given: Mapping[str, Any], *, by_comment: bool = False) -> Bound:
    """Hold what was given against the signature; strings are parsed to the declared types whatever their source.

    What is no string (from `uses`, or the API) has to have the type already. White space alone is missing; bounds are
    inclusive. An input that is not needed and not given is not among the values. All violations come together, in the
    order of the declaration, unknown names last. `by_comment` says that anybody can read what was given: no secret is
    taken from there.
    """
    values: dict[str, Value] = {}
    violations: list[InputViolation] = []
    for name, one in declared.items():
        text = given.get(name)
        if text is not None and by_comment and one.type == "secret":
            message = f"`{name}` is a secret, which no comment can give"
            violations.append(InputViolation(name, "unknown_input", message))
            continue
        if text is None or (isinstance(text, str) and not text.strip()):
            if one.default is not None:
                value, _ = one._take(name, one.default)
                assert value is not None  # checked at load
                values[name] = value
            elif one.required:
                violations.append(InputViolation(name, "missing_required", f"`{name}` is needed"))
            continue
        value, violation = one._take(name, text)
        if violation is not None:
            violations.append(violation)
        elif value is not None:
            values[name] = value
    for name in given:
        if name not in declared:
            hint = nearest(name, declared)
            message = f"there is no input `{name}`" + (f"; {hint}" if hint else "")
            violations.append(InputViolation(name, "unknown_input", message))
    return Bound(values, tuple(violations))
