"""Tables of the YAML's keys, from the models that check it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, partial
from typing import Any

from bot.workflows import BotFile, Workflow
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
from bot.workflows.each import Each
from bot.workflows.evidence import Export, Produced
from bot.workflows.gate_steps import FormQuestion, Waiting, Who
from bot.workflows.github_steps import LabelChange, Notice, PullRequest, ReviewRequest, WebhookCall
from bot.workflows.modifiers import KINDS, MODIFIERS
from bot.workflows.node import Node
from bot.workflows.resources import Resource
from bot.workflows.result import Result
from bot.workflows.result_fields import ResultField
from bot.workflows.routing import Case, Loop, Rework, Verdict
from bot.workflows.signature import Declared
from bot.workflows.slots import Slot
from bot.workflows.step import STEP_TYPES, Branches, Classification, Ending, ExecInput
from bot.workflows.step_inputs import INPUT_TYPES, InputNode
from bot.workflows.tools import BUILTIN_TOOLS, ToolEntry
from bot.workflows.triggers import Schedule, Triggers
from tests.docs.markdown import codes, table

#: words for a reference to another table
_LINKS: Mapping[str, str] = {
    "Agent": "[agent](configuration.md#an-agent)",
    "Workflow": "[workflow](configuration.md#a-workflow)",
    **{one.__name__: f"[`{one.KIND}`](steps.md#a-step-of-kind-{one.KIND})" for one in STEP_TYPES},
    **{one.__name__: "[input](steps.md#inputs-of-a-step)" for one in INPUT_TYPES},
    "Ending": "`{outcome: success, message: …}`",
    "Result": "[result](configuration.md#results)",
    "ResultField": "[field](configuration.md#results)",
    "Case": "`{when, to}`",
    "Loop": "[loop](configuration.md#order-and-routing)",
    "Rework": "[rework](configuration.md#order-and-routing)",
    "Verdict": "`{verdict: path, cases: […]}`",
    "Declared": "[input](configuration.md#the-inputs-of-a-run)",
    "Budget": "[budget](configuration.md#budgets-retries-defaults)",
    "Retry": "[retry](configuration.md#budgets-retries-defaults)",
    "Defaults": "[defaults](configuration.md#budgets-retries-defaults)",
    "Export": "[export](configuration.md#exports)",
    "Produced": "`{id, kind, path}`",
    "ToolEntry": "[tool](steps.md#tools)",
    "Each": "[each](steps.md#each)",
    "Branches": "`{branches: {name: […]}, on_error: fail}`",
    "Classification": "`{text, labels, by}`",
    "ToolCall": "`{resource, tool}`",
    "Waiting": "`{for: 2h}`, `{event: merged}`",
    "Notice": "`{comment, labels, …}`",
    "ReviewRequest": "`{findings, …}`",
    "PullRequest": "`{title, …}`",
    "LabelChange": "`{add, remove}`",
    "WebhookCall": "`{resource, body}`",
    "FormQuestion": "question",
    "Back": "`{rework: id}`",
    "Who": "`{role, logins, …}`",
    "ThreadWindow": "`{comments: 20}`",
    "Resource": "[resource](configuration.md#resources)",
    "Runner": "`{exec: [program, argument, …]}`",
    "Triggers": "[triggers](configuration.md#what-starts-a-workflow)",
    "Schedule": "`{cron, thread}`",
    "History": "[history](configuration.md#history-publish-workspace)",
    "Publish": "[publish](configuration.md#history-publish-workspace)",
    "Workspace": "[workspace](configuration.md#history-publish-workspace)",
    "Limits": "[limits](configuration.md#limits)",
    "RunLimits": "amounts, see below",
    "ActorLimits": "amounts, see below",
    "RepositoryLimits": "amounts, see below",
    "DayLimits": "amounts, see below",
}
#: the keys of each kind's own node, where it has one, under the kind's own table
_PARTS: Mapping[str, tuple[type[Node], ...]] = {
    "classify": (Classification,),
    "ask": (FormQuestion, Who),
    "wait": (Waiting,),
    "notify": (Notice, LabelChange, WebhookCall),
    "review": (ReviewRequest,),
    "pull_request": (PullRequest,),
    "parallel": (Branches,),
    "end": (Ending,),
}


def keys(*models: type[Node], without: Collection[str] = ()) -> str:
    """One table for the keys of one or several models; of several, each key is led by its owner's noun."""
    rows = []
    for model in models:
        for name, row in _rows(model).items():
            if name not in without:
                rows.append((f"`{name}`" if len(models) == 1 else f"{_owner(model)} `{name}`", *row))
    return table(("key", "value", "default", "meaning"), rows)


def _rows(model: type[Node]) -> dict[str, tuple[str, str, str]]:
    """By key: the value, its default and its meaning."""
    schema = model.model_json_schema()
    if "$ref" in schema:  # a model that holds itself
        schema = schema["$defs"][model.__name__]
    if "properties" not in schema:  # one that has a short form besides
        schema = next(one for one in schema["anyOf"] if "properties" in one)
    needed = set(schema.get("required", ()))
    rows = {}
    for name, one in schema["properties"].items():
        field = next(field for key, field in model.model_fields.items() if name in (key, field.alias))
        default = "**required**" if name in needed else _default(one)
        rows[name] = (_value(one), default, str(field.description or ""))
    return rows


def kind_keys(kind: str) -> str:
    """The keys that one kind has of its own."""
    (model,) = (one for one in STEP_TYPES if kind == one.KIND)
    own = keys(model, without={"id", *(MODIFIERS.keys() - {"inputs"})})
    parts = _PARTS.get(kind, ())
    return "\n\n".join([own, *([keys(*parts) if len(parts) > 1 else keys(parts[0])] if parts else [])])


def step_keys() -> str:
    """The keys that many kinds take."""
    rows: dict[str, tuple[str, str, str]] = {}
    for model in STEP_TYPES:
        for name, row in _rows(model).items():
            if name == "id" or (name in MODIFIERS and name != "inputs"):
                rows.setdefault(name, row)
    order = ["id", *(key for key in MODIFIERS if key in rows)]
    return table(("key", "value", "default", "meaning"), [(f"`{name}`", *rows[name]) for name in order])


def inputs() -> str:
    """The sorts of input of a step."""
    rows = []
    common = set(InputNode.model_fields)
    for model in INPUT_TYPES:
        for name, row in _rows(model).items():
            if name not in common:
                rows.append((f"`{model.KIND}`: `{name}`" if name != model.KIND else f"`{name}`", *row))
    rows += [(f"every input: `{name}`", *row) for name, row in _rows(ExecInput).items() if name in common]
    return table(("key", "value", "default", "meaning"), rows)


def tools() -> str:
    """The tools that come with the product."""
    rows = [(f"`{one.name}`", codes(one.parameters["properties"]), one.what) for one in BUILTIN_TOOLS.values()]
    return table(("tool", "arguments", "what the model is told"), rows)


def kinds() -> str:
    """Every kind of step, in its own words."""
    rows = []
    for kind in KINDS:
        (model,) = (one for one in STEP_TYPES if kind == one.KIND)
        rows.append((_LINKS[model.__name__], str(model.__doc__).partition("\n")[0]))
    return table(("kind", "does"), rows)


def _owner(model: type[Node]) -> str:
    owners = {ActorLimits: "per_actor_day", RepositoryLimits: "per_repo_day", DayLimits: "per_issue_day"}
    return f"`{owners[model]}`:" if model in owners else f"{model.NOUN}:"


def _value(schema: Mapping[str, Any]) -> str:
    """What may be written, in words."""
    match schema:
        case {"$ref": ref}:
            return _LINKS[str(ref).rpartition("/")[2]]
        case {"oneOf": options} if len(options) == len(STEP_TYPES):
            return "[step](steps.md)"
        case {"anyOf": options} | {"oneOf": options}:
            return " or ".join(dict.fromkeys(_value(one) for one in options if one.get("type") != "null"))
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
        case {"type": ["string", "number", "boolean", "array", "null", *_]}:
            return "a value or template"
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
    "triggers": partial(keys, Triggers, Schedule),
    "step": step_keys,
    **{f"{kind.replace('_', '-')}-step": partial(kind_keys, kind) for kind in KINDS},
    "routing": partial(keys, Case, Verdict, Loop, Rework),
    "result": partial(keys, Result, ResultField),
    "declared": partial(keys, Declared),
    "input": inputs,
    "each": partial(keys, Each),
    "tool": partial(keys, ToolEntry),
    "resource": partial(keys, Resource),
    "evidence": partial(keys, Produced, Export),
    "limits": partial(keys, Limits),
    "amounts": partial(keys, RunLimits, ActorLimits, RepositoryLimits, DayLimits),
    "behaviour": partial(keys, History, Publish, Workspace),
    "bounds": partial(keys, Budget, Retry, Defaults),
}


def modifiers() -> str:
    """Which kind of step takes which key."""
    rows = [(f"`{key}`", codes(kind for kind in KINDS if kind in takers)) for key, takers in MODIFIERS.items()]
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
