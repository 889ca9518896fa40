"""The steps of a workflow. The key that names the work is the kind; each kind is a class and knows its modifiers."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, PrivateAttr, Tag, model_validator

from bot.workflows.agent import Agent, Budget, Retry
from bot.workflows.command import Command, CommandText, Environment
from bot.workflows.conditions import Condition
from bot.workflows.context_keys import ReadKey, WrittenKey
from bot.workflows.context_reference import ContextReference, ReferenceText
from bot.workflows.defaults import Defaults, WorkspaceMode
from bot.workflows.fidelity import Fidelity, InjectionCap
from bot.workflows.modifiers import KINDS
from bot.workflows.node import Duration, Id, Name, Node, describe, fault
from bot.workflows.result_fields import Result
from bot.workflows.routing import Case, ConditionText, Decide, Loop, Next, Rework, Target, Verdict, with_default
from bot.workflows.slots import Slot
from bot.workflows.template import Template

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


class BaseStep(Node):
    """What every kind has. What a kind has no key for is there all the same, with the value that then holds."""

    NOUN: ClassVar[str] = "a step"
    KIND: ClassVar[str]
    #: what people see the output as
    FORMAT: ClassVar[Format] = "text"
    #: longest time for one attempt, in seconds
    TIMEOUT: ClassVar[float] = 600.0

    id: Id = Field(description="unique in the workflow")
    when: ConditionText | None = Field(None, description="CEL; where it is false the step is skipped")

    _agent: Agent | None = PrivateAttr(default=None)
    _defaults: Defaults = PrivateAttr(default_factory=Defaults)

    def settle(self, defaults: Defaults, agent: Agent | None = None) -> None:
        """Tell the step what holds where it says nothing; once, when the configuration is put together."""
        self._defaults, self._agent = defaults, agent

    @property
    def kind(self) -> str:
        return self.KIND

    @property
    def condition(self) -> Condition | None:
        """`when`, read; None where the step is never skipped."""
        return self._conditions.get(("when",))


class WorkingStep(BaseStep):
    """A step that does work of its own.

    `timeout`, `retry`, `workspace`, `budget` and `format` are the values in force: the step's own, else the agent's,
    else those of the workflow's `defaults`, else the kind's.
    """

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
    result: Result | None = Field(None, description="what the step must give, held against a schema")
    writes: tuple[WrittenKey, ...] = Field((), description="keys of the run context, taken from the output")
    reads: tuple[ReadKey, ...] = Field((), description="further keys of the run context for `summary:medium`")
    next: Next | None = Field(None, description="what runs after it, instead of the step below")
    decide: Decide | None = Field(None, description="the path whose value says what runs after it")
    transitions: dict[str, Target] = Field(default_factory=dict, description="for `decide`: value to step")
    own_loop: Loop | None = Field(None, alias="loop", description="bounds the routes that lead back")
    rework: Rework | None = Field(None, description="where to go back to when the result is refused")

    @model_validator(mode="after")
    def _one_way_on(self) -> WorkingStep:
        if self.next is not None and self.decide is not None:
            raise fault("one_of", "a step has `next` or `decide`, not both", "remove one of them")
        wanted = isinstance(self.decide, str)
        if wanted and not self.transitions:
            raise fault("missing_key", "`decide` needs `transitions`", "add `transitions: {value: step}`")
        if not wanted and "transitions" in self.model_fields_set:
            reason = "has its own cases" if self.decide is not None else "needs `decide`"
            raise fault("modifier", f"`transitions` means nothing here: {reason}", "remove it, or add `decide: path`")
        return self

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

    @property
    def loop(self) -> Loop:
        """What bounds its routes that lead back."""
        return self.own_loop or Loop()

    @property
    def cases(self) -> tuple[Case, ...]:
        """The conditional routes in order, those of `next` or of a verdict; the last may be the default."""
        if isinstance(self.decide, Verdict):
            return self.decide.cases
        return self.next if isinstance(self.next, tuple) else ()


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
