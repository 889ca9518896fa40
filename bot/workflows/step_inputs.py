"""Inputs of a step: named values that the engine computes immediately before it."""

from __future__ import annotations

from collections.abc import Mapping
from posixpath import normpath
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from bot.workflows.command import Command, CommandText, Environment
from bot.workflows.node import Duration, Node, describe, fault
from bot.workflows.slots import Slot
from bot.workflows.values import Resolved, fill

#: comments that `{thread: {comments: n}}` may ask for: two pages of GitHub's hold as many in any thread
COMMENTS_MAX = 100

ValueType = Literal["string", "number", "boolean", "array", "object", "json"]


def _path(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise fault("type_mismatch", f"expected a path, got {describe(value)}", "write it as in the repository: `a/b`")
    if "${{" in value:
        raise fault("template_slot", "a template cannot stand in a path", "name the file itself")
    outside = value.startswith("/") or "\\" in value or "\0" in value or ".." in value.split("/")
    if outside or normpath(value) in (".", ".git") or normpath(value).startswith(".git/"):
        hint = "paths start at the repository's root and stay inside it"
        raise fault("path_outside", f"{describe(value)} is no file of the repository", hint)
    return normpath(value)


def _true(value: Any) -> Any:
    # a literal of pydantic's takes 1 for true
    if value is True:
        return value
    raise fault("option", f"expected `true`, got {describe(value)}", "remove the input if it is not wanted")


class InputNode(Node):
    """What every sort of input has."""

    NOUN: ClassVar[str] = "an input"
    #: the key that names the sort
    KIND: ClassVar[str]

    required: bool = Field(True, description="whether its failure ends the step before the model is called")
    max_bytes: int = Field(65536, gt=0, le=16 * 1024 * 1024, description="head and tail of the text beyond this")


class ExecInput(Command, InputNode):
    """An input that the engine computes with a command, immediately before the prompt is put together."""

    KIND: ClassVar[str] = "exec"

    exec: Annotated[CommandText, Slot.COMMAND] = Field(description="shell text, or a list without a shell")
    timeout: Duration = Field(60.0, description="longest time (60s)")
    env: Annotated[Environment, Slot.ENVIRONMENT] = Field(
        default_factory=dict, description="variables of the command; nothing else is passed on"
    )

    @property
    def command(self) -> str | tuple[str, ...]:
        return self.exec


class ValueInput(InputNode):
    """A value or a template; a string that is exactly one template keeps the value's type."""

    KIND: ClassVar[str] = "value"

    value: Annotated[Any, Slot.TYPED] = Field(description="a value, with templates at any level of it")
    type: ValueType | None = Field(None, description="what the value must be; held against the producer's schema")

    def filled(self, scope: Mapping[str, Any]) -> Resolved:
        """The value for one attempt. Raises `UserError` (`template_undefined`)."""
        return fill(self, ("value",), self.value, scope)


class FileInput(InputNode):
    """A file of the step's workspace, as it is at the commit that the step begins with."""

    KIND: ClassVar[str] = "file"

    file: Annotated[str, BeforeValidator(_path), WithJsonSchema({"type": "string", "minLength": 1})] = Field(
        description="path from the repository's root"
    )


class DiffInput(InputNode):
    """What a pull request changes."""

    KIND: ClassVar[str] = "diff"

    diff: Annotated[Literal[True], BeforeValidator(_true)] = Field(description="`true`")


class ChecksInput(InputNode):
    """What the failed checks of a pull request's head printed."""

    KIND: ClassVar[str] = "checks"

    checks: Literal["failed_logs"] = Field(description="logs of the checks that failed")


class ReviewThreadsInput(InputNode):
    """What reviewers of a pull request wrote about its lines."""

    KIND: ClassVar[str] = "review_threads"

    review_threads: Literal["unresolved"] = Field(description="threads that nobody resolved")


class LinkedInput(InputNode):
    """The issues that a pull request closes, or the pull requests that close an issue."""

    KIND: ClassVar[str] = "linked"

    linked: Literal["issues"] = Field(description="both ways: of a pull request, and of an issue")


class ThreadWindow(Node):
    """How much of the thread."""

    NOUN: ClassVar[str] = "`thread`"

    comments: int = Field(gt=0, le=COMMENTS_MAX, description="the newest ones before the request")


class ThreadInput(InputNode):
    """More of the thread than the recency window shows."""

    KIND: ClassVar[str] = "thread"

    thread: ThreadWindow = Field(description="how much of it")


#: every sort of input, in the order of the documentation
INPUT_TYPES: tuple[type[InputNode], ...] = (
    *(ValueInput, ExecInput, FileInput, DiffInput, ChecksInput, ReviewThreadsInput, LinkedInput, ThreadInput),
)


def input_kinds(data: Any) -> list[str]:
    """The sorts of input that a mapping's keys name; exactly one in a valid input."""
    return [one.KIND for one in INPUT_TYPES if one.KIND in data] if isinstance(data, dict) else []


def _tag(value: Any) -> str | None:
    if isinstance(value, InputNode):
        return f"kind:{value.KIND}"
    if not isinstance(value, dict):
        return "kind:plain"
    kinds = input_kinds(value)
    return f"kind:{kinds[0]}" if len(kinds) == 1 else None


def _body_tag(value: Any) -> str | None:
    """For a body of code: an object that has the key of no sort is a value like any other."""
    return "kind:plain" if isinstance(value, dict) and not input_kinds(value) else _tag(value)


_WRAP = BeforeValidator(lambda value: value if isinstance(value, ValueInput) else {"value": value})
_PLAIN_TYPES = ["string", "number", "boolean", "array", "null"]
#: a value or template that is written as it is, without `{value: …}` around it
_PlainInput = Annotated[
    ValueInput, _WRAP, WithJsonSchema({"type": _PLAIN_TYPES, "description": "a value or a template"})
]
_PlainValue = Annotated[
    ValueInput, _WRAP, WithJsonSchema({"type": [*_PLAIN_TYPES, "object"], "description": "a value, templates in it"})
]

StepInput = Annotated[
    Annotated[_PlainInput, Tag("kind:plain")]
    | Annotated[ValueInput, Tag("kind:value")]
    | Annotated[ExecInput, Tag("kind:exec")]
    | Annotated[FileInput, Tag("kind:file")]
    | Annotated[DiffInput, Tag("kind:diff")]
    | Annotated[ChecksInput, Tag("kind:checks")]
    | Annotated[ReviewThreadsInput, Tag("kind:review_threads")]
    | Annotated[LinkedInput, Tag("kind:linked")]
    | Annotated[ThreadInput, Tag("kind:thread")],
    Discriminator(_tag, custom_error_type="input_kind", custom_error_message="not one kind of input"),
]

#: an input of a body of code: as above, and objects stand for themselves
BodyInput = Annotated[
    Annotated[_PlainValue, Tag("kind:plain")]
    | Annotated[ValueInput, Tag("kind:value")]
    | Annotated[ExecInput, Tag("kind:exec")]
    | Annotated[FileInput, Tag("kind:file")]
    | Annotated[DiffInput, Tag("kind:diff")]
    | Annotated[ChecksInput, Tag("kind:checks")]
    | Annotated[ReviewThreadsInput, Tag("kind:review_threads")]
    | Annotated[LinkedInput, Tag("kind:linked")]
    | Annotated[ThreadInput, Tag("kind:thread")],
    Discriminator(_body_tag, custom_error_type="input_kind", custom_error_message="not one kind of input"),
]
