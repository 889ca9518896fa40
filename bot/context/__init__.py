"""What an agent sees: thread snapshot, window, pins, sanitiser, blocks, inputs, prompt, manifest.

The flow: `read_thread` (at most three reads; saved per anchor) → `authors_needed` and `select` (per step) → `gather`
(inputs, once per attempt) → `assemble` → the `Context` that a runner sends, with its manifest.
"""

from __future__ import annotations

from bot.context.ambient import Ambient, Finished, reference, rework_reason
from bot.context.blocks import fence, fence_value
from bot.context.inputs import ExecInput, InputResult, compute
from bot.context.manifest import manifest_table
from bot.context.pages import ThreadReader
from bot.context.pins import linked_comment, numbered, parse_index, render_index
from bot.context.prompt import Request, RunFacts, assemble
from bot.context.reads import ReadInput, gather
from bot.context.rows import pinned, stored
from bot.context.rules import RULES, result_rules
from bot.context.sanitise import Sanitised, sanitise
from bot.context.snapshot import Anchor, Message, Pin, PinnedComment, StoredVersion, ThreadSnapshot
from bot.context.sources import Sources, Unavailable, comments_text
from bot.context.thread import read_thread
from bot.context.tokens import estimate
from bot.context.versions import ISSUE_BODY
from bot.context.window import Selection, Shown, WindowPolicy, authors_needed, select

__all__ = [
    "ISSUE_BODY",
    "RULES",
    "Ambient",
    "Anchor",
    "ExecInput",
    "Finished",
    "InputResult",
    "Message",
    "Pin",
    "PinnedComment",
    "ReadInput",
    "Request",
    "RunFacts",
    "Sanitised",
    "Selection",
    "Shown",
    "Sources",
    "StoredVersion",
    "ThreadReader",
    "ThreadSnapshot",
    "Unavailable",
    "WindowPolicy",
    "assemble",
    "authors_needed",
    "comments_text",
    "compute",
    "estimate",
    "fence",
    "fence_value",
    "gather",
    "linked_comment",
    "manifest_table",
    "numbered",
    "parse_index",
    "pinned",
    "read_thread",
    "reference",
    "render_index",
    "result_rules",
    "rework_reason",
    "sanitise",
    "select",
    "stored",
]
