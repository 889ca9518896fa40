"""The only module that builds pydantic-ai objects; importing it costs about two seconds, so it is imported late.

Everything that the SDKs would take from the environment where we have a value is given, and their own retries are off:
they sleep on `Retry-After` without telling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from decimal import Decimal
from typing import Any

import httpx2
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai import Agent, DeferredToolRequests, NativeOutput, StructuredDict
from pydantic_ai._framing import second_model_prompt
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, create_async_httpx2_client
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel, OpenAIResponsesModelSettings
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.usage import UsageLimits

from bot.runners.call import Call, Limits
from bot.runners.listening import Listening
from bot.runners.providers import ModelName, Providers
from bot.runners.toolset import RETRIES
from bot.runners.window import has_price

CONNECT_SECONDS = 10.0
#: the two keys of the envelope
ANSWER, RESULT = "answer", "result"


def client(providers: Providers) -> httpx2.AsyncClient:
    """The HTTP client that all models share. A number of seconds given with a request does not lengthen its connect."""
    timeout = httpx2.Timeout(600.0, connect=CONNECT_SECONDS, pool=CONNECT_SECONDS)
    return create_async_httpx2_client(timeout=timeout, transport=providers.transport)


def build(model: ModelName, providers: Providers, http: httpx2.AsyncClient) -> Model:
    """The pydantic-ai model that speaks to `model`. The name must have passed `Providers.check`."""
    key, url = providers.key(model), providers.base_url(model)
    if providers.dialect(model) == "messages":
        anthropic = AsyncAnthropic(api_key=key, base_url=url, http_client=http, max_retries=0)
        return AnthropicModel(model.name, provider=AnthropicProvider(anthropic_client=anthropic))
    openai = AsyncOpenAI(api_key=key, base_url=url, http_client=http, max_retries=0)
    # A foreign server gets the profile that compatible servers share. For open-weight models pydantic-ai also breaks up
    # chat-template tokens (`<|im_start|>`) that stand in the text, which such servers would take for their own.
    provider = (
        OpenAICompatibleProvider("openai-compatible", openai_client=openai)
        if providers.openai_is_foreign
        else OpenAIProvider(openai_client=openai)
    )
    if providers.dialect(model) == "responses":
        # by default OpenAI keeps what it answered for 30 days
        settings = OpenAIResponsesModelSettings(openai_store=False)
        return OpenAIResponsesModel(model.name, provider=provider, settings=settings)
    return OpenAIChatModel(model.name, provider=provider)


def agent(
    model: Model, call: Call, toolset: AbstractToolset[None] | None = None, listening: Listening | None = None
) -> Agent[None, Any]:
    """A fresh agent that answers in text, or in an envelope where a result is wanted and the model has that natively.

    Nothing is asked twice on our account: a bad answer is the step's matter. With tools, what it gives may also be the
    calls that wait for a person. `listening` puts in what people say meanwhile.
    """
    native = call.schema is not None and model.profile.get("supports_json_schema_output", False)
    answer: Any = NativeOutput(_envelope(call.schema), template=False) if native and call.schema else str
    return Agent(
        model,
        output_type=answer if toolset is None else [answer, DeferredToolRequests],
        toolsets=[] if toolset is None else [toolset],
        capabilities=[] if listening is None else [listening],
        name=call.agent or "agent",
        deps_type=type(None),
        instructions=call.system or None,
        # a model that calls what is not there is told so; its requests are what bounds it
        retries={"tools": RETRIES, "output": 0},
    )


def _envelope(schema: Mapping[str, Any]) -> type[dict[str, Any]]:
    """The answer for people beside the result: structured output alone would leave nothing to be posted."""
    return StructuredDict(
        {
            "type": "object",
            "properties": {
                ANSWER: {"type": "string", "description": "what people read in the thread, in Markdown"},
                RESULT: {**schema, "description": "the result that the workflow goes on with"},
            },
            "required": [ANSWER, RESULT],
        },
        name="answer",
    )


def verbatim() -> AbstractContextManager[None]:
    """Within it pydantic-ai sends texts as they are.

    Where a text has something like a tag of its own (`<system>`), it would put notes into the system text and the
    prompt. It has this switch for our case, one prompt that quotes a transcript, yet no public name for it; a test
    compares what is sent byte for byte.
    """
    return second_model_prompt()


def last_text(messages: Sequence[ModelMessage]) -> str:
    """The text of the newest response; empty where there is none."""
    responses = [message for message in messages if isinstance(message, ModelResponse)]
    return responses[-1].text or "" if responses else ""


def settings(call: Call, seconds: float) -> ModelSettings:
    """Settings of each request of `call`; `seconds` bounds one request."""
    out = ModelSettings(timeout=seconds, max_retries=0)
    if call.temperature is not None:
        out["temperature"] = call.temperature
    if call.max_tokens is not None:
        out["max_tokens"] = call.max_tokens
    return out


def usage_limits(model: ModelName, providers: Providers, limits: Limits) -> UsageLimits:
    """pydantic-ai's form of `limits`. It warns about a money limit that cannot bind, so that is left out there."""
    priced = limits.usd is not None and has_price(str(model), providers)
    return UsageLimits(
        request_limit=limits.requests,
        total_tokens_limit=limits.tokens,
        cost_limit=Decimal(str(limits.usd)) if priced else None,
    )
