"""`threadsmith serve` as a process of its own, with looks for unsure comments that a test can wait for.

`python -m tests.faults.serve [serve|receiver|worker]`; a worker listens too, for its health.
"""

from __future__ import annotations

import os
import sys
from typing import cast

from bot.app import Part
from bot.serving import Listening, serve
from bot.settings import load


def main() -> None:
    """Settings come from the environment, as for the real command."""
    settings, _ = load(os.environ, None)
    part = cast("Part", sys.argv[1]) if len(sys.argv) > 1 else "serve"
    at = Listening("127.0.0.1", settings.port, lambda _port: None)
    serve(settings, at=at, part=part, environ={}, look_at=(0.2, 0.4, 0.8))


if __name__ == "__main__":
    main()
