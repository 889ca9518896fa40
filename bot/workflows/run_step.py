"""The kind `run`: a shell command in the workspace."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from bot.workflows.base_step import WorkingStep
from bot.workflows.command import Command, CommandText, Environment
from bot.workflows.node import Id, fault
from bot.workflows.slots import Slot
from bot.workflows.step_inputs import StepInput


class RunStep(Command, WorkingStep):
    """A shell command in the workspace. Its output is its standard output."""

    KIND: ClassVar[str] = "run"

    run: Annotated[CommandText, Slot.COMMAND] = Field(description="shell text, or a list without a shell")
    shell: Literal["bash"] = Field("bash", description="`bash -c`, without `-e` or `pipefail`")
    inputs: dict[Id, StepInput] = Field(
        default_factory=dict, description="computed before it, and given as variables of these names"
    )
    env: Annotated[Environment, Slot.ENVIRONMENT] = Field(
        default_factory=dict, description="variables of the command; nothing else is passed on"
    )

    @property
    def command(self) -> str | tuple[str, ...]:
        return self.run

    @model_validator(mode="after")
    def _shell_has_text(self) -> RunStep:
        if "shell" in self.model_fields_set and not isinstance(self.run, str):
            raise fault("modifier", "`shell` means nothing to a list, which is started without one", "remove `shell`")
        return self
