"""What one call may spend, and what a fallback is for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.model.outcome import Done, Failed, Faulted, Outcome, Usage
from bot.runners.call import Call, Limits
from bot.runners.models import Models
from bot.runners.providers import Providers
from bot.runners.talk import Talk
from tests.fake_llm import FakeLLM, Reply
from tests.runners.calls import LIMITS, call

FIRST, SECOND, THIRD = "openai:gpt-5-mini", "anthropic:claude-haiku-5-5", "openai:gpt-5-nano"


@pytest.mark.parametrize(
    ("limits", "sent"),
    [
        (replace(LIMITS, tokens=119), 1),
        (replace(LIMITS, usd=0.00006), 1),
        (replace(LIMITS, requests=0), 0),
        (replace(LIMITS, tokens=0), 0),
    ],
)
async def test_budget_exceeded(models: Models, fake: FakeLLM, limits: Limits, sent: int) -> None:
    """Tokens, money and requests bind each by itself; what was spent is told, and no fallback is asked."""
    outcome = await models.run(call(FIRST, SECOND, limits=limits))
    assert isinstance(outcome, Failed)
    assert outcome.code == "budget_exceeded"
    assert outcome.usage.input_tokens == 100 * sent
    assert len(fake.requests) == sent


async def test_within_budget(models: Models) -> None:
    """A call that spends exactly its tokens and less than its money succeeds."""
    assert isinstance(await models.run(call(FIRST, limits=replace(LIMITS, tokens=120, usd=0.00007))), Done)


async def test_money_without_price(models: Models) -> None:
    """A money limit on a model without a price neither stops nor warns: tokens and requests bind it."""
    assert isinstance(await models.run(call("openai:llama3", limits=replace(LIMITS, usd=0.0))), Done)


@pytest.mark.filterwarnings("ignore::pydantic_ai.exceptions.UsageLimitUnavailableWarning")
async def test_uncounted_answers_are_estimated(models: Models, fake: FakeLLM) -> None:
    """A server that sends no counts does not spend for free."""
    fake.script(Reply("y" * 400, uncounted=True))
    outcome = await models.run(call("openai:llama3", system="s" * 400, prompt="p" * 4000))
    assert (outcome.usage.input_tokens, outcome.usage.output_tokens, outcome.usage.requests) == (1100, 100, 1)


@pytest.mark.parametrize(
    "reply",
    [Reply(status=500), Reply(status=429, retry_after="60"), Reply(status=402), Reply(status=404), Reply(drop=True)],
)
async def test_fallback_answers(models: Models, fake: FakeLLM, reply: Reply) -> None:
    """Faulted, out of quota or unknown: the next model is asked at once, and is named as the one that answered."""
    fake.script(reply, model="gpt-5-mini")
    outcome = await models.run(call(FIRST, SECOND, THIRD))
    assert isinstance(outcome, Done)
    assert outcome.model == SECOND
    assert [request.model for request in fake.requests] == ["gpt-5-mini", "claude-haiku-5-5"]


@pytest.mark.parametrize("reply", [Reply(status=400), Reply(status=401), Reply(status=413), Reply("")])
async def test_no_fallback(models: Models, fake: FakeLLM, reply: Reply) -> None:
    """What is wrong with the request or the key is told, not hidden behind another model."""
    fake.script(reply, model="gpt-5-mini")
    assert isinstance(await models.run(call(FIRST, SECOND)), Failed)
    assert len(fake.requests) == 1


async def test_fallback_without_a_key(fake: FakeLLM) -> None:
    """A model whose provider has no key is passed over."""
    async with Models(Providers(openai_base_url=fake.openai_url)) as models:
        outcome = await models.run(call(SECOND, FIRST))
    assert isinstance(outcome, Done)
    assert outcome.model == FIRST


@pytest.mark.parametrize(
    ("first", "second", "wait"),
    [
        (Reply(status=429, retry_after="60"), Reply(status=503, retry_after="5"), 5.0),
        (Reply(status=429, retry_after="60"), Reply(status=500), None),
        (Reply(status=402), Reply(status=503, retry_after="5"), 5.0),
    ],
)
async def test_all_fail_for_now(models: Models, fake: FakeLLM, first: Reply, second: Reply, wait: float | None) -> None:
    """If one of them may come back the call may be repeated, when the first of them may be back."""
    fake.script(first, model="gpt-5-mini")
    fake.script(second, model="claude-haiku-5-5")
    outcome = await models.run(call(FIRST, SECOND))
    assert isinstance(outcome, Faulted)
    assert outcome.retry_after == wait
    assert FIRST in outcome.message
    assert SECOND in outcome.message


async def test_all_fail_for_good(models: Models, fake: FakeLLM) -> None:
    """If none can come back the first failure counts, and each is named."""
    fake.script(Reply(status=402), model="gpt-5-mini")
    fake.script(Reply(status=404), model="claude-haiku-5-5")
    outcome = await models.run(call(FIRST, SECOND))
    assert isinstance(outcome, Failed)
    assert outcome.code == "quota_exhausted"
    assert SECOND in outcome.message


async def test_time_is_shared(models: Models, fake: FakeLLM) -> None:
    """Fallbacks get what is left of the time, not the time again."""
    fake.script(Reply(hang=True), model="gpt-5-mini")
    outcome = await models.run(call(FIRST, SECOND, limits=replace(LIMITS, seconds=0.3)))
    assert isinstance(outcome, Faulted)
    assert f"`{SECOND}` was not asked" in outcome.message
    assert [request.model for request in fake.requests] == ["gpt-5-mini"]


class Canned(Models):
    """Models that answer from a list and note what each was allowed to spend."""

    def __init__(self, *outcomes: Outcome) -> None:
        super().__init__(Providers())
        self.outcomes = list(outcomes)
        self.allowed: list[Limits] = []

    async def _ask(self, text: str, call: Call, talk: Talk) -> Outcome:
        self.allowed.append(call.limits)
        return self.outcomes.pop(0)


async def test_money_and_tokens_are_shared() -> None:
    """What one model spent before it gave up is not there for the next, and is told with the answer."""
    models = Canned(
        Faulted("busy", usage=Usage(3000, 1000, 2, 0.75)),
        Failed("quota_exhausted", "", usage=Usage(0, 0, 0, 0.5)),
        Done("pong", usage=Usage(10, 1, 1, 0.01), model=THIRD),
    )
    outcome = await models.run(call(FIRST, SECOND, THIRD))
    assert outcome.usage == Usage(3010, 1001, 3, 1.26)
    assert [limits.tokens for limits in models.allowed] == [10_000, 6_000, 6_000]
    assert [limits.requests for limits in models.allowed] == [3, 1, 1]
    assert [limits.usd for limits in models.allowed] == [1.0, 0.25, 0.0]


async def test_failures_tell_what_was_spent() -> None:
    """Also when nobody answers."""
    models = Canned(Faulted("busy", usage=Usage(1, 2, 1)), Failed("quota_exhausted", "empty", usage=Usage(3, 4, 1)))
    assert await models.run(call(FIRST, SECOND)) == Faulted("busy; empty", usage=Usage(4, 6, 2))


async def test_unknown_provider_is_not_hidden(models: Models, fake: FakeLLM) -> None:
    """A misspelt provider is a fault of the configuration: no fallback."""
    outcome = await models.run(call("opnai:gpt-5-mini", SECOND))
    assert isinstance(outcome, Failed)
    assert outcome.code == "unknown_provider"
    assert "openai:gpt-5-mini" in outcome.hint
    assert not fake.requests
