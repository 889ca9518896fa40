"""Where templates may stand and what each place takes: the one table behind every check and every error text.

A *slot* is a kind of place in the YAML (a prompt, the text of a command, an environment variable). A *namespace* is the
first word of a reference. The table is that of the design's page *The repository YAML*, whole; `AVAILABLE` says which
namespaces a run can fill today, so that a reference to the others is refused with that reason and no other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from bot.workflows.findings import listing, meant, nearest

#: in templates, conditions, `decide` and `bound_args` alike; the namespace and the id are counted
SEGMENTS_MAX = 32


#: whether there is one is not told when a file is checked, but whether there can be
SECRET = re.compile(r"[A-Z][A-Z0-9_]*")


class Slot(StrEnum):
    """A kind of place where text of the author may hold templates."""

    PROMPT = "prompt"
    SPEECH = "speech"
    TYPED = "typed"
    COMMAND = "command"
    ARGV = "argv"
    ENVIRONMENT = "environment"
    RESOURCE = "resource"
    CONDITION = "condition"
    FIXED = "fixed"


class Missing(StrEnum):
    """What becomes of a token whose path leads nowhere and that has no `??`."""

    FAIL = "fail"  # the step fails
    KEEP = "keep"  # the token stays as written and a warning is recorded
    EMPTY = "empty"  # nothing is inserted and a warning is recorded


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table. `what` completes the sentence *… cannot be used in …*."""

    what: str
    namespaces: frozenset[str]
    missing: Missing
    #: a string that is exactly one token becomes the value itself
    typed: bool = False
    #: only the keys of `SAFE`
    safe_only: bool = False


_EVENT = frozenset({"trigger", "issue", "run", "params", "agent", "loop", "inputs"})
_STEPS = frozenset({"steps", "ctx", "item", "artifacts"})
_NONE: frozenset[str] = frozenset()

#: What a model, a commenter or a caller said never reaches a shell as code: these alone may stand in a command, as one
#: quoted word. None means every key of the namespace.
SAFE: dict[str, frozenset[str] | None] = {
    "ctx": frozenset({"outcome", "preferred_label", "human_response", "interview_answers"}),
    "params": None,
    "run": None,
    "issue": frozenset({"number"}),
}

RULES: dict[Slot, Rule] = {
    Slot.PROMPT: Rule("a prompt", _EVENT | _STEPS, Missing.FAIL),
    Slot.SPEECH: Rule("text that people read", _EVENT | _STEPS | {"resources"}, Missing.KEEP),
    Slot.TYPED: Rule("a typed value", _EVENT | _STEPS, Missing.FAIL, typed=True),
    Slot.COMMAND: Rule("the text of a command", frozenset(SAFE), Missing.EMPTY, safe_only=True),
    Slot.ARGV: Rule("a command's argument", frozenset(SAFE), Missing.EMPTY, safe_only=True),
    Slot.ENVIRONMENT: Rule("`env:`", _EVENT | _STEPS | {"resources", "secrets"}, Missing.FAIL),
    Slot.RESOURCE: Rule("a resource's header or variable", frozenset({"secrets"}), Missing.FAIL),
    Slot.CONDITION: Rule("a condition", _NONE, Missing.FAIL),
    Slot.FIXED: Rule("this field", _NONE, Missing.FAIL),
}


@dataclass(frozen=True, slots=True)
class Namespace:
    """What a namespace holds. `fields` None means that names are the author's own.

    `depth` is the number of segments behind the namespace (and the id, where it has ids); None means any.
    """

    fields: frozenset[str] | None = None
    later: frozenset[str] = _NONE
    depth: int | None = 1
    ids: bool = False
    #: fields that are of any depth
    deep: frozenset[str] = _NONE


NAMESPACES: dict[str, Namespace] = {
    "trigger": Namespace(
        frozenset({"name", "text", "actor", "comment_id", "url", "at", "label", "sha", "ref", "conclusion", "cron"})
    ),
    "issue": Namespace(
        frozenset({"number", "title", "body", "author", "labels", "url", "state", "is_pull_request"}),
    ),
    "run": Namespace(frozenset({"id", "url", "workflow", "goal", "attempt"})),
    "params": Namespace(),
    "inputs": Namespace(depth=2),
    "steps": Namespace(
        frozenset({"outcome", "output", "exit_code", "error", "summary", "cost", "branch", "pr_url", "result", "ctx"}),
        ids=True,
        deep=frozenset({"result", "ctx"}),
    ),
    "ctx": Namespace(depth=None),
    "item": Namespace(depth=None),
    "loop": Namespace(frozenset({"index"})),
    "artifacts": Namespace(frozenset({"kind", "uri", "validity", "step", "content"}), ids=True),
    "agent": Namespace(frozenset({"name", "model"})),
    "resources": Namespace(depth=2),
    "secrets": Namespace(),
}

#: what `inputs.<name>.<field>` may name of an input of type `file`
FILE_FIELDS = frozenset({"path", "url", "bytes", "original_filename", "mime", "size_bytes", "sha256_hex"})

#: the namespaces that a run fills today
AVAILABLE = frozenset(NAMESPACES)

#: Values that are the engine's or the platform's identifiers; whatever else a template inserts is somebody's text.
_OURS: dict[str, frozenset[str] | None] = {
    "run": None,
    "agent": None,
    "loop": None,
    "trigger": frozenset({"name", "actor", "comment_id", "url", "at", "cron"}),
    "issue": frozenset({"number", "author", "url", "state", "is_pull_request"}),
    "steps": frozenset({"outcome", "exit_code", "cost"}),
}


def is_foreign(path: tuple[str, ...]) -> bool:
    """Whether the value is text that people, models or commands wrote, so that a prompt must fence it."""
    return not _within(_OURS, path)


def is_safe(path: tuple[str, ...]) -> bool:
    """Whether the value may stand in a command, as one quoted word."""
    return _within(SAFE, path)


def _within(table: dict[str, frozenset[str] | None], path: tuple[str, ...]) -> bool:
    if path[0] not in table:
        return False
    keys = table[path[0]]
    # the whole rest: a key of an author's own may well end like one of ours
    rest = path[2:] if NAMESPACES[path[0]].ids else path[1:]
    return keys is None or ".".join(rest) in keys


def reference_fault(path: tuple[str, ...], slot: Slot) -> tuple[str, str, str] | None:
    """Code, message and hint if a reference cannot stand in a slot; None if it can. Steps and params: see checks."""
    name, rule = path[0], RULES[slot]
    shown = ".".join(path)
    usable = listing(sorted(rule.namespaces & AVAILABLE))
    if not rule.namespaces:
        return "template_slot", f"`${{{{ {shown} }}}}` cannot stand in {rule.what}", "templates are not read here"
    if name not in NAMESPACES:
        hint = meant(name, rule.namespaces) or "begin with one of these"
        return "namespace", f"`{name}` is no namespace; {rule.what} takes {usable}", hint
    if name not in rule.namespaces:
        hint = "pass it through `env:`" if rule.safe_only else "use what this place takes"
        if name == "secrets" and not rule.safe_only:
            hint = "secrets go into `env:` of commands and `headers` and `env` of resources, nowhere else"
        return "namespace", f"`{name}` cannot be used in {rule.what}, which takes {usable}", hint
    if name not in AVAILABLE:
        return "not_available", f"`{name}` is not available yet; {rule.what} takes {usable} now", "use one of these"
    if len(path) > SEGMENTS_MAX:
        return "template_depth", f"a path has at most {SEGMENTS_MAX} segments, this one {len(path)}", "go less deep"
    fault = field_fault(path, shown)
    if fault is None and rule.safe_only and not is_safe(path):
        keys = sorted(f"{space}.{key}" for space, keys in SAFE.items() if space in AVAILABLE for key in keys or "*")
        return (
            "namespace",
            f"`{shown}` cannot be used in {rule.what}, which takes {listing(keys)}",
            "pass it through `env:`",
        )
    return fault


def field_fault(path: tuple[str, ...], shown: str) -> tuple[str, str, str] | None:
    """Code, message and hint if a namespace has no such field; None if it has. `shown` is the path in words."""
    name, space = path[0], NAMESPACES[path[0]]
    rest = path[2:] if space.ids else path[1:]
    if not rest and name == "item":
        return None
    if not rest:
        form = f"{name}.<id>.<field>" if space.ids else f"{name}.<field>"
        hint = f"one of {listing(sorted(space.fields))}" if space.fields else ""
        return "unknown_field", f"`{shown}` names no field; write `{form}`", hint
    if space.fields is not None and rest[0] in space.later:
        return "not_available", f"`{shown}` is not available yet", f"now there are {listing(sorted(space.fields))}"
    if space.fields is not None and rest[0] not in space.fields:
        owner = f"{name}.{path[1]}" if space.ids else name
        return "unknown_field", f"`{owner}` has no field `{rest[0]}`", nearest(rest[0], space.fields)
    if rest[0] in space.deep:
        # a result may be handed over whole; what a step wrote is text by key
        if len(rest) == 1 and rest[0] != "result":
            return "unknown_field", f"`{shown}` names no value in it", f"write `{shown}.<name>`"
        return None
    if space.depth is not None and len(rest) > space.depth:
        return (
            "template_depth",
            f"`{shown}` goes too deep: `{(end := '.'.join(path[: -len(rest) + space.depth]))}` ends there",
            f"write `{end}`",
        )
    if name == "secrets" and not SECRET.fullmatch(rest[0]):
        return "name", f"`{rest[0]}` is no name of a secret", "capital letters, digits and `_`, a letter first"
    return None
