"""A conversation that stopped before a call which a person has to approve: as bytes for a row, and back.

The format is ours and has a version; within it the messages are pydantic-ai's own JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from bot.model.fence import fence
from bot.model.outcome import Intent, Question, ToolCall, Usage
from bot.runners.toolbox import Standing, Waiting

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

VERSION = 1
#: controls, bidi, zero-width characters, tags, selectors and letters that show nothing; line breaks are JSON's own
_HIDDEN = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f"
    r"\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff]"
)


class Lost(ValueError):
    """The bytes are no conversation of this version."""


@dataclass(frozen=True, slots=True)
class Kept:
    """All that the second half of a call needs. `usage` and `seconds` are those of all earlier halves together."""

    model: str
    messages: Sequence[ModelMessage]
    standing: Standing
    usage: Usage
    seconds: float
    #: the ids of what people said on the way (`Said`), which the messages hold
    heard: Sequence[str] = ()

    def dump(self) -> bytes:
        """As JSON in ASCII, so that no text of a model can break it."""
        from pydantic_ai.messages import ModelMessagesTypeAdapter

        document = {
            "version": VERSION,
            "model": self.model,
            "messages": ModelMessagesTypeAdapter.dump_python(list(self.messages), mode="json"),
            "standing": asdict(self.standing),
            "usage": asdict(self.usage),
            "seconds": self.seconds,
            "heard": list(self.heard),
        }
        return json.dumps(document, separators=(",", ":")).encode()

    @classmethod
    def load(cls, raw: bytes) -> Kept:
        """Raises Lost for bytes of another version, or that were damaged."""
        from pydantic_ai.messages import ModelMessagesTypeAdapter

        document = _document(raw)
        try:
            return cls(
                document["model"],
                ModelMessagesTypeAdapter.validate_python(document["messages"]),
                _standing(document["standing"]),
                Usage(**document["usage"]),
                document["seconds"],
                # conversations that were kept before anybody could be heard have none
                tuple(document.get("heard", ())),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise Lost(f"a part of it cannot be read ({type(error).__name__})") from None


def _document(raw: bytes) -> dict[str, Any]:
    try:
        document = json.loads(raw)
    except ValueError:
        raise Lost("it is no JSON") from None
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise Lost("another version of the bot made it")
    return document


def _standing(given: Mapping[str, Any]) -> Standing:
    return Standing(
        spent=given["spent"],
        waiting=[Waiting(**one) for one in given["waiting"]],
        decided=given["decided"],
        asked=given["asked"],
        intents=[Intent(**one) for one in given["intents"]],
        episode=[ToolCall(**one) for one in given["episode"]],
        closed=given["closed"],
        answered=given["answered"],
    )


def awaiting(kept: bytes) -> tuple[Waiting, ...]:
    """The calls that wait for a person, with the id by which `Call.approved` answers each; the first is asked about.

    Needs no pydantic-ai. Raises Lost like `Kept.load`.
    """
    try:
        return tuple(_standing(_document(kept)["standing"]).undecided)
    except (KeyError, TypeError) as error:
        raise Lost(f"a part of it cannot be read ({type(error).__name__})") from None


def question(agent: str, call: Waiting, redacted: str) -> Question:
    """What a person is asked: the tool and its arguments whole. `redacted` is their JSON as it may be seen.

    What nobody would see of it, or would see in another order, is spelled out: it is what runs.
    """
    redacted = _HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], redacted)
    who = f"The agent `{agent}`" if agent else "The agent"
    return Question(f"{who} asks to call the tool `{call.tool}`. Approve?", show=fence(redacted, "json"))
