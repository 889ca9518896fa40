"""Puts an agent step's context together: what it sees of the thread, inputs, texts, bound."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.context import (
    RULES,
    InputResult,
    Request,
    RunFacts,
    Sources,
    ThreadSnapshot,
    WindowPolicy,
    assemble,
    authors_needed,
    fence_value,
    gather,
    result_rules,
    select,
)
from bot.engine.attachments import asking_comment, asking_kind
from bot.engine.delivered import Delivered
from bot.engine.grant import names_secret
from bot.engine.projection import RUN_FILE
from bot.engine.run_inputs import secret_names
from bot.engine.step_inputs import Environment, wanted_inputs
from bot.model.codec import review_places
from bot.model.context import Context
from bot.model.role import Role
from bot.model.thread import Account, ReviewPlace
from bot.runners import Call, Limits, Runners, prompt_bound
from bot.steps import classification_schema, classification_task
from bot.store.runs import RunRows
from bot.workflows import Agent, Configuration, Workflow
from bot.workflows.results import TAG
from bot.workflows.step import AgentStep, AskingStep, ClassifyStep, CodeStep, RunStep
from bot.workflows.step_inputs import ExecInput as DeclaredExec
from bot.workflows.step_inputs import StepInput
from bot.workflows.triggers import EVENTS, OPENED
from bot.workspace import Sandbox, Workspace

RoleOf = Callable[[Account], Awaitable[Role]]
#: where a step's inputs are read, for what it may see
SourcesOf = Callable[[WindowPolicy], Sources]


@dataclass(frozen=True, slots=True)
class Bench:
    """What putting a context together needs beside the rows."""

    sandbox: Sandbox
    runners: Runners
    nonce_key: bytes
    redact: Callable[[str], str]
    handle: str


async def assemble_step(
    bench: Bench,
    rows: RunRows,
    configuration: Configuration,
    workflow: Workflow,
    step: AskingStep,
    agent: Agent,
    *,
    snapshot: ThreadSnapshot,
    role_of: RoleOf,
    sources: SourcesOf,
    workspace: Workspace,
    env: Mapping[str, str],
    scope: Mapping[str, object],
    resolve: Environment,
    handed: Delivered,
    readable: Sequence[Path] = (),
) -> Context:
    """The context of one attempt; `handed` is what the run itself adds.

    Raises `UserError` where a required input fails or the prompt is too large.
    """
    bot = configuration.bot
    policy = window_policy(rows, configuration, workflow, step)
    roles: dict[int, Role] = {}
    while needed := authors_needed(snapshot, policy, roles):
        roles |= {account.id: await role_of(account) for account in needed}
    inputs = await gathered(
        bench,
        rows,
        step.inputs,
        sources(policy),
        workspace=workspace,
        env=env,
        scope=scope,
        resolve=resolve,
        readable=readable,
    )
    system, task, warnings = _texts(bench, agent, step, scope)
    thread = rows.thread
    return assemble(
        key=bench.nonce_key,
        agent_prompt=system,
        facts=RunFacts(
            repository=f"{thread.owner}/{thread.name}",
            workflow=rows.run.workflow,
            step=step.id,
            asked_by=rows.dispatch.actor,
            goal=workflow.goal,
            run_file=RUN_FILE if workspace.mode != "none" else "",
        ),
        snapshot=snapshot,
        selection=select(snapshot, policy, roles),
        places=_places(rows, snapshot),
        inputs=inputs,
        request=_request(rows),
        task=task,
        run_context=handed.ambient.blocks(),
        references=handed.references,
        rework=handed.rework,
        rules=RULES if (schema := wanted(step)) is None else RULES + result_rules(schema, TAG),
        fidelity=handed.ambient.level,
        fidelity_reason=handed.ambient.reason,
        limit=bot.limits.prompt_tokens or _bound(bench, agent),
        warnings=warnings,
    )


def wanted(step: AskingStep) -> Mapping[str, Any] | None:
    """The schema of the result that the model has to give; None where it gives none."""
    if isinstance(step, ClassifyStep):
        return classification_schema(step.classify.labels)
    return step.result.checker.schema if step.result is not None else None


def window_policy(
    rows: RunRows, configuration: Configuration, workflow: Workflow, step: AskingStep | RunStep | CodeStep
) -> WindowPolicy:
    """Whose words a step may see. What a tool does on GitHub or at a resource counts like what a command does."""
    bot = configuration.bot
    offered = step.offered if isinstance(step, AgentStep) else ()
    return WindowPolicy(
        count=bot.history_comment_count,
        authors=bot.history.authors,
        bots=bot.history.bots,
        public=not rows.thread.private,
        writes=any(entry.needs & {"write", "intents"} for entry in offered),
        network=any(entry.resource is not None for entry in offered)
        or (bool(bot.workspace.hosts) and step.workspace != "none"),
        # a step that names a variable of the engine's or a secret holds something that is not everybody's
        secrets=any(value is None or "secrets." in value for value in _named(step, configuration).values())
        or names_secret(step, secret_names(workflow)),
        asked_by=Role(rows.dispatch.actor_role) if rows.dispatch.actor_role else Role.NONE,
    )


async def gathered(
    bench: Bench,
    rows: RunRows,
    inputs: Mapping[str, StepInput],
    sources: Sources,
    *,
    workspace: Workspace,
    env: Mapping[str, str],
    scope: Mapping[str, object],
    resolve: Environment,
    readable: Sequence[Path] = (),
) -> tuple[InputResult, ...]:
    """A step's inputs, computed now. Raises `UserError` where a required one fails."""
    return await gather(
        wanted_inputs(inputs, scope, resolve),
        sources=sources,
        sandbox=bench.sandbox,
        workspace=workspace.path,
        env=env,
        commit=workspace.commit or "",
        retry=f"{bench.handle} retry r{rows.run.number}",
        redact=bench.redact,
        readable=readable,
    )


def _texts(bench: Bench, agent: Agent, step: AskingStep, scope: Mapping[str, object]) -> tuple[str, str, Sequence[str]]:
    """System and task with their templates filled; foreign values stand in fences of their own."""

    def fenced(path: str, text: str) -> str:
        return "\n" + fence_value(bench.nonce_key, "value", path, "untrusted", text)

    texts: list[str] = []
    warnings: list[str] = []
    task = (
        step.classify.subject if isinstance(step, ClassifyStep) else step.task if isinstance(step, AgentStep) else None
    )
    for template in (agent.system, task):
        if template is None:
            texts.append("")
            continue
        rendered = template.render(scope, fence=fenced)
        texts.append(rendered.text)
        warnings.extend(rendered.warnings)
    asked = classification_task(texts[1], step.classify.labels) if isinstance(step, ClassifyStep) else texts[1]
    return texts[0], asked, warnings


def _bound(bench: Bench, agent: Agent) -> int:
    limits = Limits(tokens=0, requests=0, usd=None, seconds=0)
    argv = agent.runner.exec if agent.runner else ()
    call = Call("", "", limits, model=agent.model or "", fallback=agent.fallback, argv=argv)
    return prompt_bound(bench.runners.models_of(call), bench.runners.providers)


def _named(step: AskingStep | RunStep | CodeStep, configuration: Configuration) -> dict[str, str | None]:
    """Every variable that the step's commands are given by name."""
    names: dict[str, str | None] = {**configuration.bot.workspace.env, **getattr(step, "env", {})}
    for each in step.inputs.values():
        names |= each.env if isinstance(each, DeclaredExec) else {}
    return names


def _places(rows: RunRows, snapshot: ThreadSnapshot) -> list[ReviewPlace]:
    """Where the request stands in a pull request's changes: one place, or all those of the review that asked."""
    if (of_review := review_places(rows.dispatch.trigger)) and not rows.dispatch.depth:
        return of_review
    return [] if snapshot.place is None else [snapshot.place]


def _request(rows: RunRows) -> Request:
    dispatch = rows.dispatch
    name, comment = dispatch.trigger.get("name"), asking_comment(rows)
    event = comment is None and name in EVENTS and name != OPENED
    if dispatch.depth and not event:  # a model wrote it
        return Request(dispatch.request, f"a run that {dispatch.actor} started", "untrusted")
    kind = asking_kind(rows).replace("_", " ")
    what = "issue body" if comment is None else f"{kind} {comment}"
    what = f"trigger {name}" if event else what
    # a retry has the words of another; the role is then the lesser of both
    author = dispatch.trigger.get("actor") or dispatch.actor
    role = Role(dispatch.actor_role) if dispatch.actor_role else Role.NONE
    return Request(
        dispatch.request,
        f"{what} by {author} ({role})",
        "writer" if role.at_least(Role.WRITE) else "reader",
    )
