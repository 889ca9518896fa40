"""What every step has, and what every step has that does work of its own."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, ClassVar, Literal, Self, cast

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, PrivateAttr, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from bot.workflows.agent import Agent, Budget, Retry
from bot.workflows.conditions import Condition
from bot.workflows.context_keys import ReadKey, WrittenKey
from bot.workflows.defaults import Defaults, WorkspaceMode
from bot.workflows.each import Each
from bot.workflows.evidence import Produced
from bot.workflows.modifiers import MODIFIERS, taken_by
from bot.workflows.node import Duration, Id, Node, describe, fault
from bot.workflows.result import Result
from bot.workflows.routing import Case, ConditionText, Decide, Loop, Next, Rework, Target, Verdict

Format = Literal["markdown", "text"]

#: kinds whose work may write files of the workspace
PRODUCERS = frozenset({"agent", "classify", "run", "code"})


def _publish(value: Any) -> Any:
    # a literal of pydantic's takes 1 for true
    if value == "final" or isinstance(value, bool):
        return value
    raise fault(
        "option",
        f"expected `final`, `true` or `false`, got {describe(value)}",
        "remove the key: `final` is the default",
    )


Publish = Annotated[Literal["final"] | bool, BeforeValidator(_publish)]


@cache
def _meaningless(kind: type[BaseStep]) -> frozenset[str]:
    """The fields that a kind has by descent and that mean nothing to it."""
    keys = {name: field.alias or name for name, field in kind.model_fields.items()}
    return frozenset(name for name, key in keys.items() if kind.KIND not in MODIFIERS.get(key, {kind.KIND}))


#: the defaults of a step that was not told of any
_UNSAID = Defaults()


class BaseStep(Node):
    """What every kind has. What a kind has no key for is there all the same, with the value that then holds."""

    NOUN: ClassVar[str] = "a step"
    KIND: ClassVar[str]
    #: what people see the output as
    FORMAT: ClassVar[Format] = "text"
    #: longest time for one attempt, in seconds
    TIMEOUT: ClassVar[float] = 600.0

    id: Id = Field(description="unique in the workflow, nested steps counted")
    when: ConditionText = Field(None, description="CEL; where it is false the step is skipped")

    _agent: Agent | None = PrivateAttr(default=None)
    _defaults: Defaults = PrivateAttr(default_factory=lambda: _UNSAID)
    _waits: bool = PrivateAttr(default=False)

    def settle(self, defaults: Defaults, agent: Agent | None = None, *, waits: bool = False) -> None:
        """Tell the step what holds where it says nothing; once, when the configuration is put together.

        `waits`: a gate, a `wait` or an approval stands in it.
        """
        self._defaults, self._agent, self._waits = defaults, agent, waits

    @property
    def kind(self) -> str:
        return self.KIND

    @property
    def condition(self) -> Condition | None:
        """`when`, read; None where the step is never skipped."""
        return self._condition("when")

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema without the keys that mean nothing to the kind."""
        made = handler(schema)
        properties = handler.resolve_ref_schema(made).get("properties", {})
        for key in [key for key in properties if key in MODIFIERS and cls.KIND not in MODIFIERS[key]]:
            del properties[key]
        return made

    @model_validator(mode="after")
    def _means_something(self) -> BaseStep:
        for name in self.model_fields_set & _meaningless(type(self)):
            key = type(self).model_fields[name].alias or name
            message = f"`{key}` means nothing to {self.NOUN} of kind `{self.kind}`"
            raise fault("modifier", message, f"it is for {taken_by(key)}", key=key)
        return self


class WorkingStep(BaseStep):
    """A step that does work of its own.

    `timeout`, `retry`, `workspace`, `budget` and `format` are the values in force: the step's own, else the agent's,
    else those of the workflow's `defaults`, else the kind's.
    """

    each: Each | None = Field(None, description="runs the step for every element of a list")
    own_timeout: Duration | None = Field(None, alias="timeout", description="longest time for one attempt")
    own_retry: Retry | None = Field(None, alias="retry", description="what is done about transient faults")
    own_budget: Budget | None = Field(None, alias="budget", description="most that the step may spend")
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

    produces: tuple[Produced, ...] = Field((), description="what is kept as evidence after a successful attempt")
    own_on_interrupt: Literal["rerun", "fail"] | None = Field(
        None, alias="on_interrupt", description="what is done where the process died while it ran (`rerun`)"
    )

    _element: WorkingStep | None = PrivateAttr(default=None)

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

    @model_validator(mode="after")
    def _files_of_its_own(self) -> WorkingStep:
        if self.kind not in PRODUCERS and any(one.path is not None for one in self.produces):
            message = f"a step of kind `{self.kind}` writes no files, so that `path` in `produces` means nothing to it"
            raise fault("modifier", message, "let the step that writes the file produce it", key="produces")
        return self

    @property
    def element(self) -> Self:
        """The step as it runs for one element of its `each`: without what is said about the whole."""
        if self._element is None:
            nothing: dict[str, Any] = dict.fromkeys(("each", "when", "next", "decide", "own_loop"))
            self._element = self.model_copy(update={**nothing, "transitions": {}, "publish": "final"})
            self._element._conditions = {}
        return cast("Self", self._element)

    @property
    def timeout(self) -> float:
        """Seconds that one attempt may take."""
        given = (self.own_timeout, self._agent.timeout if self._agent else None, self._defaults.timeout)
        return next((value for value in given if value is not None), self.TIMEOUT)

    @property
    def whole_time(self) -> float | None:
        """Seconds that all inside of the step may take together: its `timeout`, and the minutes of its `budget`.

        None without either, and where each element of a list has them.
        """
        if self.each is not None:
            return None
        minutes = self.own_budget.minutes if self.own_budget is not None else None
        given = [time for time in (self.own_timeout, None if minutes is None else minutes * 60) if time is not None]
        return min(given, default=None)

    @property
    def retry(self) -> Retry:
        """What is done about transient faults."""
        given = (self.own_retry, self._agent.retry if self._agent else None, self._defaults.retry)
        return next((value for value in given if value is not None), Retry())

    @property
    def budget(self) -> Budget:
        """Most that the step may spend; the run's own budget holds besides."""
        own = self._agent.budget if self._agent is not None else None
        return (self.own_budget or Budget()).over(own or Budget()).over(self._defaults.budget or Budget())

    @property
    def workspace(self) -> WorkspaceMode:
        """Whether the step sees a clone."""
        return self.own_workspace or self._defaults.workspace or self._usual_workspace()

    def _usual_workspace(self) -> WorkspaceMode:
        return "read"

    @property
    def on_interrupt(self) -> Literal["rerun", "fail"]:
        """What is done where the process died while it ran: what may have reached others is not repeated."""
        return self.own_on_interrupt or ("fail" if self.kind == "connector" else "rerun")

    @property
    def format(self) -> Format:
        """How the output is posted."""
        return self.own_format or self.FORMAT

    @property
    def concurrency(self) -> int:
        """Elements of its `each` that are under way at once: one after the other where people are waited for."""
        return 1 if self.each is None or self._waits else self.each.concurrency

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
