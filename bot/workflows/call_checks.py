"""What a step asks for by name: agents, workflows with their inputs, resources of the right sort, keys of forms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bot.workflows.agent_step import AgentStep, AskingStep, ClassifyStep
from bot.workflows.base_step import WorkingStep
from bot.workflows.call_steps import CodeStep, ConnectorStep
from bot.workflows.code_body import cannot_name_variable
from bot.workflows.findings import Findings, listing, nearest
from bot.workflows.frames import Frames
from bot.workflows.gate_steps import AskStep
from bot.workflows.github_steps import NotifyStep
from bot.workflows.mark import Mark
from bot.workflows.nested_steps import UsesStep
from bot.workflows.roster import Roster
from bot.workflows.route_checks import check_concurrency
from bot.workflows.run_step import RunStep
from bot.workflows.schema_types import at, declared_schema, fits, json_type, kind_of
from bot.workflows.signature import Declared
from bot.workflows.step_inputs import ValueInput
from bot.workflows.template import Template, Token
from bot.workflows.tools import ToolEntry
from bot.workflows.workflow import Workflow

#: workflows that use each other, one in the other
USES_DEPTH_MAX = 8


def check_calls(workflow: Workflow, frames: Frames, roster: Roster, findings: Findings) -> None:
    """Rules 5 and 6 of *Checked before anything runs* for what a step calls."""
    for frame in frames.rows:
        for step in frame.steps:
            if findings.full:
                return
            if isinstance(step, AskingStep):
                _check_asked(step, workflow, roster, findings)
            match step:
                case UsesStep():
                    _check_uses(step, workflow, frames, roster, findings)
                case ConnectorStep():
                    _check_resource(step.connector.resource, step.connector.mark_of("resource"), True, roster, findings)
                case NotifyStep() if step.notify.webhook is not None:
                    webhook = step.notify.webhook
                    _check_resource(webhook.resource, webhook.mark_of("resource"), False, roster, findings)
                case AgentStep():
                    _check_tools(step, step.tools, roster, findings)
                case CodeStep():
                    _check_variables(step, findings)
                case AskStep():
                    _check_form(step, findings)
            if isinstance(step, (AskingStep, RunStep, CodeStep)):
                _check_values(step, workflow, frames, findings)
            if isinstance(step, WorkingStep) and step.each is not None:
                check_concurrency(step, step.each, findings)


def check_export(workflow: Workflow, frames: Frames, findings: Findings) -> None:
    """What a run gives exists: steps of the workflow's own row that have a result, or artifacts."""
    export = workflow.export
    if export is None:
        return
    known = {**{step.id: step for step in frames.root.steps}, **dict.fromkeys(frames.artifacts)}
    seen: set[str] = set()
    for place, name in enumerate(export.sources):
        mark = export.mark_of("from", place)
        step = known.get(name)
        if name in seen:
            findings.error(mark, "duplicate_id", f"`{name}` stands twice in `from`", "keep one of them")
        elif name not in known:
            message = f"there is no step and no artifact `{name}`"
            hint = nearest(name, known)
            if (inner := frames.step(name)) is not None:
                owner = frames.frame(inner.id).owner
                message = f"the step `{name}` stands inside another one, and only the workflow's own row is exported"
                hint = f"name `{owner.id}`, whose result has it" if owner is not None else hint
            findings.error(mark, "unknown_step", message, hint)
        elif step is not None and step.kind in ("switch", "end"):
            message = f"a step of kind `{step.kind}` has no result to export"
            findings.error(mark, "export", message, "name a step that gives one, or an artifact")
        seen.add(name)


def check_use(workflows: Mapping[str, Workflow], findings: Findings) -> None:
    """No workflow uses itself, through others or at once, and none goes deeper than the engine does."""
    depths: dict[str, int] = {}
    open_now: list[str] = []

    def depth(name: str) -> int:
        """How many workflows stand in each other from here on; a cycle is told where it closes."""
        if name in depths:
            return depths[name]
        open_now.append(name)
        deepest = 1
        for step in _uses(workflows[name]):
            if step.uses in open_now:
                row = [*open_now[open_now.index(step.uses) :], step.uses]
                message = f"`{step.uses}` would use itself: {' → '.join(f'`{one}`' for one in row)}"
                findings.error(step.mark_of("uses"), "uses_cycle", message, "let one of them do without the other")
            elif step.uses in workflows:
                deepest = max(deepest, 1 + depth(step.uses))
                if deepest > USES_DEPTH_MAX:
                    message = (
                        f"workflows that use each other are nested {deepest} deep, and {USES_DEPTH_MAX} is the most"
                    )
                    findings.error(step.mark_of("uses"), "uses_depth", message, "let fewer of them stand in each other")
                    deepest = USES_DEPTH_MAX  # told once, at the innermost that is too much
        open_now.pop()
        depths[name] = deepest
        return deepest

    for name in workflows:
        depth(name)


def _uses(workflow: Workflow) -> list[UsesStep]:
    return [step for step in workflow.every_step if isinstance(step, UsesStep)]


def _check_asked(step: AskingStep, workflow: Workflow, roster: Roster, findings: Findings) -> None:
    if step.asked in roster.agents:
        return
    mark, key = step.mark_of("agent"), "agent"
    if isinstance(step, ClassifyStep):
        own = step.classify.by is not None
        mark = step.classify.mark_of("by") if own else workflow.defaults.mark_of("by")
        if not own and workflow.defaults.by is None:
            mark = step.mark_of("classify")
        key = "by"
    message = f"there is no agent `{step.asked}`"
    hint = nearest(step.asked, roster.agents) or f"name one with `{key}:`, and declare it below `agents`"
    findings.error(mark, "unknown_agent", message, hint)


def check_agents(roster: Roster, findings: Findings) -> None:
    """Resources of the agents' own tools."""
    for agent in roster.agents.values():
        _check_sources(agent.tools, roster, findings)


def _check_tools(step: AgentStep, tools: Iterable[ToolEntry], roster: Roster, findings: Findings) -> None:
    agent = roster.agents.get(step.agent)
    if step.tools and agent is not None and agent.runner is not None:
        message = f"`tools` means nothing here: the agent `{step.agent}` is a program that has its own"
        findings.error(step.mark_of("tools"), "modifier", message, "remove it, or ask an agent with a `model`")
    _check_sources(tools, roster, findings)


def _check_sources(tools: Iterable[ToolEntry], roster: Roster, findings: Findings) -> None:
    for entry in tools:
        if entry.resource is not None:
            _check_resource(entry.resource, entry.mark_of("from"), True, roster, findings)


def _check_variables(step: CodeStep, findings: Findings) -> None:
    """The inputs of a body can be its variables."""
    for name in step.inputs:
        if cannot_name_variable(name):
            message = f"`{name}` is a word of Python and cannot be a variable"
            findings.error(step.mark_of("inputs", name), "reserved_name", message, "choose another name")


def _check_resource(name: str, mark: Mark, is_server: bool, roster: Roster, findings: Findings) -> None:
    """The resource exists and is an MCP server, or a webhook."""
    resource = roster.resources.get(name)
    if resource is None:
        hint = nearest(name, roster.resources) or f"declare it in `.github/bot.yml`: `resources: {{{name}: …}}`"
        findings.error(mark, "unknown_resource", f"there is no resource `{name}`", hint)
    elif (resource.kind == "webhook") is is_server:
        wanted = "an MCP server" if is_server else "a webhook"
        fitting = [one for one, other in roster.resources.items() if (other.kind == "webhook") is not is_server]
        message = f"the resource `{name}` is {'a webhook' if is_server else 'an MCP server'}, and {wanted} is needed"
        hint = f"these are: {listing(fitting)}" if fitting else "declare one below `resources`"
        findings.error(mark, "resource_kind", message, hint)


def _check_form(step: AskStep, findings: Findings) -> None:
    """Keys that a form writes are among its questions."""
    ids = [question.id for question in step.questions]
    for place, key in enumerate(step.writes):
        if key not in ids:
            message = f"the form has no question `{key}`, so that nothing gives this key"
            findings.error(step.mark_of("writes", place), "writes", message, nearest(key, ids))


def _check_uses(step: UsesStep, workflow: Workflow, frames: Frames, roster: Roster, findings: Findings) -> None:
    used = roster.workflows.get(step.uses)
    if used is None:
        message, hint = f"there is no workflow `{step.uses}`", nearest(step.uses, roster.workflows)
        if step.uses in roster.agents:
            message, hint = f"`{step.uses}` is an agent, and no workflow", "ask it in a step of kind `agent`"
        findings.error(step.mark_of("uses"), "unknown_workflow", message, hint)
        return
    if used.export is None:
        message = f"the workflow `{step.uses}` has no `export`, so that using it would give nothing"
        hint = f"add `export: {{from: [{used.steps[-1].id}]}}` to it, in {used.mark}"
        findings.error(step.mark_of("uses"), "export", message, hint)
    for name, value in step.inputs.items():
        declared = used.inputs.get(name)
        mark = step.mark_of("inputs", name)
        if declared is None:
            message = f"the workflow `{step.uses}` has no input `{name}`"
            hint = nearest(name, used.inputs) or f"it takes none; its params are given as {listing(used.params)}"
            findings.error(mark, "unknown_input", message, hint if used.inputs or used.params else "remove it")
            continue
        if message := _unfit_secret(step, name, declared, workflow):
            findings.error(mark, "secret_input", message, "write its name, or hand on an input that is a secret")
            continue
        message = _misfit(step, name, value, declared, workflow, frames)
        if message:
            findings.error(mark, "input_type", message, f"`{name}` is declared in {declared.mark}")
    for name, declared in used.inputs.items():
        if name not in step.inputs and declared.required and declared.default is None:
            message = f"the workflow `{step.uses}` needs the input `{name}`"
            mark = step.mark_of("inputs") if step.inputs else step.mark_of("uses")
            findings.error(mark, "missing_input", message, f"add `{name}: …` below `inputs`")


def _check_values(
    step: AskingStep | RunStep | CodeStep, workflow: Workflow, frames: Frames, findings: Findings
) -> None:
    """A value whose type is told is of it, as far as it stands here or its producer declares it."""
    for name, given in step.inputs.items():
        if not isinstance(given, ValueInput) or given.type is None:
            continue
        template = given.template("value") if isinstance(given.value, str) else None
        if template is not None and template.references:
            schema = token_schema(template, workflow, frames)
            whole = len(template.parts) == 1
            got = kind_of(schema) if schema is not None and not fits(schema, given.type) else ""
            got = got or ("text with a value in it" if not whole and not fits({"type": "string"}, given.type) else "")
        else:
            schema = {"type": json_type(given.value)}
            got = "" if fits(schema, given.type) else kind_of(schema)
        if got:
            message = f"`{name}` is to be of type `{given.type}`, and this is {got}"
            findings.error(given.mark_of("value"), "input_type", message, "mend the value, or its `type`")


def _misfit(step: UsesStep, name: str, value: object, declared: Declared, workflow: Workflow, frames: Frames) -> str:
    """Why what stands at an input cannot be of its declared type; empty where it can, or nothing is known."""
    kind = declared.type
    template = step.template("inputs", name) if isinstance(value, str) else None
    if template is None or not template.references:
        if kind in ("file", "secret") and not isinstance(value, str):
            return f"`{name}` is a {kind}, and this is no text"
        if value is None or not isinstance(value, (str, int, float)):
            return f"`{name}` is of type `{declared.type}`, and takes neither lists nor mappings nor nothing"
        _, violation = declared._take(name, value)
        return violation.message if violation is not None else ""
    schema = token_schema(template, workflow, frames)
    if schema is None or fits(schema, kind) or schema.get("type") == "string":
        return ""  # text is parsed to the declared type when the run begins
    return f"`{name}` is of type `{declared.type}`, and {template.text} gives {kind_of(schema)}"


def _unfit_secret(step: UsesStep, name: str, declared: Declared, workflow: Workflow) -> str:
    """Why a secret's name cannot come from here, or go there; empty where it can.

    Only authors, the command line and the API choose which of the operator's secrets is read.
    """
    secrets = {("inputs", key) for key, one in workflow.inputs.items() if one.type == "secret"}
    for place, template in step.templates():
        for token in template.references if place[:2] == ("inputs", name) else ():
            if declared.type == "secret":
                if token.path not in secrets or len(template.parts) != 1 or token.has_default:
                    return f"`{name}` is a secret, whose name cannot come from {template.text}"
            elif token.path in secrets:
                return f"`{name}` is of type `{declared.type}`, and a secret is handed on as a secret alone"
    return ""


def token_schema(template: Template, workflow: Workflow, frames: Frames) -> Mapping[str, object] | None:
    """The JSON Schema of the value that a template of one token gives, where its producer declares it; else None."""
    only = template.parts[0] if len(template.parts) == 1 else None
    if not isinstance(only, Token) or only.has_default:
        return None
    match only.path:
        case ("steps", name, "result", *rest):
            owner = frames.step(name)
            return at(declared_schema(owner), rest) if isinstance(owner, WorkingStep) else None
        case ("steps", _, "exit_code"):
            return {"type": "integer"}
        case ("steps", _, "output" | "summary" | "outcome" | "ctx", *_) | ("params", _) | ("ctx", *_):
            return {"type": "string"}
        case ("inputs", name) if name in workflow.inputs:
            kinds = {"number": "number", "bool": "boolean", "text": "string", "enum": "string"}
            kind = kinds.get(workflow.inputs[name].type)
            return {"type": kind} if kind is not None else None
        case ("issue", "labels"):
            return {"type": "array"}
        case ("issue", "number"):
            return {"type": "integer"}
        case _:
            return None
