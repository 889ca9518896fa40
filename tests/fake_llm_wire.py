"""Answers of `tests.fake_llm` in the three protocols, whole and streamed.

Shapes after the providers' API references: Chat Completions, Responses and Messages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, Self

_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


@dataclass(frozen=True, slots=True)
class Tool:
    """A call of a tool that the model asks for."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


class Answer(Protocol):
    """The part of a scripted reply that goes on the wire."""

    @property
    def text(self) -> str: ...
    @property
    def tools(self) -> tuple[Tool, ...]: ...
    @property
    def input_tokens(self) -> int: ...
    @property
    def output_tokens(self) -> int: ...
    @property
    def uncounted(self) -> bool: ...
    @property
    def finish(self) -> str: ...


class Dialect(Enum):
    """A protocol, known by the end of its path."""

    CHAT = "/chat/completions"
    RESPONSES = "/responses"
    MESSAGES = "/messages"

    @classmethod
    def of(cls, path: str) -> Self | None:
        """The protocol of a path, None if it is none of them."""
        return next((one for one in cls if path.endswith(one.value)), None)


def error_json(dialect: Dialect, status: int, code: str | None, kind: str | None, message: str) -> dict[str, Any]:
    """An error body as the provider words it."""
    kind = kind or _ERROR_TYPES.get(status, "api_error")
    message = message or f"fake {status}"
    if dialect is Dialect.MESSAGES:
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_fake"}
    return {"error": {"type": kind, "message": message, "code": code, "param": None}}


def as_json(dialect: Dialect, model: str, answer: Answer) -> dict[str, Any]:
    """A whole answer."""
    return {Dialect.CHAT: _chat, Dialect.RESPONSES: _response, Dialect.MESSAGES: _message}[dialect](model, answer)


def as_events(dialect: Dialect, model: str, answer: Answer) -> Iterator[dict[str, Any] | str]:
    """The same answer as server-sent events."""
    if dialect is Dialect.CHAT:
        return _chat_events(_chat(model, answer))
    if dialect is Dialect.RESPONSES:
        return _response_events(_response(model, answer))
    return _message_events(_message(model, answer))


def _chat(model: str, answer: Answer) -> dict[str, Any]:
    calls = [
        {"id": f"call_{n}", "type": "function", "function": {"name": t.name, "arguments": json.dumps(t.arguments)}}
        for n, t in enumerate(answer.tools)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if calls:
        message["tool_calls"] = calls
    finish = answer.finish or ("tool_calls" if calls else "stop")
    out: dict[str, Any] = {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
    }
    if not answer.uncounted:
        out["usage"] = {
            "prompt_tokens": answer.input_tokens,
            "completion_tokens": answer.output_tokens,
            "total_tokens": answer.input_tokens + answer.output_tokens,
        }
    return out


def _chat_events(whole: dict[str, Any]) -> Iterator[dict[str, Any] | str]:
    base = {**{k: whole[k] for k in ("id", "created", "model")}, "object": "chat.completion.chunk"}
    choice = whole["choices"][0]
    message = choice["message"]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in _pieces(message["content"] or "")]
    deltas += [{"tool_calls": [{"index": n, **call}]} for n, call in enumerate(message.get("tool_calls", []))]
    for delta in deltas:
        yield {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    if "usage" in whole:
        yield {**base, "choices": [], "usage": whole["usage"]}
    yield "[DONE]"


def _message(model: str, answer: Answer) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
    content += [
        {"type": "tool_use", "id": f"toolu_{n}", "name": t.name, "input": t.arguments}
        for n, t in enumerate(answer.tools)
    ]
    stops = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal", "tool_calls": "tool_use"}
    return {
        "id": "msg_fake",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stops[answer.finish or ("tool_calls" if answer.tools else "stop")],
        "stop_sequence": None,
        "usage": {"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens},
    }


def _message_events(whole: dict[str, Any]) -> Iterator[dict[str, Any] | str]:
    usage = {**whole["usage"], "output_tokens": 1}
    yield {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None, "usage": usage}}
    for index, part in enumerate(whole["content"]):
        if part["type"] == "text":
            empty: dict[str, Any] = {"type": "text", "text": ""}
            deltas: list[dict[str, Any]] = [{"type": "text_delta", "text": piece} for piece in _pieces(part["text"])]
        else:
            empty = {**part, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(part["input"])}]
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": whole["usage"]["output_tokens"]}}
    yield {"type": "message_stop"}


def _response(model: str, answer: Answer) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if answer.text:
        part = {"type": "output_text", "text": answer.text, "annotations": []}
        output.append(
            {"type": "message", "id": "msg_fake", "role": "assistant", "status": "completed", "content": [part]}
        )
    output += [
        {
            "type": "function_call",
            "id": f"fc_{n}",
            "call_id": f"call_{n}",
            "name": t.name,
            "arguments": json.dumps(t.arguments),
            "status": "completed",
        }
        for n, t in enumerate(answer.tools)
    ]
    reasons = {"length": "max_output_tokens", "content_filter": "content_filter"}
    reason = reasons.get(answer.finish)
    return {
        "id": "resp_fake",
        "object": "response",
        "created_at": 1,
        "status": "incomplete" if reason else "completed",
        "model": model,
        "output": output,
        "usage": {
            "input_tokens": answer.input_tokens,
            "output_tokens": answer.output_tokens,
            "total_tokens": answer.input_tokens + answer.output_tokens,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "instructions": None,
        "metadata": {},
        "temperature": 1.0,
        "top_p": 1.0,
    }


def _response_events(whole: dict[str, Any]) -> Iterator[dict[str, Any] | str]:
    count = 0

    def event(kind: str, **fields: object) -> dict[str, Any]:
        nonlocal count
        count += 1
        return {"type": kind, "sequence_number": count, **fields}

    yield event("response.created", response={**whole, "status": "in_progress", "output": [], "usage": None})
    for index, item in enumerate(whole["output"]):
        at: dict[str, Any] = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "message":
            text = item["content"][0]["text"]
            within = {**at, "content_index": 0}
            empty = {"type": "output_text", "text": "", "annotations": []}
            yield event("response.output_item.added", output_index=index, item={**item, "content": []})
            yield event("response.content_part.added", **within, part=empty)
            for piece in _pieces(text):
                yield event("response.output_text.delta", **within, delta=piece, logprobs=[])
            yield event("response.output_text.done", **within, text=text, logprobs=[])
        else:
            arguments = item["arguments"]
            yield event("response.output_item.added", output_index=index, item={**item, "arguments": ""})
            yield event("response.function_call_arguments.delta", **at, delta=arguments)
            yield event("response.function_call_arguments.done", **at, arguments=arguments, name=item["name"])
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.incomplete" if whole["incomplete_details"] else "response.completed", response=whole)


def _pieces(text: str, size: int = 8) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]
