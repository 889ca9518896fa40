"""The model provider of the tests is one that the real SDKs understand, tools and streams included."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest
from pydantic_ai import Agent

from bot.runners import sdk
from bot.runners.providers import ModelName, Providers
from tests.fake_llm import FakeLLM, Reply
from tests.fake_llm_wire import Tool

ALL = pytest.mark.parametrize("model", ["openai:fake", "openai-responses:fake", "anthropic:fake"])


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    """A client that is closed after the test."""
    async with httpx2.AsyncClient() as client:
        yield client


def weather(model: str, providers: Providers, http: httpx2.AsyncClient) -> Agent[None, str]:
    """An agent with one tool."""
    agent = Agent(sdk.build(ModelName.parse(model), providers, http), deps_type=type(None))

    @agent.tool_plain
    def temperature(city: str) -> str:
        return f"{city}: 21"

    return agent


@ALL
async def test_tool(fake: FakeLLM, providers: Providers, http: httpx2.AsyncClient, model: str) -> None:
    """A tool call is made, its result comes back, and the second reply is the answer."""
    fake.script(Reply("", tools=(Tool("temperature", {"city": "Ulm"}),)), Reply("It is warm."))
    result = await weather(model, providers, http).run("How warm?")
    assert result.output == "It is warm."
    assert result.usage.requests == 2
    assert "Ulm: 21" in str(fake.requests[1].body)


@ALL
async def test_stream(fake: FakeLLM, providers: Providers, http: httpx2.AsyncClient, model: str) -> None:
    """The same, streamed, with the counts at the end."""
    fake.script(Reply("", tools=(Tool("temperature", {"city": "Ulm"}),)), Reply("It is warm today, and dry."))
    async with weather(model, providers, http).run_stream("How warm?") as result:
        pieces = [piece async for piece in result.stream_text(delta=True, debounce_by=None)]
    assert "".join(pieces) == "It is warm today, and dry."
    assert len(pieces) > 1
    assert (result.usage.input_tokens, result.usage.output_tokens) == (200, 40)
    assert all(request.body["stream"] is True for request in fake.requests)


async def test_scripts_and_journal(fake: FakeLLM, http: httpx2.AsyncClient) -> None:
    """A model's own script goes first; the last reply stays; what is no model request is told apart."""
    fake.script(Reply("one"), Reply("two"))
    fake.script(Reply("mine"), model="special")

    async def ask(model: str) -> str:
        body = {"model": model, "messages": [{"role": "user", "content": "hi"}]}
        answer = await http.post(f"{fake.openai_url}/chat/completions", json=body)
        return str(answer.json()["choices"][0]["message"]["content"])

    assert [await ask(model) for model in ("a", "special", "a", "a")] == ["one", "mine", "two", "two"]
    assert [request.prompt for request in fake.requests] == ["hi"] * 4
    assert (await http.post(f"{fake.url}/v1/embeddings", json={})).status_code == 404
    assert (await http.get(f"{fake.openai_url}/models")).json()["data"][0]["id"] == "fake"
    assert [request.method for request in fake.requests] == ["POST"] * 4 + ["GET"]
