"""A workflow: named steps and what holds for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, PrivateAttr, WithJsonSchema

from bot.workflows.agent import Budget, LeastRole
from bot.workflows.defaults import Defaults
from bot.workflows.evidence import Export
from bot.workflows.node import Id, Name, Node, describe, fault
from bot.workflows.signature import Declared
from bot.workflows.step import Step, walk
from bot.workflows.triggers import Triggers

#: words of a command that set the request's own budget
REQUEST_WORDS = frozenset({"usd", "tokens", "minutes"})


def _param(value: Any) -> str:
    if not isinstance(value, str):
        raise fault("type_mismatch", f"params are text, got {describe(value)}", "put the value in quotes")
    return value


ParamValue = Annotated[str, BeforeValidator(_param), WithJsonSchema({"type": "string"})]


class Workflow(Node):
    """One workflow. `name` is the key or the file's stem where the author gave none."""

    NOUN: ClassVar[str] = "a workflow"

    name: Name | None = Field(None, description="how a comment names it; the file's stem if left out")
    description: str = Field("", description="one line for `help`")
    goal: str = Field("", description="what the whole run is for; agents are told")
    on: Triggers = Field(default_factory=Triggers, description="what starts it")
    trigger_role: LeastRole | None = Field(None, description="least role that may run it")
    params: dict[Id, ParamValue] = Field(
        default_factory=dict, description="words `key=value` of a command, with defaults"
    )
    inputs: dict[Id, Declared] = Field(
        default_factory=dict, description="the signature of a run: typed words `key=value`, checked before any step"
    )
    defaults: Defaults = Field(default_factory=Defaults, description="for all steps")
    budget: Budget | None = Field(None, description="most that one run may spend, instead of `limits.per_run`")
    export: Export | None = Field(None, description="what the run gives to those who use it")
    steps: Annotated[tuple[Step, ...], Field(min_length=1)] = Field(description="in the order in which they run")

    _called: str = PrivateAttr(default="")

    @property
    def called(self) -> str:
        """Its name in the roster."""
        return self._called or self.name or ""

    def call(self, name: str) -> None:
        """Give it its name in the roster; once, when the configuration is put together."""
        self._called = name

    @property
    def every_step(self) -> Iterator[Step]:
        """Its steps and those within them, in the order of the file."""
        return walk(self.steps)

    def step(self, step_id: str) -> Step | None:
        """The step with this id, nested ones counted."""
        return next((step for step in self.every_step if step.id == step_id), None)
