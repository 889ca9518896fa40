"""From entries of the YAML to tools at work: commands, the thread, what is to be done on GitHub."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from bot.errors import UserError
from bot.model.outcome import INTENTS, Intent
from bot.runners import Tool, ToolAnswer
from bot.runners.arguments import ArgumentCheck
from bot.steps.tools import CommentPage, Place, bounds, builtin_tools
from bot.workflows.tools import BUILTIN_TOOLS, ToolEntry
from bot.workspace import Sandbox, open_sandbox


@dataclass
class Thread:
    """A thread of three pages."""

    asked: list[tuple[int | None, int]] = field(default_factory=list)
    reason: str = ""

    async def page(self, before: int | None, count: int) -> CommentPage:
        self.asked.append((before, count))
        if before == 1:
            return CommentPage("", 0, None)
        return CommentPage(f"comments before {before}\n", count, None if before == 20 else 20)

    async def objection(self, what: Literal["pin", "unpin"], comment_id: int) -> str:
        return self.reason and f"{what} {comment_id}: {self.reason}"


@pytest.fixture
async def sandbox() -> Sandbox:
    """Supervised processes: isolation has its own tests."""
    return await open_sandbox("off")


@pytest.fixture
def place(tmp_path: Path, sandbox: Sandbox) -> Place:
    """All that any tool needs."""
    return Place(
        tmp_path,
        sandbox,
        {"GREETING": "hello"},
        timeout_max=20.0,
        thread=Thread(),
        names=("triage", "implement"),
    )


def foreign_tool(**more: Any) -> ToolEntry:
    """An entry that names a resource's tool."""
    return ToolEntry.model_validate({"name": "query", "from": "warehouse", **more})


def tools(place: Place, *names: str, read: Callable[[str], Any] = str) -> dict[str, Tool]:
    """The tools of these names, by name."""
    return {tool.name: tool for tool in builtin_tools([ToolEntry(name=name) for name in names], place, read)}


async def use(place: Place, name: str, **arguments: Any) -> ToolAnswer:
    """Call one tool as a runner would: with arguments that fit its schema."""
    tool = tools(place, name)[name]
    assert ArgumentCheck(tool.parameters).violations(arguments) == []
    return await tool.call(arguments)


async def test_every_row_of_the_table_is_a_tool(place: Place) -> None:
    """With the row's words, schema and purity."""
    every = tools(place, *BUILTIN_TOOLS)
    assert list(every) == list(BUILTIN_TOOLS)
    for name, tool in every.items():
        row = BUILTIN_TOOLS[name]
        assert (tool.description, tool.parameters, tool.pure) == (row.what, row.parameters, row.pure)


@pytest.mark.parametrize("name", [name for name, row in BUILTIN_TOOLS.items() if row.needs != {"intents"}])
def test_a_tool_without_what_it_needs_is_our_own_fault(name: str) -> None:
    """The load checks let none through."""
    with pytest.raises(ValueError, match=name):
        tools(Place(), name)


async def test_an_entry_brings_its_bounds(place: Place) -> None:
    """Budget, approval and bound arguments; the value is read when the tool is called, not before."""
    read: list[str] = []

    def value(path: str) -> str:
        read.append(path)
        return "src"

    entry = ToolEntry(name="list_files", budget=3, approval=True, bound_args={"path": "ctx.folder"})
    (tool,) = builtin_tools([entry, foreign_tool()], place, value)
    assert (tool.budget, tool.approval) == (3, True)
    assert tool.bound["path"].path == "ctx.folder"
    assert read == []
    assert tool.bound["path"].read() == "src"
    assert read == ["ctx.folder"]
    foreign = foreign_tool(bound_args={"id": "steps.a.output"})
    assert [(name, bound.path) for name, bound in bounds(foreign, value).items()] == [("id", "steps.a.output")]


async def test_what_is_refused_is_an_answer(place: Place) -> None:
    """The model is told, and the step goes on."""
    answer = await use(place, "read_file", path="../x")
    assert answer.failed
    assert "`..`" in answer.text


async def test_files_go_round(place: Place, tmp_path: Path) -> None:
    """Written, changed, found, listed and read by the tools alone."""
    await use(place, "write_file", path="a/x.txt", content="one two\n")
    await use(place, "edit_file", path="a/x.txt", old="two", new="three")
    assert (await use(place, "search_files", text="three")).text == "a/x.txt:1: one three"
    assert (await use(place, "list_files")).text == "a/"
    assert (await use(place, "read_file", path="a/x.txt")).text == "one three\n"


async def test_a_command_runs_in_the_workspace(place: Place, tmp_path: Path) -> None:
    """With the variables of the step and no others, its output told apart from its errors."""
    answer = await use(place, "run_command", command='echo "$GREETING"; pwd; echo bad >&2; exit 3')
    assert not answer.failed, "an exit code is an answer"
    assert answer.text.startswith("[exit code 3, ")
    assert f"[stdout]\nhello\n{tmp_path}\n" in answer.text
    assert answer.text.endswith("[stderr]\nbad\n")


async def test_a_command_is_stopped(place: Place) -> None:
    """After its own time, or the step's where that is shorter."""
    own = await use(place, "run_command", command="echo begun; sleep 600", timeout=1)
    assert own.failed
    assert own.text.startswith("[stopped after 1 s")
    assert "begun" in own.text
    short = Place(place.folder, place.sandbox, timeout_max=0.5)
    assert "stopped after 0.5 s" in (await use(short, "run_command", command="sleep 600", timeout=600)).text


async def test_output_is_bounded_with_a_mark(place: Place) -> None:
    """Head and tail stay."""
    answer = await use(place, "run_command", command="echo first; head -c 500000 /dev/zero | tr '\\0' x; echo last")
    assert "first" in answer.text
    assert "last" in answer.text
    assert "bytes cut" in answer.text
    assert len(answer.text) < 60_000


async def test_a_command_that_cannot_be_is_told(place: Place) -> None:
    """As the runner expects it: a fault that the model can mend."""
    with pytest.raises(UserError, match="NUL"):
        await use(place, "run_command", command="a\0b")


async def test_the_thread_is_read_page_by_page(place: Place) -> None:
    """Each answer says where to go on, the last one that it is the last."""
    assert isinstance(place.thread, Thread)
    assert (await use(place, "read_thread")).text == "comments before None\n[older ones: call again with before 20]"
    assert (await use(place, "read_thread", before=20, count=5)).text == "comments before 20\n[the thread begins here]"
    assert (await use(place, "read_thread", before=1)).text == "[there are no older comments]"
    assert place.thread.asked == [(None, 20), (20, 5), (1, 20)]


@pytest.mark.parametrize(
    ("name", "arguments", "intent"),
    [
        ("pin_comment", {"comment_id": 7}, Intent("pin", {"comment_id": 7})),
        ("unpin_comment", {"comment_id": 7}, Intent("unpin", {"comment_id": 7})),
        ("add_labels", {"labels": [" bug ", "bug", "a b"]}, Intent("labels", {"add": ["bug", "a b"], "remove": []})),
        ("remove_labels", {"labels": ["bug"]}, Intent("labels", {"add": [], "remove": ["bug"]})),
        ("set_assignees", {"logins": ["@ana", "ana", "bot[bot]"]}, Intent("assign", {"logins": ["ana", "bot[bot]"]})),
        ("close_issue", {}, Intent("close", {"reason": "completed"})),
        ("close_issue", {"reason": "not_planned"}, Intent("close", {"reason": "not_planned"})),
        ("dispatch", {"workflow": "triage"}, Intent("dispatch", {"workflow": "triage", "request": "", "params": {}})),
        (
            "dispatch",
            {"workflow": "implement", "request": "go", "params": {"base": "dev"}, "pin": True},
            Intent("dispatch", {"workflow": "implement", "request": "go", "params": {"base": "dev"}, "pin": True}),
        ),
    ],
)
async def test_what_is_to_be_done_is_recorded(
    place: Place, name: str, arguments: dict[str, Any], intent: Intent
) -> None:
    """Nothing is done now, and the answer says so."""
    answer = await use(place, name, **arguments)
    assert answer.intents == (intent,)
    assert intent.kind in INTENTS
    assert answer.text.endswith("It will be done when this step ends well.")


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("add_labels", {"labels": ["x" * 51]}, "50 printable"),
        ("remove_labels", {"labels": ["a\nb"]}, "50 printable"),
        ("set_assignees", {"logins": ["a b"]}, "no login"),
        ("set_assignees", {"logins": ["../x"]}, "no login"),
        ("dispatch", {"workflow": "triag"}, "did you mean `triage`"),
    ],
)
async def test_what_cannot_be_done_is_not_recorded(
    place: Place, name: str, arguments: dict[str, Any], words: str
) -> None:
    """It would only fail later, when nobody can mend it."""
    answer = await use(place, name, **arguments)
    assert answer.failed
    assert answer.intents == ()
    assert words in answer.text


@pytest.mark.parametrize("name", ["pin_comment", "unpin_comment"])
async def test_the_engine_may_object_to_a_pin(place: Place, name: str) -> None:
    """Its reason is told, and nothing is recorded."""
    assert isinstance(place.thread, Thread)
    place.thread.reason = "its author may not command"
    answer = await use(place, name, comment_id=7)
    assert (answer.failed, answer.intents) == (True, ())
    assert answer.text == f"{name.partition('_')[0]} 7: its author may not command"
