"""Parts of a step that say what runs after it: routes, loops, rework."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, WithJsonSchema, model_validator

from bot.workflows.conditions import Condition
from bot.workflows.context_keys import WrittenKey
from bot.workflows.node import ID, Id, Node, describe, fault
from bot.workflows.slots import SEGMENTS_MAX, Slot

#: where a frame ends; as a target of a route it is no step
END = "end"

#: an expression, or none; read as CEL when the file is bound
ConditionText = Annotated[Annotated[str, Field(min_length=1)] | None, Slot.CONDITION]

_PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_][A-Za-z0-9_-]*)+|outcome|preferred_label")
#: first words of a `decide`; `result` is the step's own
PATH_ROOTS = ("result", "outcome", "preferred_label", "steps", "ctx", "inputs", "params", "trigger", "issue")


def _target(words: tuple[str, ...], value: Any) -> str:
    if not isinstance(value, str):
        raise fault("type_mismatch", f"expected a step's id, got {describe(value)}", "write the id as text")
    if value in words or (ID.fullmatch(value) and value not in ("end", "fail", "last", "retry")):
        return value
    others = ", ".join(f"`{word}`" for word in words)
    raise fault("route", f"{describe(value)} is no place to go on", f"write a step's id, or {others}")


def _schema(*words: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": f"^{ID.pattern}$", "examples": list(words)})


def _path(value: Any) -> str:
    if not isinstance(value, str):
        raise fault("type_mismatch", f"expected a path, got {describe(value)}", "write it as in `result.risk`")
    roots = ", ".join(f"`{root}`" for root in PATH_ROOTS)
    if "${{" in value:
        raise fault("template_slot", "a template cannot stand in `decide`", "write the path alone: `result.risk`")
    if not _PATH.fullmatch(value) or value.partition(".")[0] not in PATH_ROOTS:
        raise fault("decide", f"{describe(value)} is no path", f"write it as in `result.risk`; it begins with {roots}")
    if (count := value.count(".") + 1) > SEGMENTS_MAX:
        raise fault("template_depth", f"a path has at most {SEGMENTS_MAX} segments, this one {count}", "go less deep")
    return value


#: the id of a step of the same frame, or `end`
Target = Annotated[str, BeforeValidator(lambda value: _target((END,), value)), _schema(END)]
#: what follows when a loop or rework is used up
Exhausted = Annotated[str, BeforeValidator(lambda value: _target(("fail", "last"), value)), _schema("fail", "last")]
#: what follows a result that does not fit
Mismatched = Annotated[str, BeforeValidator(lambda value: _target(("fail", "retry"), value)), _schema("fail", "retry")]
#: dot by dot, as `result.risk`
DecidePath = Annotated[
    str, BeforeValidator(_path), WithJsonSchema({"type": "string", "pattern": f"^(?:{_PATH.pattern})$"})
]


class Case(Node):
    """One way on: taken when its condition is true; without one, when nothing before it was."""

    NOUN: ClassVar[str] = "a route"

    when: ConditionText = Field(None, description="CEL; left out on the last, which is the default")
    to: Target = Field(description="a step of the same frame, or `end`")

    @property
    def condition(self) -> Condition | None:
        """The condition, read; None for the default."""
        return self._condition("when")


def in_order(value: tuple[Case, ...]) -> tuple[Case, ...]:
    """The cases, of which only the last may be without a condition. Raises a fault otherwise."""
    for case in value[:-1]:
        if case.when is None:
            raise fault("route", "only the last route may be without `when`", "add `when`, or move it to the end")
    return value


def with_default(value: tuple[Case, ...]) -> tuple[Case, ...]:
    """The cases, of which the last and only it has no condition. Raises a fault otherwise."""
    if in_order(value)[-1].when is not None:
        raise fault("route", "the last route has no default to fall back on", "end the list with `{to: id}`")
    return value


_List = Annotated[tuple[Case, ...], Field(min_length=1)]


class Verdict(Node):
    """A number or word from a path, and what follows which; `value` in the cases is what stands there."""

    NOUN: ClassVar[str] = "a verdict"

    verdict: DecidePath = Field(description="where the value stands, as `result.score`")
    cases: _List = Field(description="first match wins; the last is the default")

    @model_validator(mode="after")
    def _ends_with_default(self) -> Verdict:
        with_default(self.cases)
        return self


#: an id, `end`, or a list of routes of which the first whose condition is true is taken
Next = Annotated[
    Annotated[Target, Tag("kind:text")] | Annotated[_List, AfterValidator(in_order), Tag("kind:list")],
    Discriminator(lambda value: "kind:list" if isinstance(value, (list, tuple)) else "kind:text"),
]
Decide = Annotated[
    Annotated[DecidePath, Tag("kind:text")] | Annotated[Verdict, Tag("kind:verdict")],
    Discriminator(lambda value: "kind:verdict" if isinstance(value, (dict, Verdict)) else "kind:text"),
]


class Loop(Node):
    """How often the backward routes of one step may be taken in its frame."""

    NOUN: ClassVar[str] = "`loop`"

    max: int = Field(10, ge=1, le=1000, description="times that it may go back; of a group: times that it runs")
    until: ConditionText = Field(None, description="of a group: CEL; runs again until it is true")
    on_exhaust: Exhausted = Field("fail", description="`fail`; `last`: go on with what there is; or a step's id")

    @property
    def condition(self) -> Condition | None:
        """`until`, read."""
        return self._condition("until")


class Rework(Node):
    """Going back because somebody or a schema said no. It counts for itself."""

    NOUN: ClassVar[str] = "`rework`"

    to: Annotated[
        Annotated[Id, Tag("kind:text")] | Annotated[tuple[Id, ...], Field(min_length=1), Tag("kind:list")],
        Discriminator(lambda value: "kind:list" if isinstance(value, (list, tuple)) else "kind:text"),
    ] = Field(description="the step to go back to; of several, the first unless a gate says which")
    max_loops: int = Field(3, ge=1, le=1000, description="times that it may go back")
    workspace: Annotated[Literal["keep"], BeforeValidator(lambda value: _workspace(value))] = Field(
        "keep", description="`keep`: the files stay as they are"
    )
    comments_as: WrittenKey | None = Field(None, description="key of the run context that gets the reasons")
    on_exhaust: Exhausted = Field("fail", description="`fail`; `last`: go on with what there is; or a step's id")

    @property
    def targets(self) -> tuple[str, ...]:
        """The ids that it may go back to."""
        return (self.to,) if isinstance(self.to, str) else self.to


def _workspace(value: Any) -> Any:
    if value in ("rewind", "fresh"):
        raise fault("not_available", f"`workspace: {value}` is not available yet", "now there is `keep`")
    return value
