"""What the bot saw when it wrote a comment: read from the bot's own store, shown beside the thread."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from bot.context import ThreadSnapshot
from bot.demo.known import Known, known
from bot.demo.records import Comment, Issue
from bot.demo.silence import Silences
from bot.demo.world import World
from bot.model.context import BlockRecord, Manifest
from bot.model.role import Role
from bot.store import Session, Store, runs, snapshots, spoken

_BEGIN = re.compile(r"\[begin (?P<nonce>[0-9a-f]+) kind=(?P<kind>\S+) trust=\S+ source=(?P<source>\".*\")\]")
_AUTHOR = re.compile(r"\bby ([A-Za-z0-9][\w-]*(?:\[bot\])?) \(")
#: what is shown beside an author; whose role nobody had to ask for has none
_ROLES = frozenset({*map(str, Role), "bot"})
#: of a comment in the list; its whole text stands in its block, where it was shown to the model
_EXCERPT = 90
#: the run in the marker of a comment of the bot's
_RUN = re.compile(r"^<!-- threadsmith slot=run/(\w+)\|", re.MULTILINE)


class Sight:
    """The page's `Saw`. It sees nothing until `store` is set: the page is served before the bot is there.

    `world` gives the words of comments whose text the bot did not keep, because no model was to see them.
    """

    def __init__(self, world: World) -> None:
        self.store: Store | None = None
        self.silences: Silences | None = None
        self._world = world

    async def __call__(self, comment_id: int) -> Mapping[str, Any] | None:
        """What stood before the model that wrote the comment; None where no model was asked."""
        comment = self._world.comments_by_id.get(comment_id)
        if self.store is None or comment is None:
            return None
        found = await self.store.read(lambda session: _find(session, comment))
        return None if found is None else _told(found, self._world)

    async def written(self, comments: Sequence[Comment]) -> AbstractSet[int]:
        """Those of `comments` (their ids) for which a model was asked."""
        if self.store is None:
            return frozenset()
        return await self.store.read(
            lambda session: {row.id for row in comments if (run := _run(session, row)) and _asked(session, run)}
        )

    async def knows(self, issue: Issue) -> Known:
        """Pins, questions, and what can be asked for now."""
        if self.store is None:
            return Known()
        return await self.store.read(lambda session: known(session, issue))

    def silence(self, comment_id: int) -> str:
        """Why the bot did nothing about a comment that asked it to; empty where it was not asked or did."""
        return self.silences.reasons.get(comment_id, "") if self.silences else ""


@dataclass(frozen=True, slots=True)
class _Found:
    run: str
    step: str
    model: str
    manifest: Manifest
    prompt: str
    thread: ThreadSnapshot | None


def _run(session: Session, comment: Comment) -> str | None:
    """The run that said a comment; None for other people's and for what no run said."""
    if comment.author.type != "Bot":
        return None
    if (said := spoken.run_of(session, comment.id)) is not None:
        return said
    # the page learns of a comment before the bot has noted that it was posted
    marked = _RUN.findall(comment.body)
    return marked[-1] if marked and runs.called(session, marked[-1]) else None


def _asked(session: Session, run_id: str) -> bool:
    return any(attempt.prompt_blob is not None for attempt in runs.rows(session, run_id).attempts)


def _find(session: Session, comment: Comment) -> _Found | None:
    """The newest attempt with a prompt of the run that said the comment."""
    run_id = _run(session, comment)
    if run_id is None:
        return None
    rows = runs.rows(session, run_id)
    for attempt in reversed(rows.attempts):
        if attempt.prompt_blob is None:
            continue
        kept = rows.run.thread_blob
        return _Found(
            run=f"r{rows.run.number}",
            step=attempt.step if attempt.step == rows.run.workflow else f"{rows.run.workflow}.{attempt.step}",
            model=attempt.model,
            manifest=Manifest.model_validate(attempt.manifest),
            prompt=snapshots.get_blob(session, attempt.prompt_blob).decode("utf-8", "replace"),
            thread=ThreadSnapshot.from_json(snapshots.get_blob(session, kept)) if kept else None,
        )
    return None


def _told(found: _Found, world: World) -> dict[str, Any]:
    manifest = found.manifest
    texts = blocks(found.prompt, manifest.blocks)
    bodies = {number: comment.body for number, comment in world.comments_by_id.items()} | _bodies(found.thread)
    return {
        "run": found.run,
        "step": found.step,
        "model": found.model,
        "blocks": [
            {
                "kind": record.kind,
                "label": _label(record),
                "trust": record.trust,
                "tokens": record.tokens,
                "text": text,
            }
            for record, text in zip(manifest.blocks, texts, strict=True)
        ],
        "comments": [
            {
                "author": record.author.removesuffix("[bot]"),
                "role": record.role if record.role in _ROLES else "",
                "fate": record.fate,
                "bytes": record.bytes,
                "excerpt": _excerpt(bodies.get(record.id, "")),
            }
            for record in manifest.comments
        ],
        "inputs": [record.model_dump() for record in manifest.inputs],
    }


def _label(record: BlockRecord) -> str:
    """What tells this block from others of its kind: who wrote it, or the name of what was computed."""
    if (author := _AUTHOR.search(record.source)) is not None:
        return f"by {author[1].removesuffix('[bot]')}"
    named = record.label.removeprefix(record.kind).strip()
    return "" if named == "prompt" else named


def blocks(prompt: str, records: Sequence[BlockRecord]) -> list[str]:
    """The text of each block that the manifest lists, from the prompt as it was sent.

    The system text stands before the first fence and the task behind the last; every other block is what stands between
    its begin line and the end line with the same nonce. A block that is not found gives an empty text.
    """
    lines = prompt.split("\n")
    fenced = [record for record in records if record.kind not in {"system", "task"}]
    places: list[tuple[int, int] | None] = []
    position = 0
    for record in fenced:
        place = next(_fences(lines, position, record), None)
        places.append(place)
        position = place[1] + 1 if place else position
    known = [place for place in places if place]
    around = {
        "system": "\n".join(lines[: known[0][0]] if known else lines),
        "task": "\n".join(lines[known[-1][1] + 1 :] if known else []),
    }
    between = iter("\n".join(lines[place[0] + 1 : place[1]]) if place else "" for place in places)
    return [(around[record.kind] if record.kind in around else next(between)).strip("\n") for record in records]


def _fences(lines: Sequence[str], start: int, record: BlockRecord) -> Iterator[tuple[int, int]]:
    """Lines where a block of this record begins and ends."""
    for at in range(start, len(lines)):
        begin = _BEGIN.fullmatch(lines[at])
        if begin is None or begin["kind"] != record.kind or _source(begin["source"]) != record.source:
            continue
        closing = f"[end {begin['nonce']} "
        for end in range(at + 1, len(lines)):
            if lines[end].startswith(closing):
                yield at, end
                break


def _source(said: str) -> str:
    try:
        return str(json.loads(said))
    except ValueError:
        return ""


def _bodies(thread: ThreadSnapshot | None) -> dict[int, str]:
    """Texts of the comments that were looked at, by id."""
    if thread is None:
        return {}
    messages = (*thread.messages, *(pin.message for pin in thread.pins))
    return {message.id: message.text for message in messages if message.text}


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _EXCERPT else f"{line[:_EXCERPT].rstrip()}…"
