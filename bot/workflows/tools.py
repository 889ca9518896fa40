"""Tools of an agent: the built-in ones as a table, and the entries of `tools:` in the YAML.

The table is behind the load checks, the descriptions that a model gets, and the documentation; what the tools do is in
`bot.steps.tools`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, GetJsonSchemaHandler, WithJsonSchema, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from bot.workflows.findings import listing, meant, nearest
from bot.workflows.node import Name, Node, describe, fault
from bot.workflows.slots import SEGMENTS_MAX

#: what a built-in tool works with: the workspace's files, changes of them, commands in it, the thread, and things that
#: are done on GitHub when the step ends well
Need = Literal["files", "write", "commands", "thread", "intents"]


@dataclass(frozen=True, slots=True)
class BuiltinTool:
    """One row. `what` is told to the model; `parameters` is the JSON Schema of its arguments, an object.

    `pure`: it only reads.
    """

    name: str
    what: str
    parameters: Mapping[str, Any]
    needs: frozenset[Need]
    pure: bool = False


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


def _whole(description: str, least: int, most: int) -> dict[str, Any]:
    return {"type": "integer", "description": description, "minimum": least, "maximum": most}


def _flag(description: str) -> dict[str, Any]:
    return {"type": "boolean", "description": description}


def _texts(description: str, most: int) -> dict[str, Any]:
    item = {"type": "string", "minLength": 1, "maxLength": 100}
    return {"type": "array", "items": item, "minItems": 1, "maxItems": most, "description": description}


def _tool(
    name: str, what: str, needs: Iterable[Need], *, pure: bool = False, required: tuple[str, ...] = (), **given: Any
) -> BuiltinTool:
    parameters = {"type": "object", "properties": given, "required": list(required), "additionalProperties": False}
    return BuiltinTool(name, what, parameters, frozenset(needs), pure)


_PATH = "relative to the workspace, with `/` between"
_AT_END = "It is done when this step ends well, not at once."
_COMMENT = {"type": "integer", "description": "the comment's number on GitHub", "minimum": 1}

#: every tool that comes with the product, by name, in the order of the documentation
BUILTIN_TOOLS: Mapping[str, BuiltinTool] = {
    tool.name: tool
    for tool in (
        _tool(
            "read_file",
            "Read a text file of the workspace. Long files come in parts: go on at the line that the answer names.",
            ["files"],
            pure=True,
            required=("path",),
            path=_text(_PATH),
            first_line=_whole("where to begin, 1 is the first", 1, 100_000_000),
            lines=_whole("how many lines at most (2,000)", 1, 10_000),
        ),
        _tool(
            "list_files",
            "List the files and folders of a folder of the workspace.",
            ["files"],
            pure=True,
            path=_text(f"the folder, {_PATH}; without it the workspace itself"),
            recursive=_flag("also what is in its folders (false)"),
        ),
        _tool(
            "search_files",
            "Find the lines of the workspace's text files that hold a text.",
            ["files"],
            pure=True,
            required=("text",),
            text=_text("what to look for, as it is: no pattern", minLength=1, maxLength=1000),
            path=_text(f"only below this folder or in this file, {_PATH}"),
            files=_text("only files whose name fits, as `*.py`", minLength=1, maxLength=200),
            ignore_case=_flag("take upper and lower case as the same (false)"),
        ),
        _tool(
            "write_file",
            "Write a text file of the workspace whole; its folders are made. What it held before is gone.",
            ["files", "write"],
            required=("path", "content"),
            path=_text(_PATH),
            content=_text("the whole new text"),
        ),
        _tool(
            "edit_file",
            "Replace a piece of a text file of the workspace by another.",
            ["files", "write"],
            required=("path", "old", "new"),
            path=_text(_PATH),
            old=_text("the piece as it stands there, white space included; it must stand there once", minLength=1),
            new=_text("what stands there afterwards"),
            every=_flag("replace it wherever it stands (false)"),
        ),
        _tool(
            "run_command",
            "Run a shell command in the workspace (`bash -c`), without network, and get its exit code and output.",
            ["commands"],
            required=("command",),
            command=_text("the command", minLength=1, maxLength=100_000),
            timeout=_whole("seconds after which it is stopped (60)", 1, 600),
        ),
        _tool(
            "read_thread",
            "Read comments of this thread that are older than those you were given.",
            ["thread"],
            pure=True,
            before=_COMMENT | {"description": "only comments older than this one, by its number on GitHub"},
            count=_whole("how many comments at most (20)", 1, 50),
        ),
        _tool(
            "pin_comment",
            f"Pin a comment of this thread, so that every later step sees it. {_AT_END}",
            ["thread", "intents"],
            required=("comment_id",),
            comment_id=_COMMENT,
        ),
        _tool(
            "unpin_comment",
            f"Take back the pin of a comment of this thread. {_AT_END}",
            ["thread", "intents"],
            required=("comment_id",),
            comment_id=_COMMENT,
        ),
        _tool(
            "dispatch",
            f"Start another workflow or agent of this repository on this thread. {_AT_END}",
            ["intents"],
            required=("workflow",),
            workflow=_text("its name", minLength=1, maxLength=100),
            request=_text("what it is asked to do, in words", maxLength=20_000),
            params={
                "type": "object",
                "description": "values for its params",
                "additionalProperties": {"type": "string", "maxLength": 2000},
                "maxProperties": 50,
            },
            pin=_flag("also pin the request, so that every later step sees it (false)"),
        ),
        _tool(
            "add_labels",
            f"Add labels to this thread. {_AT_END}",
            ["intents"],
            required=("labels",),
            labels=_texts("their names", 100),
        ),
        _tool(
            "remove_labels",
            f"Remove labels from this thread. {_AT_END}",
            ["intents"],
            required=("labels",),
            labels=_texts("their names", 100),
        ),
        _tool(
            "set_assignees",
            f"Assign people to this thread. {_AT_END}",
            ["intents"],
            required=("logins",),
            logins=_texts("their logins on GitHub, without `@`", 10),
        ),
        _tool(
            "close_issue",
            f"Close this issue. {_AT_END}",
            ["intents"],
            reason=_text("why", enum=["completed", "not_planned"]),
        ),
    )
}

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_BOUND = re.compile(
    r"(?:steps\.[a-z][a-z0-9_]*|ctx|inputs|item)(?:\.[A-Za-z0-9_][A-Za-z0-9_-]*)*",
)
#: what a path of `bound_args` may begin with
ROOTS = ("steps", "ctx", "inputs", "item")


def _bound(value: Any) -> str:
    hint = "write it without `${{ }}`, as `steps.audit.result.warehouse_id`"
    if not isinstance(value, str):
        raise fault("type_mismatch", f"expected a path, got {describe(value)}", hint)
    if "${{" in value:
        raise fault("template_slot", "a template cannot stand in `bound_args`", hint)
    root, _, rest = value.partition(".")
    if root not in ROOTS:
        raise fault("bound_args", f"{describe(value)} begins with none of {listing(ROOTS)}", nearest(root, ROOTS))
    if not _BOUND.fullmatch(value) or (root != "item" and not rest) or (root == "steps" and rest.count(".") < 1):
        raise fault("bound_args", f"{describe(value)} names no value", hint)
    if (count := value.count(".") + 1) > SEGMENTS_MAX:
        raise fault("template_depth", f"a path has at most {SEGMENTS_MAX} segments, this one {count}", "go less deep")
    return value


def _named(value: Any) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        hint = "letters, digits, `_` and `-`, a letter first, at most 64: models take no others"
        raise fault("name", f"{describe(value)} is no name of a tool", hint)
    return value


ToolName = Annotated[str, BeforeValidator(_named), WithJsonSchema({"type": "string", "pattern": f"^{_NAME.pattern}$"})]
BoundPath = Annotated[
    str, BeforeValidator(_bound), WithJsonSchema({"type": "string", "pattern": f"^{_BOUND.pattern}$"})
]


class ToolEntry(Node):
    """A tool that the agent may call: a built-in one, or one of a resource."""

    NOUN: ClassVar[str] = "a tool"

    name: ToolName = Field(description="of a built-in tool, or of the resource's tool")
    resource: Name | None = Field(None, alias="from", description="the MCP resource that has it")
    budget: int = Field(0, ge=0, le=10_000, description="calls allowed in the step; 0: no limit")
    bound_args: dict[str, BoundPath] = Field(
        default_factory=dict,
        description="arguments that the engine sets, by name: a path below `steps`, `ctx`, `inputs` or `item`",
    )
    approval: bool = Field(False, description="whether a person has to approve each call")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _exists(self) -> ToolEntry:
        if self.resource is not None:
            return self
        if self.name not in BUILTIN_TOOLS:
            hint = meant(self.name, BUILTIN_TOOLS) or "name its resource with `from`"
            raise fault("unknown_tool", f"`{self.name}` is no built-in tool", hint)
        known = BUILTIN_TOOLS[self.name].parameters["properties"]
        for argument in self.bound_args:
            if argument not in known:
                message = f"`{self.name}` has no argument `{argument}`"
                raise fault("unknown_argument", message, nearest(argument, known))
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        short = {"enum": list(BUILTIN_TOOLS), "description": "a built-in tool"}
        return {"anyOf": [short, handler(schema)]}

    @property
    def builtin(self) -> BuiltinTool | None:
        """Its row of the table; None for a tool of a resource."""
        return BUILTIN_TOOLS[self.name] if self.resource is None else None

    @property
    def needs(self) -> frozenset[Need]:
        """What it works with; nothing of ours for a tool of a resource."""
        return self.builtin.needs if self.builtin else frozenset()


def merge(agent: Iterable[ToolEntry], step: Iterable[ToolEntry]) -> tuple[ToolEntry, ...]:
    """An agent's tools with a step's: those of one name are replaced where they stand, others are added behind."""
    tools = {entry.name: entry for entry in agent}
    tools.update({entry.name: entry for entry in step})
    return tuple(tools.values())


def doubled(entries: Iterable[ToolEntry]) -> str | None:
    """A name that stands twice in one list; None if there is none. A model knows its tools by name alone."""
    seen: set[str] = set()
    for entry in entries:
        if entry.name in seen:
            return entry.name
        seen.add(entry.name)
    return None


def _once(value: tuple[ToolEntry, ...]) -> tuple[ToolEntry, ...]:
    name = doubled(value)
    if name is not None:
        raise fault("duplicate_name", f"two tools have the name `{name}`", "keep one: a model knows them by name alone")
    return value


#: the key `tools`: names of built-in tools, and entries
Tools = Annotated[tuple[ToolEntry, ...], AfterValidator(_once)]
