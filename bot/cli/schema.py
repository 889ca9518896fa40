"""`threadsmith schema`: the JSON Schemas of both kinds of file, for editors and other programs."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from bot.cli.console import err, out
from bot.workflows.schemas import json_schema


class Kind(StrEnum):
    BOT = "bot"
    WORKFLOW = "workflow"


def schema(
    kind: Annotated[Kind, typer.Argument(help="`bot`: a bot.yml; `workflow`: a file below .github/bot/workflows/.")] = (
        Kind.BOT
    ),
) -> None:
    """Print the JSON Schema of a kind of file; an editor that has it completes and explains the keys."""
    out(json_schema(kind).rstrip("\n"))
    err(
        f"save it as {kind}.schema.json; editors with the YAML language server read it where the file's first line is"
        f" `# yaml-language-server: $schema=<path or address of {kind}.schema.json>`"
    )
