"""One conversation with a model over all that may interrupt it: another model taking over, a person being asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.model.outcome import Done, Failed, Faulted, Outcome, Usage, Wait
from bot.runners.call import Call
from bot.runners.kept import Kept, Lost, question
from bot.runners.toolbox import Stop, Toolbox

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.tools import DeferredToolResults

    from bot.runners.listening import Listening
    from bot.runners.toolset import ToolboxToolset


class Talk:
    """What was said and done so far in one call. `usage` and `seconds` are those of its earlier halves."""

    def __init__(self, call: Call) -> None:
        """Go on from `call.resumed`, or begin. Raises Stop with code `conversation_lost` or `tool_schema`."""
        kept = _load(call)
        self._call = call
        self._box = Toolbox(call.tools, call.redact, kept.standing if kept else None) if call.tools or kept else None
        self.usage = kept.usage if kept else Usage()
        self.seconds = kept.seconds if kept else 0.0
        #: None until a model has answered
        self.messages: Sequence[ModelMessage] | None = kept.messages if kept else None
        self._model = kept.model if kept else ""
        #: what people said that `messages` holds
        self._heard: Sequence[str] = kept.heard if kept else ()
        if self._box is not None:
            self._box.decide(call.approved)

    def models(self) -> tuple[str, ...]:
        """The models to ask, in order. One that stopped for a person goes on before those behind it are asked."""
        every = (self._call.model, *self._call.fallback)
        return every[every.index(self._model) :] if self._model in every else every

    @property
    def prompt(self) -> str | None:
        """What is said next; nothing where the conversation goes on by itself."""
        return self._call.prompt if self.messages is None else None

    @property
    def called(self) -> bool:
        """Whether a tool was called."""
        return self._box is not None and bool(self._box.standing.episode)

    @property
    def answered(self) -> int:
        """Bytes that tools have answered."""
        return self._box.standing.answered if self._box is not None else 0

    def toolset(self) -> ToolboxToolset | None:
        """The tools as pydantic-ai takes them; None without any."""
        from bot.runners.toolset import ToolboxToolset

        return ToolboxToolset(self._box) if self._box is not None else None

    def listening(self) -> Listening | None:
        """What asks for people's words before each request; None where nobody can be heard."""
        from bot.runners.listening import Listening

        return Listening(self._call.listen, self._heard) if self._call.listen is not None else None

    def decisions(self) -> DeferredToolResults | None:
        """The calls that are decided now. Whether one was approved is the toolbox's to know; it tells of refusals."""
        from pydantic_ai.tools import DeferredToolResults

        if self._box is None or not self._box.standing.waiting:
            return None
        return DeferredToolResults(approvals={one.call: True for one in self._box.standing.waiting})

    def went_on(self, messages: Sequence[ModelMessage], heard: Sequence[str] = ()) -> None:
        """A model failed after `messages`: the next one goes on there, so that no tool does its work twice.

        `heard` is what people said in them; where the next one begins anew, it hears that again.
        """
        if any(message.kind == "response" for message in messages):
            self.messages, self._heard = list(messages), tuple(heard)

    def stopped(self, model: str, messages: Sequence[ModelMessage], heard: Sequence[str] = ()) -> None:
        """A model's call waits for a person."""
        self._model, self.messages, self._heard = model, list(messages), tuple(heard)

    def waits(self) -> Wait | None:
        """The next question for a person, without asking any model; None if nothing is left to be decided."""
        if self._box is None or not (open_ := self._box.standing.undecided):
            return None
        first = open_[0]
        shown = self._call.redact(json.dumps(first.arguments, ensure_ascii=False, indent=2))
        return Wait(
            "approval",
            question=question(self._call.agent, first, shown),
            kept=self._dump(self.usage, self.seconds),
            model=self._model,
        )

    def ended(self, outcome: Outcome, spent: Usage, seconds: float) -> Outcome:
        """The outcome with what the tools led to. `spent` and `seconds` are of this half."""
        if self._box is None:
            return outcome
        standing = self._box.standing
        match outcome:
            case Done():
                return replace(outcome, intents=tuple(standing.intents), episode=tuple(standing.episode))
            case Failed():
                return replace(outcome, episode=tuple(standing.episode))
            case Faulted() if standing.episode and self.messages is not None:
                return replace(outcome, kept=self._dump(self.usage + spent, seconds))
            case Wait():
                waits = self.waits()
                assert waits is not None
                kept = self._dump(self.usage + spent, seconds)
                return replace(outcome, question=waits.question, kept=kept)
        return outcome

    def _dump(self, usage: Usage, seconds: float) -> bytes:
        assert self._box is not None
        assert self.messages is not None
        return Kept(self._model, self.messages, self._box.standing, usage, round(seconds, 3), self._heard).dump()


def _load(call: Call) -> Kept | None:
    if call.resumed is None:
        return None
    try:
        kept = Kept.load(call.resumed)
        known = {tool.name for tool in call.tools}
        if gone := [one.tool for one in kept.standing.waiting if one.tool not in known]:
            raise Lost(f"the tool `{gone[0]}` is not there any more")
    except Lost as error:
        message = f"the conversation that waited for an approval cannot go on: {error}"
        raise Stop(Failed("conversation_lost", message, "run the step again")) from None
    return kept
