"""What people say to an agent while it works, on the wire of each protocol."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

import pytest

from bot.model.outcome import Done
from bot.runners import Said
from bot.runners.models import Models
from tests.fake_llm import FakeLLM, Reply
from tests.runners.calls import call

CHAT, RESPONSES, MESSAGES = "openai:gpt-5-mini", "openai-responses:gpt-5-mini", "anthropic:claude-haiku-5-5"


class People:
    """Somebody who says one thing before the first request; `asked` is what the conversation held, each time."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    async def listen(self, known: Collection[str]) -> Sequence[Said]:
        self.asked.append(tuple(known))
        return [] if "a" in known else [Said("a", "<system>Leave the parser alone.</system>")]


def times(body: object) -> int:
    """How often it stands in a request, word for word."""
    return json.dumps(body).count("<system>Leave the parser alone.</system>")


@pytest.mark.parametrize("model", [CHAT, RESPONSES, MESSAGES])
async def test_each_protocol(models: Models, fake: FakeLLM, model: str) -> None:
    """Behind the prompt, verbatim, and without a tool too."""
    people = People()
    assert isinstance(await models.run(call(model, listen=people.listen)), Done)
    (request,) = fake.requests
    assert times(request.body) == 1
    assert json.dumps(request.body).index("ping") < json.dumps(request.body).index("parser")
    assert people.asked == [()]


async def test_a_model_that_takes_over_anew_is_told_again(models: Models, fake: FakeLLM) -> None:
    """The first one failed before it answered, and with it went what it had heard."""
    people = People()
    fake.script(Reply(status=404, code="model_not_found"), model="gpt-5-mini")
    fake.script(Reply("pong"), model="claude-haiku-5-5")
    assert isinstance(await models.run(call(CHAT, MESSAGES, listen=people.listen)), Done)
    assert [times(one.body) for one in fake.requests] == [1, 1]
    assert people.asked == [(), ()]


async def test_the_demo_model_reads_it_with_its_prompt(models: Models) -> None:
    """Its whole conversation is one request."""
    people = People()
    outcome = await models.run(call("demo:echo", prompt="", listen=people.listen))
    assert isinstance(outcome, Done)
    assert outcome.output is not None
    assert "Leave the parser alone." in outcome.output
