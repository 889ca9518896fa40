"""The language end to end: routes, loops, results, run context, typed inputs; comment in, comment out."""

from __future__ import annotations

from pathlib import Path

from sqlmodel import col, select

from bot.store import Session
from bot.store.tables import Attempt, Run
from tests.stage import open_stage
from tests.stories.test_context import newest

HEAD = """\
version: 1
agents:
  echo: {model: "demo:echo", prompt: You repeat.}
workflows:
"""

BUILD = f"""{HEAD}
  build:
    goal: Make it pass.
    steps:
      - id: plan
        run: |
          echo '{{"risk": "low"}}' > "$BOT_RESULT_FILE"; echo planned
        result: {{fields: {{risk: {{type: enum, options: [low, high], required: true}}}}}}
        decide: result.risk
        transitions: {{low: build, high: stop}}
      - {{id: build, run: "echo x >> made; wc -l < made"}}
      - id: test
        run: test "$(wc -l < made)" -ge 3
        next: [{{when: "outcome == 'fail'", to: build}}, {{to: told}}]
        loop: {{max: 5}}
      - id: told
        end: {{message: "Built ${{{{ steps.build.output }}}} times, risk ${{{{ steps.plan.result.risk }}}}."}}
      - id: stop
        end: {{outcome: fail, message: Too risky.}}
"""


def ledger(session: Session) -> list[tuple[str, int, str]]:
    """Step, iteration and state of every attempt of the newest run."""
    run = session.exec(select(Run).order_by(col(Run.id).desc()).limit(1)).one()
    rows = session.exec(select(Attempt).where(Attempt.run_id == run.id).order_by(col(Attempt.id)))
    return [(row.step, row.iteration, str(row.state)) for row in rows]


async def test_plan_decide_loop_and_end(tmp_path: Path) -> None:
    """A result decides, a failing test goes back until it passes, and the end says what came of it."""
    async with open_stage(tmp_path, {".github/bot.yml": BUILD}) as stage:
        asked = await stage.says("ana", "@bot build")
        (told,) = stage.replies()
        assert told.startswith("Built 3")
        assert "risk low." in told
        assert stage.reactions(asked) == ["rocket"]
        again = [(step, n, state) for n in range(3) for step, state in (("build", "success"), ("test", "fail"))]
        again[-1] = ("test", 2, "success")
        assert await stage.bot.store.read(ledger) == [("plan", 0, "success"), *again, ("told", 0, "success")]


async def test_an_end_that_is_a_failure(tmp_path: Path) -> None:
    """The message is told as one, and the run has failed."""
    text = BUILD.replace('"risk": "low"', '"risk": "high"')
    async with open_stage(tmp_path, {".github/bot.yml": text}) as stage:
        asked = await stage.says("ana", "@bot build")
        (told,) = stage.replies()
        assert " failed: `ended` Too risky.**" in told
        assert stage.reactions(asked) == ["confused"]


async def test_a_loop_that_is_used_up_says_so(tmp_path: Path) -> None:
    """With the step that holds the route, the bound, and what to change."""
    async with open_stage(tmp_path, {".github/bot.yml": BUILD.replace("max: 5", "max: 1")}) as stage:
        await stage.says("ana", "@bot build")
        (told,) = stage.replies()
        assert " failed: `loop_exhausted` `test` went back 1 time (`loop.max`) and would again" in told
        assert "Raise `loop.max`" in told


REWORK = f"""{HEAD}
  grade:
    steps:
      - id: grade
        run: |
          echo x >> tries
          if [ "$(wc -l < tries)" = 1 ]; then echo '{{"score": "much"}}'; else echo '{{"score": 7}}'; fi \\
            > "$BOT_RESULT_FILE"
        result: {{fields: {{score: {{type: number, required: true}}}}, on_mismatch: retry}}
        rework: {{to: grade, max_loops: 2, comments_as: complaint}}
      - id: say
        agent: echo
        reads: [complaint]
        fidelity: summary:medium
        context: [grade.result.score]
        prompt: "The score is ${{{{ steps.grade.result.score }}}}."
"""


async def test_a_mismatch_is_reworked_until_it_fits(tmp_path: Path) -> None:
    """The reason is in the run context and in a block of its own of the next prompt."""
    async with open_stage(tmp_path, {".github/bot.yml": REWORK}) as stage:
        await stage.says("ana", "@bot grade go")
        rows = await stage.bot.store.read(ledger)
        assert rows == [("grade", 0, "fail"), ("grade", 1, "success"), ("say", 0, "success")]
        prompt, manifest = await stage.bot.store.read(newest)
    reason = "result_mismatch: `score`: expected a number, got text"
    assert f'source="ctx.complaint"]\n{reason}\n' in prompt
    assert f'kind=rework trust=untrusted source="result of grade"]\n{reason}\n' in prompt
    assert 'kind=reference trust=untrusted source="grade.result.score"]\n7\n[end' in prompt
    assert 'kind=context trust=untrusted source="ctx.outcome"]\nsuccess\n' in prompt
    assert "ctx.response" not in prompt
    assert manifest.fidelity == "summary:medium"


async def test_a_mismatch_that_stays_fails_closed(tmp_path: Path) -> None:
    """After `max_loops` + 1 attempts, with the path and what was expected there."""
    async with open_stage(tmp_path, {".github/bot.yml": REWORK.replace('"score": 7', '"score": [7]')}) as stage:
        await stage.says("ana", "@bot grade go")
        assert await stage.bot.store.read(ledger) == [("grade", n, "fail") for n in range(3)]
        (told,) = stage.replies()
        assert " failed: `result_mismatch` `score`: expected a number, got a list" in told
        assert "`$BOT_RESULT_FILE`" in told


JUDGE = """\
version: 1
agents:
  judge:
    prompt: You judge.
    runner:
      exec:
        - bash
        - -c
        - printf 'Looks fine.\\n\\n```json threadsmith:result\\n{"risk":"low"}\\n```\\n'
workflows:
  weigh:
    steps:
      - {id: weigh, agent: judge, result: {fields: {risk: {type: string, required: true}}}}
"""


async def test_an_agents_result_is_shown_folded(tmp_path: Path) -> None:
    """The tagged block is taken out of the answer; the system text said how to give it."""
    async with open_stage(tmp_path, {".github/bot.yml": JUDGE}) as stage:
        await stage.says("ana", "@bot weigh")
        (told,) = stage.replies()
        prompt, _ = await stage.bot.store.read(newest)
    assert told.startswith("Looks fine.")
    assert "<summary>Result</summary>\n\n`risk: low`" in told
    assert "threadsmith:result" not in told
    assert "```json threadsmith:result" in prompt


async def test_a_condition_with_a_missing_value_is_false_and_noted(tmp_path: Path) -> None:
    """The step is skipped, the next one runs, and the record says which value was missing."""
    text = f"""{HEAD}
  look:
    steps:
      - {{id: one, run: "echo '{{}}' > $BOT_RESULT_FILE", result: {{fields: {{a: {{type: string}}}}}}}}
      - {{id: two, run: "echo two", when: "steps.one.result.a == 'x'"}}
      - {{id: three, run: "echo three"}}
"""
    async with open_stage(tmp_path, {".github/bot.yml": text}) as stage:
        await stage.says("ana", "@bot look")
        (told,) = stage.replies()
        assert told.startswith("```text\nthree\n```")
        notes = await stage.bot.store.read(
            lambda session: [row.route.get("notes") for row in session.exec(select(Attempt)) if row.step == "two"]
        )
    assert notes == [["`steps.one.result.a == 'x'` is false: `steps.one.result.a` has no value"]]


async def test_a_back_reference_without_a_value_fails_the_step(tmp_path: Path) -> None:
    """Never the word None; the model is not asked."""
    text = f"""{HEAD}
  look:
    steps:
      - {{id: one, run: "echo one", when: "outcome == 'fail'"}}
      - {{id: two, agent: echo, context: [one]}}
"""
    async with open_stage(tmp_path, {".github/bot.yml": text}) as stage:
        await stage.says("ana", "@bot look")
        (told,) = stage.replies()
    assert " failed: `context_missing` `one` in the `context` of `two` has no value" in told


SIGNED = f"""{HEAD}
  ship:
    params: {{base: main}}
    inputs:
      area: {{type: enum, options: [api, web]}}
      count: {{type: number, min: 1, max: 3, default: 1}}
      force: {{type: bool, required: false}}
    steps:
      - id: ship
        run: printf '%s %s %s %s' "$AREA" "$COUNT" "$BASE" "$TEXT"
        env:
          AREA: "${{{{ inputs.area }}}}"
          COUNT: "${{{{ inputs.count }}}}"
          BASE: "${{{{ params.base }}}}"
          TEXT: "${{{{ trigger.text }}}}"
"""


async def test_typed_inputs_are_bound_from_the_command(tmp_path: Path) -> None:
    """Parsed to their types; params beside them; the first other word begins the free text."""
    async with open_stage(tmp_path, {".github/bot.yml": SIGNED}) as stage:
        await stage.says("ana", "@bot ship area=api count=2 base=dev the rest area=web")
        (told,) = stage.replies()
        assert told.startswith("```text\napi 2 dev the rest area=web\n```")


async def test_inputs_that_do_not_fit_are_refused_with_all_reasons(tmp_path: Path) -> None:
    """Together, each with its class; nothing runs."""
    async with open_stage(tmp_path, {".github/bot.yml": SIGNED}) as stage:
        asked = await stage.says("ana", "@bot ship count=7 force=perhaps colour=red")
        (told,) = stage.replies()
        assert "Nothing was started" in told
        for kind in ("missing_required", "range", "type_mismatch", "unknown_input"):
            assert f"- `{kind}`: " in told
        assert stage.reactions(asked) == ["confused"]
        assert await stage.bot.store.read(lambda session: session.exec(select(Run)).all()) == []
