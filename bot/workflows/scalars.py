"""What a plain YAML scalar means: YAML 1.2's core schema, nothing else.

Source: https://yaml.org/spec/1.2.2/#1032-tag-resolution
"""

from __future__ import annotations

import math
import re

Scalar = str | int | float | bool | None

_WORDS: dict[str, bool | None] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_INT = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_UNBOUNDED = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

#: more digits do not fit a 64-bit number, and are an identifier rather than a quantity
_DIGITS_MAX = 18

_PREFIX = "tag:yaml.org,2002:"


class NotANumber(ValueError):
    """Text that reads as a number which JSON cannot carry. `text` is as it was written."""

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message)
        self.text = text


def resolve(text: str) -> Scalar:
    """The value of a plain scalar. Raises `NotANumber` for numbers that are infinite or too long."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    if _UNBOUNDED.fullmatch(text):
        raise NotANumber(f"`{text}` is no finite number", text)
    base = 10 if _INT.fullmatch(text) else 8 if _OCTAL.fullmatch(text) else 16 if _HEX.fullmatch(text) else 0
    if base:
        if len(text.lstrip("+-")) > _DIGITS_MAX:
            raise NotANumber(f"`{text[:_DIGITS_MAX]}…` is too long for a number", text[:64])
        return int(text, base)
    if not _FLOAT.fullmatch(text):
        return text
    number = float(text)
    if not math.isfinite(number):
        raise NotANumber(f"`{text[:_DIGITS_MAX]}` is too large for a number", text[:64])
    return number


def tagged(tag: str, text: str) -> tuple[Scalar, bool]:
    """The value of a scalar with an explicit tag, and whether the tag fits it."""
    if tag in ("!", _PREFIX + "str"):
        return text, True
    value = resolve(text)
    match tag.removeprefix(_PREFIX):
        case "null":
            return value, value is None
        case "bool":
            return value, isinstance(value, bool)
        case "int":
            return value, isinstance(value, int) and not isinstance(value, bool)
        case "float" if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value), True
        case _:
            return value, False
