"""`threadsmith serve`: the front door, intake, workers and outbox in one process."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from bot.cli.console import console, settings
from bot.errors import OperatorError
from bot.settings import missing_to_serve


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on (BOT_HOST).")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on (BOT_PORT).")] = None,
) -> None:
    """Take deliveries and work on them until stopped."""
    found, _ = settings()
    if missing := missing_to_serve(found):
        raise OperatorError(
            f"not started: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set",
            "set them in the environment or in `.env`; `threadsmith doctor` shows every setting",
        )
    import uvicorn

    from bot.app import serve_app

    at = host or found.host, port if port is not None else found.port
    console(stderr=True).print(f"threadsmith listens on http://{at[0]}:{at[1]} (webhook: /webhook)")
    uvicorn.run(
        serve_app(found, environ=os.environ),
        host=at[0],
        port=at[1],
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=10,
        # a forwarding header is believed from nobody: signatures, not addresses, decide here
        proxy_headers=False,
        server_header=False,
    )
