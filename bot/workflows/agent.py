"""An agent of the roster: a model or a program, with its prompt and its bounds."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, PrivateAttr, ValidationInfo, WithJsonSchema, model_validator

from bot.model.role import Role
from bot.workflows.fidelity import Fidelity, InjectionCap
from bot.workflows.findings import listing, nearest
from bot.workflows.node import Duration, Node, describe, fault
from bot.workflows.slots import Slot
from bot.workflows.template import Template
from bot.workflows.tools import Tools

#: what may stand before the colon of a model's name
PROVIDERS = ("openai", "openai-chat", "openai-responses", "anthropic", "demo")

#: runners of the language that come with a later version
_RUNNERS_LATER = ("claude-code", "codex", "gemini", "opencode")

_MODEL = re.compile(r"([a-z][a-z0-9-]*):(\S+)")


def _model(value: Any) -> str:
    match = _MODEL.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise fault(
            "model", f"expected a model, got {describe(value)}", "write `provider:name`, as in `openai:gpt-5-mini`"
        )
    if match[1] not in PROVIDERS:
        raise fault("unknown_provider", f"`{match[1]}` is no provider of models", nearest(match[1], PROVIDERS))
    return match[0]


def _runner(value: Any) -> Any:
    if isinstance(value, str):
        if value in _RUNNERS_LATER:
            raise fault("not_available", f"the runner `{value}` is not available yet", "now there is `exec: [argv]`")
        raise fault("unknown_runner", f"`{value}` is no runner", "write `runner: {exec: [program, argument]}`")
    return value


Model = Annotated[str, BeforeValidator(_model), WithJsonSchema({"type": "string", "pattern": f"^{_MODEL.pattern}$"})]
#: roles that can be asked for; `none` would let everybody in
LeastRole = Literal[Role.READ, Role.TRIAGE, Role.WRITE, Role.MAINTAIN, Role.ADMIN]


class Budget(Node):
    """What may be spent at most; None means that this file sets no limit. `minutes` is wall-clock time."""

    NOUN: ClassVar[str] = "a budget"

    usd: float | None = Field(None, ge=0, description="US dollars")
    tokens: int | None = Field(None, ge=0, description="input and output tokens together")
    minutes: float | None = Field(None, ge=0, description="minutes of wall-clock time")

    def over(self, other: Budget) -> Budget:
        """This budget, with the keys that it leaves out taken from `other`."""
        return Budget(
            usd=other.usd if self.usd is None else self.usd,
            tokens=other.tokens if self.tokens is None else self.tokens,
            minutes=other.minutes if self.minutes is None else self.minutes,
        )

    def within(self, other: Budget) -> Budget:
        """The tighter of both, key by key."""
        return Budget(
            usd=least(self.usd, other.usd),
            tokens=least(self.tokens, other.tokens),
            minutes=least(self.minutes, other.minutes),
        )


def least(one: Any, other: Any) -> Any:
    """The smaller limit; None is no limit."""
    given = [value for value in (one, other) if value is not None]
    return min(given) if given else None


class Retry(Node):
    """How often and how soon a transient fault (rate limit, time-out, 5xx) is tried again. Never a wrong result."""

    NOUN: ClassVar[str] = "`retry`"

    max: int = Field(2, ge=0, le=10, description="attempts beyond the first; an outage of GitHub takes none of them")
    base: Duration = Field(2.0, description="the first pause; each further one is twice as long, ±25 %")
    cap: Duration = Field(60.0, description="the longest pause; a day at most")


class Runner(Node):
    """A program that is the agent: the prompt on its standard input, the answer on its standard output."""

    NOUN: ClassVar[str] = "a runner"

    # lax about list or tuple only: a validator has turned the JSON into Python's own types by then
    exec: Annotated[tuple[str, ...], Field(min_length=1, strict=False)] = Field(
        description="program and arguments, without a shell"
    )


class Agent(Node):
    """One agent. `system` is its prompt; timeout, budget and retry are None where the agent leaves them to others."""

    NOUN: ClassVar[str] = "an agent"

    description: str = Field("", description="one line for `help`")
    model: Model | None = Field(None, description="`provider:name`; one of `model` and `runner`")
    runner: Annotated[Runner | None, BeforeValidator(_runner)] = Field(None, description="a program instead of a model")
    prompt: Annotated[str, Slot.PROMPT] = Field("", description="text, or a path ending in `.md` below `.github/bot/`")
    tools: Tools = Field((), description="what it may call: names of built-in tools, or entries")
    temperature: float | None = Field(None, ge=0, le=2, description="left to the provider if not set")
    max_tokens: int | None = Field(None, gt=0, description="longest answer in tokens")
    timeout: Duration | None = Field(None, description="longest time for an answer (30m)")
    budget: Budget | None = Field(None, description="most that one step of this agent may spend")
    trigger_role: LeastRole | None = Field(None, description="least role that may run it by name")
    fallback: tuple[Model, ...] = Field((), description="models that are tried in turn when the first is not available")
    retry: Retry | None = Field(None, description="what is done about transient faults")
    fidelity: Fidelity | None = Field(None, description="how much of the run context its prompts get")
    injection_cap: InjectionCap | None = Field(None, description="bytes of each value of the run context")

    #: the product's own agent runs on the operator's default model
    _builtin: bool = PrivateAttr(default=False)

    @model_validator(mode="after")
    def _one_of(self, info: ValidationInfo) -> Agent:
        given = [key for key in ("model", "runner") if getattr(self, key) is not None]
        if len(given) > 1:
            raise fault("one_of", "an agent has a `model` or a `runner`, not both", "remove one of them")
        self._builtin = bool(info.context and info.context.get("builtin"))
        if not given and not self._builtin:
            raise fault("one_of", "an agent needs a `model` or a `runner`", "add `model: provider:name`")
        if self.runner is not None:
            useless = [
                key for key in ("tools", "temperature", "max_tokens", "fallback") if key in self.model_fields_set
            ]
            if useless:
                hint = "remove it, or use a `model`"
                raise fault("modifier", f"{listing(useless)} means nothing to an agent with a `runner`", hint)
        return self

    @property
    def builtin(self) -> bool:
        """Whether it is the product's own; only then `model` may be None and the operator's default serves."""
        return self._builtin

    @property
    def system(self) -> Template | None:
        """The prompt, from the YAML or from its file; None without one."""
        return self._templates.get(("prompt",))
