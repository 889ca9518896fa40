"""The runner of `provider:name` models, over pydantic-ai."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

from bot.model.ident import compact
from bot.model.outcome import Done, Failed, Faulted, Outcome, Usage, Wait
from bot.runners import demo, faults
from bot.runners.call import Call, Limits
from bot.runners.providers import ModelName, Providers
from bot.runners.talk import Talk
from bot.runners.toolbox import Stop

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.usage import RunUsage

#: One request is given up after this, though the call may have more time: a provider that hangs is noticed. The SDKs'
#: own default.
REQUEST_SECONDS = 600.0

#: what makes a fallback worth asking
_FALL_BACK = frozenset({"quota_exhausted", "model_unavailable"})

#: characters per token, where a server does not count
_CHARS = 4


class Models:
    """Asks models, one after the other until one answers; owns the HTTP client.

    Use as an async context manager or call `aclose`. Nothing of pydantic-ai is imported before the first real call.
    """

    def __init__(self, providers: Providers) -> None:
        self._providers = providers
        self._http: httpx2.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections. A later call opens new ones."""
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()

    async def run(self, call: Call) -> Outcome:
        """Ask `call.model`, then each of `call.fallback` while the one before was faulted, unavailable or out of quota.

        All share the call's limits, and the next one goes on with what the one before has done with its tools. If none
        answers, the outcome is the transient fault if any of them was one (a later attempt may succeed), else the first
        failure; it names what each said. Codes beside those of `faults`: `bound_missing`, `bound_mismatch`,
        `tool_schema`, `conversation_lost`, `timeout` (with tools), `not_possible_here`.
        """
        try:
            talk = await self._talk(call)
        except Stop as stop:
            return stop.failed
        if (waits := talk.waits()) is not None:
            return waits
        clock = asyncio.get_running_loop().time
        end = clock() + call.limits.seconds - talk.seconds
        spent = Usage()
        faults_seen: list[Failed | Faulted] = []
        for text in talk.models():
            left = _left(call.limits, talk.usage + spent, end - clock())
            outcome = await self._ask(text, replace(call, limits=left), talk)
            spent += outcome.usage
            if isinstance(outcome, (Done, Wait)) or (isinstance(outcome, Failed) and outcome.code not in _FALL_BACK):
                return talk.ended(replace(outcome, usage=spent), spent, call.limits.seconds - (end - clock()))
            faults_seen.append(outcome)
        return talk.ended(replace(_worst(faults_seen), usage=spent), spent, call.limits.seconds - (end - clock()))

    async def _talk(self, call: Call) -> Talk:
        if call.resumed is not None:
            await self.warm()
        if call.resumed is None and not call.tools:
            return Talk(call)
        # reading schemas imports what takes a fifth of a second
        return await asyncio.to_thread(Talk, call)

    async def warm(self) -> None:
        """Import the SDKs in a thread, so that the first real call does not hold up the event loop for two seconds."""
        await asyncio.to_thread(import_module, "bot.runners.sdk")

    async def _ask(self, text: str, call: Call, talk: Talk) -> Outcome:
        refused = self._providers.check(text)
        if refused is not None:
            return refused
        name = ModelName.parse(text)
        if self._providers.dialect(name) == "demo":
            return demo.answer(name, await _with_words(call))
        if call.limits.tokens <= 0:
            message = f"`{name}` was not asked: no tokens are left of the budget"
            return Failed("budget_exceeded", message, "raise the agent's `budget` or the run's limits", model=str(name))
        if call.limits.seconds <= 0:
            return Faulted(f"`{name}` was not asked: the time of {call.agent or 'the agent'} is up")
        await self.warm()
        return await self._request(name, call, talk)

    async def _request(self, name: ModelName, call: Call, talk: Talk) -> Outcome:
        from pydantic_ai import DeferredToolRequests, capture_run_messages
        from pydantic_ai.exceptions import AgentRunError, UnexpectedModelBehavior
        from pydantic_ai.usage import RunUsage

        from bot.runners import sdk

        if self._http is None:
            self._http = sdk.client(self._providers)
        listening = talk.listening()
        agent = sdk.agent(sdk.build(name, self._providers, self._http), call, talk.toolset(), listening)
        usage = RunUsage()
        seconds = call.limits.seconds
        limits = sdk.usage_limits(name, self._providers, call.limits)
        settings = sdk.settings(call, min(seconds, REQUEST_SECONDS))

        def used(output: str = "") -> Usage:
            return _usage(usage, call, output, talk.answered)

        def heard() -> tuple[str, ...]:
            return tuple(listening.heard) if listening is not None else ()

        messages: list[ModelMessage] = []
        try:
            async with asyncio.timeout(seconds):
                with sdk.verbatim(), capture_run_messages() as messages:
                    result = await agent.run(
                        talk.prompt,
                        message_history=talk.messages,
                        deferred_tool_results=talk.decisions(),
                        usage=usage,
                        usage_limits=limits,
                        model_settings=settings,
                    )
        except TimeoutError:
            if talk.called:
                # what a tool did is done: the step is not simply tried again
                message, hint = f"`{name}` and its tools did not end within {seconds:.1f} s", "raise the `timeout`"
                return Failed("timeout", message, hint, usage=used(), model=str(name))
            return Faulted(f"`{name}` did not answer within {seconds:.1f} s", usage=used())
        except Stop as stop:
            return replace(stop.failed, usage=used(), model=str(name))
        except AgentRunError as error:
            said = sdk.last_text(messages)
            if call.schema is not None and isinstance(error, UnexpectedModelBehavior) and said.strip():
                # it kept to no schema: what it said is judged like any other answer
                return _done(name, said, None, used(said))
            talk.went_on(messages, heard())
            outcome = faults.outcome_of(error, faults.Attempt(name, self._providers, answered=usage.requests > 0))
            return replace(outcome, usage=used())
        if isinstance(result.output, DeferredToolRequests):
            talk.stopped(str(name), result.all_messages(), heard())
            return Wait("approval", usage=used(), model=str(name))
        finish = result.response.finish_reason
        if isinstance(result.output, str):
            return _done(name, result.output, finish, used(result.output))
        answer, given = str(result.output.get(sdk.ANSWER, "")), result.output.get(sdk.RESULT)
        spent = used(compact(result.output))
        told = _done(name, answer, finish, spent) if answer.strip() else Done(usage=spent, model=str(name))
        return replace(told, result=given) if isinstance(told, Done) else told


async def _with_words(call: Call) -> Call:
    """The call with what people said meanwhile behind its prompt: the whole conversation is one request."""
    said = await call.listen(()) if call.listen is not None else ()
    return replace(call, prompt="\n".join([call.prompt, *(one.text for one in said)])) if said else call


def _done(name: ModelName, output: str, finish: str | None, usage: Usage) -> Outcome:
    if not output.strip():
        hint = "ask again, or use another model"
        return Failed("empty_answer", f"`{name}` answered without any text", hint, usage=usage, model=str(name))
    if finish == "content_filter":
        hint = "the provider's content filter stopped the answer"
        message = f"`{name}` broke off"
        return Failed("model_refused", message, hint, output=output, usage=usage, model=str(name))
    if finish == "length":
        # what is cut says so
        output += f"\n\n*[cut: `{name}` reached its output limit; `max_tokens` of the agent raises it]*"
    return Done(output=output, usage=usage, model=str(name))


def _left(limits: Limits, spent: Usage, seconds: float) -> Limits:
    usd = None if limits.usd is None else max(limits.usd - (spent.cost or 0.0), 0.0)
    return Limits(max(limits.tokens - spent.tokens, 0), max(limits.requests - spent.requests, 0), usd, seconds)


def _worst(seen: list[Failed | Faulted]) -> Failed | Faulted:
    faulted = [one for one in seen if isinstance(one, Faulted)]
    if len(seen) == 1:
        return seen[0]
    message = "; ".join(one.message for one in seen)
    if not faulted:
        return replace(seen[0], message=message)
    waits = [one.retry_after for one in faulted]
    known = [wait for wait in waits if wait is not None]
    # one that named no wait may be back at once
    return Faulted(message, min(known) if len(known) == len(waits) else None)


def _usage(usage: RunUsage, call: Call, output: str, answered: int) -> Usage:
    """What was spent. Where a server sends no counts they are estimated, so that budgets still bind."""
    cost: Any = usage.cost
    tokens_in, tokens_out = usage.input_tokens, usage.output_tokens
    if usage.unmeasured_requests and not usage.total_tokens:
        tokens_in = (len(call.system) + len(call.prompt) + answered) // _CHARS * usage.unmeasured_requests
        tokens_out = len(output) // _CHARS
    return Usage(tokens_in, tokens_out, usage.requests, None if cost is None else float(cost))
