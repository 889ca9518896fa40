"""What a step led to: the engine commits it, `publish` performs its intents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Usage:
    """What a step spent. `cost` is in US dollars, None where the model has no known price."""

    input_tokens: int = 0
    output_tokens: int = 0
    requests: int = 0
    cost: float | None = None

    def __add__(self, other: Usage) -> Usage:
        known = [c for c in (self.cost, other.cost) if c is not None]
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.requests + other.requests,
            sum(known) if known else None,
        )

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Intent:
    """One thing to be done on GitHub, recorded with the outcome and done once by `publish`."""

    kind: str
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Done:
    """The step did its work. `output` is what may be posted (None: nothing), `result` its JSON."""

    output: str | None = None
    result: Any = None
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    usage: Usage = field(default_factory=Usage)
    #: the model that answered, after fallback; empty where none was asked
    model: str = ""
    writes: dict[str, str] = field(default_factory=dict)
    intents: tuple[Intent, ...] = ()


@dataclass(frozen=True, slots=True)
class Failed:
    """The step failed for good. `code` is stable, `message` names the path or key, `hint` says what to do."""

    code: str
    message: str
    hint: str = ""
    output: str | None = None
    exit_code: int | None = None
    stdout: str = ""
    stderr: str = ""
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    #: run-context entries that stand whatever the outcome: why an extraction failed
    writes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Faulted:
    """A transient fault (rate limit, time-out of the other side, 5xx): `retry` may repeat the step."""

    message: str
    retry_after: float | None = None
    usage: Usage = field(default_factory=Usage)


Outcome = Done | Failed | Faulted
