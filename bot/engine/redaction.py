"""Secrets out of what a step came to, before anything of it is kept or given to other steps; lone surrogates too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from bot.engine.values import storable
from bot.model.outcome import Done, Failed, Faulted, Outcome, Question, Wait

Redact = Callable[[str], str]


def clean(outcome: Outcome, secrets: Redact) -> Outcome:
    """The outcome without what `secrets` takes out, in any text of it, and without what no database takes.

    What a conversation needs to go on was cleaned as it was made.
    """

    def redact(text: str) -> str:
        return storable(secrets(text))

    match outcome:
        case Done():
            return replace(
                outcome,
                output=_text(outcome.output, redact),
                result=_json(outcome.result, redact),
                stdout=redact(outcome.stdout),
                stderr=redact(outcome.stderr),
                writes={key: redact(value) for key, value in outcome.writes.items()},
            )
        case Failed():
            return replace(
                outcome,
                message=redact(outcome.message),
                hint=redact(outcome.hint),
                output=_text(outcome.output, redact),
                stdout=redact(outcome.stdout),
                stderr=redact(outcome.stderr),
                writes={key: redact(value) for key, value in outcome.writes.items()},
            )
        case Faulted():
            return replace(outcome, message=redact(outcome.message))
        case Wait(question=Question() as question):
            asked = replace(question, question=redact(question.question), show=redact(question.show))
            return replace(outcome, question=asked)
    return outcome


def _text(text: str | None, redact: Redact) -> str | None:
    return None if text is None else redact(text)


def _json(value: Any, redact: Redact) -> Any:
    """JSON without secrets; keys stay what they are where they hold none."""
    match value:
        case str():
            return redact(value)
        case dict():
            return {redact(key): _json(item, redact) for key, item in value.items()}
        case list() | tuple():
            return [_json(item, redact) for item in value]
        case _:
            return value
