"""Comments as JSON in rows, and back."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import TypeAdapter

from bot.model.thread import Comment


def comment_to_json(comment: Comment) -> dict[str, Any]:
    """Plain JSON values; `comment_from_json` gives an equal comment back."""
    dumped: dict[str, Any] = _adapter().dump_python(comment, mode="json")
    return dumped


def comment_from_json(value: dict[str, Any]) -> Comment:
    """Raises pydantic's ValidationError on anything that `comment_to_json` did not write."""
    return _adapter().validate_python(value)


@cache
def _adapter() -> TypeAdapter[Comment]:
    return TypeAdapter(Comment)
