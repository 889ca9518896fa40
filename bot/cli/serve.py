"""`threadsmith serve` and `threadsmith worker`: a process that takes deliveries, works on them, or both."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.console import err, settings
from bot.errors import OperatorError
from bot.serving import Listening
from bot.serving import serve as serve_bot
from bot.settings import Settings, missing_to_serve, unknown


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on (BOT_HOST).")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="Port to listen on (BOT_PORT).")] = None,
    no_worker: Annotated[
        bool, typer.Option("--no-worker", help="Take deliveries and answer the API; leave the work to `worker`s.")
    ] = False,
) -> None:
    """Take deliveries and work on them until stopped."""
    found = _found(delivered=True)
    at = host or found.host
    serve_bot(
        found,
        at=Listening(
            at,
            port if port is not None else found.port,
            lambda bound: err(f"threadsmith listens on http://{at}:{bound} (webhook: /webhook)"),
        ),
        part="receiver" if no_worker else "serve",
        environ=os.environ,
    )


def work(
    health_port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Answer /healthz, /readyz and /metrics there, on BOT_HOST; else nothing."),
    ] = None,
) -> None:
    """Work on what `serve` processes of the same PostgreSQL database took in, until stopped."""
    found = _found(delivered=False)
    at = None
    if health_port is not None:
        at = Listening(
            found.host,
            health_port,
            lambda bound: err(f"health on http://{found.host}:{bound}/readyz"),
            "set BOT_HOST and --health-port to what is free here",
        )
    serve_bot(found, at=at, part="worker", environ=os.environ, ready=lambda: err("threadsmith works"))


def _found(*, delivered: bool) -> Settings:
    found, _ = settings(level="info")
    for odd in unknown(os.environ, Path(".env")):
        err(odd)
    if missing := missing_to_serve(found, delivered=delivered):
        raise OperatorError(
            f"not started: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set",
            "set them in the environment or in `.env`; `threadsmith doctor` shows every setting",
        )
    return found
