"""What a run's gates say in its thread: asked once, and in the same comment what became of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlmodel import col, select

from bot.engine import commit
from bot.engine.commit import Performed, Terms
from bot.engine.graph import End
from bot.engine.report import Reporter
from bot.model.outcome import Done, Question, Wait
from bot.model.state import RunState
from bot.publish import Redactor, Speaker
from bot.store import Session, Store, gates, runs
from bot.store.runs import RunRows
from bot.store.tables import Gate, Outbox
from bot.workflows.answers import taken
from tests.engine.play import open_gate, workflow_of
from tests.engine.scene import Case, open_case
from tests.github.fake import FakeClock
from tests.rows import NOW


class Asking:
    """A run whose gates and end go through the reporter."""

    def __init__(self, case: Case) -> None:
        self.case = case
        reporter, bot = Reporter(Speaker(Redactor([]), FakeClock(NOW))), case.configuration.bot

        def say(session: Session, rows: RunRows, end: End) -> None:
            reporter.end(session, rows, end, {step.id: step for step in case.terms.workflow.steps}, bot, "@bot")

        def ask(session: Session, rows: RunRows, gate: Gate) -> None:
            reporter.ask(session, rows, gate, bot, "@bot")

        self.terms: Terms = replace(case.terms, say=say, ask=ask)

    async def go(self, now: Any = NOW) -> commit.Advance:
        """Advance, after a claim where the run waited or was queued."""
        if (await self.case.run()).state is not RunState.RUNNING:
            assert await self.case.store.write(lambda s: runs.claim(s, "me", now)) == self.case.run_id
        return await self.case.store.write(lambda s: commit.advance(s, self.case.run_id, self.terms, now))

    async def answer(self, **answer: Any) -> None:
        def work(session: Session) -> None:
            gate = session.get_one(Gate, open_gate(runs.rows(session, self.case.run_id)).id)
            gates.settle(session, gate, {**taken(gate.options, answer), "by": "operator", "channel": "api"})

        await self.case.store.write(work)

    async def said(self) -> list[Outbox]:
        """Comments of gates, oldest first."""
        query = select(Outbox).where(Outbox.purpose == "gate").order_by(col(Outbox.id))
        return await self.case.store.read(lambda s: list(s.exec(query)))

    async def posted(self) -> list[tuple[str, str]]:
        """Action and text of everything but gates, oldest first."""
        query = select(Outbox).where(Outbox.purpose != "gate").order_by(col(Outbox.id))
        return await self.case.store.read(lambda s: [(row.action, row.body) for row in s.exec(query)])


async def asking(store: Store, steps: str) -> Asking:
    """A run of these steps that has come as far as it can by itself."""
    here = Asking(await open_case(store, workflow_of(steps)))
    await here.go()
    return here


async def test_asked_then_answered(store: Store) -> None:
    """One comment: whom it is for and how to answer, later who answered what."""
    here = await asking(store, "- {id: ok, ask: Fine?, show: It is., who: {role: maintain, dashboard: true}}")
    (asked,) = await here.said()
    gate = open_gate(await here.case.rows())
    assert asked.slot == f"run/{here.case.run_id}|/|ok|1|gate|0"
    words = "a maintainer or whoever runs the bot can answer until 10 November, 12:00 UTC, then the step fails."
    assert words in asked.body
    assert asked.body.endswith(f"<sub>Tick a box, or `@bot approve` · r1 · {gate.digest[:7]}</sub>")
    await here.answer(answer="approve")
    await here.go()
    (settled,) = await here.said()
    assert settled.id == asked.id
    assert "✅ Answered by `operator`: **`approve`**" in settled.body
    assert "- [" not in settled.body


async def test_whom_it_is_for(store: Store) -> None:
    """Named people, or the role that may command; not who asked, where that is said."""
    here = await asking(store, "- {id: ok, ask: Fine?, who: {logins: [meg, sam], not_requester: true}}")
    assert "; @meg or @sam, other than @ana, can answer until" in (await here.said())[0].body


async def test_out_of_time(store: Store) -> None:
    """It says what follows, and later that it did."""
    here = await asking(store, "- {id: ok, ask: Fine?, timeout: 1d, on_timeout: reject}")
    assert "; anybody who can write here can answer until 4 November, 12:00 UTC, then `reject` is taken." in (
        (await here.said())[0].body
    )
    await here.go(NOW + timedelta(days=1))
    (settled,) = await here.said()
    assert "⌛ Nobody answered until 4 November, 12:00 UTC; `reject` was taken." in settled.body


async def test_a_run_that_ends_takes_back_its_questions(store: Store) -> None:
    """Whatever ends it, in whichever frame they were asked."""
    fan = "{a: [{id: ok, ask: Fine?}], b: [{id: work, run: x}]}"
    here = await asking(store, f"- {{id: fan, parallel: {{branches: {fan}}}}}")
    assert "can answer until" in (await here.said())[0].body
    end = End(RunState.TIMED_OUT, None, "its minutes are over")
    await store.write(lambda s: commit.finish(s, runs.rows(s, here.case.run_id), end, here.terms.say, NOW))
    (settled,) = await here.said()
    assert "|/fan[a]#1|ok|" in settled.slot
    assert "✖️ Not to be answered any more: the run has ended." in settled.body


async def test_every_approval_has_its_comment(store: Store) -> None:
    """An attempt may ask for several, one after the other; each stays with its answer."""
    here = Asking(await open_case(store, workflow_of("- {id: it, agent: writer, prompt: p}")))
    (begun,) = (await here.go()).begun
    for tool in ("one", "two"):
        wait = Wait("approval", question=Question(f"Call {tool}?"), kept=b"here")
        await store.write(lambda s, b=begun, w=wait: commit.record(s, b, Performed(w), here.terms, NOW))  # type: ignore[misc]
        await here.answer(answer="approve")
        (begun,) = (await here.go()).begun
    await store.write(lambda s: commit.record(s, begun, Performed(Done("done")), here.terms, NOW))
    first, second = await here.said()
    assert first.body.startswith("**Call one?** Asked by `r1.it`.")
    assert second.body.startswith("**Call two?** Asked by `r1.it`.")
    assert "**`approve`**" in first.body
    assert "**`approve`**" in second.body


async def test_a_no_is_told_as_one(store: Store) -> None:
    """By whom and in which words, and nothing broke: no reaction. The step's code stays."""
    here = await asking(store, "- {id: ok, ask: Fine?, who: {dashboard: true}}")
    await here.answer(answer="reject", text="Too big.")
    await here.go()
    assert (await here.case.rows()).attempts[-1].error["code"] == "rejected"
    ((action, body),) = await here.posted()
    assert action == "comment"
    assert body.startswith("**`main` was stopped: `operator` said no.**\n\n> Too big.\n\n<sub>r1")


@pytest.mark.parametrize(
    ("keys", "posted"),
    [
        ("", ["rocket"]),
        (", publish: true", ["operator: **stop**", "rocket"]),
        (", show: another text", ["the plan", "rocket"]),
    ],
)
async def test_an_answer_is_no_result(store: Store, keys: str, posted: list[str]) -> None:
    """The comment that asked shows it, and what it was about; `publish: true` posts it, and what nobody saw is."""
    shown = "" if "show" in keys else ', show: "${{ steps.plan.output }}"'
    ok = f"- {{id: ok, ask: Fine?, options: {{stop: end}}{keys}{shown}, who: {{dashboard: true}}}}"
    steps = "- {id: plan, run: x, format: markdown}\n" + ok
    here = Asking(await open_case(store, workflow_of(steps)))
    (begun,) = (await here.go()).begun
    await store.write(lambda s: commit.record(s, begun, commit.Performed(Done("the plan\n")), here.terms, NOW))
    await here.answer(answer="stop")
    await here.go()
    assert [body.split("\n")[0] for _, body in await here.posted()] == posted
