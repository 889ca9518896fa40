"""What every part of the configuration has in common: strict, frozen, and aware of where it was written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, PrivateAttr, WithJsonSchema
from pydantic_core import PydanticCustomError

from bot.workflows.conditions import Condition
from bot.workflows.mark import Mark
from bot.workflows.template import Template

#: ids that routes use as words of their own
RESERVED_IDS = frozenset({"end", "fail", "last", "retry"})

ID = re.compile(r"[a-z][a-z0-9_]*")
_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
#: a year; more is a typing error
_SECONDS_MAX = 366 * 86400

#: what the engine sets for every command, so that `env:` cannot
_OWN_VARIABLES = frozenset({"PATH", "HOME", "LANG"})


def fault(code: str, message: str, hint: str = "", key: str = "") -> PydanticCustomError:
    """An error for a validator to raise; it becomes a finding with this code and hint at the value's place.

    `key` names the key of the value that it is about, where that is a mapping.
    """
    # pydantic fills `{name}` in its messages from the context, so that braces of ours go there
    return PydanticCustomError(code, "{text}", {"text": message, "hint": hint, "key": key})


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise fault(
            "type_mismatch", f"expected {what}, got {describe(value)}", "put it in quotes if it is meant as text"
        )
    return value


def describe(value: Any) -> str:
    """A value in the words of YAML, for messages."""
    match value:
        case None:
            return "nothing"
        case bool():
            return f"`{str(value).lower()}`"
        case int() | float():
            return f"the number {value}"
        case str():
            return f"`{value}`" if value.strip() and len(value) <= 60 and "\n" not in value else "text"
        case list():
            return "a list"
        case _:
            return "a mapping"


def scalar(value: Any) -> str | int | float | bool:
    """One value and not several, as it was written."""
    if isinstance(value, (str, int, float)):  # a bool is an int
        return value
    expected = f"expected text, a number, `true` or `false`, got {describe(value)}"
    raise fault("type_mismatch", expected, "write one value; a list or a mapping goes into it as JSON, in quotes")


def _id(value: Any) -> str:
    text = _text(value, "an id")
    if not ID.fullmatch(text):
        raise fault("name", f"`{text}` is no id", "ids are lower-case letters, digits and `_`, a letter first")
    return _unreserved(text)


def _name(value: Any) -> str:
    text = _text(value, "a name")
    if not _NAME.fullmatch(text):
        hint = "names are lower-case letters, digits, `_` and `-`, a letter first"
        raise fault("name", f"`{text}` is no name", hint)
    return _unreserved(text)


def _unreserved(text: str) -> str:
    if text in RESERVED_IDS:
        raise fault("reserved_name", f"`{text}` is a word of the language", "choose another name")
    return text


def _variable(value: Any) -> str:
    text = _text(value, "a variable's name")
    if not _VARIABLE.fullmatch(text):
        raise fault("name", f"`{text}` is no variable's name", "letters, digits and `_`, no digit first")
    if text in _OWN_VARIABLES or text.startswith("BOT_"):
        raise fault("reserved_name", f"`{text}` is set by the engine", "choose another name")
    return text


def _value(value: Any) -> str | None:
    return value if value is None else _text(value, "text")


def _duration(value: Any) -> float:
    text = value if isinstance(value, str) else ""
    match = _DURATION.fullmatch(text)
    if match is None:
        hint = f"write `{value}s`" if type(value) is int else "a number and a unit: `60s`, `5m`, `2h`, `3d`"
        raise fault("duration", f"expected a duration, got {describe(value)}", hint)
    seconds = float(match[1]) * _SECONDS[match[2]]
    if not 0 < seconds <= _SECONDS_MAX:
        raise fault("duration", f"`{text}` is out of range", "more than nothing, and at most 366d")
    return seconds


#: the id of a step or an input
Id = Annotated[str, BeforeValidator(_id), WithJsonSchema({"type": "string", "pattern": f"^{ID.pattern}$"})]
#: the name of an agent or a workflow, which people type in comments
Name = Annotated[str, BeforeValidator(_name), WithJsonSchema({"type": "string", "pattern": f"^{_NAME.pattern}$"})]
#: the name of an environment variable
Variable = Annotated[
    str, BeforeValidator(_variable), WithJsonSchema({"type": "string", "pattern": f"^{_VARIABLE.pattern}$"})
]
#: text, or nothing: the engine's own variable of that name, where the operator exports it
VariableValue = Annotated[str | None, BeforeValidator(_value), WithJsonSchema({"type": ["string", "null"]})]
#: seconds, written as `60s`, `5m`, `2h`, `3d`
Duration = Annotated[
    float, BeforeValidator(_duration), WithJsonSchema({"type": "string", "pattern": f"^{_DURATION.pattern}$"})
]


#: a field, or an entry of it: `("prompt",)`, `("env", "NAME")`, `("run", 0)`
Place = tuple[str | int, ...]

_NOWHERE = Mark("")
_NOTHING: Mapping[Any, Any] = MappingProxyType({})


class Node(BaseModel):
    """A mapping of the YAML. `mark` is where it stands; templates in its fields are parsed when it is loaded."""

    # built when a file is read, not at import: a start reads none before it is ready
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)

    #: what a mapping of this sort is called in messages
    NOUN: ClassVar[str] = "a mapping"
    #: keys that are part of the language and come with a later version
    LATER: ClassVar[frozenset[str]] = frozenset()

    # most mappings have none of these, and there are thousands: what is empty is shared
    _mark: Mark = PrivateAttr(default_factory=lambda: _NOWHERE)
    _marks: Mapping[Place, Mark] = PrivateAttr(default_factory=lambda: _NOTHING)
    _templates: Mapping[Place, Template] = PrivateAttr(default_factory=lambda: _NOTHING)
    _conditions: Mapping[Place, Condition] = PrivateAttr(default_factory=lambda: _NOTHING)
    _parts: tuple[Node, ...] = PrivateAttr(default=())

    @property
    def mark(self) -> Mark:
        """Where it was written; its text form is `.github/bot.yml line 31`."""
        return self._mark

    def mark_of(self, key: str, *within: str | int) -> Mark:
        """Where the value of a key, or an entry of it, was written; where the whole is, if the key was left out."""
        return self._marks.get((key, *within)) or self._marks.get((key,), self._mark)

    def template(self, *path: str | int) -> Template:
        """The parsed text of a field (`"prompt"`, `"env", "NAME"`, `"run", 0`). Raises KeyError where there is none."""
        return self._templates[path]

    def templates(self) -> Iterable[tuple[Place, Template]]:
        """Every parsed text of this mapping's own fields."""
        return self._own("_templates").items()  # type: ignore[no-any-return] # of a dict without types

    def parts(self) -> Iterable[Node]:
        """The mappings of the YAML right within this one, in the order of its fields."""
        return self._own("_parts")  # type: ignore[no-any-return] # of a dict without types

    def _condition(self, key: str) -> Condition | None:
        """The condition at a key, read; None without one."""
        found: Condition | None = self._own("_conditions").get((key,))
        return found

    def _own(self, name: str) -> Any:
        """A private attribute. Asked by its name pydantic takes twenty times as long, and checks ask thousands."""
        private = self.__pydantic_private__
        assert private is not None  # every mapping has some
        return private[name]
