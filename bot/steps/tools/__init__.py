"""The built-in tools of an agent: from entries of the YAML to tools that a runner can be given.

What each is called, says of itself and takes is in `bot.workflows.tools`; one module here a noun does the work.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from bot.runners import Bound, Tool, ToolAnswer
from bot.steps.tools import command, files, folders, github, thread
from bot.steps.tools.root import Refused, Root
from bot.steps.tools.thread import CommentPage, ThreadAccess
from bot.workflows.tools import BUILTIN_TOOLS, ToolEntry
from bot.workspace import Sandbox

__all__ = ["CommentPage", "Place", "Refused", "ThreadAccess", "bounds", "builtin_tools"]

Work = Callable[[dict[str, Any]], Awaitable[ToolAnswer]]
#: the value at a path of `bound_args`, at the moment of the call; None or `MISS` where there is none
Read = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Place:
    """What the tools of one step work with. `folder` is the workspace, a real path.

    `env` is what commands get, `readable` are folders that they may read besides; `timeout_max` bounds each, in
    seconds. `names` are the workflows and agents that can be dispatched. What a step's tools do not need may be left
    out: which need what is in the table.
    """

    folder: Path | None = None
    sandbox: Sandbox | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    readable: tuple[Path, ...] = ()
    timeout_max: float = 600.0
    thread: ThreadAccess | None = None
    names: Collection[str] = ()


def builtin_tools(entries: Iterable[ToolEntry], place: Place, read: Read) -> tuple[Tool, ...]:
    """The built-in ones among the entries of a checked file, in their order.

    Raises ValueError where `place` lacks what one of them needs: the load checks let none of these through.
    """
    return tuple(_tool(entry, place, read) for entry in entries if entry.builtin is not None)


def bounds(entry: ToolEntry, read: Read) -> dict[str, Bound]:
    """The arguments of an entry that the engine sets, also for tools of resources."""
    return {name: Bound(path, partial(read, path)) for name, path in entry.bound_args.items()}


def _tool(entry: ToolEntry, place: Place, read: Read) -> Tool:
    row = BUILTIN_TOOLS[entry.name]
    return Tool(
        name=row.name,
        description=row.what,
        parameters=row.parameters,
        call=partial(_told, _work(row.name, place)),
        budget=entry.budget,
        bound=bounds(entry, read),
        approval=entry.approval,
        pure=row.pure,
    )


async def _told(work: Work, arguments: dict[str, Any]) -> ToolAnswer:
    try:
        return await work(arguments)
    except Refused as refused:
        return ToolAnswer(str(refused), failed=True)


def _work(name: str, place: Place) -> Work:
    root = Root(place.folder) if place.folder is not None else None
    if root is not None:
        by_files: dict[str, Callable[[Root, dict[str, Any]], Awaitable[ToolAnswer]]] = {
            "read_file": files.read_file,
            "write_file": files.write_file,
            "edit_file": files.edit_file,
            "list_files": folders.list_files,
            "search_files": folders.search_files,
        }
        if name in by_files:
            return partial(by_files[name], root)
    if place.thread is not None:
        by_thread: dict[str, Callable[[ThreadAccess, dict[str, Any]], Awaitable[ToolAnswer]]] = {
            "read_thread": thread.read_thread,
            "pin_comment": thread.pin_comment,
            "unpin_comment": thread.unpin_comment,
        }
        if name in by_thread:
            return partial(by_thread[name], place.thread)
    if name == "run_command" and place.folder is not None and place.sandbox is not None:
        work = partial(command.run_command, readable=place.readable)
        return partial(work, place.sandbox, place.folder, place.env, place.timeout_max)
    if name == "dispatch":
        return partial(github.dispatch, place.names)
    alone: dict[str, Work] = {
        "add_labels": github.add_labels,
        "remove_labels": github.remove_labels,
        "set_assignees": github.set_assignees,
        "close_issue": github.close_issue,
    }
    if name in alone:
        return alone[name]
    needs = ", ".join(sorted(BUILTIN_TOOLS[name].needs))
    raise ValueError(f"the tool `{name}` needs {needs}, which this step does not have")
