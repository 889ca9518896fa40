"""What looks like a template and is none: `{{ issue.title }}` and `${ issue.title }`, as other languages write them."""

from __future__ import annotations

import re
from typing import NamedTuple

from bot.workflows.slots import NAMESPACES

# a path of ours has a dot, which no variable of a shell has
_LIKE = re.compile(
    r"(?<![${])(?:\{\{[ \t]*(?P<double>[a-z]+(?:\.[A-Za-z0-9_-]+)+)[ \t]*\}\}"
    r"|\$\{[ \t]*(?P<single>[a-z]+(?:\.[A-Za-z0-9_-]+)+)[ \t]*\})"
)


class LookAlike(NamedTuple):
    """The first in a text: how it is written, the reference that was probably meant, and where it begins."""

    written: str
    path: str
    offset: int


def look_alike(text: str) -> LookAlike | None:
    """The first thing in the text that names one of our namespaces in braces of another language; None without any."""
    if "{{" not in text and "${" not in text:
        return None
    for found in _LIKE.finditer(text):
        path = found["double"] or found["single"]
        if path.partition(".")[0] in NAMESPACES:
            return LookAlike(found.group(), path, found.start())
    return None
