"""`threadsmith simulate`: a walk through a workflow in which nothing is called, to see where it leads."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from bot.cli import given as on_the_line
from bot.cli.console import err, out
from bot.cli.files import read_files, repository_of
from bot.cli.local import ThreadFile, rows
from bot.cli.simulation import Answers, Endless, as_json, as_text, made_up_thread, walk
from bot.cli.simulation.happened import OF_PULLS, chosen_trigger, event_fields
from bot.errors import ConfigurationError, UserError
from bot.workflows import Configuration, Workflow, bind, builtin_files, check
from bot.workflows.configuration import BOT_FILE
from bot.workflows.extends import below
from bot.workflows.report import FORMATS
from bot.workflows.signature import Declared

_TEXTS: Mapping[str, Any] = {"text": "example", "number": 1, "bool": True, "file": "example.txt", "secret": "EXAMPLE"}


class Format(StrEnum):
    TEXT = "text"
    JSON = "json"


def simulate(
    workflow: Annotated[str, typer.Argument(help="Agent or workflow of the configuration.")],
    config: Annotated[Path, typer.Option(help="A repository, its .github, or a file of it.", exists=True)] = Path(),
    thread: Annotated[Path | None, typer.Option(help="A thread as for `run`; a short one is made up without.")] = None,
    answers: Annotated[Path | None, typer.Option(help="What steps come to: YAML or JSON by step.")] = None,
    param: Annotated[list[str] | None, typer.Option(help="key=value, repeatable.")] = None,
    given: Annotated[list[str] | None, typer.Option("--input", help="key=value, repeatable.")] = None,
    base: Annotated[
        Path | None, typer.Option(help="A checkout of the repository that `extends` names.", exists=True)
    ] = None,
    trigger: Annotated[str | None, typer.Option(help="What starts it: `labeled`, …; a mention without.")] = None,
    format_: Annotated[Format, typer.Option("--format", help="How the walk is printed.")] = Format.TEXT,
) -> None:
    """Walk through a workflow without calling anything: prompt sizes, routes, gates, what is not reached."""
    files, configuration = _checked(config, base)
    chosen = configuration.workflow_for(workflow)
    if chosen is None:
        known = ", ".join(configuration.names())
        message = f"`{workflow}` is neither an agent nor a workflow here"
        raise UserError("unknown_workflow", message, f"there are: {known}")
    started_by = chosen_trigger(chosen, trigger)
    pull = started_by in OF_PULLS
    file = ThreadFile.read(thread) if thread is not None else made_up_thread(chosen, pull=pull)
    inputs, assumed = bound_inputs(on_the_line.words(given or ()), chosen)
    params = on_the_line.params(param or (), chosen)
    event = event_fields(chosen, started_by)
    made = rows(file, workflow, params, files, inputs, file.newest + timedelta(hours=1), event)
    said = Answers.read(answers) if answers is not None else Answers()
    try:
        report = asyncio.run(walk(configuration, chosen, made, file, said, repository_of(config)))
    except Endless as error:
        err(str(error))
        raise typer.Exit(1) from error
    report.assumed = assumed
    out(as_json(report) if format_ is Format.JSON else as_text(report))


def _checked(config: Path, base: Path | None) -> tuple[Mapping[str, str], Configuration]:
    """Files and configuration after every check that `validate` makes; warnings are told. Raises with errors."""
    files, findings = read_files(config)
    if base is not None:
        under, odd = read_files(base)
        files, findings = below(files, under, BOT_FILE), [*findings, *odd]
    configuration, found = check(files, builtin_files())
    errors = [one for one in (*findings, *found) if one.severity == "error"]
    if configuration is None or errors:
        raise ConfigurationError(errors)
    if found:
        err(FORMATS["text"](found).rstrip("\n"))
    return files, configuration


def bound_inputs(given: Mapping[str, str], workflow: Workflow) -> tuple[Mapping[str, Any], dict[str, str]]:
    """The bound inputs, and those that were made up because a run needs them and nobody gave them."""
    lacking = {one.name for one in bind(workflow.inputs, given).violations if one.kind == "missing_required"}
    assumed = {name: _made_up(workflow.inputs[name]) for name in workflow.inputs if name in lacking}
    bound = bind(workflow.inputs, {**assumed, **given})
    if bound.violations:
        told = "; ".join(f"{each.kind}: {each.message}" for each in bound.violations)
        hint = f"Give it: `--input {bound.violations[0].name}=…`."
        raise UserError(bound.violations[0].kind, told, hint)
    return bound.values, {f"inputs.{name}": str(value) for name, value in assumed.items()}


def _made_up(declared: Declared) -> Any:
    if declared.type == "enum":
        return declared.options[0]
    if declared.type == "number":
        return declared.min if declared.min is not None else min(1, declared.max if declared.max is not None else 1)
    if declared.type == "file" and declared.accept and declared.accept[0].startswith("."):
        return f"example{declared.accept[0]}"
    value = _TEXTS[declared.type]
    return value[: declared.max_length] if isinstance(value, str) and declared.max_length else value
