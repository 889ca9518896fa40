"""What the parts must be to each other: names, ids, agents, and where a template's steps and params come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bot.workflows.agent import Agent
from bot.workflows.bot_file import BotFile
from bot.workflows.findings import Findings, listing, nearest
from bot.workflows.mark import Mark
from bot.workflows.step import AgentStep, Step
from bot.workflows.template import Template, Token
from bot.workflows.workflow import REQUEST_WORDS, Workflow

#: templates in the prompts of all steps, those of their agents counted with each
REFERENCES_MAX = 20_000


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
    if bot.default not in seen and "default" in bot.model_fields_set:
        message = f"`default` names no agent and no workflow: `{bot.default}`"
        findings.error(bot.mark_of("default"), "unknown_default", message, nearest(bot.default, seen))


def check_workflow(workflow: Workflow, agents: Mapping[str, Agent], findings: Findings) -> None:
    """Ids, agents and references of one workflow, in the order in which its steps run."""
    for name in workflow.params:
        if name in REQUEST_WORDS:
            message = f"`{name}` cannot be a param: it sets the budget of a request"
            findings.error(workflow.mark_of("params"), "reserved_name", message, "choose another name")
    ids = {step.id for step in workflow.steps}
    earlier: dict[str, None] = {}
    for step in workflow.steps:
        if findings.full:
            return
        if step.id in earlier:
            hint = "ids are unique in a workflow"
            findings.error(step.mark_of("id"), "duplicate_id", f"two steps have the id `{step.id}`", hint)
        if isinstance(step, AgentStep) and step.agent not in agents:
            message = f"there is no agent `{step.agent}`"
            findings.error(step.mark_of("agent"), "unknown_agent", message, nearest(step.agent, agents))
        for template, own in _templates(step, agents):
            findings.references += len(template.references)
            if findings.references > REFERENCES_MAX:
                message = f"all steps together have more than {REFERENCES_MAX:,} templates"
                findings.error(step.mark, "too_many", message, "use fewer steps, or fewer templates in agents' prompts")
                return
            for token in template.references:
                _check_token(token, own, workflow, step, ids, earlier, findings)
        earlier[step.id] = None


def _templates(step: Step, agents: Mapping[str, Agent]) -> Iterable[tuple[Template, bool]]:
    """Every template that is rendered for a step, and whether it is the workflow's own rather than the agent's."""
    for _, template in step.templates():
        yield template, True
    if isinstance(step, AgentStep):
        for one in step.inputs.values():
            for _, template in one.templates():
                yield template, True
        agent = agents.get(step.agent)
        if agent is not None and agent.system is not None:
            yield agent.system, False


def _check_token(
    token: Token,
    own: bool,
    workflow: Workflow,
    step: Step,
    ids: set[str],
    earlier: Mapping[str, None],
    findings: Findings,
) -> None:
    mark = token.mark or step.mark
    if token.path[0] == "params":
        # an agent's prompt serves many workflows, so there a default makes up for a param that this one lacks
        if token.path[1] not in workflow.params and (own or not token.has_default):
            hint = nearest(token.path[1], workflow.params) or f"declare it: `params: {{{token.path[1]}: …}}`"
            message = f"the workflow `{workflow.called}` has no param `{token.path[1]}`"
            findings.error(mark, "unknown_param", message, hint)
    elif token.path[0] == "steps":
        name = token.path[1]
        hint = f"steps above it: {listing(earlier)}" if earlier else "no step runs before it"
        if name == step.id:
            message = f"the step `{name}` cannot use what it has not done yet"
            findings.error(mark, "unknown_step", message, hint)
        elif name not in earlier:
            message = f"the step `{name}` runs after `{step.id}`" if name in ids else f"there is no step `{name}`"
            if own or not token.has_default:
                findings.error(mark, "unknown_step", message, hint)
