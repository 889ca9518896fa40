"""Stories in which a model calls tools: a scripted provider, and the operator who answers over the API."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from bot.app import Bot
from bot.serving import attach
from tests.fake_llm import FakeLLM, Reply, Request
from tests.fake_llm_wire import Tool
from tests.stage import Stage, open_stage

MODEL = "openai-chat:gpt-5-mini"
KEY = "sk-of-the-tests-0123456789"


def calls(name: str, **arguments: Any) -> Reply:
    """A turn of the model that calls one tool."""
    return Reply("", tools=(Tool(name, arguments),))


def agent(tools: str, more: str = "", *, model: str = MODEL, prompt: str = "You help.") -> str:
    """A configuration with one agent `helper` and what follows."""
    return f'version: 1\nagents:\n  helper: {{model: "{model}", prompt: {prompt}, tools: {tools}}}\n{more}'


def offered(request: Request) -> dict[str, Any]:
    """The tools that a request offers: of each the schema of its arguments."""
    return {tool["function"]["name"]: tool["function"]["parameters"] for tool in request.body.get("tools") or ()}


def told(request: Request) -> list[str]:
    """What the tools answered so far."""
    return [str(one["content"]) for one in request.body["messages"] if one["role"] == "tool"]


@contextmanager
def provider(*replies: Reply) -> Iterator[FakeLLM]:
    """A scripted provider."""
    with FakeLLM() as fake:
        fake.script(*replies)
        yield fake


@asynccontextmanager
async def stage_with(
    tmp_path: Path, fake: FakeLLM, files: str | dict[str, str], **overrides: Any
) -> AsyncIterator[Stage]:
    """A stage whose models are the provider's."""
    given = {".github/bot.yml": files} if isinstance(files, str) else files
    async with open_stage(tmp_path, given, openai_url=fake.openai_url, openai_key=KEY, **overrides) as stage:
        yield stage


@asynccontextmanager
async def operator(bot: Bot) -> AsyncIterator[httpx.AsyncClient]:
    """Whoever runs the bot, at its API."""
    front = FastAPI()
    attach(front, bot)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(front), base_url="http://localhost") as client:
        yield client


async def open_gates(client: httpx.AsyncClient) -> list[dict[str, Any]]:
    """The gates that wait for an answer, oldest first."""
    found = (await client.get("/api/gates", params={"state": "open"})).json()["items"]
    return sorted(found, key=lambda one: str(one["id"]))


async def answer(client: httpx.AsyncClient, gate: dict[str, Any], option: str, text: str = "") -> None:
    """Answer one."""
    given = {"answer": option} | ({"text": text} if text else {})
    response = await client.post(f"/api/gates/{gate['id']}/answer", json=given)
    assert response.status_code == 200, response.text


def dumped(request: Request) -> str:
    """A request as text."""
    return json.dumps(request.body)
