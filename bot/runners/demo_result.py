"""What the demo model gives where a result is wanted: the least that fits, from the words that it was given."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bot.workflows.sample import least

#: characters of a made-up text
_TEXT = 200


def made_up(schema: Mapping[str, Any], text: str) -> Any:
    """A result for `schema`. Of several options the one is taken whose words `text` has most of, else the first."""
    words = re.findall(r"\w+", text.casefold())

    def choose(options: Sequence[Any]) -> Any:
        return max(options, key=lambda one: sum(words.count(word) for word in re.findall(r"\w+", str(one).casefold())))

    return least(schema, " ".join(text.split())[:_TEXT], choose)
