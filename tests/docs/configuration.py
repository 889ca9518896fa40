"""Tables of the YAML's keys, from the models that check it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from bot.workflows import AgentStep, BotFile, RunStep, Workflow
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
from bot.workflows.node import Node
from bot.workflows.slots import Slot
from bot.workflows.step import ExecInput
from tests.docs.markdown import codes, table

#: words for a reference to another table
_LINKS: Mapping[str, str] = {
    "Agent": "[agent](#an-agent)",
    "Workflow": "[workflow](#a-workflow)",
    "AgentStep": "[`agent` step](#a-step-of-kind-agent)",
    "RunStep": "[`run` step](#a-step-of-kind-run)",
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
        case {"type": "string", "pattern": pattern} if "[smhd]" in str(pattern):
            return "duration"
        case {"type": "string", "pattern": pattern} if ":(" in str(pattern):
            return "`provider:name`"
        case {"type": "string", "pattern": pattern} if str(pattern).startswith("^@"):
            return "handle"
        case {"type": "string", "pattern": _}:
            return "name"
        case {"type": ["string", "null"]}:
            return "text or nothing"
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
    "input": partial(keys, ExecInput),
    "limits": partial(keys, Limits),
    "amounts": partial(keys, RunLimits, ActorLimits, RepositoryLimits, DayLimits),
    "behaviour": partial(keys, History, Publish, Workspace),
    "bounds": partial(keys, Budget, Retry, Defaults),
}


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
