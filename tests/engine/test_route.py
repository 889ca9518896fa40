"""Where a frame goes on: every way of routing, on steps from real YAML."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bot.engine.graph import End, Start, Walk, ready, route_of
from bot.engine.route import Route
from bot.errors import ConfigurationError
from bot.model.state import AttemptState
from bot.store.tables import Attempt
from bot.workflows import Step, load
from tests.rows import NOW

S, F, SKIPPED = AttemptState.SUCCESS, AttemptState.FAIL, AttemptState.SKIPPED


def steps(text: str) -> tuple[Step, ...]:
    """The steps of a workflow; `text` is the list under `steps:`."""
    indented = "\n".join(f"      {line}" for line in text.strip("\n").splitlines())
    head = 'version: 1\nagents: {ask: {model: "demo:echo"}}\nworkflows:\n  w:\n    steps:\n'
    workflow = load({".github/bot.yml": f"{head}{indented}\n"}).workflow_for("w")
    assert workflow is not None
    return workflow.steps


class Frame:
    """A walk by hand: each step's outcome is said, the routes are the engine's."""

    def __init__(self, text: str, **values: Any) -> None:
        self.steps = steps(text)
        self.values: dict[str, Any] = {"steps": {}, "ctx": {}, "outcome": "", "preferred_label": "", **values}
        self.rows: list[Attempt] = []

    def scope(self) -> Mapping[str, Any]:
        """As after the newest attempt."""
        last = self.rows[-1] if self.rows else None
        if last is None:
            return self.values
        outcome = {S: "success", F: "fail", SKIPPED: "skipped"}.get(last.state, "")
        return {**self.values, "outcome": outcome, "result": last.result or {}}

    @property
    def next(self) -> Start | End:
        """What follows."""
        following = ready(self.steps, self.rows, self.scope)
        assert isinstance(following, Start | End)
        return following

    def ends(self, state: AttemptState = S, result: Any = None, **error: str) -> str:
        """The step that may start ends so. Where it goes on: an id, or the run's state with its reason."""
        start = self.next
        assert isinstance(start, Start)
        step = next(each for each in self.steps if each.id == start.step)
        row = Attempt(
            run_id="r",
            frame_id="f",
            step=start.step,
            kind=step.kind,
            number=start.number,
            iteration=start.iteration,
            state=SKIPPED if start.skip else state,
            started_at=NOW,
            ended_at=NOW,
            result=result,
            error=error or ({"code": "command_failed", "message": "1"} if state is F else {}),
        )
        self.rows.append(row)
        row.route = route_of(self.steps, step, Walk.of(self.rows), row, self.scope).to_row()
        following = self.next
        return following.step if isinstance(following, Start) else f"{following.state}: {following.reason}"


LOOP = """
- {id: build, run: "true"}
- id: test
  run: "true"
  next: [{when: "outcome == 'fail'", to: build}, {when: "trigger.label == 'lint'", to: lint}, {to: ship}]
  loop: {max: 2}
- {id: lint, run: "true"}
- {id: ship, run: "true"}
"""


def test_a_backward_route_is_a_loop_with_a_bound() -> None:
    """Each coming to a step is a new iteration; beyond `max` the run fails and says which bound it was."""
    frame = Frame(LOOP)
    assert frame.ends() == "test"
    assert frame.ends(F) == "build"
    assert isinstance(frame.next, Start)
    assert (frame.next.iteration, frame.next.number) == (1, 2)
    assert frame.ends() == "test"
    assert frame.ends(F) == "build"
    assert frame.ends() == "test"
    assert frame.ends(F) == "failed: loop_exhausted: `test` went back 2 times (`loop.max`) and would again"
    assert [(row.step, row.iteration) for row in frame.rows] == [
        (step, n) for n in range(3) for step in ("build", "test")
    ]


@pytest.mark.parametrize(("way", "expected"), [("last", "ship"), ("lint", "lint")])
def test_what_follows_a_loop_that_is_used_up(way: str, expected: str) -> None:
    """`last` goes on with what there is; an id names the way out."""
    frame = Frame(LOOP.replace("loop: {max: 2}", f"loop: {{max: 1, on_exhaust: {way}}}"))
    frame.ends()
    frame.ends(F)
    frame.ends()
    assert frame.ends(F) == expected


def test_a_route_forward_leaves_steps_out() -> None:
    """And a plain id, like the default, needs success."""
    frame = Frame(LOOP)
    frame.ends()
    assert frame.ends() == "ship"
    assert frame.ends() == "succeeded: "
    plain = Frame('- {id: a, run: "true", next: b}\n- {id: b, run: "true", next: end}\n')
    assert plain.ends(F) == "failed: a failed: command_failed"
    plain.rows.clear()
    assert plain.ends() == "b"
    assert plain.ends() == "succeeded: "


def test_next_end_ends_the_frame() -> None:
    """What stands below never runs."""
    ways = "[{when: \"outcome == 'success'\", to: end}, {to: b}]"
    frame = Frame(f'- {{id: a, run: "true", next: {ways}}}\n- {{id: b, run: "true"}}\n')
    assert frame.ends() == "succeeded: "


WHEN = """
- {id: a, run: "true", result: {fields: {risk: {type: string}}}}
- {id: b, run: "true", when: "steps.a.result.risk == 'high'", next: [{when: "outcome == 'fail'", to: c}, {to: d}]}
- {id: c, run: "true"}
- {id: d, run: "true"}
"""


def test_a_skipped_step_takes_its_default() -> None:
    """A missing value makes the condition false, and that is noted."""
    frame = Frame(WHEN)
    frame.ends()
    start = frame.next
    assert isinstance(start, Start)
    assert (start.step, start.skip) == ("b", True)
    assert start.notes == ("`steps.a.result.risk == 'high'` is false: `steps.a.result.risk` has no value",)
    assert frame.ends() == "d"
    run = Frame(WHEN, steps={"a": {"result": {"risk": "high"}}})
    run.ends()
    assert isinstance(run.next, Start)
    assert not run.next.skip


DECIDE = """
- id: plan
  run: "true"
  result: {fields: {risk: {type: json}}}
  decide: result.risk
  transitions: {low: ship, "2": end, "true": plan, check: check}
- {id: check, run: "true", when: "outcome == 'x'"}
- {id: ship, run: "true"}
"""


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"risk": "low"}, "ship"),
        ({"risk": 2}, "succeeded: "),
        ({"risk": True}, "plan"),
        (
            {"risk": "high"},
            "failed: no_transition: `decide` of `plan`: `result.risk` is `high`, which has no transition",
        ),
        ({"risk": None}, "failed: no_transition: `decide` of `plan`: `result.risk` is `null`, which has no transition"),
        ({}, "failed: decide_missing: `decide` of `plan`: `result.risk` has no value"),
    ],
)
def test_decide_maps_the_string_form(result: dict[str, Any], expected: str) -> None:
    """What leads nowhere fails the step, and the message names it."""
    assert Frame(DECIDE).ends(result=result) == expected


def test_decide_needs_success() -> None:
    """A failed step's value is not looked at."""
    assert Frame(DECIDE).ends(F, {"risk": "low"}) == "failed: plan failed: command_failed"


@pytest.mark.parametrize(("score", "expected"), [(0.9, "ship"), (0.8, "ship"), (0.5, "plan"), ("x", "check")])
def test_a_verdict_takes_the_first_match_and_ends_with_its_default(score: object, expected: str) -> None:
    """`value` in its cases is what stands at the path."""
    text = DECIDE.replace("{risk: {type: json}}", "{score: {type: json}}").replace(
        'decide: result.risk\n  transitions: {low: ship, "2": end, "true": plan, check: check}',
        "decide: {verdict: result.score, cases: [{when: 'value >= 0.8', to: ship}, {when: 'value >= 0.3', to: plan},"
        " {to: check}]}",
    )
    assert Frame(text).ends(result={"score": score}) == expected


def test_a_switch_looks_at_what_came_before() -> None:
    """Its own outcome is not there yet; the first true case wins."""
    text = """
- {id: a, run: "true", next: [{when: "outcome == 'fail'", to: which}, {to: which}]}
- {id: which, switch: [{when: "trigger.label == 'good'", to: c}, {to: b}]}
- {id: b, run: "true"}
- {id: c, run: "true"}
"""
    assert [Frame(text, trigger={"label": "good"}).ends(F), "c"] == ["which", "c"]
    for mood, expected in (("good", "c"), ("bad", "b")):
        frame = Frame(text, trigger={"label": mood})
        frame.ends(F)
        assert frame.ends() == expected


def test_an_end_step_says_how() -> None:
    """With the outcome `fail` the run has failed."""
    text = '- {id: a, run: "true"}\n- {id: stop, end: {outcome: OUTCOME}}\n'
    good = Frame(text.replace("OUTCOME", "success"))
    good.ends()
    assert good.ends() == "succeeded: "
    bad = Frame(text.replace("OUTCOME", "fail"))
    bad.ends()
    assert bad.ends() == "failed: ended: the workflow ends here as failed"


REWORK = """
- {id: draft, run: "true"}
- id: judge
  run: "true"
  result: {fields: {risk: {type: string}}, on_mismatch: retry}
  rework: {to: draft, max_loops: 2, comments_as: why}
  next: [{when: "outcome == 'fail'", to: other}, {to: ship}]
- {id: other, run: "true"}
- {id: ship, run: "true"}
"""


def test_a_result_that_does_not_fit_is_reworked() -> None:
    """It counts for itself, is told why, and fails closed; routes do not catch it."""
    frame = Frame(REWORK)
    mismatch = {"code": "result_mismatch", "message": "`risk`: expected text", "hint": "mend it"}
    for _ in range(2):
        frame.ends()
        assert frame.ends(F, **mismatch) == "draft"
        assert frame.rows[-1].route == {
            "to": "draft",
            "why": "rework",
            "reason": "result_mismatch: `risk`: expected text\nmend it",
        }
    frame.ends()
    assert frame.ends(F, **mismatch) == "failed: judge failed: result_mismatch"


@pytest.mark.parametrize(("way", "expected"), [("fail", "failed: judge failed: result_missing"), ("other", "other")])
def test_what_else_a_mismatch_leads_to(way: str, expected: str) -> None:
    """Nothing, or the step that is named."""
    text = REWORK.replace("on_mismatch: retry", f"on_mismatch: {way}").replace(
        "  rework: {to: draft, max_loops: 2, comments_as: why}\n", ""
    )
    frame = Frame(text)
    frame.ends()
    assert frame.ends(F, code="result_missing", message="no block") == expected


def test_other_failures_are_caught_by_conditions_alone() -> None:
    """A command that failed is no result that does not fit."""
    frame = Frame(REWORK)
    frame.ends()
    assert frame.ends(F) == "other"


def test_a_route_is_kept_as_it_is() -> None:
    """Row and back."""
    kept = Route("a", "rework", "c", "m", "r", ("n",))
    assert Route.of(kept.to_row()) == kept
    assert Route.of(Route("end").to_row()) == Route("end")


@st.composite
def workflows(draw: st.DrawFn) -> str:
    """Steps that lead anywhere: forward, back, to themselves, by every sort of route."""
    ids = [f"s{n}" for n in range(draw(st.integers(1, 5)))]
    target = st.sampled_from([*ids, "end"])

    def way(at: int, *words: str) -> str:
        """A way out that does not lead back."""
        return draw(st.sampled_from([*words, *ids[at + 1 :]]))

    conditions = st.sampled_from(["outcome == 'fail'", "outcome == 'success'", "trigger.label == 'x'", "true"])
    # from here every step can be reached, as the checks want it
    ways = ", ".join(f"{{when: \"trigger.sha == '{each}'\", to: {each}}}" for each in ids)
    lines = ["- id: first", f"  switch: [{ways}, {{to: {draw(target)}}}]"]
    for at, each in enumerate(ids):
        kind = draw(st.sampled_from(["plain", "next", "cases", "decide", "mismatch", "switch"]))
        gone = [draw(target), draw(target)]
        case = f'{{when: "{draw(conditions)}", to: {gone[0]}}}, {{to: {gone[1]}}}'
        if kind == "switch":
            lines += [f"- id: {each}", f"  switch: [{case}]"]
        else:
            lines += [f"- id: {each}", '  run: "true"']
            if draw(st.booleans()):
                lines.append(f'  when: "{draw(conditions)}"')
        if kind == "next":
            gone = gone[:1]
            lines.append(f"  next: {gone[0]}")
        elif kind == "cases":
            lines.append(f"  next: [{case}]")
        elif kind == "decide":
            lines += ["  result: {fields: {v: {type: enum, options: [a, b], required: true}}}", "  decide: result.v"]
            lines.append(f"  transitions: {{a: {gone[0]}, b: {gone[1]}}}")
        elif kind == "mismatch":
            lines.append("  result: {fields: {v: {type: string}}, on_mismatch: retry}")
            lines.append(
                f"  rework: {{to: {draw(st.sampled_from(ids[: at + 1]))}, max_loops: 2, on_exhaust: {way(at, 'fail')}}}"
            )
        if kind not in ("plain", "mismatch") and any(to in ids[: at + 1] for to in gone):
            lines.append(f"  loop: {{max: {draw(st.integers(1, 3))}, on_exhaust: {way(at, 'fail', 'last')}}}")
    return "\n".join(lines)


def _walk(text: str, seed: int) -> Frame:
    """A walk to its end with outcomes by chance; fails if it does not end."""
    chance = random.Random(seed)
    frame = Frame(text)
    for _ in range(2_000):
        if isinstance(frame.next, End):
            return frame
        result = {"v": chance.choice("abc")}
        match chance.randrange(6):
            case 0:
                frame.ends(F)
            case 1:
                frame.ends(F, code="result_mismatch", message="no")
            case _:
                frame.ends(result=result)
    pytest.fail(f"no end after {len(frame.rows)} attempts")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(workflows(), st.integers(0, 10_000))
def test_any_walk_ends_and_any_prefix_goes_on_the_same(text: str, seed: int) -> None:
    """Whatever each attempt comes to; a route that is not recorded yet is found again."""
    try:
        frame = _walk(text, seed)
    except ConfigurationError:  # what chance made means nothing, and is refused at load
        assume(False)
        raise
    whole = frame.rows
    for length in range(len(whole)):
        frame.rows = whole[:length]
        following = frame.next
        assert isinstance(following, Start)
        assert (following.step, following.number) == (whole[length].step, whole[length].number)
        if frame.rows:
            kept, frame.rows[-1].route = frame.rows[-1].route, {}
            assert frame.next == following
            frame.rows[-1].route = kept


def test_a_run_of_1_000_attempts_is_read_in_5_ms() -> None:
    """Routes that were taken are not asked for again."""
    frame = Frame(LOOP.replace("max: 2", "max: 1000"))
    rows: Sequence[Attempt] = [
        Attempt(
            run_id="r",
            frame_id="f",
            step=step,
            kind="run",
            number=n + 1,
            iteration=n,
            state=S if step == "build" else F,
            started_at=NOW,
            ended_at=NOW,
            route={"to": "test", "why": "order"} if step == "build" else {"to": "build", "why": "loop"},
        )
        for n in range(500)
        for step in ("build", "test")
    ]
    took = []
    for _ in range(5):
        start = time.perf_counter()
        following = ready(frame.steps, rows, frame.scope)
        took.append(time.perf_counter() - start)
    assert following == Start("build", 501, iteration=500)
    assert min(took) < 0.005
