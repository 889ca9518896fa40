"""`threadsmith serve` as a process of its own, with looks for unsure comments that a test can wait for."""

from __future__ import annotations

import os

from bot.app import serve
from bot.settings import load


def main() -> None:
    """Settings come from the environment, as for the real command."""
    settings, _ = load(os.environ, None)
    serve(
        settings,
        host="127.0.0.1",
        port=settings.port,
        listens=lambda _port: None,
        environ={},
        look_at=(0.2, 0.4, 0.8),
    )


if __name__ == "__main__":
    main()
