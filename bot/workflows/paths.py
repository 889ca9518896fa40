"""Walking a path into values: the same way for templates, conditions, `decide` and `context`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Miss:
    """Stands for a path that leads nowhere: None is a value."""

    def __repr__(self) -> str:
        return "MISS"


MISS = Miss()


def resolve(scope: Any, path: tuple[str, ...]) -> Any:
    """The value at `path`, or `MISS`: at each level first the whole rest as one key, then the next segment.

    A non-negative integer segment indexes a list. None is a value.
    """
    value = scope
    for index, segment in enumerate(path):
        if isinstance(value, Mapping):
            rest = ".".join(path[index:])
            if rest in value:
                return value[rest]
            if segment not in value:
                return MISS
            value = value[segment]
        elif isinstance(value, (list, tuple)) and segment.isascii() and segment.isdigit() and len(segment) < 10:
            if int(segment) >= len(value):
                return MISS
            value = value[int(segment)]
        else:
            return MISS
    return value
