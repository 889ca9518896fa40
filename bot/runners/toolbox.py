"""The tools of one call at work: budgets, bound arguments, approvals, answers given again. Knows no model and no SDK.

Order of what happens to a call: the arguments are read, those that the engine sets are set, the whole is held against
the schema, the budget is counted, a person is asked where that is wanted, a repeated call is answered from the earlier
one, and only then the tool runs. What is wrong before the budget is counted costs nothing of it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from bot.errors import Forbidden, NotFound, OperatorError, Transient, UserError
from bot.model.outcome import Failed, Intent, ToolCall
from bot.runners.arguments import ArgumentCheck, UnusableSchema, arguments_digest, canonical, told, without
from bot.runners.tool import Tool, ToolAnswer
from bot.workflows.paths import MISS
from bot.workspace.capture import Capture

#: bytes of arguments that a person can be shown whole; what does not fit in a comment cannot be approved
SHOWN_MAX = 20_000
#: told with the last answer of a tool with a budget
ANSWER_NOW = "Every tool with a budget is used up and was taken away. Give your answer now, with what you have."

How = Literal["done", "failed", "repeated", "refused", "over_budget", "malformed"]


class Stop(Exception):
    """The step fails because of a tool; raised through the model's conversation to its runner."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.message)
        self.failed = failed


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model is told of its call. `then`: something that it is told beside it."""

    text: str
    failed: bool = False
    then: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A call that a person has to approve; `arguments` are whole, with those that the engine set.

    `id` is ours and never used twice in a step: providers may give a later call the id of an earlier one, and an old
    approval must not fit it. `call` is the provider's.
    """

    id: str
    call: str
    tool: str
    arguments: dict[str, Any]


@dataclass(slots=True)
class Standing:
    """Where the tools of a call stand: all that has to outlive a stop for an approval."""

    #: calls counted, by the tool's name
    spent: dict[str, int] = field(default_factory=dict)
    #: calls that wait for a person, in the order in which the model made them
    waiting: list[Waiting] = field(default_factory=list)
    decided: dict[str, bool | str] = field(default_factory=dict)
    #: how many calls a person was asked about
    asked: int = 0
    intents: list[Intent] = field(default_factory=list)
    episode: list[ToolCall] = field(default_factory=list)
    #: the model was asked for its answer
    closed: bool = False
    #: bytes of answers, for estimates where a server does not count tokens
    answered: int = 0

    @property
    def undecided(self) -> list[Waiting]:
        """The calls that a person has not answered yet."""
        return [one for one in self.waiting if one.id not in self.decided]


class Toolbox:
    """All tools of one call. `standing` is where an earlier half of the call stopped."""

    def __init__(self, tools: Iterable[Tool], redact: Callable[[str], str], standing: Standing | None = None) -> None:
        """Raises Stop with code `tool_schema` for a tool whose schema cannot be used."""
        self.standing = standing or Standing()
        self._tools = {tool.name: tool for tool in tools}
        self._redact = redact
        self._checks = {tool.name: _check(tool) for tool in self._tools.values()}
        #: answers of tools that only read, since the last call of one that does more
        self._answers: dict[tuple[str, str], ToolAnswer] = {}

    def offered(self) -> list[tuple[Tool, dict[str, Any]]]:
        """The tools that the model may call now, each with the schema that it is shown."""
        spent = self._exhausted()
        waiting = {one.tool for one in self.standing.waiting}
        return [
            (tool, without(tool.parameters, tool.bound))
            for tool in self._tools.values()
            if not (spent and tool.budget) or tool.name in waiting
        ]

    def malformed(self, name: str, size: int, reason: str) -> str:
        """Record a call whose arguments do not fit, and say so to the model. It costs nothing of the budget."""
        self._record(ToolCall(name, "malformed", arguments_bytes=size))
        return self._redact(f"`{name}` was not called: {reason}. Mend the arguments and call it again.")

    def decide(self, answers: Mapping[str, bool | str]) -> None:
        """Take what people answered; what nobody asked is passed over."""
        asked = {one.id for one in self.standing.waiting}
        self.standing.decided.update({one: answer for one, answer in answers.items() if one in asked})

    async def call(self, call: str, name: str, arguments: Mapping[str, Any]) -> Reply | Waiting:
        """Do a call of the model; `call` is its id. A `Waiting` stays in `standing` until it is decided and done.

        Raises Stop where the step fails.
        """
        tool = self._tools[name]
        earlier = next((one for one in self.standing.waiting if one.call == call), None)
        if earlier is not None:
            return await self._decided(tool, earlier)
        whole = {**arguments, **self._bound(tool)}
        size = len(canonical(whole).encode("utf-8", "replace"))
        if violations := self._violations(tool, whole):
            return Reply(self.malformed(name, size, told(violations)), failed=True)
        if tool.approval and size > SHOWN_MAX:
            reason = f"a person has to see the arguments whole, and {size:,} bytes are more than {SHOWN_MAX:,}"
            return Reply(self.malformed(name, size, reason), failed=True)
        if not self._count(tool):
            text = f"`{name}` was not called: it may be called {_times(tool.budget)} in this step, and was."
            return self._reply(tool, whole, "over_budget", ToolAnswer(text, failed=True))
        if tool.approval:
            self.standing.asked += 1
            waiting = Waiting(f"{name}.{self.standing.asked}", call, name, whole)
            self.standing.waiting.append(waiting)
            return waiting
        return await self._run(tool, whole)

    async def _decided(self, tool: Tool, call: Waiting) -> Reply:
        decision = self.standing.decided.pop(call.id)
        self.standing.waiting.remove(call)
        if decision is True:
            return await self._run(tool, call.arguments)
        reason = f": {decision.strip()}" if isinstance(decision, str) and decision.strip() else ""
        text = f"A person refused this call of `{tool.name}`, so that it did not run{reason}"
        return self._reply(tool, call.arguments, "refused", ToolAnswer(text, failed=True))

    def _bound(self, tool: Tool) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for argument, bound in tool.bound.items():
            value = bound.read()
            if value is None or value is MISS:
                message = f"`{argument}` of the tool `{tool.name}` is bound to `{bound.path}`, which has no value"
                raise Stop(Failed("bound_missing", message, f"see why `{bound.path}` was not made"))
            values[argument] = value
        return values

    def _violations(self, tool: Tool, whole: dict[str, Any]) -> list[tuple[str, str]]:
        try:
            violations = self._checks[tool.name].violations(whole)
        except UnusableSchema as error:
            raise Stop(_unusable(tool, error)) from None
        for argument, words in violations:
            if argument in tool.bound:
                path = tool.bound[argument].path
                message = f"`{argument}` of the tool `{tool.name}` cannot be what `{path}` holds: {words}"
                raise Stop(Failed("bound_mismatch", self._redact(message), "see what the tool takes there"))
        return violations

    def _count(self, tool: Tool) -> bool:
        spent = self.standing.spent.get(tool.name, 0)
        if tool.budget and spent >= tool.budget:
            return False
        self.standing.spent[tool.name] = spent + 1
        return True

    def _exhausted(self) -> bool:
        limited = [tool for tool in self._tools.values() if tool.budget]
        return bool(limited) and all(self.standing.spent.get(tool.name, 0) >= tool.budget for tool in limited)

    async def _run(self, tool: Tool, whole: dict[str, Any]) -> Reply:
        key = tool.name, canonical(whole)
        if tool.pure and key in self._answers:
            return self._reply(tool, whole, "repeated", self._answers[key])
        began = time.monotonic()
        answer = await self._answer(tool, whole)
        if tool.pure and not answer.failed:
            self._answers[key] = answer
        elif not tool.pure:
            # it may have changed what the others read, also where it failed half way
            self._answers.clear()
        seconds = round(time.monotonic() - began, 3)
        for intent in answer.intents:
            name = intent.name or f"{tool.name}.{len(self.standing.intents) + 1}"
            self.standing.intents.append(replace(intent, name=name))
        return self._reply(tool, whole, "failed" if answer.failed else "done", answer, seconds)

    async def _answer(self, tool: Tool, whole: dict[str, Any]) -> ToolAnswer:
        # a copy: what was counted, shown and kept stays what it was
        call: Callable[[dict[str, Any]], Awaitable[ToolAnswer]] = tool.call
        try:
            answer = await call(dict(whole))
        except OperatorError as error:
            raise Stop(Failed("not_possible_here", self._redact(error.message), error.mend)) from error
        except UserError as error:
            words = [error.message, error.hint, error.detail]
            answer = ToolAnswer("\n".join(filter(None, words)), failed=True)
        except (Transient, NotFound, Forbidden) as error:
            answer = ToolAnswer(str(error), failed=True)
        return replace(answer, text=_cut(self._redact(answer.text), tool.max_bytes))

    def _reply(self, tool: Tool, whole: Mapping[str, Any], how: How, answer: ToolAnswer, seconds: float = 0.0) -> Reply:
        text = self._redact(answer.text) if how in ("refused", "over_budget") else answer.text
        size = len(text.encode("utf-8", "replace"))
        self.standing.answered += size
        asked = canonical(whole)
        self._record(
            ToolCall(tool.name, how, arguments_digest(whole), len(asked.encode("utf-8", "replace")), size, seconds),
        )
        then = ""
        if self._exhausted() and not self.standing.closed and not self.standing.waiting:
            self.standing.closed, then = True, ANSWER_NOW
        return Reply(text, answer.failed, then)

    def _record(self, call: ToolCall) -> None:
        self.standing.episode.append(call)


def _check(tool: Tool) -> ArgumentCheck:
    try:
        return ArgumentCheck(tool.parameters)
    except UnusableSchema as error:
        raise Stop(_unusable(tool, error)) from None


def _unusable(tool: Tool, error: UnusableSchema) -> Failed:
    message = f"the schema of the tool `{tool.name}` cannot be used: {error}"
    return Failed("tool_schema", message, "mend the server that has the tool, or leave the tool out")


def _times(budget: int) -> str:
    return "once" if budget == 1 else f"{budget} times"


def _cut(text: str, limit: int) -> str:
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit:
        return raw.decode()
    capture = Capture(limit)
    capture.feed(raw)
    return capture.text()
