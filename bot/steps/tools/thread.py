"""`read_thread`, `pin_comment`, `unpin_comment`: the thread that the step runs on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from bot.model.outcome import Intent
from bot.runners import ToolAnswer
from bot.steps.tools.root import Refused

#: comments of one answer, unless more or fewer are asked for
COUNT = 20
#: what every tool says that only records what is to be done
AT_END = "It will be done when this step ends well."


@dataclass(frozen=True, slots=True)
class CommentPage:
    """Comments of one thread, oldest first. `text` is as a prompt would have it: sanitised, fenced, with authors.

    `older` is the comment before which more are; None where the thread begins.
    """

    text: str
    count: int
    older: int | None


class ThreadAccess(Protocol):
    """What the engine gives tools of a thread."""

    async def page(self, before: int | None, count: int) -> CommentPage:
        """The newest `count` comments before the comment `before`, None: before those that the prompt shows.

        Only what this step may see, by the same rules as its prompt.
        """
        ...

    async def objection(self, what: Literal["pin", "unpin"], comment_id: int) -> str:
        """Why this comment cannot be pinned or unpinned, in words for the model; empty if it can.

        Another thread's comment, one whose author is below `trigger_role`, one that is not pinned.
        """
        ...


async def read_thread(thread: ThreadAccess, arguments: dict[str, Any]) -> ToolAnswer:
    """A page of older comments, and where to go on."""
    page = await thread.page(arguments.get("before"), int(arguments.get("count", COUNT)))
    if not page.count and page.older is not None:
        return ToolAnswer(f"[none that you may see; older ones: call again with before {page.older}]")
    if not page.count:
        return ToolAnswer("[there are no older comments]")
    more = "[the thread begins here]" if page.older is None else f"[older ones: call again with before {page.older}]"
    return ToolAnswer(f"{page.text.rstrip()}\n{more}")


async def pin_comment(thread: ThreadAccess, arguments: dict[str, Any]) -> ToolAnswer:
    """Record that the comment is to be pinned. Raises Refused with the engine's reason."""
    return await _pin(thread, "pin", arguments)


async def unpin_comment(thread: ThreadAccess, arguments: dict[str, Any]) -> ToolAnswer:
    """Record that the pin is to be taken back. Raises Refused with the engine's reason."""
    return await _pin(thread, "unpin", arguments)


async def _pin(thread: ThreadAccess, what: Literal["pin", "unpin"], arguments: dict[str, Any]) -> ToolAnswer:
    comment_id = int(arguments["comment_id"])
    if reason := await thread.objection(what, comment_id):
        raise Refused(reason)
    done = "pinned" if what == "pin" else "unpinned"
    return ToolAnswer(
        f"Comment {comment_id} is to be {done}. {AT_END}", intents=(Intent(what, {"comment_id": comment_id}),)
    )
