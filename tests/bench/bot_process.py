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

from bot import __version__, log, webhook
from bot.app import open_bot
from bot.model.clock import SystemClock
from bot.serving import attach
from bot.settings import Settings, load
from bot.store import Store, open_store
from bot.store.inbox import StoreInbox
from bot.store.rest import unfinished
from bot.web.access import Access
from bot.web.server import Server
from tests.bench import child
from tests.bench.memory import resident_mb


@asynccontextmanager
async def _opened(app: FastAPI, settings: Settings, part: str) -> AsyncIterator[Store]:
    """Put the routes on `app`: those of the whole bot, or of what only takes deliveries."""
    async with AsyncExitStack() as stack:
        if part == "whole":
            bot = await stack.enter_async_context(open_bot(settings, environ={}))
            attach(app, bot)
            yield bot.store
            return
        store = open_store(settings.database)
        stack.push_async_callback(store.close)
        app.add_middleware(Access, password="")
        secrets = [secret.encode() for secret in settings.webhook_secrets]
        door = webhook.door(StoreInbox(store, SystemClock()), secrets=secrets, app_id=settings.app_id)
        app.include_router(webhook.route(door))
        app.add_middleware(webhook.Front, door=door)
        yield store


async def _main(part: str) -> None:
    settings, _ = load(os.environ, None)
    Path(settings.data_dir).mkdir(parents=True, exist_ok=True)
    app = FastAPI(title="Threadsmith", version=__version__)
    config = uvicorn.Config(
        app, port=settings.port, lifespan="off", log_config=None, access_log=False, proxy_headers=False,
        server_header=False,
    )  # fmt: skip
    async with _opened(app, settings, part) as store:
        server = Server(config, lambda port: child.tell({"port": port}))
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
