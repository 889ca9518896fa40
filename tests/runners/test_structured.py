"""Results of models: structured output where the model has it, the text of the answer everywhere else."""

from __future__ import annotations

import json

import pytest

from bot.model.outcome import Done
from bot.runners.models import Models
from tests.fake_llm import FakeLLM, Reply
from tests.runners.calls import call
from tests.runners.test_models import CHAT, MESSAGES, RESPONSES

SCHEMA = {"type": "object", "properties": {"risk": {"type": "string", "enum": ["low", "high"]}}, "required": ["risk"]}


@pytest.mark.parametrize("model", [CHAT, RESPONSES, MESSAGES])
async def test_a_model_that_can_is_held_to_the_schema(models: Models, fake: FakeLLM, model: str) -> None:
    """The schema goes out within an envelope; the answer for people and the result come back apart."""
    fake.script(Reply(json.dumps({"answer": "It is **low**.", "result": {"risk": "low"}})))
    outcome = await models.run(call(model, schema=SCHEMA))
    assert isinstance(outcome, Done)
    assert (outcome.output, outcome.result) == ("It is **low**.", {"risk": "low"})
    (request,) = fake.requests
    assert '"enum": ["low", "high"]' in json.dumps(request.body)
    assert (request.system, request.prompt) == ("be brief", "ping")


async def test_an_envelope_without_words_is_a_result_all_the_same(models: Models, fake: FakeLLM) -> None:
    """Nothing is to be posted then, and that is no fault."""
    fake.script(Reply(json.dumps({"answer": "", "result": {"risk": "low"}})))
    outcome = await models.run(call(CHAT, schema=SCHEMA))
    assert isinstance(outcome, Done)
    assert (outcome.output, outcome.result) == (None, {"risk": "low"})
    assert outcome.usage.requests == 1


async def test_what_keeps_to_no_schema_is_an_answer_in_text(models: Models, fake: FakeLLM) -> None:
    """It is asked once, and its words are not lost."""
    fake.script(Reply("I would rather not."))
    outcome = await models.run(call(CHAT, schema=SCHEMA))
    assert isinstance(outcome, Done)
    assert (outcome.output, outcome.result) == ("I would rather not.", None)
    assert outcome.usage.requests == 1
    assert len(fake.requests) == 1


async def test_a_model_without_structured_output_gets_no_schema(models: Models, fake: FakeLLM) -> None:
    """The answer is text, whatever stands in it; the system text tells it how to give a result."""
    fake.script(Reply('{"answer": "x", "result": {"risk": "low"}}'))
    outcome = await models.run(call("anthropic:claude-3-haiku-20240307", schema=SCHEMA))
    assert isinstance(outcome, Done)
    assert outcome.result is None
    assert '"enum"' not in json.dumps(fake.requests[0].body)
