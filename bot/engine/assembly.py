"""Puts an agent step's context together: what it sees of the thread, inputs, texts, bound."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from bot.context import (
    RULES,
    ExecInput,
    Request,
    RunFacts,
    ThreadSnapshot,
    WindowPolicy,
    assemble,
    authors_needed,
    compute,
    fence_value,
    result_rules,
    select,
)
from bot.engine.delivered import Delivered
from bot.model.context import Context
from bot.model.role import Role
from bot.model.thread import Account
from bot.runners import Call, Limits, Runners, prompt_bound
from bot.store.runs import RunRows
from bot.workflows import Agent, AgentStep, Configuration, Workflow
from bot.workflows import ExecInput as Declared
from bot.workflows.results import TAG
from bot.workspace import Sandbox, Workspace

Environment = Callable[[Mapping[str, str | None]], dict[str, str]]
RoleOf = Callable[[Account], Awaitable[Role]]


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
    step: AgentStep,
    agent: Agent,
    *,
    snapshot: ThreadSnapshot,
    role_of: RoleOf,
    workspace: Workspace,
    env: Mapping[str, str],
    scope: Mapping[str, object],
    resolve: Environment,
    handed: Delivered,
) -> Context:
    """The context of one attempt; `handed` is what the run itself adds.

    Raises `UserError` where a required input fails or the prompt is too large.
    """
    bot = configuration.bot
    policy = WindowPolicy(
        count=bot.history_comment_count,
        authors=bot.history.authors,
        bots=bot.history.bots,
        public=not rows.thread.private,
        # a step that names a variable of the engine's holds something that is not everybody's
        secrets=any(value is None for value in _named(step, configuration).values()),
        asked_by=Role(rows.dispatch.actor_role) if rows.dispatch.actor_role else Role.NONE,
    )
    roles: dict[int, Role] = {}
    while needed := authors_needed(snapshot, policy, roles):
        roles |= {account.id: await role_of(account) for account in needed}
    inputs = await compute(
        [_exec_input(name, each, scope, resolve) for name, each in step.inputs.items()],
        sandbox=bench.sandbox,
        workspace=workspace.path,
        env=env,
        commit=workspace.commit or "",
        retry=f"{bench.handle} {rows.run.workflow}",
        redact=bench.redact,
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
        ),
        snapshot=snapshot,
        selection=select(snapshot, policy, roles),
        inputs=inputs,
        request=_request(rows),
        task=task,
        run_context=handed.ambient.blocks(),
        references=handed.references,
        rework=handed.rework,
        rules=RULES if step.result is None else RULES + result_rules(step.result.checker.schema, TAG),
        fidelity=handed.ambient.level,
        fidelity_reason=handed.ambient.reason,
        limit=bot.limits.prompt_tokens or _bound(bench, agent),
        warnings=warnings,
    )


def _texts(bench: Bench, agent: Agent, step: AgentStep, scope: Mapping[str, object]) -> tuple[str, str, Sequence[str]]:
    """System and task with their templates filled; foreign values stand in fences of their own."""

    def fenced(path: str, text: str) -> str:
        return "\n" + fence_value(bench.nonce_key, "value", path, "untrusted", text)

    texts: list[str] = []
    warnings: list[str] = []
    for template in (agent.system, step.task):
        if template is None:
            texts.append("")
            continue
        rendered = template.render(scope, fence=fenced)
        texts.append(rendered.text)
        warnings.extend(rendered.warnings)
    return texts[0], texts[1], warnings


def _bound(bench: Bench, agent: Agent) -> int:
    limits = Limits(tokens=0, requests=0, usd=None, seconds=0)
    argv = agent.runner.exec if agent.runner else ()
    call = Call("", "", limits, model=agent.model or "", fallback=agent.fallback, argv=argv)
    return prompt_bound(bench.runners.models_of(call), bench.runners.providers)


def _named(step: AgentStep, configuration: Configuration) -> dict[str, str | None]:
    """Every variable that the step's commands are given by name."""
    names: dict[str, str | None] = dict(configuration.bot.workspace.env)
    for each in step.inputs.values():
        names |= each.env if isinstance(each, Declared) else {}
    return names


def _request(rows: RunRows) -> Request:
    dispatch = rows.dispatch
    what = "issue body" if dispatch.comment_id is None else f"comment {dispatch.comment_id}"
    role = Role(dispatch.actor_role) if dispatch.actor_role else Role.NONE
    return Request(
        dispatch.request,
        f"{what} by {dispatch.actor} ({role})",
        "writer" if role.at_least(Role.WRITE) else "reader",
    )


def _exec_input(name: str, each: Declared, scope: Mapping[str, object], resolve: Environment) -> ExecInput:
    return ExecInput(
        name=name,
        argv=each.argv(scope).argv,
        where=str(each.mark),
        command=each.command_text,
        timeout=each.timeout,
        required=each.required,
        max_bytes=each.max_bytes,
        env=resolve(each.environment(scope)),
    )
