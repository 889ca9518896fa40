"""The steps of a workflow. The key that names the work is the kind; each kind is a class and knows its modifiers."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from bot.workflows.agent import Budget, Retry
from bot.workflows.base_step import BaseStep, Format, Publish, WorkingStep
from bot.workflows.command import Command, CommandText, Environment
from bot.workflows.context_reference import ContextReference, ReferenceText
from bot.workflows.defaults import WorkspaceMode
from bot.workflows.fidelity import Fidelity, InjectionCap
from bot.workflows.modifiers import KINDS
from bot.workflows.node import Duration, Id, Name, Node, fault
from bot.workflows.routing import Case, Loop, with_default
from bot.workflows.slots import Slot
from bot.workflows.template import Template


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


class AgentStep(WorkingStep):
    """A fresh conversation with an agent, told only its context. Its output is the answer."""

    KIND: ClassVar[str] = "agent"
    FORMAT: ClassVar[Format] = "markdown"
    TIMEOUT: ClassVar[float] = 1800.0

    agent: Name = Field(description="an agent of the roster")
    prompt: Annotated[str, Slot.PROMPT] = Field("", description="the task; text, or a path ending in `.md`")
    inputs: dict[Id, ExecInput] = Field(default_factory=dict, description="computed for the prompt, in this order")
    context: tuple[ReferenceText, ...] = Field(
        (), description="what earlier steps made, each whole and in a block of its own"
    )
    own_fidelity: Fidelity | None = Field(
        None, alias="fidelity", description="how much of the run context the prompt gets"
    )
    own_injection_cap: InjectionCap | None = Field(
        None, alias="injection_cap", description="bytes of each value of the run context"
    )

    @property
    def task(self) -> Template | None:
        """The step's own prompt, from the YAML or from its file; None without one."""
        return self._templates.get(("prompt",))

    @property
    def fidelity(self) -> Fidelity:
        """How much of the run context the prompt gets."""
        given = (self.own_fidelity, self._agent.fidelity if self._agent else None, self._defaults.fidelity)
        return next((value for value in given if value is not None), "full")

    @property
    def injection_cap(self) -> int | None:
        """Bytes of each value of the run context; None where nothing is cut."""
        given = (self.own_injection_cap, self._agent.injection_cap if self._agent else None)
        return next((value for value in given if value is not None), self._defaults.injection_cap)

    @property
    def references(self) -> tuple[ContextReference, ...]:
        """`context`, read."""
        return tuple(ContextReference.parse(text) for text in self.context)

    def _usual_workspace(self) -> WorkspaceMode:
        return "read" if self.inputs else "none"


class RunStep(Command, WorkingStep):
    """A shell command in the workspace. Its output is its standard output."""

    KIND: ClassVar[str] = "run"

    run: Annotated[CommandText, Slot.COMMAND] = Field(description="shell text, or a list without a shell")
    shell: Literal["bash"] = Field("bash", description="`bash -c`, without `-e` or `pipefail`")
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


def kinds_of(data: Any) -> list[str]:
    """The kinds that a step's keys name; exactly one in a valid step."""
    return [kind for kind in KINDS if kind in data] if isinstance(data, dict) else []


def _tag(value: Any) -> str | None:
    if isinstance(value, BaseStep):
        return f"kind:{value.kind}"
    kinds = kinds_of(value)
    return f"kind:{kinds[0]}" if len(kinds) == 1 else None


Step = Annotated[
    Annotated[AgentStep, Tag("kind:agent")]
    | Annotated[RunStep, Tag("kind:run")]
    | Annotated[SwitchStep, Tag("kind:switch")]
    | Annotated[EndStep, Tag("kind:end")],
    Discriminator(_tag, custom_error_type="step_kind", custom_error_message="not one kind"),
]
#: the same as a tuple, for `isinstance` and for asking who knows a key
STEP_TYPES: tuple[type[BaseStep], ...] = (AgentStep, RunStep, SwitchStep, EndStep)
