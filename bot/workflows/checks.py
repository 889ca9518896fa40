"""What the parts must be to each other: names, ids and agents of a configuration, and the order of its checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bot.workflows.agent import Agent
from bot.workflows.bot_file import BotFile
from bot.workflows.call_checks import check_calls, check_export
from bot.workflows.findings import Findings, listing, nearest
from bot.workflows.frames import Frames
from bot.workflows.mark import Mark
from bot.workflows.reference_checks import check_references
from bot.workflows.roster import Roster
from bot.workflows.route_checks import check_routes
from bot.workflows.step import Step
from bot.workflows.workflow import REQUEST_WORDS, Workflow

#: what every thread has as commands, but for answers, which count while people are asked; a test holds the table to it
COMMANDS = frozenset(
    {"help", "status", "cancel", "retry", "steer", "stop", "resume", "pin", "unpin", "pins", "try", "why", "config"}
)


def check_names(bot: BotFile, agents: Mapping[str, Agent], workflows: Iterable[Workflow], findings: Findings) -> None:
    """Every name means one thing; `default` means something. `workflows` may hold a name twice."""
    seen: dict[str, tuple[str, Mark]] = {name: ("an agent", agent.mark) for name, agent in agents.items()}
    for workflow in workflows:
        name = workflow.called
        if name in seen:
            what, where = seen[name]
            mark = workflow.mark_of("name")
            hint = f"rename one of them; the other is {what} in {where}"
            findings.error(mark, "duplicate_name", f"`{name}` names two things", hint)
        else:
            seen[name] = ("a workflow", workflow.mark)
    for name, (what, mark) in seen.items():
        if name in COMMANDS:
            message = f"a mention of `{name}` is the built-in command, not {what} of that name"
            findings.warning(mark, "shadowed", message, "rename it, so that people can ask for it")
    if bot.default not in seen and "default" in bot.model_fields_set:
        message = f"`default` names no agent and no workflow: `{bot.default}`"
        hint = nearest(bot.default, seen) or "define one of that name, or remove the key"
        findings.error(bot.mark_of("default"), "unknown_default", message, hint)


def check_workflow(workflow: Workflow, roster: Roster, findings: Findings) -> None:
    """Words of its signature, ids, routes, references, and what its steps call, of one workflow."""
    _check_words(workflow, findings)
    _check_triggers(workflow, findings)
    seen: dict[str, Step] = {}
    for step in workflow.every_step:
        if findings.full:
            return
        if step.id in seen:
            hint = f"ids are unique in a workflow, nested steps counted; the other stands in {seen[step.id].mark}"
            findings.error(step.mark_of("id"), "duplicate_id", f"two steps have the id `{step.id}`", hint)
        else:
            seen[step.id] = step
    frames = Frames(workflow)
    check_routes(workflow, frames, findings)
    check_references(workflow, frames, roster, findings)
    check_calls(workflow, frames, roster, findings)
    check_export(workflow, frames, findings)


def _check_words(workflow: Workflow, findings: Findings) -> None:
    """The words `key=value` that a command may set mean one thing each."""
    for key, names, what in (("params", workflow.params, "a param"), ("inputs", workflow.inputs, "an input")):
        for name in names:
            if name in REQUEST_WORDS:
                message = f"`{name}` cannot be {what}: it sets the budget of a request"
                findings.error(workflow.mark_of(key, name), "reserved_name", message, "choose another name")
    for name in workflow.inputs:
        if name in workflow.params:
            message = f"`{name}` is a param and an input"
            hint = f"keep one; the param stands in {workflow.mark_of('params', name)}"
            findings.error(workflow.mark_of("inputs", name), "duplicate_name", message, hint)


def _check_triggers(workflow: Workflow, findings: Findings) -> None:
    """An event gives no words, so that an input which a run cannot be without is never set by one."""
    lacking = [name for name, one in workflow.inputs.items() if one.required and one.default is None]
    if workflow.on.events and lacking:
        message = f"`{workflow.on.events[0]}` gives no words, so it cannot set {listing(lacking)}: nothing would run"
        hint = "give it a default, or `required: false`"
        findings.warning(workflow.on.mark_of(workflow.on.events[0]), "trigger_inputs", message, hint)
