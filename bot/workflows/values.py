"""Values with templates in them: all levels of objects and lists, keys never."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.workflows.node import Node
from bot.workflows.paths import MISS, resolve
from bot.workflows.slots import RULES
from bot.workflows.template import Token


@dataclass(frozen=True, slots=True)
class Resolved:
    """A value with every template replaced, and what is worth recording."""

    value: Any
    warnings: tuple[str, ...] = ()


def fill(node: Node, at: tuple[str | int, ...], value: Any, scope: Mapping[str, Any]) -> Resolved:
    """A value of `node`, which stands in it at `at`, for one attempt.

    Where the slot is typed, a string that is exactly one token becomes the value itself, with its type; elsewhere and
    in longer strings a value is text. Raises `UserError` (`template_undefined`).
    """
    warnings: list[str] = []
    return Resolved(_fill(node, at, value, scope, warnings), tuple(warnings))


def _fill(node: Node, at: tuple[str | int, ...], value: Any, scope: Mapping[str, Any], warnings: list[str]) -> Any:
    match value:
        case dict():
            return {key: _fill(node, (*at, key), inner, scope, warnings) for key, inner in value.items()}
        case list() | tuple():
            return [_fill(node, (*at, index), inner, scope, warnings) for index, inner in enumerate(value)]
        case str():
            template = node.template(*at)
            only = template.parts[0] if len(template.parts) == 1 else None
            if RULES[template.slot].typed and isinstance(only, Token):
                found = resolve(scope, only.path)
                if found is MISS and only.has_default:
                    return only.default
                if found is not MISS:
                    return found
            rendered = template.render(scope)
            warnings.extend(rendered.warnings)
            return rendered.text
        case _:
            return value
