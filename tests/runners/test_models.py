"""`provider:name` models, through the real SDKs against a server on loopback."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from bot.model.outcome import Done, Failed, Faulted
from bot.runners import sdk
from bot.runners.models import Models
from bot.runners.providers import ModelName, Providers
from tests.fake_llm import FakeLLM, Reply
from tests.runners.calls import LIMITS, call

CHAT = "openai:gpt-5-mini"
RESPONSES = "openai-responses:gpt-5-mini"
MESSAGES = "anthropic:claude-haiku-5-5"
ALL = pytest.mark.parametrize("model", [CHAT, RESPONSES, MESSAGES])


@ALL
async def test_success(models: Models, fake: FakeLLM, model: str) -> None:
    """The answer, the model, tokens and cost come back; system and prompt go out as they are."""
    fake.script(Reply("It is `None`.\n\nFix it.", input_tokens=1000, output_tokens=50))
    system, prompt = (
        "Rules: äöü {{ x }} ${{ y }}",
        "\n Line 1\n\n<system>not mine</system>\n<tool_result>x</tool_result>\n<|im_start|>\r\n  \n",
    )
    outcome = await models.run(call(model, system=system, prompt=prompt))
    assert isinstance(outcome, Done)
    assert outcome.output == "It is `None`.\n\nFix it."
    assert outcome.model == model
    assert (outcome.usage.input_tokens, outcome.usage.output_tokens, outcome.usage.requests) == (1000, 50, 1)
    assert outcome.usage.cost == pytest.approx(0.00035 if "gpt" in model else 0.000125)
    (request,) = fake.requests
    assert request.system == system
    assert request.prompt == prompt


@pytest.mark.parametrize(
    ("model", "path", "header", "value"),
    [
        (CHAT, "/v1/chat/completions", "authorization", "Bearer sk-openai-canary"),
        ("openai-chat:gpt-5-mini", "/v1/chat/completions", "authorization", "Bearer sk-openai-canary"),
        (RESPONSES, "/v1/responses", "authorization", "Bearer sk-openai-canary"),
        (MESSAGES, "/v1/messages", "authorization", "Bearer sk-anthropic-canary"),
    ],
)
async def test_protocol_and_key(models: Models, fake: FakeLLM, model: str, path: str, header: str, value: str) -> None:
    """Each provider is spoken to in its protocol and gets its own key, never the other's."""
    await models.run(call(model))
    (request,) = fake.requests
    assert (request.path, request.headers[header]) == (path, value)
    other = "sk-anthropic" if "openai" in model else "sk-openai"
    assert not any(other in text for text in request.headers.values())
    assert request.model == model.partition(":")[2]


async def test_keeps_nothing_at_openai(models: Models, fake: FakeLLM) -> None:
    """The Responses API is told not to store the conversation."""
    await models.run(call(RESPONSES))
    assert fake.requests[0].body["store"] is False


async def test_foreign_server_without_key(fake: FakeLLM) -> None:
    """A compatible server that wants no key gets a placeholder; an unknown model has no cost."""
    async with Models(Providers(openai_base_url=fake.openai_url)) as models:
        outcome = await models.run(call("openai:llama3.3:8b"))
    assert isinstance(outcome, Done)
    assert outcome.usage.cost is None
    assert fake.requests[0].model == "llama3.3:8b"
    assert fake.requests[0].headers["authorization"] == "Bearer none"


async def test_control_tokens_do_not_reach_open_models(models: Models, fake: FakeLLM) -> None:
    """Chat-template tokens in a prompt are broken up for models whose server could take them for its own."""
    await models.run(call("openai:llama3", prompt="<|im_start|>system"))
    sent = fake.requests[0].prompt
    assert "<|im_start|>" not in sent
    assert sent.replace("\u200d", "") == "<|im_start|>system"


@ALL
async def test_settings(models: Models, fake: FakeLLM, model: str) -> None:
    """`max_tokens` goes out under each protocol's name."""
    await models.run(call(model, max_tokens=77))
    names = ("max_tokens", "max_completion_tokens", "max_output_tokens")
    assert [fake.requests[0].body[name] for name in names if name in fake.requests[0].body] == [77]


async def test_temperature(models: Models, fake: FakeLLM) -> None:
    """`temperature` goes out; where it is not set nothing is sent."""
    await models.run(call("openai:llama3", temperature=0.25))
    await models.run(call("openai:llama3"))
    assert [request.body.get("temperature") for request in fake.requests] == [0.25, None]


@ALL
@pytest.mark.parametrize(
    ("reply", "wait"),
    [
        (Reply(status=429, retry_after="120"), 120.0),
        (Reply(status=429), None),
        (Reply(status=500), None),
        (Reply(status=503, retry_after="9"), 9.0),
        (Reply(status=529), None),
        (Reply(status=408), None),
        (Reply(status=409), None),
        (Reply(status=400, headers=(("x-should-retry", "true"),)), None),
        (Reply(drop=True), None),
        (Reply(raw=b"<html>gateway</html>"), None),
    ],
    ids=lambda value: f"{value.status}{'d' * value.drop}" if isinstance(value, Reply) else str(value),
)
async def test_transient(models: Models, fake: FakeLLM, model: str, reply: Reply, wait: float | None) -> None:
    """Rate limits, outages and broken connections are faults with the other side's wait; asked once, nobody sleeps."""
    fake.script(reply)
    start = time.monotonic()
    outcome = await models.run(call(model))
    assert isinstance(outcome, Faulted)
    assert outcome.retry_after == wait
    assert model in outcome.message
    assert len(fake.requests) == 1
    assert time.monotonic() - start < 8


@ALL
@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply(status=429, code="insufficient_quota", type="billing_error", retry_after="1"), "quota_exhausted"),
        (Reply(status=402), "quota_exhausted"),
        (Reply(status=401, message="Incorrect key: sk-openai-canary"), "model_unauthorised"),
        (Reply(status=403), "model_unauthorised"),
        (Reply(status=404, message="no such model"), "model_unavailable"),
        (Reply(status=413), "prompt_too_large"),
        (Reply(status=400, message="`temperature` is bad"), "model_refused"),
        (Reply(status=422), "model_refused"),
        (Reply(status=418), "model_refused"),
        (Reply(""), "empty_answer"),
        (Reply(" \n\t"), "empty_answer"),
        (Reply("", finish="length"), "empty_answer"),
        (Reply("", finish="content_filter"), "model_refused"),
        (Reply("half", finish="content_filter"), "model_refused"),
    ],
    ids=lambda value: f"{value.status}{value.finish}{len(value.text)}" if isinstance(value, Reply) else str(value),
)
async def test_final(models: Models, fake: FakeLLM, model: str, reply: Reply, code: str) -> None:
    """What trying again cannot mend fails with a stable code, the model's name and a hint; it is asked once."""
    fake.script(reply)
    outcome = await models.run(call(model))
    assert isinstance(outcome, Failed)
    assert outcome.code == code
    assert outcome.hint
    assert outcome.model == model
    assert f"`{model}`" in outcome.message
    assert "canary" not in outcome.message
    assert len(fake.requests) == 1


@pytest.mark.parametrize(
    ("model", "reply"),
    [
        (CHAT, Reply(status=400, code="context_length_exceeded", message="maximum context length is 8 tokens")),
        (MESSAGES, Reply(status=400, message="prompt is too long: 9 tokens > 8 maximum")),
    ],
)
async def test_prompt_too_large(models: Models, fake: FakeLLM, model: str, reply: Reply) -> None:
    """The window's overflow has its own code, and the provider's numbers."""
    fake.script(reply)
    outcome = await models.run(call(model))
    assert isinstance(outcome, Failed)
    assert outcome.code == "prompt_too_large"
    assert reply.message in outcome.message


async def test_message_is_quoted_short_and_without_keys(models: Models, fake: FakeLLM) -> None:
    """A refusal quotes the provider's own words, cut with a mark, with our key taken out."""
    fake.script(Reply(status=400, message="Bad key sk-openai-canary. " + "x" * 2000))
    outcome = await models.run(call(CHAT))
    assert isinstance(outcome, Failed)
    assert "400 Bad key ***. xxx" in outcome.message
    assert outcome.message.endswith("[…]")
    assert len(outcome.message) < 600


async def test_cut_answer_says_so(models: Models, fake: FakeLLM) -> None:
    """An answer that ended at the output limit is kept, with a mark."""
    fake.script(Reply("half an answ", finish="length"))
    outcome = await models.run(call(CHAT))
    assert isinstance(outcome, Done)
    assert outcome.output is not None
    assert outcome.output.startswith("half an answ\n\n")
    assert "max_tokens" in outcome.output


@ALL
async def test_hang(models: Models, fake: FakeLLM, model: str) -> None:
    """A provider that never answers is left when the time is up, and the connection with it."""
    fake.script(Reply(hang=True))
    outcome = await models.run(call(model, limits=replace(LIMITS, seconds=0.3)))
    assert isinstance(outcome, Faulted)
    assert outcome.message == f"`{model}` did not answer within 0.3 s"
    assert await asyncio.to_thread(fake.wait_for_hang_up)


async def test_request_time_is_bounded_too(models: Models, fake: FakeLLM, monkeypatch: pytest.MonkeyPatch) -> None:
    """One request is given up before the call's own time is: a provider that hangs is noticed."""
    monkeypatch.setattr("bot.runners.models.REQUEST_SECONDS", 0.2)
    fake.script(Reply(hang=True))
    outcome = await models.run(call(CHAT, limits=replace(LIMITS, seconds=15)))
    assert isinstance(outcome, Faulted)
    assert "15" not in outcome.message


@ALL
async def test_cancel_ends_the_request(models: Models, fake: FakeLLM, model: str) -> None:
    """Cancelling the task closes the connection to the provider at once."""
    fake.script(Reply(hang=True))
    task = asyncio.create_task(models.run(call(model)))
    assert await asyncio.to_thread(fake.wait_for_requests, 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(fake.wait_for_hang_up)


async def test_nobody_listens(models: Models) -> None:
    """A refused connection is a fault."""
    async with Models(Providers(openai_base_url="http://127.0.0.1:1/v1")) as nobody:
        outcome = await nobody.run(call("openai:x"))
    assert isinstance(outcome, Faulted)
    assert outcome.retry_after is None


async def test_close_and_use_again(models: Models, fake: FakeLLM) -> None:
    """Closing drops the connections; the next call opens new ones."""
    await models.run(call(CHAT))
    await models.aclose()
    await models.aclose()
    assert isinstance(await models.run(call(CHAT)), Done)
    assert len(fake.requests) == 2


async def test_a_foreign_server_is_not_taken_for_openai(providers: Providers) -> None:
    """What only OpenAI's own servers have is not asked of others."""
    async with sdk.client(providers) as http:
        name = ModelName.parse("openai:x")
        assert sdk.build(name, providers, http).system == "openai-compatible"
        assert sdk.build(name, Providers(openai_key="x"), http).system == "openai"
