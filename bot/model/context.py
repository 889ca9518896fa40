"""What an agent step is given, and the record of what went in and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

#: `engine` and `repository` texts are ours and the maintainers'; the rest is data that may come from anybody
Trust = Literal["engine", "repository", "writer", "reader", "untrusted"]


@dataclass(frozen=True, slots=True)
class Block:
    """One labelled piece of a prompt. `kind` is its row in *The order of a prompt* (docs: context)."""

    kind: str
    source: str
    trust: Trust
    text: str
    label: str = ""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CommentRecord(_Record):
    """One candidate comment: where it went or why not."""

    id: int
    author: str
    role: str
    created_at: str
    updated_at: str
    bytes: int
    #: `included`, `pinned`, `request`, `thread` (in the review thread asked about), or the reason it was left out
    #: (`beyond window`, `below trust`, `minimised`, …)
    fate: str
    removed: tuple[str, ...] = ()
    url: str = ""
    #: what a reader of the manifest should know besides: edited since, pinned by whom
    note: str = ""
    #: `comment`, `review`, `review_comment`; of the last where it stands, as `src/a.py:12`
    kind: str = "comment"
    place: str = ""


class InputRecord(_Record):
    """One input as the engine computed it."""

    name: str
    kind: str
    command: str = ""
    #: where it was read, for what no command computed: `file src/a.py`, `pull request 12`
    source: str = ""
    exit_code: int | None = None
    duration_s: float | None = None
    bytes: int = 0
    digest: str = ""
    status: str = "ok"  # ok, unavailable, failed
    reason: str = ""
    removed: tuple[str, ...] = ()


class BlockRecord(_Record):
    kind: str
    label: str
    bytes: int
    tokens: int
    source: str = ""
    trust: str = ""
    removed: tuple[str, ...] = ()


class SteerRecord(_Record):
    """What a person said while an agent worked, and when it read that. Times are ISO 8601."""

    id: str
    by: str
    at: str
    read_at: str
    bytes: int


class Manifest(_Record):
    """Proof of what an agent saw; stored with the attempt, printed by `threadsmith prompt` and `@bot why`."""

    comments: tuple[CommentRecord, ...] = ()
    inputs: tuple[InputRecord, ...] = ()
    blocks: tuple[BlockRecord, ...] = ()
    window: int = 0
    #: whether the step saw only what people with write access vouch for, and why
    authors: str = ""
    fidelity: str = ""
    fidelity_reason: str = ""
    reads: int = 0
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    #: what was said behind the prompt, in the conversation (`steer`)
    steers: tuple[SteerRecord, ...] = ()
    tokens: int = 0
    bytes: int = 0
    digest: str = ""

    @property
    def comments_seen(self) -> int:
        return sum(c.fate in ("included", "thread") for c in self.comments)

    @property
    def pins_seen(self) -> int:
        return sum(c.fate == "pinned" for c in self.comments)

    @property
    def below_trust(self) -> int:
        return sum(c.fate == "below trust" for c in self.comments)


@dataclass(frozen=True, slots=True)
class Context:
    """The assembled prompt: `system` and `prompt` are exactly what the runner sends."""

    system: str
    prompt: str
    blocks: tuple[Block, ...]
    manifest: Manifest
