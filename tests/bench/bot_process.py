"""A bot, or its front door alone, as a process of its own that says what it has done when it is asked."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp

from bot import __version__, log, webhook
from bot.app import open_bot
from bot.model.clock import SystemClock
from bot.serving import attach, pass_over_made
from bot.settings import Settings, load
from bot.store import Store, open_store
from bot.store.inbox import StoreInbox
from bot.store.rest import unfinished
from bot.web.access import Access
from bot.web.server import Server, configured
from tests.bench import child
from tests.bench.memory import resident_mb


@asynccontextmanager
async def _opened(settings: Settings, part: str) -> AsyncIterator[tuple[Store, ASGIApp]]:
    """What is served: the whole bot, or what only takes deliveries."""
    app = FastAPI(title="Threadsmith", version=__version__)
    async with AsyncExitStack() as stack:
        if part == "whole":
            bot = await stack.enter_async_context(open_bot(settings, environ={}))
            yield bot.store, attach(app, bot)
            return
        store = open_store(settings.database)
        stack.push_async_callback(store.close)
        app.add_middleware(Access, password="")
        secrets = [secret.encode() for secret in settings.webhook_secrets]
        door = webhook.door(StoreInbox(store, SystemClock()), secrets=secrets, app_id=settings.app_id)
        app.include_router(webhook.route(door))
        yield store, webhook.Front(app, door)


async def _main(part: str) -> None:
    settings, _ = load(os.environ, None)
    Path(settings.data_dir).mkdir(parents=True, exist_ok=True)
    async with _opened(settings, part) as (store, app):
        server = Server(configured(app, "127.0.0.1", settings.port), lambda port: child.tell({"port": port}))
        pass_over_made()
        serving = asyncio.create_task(server.serve())

        async def answer(asked: dict[str, Any]) -> dict[str, Any]:
            return {
                "commits": store.commits,
                "resident_mb": resident_mb(os.getpid()),
                "open": await store.read(unfinished) if "open" in asked else None,
            }

        await child.serve(answer)
        server.should_exit = True
        await serving


if __name__ == "__main__":
    log.configure("error")
    with asyncio.Runner(loop_factory=uvicorn.Config(None).get_loop_factory()) as runner:  # type: ignore[arg-type]  # no application is needed to choose a loop
        runner.run(_main(sys.argv[1]))
