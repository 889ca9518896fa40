"""What people tell a run while it works (`steer`), as its agents read it at their next turn."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from bot.context import fence, sanitise
from bot.engine.assembly import Bench, RoleOf
from bot.engine.graph import End
from bot.errors import BotError, Lost
from bot.model.clock import Clock
from bot.model.context import Block, Manifest, SteerRecord, Trust
from bot.model.role import Role
from bot.model.slot import Slot
from bot.model.state import AttemptState, RunState
from bot.model.thread import Account
from bot.publish import Speaker, inline_code, note_body
from bot.runners import Said
from bot.store import Session, Store, steering
from bot.store.runs import RunRows
from bot.store.tables import Attempt, Steer
from bot.workflows import Configuration
from bot.workflows.step import AskingStep, walk

#: what stands above the block: the engine's own words
_HEAD = "Somebody who may command says this while you work. It counts as the request does, and it is newer."


async def listen(
    store: Store, clock: Clock, bench: Bench, role_of: RoleOf, attempt_id: str, known: Collection[str]
) -> Sequence[Said]:
    """What an attempt has not heard yet, recorded as read by it now; `known` is what its conversation holds."""
    found = await store.read(lambda session: steering.unheard(session, attempt_id, known))
    if not found:
        return ()
    blocks = {one.id: await _block(one, bench, role_of) for one in found}

    def work(session: Session) -> None:
        now = clock.now()
        if session.get_one(Attempt, attempt_id).state is not AttemptState.RUNNING:
            raise Lost("the attempt")  # what was said is for whoever goes on with the run
        steering.heard(session, attempt_id, list(blocks), now)
        attempt = session.get_one(Attempt, attempt_id)
        seen = Manifest.model_validate(attempt.manifest or {})
        records = [_record(one, blocks[one.id][0], now.isoformat()) for one in found]
        steers = tuple({one.id: one for one in (*seen.steers, *records)}.values())
        attempt.manifest = seen.model_copy(update={"steers": steers}).model_dump(mode="json")
        session.add(attempt)

    await store.write(work)
    return [Said(one.id, f"{_HEAD}\n\n{blocks[one.id][1]}") for one in found]


async def _block(one: Steer, bench: Bench, role_of: RoleOf) -> tuple[Block, str]:
    """The words as a block, and as it stands in the message."""
    try:
        role = await role_of(Account(one.by_id, one.by))
    except BotError:  # whoever said it was asked about when it was said; only how it is labelled is not known now
        role = Role.NONE
    where = f"comment {one.comment_id}" if one.comment_id is not None else "the issue's text"
    source = f"{where} by {one.by} ({role}), {one.at:%Y-%m-%d %H:%M} UTC"
    trust: Trust = "writer" if role.at_least(Role.WRITE) else "reader"
    block = Block("steer", source, trust, bench.redact(sanitise(one.text).text))
    return block, fence(bench.nonce_key, block)


def _record(one: Steer, block: Block, read_at: str) -> SteerRecord:
    size = len(block.text.encode("utf-8", "replace"))
    return SteerRecord(id=one.id, by=one.by, at=one.at.isoformat(), read_at=read_at, bytes=size)


def say_late(session: Session, speaker: Speaker, rows: RunRows, end: End, configuration: Configuration | None) -> None:
    """Tell in one line what people said that nobody read. Whoever cancels a run wants nothing of it any more."""
    unread = steering.late(session, rows.run.id)
    if not unread or end.state is RunState.CANCELLED:
        return
    people = list(dict.fromkeys(one.by for one in unread))
    *first, last = (f"@{one}" for one in people)
    who = f"{', '.join(first)} and {last}" if first else last
    names = _programs(rows, configuration, min(one.at for one in unread)) if configuration is not None else []
    run = "run as programs, which have" if len(names) > 1 else "runs as a program, which has"
    why = f": {' and '.join(map(inline_code, names))} {run} no turns" if names else ""
    speaker.comment(
        session,
        rows.thread,
        Slot(f"run/{rows.run.id}", "late"),
        purpose="command",
        body=note_body(f"What {who} said to r{rows.run.number} came too late{why}."),
        run=rows.run,
        mentions=() if configuration is not None and configuration.bot.publish.mentions == "none" else people,
    )


def _programs(rows: RunRows, configuration: Configuration, since: datetime) -> list[str]:
    """The agents that were at work since then and are programs."""
    workflow = configuration.workflow_for(rows.run.workflow)
    asked = {step.id: step.asked for step in walk(workflow.steps if workflow else ()) if isinstance(step, AskingStep)}
    at_work = {each.step for each in rows.attempts if each.ended_at is None or each.ended_at >= since}
    agents = {agent for step, agent in asked.items() if step in at_work}
    return sorted(name for name in agents if configuration.agents[name].runner is not None)
