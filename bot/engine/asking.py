"""Asks an agent: its context, its tools, what it stopped at before, and what came of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from bot.engine.around import Place, Surroundings
from bot.engine.assembly import assemble_step, wanted, window_policy
from bot.engine.delivered import delivered
from bot.engine.grant import step_limits
from bot.engine.limits import allowance
from bot.engine.terms import Begun, Terms
from bot.engine.trials import stand_in, tool_writes
from bot.errors import UserError
from bot.model.context import Context, Manifest
from bot.model.ident import compact
from bot.model.outcome import Faulted, Outcome, Wait
from bot.model.state import AttemptState, GateState
from bot.runners import Call, Limits, Tool, ToolAnswer, awaiting
from bot.runners.mcp import open_resource
from bot.steps import classified, perform_agent
from bot.steps.tools import Place as ToolPlace
from bot.steps.tools import bounds, builtin_tools
from bot.workflows import Agent, resolve
from bot.workflows.gate_steps import APPROVE
from bot.workflows.step import AgentStep, AskingStep, ClassifyStep
from bot.workflows.tools import ToolEntry

#: an answer that nobody gave in time, as the model is told
_SILENCE = "nobody answered in time"
#: answers that did not count, as often as a gate asks
_VOID = "what people answered did not count, because what they were shown had been changed"


class Asking:
    """One attempt of a step that asks a model."""

    def __init__(self, around: Surroundings, terms: Terms, begun: Begun, step: AskingStep, place: Place) -> None:
        self._around, self._terms, self._begun, self._step, self._place = around, terms, begun, step, place
        self._agent = terms.configuration.agents[step.asked]
        self._runners = around.bench.runners

    async def outcome(self, seconds: float) -> Outcome:
        """Ask, or go on where the conversation stopped."""
        # what this attempt spent before it stopped is kept with its conversation
        others = [each for each in self._begun.rows.attempts if each.id != self._begun.attempt.id]
        limits = step_limits(
            self._step, self._terms.budget, others, seconds, allowance(self._begun.level, self._begun.attempt)
        )
        if (barred := self._runners.check(probe(self._agent, limits))) is not None:
            return barred
        before = await self._stopped()
        context = before[0] if before is not None else await self._context(limits)
        async with self._tools() as tools:
            call = partial(
                perform_agent,
                self._step.asked,
                self._agent,
                context,
                limits=limits,
                cwd=self._place.workspace.path,
                env=self._place.env,
                runners=self._runners,
                readable=self._place.readable,
                schema=wanted(self._step),
                tools=tools,
                redact=self._around.bench.redact,
                listen=partial(self._around.listen, self._begun),
            )
            outcome = await (call() if before is None else call(resumed=before[1], approved=before[2]))
        if isinstance(outcome, Wait | Faulted) and outcome.kept:
            return replace(outcome, kept=_packed(context, outcome.kept))
        return classified(outcome, self._step.classify.labels) if isinstance(self._step, ClassifyStep) else outcome

    # -- the context --------------------------------------------------------------------------------------------------

    async def _context(self, limits: Limits) -> Context:
        begun, step, place = self._begun, self._step, self._place
        context = await assemble_step(
            self._around.bench,
            begun.rows,
            self._terms.configuration,
            begun.level.workflow,
            step,
            self._agent,
            snapshot=await self._around.thread(),
            role_of=self._around.role_of,
            sources=self._around.sources,
            workspace=place.workspace,
            env=place.env,
            scope={**place.scope, "agent": {"name": step.asked, "model": self._model(limits)}},
            resolve=self._around.environment,
            handed=await delivered(begun, step, self._around.blob),
            readable=place.readable,
        )
        await self._around.attach(begun, context)
        return context

    def _model(self, limits: Limits) -> str:
        """The model that will be asked first: those before it in the order have no key or are not known."""
        models = self._runners.models_of(probe(self._agent, limits))
        usable = (model for model in models if self._runners.providers.check(model) is None)
        return next(usable, f"exec:{self._agent.runner.exec[0]}" if self._agent.runner else "")

    # -- where it stopped ---------------------------------------------------------------------------------------------

    async def _stopped(self) -> tuple[Context, bytes, Mapping[str, bool | str]] | None:
        """The conversation that this attempt goes on with, and what people said; None where it is a new one."""
        gate = self._begun.gate
        if gate is not None and gate.kept is not None:
            context, kept = _unpacked(await self._around.blob(gate.kept))
            answer = gate.answer or {}
            said: bool | str = answer.get("text") or False
            if gate.state is not GateState.ANSWERED:
                said = _VOID if gate.state is GateState.VOID else _SILENCE
            elif answer.get("answer") == APPROVE:
                said = True
            (asked, *_) = awaiting(kept)
            return context, kept, {asked.id: said}
        # one that was interrupted has left nothing: what the attempt before it had kept is still the newest
        earlier = (
            each
            for each in reversed(self._begun.level.attempts[:-1])
            if each.step == self._step.id and each.state is not AttemptState.INTERRUPTED
        )
        faulted = next(earlier, None)
        if faulted is None or faulted.iteration != self._begun.attempt.iteration or "kept" not in faulted.streams:
            return None
        context, kept = _unpacked(await self._around.blob(faulted.streams["kept"]))
        return context, kept, {}

    # -- tools --------------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _tools(self) -> AsyncIterator[tuple[Tool, ...]]:
        """Every tool of the step; the servers of its resources are there as long as the block takes."""
        entries = self._step.offered if isinstance(self._step, AgentStep) else ()
        if not entries:
            yield ()
            return
        place = self._place
        policy = window_policy(self._begun.rows, self._terms.configuration, self._begun.level.workflow, self._step)
        around = ToolPlace(
            folder=place.workspace.path,
            sandbox=self._around.bench.sandbox,
            env=place.env,
            readable=place.readable,
            thread=self._around.comments(policy),
            names=self._terms.configuration.names(),
        )
        # in a trial whatever might write is offered, and does nothing
        idle = [entry for entry in entries if self._begun.rows.dispatch.trial and tool_writes(entry)]
        at_work = tuple(entry for entry in entries if entry not in idle)
        found = {tool.name: tool for tool in builtin_tools(at_work, around, self._read)}
        found |= {entry.name: stand_in(entry) for entry in idle}
        async with AsyncExitStack() as stack:
            for name in dict.fromkeys(entry.resource for entry in at_work if entry.resource is not None):
                for entry, tool in await self._of_resource(stack, name, at_work):
                    found[entry.name] = tool
            yield tuple(found[entry.name] for entry in entries)

    async def _of_resource(
        self, stack: AsyncExitStack, name: str, entries: tuple[ToolEntry, ...]
    ) -> list[tuple[ToolEntry, Tool]]:
        opened = self._around.opened(name)
        server = await stack.enter_async_context(
            open_resource(
                opened,
                env=self._around.environment(opened.env),
                cwd=self._place.workspace.path,
                sandbox=self._around.bench.sandbox,
                reach=self._around.reach,
                redact=self._around.bench.redact,
            )
        )
        offered = {tool.name: tool for tool in await server.tools()}

        async def call(tool: str, arguments: dict[str, Any]) -> ToolAnswer:
            try:
                value = await server.call(tool, arguments)
            except UserError as error:
                return ToolAnswer(f"{error.message}\n{error.detail}".strip(), failed=True)
            return ToolAnswer(value if isinstance(value, str) else compact(value))

        found = []
        for entry in entries:
            if entry.resource != name:
                continue
            if entry.name not in offered:
                known = ", ".join(f"`{one}`" for one in offered) or "none"
                raise UserError("unknown_tool", f"the resource `{name}` has no tool `{entry.name}`", f"It has {known}.")
            tool = offered[entry.name]
            found.append(
                (
                    entry,
                    Tool(
                        name=tool.name,
                        description=tool.description,
                        parameters=tool.schema,
                        call=partial(call, tool.name),
                        budget=entry.budget,
                        bound=bounds(entry, self._read),
                        approval=entry.approval,
                    ),
                )
            )
        return found

    def _read(self, path: str) -> Any:
        return resolve(self._place.scope, tuple(path.split(".")))


def probe(agent: Agent, limits: Limits) -> Call:
    """A call as the agent would make it, without its texts: to ask what stands in its way."""
    return Call(
        system="",
        prompt="",
        limits=limits,
        model=agent.model or "",
        fallback=agent.fallback,
        argv=agent.runner.exec if agent.runner else (),
    )


def _packed(context: Context, kept: bytes) -> bytes:
    """A conversation with the texts that it began with: later, other comments and inputs would be there."""
    return json.dumps({"system": context.system, "prompt": context.prompt, "kept": kept.decode("ascii")}).encode()


def _unpacked(data: bytes) -> tuple[Context, bytes]:
    document = json.loads(data)
    context = Context(document["system"], document["prompt"], (), Manifest())
    return context, document["kept"].encode("ascii")
