"""Entries of `tools:`, and the table of the built-in ones."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import pytest
from pydantic import Field

from bot.workflows import shape
from bot.workflows.findings import Findings
from bot.workflows.json_schemas import schema_faults
from bot.workflows.loader import load
from bot.workflows.node import Node
from bot.workflows.slots import SEGMENTS_MAX
from bot.workflows.tools import BUILTIN_TOOLS, ToolEntry, doubled, merge


class Holder(Node):
    """Stands for an agent or a step."""

    NOUN: ClassVar[str] = "an agent"

    tools: Annotated[tuple[ToolEntry, ...], Field(strict=False)] = ()


def read(text: str) -> tuple[Holder | None, Findings]:
    """What a file gives."""
    findings = Findings()
    document = load("bot.yml", text, findings)
    assert document is not None
    return shape.validate(Holder, document, findings), findings


def test_both_forms_of_an_entry() -> None:
    """A text names a built-in tool; a mapping bounds it, or names a resource's."""
    holder, findings = read(
        "tools:\n"
        "  - read_file\n"
        "  - {name: run_command, approval: true}\n"
        "  - name: query\n"
        "    from: warehouse\n"
        "    budget: 3\n"
        "    bound_args: {warehouse_id: steps.audit.result.warehouse_id, key: ctx.a.b, one: inputs.area, all: item}\n"
    )
    assert findings.sorted() == ()
    assert holder is not None
    plain, command, query = holder.tools
    assert (plain.name, plain.resource, plain.budget, plain.approval) == ("read_file", None, 0, False)
    assert plain.builtin is BUILTIN_TOOLS["read_file"]
    assert plain.needs == {"files"}
    assert command.approval
    assert command.needs == {"commands"}
    assert (query.resource, query.budget, query.builtin, query.needs) == ("warehouse", 3, None, frozenset())
    assert query.bound_args["warehouse_id"] == "steps.audit.result.warehouse_id"


@pytest.mark.parametrize(
    ("entry", "code", "hint"),
    [
        ("raed_file", "unknown_tool", "did you mean `read_file`?"),
        ("{name: query}", "unknown_tool", "name its resource with `from`"),
        ("7", "type_mismatch", ""),
        ("{nme: read_file}", "unknown_key", "did you mean `name`?"),
        ("{name: 'a b', from: x}", "name", "at most 64"),
        ("{name: read_file, budget: -1}", "range", ""),
        ("{name: read_file, bound_args: {pth: ctx.a}}", "unknown_argument", "did you mean `path`?"),
        ("{name: read_file, bound_args: {path: params.a}}", "bound_args", "one of"),
        ("{name: read_file, bound_args: {path: step.a.output}}", "bound_args", "did you mean `steps`?"),
        ("{name: read_file, bound_args: {path: steps.a}}", "bound_args", ""),
        ("{name: read_file, bound_args: {path: steps.A.output}}", "bound_args", ""),
        ("{name: read_file, bound_args: {path: ctx}}", "bound_args", ""),
        ("{name: read_file, bound_args: {path: inputs}}", "bound_args", ""),
        ("{name: read_file, bound_args: {path: ctx..a}}", "bound_args", ""),
        ("{name: read_file, bound_args: {path: 7}}", "type_mismatch", ""),
        ("{name: read_file, bound_args: {path: '${{ ctx.a }}'}}", "template_slot", "without"),
    ],
)
def test_what_is_no_entry_is_a_finding(entry: str, code: str, hint: str) -> None:
    """With its code and a hint, at its place."""
    holder, findings = read(f"tools:\n  - {entry}\n")
    assert holder is None
    found = next(one for one in findings.sorted() if one.code == code)
    assert found.line == 2
    assert hint in found.hint


@pytest.mark.parametrize(("count", "fits"), [(SEGMENTS_MAX, True), (SEGMENTS_MAX + 1, False)])
def test_a_path_has_so_many_segments(count: int, fits: bool) -> None:
    """The root counted."""
    path = ".".join(["item", *["a"] * (count - 1)])
    holder, findings = read(f"tools: [{{name: read_file, bound_args: {{path: {path}}}}}]\n")
    assert (holder is not None) is fits
    assert fits or findings.sorted()[0].code == "template_depth"


def test_a_step_adds_to_and_replaces_by_name() -> None:
    """What is replaced stays where it stood; what is new comes behind."""
    mine = [ToolEntry(name="read_file"), ToolEntry(name="run_command")]
    steps = [ToolEntry(name="dispatch"), ToolEntry(name="read_file", budget=2)]
    merged = merge(mine, steps)
    assert [(one.name, one.budget) for one in merged] == [("read_file", 2), ("run_command", 0), ("dispatch", 0)]
    assert merge(mine, []) == tuple(mine)
    assert merge([], steps) == tuple(steps)


def test_a_name_that_stands_twice() -> None:
    """A resource's tool may shadow no built-in one within a list."""
    assert (
        doubled([ToolEntry(name="read_file"), ToolEntry.model_validate({"name": "read_file", "from": "x"})])
        == "read_file"
    )
    assert doubled([ToolEntry(name="read_file"), ToolEntry(name="dispatch")]) is None


def test_the_table_is_that_of_the_language() -> None:
    """Names and order; tools that only read need nothing that writes."""
    assert list(BUILTIN_TOOLS) == [
        *("read_file", "list_files", "search_files", "write_file", "edit_file", "run_command", "read_thread"),
        *("pin_comment", "unpin_comment", "dispatch", "add_labels", "remove_labels", "set_assignees", "close_issue"),
    ]
    for row in BUILTIN_TOOLS.values():
        assert row.needs
        assert not row.pure or not row.needs & {"write", "commands", "intents"}


@pytest.mark.parametrize("name", list(BUILTIN_TOOLS))
def test_every_schema_of_the_table_is_one(name: str) -> None:
    """And closed: what a tool does not know is told to the model."""
    schema: Any = BUILTIN_TOOLS[name].parameters
    assert schema_faults(schema) == []
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) <= set(schema["properties"])
    assert all(one["description"] for one in schema["properties"].values())


def test_the_json_schema_takes_both_forms() -> None:
    """For completion in editors: the built-in names, or a mapping."""
    short, long = Holder.model_json_schema()["$defs"]["ToolEntry"]["anyOf"]
    assert short["enum"] == list(BUILTIN_TOOLS)
    assert set(long["properties"]) == {"name", "from", "budget", "bound_args", "approval"}
