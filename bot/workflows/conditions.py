"""Conditions: CEL expressions, read once at load and evaluated on the few values that they name.

Source of the language: https://github.com/google/cel-spec/blob/master/doc/langdef.md
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from bot.errors import UserError
from bot.workflows.cel_paths import Reference, references
from bot.workflows.findings import listing, nearest
from bot.workflows.mark import Mark
from bot.workflows.paths import MISS, resolve
from bot.workflows.slots import SEGMENTS_MAX
from bot.workflows.template import Fault

#: what a condition may name; `value` only in the cases of a verdict
NAMES = ("outcome", "preferred_label", "steps", "ctx", "inputs", "params", "trigger", "issue", "item", "value")
FUNCTIONS = frozenset(
    {"size", "contains", "startsWith", "endsWith", "matches", "has", "exists", "all", "exists_one", "existsOne", "map"}
    | {"filter", "int", "uint", "double", "string", "bytes", "timestamp", "duration", "type", "dyn"}
    | {"getFullYear", "getMonth", "getDayOfYear", "getDayOfMonth", "getDate", "getDayOfWeek", "getHours"}
    | {"getMinutes", "getSeconds", "getMilliseconds"}
)
#: characters; a longer condition is a program
LENGTH_MAX = 2_000

_PLACE = re.compile(r"ERROR: <input>:(\d+):(\d+): ")
_FAILURES = (LookupError, RuntimeError, TypeError, ValueError, ArithmeticError)


@dataclass(frozen=True, slots=True)
class Truth:
    """What became of a condition. False with `missing` where it reads what is not there, with `fault` where it breaks.

    `missing` holds paths (`steps.plan.result.risk`), `fault` a sentence; both are for the record.
    """

    value: bool
    missing: tuple[str, ...] = ()
    fault: str = ""

    def __bool__(self) -> bool:
        return self.value


@dataclass(frozen=True, slots=True)
class Condition:
    """One expression that parses. `references` are the paths that it reads, `bound` the names of its own macros."""

    text: str
    references: tuple[Reference, ...]
    bound: frozenset[str]
    _program: Any = field(repr=False, compare=False)
    _paths: tuple[tuple[str, ...], ...] = field(repr=False, compare=False)

    @classmethod
    def parse(
        cls, text: str, faults: list[Fault] | None = None, place: Callable[[int], Mark] | None = None
    ) -> Condition | None:
        """Read an expression. None with what is wrong in `faults`; without such a list it raises `UserError`.

        `place` tells where an offset of the text stands in its file, for messages.
        """
        found: list[Fault] = []
        condition = cls._parse(text, found, place)
        if faults is not None:
            faults.extend(found)
        elif found:
            raise UserError(found[0].code, found[0].message, found[0].hint)
        return condition

    @classmethod
    def _parse(cls, text: str, faults: list[Fault], place: Callable[[int], Mark] | None) -> Condition | None:
        if "${{" in text:
            message = "a template cannot stand in a condition"
            hint = "name the value alone: `steps.plan.outcome == 'fail'`"
            faults.append(Fault("template_slot", message, hint, text.index("${{")))
            return None
        if len(text) > LENGTH_MAX:
            message = f"a condition has at most {LENGTH_MAX:,} characters, this one {len(text):,}"
            faults.append(Fault("condition", message, "let a step of kind `run` decide it", 0))
            return None
        try:
            program, functions, read, bound = _read(text)
        except ValueError as error:
            faults.append(_syntax(text, str(error)))
            return None
        unknown = [name for name in functions if name[:1].isalpha() and name not in FUNCTIONS]
        if unknown:
            hint = nearest(unknown[0], FUNCTIONS)
            message = f"there is no function {listing(unknown)}"
            faults.append(Fault("condition", message, hint, max(0, text.find(unknown[0]))))
            return None
        if place is not None:
            read = tuple(one._replace(mark=place(one.offset)) for one in read)
        for one in read:
            if len(one.path) > SEGMENTS_MAX:
                message = f"a path has at most {SEGMENTS_MAX} segments, this one {len(one.path)}"
                faults.append(Fault("template_depth", message, "go less deep", one.offset))
        for name in sorted(bound & {*NAMES}):
            message = f"`{name}` is a name of the language and cannot be bound again"
            faults.append(Fault("condition", message, "choose another name in the macro", 0))
        paths = tuple(sorted({one.path for one in read}, key=len))
        return None if faults else cls(text, read, bound, program, paths)

    def evaluate(self, scope: Mapping[str, Any]) -> Truth:
        """Whether it holds. `scope` maps the names of `NAMES` to values; dotted keys of `ctx` are there both ways.

        Never raises: what is missing, and what does not fit, makes it false.
        """
        values, lacking = self._values(scope)
        try:
            value = self._program.execute(values)
        except _FAILURES as error:
            missing = tuple(
                dict.fromkeys(one.name for one in self.references if one.path in lacking and not one.guarded)
            )
            return Truth(False, missing, "" if missing else _failure(error))
        if not isinstance(value, bool):
            return Truth(False, (), f"it gives {_kind(value)}, not true or false")
        return Truth(value)

    def _values(self, scope: Mapping[str, Any]) -> tuple[dict[str, Any], set[tuple[str, ...]]]:
        """What the expression names, and only that; and the paths that lead nowhere."""
        values: dict[str, Any] = {}
        lacking: set[tuple[str, ...]] = set()
        for path in self._paths:
            value = _find(scope, path)
            if value is MISS:
                lacking.add(path)
                _put(values, path[:-1], {}, over=False)
            elif not _stands(values, path):
                # a key with dots, such as a file's `spec.mime` beside its path `spec`: CEL walks, so it is nested
                _put(values, path, value)
        return values, lacking


def _put(values: dict[str, Any], path: tuple[str, ...], value: Any, *, over: bool = True) -> None:
    """Put a value at a path of nested mappings; with `over` whatever stands on the way or there makes room."""
    owner = values
    for depth, segment in enumerate(path):
        last = depth == len(path) - 1
        inner = owner.get(segment, MISS)
        if not over and inner is not MISS and not isinstance(inner, dict):
            return
        if last and over:
            owner[segment] = value
        else:
            # a copy: what stands there may be the scope's own
            owner[segment] = dict(inner) if isinstance(inner, Mapping) else {}
            owner = owner[segment]


def _stands(values: Any, path: tuple[str, ...]) -> bool:
    """Whether an expression that walks the path comes to something."""
    for segment in path:
        if isinstance(values, Mapping) and segment in values:
            values = values[segment]
        elif isinstance(values, (list, tuple)) and segment.isdigit() and int(segment) < len(values):
            values = values[int(segment)]
        else:
            return False
    return True


def _find(scope: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    if path[0] == "ctx" and len(path) == 1:
        return _both(scope.get("ctx", {}))
    value = resolve(scope, path)
    if value is MISS and path[0] == "ctx":
        return resolve(_both(scope.get("ctx", {})), path[1:])
    return value


def _both(context: Mapping[str, Any]) -> dict[str, Any]:
    """The run context with its dotted keys as they are and nested; a key as it is wins."""
    both: dict[str, Any] = {}
    for key, value in context.items():
        *owners, last = key.split(".")
        owner: Any = both
        for segment in owners:
            owner = owner.setdefault(segment, {})
            if not isinstance(owner, dict):
                break
        else:
            owner[last] = value
    return {**both, **context}


@lru_cache(maxsize=512)
def _read(text: str) -> tuple[Any, tuple[str, ...], tuple[Reference, ...], frozenset[str]]:
    """The program of an expression, its functions, and what it reads; the same few stand in most workflows.

    Raises ValueError for what is no expression.
    """
    program = _compile()(text)
    return program, tuple(program.functions()), *references(text)


@cache
def _compile() -> Any:
    # late: it takes a quarter of a second, and most repositories have no condition
    from cel import compile as compile_cel

    return compile_cel


def _syntax(text: str, message: str) -> Fault:
    """CEL's own message with its caret, without what it repeats; the first of several."""
    parts = _PLACE.split(message)
    if len(parts) < 4:
        return Fault("condition", f"this is no condition: {message}", "write CEL: `outcome == 'fail'`", 0)
    line, column, told = int(parts[1]), int(parts[2]), parts[3].rstrip()
    lines = text.split("\n")
    offset = sum(len(one) + 1 for one in lines[: line - 1]) + column - 1
    hint = "text stands in quotes, `==` compares, `&&` and `||` join"
    return Fault("condition", f"this is no condition: {told}", hint, min(offset, len(text)))


def _failure(error: Exception) -> str:
    if isinstance(error, LookupError):
        return f"nothing stands at {error}"
    return str(error).partition(". ")[0].partition("\n")[0]


def _kind(value: Any) -> str:
    return {str: "text", int: "a number", float: "a number", list: "a list", dict: "a mapping", type(None): "null"}.get(
        type(value), "another value"
    )
