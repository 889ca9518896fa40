"""Answers of the built-ins that only tell: help, did-you-mean, status, why, config."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from math import inf

from bot.context import manifest_table
from bot.dispatch import inputs
from bot.dispatch.acceptance import Acceptance, Act, Asked, broken_body
from bot.dispatch.admission import Ceilings
from bot.dispatch.answering import linked
from bot.dispatch.builtins import BUILTINS, Offer, builtins_text, folded, help_text
from bot.dispatch.commands import Command
from bot.dispatch.halts import paused
from bot.dispatch.replies import Prepare, Replies
from bot.errors import UserError
from bot.github import RepositoryClient
from bot.model.context import Manifest
from bot.model.role import Role
from bot.model.state import RunState
from bot.publish import inline_code
from bot.publish.footer import duration
from bot.publish.gate import moment
from bot.store import Session, dispatches, gates, runs
from bot.store.gates import Asked as Gated
from bot.store.tables import Run, Thread
from bot.workflows import Budget, Configuration, DayLimits
from bot.workflows.answers import for_people


def help_body(acceptance: Acceptance) -> str:
    """What can be asked here; without a usable configuration the built-ins and why the rest is missing."""
    configured = acceptance.configured
    handle = acceptance.handle
    if configured is None or configured.configuration is None:
        told = broken_body(acceptance)
        table = builtins_text(BUILTINS, handle, Role.WRITE)
        return f"{told}\n\nUntil it is mended only the built-in commands work.\n\n{folded('Built-in commands', table)}"
    usable = configured.configuration
    offers = [_offer(usable, name) for name in usable.names()]
    return help_text(BUILTINS, offers, handle, usable.bot.default, usable.bot.trigger_role)


def _offer(usable: Configuration, name: str) -> Offer:
    workflow = usable.workflow_for(name)
    assert workflow is not None, "names() names only what runs"
    return Offer(name, workflow.description, inputs.words(workflow), _own_role(usable, name))


def _own_role(usable: Configuration, name: str) -> Role | None:
    """The least role that may run it, where that is another than may command."""
    role = usable.role_for(name)
    return role if role is not usable.bot.trigger_role else None


def did_you_mean(command: Command, acceptance: Acceptance) -> str:
    """A first word close to a command is not guessed at: nothing runs until the person says which it was."""
    handle = acceptance.handle
    return (
        f"Did you mean {inline_code(f'{handle} {command.suggestion}')}? Nothing was started for it. "
        f"To ask it as free text, write {inline_code(f'{handle} {command.name} …')}."
    )


def status_body(session: Session, thread: Thread, now: datetime, handle: str) -> str:
    """What is under way in this thread, in order."""
    lines = [_status_line(session, run, now) for run in dispatches.open_of_thread(session, thread.id)]
    halted = _halted(thread, now, handle)
    if lines:
        return "\n".join(["**Under way here**", "", *lines, *(["", halted] if halted else [])])
    newest = dispatches.of_thread(session, thread.id, 1)
    last = f" The last was r{newest[0].number} {inline_code(newest[0].workflow)}: {newest[0].state}." if newest else ""
    return f"Nothing is under way here.{last}" + (f" {halted}" if halted else "")


def _halted(thread: Thread, now: datetime, handle: str) -> str:
    """Why nothing new is started here."""
    if thread.paused:
        return f"{paused(thread)}; {inline_code(f'{handle} resume')} goes on."
    if thread.breaker_until is not None and now < thread.breaker_until:
        return (
            f"Too much was asked here within an hour; new requests are taken again at {thread.breaker_until:%H:%M} UTC."
        )
    return ""


def _status_line(session: Session, run: Run, now: datetime) -> str:
    asked = dispatches.get(session, run.dispatch_id)
    gated = gates.asking(session, run.id) if run.state is RunState.WAITING else []
    if run.started_at is None:
        state = f"queued for {_age((now - run.queued_at).total_seconds())}"
    elif run.state is RunState.WAITING:
        state = f"waits for {_age((now - (run.waiting_since or now)).total_seconds())}"
    else:
        state = f"running for {_age(run.worked(now))}"
    first = runs.get(session, run.retry_of) if run.retry_of is not None else None
    again = f", again r{first.number}" if first is not None else ""
    pieces = [f"- r{run.number}{again} {inline_code(run.workflow)}", state]
    if run.state is RunState.QUEUED:
        before = dispatches.before(session, run)
        pieces.append(f"{before} before it" if before else "next in this thread")
    pieces += [_question(session, each) for each in gated]
    pieces.append(f"asked by {inline_code(asked.actor)}")
    return " · ".join(pieces)


def _age(seconds: float) -> str:
    minutes = max(0, int(seconds)) // 60
    return duration(60 * minutes) if minutes else "less than a minute"


def _question(session: Session, asked: Gated) -> str:
    """What a run asks people now: where it stands, who can answer, and until when."""
    gate = asked.gate
    people = for_people(gate.who, inline_code(asked.dispatch.actor), inline_code).rstrip(",") or "nobody by name"
    until = f" until {moment(gate.deadline)}" if gate.deadline is not None else ""
    return f"{linked(session, asked)}: {people} can answer{until}"


def why_body(session: Session, thread: Thread, named: str | None) -> str:
    """The manifest of the run's newest prompt as a table. Raises `UserError` where there is none."""
    if named is not None:
        run = dispatches.numbered(session, thread.id, int(named[1:]))
        candidates = [run] if run else []
    else:
        candidates = list(dispatches.of_thread(session, thread.id))
    for run in candidates:
        if run.purged_at is not None:
            continue
        for attempt in reversed(runs.rows(session, run.id).attempts):
            if attempt.prompt_blob is not None and attempt.manifest is not None:
                head = f"**What r{run.number} saw** ({inline_code(run.workflow)}, step {inline_code(attempt.step)})"
                return f"{head}\n\n{manifest_table(Manifest.model_validate(attempt.manifest))}"
    if named is not None and not candidates:
        raise UserError("why_none", f"There is no {named} in this thread.")
    if named is not None and candidates[0].purged_at is not None:
        raise UserError("why_none", f"What {named} saw is kept no longer.")
    if named is not None:
        raise UserError("why_none", f"{named} has asked no model, so there is nothing to show.")
    if any(run.purged_at is not None for run in candidates):
        raise UserError("why_none", "What the runs of this thread saw is kept no longer.")
    raise UserError("why_none", "No run of this thread has asked a model yet.")


def config_body(acceptance: Acceptance) -> str:
    """Commit, roster, limits in force, and findings."""
    configured = acceptance.configured
    assert configured is not None, "`config` is asked by a mention, which reads the configuration"
    if configured.configuration is None:
        return broken_body(acceptance)
    text = _in_force(configured.configuration, configured.commit, acceptance)
    if configured.findings:
        text += "\n\n" + broken_body(acceptance)
    return text


def _in_force(usable: Configuration, commit: str, acceptance: Acceptance) -> str:
    bot = usable.bot
    at = f" at {commit[:7]}" if commit else ""
    limits = bot.limits
    rows = [
        ("default", inline_code(bot.default)),
        ("may command", f"{bot.trigger_role} and above"),
        ("recency window", f"{bot.history_comment_count} comments, authors {inline_code(bot.history.authors)}"),
        ("one run may spend", _amounts(limits.per_run) or "no limit here"),
        ("one person in 24 hours", _day(limits.per_actor_day)),
        ("this repository in 24 hours", _day(limits.per_repo_day)),
        ("one thread in 24 hours", _day(limits.per_issue_day)),
        ("one prompt", _prompt(limits.prompt_tokens)),
        ("ceilings of whoever runs me", _ceilings(acceptance.ceilings)),
    ]
    roster = [f"| {inline_code(name)} | {_entry(usable, name, acceptance.can_ask)} |" for name in usable.names()]
    return "\n".join(
        [
            f"**Configuration in force{at}**",
            "",
            "| | |",
            "|---|---|",
            *(f"| {name} | {value} |" for name, value in rows),
            "",
            "| roster | runs on |",
            "|---|---|",
            *roster,
        ]
    )


def _amounts(budget: Budget) -> str:
    pieces = [
        f"${budget.usd:g}" if budget.usd is not None else "",
        f"{budget.tokens:,} tokens" if budget.tokens is not None else "",
        f"{budget.minutes:g} minutes" if budget.minutes is not None else "",
    ]
    return ", ".join(filter(None, pieces))


def _prompt(tokens: int | None) -> str:
    if tokens is None:
        return "80 % of the model's window, 150,000 tokens where that is not known"
    return f"{tokens:,} tokens"


def _day(limits: DayLimits) -> str:
    pieces = [
        f"{limits.dispatches:,} requests" if limits.dispatches is not None else "",
        f"${limits.usd:g}" if limits.usd is not None else "",
    ]
    return ", ".join(filter(None, pieces)) or "no limit here"


def _ceilings(ceilings: Ceilings) -> str:
    pieces = [
        f"${ceilings.usd_run:g} a run" if ceilings.usd_run < inf else "",
        f"${ceilings.usd_day:g} in 24 hours, all repositories together" if ceilings.usd_day < inf else "",
    ]
    return ", ".join(filter(None, pieces)) or "none"


def _entry(usable: Configuration, name: str, can_ask: Callable[[str], bool] | None) -> str:
    """What it runs on, and where it has rules of its own, who may ask for it and what one run may spend."""
    workflow, role = usable.workflows.get(name), _own_role(usable, name)
    spends = _amounts(usable.budget_for(workflow)) if workflow is not None and workflow.budget is not None else ""
    own = [f"{role} and above" if role is not None else "", f"{spends} a run" if spends else ""]
    return "; ".join(filter(None, [_runs_on(usable, name, can_ask), *own]))


def _runs_on(usable: Configuration, name: str, can_ask: Callable[[str], bool] | None) -> str:
    agent = usable.agents.get(name)
    if agent is None or name in usable.workflows:
        return "a workflow"
    if agent.runner is not None:
        return inline_code(" ".join(agent.runner.exec))
    if not agent.model:
        return "the operator's default model"
    return inline_code(agent.model) + (" (no key here)" if can_ask is not None and not can_ask(agent.model) else "")


async def _help(replies: Replies, asked: Asked, acceptance: Acceptance, _client: RepositoryClient) -> Act:
    return replies.answer(asked, acceptance, help_body(acceptance))


async def _config(replies: Replies, asked: Asked, acceptance: Acceptance, _client: RepositoryClient) -> Act:
    return replies.answer(asked, acceptance, config_body(acceptance))


async def _status(replies: Replies, asked: Asked, acceptance: Acceptance, _client: RepositoryClient) -> Act:
    def act(session: Session, thread: Thread) -> None:
        replies.done(session, thread, asked, acceptance)
        replies.say(session, thread, asked, acceptance, status_body(session, thread, acceptance.now, acceptance.handle))

    return act


async def _why(replies: Replies, asked: Asked, acceptance: Acceptance, _client: RepositoryClient) -> Act:
    def act(session: Session, thread: Thread) -> None:
        try:
            body = why_body(session, thread, asked.command.params.get("run"))
        except UserError as error:
            replies.not_done(session, thread, asked, acceptance, error.message)
            return
        replies.done(session, thread, asked, acceptance)
        replies.say(session, thread, asked, acceptance, body)

    return act


PREPARES: Mapping[str, Prepare] = {"help": _help, "config": _config, "status": _status, "why": _why}
