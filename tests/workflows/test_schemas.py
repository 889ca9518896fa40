"""The JSON Schemas say what the models say."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from bot.workflows import builtin_files
from bot.workflows.findings import Findings
from bot.workflows.loader import load
from bot.workflows.schemas import json_schema
from tests.generated import ROOT
from tests.workflows.test_configuration import FULL, SMALLEST

EXAMPLES = sorted((ROOT / "config" / "examples").glob("*.yml"))


def data(text: str) -> Any:
    document = load("x.yml", text, Findings())
    assert document is not None
    return document.data


def errors(kind: str, instance: Any) -> list[str]:
    schema = json.loads(json_schema(kind))
    jsonschema.Draft202012Validator.check_schema(schema)
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(instance)]


@pytest.mark.parametrize("text", [SMALLEST, FULL, *(path.read_text() for path in EXAMPLES)])
def test_files_that_load_fit_the_schema(text: str) -> None:
    """An editor shows no error in a file that the bot takes."""
    assert errors("bot", data(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "{version: 2}",
        "{}",
        "{version: 1, agnets: {}}",
        "{version: 1, agents: {a: {modle: x}}}",
        "{version: 1, agents: {A: {model: 'demo:x'}}, workflows: {w: {steps: [{id: a}]}}}",
        "{version: 1, workflows: {w: {steps: [{id: a, run: x, agent: y}]}}}",
        "{version: 1, workflows: {w: {steps: [{id: a, run: x, timeout: 5}]}}}",
        "{version: 1, workflows: {w: {steps: []}}}",
        "{version: 1, workspace: {network: all}}",
        "{version: 1, trigger_role: none}",
    ],
)
def test_files_that_do_not_load_do_not_fit(text: str) -> None:
    """What is refused by shape is underlined in an editor."""
    assert errors("bot", data(text))


def test_a_workflow_file_has_a_schema_of_its_own() -> None:
    """The same shape as an inline workflow."""
    assert errors("workflow", {"name": "x", "steps": [{"id": "a", "run": "date"}]}) == []
    assert errors("workflow", {"version": 1})


def test_durations_have_defaults_as_they_are_written() -> None:
    """A default of 60 seconds reads `60s`."""
    schema = json.loads(json_schema("workflow"))
    assert schema["$defs"]["ExecInput"]["properties"]["timeout"]["default"] == "60s"


def test_every_key_says_what_it_is_for() -> None:
    """Editors show a description beside each key."""
    for kind in ("bot", "workflow"):
        schema = json.loads(json_schema(kind))
        for model in (schema, *schema["$defs"].values()):
            for name, one in model.get("properties", {}).items():
                assert one.get("description"), (kind, name)


def test_the_builtin_file_fits_but_for_its_model() -> None:
    """The product's own file is held to the same schema."""
    assert errors("bot", data(builtin_files()["bot.yml"])) == []
