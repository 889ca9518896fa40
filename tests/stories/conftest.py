"""The stage that stories play on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.stage import Stage, open_stage

BOT_YML = """\
version: 1
agents:
  helper:
    description: Answers from what it sees.
    model: demo:helper
    prompt: You help with issues.
workflows:
  check:
    description: Runs the checks.
    steps:
      - id: check
        run: echo checked ${{ issue.number }} in $(ls)
        workspace: read
  fails:
    steps:
      - {id: boom, run: "echo last words >&2; exit 3"}
      - {id: never, run: "echo never"}
  two:
    steps:
      - {id: first, run: "printf first"}
      - id: second
        run: printf 'second after %s' "$FIRST"
        env: {FIRST: "${{ steps.first.output }}"}
"""


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """acme/widgets with one issue and a small roster."""
    async with open_stage(tmp_path, {".github/bot.yml": BOT_YML, "README.md": "# widgets\n"}) as opened:
        yield opened
