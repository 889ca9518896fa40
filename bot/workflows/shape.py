"""From plain data to a model: pydantic's errors become findings with a place, a code and a hint."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar, get_args, get_origin

from pydantic import ValidationError

from bot.workflows.agent import LeastRole
from bot.workflows.bot_file import BotFile
from bot.workflows.document import Document, Path
from bot.workflows.findings import FINDINGS_MAX, Findings, listing, meant, nearest
from bot.workflows.modifiers import KINDS, taken_by, takers
from bot.workflows.node import Node, describe
from bot.workflows.step import STEP_TYPES, BaseStep, kinds_of
from bot.workflows.step_inputs import INPUT_TYPES, input_kinds
from bot.workflows.triggers import Schedule

N = TypeVar("N", bound=Node)

_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "`true` or `false`",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}
#: how a value of each sort is written, where nothing tells what was meant
_HOW = {
    "a whole number": "write digits alone and no quotes, as in `5`",
    "a number": "write it without quotes, as in `0.5`",
    "`true` or `false`": "only these two are truth values; write one of them, without quotes",
    "a list": "write `[one, two]`, or each entry on a line of its own after `- `",
    "a mapping": "write `key: value` pairs on the lines below it, indented",
}
#: words of other workflow languages, by what is written here instead
_OF_STEPS = {
    "if": "write `when: …`, in CEL and without `${{ }}`",
    "needs": "steps run in the order of the file; another order is written with `next`",
    "depends_on": "steps run in the order of the file; another order is written with `next`",
    "with": "write `inputs: …`",
    "name": "write `id: …`, in lower-case letters, digits and `_`",
    "runs-on": "steps run where the bot runs; remove it",
    "timeout-minutes": "write `timeout: 5m`",
    "continue-on-error": "write `next: [{when: \"outcome == 'fail'\", to: id}, {to: id}]`",
    "working-directory": "write `cd folder && …` in the command",
    "env": "variables belong to a command: `env` of a step of kind `run` or `code`, or of an `exec` input",
}
_OF_FILES = {
    "jobs": "a workflow has `steps`, one after the other; side by side they run in a step of kind `parallel`",
    "runs-on": "steps run where the bot runs; remove it",
    "env": "variables of every command stand in `workspace: {env: {NAME: value}}`",
    "permissions": "what the bot may do is set where the App is installed; remove it",
}
#: a value that a hint can repeat, and how many of a list
_WORD = re.compile(r"[\w@./-][\w@./ -]{0,59}")
_SHOWN = 5
_QUOTED = re.compile(r"'([^']*)'")


def validate(
    model: type[N], document: Document, findings: Findings, context: Mapping[str, Any] | None = None
) -> N | None:
    """The file's data as `model`; None with findings where it does not fit. `context` reaches the validators."""
    # strict validation of JSON takes lists for tuples and words for enums, which is what YAML's data needs
    text = json.dumps(document.data, ensure_ascii=False)
    try:
        return model.model_validate_json(text, context=dict(context or {}))
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
        # a mistyped key explains the missing one
        errors.sort(key=lambda one: one["type"] == "missing")
        for one in errors[: FINDINGS_MAX * 2]:
            if findings.full:
                break
            _report(model, document, findings, one)
        return None


def _report(model: type[Node], document: Document, findings: Findings, error: Any) -> None:
    path, is_key = _path(document.data, error["loc"])
    kind, context = str(error["type"]), error.get("ctx", {})
    if context.get("key"):
        path, is_key = (*path, context["key"]), True
    value = _at(document.data, path)
    if kind == "too_short" and value:
        return  # pydantic counts the entries that are right; the others have findings of their own
    whole = is_key or kind == "extra_forbidden" or isinstance(value, (dict, list))
    mark = document.key_mark(path) if whole else document.mark(path)
    match kind:
        case "extra_forbidden":
            finding = _unknown_key(model, document.data, path)
        case "missing":
            mark = document.key_mark(path[:-1])
            noun = _noun(_owner(model, document.data, path[:-1]))
            finding = "missing_key", f"{noun} needs `{path[-1]}`", f"add `{path[-1]}:`"
        case "step_kind":
            finding = _step_kind(value)
        case "input_kind":
            finding = _input_kind(value)
        case "literal_error":
            expected = str(context.get("expected", ""))
            options = _QUOTED.findall(expected) or [expected]  # a number stands without quotes
            hint = meant(value, options) if isinstance(value, str) else ""
            said = f"expected one of {listing(options)}, got {describe(value)}"
            finding = "option", said, hint or (f"write `{options[0]}`" if len(options) == 1 else "write one of them")
        case "type_mismatch":
            named = _named(path)
            # a message that begins with the key's own name says it already
            told = (
                context["text"] if context["text"].startswith(named.rstrip(": ") or "\0") else named + context["text"]
            )
            finding = kind, told, context["hint"]
        case _ if "text" in context:
            finding = kind, context["text"], context["hint"]
        case _ if kind in _EXPECTED:
            finding = _type_mismatch(path, _EXPECTED[kind], value)
        case "too_short" | "string_too_short":
            finding = "empty", f"`{path[-1]}` is empty", "give it a value or remove the key"
        case _:
            hint = "write such a number, or remove the key for the usual value"
            finding = "range", f"`{path[-1]}`: {_bound(context, error['msg'])}, got {describe(value)}", hint
    findings.error(mark, *finding)


def _named(path: Path) -> str:
    """The beginning of a message about the value at `path`: its key, or the list that it is an entry of."""
    keys = [part for part in path if isinstance(part, str)]
    if not keys:
        return ""
    return f"`{keys[-1]}`: " if path[-1] == keys[-1] else f"an entry of `{keys[-1]}`: "


def _type_mismatch(path: Path, expected: str, value: Any) -> tuple[str, str, str]:
    hint = (
        "put it in quotes if it is meant as text" if expected == "text" and not isinstance(value, (dict, list)) else ""
    )
    if value is None:
        hint = "give it a value or remove the key"
    elif not hint:
        hint = _written(path, expected, value) or _HOW.get(expected, f"write {expected} here")
    return "type_mismatch", f"{_named(path)}expected {expected}, got {describe(value)}", hint


def _written(path: Path, expected: str, value: Any) -> str:
    """How a value of another shape was probably meant."""
    key = path[-1] if path else ""
    if expected == "a list" and isinstance(value, str) and _WORD.fullmatch(value):
        return f"write `[{value.lstrip('@') if key == 'logins' else value}]`"
    words = [value] if isinstance(value, str) else value
    if expected != "a mapping" or not isinstance(words, list) or not words:
        return ""
    if not all(isinstance(one, str) and _WORD.fullmatch(one) for one in words):
        return ""
    if key == "who" and value in get_args(LeastRole):
        return f"write `who: {{role: {value}}}`"
    if key == "who":
        return f"write `who: {{logins: [{', '.join(one.lstrip('@') for one in words[:_SHOWN])}]}}`"
    if key == "options":
        *first, last = words[:_SHOWN]
        return f"write `options: {{{', '.join([*(f'{one}: next_step' for one in first), f'{last}: end'])}}}`"
    return ""


def _bound(context: Mapping[str, Any], message: str) -> str:
    for key, words in (("ge", "at least"), ("gt", "more than"), ("le", "at most"), ("lt", "less than")):
        if key in context:
            bound = context[key]
            return f"expected {words} {int(bound) if bound == int(bound) else bound}"
    return message


def _path(data: Any, loc: tuple[str | int, ...]) -> tuple[Path, bool]:
    """pydantic's location as a path of the data: without the names of union members; and whether a key is meant."""
    path: list[str | int] = []
    for part in loc:
        inside = (isinstance(data, dict) and part in data) or (isinstance(data, list) and isinstance(part, int))
        if part == "[key]" and not inside:
            return tuple(path), True
        if not inside and isinstance(part, str) and part.startswith("kind:"):
            continue
        path.append(part)
        if not inside:
            break
        data = data[part]
    return tuple(path), False


def _at(data: Any, path: Path) -> Any:
    for part in path:
        if isinstance(data, dict):
            data = data.get(part)
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            return None
    return data


# -- which model a key belongs to -------------------------------------------------------------------------------------


def _owner(model: type[Node], data: Any, path: Path) -> type[Node] | None:
    """The model that the mapping at `path` should fit."""
    annotation: Any = model
    for part in path:
        owner = _node_type(annotation, data)
        if owner is not None:
            owner.model_rebuild()  # what holds steps learns what a step is when it is first used
            annotation = next((f.annotation for n, f in owner.model_fields.items() if (f.alias or n) == part), None)
        else:
            annotation = _item_type(annotation)
        data = _at(data, (part,))
    return _node_type(annotation, data)


def _node_type(annotation: Any, data: Any) -> type[Node] | None:
    types = [one for one in _flat(annotation) if isinstance(one, type) and issubclass(one, Node)]
    if len(types) > 1:
        kinds = kinds_of(data) if issubclass(types[0], BaseStep) else input_kinds(data)
        return next((one for one in types if kinds == [getattr(one, "KIND", "")]), None)
    return types[0] if types else None


def _item_type(annotation: Any) -> Any:
    for one in _flat(annotation):
        if get_origin(one) is dict:
            return get_args(one)[1]
        if get_origin(one) is tuple:
            return get_args(one)[0]
    return None


def _flat(annotation: Any) -> list[Any]:
    """The members of a union, `Annotated` taken off."""
    if get_origin(annotation) is Annotated:
        return _flat(get_args(annotation)[0])
    if get_origin(annotation) in (dict, tuple) or isinstance(annotation, type):
        return [annotation]
    return [one for member in get_args(annotation) for one in _flat(member)]


def _noun(owner: type[Node] | None) -> str:
    if owner is None:
        return "it"
    kind = getattr(owner, "KIND", "")
    return f"{owner.NOUN} of kind `{kind}`" if kind else owner.NOUN


def _keys(owner: type[Node]) -> list[str]:
    return [field.alias or name for name, field in owner.model_fields.items()]


def _unknown_key(model: type[Node], data: Any, path: Path) -> tuple[str, str, str]:
    key, owner = str(path[-1]), _owner(model, data, path[:-1])
    if owner is None:
        return "unknown_key", f"`{key}` is not a key here", "remove it"
    noun = _noun(owner)
    if key in owner.LATER:
        return "not_available", f"`{key}` of {noun} is not available yet", "remove it; it comes with a later version"
    if owner in STEP_TYPES and takers(key):
        hint = f"it is for {taken_by(key)}"
        return "modifier", f"`{key}` means nothing to {noun}", _OF_STEPS["env"] if key == "env" else hint
    return "unknown_key", f"`{key}` is not a key of {noun}", _foreign(key, owner) or nearest(key, _keys(owner))


def _foreign(key: str, owner: type[Node]) -> str:
    """What a word of other workflow languages is called here."""
    if owner is Schedule and key in ("timezone", "tz", "time_zone", "time-zone"):
        return "remove it: times are UTC"
    if issubclass(owner, BaseStep):
        return _OF_STEPS.get(key, "")
    if key == "env" and owner is not BotFile:
        return "variables belong to a command: `env` of a step of kind `run` or `code`, or of an `exec` input"
    return _OF_FILES.get(key, "")


def _step_kind(data: Any) -> tuple[str, str, str]:
    available = listing(one.KIND for one in STEP_TYPES)
    if not isinstance(data, dict):
        return "type_mismatch", f"expected a step, got {describe(data)}", "write `- id: name` and below it what it does"
    kinds = kinds_of(data)
    if len(kinds) > 1:
        return "step_kind", f"a step does one thing, this one has {listing(kinds)}", "make two steps of it"
    close = [hint for key in data if (hint := meant(str(key), KINDS))]
    return (
        "step_kind",
        f"a step needs one of {available}",
        close[0] if close else "the key that names the work is the kind",
    )


def _input_kind(data: Any) -> tuple[str, str, str]:
    available = listing(one.KIND for one in INPUT_TYPES)
    if not isinstance(data, dict):
        return "type_mismatch", f"expected an input, got {describe(data)}", "write `{value: …}` for a value"
    if len(kinds := input_kinds(data)) > 1:
        return "input_kind", f"an input is one thing, this one has {listing(kinds)}", "make two inputs of it"
    close = [hint for key in data if (hint := meant(str(key), [one.KIND for one in INPUT_TYPES]))]
    return "input_kind", f"an input needs one of {available}", close[0] if close else "the key says where it comes from"
