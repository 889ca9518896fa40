"""Kinds that wait: `ask` for people, `wait` for a time or an event."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema, model_validator

from bot.workflows.agent import LeastRole
from bot.workflows.base_step import Format, WorkingStep
from bot.workflows.defaults import WorkspaceMode
from bot.workflows.findings import listing
from bot.workflows.node import Duration, Id, Node, describe, fault
from bot.workflows.routing import Target
from bot.workflows.slots import Slot

#: answers where a gate declares none
APPROVE, REJECT = "approve", "reject"
#: how long a gate stays open
GATE_SECONDS = 7 * 86400.0
#: how often a gate asks where what an answer is bound to changes
ASKED_MAX = 3
#: what a `wait` can wait for
EVENTS = ("checks_completed", "labeled", "merged", "comment")

_LABEL_MAX = 60


def _label(value: Any) -> str:
    if isinstance(value, str) and value.strip() == value and 0 < len(value) <= _LABEL_MAX and "\n" not in value:
        return value
    raise fault("name", f"{describe(value)} is no option", f"one line of at most {_LABEL_MAX} characters")


#: the words of an option, as people see and write them
Label = Annotated[str, BeforeValidator(_label), WithJsonSchema({"type": "string", "minLength": 1, "maxLength": 60})]


class Back(Node):
    """An option that sends work back."""

    NOUN: ClassVar[str] = "an option"

    rework: Id = Field(description="the step to go back to, one of the step's `rework`")


#: where an answer leads: a step, `end`, or back
Option = Annotated[
    Annotated[Target, Tag("kind:text")] | Annotated[Back, Tag("kind:back")],
    Discriminator(lambda value: "kind:back" if isinstance(value, (dict, Back)) else "kind:text"),
]


class FormQuestion(Node):
    """One question of a form."""

    NOUN: ClassVar[str] = "a question"

    id: Id = Field(description="what the answer is called")
    question: Annotated[str, Slot.PROMPT, Field(min_length=1)] = Field(description="what people are asked")
    type: Literal["text", "number", "bool", "enum"] = Field("text", description="what the answer must be")
    options: tuple[Label, ...] = Field((), description="values of an `enum`")
    required: bool = Field(True, description="whether the form is complete without it")

    @model_validator(mode="after")
    def _consistent(self) -> FormQuestion:
        if self.type == "enum" and not self.options:
            raise fault("missing_key", "an `enum` needs `options`", "add `options: [one, two]`")
        if self.type != "enum" and "options" in self.model_fields_set:
            raise fault("modifier", f"`options` means nothing to a question of type `{self.type}`", "it is for `enum`")
        if len(set(self.options)) < len(self.options):
            raise fault("option", "an option stands twice", "keep one of them")
        return self


class Who(Node):
    """Who may answer. With both `role` and `logins`, one of them is enough."""

    NOUN: ClassVar[str] = "`who`"

    role: LeastRole | None = Field(
        None, description="least role; `trigger_role` where neither this nor `logins` is set"
    )
    logins: tuple[Annotated[str, Field(min_length=1)], ...] = Field((), description="people by name")
    not_requester: bool = Field(
        False, description="whether the one who asked may not answer, nor who asked first in a chain of runs"
    )
    dashboard: bool = Field(False, description="whether an answer of whoever runs the bot counts, over its API")


class AskStep(WorkingStep):
    """A gate: people are asked, and the run waits. Its result is the answer."""

    KIND: ClassVar[str] = "ask"
    FORMAT: ClassVar[Format] = "markdown"
    TIMEOUT: ClassVar[float] = GATE_SECONDS

    ask: Annotated[str, Slot.PROMPT, Field(min_length=1)] = Field(description="the question")
    show: Annotated[str, Slot.PROMPT] = Field("", description="what it is about")
    options: dict[Label, Option] = Field(
        default_factory=dict, description="answer to step; `approve` and `reject` if nothing is declared"
    )
    questions: tuple[FormQuestion, ...] = Field((), description="a form instead of options")
    text: bool = Field(False, description="whether free text is an answer")
    who: Who = Field(default_factory=Who, description="who may answer")
    on_timeout: Label | None = Field(
        None, description="the option taken when nobody answers; without it the step fails"
    )

    @model_validator(mode="after")
    def _consistent(self) -> AskStep:
        if self.questions and self.options:
            raise fault("one_of", "a gate has `options` or `questions`, not both", "make two gates of it")
        ids = [one.id for one in self.questions]
        if len(set(ids)) < len(ids):
            raise fault("duplicate_id", "two questions have one id", "ids are unique in a form", "questions")
        if self.on_timeout is not None and self.on_timeout not in self.labels:
            known = f"one of {listing(self.labels)}" if self.labels else "remove it: this gate has no options"
            raise fault("option", f"`on_timeout` names no option: `{self.on_timeout}`", known, "on_timeout")
        if self.writes and not self.questions:
            message = "`writes` means nothing to a gate without `questions`"
            raise fault("modifier", message, "remove it, or ask a form", "writes")
        if self.options and (self.next is not None or self.decide is not None):
            key = "next" if self.next is not None else "decide"
            raise fault("one_of", "a gate with `options` says there what follows", f"remove `{key}`", key)
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """What can be chosen; none for a form or for free text alone."""
        if self.options:
            return tuple(self.options)
        return () if self.questions or self.text else (APPROVE, REJECT)

    @property
    def timeout(self) -> float:
        """Seconds that it stays open; `defaults` do not apply."""
        return self.own_timeout or self.TIMEOUT

    def _usual_workspace(self) -> WorkspaceMode:
        return "none"


class Waiting(Node):
    """What is waited for."""

    NOUN: ClassVar[str] = "`wait`"

    duration: Duration | None = Field(None, alias="for", description="a time: `30m`, `2h`, `1d`")
    event: Literal["checks_completed", "labeled", "merged", "comment"] | None = Field(
        None,
        description="what has to happen on the thread; `checks_completed` and `merged` count where they are so already",
    )

    @model_validator(mode="after")
    def _one_of(self) -> Waiting:
        if (self.duration is None) is (self.event is None):
            raise fault("one_of", "`wait` has one of `for` and `event`", "write `wait: {for: 2h}`")
        return self


class WaitStep(WorkingStep):
    """Goes on after a time, or when something happened on the thread. Its result is the event."""

    KIND: ClassVar[str] = "wait"
    TIMEOUT: ClassVar[float] = GATE_SECONDS

    wait: Waiting = Field(description="for how long, or for what")

    @model_validator(mode="after")
    def _consistent(self) -> WaitStep:
        if self.wait.duration is not None and self.own_timeout is not None:
            raise fault("modifier", "`timeout` means nothing to `wait: {for: …}`", "remove it", "timeout")
        return self

    @property
    def timeout(self) -> float:
        """Seconds until it is over; `defaults` do not apply."""
        return self.wait.duration or self.own_timeout or self.TIMEOUT

    def _usual_workspace(self) -> WorkspaceMode:
        return "none"
