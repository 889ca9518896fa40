"""Reference tables of the documentation, from the code that they describe."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from enum import StrEnum

import typer.main
from typer.core import TyperGroup

from bot.context import RULES
from bot.dispatch.builtins import BUILTINS
from bot.github.tokens import PERMISSIONS
from bot.model import state
from bot.model.event import HANDLED
from bot.settings import Settings, missing_to_serve
from bot.web.metric_table import METRICS
from bot.workflows import slots as templates
from bot.workflows.slots import AVAILABLE, NAMESPACES, SAFE, Missing, Slot
from tests.docs.configuration import slots_in_use
from tests.docs.markdown import code, codes, table

#: as GitHub's page for an App's permissions calls them, and what they are for
_PERMISSIONS = {
    "actions": ("Actions", "logs of failed checks, for steps that read them"),
    "checks": ("Checks", "results of checks, for steps that read them; a check run for each run on a pull request"),
    "contents": ("Contents", "the configuration, and clones for commands"),
    "issues": ("Issues", "threads, their comments and pins; comments and reactions of the bot"),
    "metadata": ("Metadata", "roles of people"),
    "pull_requests": ("Pull requests", "the same in pull requests; leave it out where only issues are served"),
}
#: as GitHub's page for an App's events calls them
_EVENTS = {
    "check_run": "Check run",
    "check_suite": "Check suite",
    "installation": "Installation (sent to every App)",
    "installation_repositories": "Installation repositories (sent to every App)",
    "issue_comment": "Issue comment",
    "issues": "Issues",
    "pull_request": "Pull request",
    "pull_request_review": "Pull request review",
    "pull_request_review_comment": "Pull request review comment",
    "push": "Push",
    "repository": "Repository",
}


def settings() -> str:
    """Every setting with its default and meaning."""
    required = missing_to_serve(Settings())
    rows = []
    for field in Settings.model_fields.values():
        name = str(field.alias)
        default = "**required to serve**" if name in required else code(_plain(field.default))
        rows.append((code(name), default, str(field.description)))
    return table(("name", "default", "meaning"), rows)


def _plain(default: object) -> str:
    return f"{default:g}" if isinstance(default, float) else str(default or "")


def permissions() -> str:
    """What the App must be granted: for each permission the highest level that any purpose asks for."""
    rows = []
    for name in sorted({name for wanted in PERMISSIONS.values() for name in wanted}):
        level = "write" if any(wanted.get(name) == "write" for wanted in PERMISSIONS.values()) else "read"
        title, use = _PERMISSIONS[name]
        rows.append((title, {"read": "Read-only", "write": "Read and write"}[level], use))
    return table(("repository permission", "access", "for"), rows)


def events() -> str:
    """What the App must subscribe to."""
    rows = [
        (_EVENTS[name], codes(sorted(filter(None, actions))) or "it has none")
        for name, actions in sorted(HANDLED.items())
    ]
    return table(("subscribe to", "actions that are kept; others are answered with `ignored`"), rows)


def cli() -> str:
    """The commands of `threadsmith`."""
    from bot.cli.main import commands  # late: it brings the whole product

    group = typer.main.get_command(commands())
    assert isinstance(group, TyperGroup)
    rows = []
    for name, command in group.commands.items():
        words = [name]
        for parameter in command.params:
            if parameter.name == "help":
                continue
            if parameter.param_type_name == "argument":
                shown = (parameter.metavar or str(parameter.name)).upper().strip("[]")
                words.append(shown if parameter.required else f"[{shown}]")
            else:
                option = max(parameter.opts or parameter.secondary_opts, key=len)
                words.append(option if parameter.required else f"[{option}]")
        about = inspect.cleandoc(command.help or "").partition("\n\n")[0]
        rows.append((code(f"threadsmith {' '.join(words)}"), about))
    return table(("command", "does"), rows)


def builtins() -> str:
    """The commands that every thread has."""
    rows = [
        (
            code(f"@bot {one.usage}"),
            one.summary,
            code(f"@bot {one.example}"),
            one.who or str(one.role or "`trigger_role`"),
        )
        for one in BUILTINS
    ]
    return table(("write", "to", "for example", "least role"), rows)


_SOURCES = {"rows": "the rows", "ends": "the rows, since it began", "process": "this process"}


def metrics() -> str:
    """Every figure of `/metrics`."""
    rows = [(code(one.shown), one.kind, codes(one.labels) or "", _SOURCES[one.source], one.help) for one in METRICS]
    return table(("name", "kind", "labels", "of", "tells"), rows)


_STATES: Mapping[type[StrEnum], tuple[str, Mapping[str, str]]] = {
    state.DeliveryState: (
        "A delivery: one webhook request, on disk before it was answered",
        {
            "new": "kept, not looked at yet, or to be looked at again at `not_before`",
            "planned": "it led to at least one dispatch or built-in",
            "ignored": "it asked for nothing, or somebody asked who may not; the reason is kept",
            "failed": "an error, or no answer of GitHub for 15 minutes (two hours: its limit); the reason is kept",
        },
    ),
    state.DispatchState: (
        "A dispatch: one accepted request",
        {
            "queued": "its run waits for its turn in the thread",
            "started": "its run has begun",
            "done": "its run has ended, well or not",
            "refused": "not used yet: who may not command leaves no dispatch",
            "cancelled": "called off by a person, by a role that changed, or because the asking comment was deleted",
            "set_aside": "its run was put aside",
        },
    ),
    state.RunState: (
        "A run: the execution of a dispatch",
        {
            "queued": "waits for its turn, or until a retry is due",
            "running": "one worker holds it under a lease",
            "waiting": "waits for a person or an event and holds no worker",
            "succeeded": "every step did its work",
            "failed": "a step failed, or the run could not go on",
            "cancelled": "called off",
            "budget_exceeded": "a limit of dollars or tokens was reached",
            "timed_out": "its minutes are over",
            "set_aside": "one step was interrupted three times without progress",
        },
    ),
    state.AttemptState: (
        "An attempt: one execution of a step",
        {
            "running": "recorded before it starts",
            "waiting": "waits for a person, an event, or what it posts",
            "success": "the step did its work",
            "fail": "the step failed for good",
            "skipped": "not used yet: a condition was false",
            "transient": "the other side was busy or broken; another attempt follows, as often as `retry` allows",
            "interrupted": "the process ended under it; another attempt follows",
            "cancelled": "called off while it ran",
        },
    ),
    state.OutboxState: (
        "An outbox row: one thing to be said on GitHub",
        {
            "pending": "to be sent, now or at `not_before`",
            "sending": "committed before the request leaves",
            "posted": "it stands on GitHub; if its text changes it becomes pending again, as an edit",
            "unsure": "sent, and no answer came: its marker is looked for before it is sent again",
            "dropped": "it can never be said (locked, deleted, forbidden); the reason is kept",
        },
    ),
    state.GateState: (
        "A gate: what a run waits for",
        {
            "open": "waits for an answer",
            "answered": "a person decided, or what was waited for happened",
            "expired": "nobody did in time",
            "void": "what was answered does not count: the head moved, or the text was changed; it asks again",
            "cancelled": "its run was called off",
        },
    ),
    state.ArtifactState: (
        "An artifact: the table is there, nothing makes one yet",
        {
            "current": "the newest of its kind",
            "stale": "what it rests on has changed",
            "superseded": "a newer one took its place",
        },
    ),
}


def states() -> str:
    """Every kind of state with what may follow each."""
    sections = []
    assert set(_STATES) == set(state.TRANSITIONS)
    for kind, (title, meanings) in _STATES.items():
        following = state.TRANSITIONS[kind]
        rows = [
            (
                code(one),
                meanings[one],
                codes(other for other in kind if other in following.get(one, ())) or "(final)",
            )
            for one in kind
        ]
        sections.append(f"## {title}\n\n{table(('state', 'means', 'may become'), rows)}")
    return "\n\n".join(sections)


_MISSING = {
    Missing.FAIL: "the step fails (`template_undefined`)",
    Missing.KEEP: "the token stays as written",
    Missing.EMPTY: "nothing is inserted, and a warning is recorded",
}
_PLACES = {
    Slot.PROMPT: "`prompt` of an agent or a step, and the files it names; `ask`, `show` and `questions`",
    Slot.SPEECH: (
        "`notify.comment` and `webhook.body`, `classify.text`, `review.body`,"
        " `title` and `body` of `pull_request`, `end.message`"
    ),
    Slot.TYPED: (
        "`inputs` of `connector`, `uses` and `code`, an input's `value`, `each.over`, `review.findings` and `verdict`,"
        " labels and logins of `notify`; a string that is one template keeps the value's type"
    ),
    Slot.COMMAND: "text of `run` and `exec`",
    Slot.ARGV: "`run` and `exec` as a list",
    Slot.ENVIRONMENT: "`env` of `run`, `exec` and `code`",
    Slot.RESOURCE: "`headers` and `env` of a resource",
    Slot.CONDITION: "`when`, `switch`, `until`: CEL, see [Order and routing](configuration.md#order-and-routing)",
    Slot.FIXED: "every other value, and the body of `code`",
}


def slots() -> str:
    """Where templates may stand today, and what each place takes."""
    rows = []
    for slot in Slot:
        if slot not in slots_in_use():
            continue
        rule = templates.RULES[slot]
        names = sorted(rule.namespaces & AVAILABLE)
        safe = [f"{name}.{key}" for name in names for key in (sorted(SAFE[name] or "*"))] if rule.safe_only else names
        rows.append((_PLACES[slot], codes(safe) or "nothing", _MISSING[rule.missing] if names else "refused at load"))
    return table(("place", "takes", "a reference without a value and without `??`"), rows)


_OWN_FIELDS = {
    "params": "the workflow's own params",
    "inputs": "the workflow's own inputs",
    "ctx": "keys of the run context, see [The run context](#the-run-context)",
    "item": "the element of `each`, or a path into it; also under the name that `each.as` gives it",
    "resources": "`description`, `url`, `webhook`, and what its `public` has",
    "secrets": "a secret of the operator's store, by its name",
}


def namespaces() -> str:
    """What a reference may name today."""
    rows = []
    for name, space in NAMESPACES.items():
        if name not in AVAILABLE:
            continue
        shown = f"{name}.<id>" if space.ids else name
        rows.append((code(shown), codes(sorted(space.fields)) if space.fields else _OWN_FIELDS[name]))
    return table(("namespace", "fields"), rows)


def rules() -> str:
    """The engine's fixed words at the end of every system text."""
    return f"```text\n{RULES.strip()}\n```"
