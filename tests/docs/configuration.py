"""Tables of the YAML's keys, from the models that check it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from bot.workflows import AgentStep, BotFile, EndStep, RunStep, SwitchStep, Workflow
from bot.workflows.agent import Agent, Budget, Retry
from bot.workflows.bot_file import (
    ActorLimits,
    DayLimits,
    History,
    Limits,
    Publish,
    RepositoryLimits,
    RunLimits,
    Workspace,
)
from bot.workflows.defaults import Defaults
from bot.workflows.modifiers import KINDS, MODIFIERS
from bot.workflows.node import Node
from bot.workflows.resources import Resource
from bot.workflows.result import Result
from bot.workflows.result_fields import ResultField
from bot.workflows.routing import Case, Loop, Rework, Verdict
from bot.workflows.signature import Declared
from bot.workflows.slots import Slot
from bot.workflows.step import STEP_TYPES, Ending, ExecInput
from tests.docs.markdown import codes, table

#: words for a reference to another table
_LINKS: Mapping[str, str] = {
    "Agent": "[agent](#an-agent)",
    "Workflow": "[workflow](#a-workflow)",
    "AgentStep": "[`agent` step](#a-step-of-kind-agent)",
    "RunStep": "[`run` step](#a-step-of-kind-run)",
    "SwitchStep": "[`switch` step](#a-step-of-kind-switch)",
    "EndStep": "[`end` step](#a-step-of-kind-end)",
    "Ending": "`{outcome: success, message: …}`",
    "Result": "[result](#results)",
    "ResultField": "[field](#results)",
    "Case": "`{when, to}`",
    "Loop": "[loop](#order-and-routing)",
    "Rework": "[rework](#order-and-routing)",
    "Verdict": "`{verdict: path, cases: […]}`",
    "Resource": "[resource](#resources)",
    "Declared": "[input](#the-inputs-of-a-run)",
    "ExecInput": "[exec input](#an-exec-input)",
    "Budget": "[budget](#budgets-retries-defaults)",
    "Retry": "[retry](#budgets-retries-defaults)",
    "Defaults": "[defaults](#budgets-retries-defaults)",
    "Runner": "`{exec: [program, argument, …]}`",
    "Triggers": "`{mention: true}`",
    "History": "[history](#history-publish-workspace)",
    "Publish": "[publish](#history-publish-workspace)",
    "Workspace": "[workspace](#history-publish-workspace)",
    "Limits": "[limits](#limits)",
    "RunLimits": "amounts, see below",
    "ActorLimits": "amounts, see below",
    "RepositoryLimits": "amounts, see below",
    "DayLimits": "amounts, see below",
}


def keys(*models: type[Node]) -> str:
    """One table for the keys of one or several models; of several, each key is led by its owner's noun."""
    rows = []
    for model in models:
        schema = model.model_json_schema()
        if "$ref" in schema:  # a model that holds itself
            schema = schema["$defs"][model.__name__]
        needed = set(schema.get("required", ()))
        for name, one in schema["properties"].items():
            field = next(field for key, field in model.model_fields.items() if name in (key, field.alias))
            default = "**required**" if name in needed else _default(one)
            shown = f"`{name}`" if len(models) == 1 else f"{_owner(model)} `{name}`"
            rows.append((shown, _value(one), default, str(field.description or "")))
    return table(("key", "value", "default", "meaning"), rows)


def _owner(model: type[Node]) -> str:
    owners = {ActorLimits: "per_actor_day", RepositoryLimits: "per_repo_day", DayLimits: "per_issue_day"}
    return f"`{owners[model]}`:" if model in owners else f"{model.NOUN}:"


def _value(schema: Mapping[str, Any]) -> str:
    """What may be written, in words."""
    match schema:
        case {"$ref": ref}:
            return _LINKS[str(ref).rpartition("/")[2]]
        case {"anyOf": options} | {"oneOf": options}:
            return " or ".join(_value(one) for one in options if one.get("type") != "null")
        case {"enum": options}:
            return codes(str(option) for option in options)
        case {"const": only}:
            return f"`{only}`"
        case {"type": "array", "items": items}:
            return f"list of {_value(items)}"
        case {"type": "object", "patternProperties": entries}:
            (inner,) = entries.values()
            return f"mapping of {_value(inner)}"
        case {"type": "object", "additionalProperties": inner}:
            return f"mapping of {_value(inner)}"
        case {"type": "string", "pattern": pattern} if "result" in str(pattern):
            return "path"
        case {"type": "string", "pattern": pattern} if "[smhd]" in str(pattern):
            return "duration"
        case {"type": "string", "pattern": pattern} if ":(" in str(pattern):
            return "`provider:name`"
        case {"type": "string", "pattern": "^https?://"}:
            return "URL"
        case {"type": "string", "pattern": pattern} if "github@" in str(pattern):
            return "`owner/.github@ref`"
        case {"type": "string", "pattern": pattern} if "[0-9]{1,5}" in str(pattern):
            return "host"
        case {"type": "string", "pattern": pattern} if str(pattern).startswith("^@"):
            return "handle"
        case {"type": "string", "pattern": _}:
            return "name"
        case {"type": ["string", "null"]}:
            return "text or nothing"
        case {"type": ["string", "number", "boolean"]}:
            return "text, number, `true` or `false`"
        case {"type": kind}:
            words = {"string": "text", "integer": "whole number", "number": "number", "boolean": "`true`, `false`"}
            return words[str(kind)]
        case _:
            return "value"


def _default(schema: Mapping[str, Any]) -> str:
    default = schema.get("default")
    match default:
        case None | "" | []:
            return ""
        case bool():
            return f"`{str(default).lower()}`"
        case float() if schema.get("type") == "string":
            return f"`{default:g}s`"
        case float():
            return f"`{default:g}`"
        case int():
            return f"`{default}`"
        case _:
            return f"`{default}`"


#: by the name of the part, without its `keys-`
KEYS: Mapping[str, Callable[[], str]] = {
    "bot": partial(keys, BotFile),
    "agent": partial(keys, Agent),
    "workflow": partial(keys, Workflow),
    "agent-step": partial(keys, AgentStep),
    "run-step": partial(keys, RunStep),
    "switch-step": partial(keys, SwitchStep),
    "end-step": partial(keys, EndStep, Ending),
    "routing": partial(keys, Case, Verdict, Loop, Rework),
    "result": partial(keys, Result, ResultField),
    "declared": partial(keys, Declared),
    "input": partial(keys, ExecInput),
    "resource": partial(keys, Resource),
    "limits": partial(keys, Limits),
    "amounts": partial(keys, RunLimits, ActorLimits, RepositoryLimits, DayLimits),
    "behaviour": partial(keys, History, Publish, Workspace),
    "bounds": partial(keys, Budget, Retry, Defaults),
}


def modifiers() -> str:
    """Which kind of step takes which key today."""
    kinds = {model.KIND: {field.alias or name for name, field in model.model_fields.items()} for model in STEP_TYPES}
    rows = []
    for key, takers in MODIFIERS.items():
        if any(key in own for own in kinds.values()):
            assert takers >= {kind for kind, own in kinds.items() if key in own}, key
            rows.append((f"`{key}`", codes(kind for kind in KINDS if key in kinds.get(kind, ()))))
    return table(("key", "on steps of kind"), rows)


@cache
def slots_in_use() -> frozenset[Slot]:
    """The kinds of place that the models have today."""
    found = {slot for model in _models() for field in model.model_fields.values() for slot in _slots(field.metadata)}
    # a command that is a list has its entries in a slot of their own
    return frozenset(found | {Slot.ARGV, Slot.FIXED})


def _slots(metadata: list[Any]) -> Iterator[Slot]:
    return (one for one in metadata if isinstance(one, Slot))


def _models() -> set[type[Node]]:
    found, todo = set[type[Node]](), [Node]
    while todo:
        for model in todo.pop().__subclasses__():
            if model not in found:
                found.add(model)
                todo.append(model)
    return found
