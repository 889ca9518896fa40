"""What a step led to: the engine commits it, `publish` performs its intents."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal


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


#: what can be asked of `publish`: `comment` {body}, `labels` {add, remove}, `assign` {logins}, `close` {reason},
#: `review` {head_sha, body, event, comments: [{path, line, side, start_line, body, suggestion, fingerprint}],
#: outside: [{path, line, url, body, suggestion, fingerprint}]}, `pull_request` {head, base, title, body, draft,
#: closes}, `webhook` {resource, body}, `pin` and `unpin` {comment_id}, `dispatch` {workflow, request, params}
INTENTS = ("comment", "labels", "assign", "close", "review", "pull_request", "webhook", "pin", "unpin", "dispatch")


@dataclass(frozen=True, slots=True)
class Intent:
    """One thing to be done on GitHub or at a webhook, recorded with the outcome and done once by `publish`.

    `kind` is one of `INTENTS`; `payload` is JSON; `name` tells several of one step and kind apart.
    """

    kind: str
    payload: dict[str, Any]
    name: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool that a model made, for the run context's `episode_summary`.

    `how` it went: `done`, `failed` (the tool said so), `repeated` (answered from an earlier call like it), `refused`
    (by a person), `over_budget`, `malformed` (the arguments did not fit; nothing ran). `digest` is SHA-256 (hex) over
    the arguments as compact JSON with sorted keys; sizes are bytes of UTF-8, `seconds` the time that the tool took.
    """

    tool: str
    how: Literal["done", "failed", "repeated", "refused", "over_budget", "malformed"]
    digest: str = ""
    arguments_bytes: int = 0
    answer_bytes: int = 0
    seconds: float = 0.0


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
    #: the tools that a model called, in the order in which the calls ended
    episode: tuple[ToolCall, ...] = ()


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
    #: the tools that a model called before it failed
    episode: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Faulted:
    """A transient fault (rate limit, time-out of the other side, 5xx): `retry` may repeat the step.

    `kept` is there where tools were called before: a repetition that is given it goes on behind them, and does nothing
    of theirs twice. `outage`: what the engine itself stands on (GitHub, the database) did not answer, which is no fault
    of the step's and does not count as one of its tries.
    """

    message: str
    retry_after: float | None = None
    usage: Usage = field(default_factory=Usage)
    kept: bytes = b""
    outage: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """What people are asked. `show` is what they decide about, in Markdown.

    `options` is label to where it leads: a step's id, `end`, or `{"rework": id}`. `questions` are a form's, as the YAML
    has them; `text`: free text is an answer too. `who` says who may answer.
    """

    question: str
    show: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    questions: tuple[dict[str, Any], ...] = ()
    text: bool = False
    who: dict[str, Any] = field(default_factory=dict)
    on_timeout: str | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """The step goes on when something happens: an answer, an event, a time, or when what it posts was done.

    `until` is when it is over without. `event` names what is waited for. `kept` is what the step needs to go on, such
    as a conversation that stopped before a tool call. `intents` are recorded with it.
    """

    what: Literal["answer", "event", "time", "posts", "approval"]
    question: Question | None = None
    event: str = ""
    until: datetime | None = None
    kept: bytes = b""
    intents: tuple[Intent, ...] = ()
    usage: Usage = field(default_factory=Usage)
    model: str = ""


Outcome = Done | Failed | Faulted | Wait
