"""Budgets, bound arguments, approvals and repeated calls, without any model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.errors import Forbidden, NotFound, OperatorError, Transient, UserError
from bot.model.outcome import Intent
from bot.runners.arguments import arguments_digest
from bot.runners.tool import Bound, Tool, ToolAnswer
from bot.runners.toolbox import ANSWER_NOW, SHOWN_MAX, Reply, Stop, Toolbox, Waiting
from bot.workflows.paths import MISS

ANY = {"type": "object"}


@dataclass
class Box:
    """A toolbox with one tool or more, and what was really called."""

    seen: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def tool(self, name: str = "t", *, raises: Exception | None = None, **more: Any) -> Tool:
        async def run(arguments: dict[str, Any]) -> ToolAnswer:
            self.seen.append((name, arguments))
            if raises is not None:
                raise raises
            return ToolAnswer(f"{name} {len(self.seen)}")

        given = {"parameters": ANY, "call": run, **more}
        return Tool(name=name, description="", **given)

    def ran(self) -> list[dict[str, Any]]:
        return [arguments for _, arguments in self.seen]


def box(*tools: Tool, redact: Callable[[str], str] = str) -> Toolbox:
    """A toolbox of these tools."""
    return Toolbox(tools, redact)


async def reply(of: Toolbox, name: str = "t", **arguments: Any) -> Reply:
    """What the model is told of a call that waits for nobody."""
    told = await of.call("c", name, arguments)
    assert isinstance(told, Reply)
    return told


def hows(of: Toolbox) -> list[str]:
    """How each call went."""
    return [call.how for call in of.standing.episode]


def _same(value: Any) -> Any:
    return value


_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(_TEXT, _JSON, max_size=6), st.dictionaries(_TEXT, _JSON.filter(lambda v: v is not None)))
def test_arguments_that_are_not_bound_pass_through_byte_for_byte(sent: dict[str, Any], bound: dict[str, Any]) -> None:
    """Whatever a model composes; the bound ones are the engine's whatever it sends."""
    them = Box()
    as_sent = {key: json.dumps(value) for key, value in sent.items()}
    sets = {name: Bound(f"ctx.{n}", partial(_same, value)) for n, (name, value) in enumerate(bound.items())}
    asyncio.run(box(them.tool(bound=sets)).call("c", "t", sent))
    (got,) = them.ran()
    assert {key: json.dumps(value) for key, value in got.items() if key not in bound} == {
        key: text for key, text in as_sent.items() if key not in bound
    }
    assert [key for key in got if key not in bound] == [key for key in sent if key not in bound]
    assert {key: json.dumps(got[key]) for key in bound} == {key: json.dumps(value) for key, value in bound.items()}


async def test_bound_values_are_those_of_the_moment() -> None:
    """Read at each call, and before a repeated call is looked for."""
    them, value = Box(), ["one"]
    of = box(them.tool(bound={"id": Bound("ctx.id", lambda: value[0])}, pure=True))
    await reply(of, id="mine")
    await reply(of, id="another")
    value[0] = "two"
    await reply(of, id="mine")
    assert them.ran() == [{"id": "one"}, {"id": "two"}]
    assert hows(of) == ["done", "repeated", "done"]


@pytest.mark.parametrize("missing", [None, MISS])
async def test_a_missing_value_stops_the_step(missing: object) -> None:
    """Null is missing too; the message names tool, argument and path."""
    them = Box()
    of = box(them.tool(bound={"id": Bound("steps.audit.result.id", lambda: missing)}))
    with pytest.raises(Stop) as stop:
        await of.call("c", "t", {"id": "mine"})
    failed = stop.value.failed
    assert failed.code == "bound_missing"
    assert all(f"`{word}`" in failed.message for word in ("t", "id", "steps.audit.result.id"))
    assert them.seen == []


@pytest.mark.parametrize("value", [False, 0, "", [], {}])
async def test_what_is_falsy_is_a_value(value: object) -> None:
    """Only null and a path that leads nowhere are missing."""
    them = Box()
    await reply(box(them.tool(bound={"id": Bound("ctx.id", lambda: value)})))
    assert them.ran() == [{"id": value}]


async def test_a_bound_value_that_the_tool_does_not_take_stops_the_step() -> None:
    """The model could do nothing about it."""
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}}
    of = box(Box().tool(parameters=schema, bound={"id": Bound("ctx.id", lambda: "seven")}))
    with pytest.raises(Stop) as stop:
        await of.call("c", "t", {})
    assert stop.value.failed.code == "bound_mismatch"
    assert "ctx.id" in stop.value.failed.message


async def test_the_schema_is_held_against_the_whole() -> None:
    """A bound argument is required and set; the model is shown neither, and asked for nothing that it may not give."""
    schema = {"type": "object", "properties": {"id": {}, "q": {}}, "required": ["id", "q"]}
    them = Box()
    of = box(them.tool(parameters=schema, bound={"id": Bound("ctx.id", lambda: 7)}))
    ((_, shown),) = of.offered()
    assert shown == {"type": "object", "properties": {"q": {}}, "required": ["q"]}
    assert (await reply(of, q=1)).failed is False
    told = await reply(of)
    assert told.failed
    assert "'q'" in told.text
    assert hows(of) == ["done", "malformed"]


async def test_a_budget_counts_calls_that_fit() -> None:
    """Malformed ones are free; beyond it the model is told and nothing runs."""
    them = Box()
    of = box(them.tool(parameters={"type": "object", "required": ["a"]}, budget=2), them.tool("u"))
    await reply(of)
    await reply(of)
    for n in range(3):
        last = await reply(of, a=n)
    assert last.failed
    assert "may be called 2 times" in last.text
    assert them.ran() == [{"a": 0}, {"a": 1}]
    assert hows(of) == ["malformed", "malformed", "done", "done", "over_budget"]


async def test_a_budget_of_nothing_is_no_limit() -> None:
    """0 is the default."""
    them = Box()
    of = box(them.tool())
    for n in range(50):
        assert not (await reply(of, n=n)).failed
    assert len(of.offered()) == 1


async def test_spent_tools_go_together_and_an_answer_is_asked_for_once() -> None:
    """One that is spent stays while another has calls left; tools without a budget stay always."""
    them = Box()
    of = box(them.tool("a", budget=1), them.tool("b", budget=2), them.tool("free"))

    def names() -> list[str]:
        return [tool.name for tool, _ in of.offered()]

    assert (await reply(of, "a")).then == ""
    assert names() == ["a", "b", "free"]
    await reply(of, "b", n=1)
    assert (await reply(of, "b", n=2)).then == ANSWER_NOW
    assert names() == ["free"]
    assert (await reply(of, "free")).then == ""
    assert (await reply(of, "b", n=3)).then == ""


async def test_a_repeated_call_of_a_reading_tool_runs_once() -> None:
    """Alike whatever the order of the keys; another value is another call; it counts all the same."""
    them = Box()
    of = box(them.tool(pure=True, budget=9))
    first = await reply(of, a=1, b=[1, 2])
    again = await of.call("d", "t", {"b": [1, 2], "a": 1})
    assert again == first
    await reply(of, a=1, b=[2, 1])
    await reply(of, a=1.0, b=[1, 2])
    assert len(them.seen) == 3
    assert of.standing.spent == {"t": 4}
    assert hows(of) == ["done", "repeated", "done", "done"]


async def test_a_tool_that_writes_is_never_answered_from_before() -> None:
    """And what was read before it is read again."""
    them = Box()
    of = box(them.tool("read", pure=True), them.tool("write"))
    await reply(of, "read")
    await reply(of, "write")
    await reply(of, "write")
    await reply(of, "read")
    assert [name for name, _ in them.seen] == ["read", "write", "write", "read"]


async def test_a_failed_answer_is_not_given_again() -> None:
    """It may go better the next time."""
    them = Box()
    of = box(them.tool(pure=True, raises=Transient("busy")))
    await reply(of)
    await reply(of)
    assert len(them.seen) == 2
    assert hows(of) == ["failed", "failed"]


@pytest.mark.parametrize(
    "error", [UserError("x", "no such thing", "look"), Transient("no such thing"), NotFound("no such thing")]
)
async def test_what_a_tool_could_not_do_is_told_to_the_model(error: Exception) -> None:
    """It is no failure of the step."""
    told = await reply(box(Box().tool(raises=error)))
    assert told.failed
    assert "no such thing" in told.text


async def test_what_the_instance_cannot_do_ends_the_step() -> None:
    """With the mend for its operator."""
    of = box(Box().tool(raises=OperatorError("no isolation", "install it")))
    with pytest.raises(Stop) as stop:
        await of.call("c", "t", {})
    assert (stop.value.failed.code, stop.value.failed.hint) == ("not_possible_here", "install it")


@pytest.mark.parametrize("raises", [None, UserError("x", "token s3cret"), Forbidden("token s3cret")])
async def test_nothing_secret_reaches_the_model(raises: Exception | None) -> None:
    """Answers, errors, and what is said of malformed arguments."""

    async def leak(_arguments: dict[str, Any]) -> ToolAnswer:
        return ToolAnswer("token s3cret")

    more: dict[str, Any] = {} if raises else {"call": leak}
    of = box(Box().tool(raises=raises, **more), redact=lambda text: text.replace("s3cret", "***"))
    assert (await reply(of)).text.strip() == "token ***"
    assert "s3cret" not in of.malformed("t", 1, "token s3cret")


async def test_a_long_answer_is_cut_with_a_mark() -> None:
    """Head and tail stay; the secret is gone before the cut could halve it."""

    async def long(_arguments: dict[str, Any]) -> ToolAnswer:
        return ToolAnswer("a" * 45 + "s3cret" + "b" * 400 + "z")

    of = box(Box().tool(call=long, max_bytes=100), redact=lambda text: text.replace("s3cret", "******"))
    told = (await reply(of)).text
    assert told.startswith("aaa")
    assert told.endswith("bz")
    assert "bytes cut" in told
    assert "s3c" not in told


async def test_an_approval_waits_with_the_whole_arguments() -> None:
    """What a person saw is what runs, also where the bound value changes meanwhile."""
    them, value = Box(), [7]
    of = box(them.tool(approval=True, budget=1, bound={"id": Bound("ctx.id", lambda: value[0])}))
    waiting = await of.call("c1", "t", {"q": "x", "id": 1})
    assert isinstance(waiting, Waiting)
    assert waiting.arguments == {"q": "x", "id": 7}
    assert them.seen == []
    assert of.standing.undecided == [waiting]
    assert len(of.offered()) == 1, "it has to be there to be called again"
    value[0] = 8
    of.decide({waiting.id: True, "other": True})
    assert of.standing.undecided == []
    told = await of.call("c1", "t", {"q": "x", "id": 1})
    assert isinstance(told, Reply)
    assert told.then == ANSWER_NOW
    assert them.ran() == [{"q": "x", "id": 7}]
    assert of.offered() == []


@pytest.mark.parametrize("refusal", [False, "", "not on Friday"])
async def test_a_refusal_is_told_and_counts(refusal: bool | str) -> None:
    """Nobody is asked more often than the budget says."""
    them = Box()
    of = box(them.tool(approval=True, budget=1))
    waiting = await of.call("c1", "t", {})
    assert isinstance(waiting, Waiting)
    of.decide({waiting.id: refusal})
    told = await of.call("c1", "t", {})
    assert isinstance(told, Reply)
    assert told.failed
    assert str(refusal or "refused") in told.text
    assert them.seen == []
    assert hows(of) == ["refused"]
    assert (await reply(of)).failed
    assert hows(of) == ["refused", "over_budget"]


async def test_an_old_approval_fits_no_later_call() -> None:
    """Providers may use the id of a call again."""
    of = box(Box().tool(approval=True))
    first = await of.call("c1", "t", {})
    assert isinstance(first, Waiting)
    of.decide({first.id: True})
    await of.call("c1", "t", {})
    second = await of.call("c1", "t", {"other": 1})
    assert isinstance(second, Waiting)
    of.decide({first.id: True})
    assert of.standing.undecided == [second]


async def test_what_no_person_can_be_shown_is_not_asked() -> None:
    """Nothing is approved that was cut."""
    of = box(Box().tool(approval=True))
    told = await of.call("c1", "t", {"text": "x" * SHOWN_MAX})
    assert isinstance(told, Reply)
    assert told.failed
    assert of.standing.waiting == []
    assert hows(of) == ["malformed"]


async def test_intents_are_kept_and_named_apart() -> None:
    """Two of one kind are two."""

    async def record(arguments: dict[str, Any]) -> ToolAnswer:
        return ToolAnswer("will be", intents=(Intent("labels", arguments),))

    of = box(Box().tool("label", call=record))
    await reply(of, "label", add=["a"])
    await reply(of, "label", add=["b"])
    assert [(one.name, one.payload) for one in of.standing.intents] == [
        ("label.1", {"add": ["a"]}),
        ("label.2", {"add": ["b"]}),
    ]


async def test_the_episode_says_what_was_called_and_how_large() -> None:
    """The digest is of the arguments that ran; the values themselves are not in it."""
    of = box(Box().tool(bound={"id": Bound("ctx.id", lambda: "é")}))
    told = await reply(of, q=1)
    (call,) = of.standing.episode
    assert call.tool == "t"
    assert call.digest == arguments_digest({"id": "é", "q": 1})
    assert call.arguments_bytes == len('{"id":"é","q":1}'.encode())
    assert call.answer_bytes == len(told.text)


async def test_what_a_tool_does_with_its_arguments_changes_no_record() -> None:
    """It gets a copy."""

    async def spoil(arguments: dict[str, Any]) -> ToolAnswer:
        arguments.clear()
        return ToolAnswer("")

    of = box(Box().tool(call=spoil))
    await reply(of, q=1)
    assert of.standing.episode[0].digest == arguments_digest({"q": 1})


def test_a_schema_that_cannot_be_used_stops_before_any_call() -> None:
    """The tool is named."""
    with pytest.raises(Stop) as stop:
        box(Box().tool("odd", parameters={"type": "objekt"}))
    assert stop.value.failed.code == "tool_schema"
    assert "`odd`" in stop.value.failed.message
