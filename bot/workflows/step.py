"""The steps of a workflow. The key that names the work is the kind; each kind is a class and knows its modifiers."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, PrivateAttr, Tag, model_validator

from bot.workflows.agent import Agent, Budget, Retry
from bot.workflows.command import Command, CommandText, Environment
from bot.workflows.defaults import Defaults, WorkspaceMode
from bot.workflows.node import Duration, Id, Name, Node, describe, fault
from bot.workflows.slots import Slot
from bot.workflows.template import Template

#: every kind of the language; those without a class come with a later version
KINDS = (
    *("agent", "run", "code", "ask", "classify", "review", "notify", "connector", "pull_request"),
    *("uses", "parallel", "steps", "switch", "wait", "end"),
)

#: modifiers of the language that come with a later version
_LATER = frozenset(
    {"when", "each", "loop", "budget", "reads", "next", "decide", "transitions", "rework", "produces", "on_interrupt"}
    | {"context", "fidelity", "writes", "result", "tools", "injection_cap"}
)

Format = Literal["markdown", "text"]


def _publish(value: Any) -> Any:
    # a literal of pydantic's takes 1 for true
    if value == "final" or isinstance(value, bool):
        return value
    raise fault("option", f"expected `final`, `true` or `false`, got {describe(value)}")


Publish = Annotated[Literal["final"] | bool, BeforeValidator(_publish)]


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


class _Step(Node):
    """What every kind has.

    `timeout`, `retry`, `workspace`, `budget` and `format` are the values in force: the step's own, else the agent's,
    else those of the workflow's `defaults`, else the kind's.
    """

    NOUN: ClassVar[str] = "a step"
    LATER: ClassVar[frozenset[str]] = _LATER
    KIND: ClassVar[str]
    #: what people see the output as
    FORMAT: ClassVar[Format] = "text"
    #: longest time for one attempt, in seconds
    TIMEOUT: ClassVar[float] = 600.0

    id: Id = Field(description="unique in the workflow")
    own_timeout: Duration | None = Field(None, alias="timeout", description="longest time for one attempt")
    own_retry: Retry | None = Field(None, alias="retry", description="what is done about transient faults")
    own_workspace: WorkspaceMode | None = Field(
        None, alias="workspace", description="whether the step sees a clone of the repository"
    )
    publish: Publish = Field(
        "final",
        description="`final`: posted if it is the run's last output; `true`: when the step ends; `false`: never",
    )
    own_format: Format | None = Field(None, alias="format", description="`text` is posted in a fence")

    _agent: Agent | None = PrivateAttr(default=None)
    _defaults: Defaults = PrivateAttr(default_factory=Defaults)

    def settle(self, defaults: Defaults, agent: Agent | None = None) -> None:
        """Tell the step what holds where it says nothing; once, when the configuration is put together."""
        self._defaults, self._agent = defaults, agent

    @property
    def kind(self) -> str:
        return self.KIND

    @property
    def timeout(self) -> float:
        """Seconds that one attempt may take."""
        given = (self.own_timeout, self._agent.timeout if self._agent else None, self._defaults.timeout)
        return next((value for value in given if value is not None), self.TIMEOUT)

    @property
    def retry(self) -> Retry:
        """What is done about transient faults."""
        given = (self.own_retry, self._agent.retry if self._agent else None, self._defaults.retry)
        return next((value for value in given if value is not None), Retry())

    @property
    def budget(self) -> Budget:
        """Most that the step may spend; the run's own budget holds besides."""
        own = self._agent.budget if self._agent is not None else None
        return (own or Budget()).over(self._defaults.budget or Budget())

    @property
    def workspace(self) -> WorkspaceMode:
        """Whether the step sees a clone."""
        return self.own_workspace or self._defaults.workspace or self._usual_workspace()

    def _usual_workspace(self) -> WorkspaceMode:
        return "read"

    @property
    def format(self) -> Format:
        """How the output is posted."""
        return self.own_format or self.FORMAT


class AgentStep(_Step):
    """A fresh conversation with an agent, told only its context. Its output is the answer."""

    KIND: ClassVar[str] = "agent"
    FORMAT: ClassVar[Format] = "markdown"
    TIMEOUT: ClassVar[float] = 1800.0

    agent: Name = Field(description="an agent of the roster")
    prompt: Annotated[str, Slot.PROMPT] = Field("", description="the task; text, or a path ending in `.md`")
    inputs: dict[Id, ExecInput] = Field(default_factory=dict, description="computed for the prompt, in this order")

    @property
    def task(self) -> Template | None:
        """The step's own prompt, from the YAML or from its file; None without one."""
        return self._templates.get(("prompt",))

    def _usual_workspace(self) -> WorkspaceMode:
        return "read" if self.inputs else "none"


class RunStep(Command, _Step):
    """A shell command in the workspace. Its output is its standard output."""

    KIND: ClassVar[str] = "run"
    LATER: ClassVar[frozenset[str]] = _LATER | {"inputs"}

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


def kinds_of(data: Any) -> list[str]:
    """The kinds that a step's keys name; exactly one in a valid step."""
    return [kind for kind in KINDS if kind in data] if isinstance(data, dict) else []


def _tag(value: Any) -> str | None:
    if isinstance(value, _Step):
        return f"kind:{value.kind}"
    kinds = kinds_of(value)
    return f"kind:{kinds[0]}" if len(kinds) == 1 else None


Step = Annotated[
    Annotated[AgentStep, Tag("kind:agent")] | Annotated[RunStep, Tag("kind:run")],
    Discriminator(_tag, custom_error_type="step_kind", custom_error_message="not one kind"),
]
#: the same as a tuple, for `isinstance` and for asking who knows a key
STEP_TYPES: tuple[type[AgentStep], type[RunStep]] = (AgentStep, RunStep)
