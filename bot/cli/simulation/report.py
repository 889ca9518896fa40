"""What a walk came to: nouns that are printed, and no more."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Blocks:
    """The size of one kind of block of a prompt: `tokens` are estimated."""

    kind: str
    count: int
    bytes: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Prompt:
    """An assembled prompt. `uncomputed` are inputs that only a real run computes, so that their blocks are short."""

    bytes: int
    tokens: int
    blocks: tuple[Blocks, ...]
    uncomputed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """What a gate asked and what was answered; `kind` is `answer`, `event` or `time`."""

    kind: str
    question: str
    options: tuple[str, ...]
    answered: str


@dataclass(slots=True)
class Visit:
    """One attempt. `name` is `id`, `id[key]` in an element or branch, `outer/id` in a used workflow.

    `to` is empty where the step's failure ends its frame; `why` says what led there. `given`: its outcome stands in the
    answers; else it is made up, or the engine's own.
    """

    name: str
    kind: str
    state: str
    to: str = ""
    why: str = ""
    error: str = ""
    given: bool = False
    prompt: Prompt | None = None
    asked: Asked | None = None
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Report:
    """A whole walk. `unreached` are names of steps, `warnings` those that are nobody's but the walk's."""

    workflow: str
    state: str
    reason: str
    visits: list[Visit]
    unreached: list[str]
    assumed: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
