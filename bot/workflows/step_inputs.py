"""Inputs of a step: named values that the engine computes immediately before it."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from bot.workflows.command import Command, CommandText, Environment
from bot.workflows.node import Duration
from bot.workflows.slots import Slot


class ExecInput(Command):
    """An input that the engine computes with a command, immediately before the prompt is put together."""

    NOUN: ClassVar[str] = "an input"
    LATER: ClassVar[frozenset[str]] = frozenset(
        {"value", "type", "file", "diff", "checks", "review_threads", "linked", "thread"}
    )

    exec: Annotated[CommandText, Slot.COMMAND] = Field(description="shell text, or a list without a shell")
    timeout: Duration = Field(60.0, description="longest time (60s)")
    required: bool = Field(True, description="whether its failure ends the step before the model is called")
    max_bytes: int = Field(65536, gt=0, le=16 * 1024 * 1024, description="head and tail of the output beyond this")
    env: Annotated[Environment, Slot.ENVIRONMENT] = Field(
        default_factory=dict, description="variables of the command; nothing else is passed on"
    )

    @property
    def command(self) -> str | tuple[str, ...]:
        return self.exec
