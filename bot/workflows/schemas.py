"""JSON Schemas of both kinds of file, for editors: made from the models, so that they cannot say anything else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bot.workflows.bot_file import BotFile
from bot.workflows.node import Node
from bot.workflows.workflow import Workflow

#: by the kind of file: `bot` is `.github/bot.yml`, `workflow` one of `.github/bot/workflows/*.yml`
KINDS: Mapping[str, type[Node]] = {"bot": BotFile, "workflow": Workflow}


def json_schema(kind: str) -> str:
    """The schema's text for a kind of file. Raises KeyError for another kind."""
    model = KINDS[kind]
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Threadsmith {kind} file",
        **_tidy(model.model_json_schema()),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _tidy(value: Any) -> Any:
    """Without pydantic's titles, and with durations as they are written."""
    if isinstance(value, list):
        return [_tidy(one) for one in value]
    if not isinstance(value, dict):
        return value
    # a key `title` whose value is a mapping would be a property of that name
    tidied = {key: _tidy(one) for key, one in value.items() if key != "title" or not isinstance(one, str)}
    default = tidied.get("default")
    if tidied.get("type") == "string" and isinstance(default, float):
        tidied["default"] = f"{default:g}s"
    if isinstance(tidied.get("description"), str):
        tidied["description"] = tidied["description"].partition("\n")[0]
    return tidied
