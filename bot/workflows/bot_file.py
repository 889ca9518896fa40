"""`.github/bot.yml`: who may command, the roster, limits, and how the bot behaves in a thread."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from bot.model.role import Role
from bot.workflows.agent import Agent, Budget, LeastRole, least
from bot.workflows.command import Environment
from bot.workflows.extends import Base
from bot.workflows.node import Name, Node, describe, fault
from bot.workflows.resources import Host, Resource
from bot.workflows.workflow import Workflow

_HANDLE = re.compile(r"@?([A-Za-z0-9](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9])?)")


def _handle(value: Any) -> str:
    match = _HANDLE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise fault("handle", f"expected a handle, got {describe(value)}", 'write it as `"@name"`, in quotes')
    return match[1]


def _version(value: Any) -> int:
    if value == "1" and isinstance(value, str):
        raise fault("version", "expected version 1, got text", "remove the quotes: `version: 1`")
    if type(value) is not int or value != 1:
        raise fault("version", f"expected version 1, got {describe(value)}", "write `version: 1`")
    return value


def _no_network(value: Any) -> str:
    if value == "none":
        return "none"
    raise fault("network", f"expected `none` or hosts, got {describe(value)}", "write `none`, or `[pypi.org]`")


Handle = Annotated[str, BeforeValidator(_handle), WithJsonSchema({"type": "string", "pattern": f"^{_HANDLE.pattern}$"})]
Version = Annotated[Literal[1], BeforeValidator(_version), WithJsonSchema({"const": 1})]
Network = Annotated[
    Annotated[Literal["none"], BeforeValidator(_no_network), Tag("kind:text")]
    | Annotated[tuple[Host, ...], Tag("kind:list")],
    Discriminator(lambda value: "kind:list" if isinstance(value, (list, tuple)) else "kind:text"),
]


class History(Node):
    """Whose comments the recency window holds (see the page *What an agent sees*)."""

    NOUN: ClassVar[str] = "`history`"

    authors: Literal["auto", "any", "readers", "writers"] = Field("auto", description="by effective role")
    bots: Literal["roster", "all", "none"] = Field("roster", description="which bots' comments")


class RunLimits(Budget):
    """Most that one run may spend. Keys left out keep these values."""

    NOUN: ClassVar[str] = "`per_run`"

    usd: float | None = Field(2.0, ge=0, description="US dollars")
    tokens: int | None = Field(400_000, ge=0, description="input and output tokens together")
    minutes: float | None = Field(60.0, ge=0, description="minutes of wall-clock time")


class DayLimits(Node):
    """Most that may be spent in 24 hours; None means no limit by this file."""

    NOUN: ClassVar[str] = "a day's limits"

    usd: float | None = Field(None, ge=0, description="US dollars")
    dispatches: int | None = Field(None, ge=0, description="accepted requests")

    def within(self, other: DayLimits) -> Self:
        """The tighter of both, key by key."""
        return type(self)(usd=least(self.usd, other.usd), dispatches=least(self.dispatches, other.dispatches))


class ActorLimits(DayLimits):
    """Most that one person may spend in 24 hours, counted at the root of a chain of dispatches."""

    usd: float | None = Field(20.0, ge=0, description="US dollars")
    dispatches: int | None = Field(100, ge=0, description="accepted requests")


class RepositoryLimits(DayLimits):
    """Most that a repository may spend in 24 hours."""

    usd: float | None = Field(100.0, ge=0, description="US dollars")


class Limits(Node):
    """Bounds of this repository. The operator's ceilings hold whatever stands here."""

    NOUN: ClassVar[str] = "`limits`"

    per_run: RunLimits = Field(default_factory=RunLimits, description="one run")
    per_actor_day: ActorLimits = Field(default_factory=ActorLimits, description="one person in 24 hours")
    per_repo_day: RepositoryLimits = Field(default_factory=RepositoryLimits, description="the repository in 24 hours")
    per_issue_day: DayLimits = Field(default_factory=DayLimits, description="one thread in 24 hours")
    prompt_tokens: int | None = Field(
        None, gt=0, description="largest prompt; 80 % of the model's window if not set, else 150,000"
    )

    def within(self, other: Limits) -> Limits:
        """The tighter of both, key by key."""
        per_run = self.per_run.within(other.per_run)
        return Limits(
            per_run=RunLimits(usd=per_run.usd, tokens=per_run.tokens, minutes=per_run.minutes),
            per_actor_day=self.per_actor_day.within(other.per_actor_day),
            per_repo_day=self.per_repo_day.within(other.per_repo_day),
            per_issue_day=self.per_issue_day.within(other.per_issue_day),
            prompt_tokens=least(self.prompt_tokens, other.prompt_tokens),
        )


class Publish(Node):
    """How the bot speaks in a thread."""

    NOUN: ClassVar[str] = "`publish`"

    progress: Literal["status", "reaction", "none"] = Field("status", description="while it works")
    max_parts: int = Field(3, ge=1, le=10, description="comments that one result may be split into")
    mentions: Literal["requester", "none", "all"] = Field("requester", description="who may be notified by name")
    allow_mentions: tuple[Handle, ...] = Field((), description="further names that may be notified")
    refusals: Literal["silent", "react"] = Field("silent", description="what those who may not command get to see")


class Workspace(Node):
    """What commands and programs get."""

    NOUN: ClassVar[str] = "`workspace`"
    LATER: ClassVar[frozenset[str]] = frozenset(
        {"setup", "setup_secrets", "cache", "cache_key", "paths", "lfs", "submodules", "branch_prefix"}
    )

    network: Network = Field(
        "none", description="`none`, or hosts that commands may reach where the operator opens them"
    )
    env: Environment = Field(default_factory=dict, description="variables of every command of this repository")

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that commands may reach."""
        return () if self.network == "none" else tuple(self.network)


class BotFile(Node):
    """The whole file. A repository without one has these values and the product's own agents."""

    NOUN: ClassVar[str] = "`bot.yml`"
    version: Version = Field(description="of this format")
    extends: Base | None = Field(None, description="an organisation's configuration below this one")
    mention: tuple[Handle, ...] = Field((), description="handles that address the bot; the App's own if left out")
    default: Name = Field("ask", description="agent or workflow that a bare mention runs")
    history_comment_count: int = Field(5, ge=0, description="recent comments in a prompt; 0: pins only")
    history: History = Field(default_factory=History, description="whose comments")
    trigger_role: LeastRole = Field(Role.WRITE, description="least role that may command")
    allow_bots: tuple[Annotated[int, Field(gt=0)], ...] = Field((), description="numeric ids of bots that may command")
    limits: Limits = Field(default_factory=Limits, description="most that may be spent")
    agents: dict[Name, Agent] = Field(default_factory=dict, description="the roster")
    workflows: dict[Name, Workflow] = Field(
        default_factory=dict, description="workflows by name, as in their own files"
    )
    resources: dict[Name, Resource] = Field(
        default_factory=dict, description="MCP servers and webhooks, shared by all workflows"
    )
    publish: Publish = Field(default_factory=Publish, description="how the bot speaks in a thread")
    workspace: Workspace = Field(default_factory=Workspace, description="what commands and programs get")

    def handle(self, own: str) -> str:
        """How people call the bot here: the first of the handles, else the App's `own`; with its `@`."""
        return f"@{self.mention[0]}" if self.mention else own
