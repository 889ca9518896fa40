"""Kinds that the engine answers by itself: `switch` and `end`."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from bot.workflows.agent import Budget, Retry
from bot.workflows.base_step import BaseStep, Format, Publish
from bot.workflows.defaults import WorkspaceMode
from bot.workflows.node import Node
from bot.workflows.routing import Case, Loop, with_default
from bot.workflows.slots import Slot
from bot.workflows.template import Template


class RoutingStep(BaseStep):
    """A step that the engine answers by itself, at once: no workspace, no retries, no cost."""

    @property
    def timeout(self) -> float:
        return self.TIMEOUT

    @property
    def retry(self) -> Retry:
        return Retry(max=0)

    @property
    def budget(self) -> Budget:
        return Budget()

    @property
    def workspace(self) -> WorkspaceMode:
        return "none"


class SwitchStep(RoutingStep):
    """Goes on with the first case whose condition is true. Its result is the case; it has no output."""

    KIND: ClassVar[str] = "switch"

    switch: Annotated[tuple[Case, ...], Field(min_length=1)] = Field(
        description="first match wins; the last is the default"
    )
    own_loop: Loop | None = Field(None, alias="loop", description="bounds the cases that lead back")

    @model_validator(mode="after")
    def _ends_with_default(self) -> SwitchStep:
        with_default(self.switch)
        return self

    @property
    def loop(self) -> Loop:
        """What bounds its routes that lead back."""
        return self.own_loop or Loop()

    @property
    def cases(self) -> tuple[Case, ...]:
        """The conditional routes in order; the last is the default."""
        return self.switch

    @property
    def publish(self) -> Literal[False]:
        return False

    @property
    def format(self) -> Format:
        return self.FORMAT


class Ending(Node):
    """How a frame ends."""

    NOUN: ClassVar[str] = "`end`"

    outcome: Literal["success", "fail"] = Field("success", description="of the frame, and so of the run")
    message: Annotated[str, Slot.SPEECH] = Field("", description="what is told; the step's output")

    @property
    def text(self) -> Template | None:
        """The message, read; None without one."""
        return self._templates.get(("message",))


class EndStep(RoutingStep):
    """Ends its frame."""

    KIND: ClassVar[str] = "end"
    FORMAT: ClassVar[Format] = "markdown"

    end: Ending = Field(description="with which outcome and message")
    publish: Publish = Field(
        "final",
        description="`final`: posted if it is the run's last output; `true`: when the step ends; `false`: never",
    )
    own_format: Format | None = Field(None, alias="format", description="`text` is posted in a fence")

    @property
    def format(self) -> Format:
        """How the message is posted."""
        return self.own_format or self.FORMAT
