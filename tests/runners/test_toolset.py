"""The toolbox behind pydantic-ai's own loop, with its test doubles."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from pydantic_ai import DeferredToolRequests, ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.messages import ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from bot.model.outcome import Intent, ToolCall, Usage
from bot.runners import sdk
from bot.runners.call import Call
from bot.runners.kept import Kept, Lost, awaiting, question
from bot.runners.tool import Tool, ToolAnswer
from bot.runners.toolbox import ANSWER_NOW, Stop, Toolbox, Waiting
from bot.runners.toolset import ToolboxToolset
from tests.runners.calls import call

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


async def _double(arguments: dict[str, Any]) -> ToolAnswer:
    return ToolAnswer(str(arguments["n"] * 2))


def tool(name: str = "double", **more: Any) -> Tool:
    """A tool that doubles a number."""
    given = {"parameters": NUMBER, "call": _double, **more}
    return Tool(name=name, description="doubles", **given)


def returns(messages: list[ModelMessage]) -> list[ToolReturnPart]:
    """What tools answered, in order."""
    return [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]


def turns(*parts: list[ToolCallPart] | str) -> FunctionModel:
    """A model that says these in turn, a text for ever."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        at = min(sum(isinstance(message, ModelResponse) for message in messages), len(parts) - 1)
        said = parts[at]
        return ModelResponse([TextPart(said)] if isinstance(said, str) else list(said))

    return FunctionModel(answer)


def asks(name: str, arguments: Any, id: str = "c1") -> ToolCallPart:  # noqa: A002 # as pydantic-ai has it
    """A call of a tool."""
    return ToolCallPart(name, arguments, tool_call_id=id)


async def run(model: Any, *tools: Tool, with_call: Call | None = None) -> tuple[Any, list[ModelMessage], Toolbox]:
    """The output, all messages, and the toolbox."""
    box = Toolbox(tools, str)
    agent = sdk.agent(model, with_call or call(tools=tools), ToolboxToolset(box))
    result = await agent.run("ping")
    return result.output, result.all_messages(), box


async def test_every_tool_that_is_offered_can_be_called() -> None:
    """pydantic-ai's own double calls each once, with arguments made from the schema that it is shown."""
    output, _, box = await run(TestModel(), tool("a"), tool("b", pure=True))
    assert json.loads(output) == {"a": "0", "b": "0"}
    assert [one.how for one in box.standing.episode] == ["done", "done"]


async def test_a_call_that_never_fits_ends_by_its_requests_only() -> None:
    """pydantic-ai would give up after its own number of retries."""
    wrong: list[list[ToolCallPart] | str] = [[asks("double", '{"n": "x"}')] for _ in range(12)]
    output, messages, box = await run(turns(*wrong, "enough"), tool(budget=1))
    assert output == "enough"
    assert {part.outcome for part in returns(messages)} == {"failed"}
    assert [one.how for one in box.standing.episode] == ["malformed"] * 12
    assert box.standing.spent == {}


@pytest.mark.parametrize("raw", ["{", "[1]", '{"n": NaN}'])
async def test_what_is_no_json_goes_back(raw: str) -> None:
    """Also from a model that cannot write it."""
    _, messages, box = await run(turns([asks("double", raw)], "enough"), tool())
    assert "Mend the arguments" in str(returns(messages)[0].content)
    assert box.standing.episode == [ToolCall("double", "malformed", arguments_bytes=len(raw))]


async def test_a_tool_that_does_not_exist_is_told_however_often() -> None:
    """Nothing runs, and the conversation goes on."""
    unknown: list[list[ToolCallPart] | str] = [[asks("triple", {"n": 1})] for _ in range(5)]
    output, messages, box = await run(turns(*unknown, "enough"), tool())
    assert output == "enough"
    assert "'double'" in str(returns(messages)[0].content)
    assert box.standing.episode == []


async def test_the_ask_for_an_answer_stands_beside_the_answer_of_the_tool() -> None:
    """What the tool said stays as it is."""
    _, messages, _ = await run(turns([asks("double", {"n": 4})], "8"), tool(budget=1))
    assert [part.content for part in returns(messages)] == ["8"]
    prompts = [part.content for message in messages for part in message.parts if isinstance(part, UserPromptPart)]
    assert prompts == ["ping", ANSWER_NOW]


async def test_reading_tools_run_side_by_side_and_others_one_after_the_other() -> None:
    """Two that wait for each other can only end together; two that write never overlap."""
    here = asyncio.Barrier(2)
    busy = 0

    async def meet(_arguments: dict[str, Any]) -> ToolAnswer:
        await asyncio.wait_for(here.wait(), 10)
        return ToolAnswer("met")

    async def alone(arguments: dict[str, Any]) -> ToolAnswer:
        nonlocal busy
        busy += 1
        await asyncio.sleep(0)
        seen, busy = busy, busy - 1
        return ToolAnswer(f"{arguments['n']}: {seen}")

    together = [asks("meet", {"n": 1}, "c1"), asks("meet", {"n": 2}, "c2")]
    _, messages, _ = await run(turns(together, "x"), tool("meet", call=meet, pure=True))
    assert [part.content for part in returns(messages)] == ["met", "met"]
    _, messages, _ = await run(turns([asks("w", {"n": n}, f"c{n}") for n in range(4)], "x"), tool("w", call=alone))
    assert [part.content for part in returns(messages)] == ["0: 1", "1: 1", "2: 1", "3: 1"]


async def test_a_stop_comes_through_and_ends_the_calls_beside_it() -> None:
    """Nothing of the turn goes on behind the step's back."""
    ended: list[str] = []
    begun = asyncio.Event()

    async def slow(_arguments: dict[str, Any]) -> ToolAnswer:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("slow")
        return ToolAnswer("")

    async def stops(_arguments: dict[str, Any]) -> ToolAnswer:
        from bot.errors import OperatorError

        await begun.wait()
        raise OperatorError("no")

    both = [asks("slow", {"n": 1}, "c1"), asks("stops", {"n": 1}, "c2")]
    with pytest.raises(Stop):
        await run(turns(both), tool("slow", call=slow, pure=True), tool("stops", call=stops, pure=True))
    assert ended == ["slow"]


async def test_without_tools_nothing_of_this_is_asked_of_a_model() -> None:
    """The agent is as it was before there were tools."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        assert info.function_tools == []
        return ModelResponse([TextPart("pong")])

    result = await sdk.agent(FunctionModel(answer), call()).run("ping")
    assert result.output == "pong"


async def test_what_is_kept_comes_back_as_it_was() -> None:
    """Messages, budgets, intents and episode, also with text that is no text."""
    output, messages, box = await run(turns([asks("double", {"n": 4})], "8"), tool(approval=True, budget=3))
    assert isinstance(output, DeferredToolRequests)
    box.standing.intents.append(Intent("close", {"reason": "completed"}, "close.1"))
    box.standing.episode.append(ToolCall("double", "done", "d", 1, 2, 0.5))
    box.standing.answered = 7
    box.standing.closed = True
    kept = Kept("openai:m", messages, box.standing, Usage(1, 2, 3, 0.5), 1.25)
    again = Kept.load(kept.dump())
    assert again.standing == box.standing
    assert (again.model, again.usage, again.seconds) == ("openai:m", Usage(1, 2, 3, 0.5), 1.25)
    assert list(again.messages) == messages
    assert awaiting(kept.dump()) == (Waiting("double.1", "c1", "double", {"n": 4}),)


@pytest.mark.parametrize(
    "raw", [b"\xff", b"null", b"7", b'{"version": 1, "standing": {}}', b'{"version": 1, "standing": 1}']
)
def test_what_is_no_conversation_is_lost(raw: bytes) -> None:
    """And says so in its own words, wherever it is read."""
    for read in (Kept.load, awaiting):
        with pytest.raises(Lost):
            read(raw)


async def test_another_version_is_lost_though_it_could_be_read() -> None:
    """Its words may mean something else by then."""
    _, messages, box = await run(turns([asks("double", {"n": 4})], "8"), tool(approval=True))
    raw = Kept("openai:m", messages, box.standing, Usage(), 0.0).dump()
    with pytest.raises(Lost, match="another version"):
        Kept.load(json.dumps({**json.loads(raw), "version": 2}).encode())


@pytest.mark.parametrize("text", ['{"a": "b"}', "a ``` b", "`````"])
def test_the_question_shows_the_arguments_whole_in_one_fence(text: str) -> None:
    """Whatever stands in them, they do not end it."""
    asked = question("coder", Waiting("t.1", "c", "deploy", {}), text)
    first, *middle, last = asked.show.splitlines()
    assert "\n".join(middle) == text
    assert first == f"{last}json"
    assert last not in text
    assert "`deploy`" in asked.question
    assert "`coder`" in asked.question
