"""Kinds that ask a model: `agent` and `classify`."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from bot.workflows.base_step import Format, WorkingStep
from bot.workflows.context_reference import ContextReference, ReferenceText
from bot.workflows.defaults import WorkspaceMode
from bot.workflows.fidelity import Fidelity, InjectionCap
from bot.workflows.node import Id, Name, Node, fault
from bot.workflows.slots import Slot
from bot.workflows.step_inputs import ExecInput, FileInput, StepInput
from bot.workflows.template import Template
from bot.workflows.tools import ToolEntry, Tools, merge

#: the product's own agent, which is there unless the repository defines one of that name
DEFAULT_AGENT = "ask"


class AskingStep(WorkingStep):
    """What every kind has that asks a model."""

    FORMAT: ClassVar[Format] = "markdown"
    TIMEOUT: ClassVar[float] = 1800.0

    inputs: dict[Id, StepInput] = Field(default_factory=dict, description="computed for the prompt, in this order")
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
    def asked(self) -> str:
        """The agent of the roster that is asked."""
        raise TypeError(f"{type(self).__name__} asks nobody")

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
        return "read" if any(isinstance(each, (ExecInput, FileInput)) for each in self.inputs.values()) else "none"


class AgentStep(AskingStep):
    """A fresh conversation with an agent, told only its context. Its output is the answer."""

    KIND: ClassVar[str] = "agent"

    agent: Name = Field(description="an agent of the roster")
    prompt: Annotated[str, Slot.PROMPT] = Field("", description="the task; text, or a path ending in `.md`")
    tools: Tools = Field((), description="adds to the agent's tools, or replaces those of the same name")

    @property
    def offered(self) -> tuple[ToolEntry, ...]:
        """What the agent may call in this step: its own tools and the step's."""
        return merge(self._agent.tools if self._agent is not None else (), self.tools)

    def _usual_workspace(self) -> WorkspaceMode:
        if any({"files", "commands"} & entry.needs for entry in self.offered):
            return "read"
        return super()._usual_workspace()

    @property
    def asked(self) -> str:
        return self.agent

    @property
    def task(self) -> Template | None:
        """The step's own prompt, from the YAML or from its file; None without one."""
        return self._templates.get(("prompt",))


def _labels(value: Any) -> Any:
    if isinstance(value, dict) and len(value) < 2:
        raise fault("empty", "a classification needs two labels or more", "add `name: what it means`")
    return value


class Classification(Node):
    """What is classified, and as what."""

    NOUN: ClassVar[str] = "`classify`"

    text: Annotated[str, Slot.SPEECH, Field(min_length=1)] = Field(description="what is classified")
    labels: Annotated[dict[Id, Annotated[str, Field(min_length=1)]], BeforeValidator(_labels)] = Field(
        description="name to what it means"
    )
    by: Name | None = Field(None, description="the agent that is asked; `defaults.by`, else `ask`, if left out")

    @property
    def subject(self) -> Template:
        """The text, read."""
        return self._templates["text",]


class ClassifyStep(AskingStep):
    """One label of several for a text. Its result is `{label, confidence, reason}`, its output the label."""

    KIND: ClassVar[str] = "classify"

    classify: Classification = Field(description="the text, and the labels to choose from")

    @property
    def asked(self) -> str:
        return self.classify.by or self._defaults.by or DEFAULT_AGENT
