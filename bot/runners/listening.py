"""Puts what people said since the last request into the next one. Imported late, like `bot.runners.sdk`."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import ModelRequestContext

from bot.runners.said import Listen


class Listening(AbstractCapability[None]):
    """Asks before each request. `heard` are the ids that the conversation holds, those of this half at its end."""

    def __init__(self, listen: Listen, known: Sequence[str]) -> None:
        self._listen = listen
        self.heard = list(known)

    async def before_model_request(
        self, ctx: RunContext[None], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """A message of its own for each, in this request and in the history."""
        for said in await self._listen(tuple(self.heard)):
            ctx.enqueue(said.text)
            self.heard.append(said.id)
        return request_context
