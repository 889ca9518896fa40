"""`threadsmith serve`: the front door, intake, workers and outbox in one process."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from bot.app import serve as serve_bot
from bot.cli.console import err, settings
from bot.errors import OperatorError
from bot.settings import missing_to_serve


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on (BOT_HOST).")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port to listen on (BOT_PORT).")] = None,
) -> None:
    """Take deliveries and work on them until stopped."""
    found, _ = settings()
    if missing := missing_to_serve(found):
        raise OperatorError(
            f"not started: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set",
            "set them in the environment or in `.env`; `threadsmith doctor` shows every setting",
        )
    at = host or found.host
    serve_bot(
        found,
        host=at,
        port=port if port is not None else found.port,
        listens=lambda bound: err(f"threadsmith listens on http://{at}:{bound} (webhook: /webhook)"),
        environ=os.environ,
    )
