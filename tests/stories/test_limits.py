"""Limits, breakers and quotas: what stops a request, that it is told, and that everybody accepted has one end."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest
from sqlmodel import select

from bot.model.role import Role
from bot.model.state import DispatchState, RunState
from bot.store import Session
from bot.store.tables import Attempt, Dispatch, Outbox, Run, Spend, Thread
from tests.fake_llm import FakeLLM, Reply
from tests.stage import Stage, open_stage
from tests.stories.talking import KEY, MODEL, agent, provider, stage_with

WORKFLOWS = """\
workflows:
  quick: {steps: [{id: only, run: echo done}]}
  mute: {steps: [{id: only, run: "true"}]}
  fails: {steps: [{id: only, run: exit 3}]}
  slow: {steps: [{id: only, run: sleep 60}]}
  asks: {steps: [{id: go, ask: Shall we?}]}
  late: {budget: {minutes: 0.01}, steps: [{id: only, run: sleep 60}]}
  thinks_and_fails: {steps: [{id: think, agent: helper}, {id: only, run: exit 3}]}
  thinks_and_asks: {steps: [{id: think, agent: helper}, {id: go, ask: Shall we?}]}
  thinks_twice: {steps: [{id: think, agent: helper}, {id: again, agent: helper}]}
"""
PLAIN = f"version: 1\nagents:\n  helper: {{model: demo:helper, prompt: p}}\n{WORKFLOWS}"
PAID = Reply("An answer.", input_tokens=1_000_000, output_tokens=1_000_000)  # $2.25 by the list price


async def ends(stage: Stage) -> dict[str, tuple[RunState, int]]:
    """Of each run its state, and how many comments say that it ended."""

    def read(session: Session) -> dict[str, tuple[RunState, int]]:
        told = session.exec(select(Outbox).where(Outbox.action == "comment", Outbox.purpose != "gate")).all()
        return {
            f"r{run.number}": (run.state, sum(one.run_id == run.id for one in told))
            for run in session.exec(select(Run)).all()
        }

    return await stage.bot.store.read(read)


async def refused(stage: Stage) -> list[str]:
    """The reasons of refused requests."""

    def read(session: Session) -> list[str]:
        found = session.exec(select(Dispatch).where(Dispatch.state == DispatchState.REFUSED)).all()
        return [one.reason.partition(":")[0] for one in found]

    return await stage.bot.store.read(read)


async def under_way(stage: Stage) -> None:
    """Until a step is under way."""
    async with asyncio.timeout(20):
        while not await stage.bot.store.read(
            lambda session: any(not one.state.ended for one in session.exec(select(Attempt)))
        ):
            await asyncio.sleep(0.01)


# -- the breaker of a thread -------------------------------------------------------------------------------------------


async def test_more_than_twenty_requests_an_hour_trip_the_breaker(tmp_path: Path) -> None:
    """The 21st is refused, told once; built-ins and other threads go on; an hour later it is over."""
    async with open_stage(tmp_path, {".github/bot.yml": PLAIN}) as stage:
        other = stage.world.open_issue(stage.repo, "sam", "another", "body")
        await stage.says("ana", "\n".join(f"@bot mute {n}" for n in range(20)))
        assert len(await ends(stage)) == 20
        asked = [await stage.says("meg", "@bot mute more") for _ in range(2)]
        assert [stage.reactions(one) for one in asked] == [["confused"]] * 2
        (told,) = stage.replies()
        assert re.fullmatch(
            r"Nothing was started: more than 20 requests were made in this thread within an hour; "
            r"new ones are taken again at \d\d:\d\d UTC\.",
            told,
        )
        assert await refused(stage) == ["breaker", "breaker"]
        await stage.says("meg", "@bot status")
        assert "Too much was asked here within an hour" in stage.replies()[-1]
        await stage.says("ana", "@bot quick", other.number)
        assert "done" in stage.replies(other.number)[-1]

        def later(session: Session) -> None:
            for thread in session.exec(select(Thread).where(Thread.number == 1)):
                assert thread.breaker_until is not None
                thread.breaker_until -= timedelta(hours=1)
                session.add(thread)
            for one in session.exec(select(Dispatch)):
                one.created_at -= timedelta(hours=1)
                session.add(one)

        await stage.bot.store.write(later)
        await stage.says("ana", "@bot quick")
        assert "done" in stage.replies()[-1]


# -- limits of a day ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ("per_actor_day: {dispatches: 1}", "ana has used up the 1 requests that `limits.per_actor_day` allows"),
        ("per_issue_day: {dispatches: 1}", "this thread has used up the 1 requests that `limits.per_issue_day` allows"),
        ("per_repo_day: {dispatches: 1}", "this repository has used up the 1 requests that `limits.per_repo_day`"),
        ("per_actor_day: {usd: 1}", "ana has used up the $1 that `limits.per_actor_day` allows"),
        ("per_issue_day: {usd: 1}", "this thread has used up the $1 that `limits.per_issue_day` allows"),
        ("per_repo_day: {usd: 1}", "this repository has used up the $1 that `limits.per_repo_day` allows"),
    ],
)
async def test_a_limit_of_a_day(tmp_path: Path, limits: str, told: str) -> None:
    """Told once, then 😕; a retry counts as much as a request."""
    yml = agent("[]", f"limits: {{per_run: {{usd: 5}}, {limits}}}\n")
    with provider(PAID) as fake:
        async with stage_with(tmp_path, fake, yml) as stage:
            await stage.says("ana", "@bot helper look")
            asked = [await stage.says("ana", words) for words in ("@bot helper again", "@bot retry")]
            assert [stage.reactions(one) for one in asked] == [["confused"]] * 2
            assert len(stage.replies()) == 2
            assert told in stage.replies()[-1]
            assert stage.replies()[-1].endswith("; ask again later, or raise that limit.")
            assert await refused(stage) == [limits.partition(":")[0]] * 2
        assert len(fake.requests) == 1


async def test_the_operators_ceiling_refuses_at_acceptance_too(tmp_path: Path) -> None:
    """Whatever the repository's own limits say; told once."""
    with provider(PAID) as fake:
        async with stage_with(tmp_path, fake, agent("[]", "limits: {per_run: {usd: 5}}\n"), max_usd_day=1.0) as stage:
            await stage.says("ana", "@bot helper look")
            asked = [await stage.says("meg", "@bot helper again") for _ in range(2)]
            assert [stage.reactions(one) for one in asked] == [["confused"]] * 2
            (told,) = stage.replies()[1:]
            assert told == (
                "Nothing was started: the $1 in 24 hours are spent that whoever runs me allows for all repositories; "
                "ask again later."
            )
            assert await refused(stage) == ["operator_day"] * 2
        assert len(fake.requests) == 1


# -- limits of one run -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "limits", "told"),
    [
        ("usd=2", "", "Exceeded the `cost_limit` of 2.0"),
        ("tokens=1000", "", "Exceeded the total_tokens_limit of 1000 "),
        ("", "limits: {per_run: {usd: 2, tokens: 9000000}}\n", "Exceeded the `cost_limit` of 2.0"),
        ("usd=9", "limits: {per_run: {usd: 2, tokens: 9000000}}\n", "Exceeded the `cost_limit` of 2.0"),
    ],
)
async def test_a_runs_own_budget(tmp_path: Path, words: str, limits: str, told: str) -> None:
    """The request's words tighten what the file allows and never widen it; what was spent is told."""
    generous = limits or "limits: {per_run: {usd: 9, tokens: 9000000}}\n"
    with provider(PAID) as fake:
        async with stage_with(tmp_path, fake, agent("[]", generous + WORKFLOWS)) as stage:
            asked = await stage.says("ana", f"@bot thinks_twice {words} look")
            (said,) = stage.replies()
            assert " failed: `budget_exceeded` " in said
            assert told in said
            assert "2,000,000 tokens · $2.25" in said
            assert stage.reactions(asked) == ["confused"]
        assert len(fake.requests) == 1


async def test_an_amount_that_is_none(tmp_path: Path) -> None:
    """Nothing is started."""
    async with open_stage(tmp_path, {".github/bot.yml": PLAIN}) as stage:
        asked = await stage.says("ana", "@bot quick usd=lots")
        assert "`usd` is an amount" in stage.replies()[-1]
        assert (stage.reactions(asked), await ends(stage)) == (["confused"], {})


# -- an exhausted quota ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "reply"),
    [
        (MODEL, Reply(status=429, code="insufficient_quota", type="insufficient_quota", message="No quota is left.")),
        (
            "anthropic:claude-haiku-4-5",
            Reply(status=400, type="invalid_request_error", message="Your credit balance is too low to use the API."),
        ),
    ],
)
async def test_an_exhausted_quota_is_told_and_not_tried_again(tmp_path: Path, model: str, reply: Reply) -> None:
    """In the provider's words, with who can mend it; one request was made."""
    with FakeLLM() as fake:
        fake.script(reply)
        more = {"anthropic_url": fake.anthropic_url, "anthropic_key": KEY}
        async with stage_with(tmp_path, fake, agent("[]", model=model), **more) as stage:
            asked = await stage.says("ana", "@bot helper look")
            (said,) = stage.replies()
            assert said.startswith(f"**`helper` failed: `quota_exhausted` the provider of `{model}` says that this")
            assert reply.message.rstrip(".") in said
            assert "it is not tried again" in said
            assert stage.reactions(asked) == ["confused"]
        assert len(fake.requests) == 1


# -- one end for everybody ---------------------------------------------------------------------------------------------


async def _cancelled_running(stage: Stage) -> None:
    stage.world.comment(stage.repo, 1, "ana", "@bot slow")
    await under_way(stage)
    await stage.says("meg", "@bot cancel\n@bot stop\n@bot cancel r1")


async def _cancelled_queued(stage: Stage) -> None:
    stage.world.comment(stage.repo, 1, "ana", "@bot slow")
    await under_way(stage)
    stage.world.comment(stage.repo, 1, "ana", "@bot quick")
    await stage.deliverer.settle()
    await stage.says("meg", "@bot cancel r2\n@bot cancel")


async def _cancelled_waiting(stage: Stage) -> None:
    await stage.says("ana", "@bot asks")
    await stage.says("meg", "@bot stop\n@bot cancel")


async def _role_revoked(stage: Stage) -> None:
    """While it waited behind another."""
    stage.world.comment(stage.repo, 1, "meg", "@bot slow")
    await under_way(stage)
    stage.world.comment(stage.repo, 1, "ana", "@bot quick")
    async with asyncio.timeout(20):
        while len(await ends(stage)) < 2:
            await asyncio.sleep(0.01)

    def older(session: Session) -> None:
        for one in session.exec(select(Dispatch)):
            one.created_at -= timedelta(minutes=1)
            session.add(one)

    await stage.bot.store.write(older)
    stage.world.set_role(stage.repo, "ana", Role.READ)
    await stage.says("meg", "@bot cancel r1")


def _said(words: str) -> Callable[[Stage], Awaitable[None]]:
    async def say(stage: Stage) -> None:
        await stage.says("ana", f"@bot {words}")

    return say


@pytest.mark.parametrize(
    ("happens", "expected"),
    [
        (_said("quick"), {"r1": (RunState.SUCCEEDED, 1)}),
        (_said("mute"), {"r1": (RunState.SUCCEEDED, 0)}),  # 🚀 is its end: it has nothing to say
        (_said("fails"), {"r1": (RunState.FAILED, 1)}),
        (_said("late"), {"r1": (RunState.TIMED_OUT, 1)}),
        (_said("quick\n@bot quick usd=1\n@bot fails"), {f"r{n}": (state, 1) for n, state in
            ((1, RunState.SUCCEEDED), (2, RunState.SUCCEEDED), (3, RunState.FAILED))}),
        (_cancelled_running, {"r1": (RunState.CANCELLED, 1)}),
        (_cancelled_queued, {"r1": (RunState.CANCELLED, 1), "r2": (RunState.CANCELLED, 1)}),
        # what `stop` ends is named in its one comment
        (_cancelled_waiting, {"r1": (RunState.CANCELLED, 0)}),
        (_role_revoked, {"r1": (RunState.CANCELLED, 1), "r2": (RunState.CANCELLED, 1)}),
    ],
)  # fmt: skip
async def test_everybody_accepted_has_one_end(
    tmp_path: Path, happens: Callable[[Stage], Awaitable[None]], expected: dict[str, tuple[RunState, int]]
) -> None:
    """Exactly one comment says how a run ended, whatever is said about it besides; 👀 is gone."""
    async with open_stage(tmp_path, {".github/bot.yml": PLAIN}) as stage:
        await happens(stage)
        assert await ends(stage) == expected
        asked = [c for c in stage.world.comments(stage.repo, 1) if c.author.login == "ana"]
        signs = {RunState.SUCCEEDED: "rocket", RunState.CANCELLED: None}
        last = list(expected.values())[-1][0]
        sign = signs.get(last, "confused")
        seen = stage.reactions(asked[-1])
        assert "eyes" not in seen
        assert (sign in seen) if sign else seen == []


@pytest.mark.parametrize(("workflow", "ended"), [("thinks_and_fails", "failed"), ("thinks_and_asks", "was cancelled")])
async def test_what_was_spent_is_told_at_every_end(tmp_path: Path, workflow: str, ended: str) -> None:
    """Failures and cancellations cost as much as results."""
    limits = "limits: {per_run: {usd: 9, tokens: 9000000}}\n"
    with provider(PAID) as fake:
        async with stage_with(tmp_path, fake, agent("[]", limits + WORKFLOWS)) as stage:
            await stage.says("ana", f"@bot {workflow}")
            await stage.says("meg", "@bot cancel")
            (said,) = [body for body in stage.replies() if f"{ended}" in body]
            assert re.search(rf"<sub>\[?r1\S* · {workflow.replace('_', '.*')} · .*2,000,000 tokens · \$2\.25", said), (
                said
            )

            def spent(session: Session) -> float:
                return sum(one.cost or 0.0 for one in session.exec(select(Spend)))

            assert await stage.bot.store.read(spent) == pytest.approx(2.25)
