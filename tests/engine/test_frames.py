"""Rows of steps within steps: branches, elements, groups, other workflows."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from bot.engine.limits import allowance
from bot.engine.terms import Begun
from bot.model.outcome import Done, Failed, Faulted, Usage
from bot.model.state import GateState
from bot.store import Store
from bot.workflows import Budget
from tests.engine.play import Play

PARALLEL = """
- id: fan
  parallel:
    branches:
      web: [{id: one, run: make web}, {id: two, run: make more, writes: [size]}]
      api: [{id: three, run: make api}]
- {id: after, run: echo}
"""


@pytest.mark.parametrize("order", [0, 1, -1])
async def test_branches_run_side_by_side_and_stand_in_declared_order(store: Store, order: int) -> None:
    """Whatever ends first."""
    play = await Play.of(store, PARALLEL, {"two": Done('{"size": 3}'), "three": Done(result={"ok": True})})
    play.order = lambda begun: order
    await play.go()
    assert play.end == "succeeded"
    assert play.most == 2
    assert list(await play.result("fan")) == ["web", "api"]
    assert await play.result("fan") == {"web": {"size": "3"}, "api": {"ok": True}}
    entries = json.loads((await play.context())["parallel.results"])
    assert [entry["branch"] for entry in entries] == ["web", "api"]
    assert [entry["step"] for entry in entries] == ["two", "three"]
    assert [entry["status"] for entry in entries] == ["success", "success"]
    assert entries[0]["context_updates"]["size"] == "3"
    assert set(entries[0]["stats"]) == {"duration_s", "tokens", "cost"}


async def test_what_a_branch_writes_stays_in_it(store: Store) -> None:
    """The run context gains one key."""
    play = await (await Play.of(store, PARALLEL, {"two": Done('{"size": 3}')})).go()
    context = await play.context()
    assert "size" not in context
    assert "parallel.results" in context


async def test_a_failed_branch_fails_the_join(store: Store) -> None:
    """The others run to their ends all the same."""
    play = await (await Play.of(store, PARALLEL, {"one": Failed("command_failed", "it exited with 2")})).go()
    assert play.end.startswith("failed fan failed: branch_failed")
    assert "`web` (one failed: command_failed)" in await play.error("fan")
    assert "/fan[api]#1/three success" in await play.ledger()
    entries = json.loads((await play.context())["parallel.results"])
    assert [entry["status"] for entry in entries] == ["fail", "success"]


async def test_a_branch_that_ends_as_failed_is_a_failed_entry(store: Store) -> None:
    """Its last step may have gone well: an `end` that fails, a loop that is used up."""
    steps = """
- id: fan
  parallel:
    on_error: collect
    branches:
      says: [{id: one, end: {outcome: fail, message: no}}]
      goes: [{id: two, run: x, loop: {max: 1}, next: [{when: "outcome == 'success'", to: two}, {to: end}]}]
      well: [{id: three, run: x}]
"""
    play = await (await Play.of(store, steps)).go()
    entries = json.loads((await play.context())["parallel.results"])
    assert [entry["status"] for entry in entries] == ["fail", "fail", "success"]


async def test_failures_may_be_collected(store: Store) -> None:
    """Then the step goes on."""
    steps = PARALLEL.replace("    branches:", "    on_error: collect\n    branches:")
    play = await (await Play.of(store, steps, {"one": Failed("command_failed", "it exited with 2")})).go()
    assert play.end == "succeeded"
    assert (await play.result("fan"))["web"] == {"error": "one failed: command_failed"}


EACH = """
- {id: find, run: ls}
- id: fix
  each: {over: "${{ steps.find.result.files }}", key: name, concurrency: 2%s}
  run: fix
  env: {FILE: "${{ item.name }}"}
- {id: after, run: echo}
"""
FILES = Done(result={"files": [{"name": "b"}, {"name": "a"}, {"name": "c"}]})


async def test_a_step_runs_for_every_element(store: Store) -> None:
    """At most so many at once; the result is keyed, in the list's order."""
    play = await Play.of(store, EACH % "", {"find": FILES, "fix[a]": Done(result=1), "fix": Done("fixed")})
    play.order = lambda begun: -1
    await play.go()
    assert play.end == "succeeded"
    assert play.most == 2
    assert list((await play.result("fix")).items()) == [("b", "fixed"), ("a", 1), ("c", "fixed")]


async def test_one_element_that_fails(store: Store) -> None:
    """Nothing new begins, and the step fails."""
    play = await Play.of(store, EACH % "", {"find": FILES, "fix[b]": Failed("x", "no")})
    await play.go()
    assert play.end.startswith("failed fix failed: element_failed")
    assert "fix[c]" not in play.started


async def test_elements_that_fail_may_be_collected(store: Store) -> None:
    """All of them run."""
    play = await Play.of(store, EACH % ", on_error: collect", {"find": FILES, "fix[b]": Failed("x", "no")})
    await play.go()
    assert play.end == "succeeded"
    assert (await play.result("fix"))["b"] == {"error": "fix failed: x"}
    assert list(await play.result("fix")) == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ([{"name": "a"}, {"name": "a"}], "each_key"),
        ([{"name": "a"}, {"nom": "b"}], "each_key"),
        ([{"name": "a"}, {"name": None}], "each_key"),
        ("text", "each_list"),
        ({"a": 1}, "each_list"),
    ],
)
async def test_nothing_runs_where_the_list_is_wrong(store: Store, files: object, code: str) -> None:
    """A name that is missing or stands twice, or what is no list."""
    play = await (await Play.of(store, EACH % "", {"find": Done(result={"files": files})})).go()
    assert (await play.error("fix")).startswith(f"{code}: ")
    assert play.started == ["find"]


@pytest.mark.parametrize("files", [None, []])
async def test_no_elements(store: Store, files: object) -> None:
    """Null and an empty list give nothing, with success and a note."""
    play = await (await Play.of(store, EACH % "", {"find": Done(result={"files": files})})).go()
    assert play.end == "succeeded"
    assert await play.result("fix") == {}
    (fix,) = [each for each in (await play.case.rows()).attempts if each.step == "fix"]
    assert fix.route["notes"] == ["`each.over` of `fix` has no element"]
    assert play.started == ["find", "after"]


async def test_an_element_is_tried_again_alone(store: Store) -> None:
    """A transient fault of one is no matter of the others."""
    script = {"find": FILES, "fix[a]": [Faulted("503", 0.0), Done("late")]}
    play = await Play.of(store, EACH % "", script)
    await play.go()
    assert not play.case.ends
    await play.claim(after=60)
    await play.go()
    assert play.end == "succeeded"
    assert play.started.count("fix[a]") == 2
    assert play.started.count("fix[b]") == 1


GROUP = """
- id: group
  loop: {max: 3, until: "ctx.ok == 'yes'"%s}
  steps:
    - {id: work, run: work, writes: [ok]}
    - {id: check, run: check}
- {id: after, run: echo}
"""


async def test_a_group_repeats_until(store: Store) -> None:
    """Its keys are the run context's; its result is that of its last step."""
    script = {"work": [Done('{"ok": "no"}'), Done('{"ok": "yes"}')], "check": Done("checked", result={"n": 1})}
    play = await (await Play.of(store, GROUP % "", script)).go()
    assert play.end == "succeeded"
    assert play.started == ["work", "check", "work", "check", "after"]
    assert await play.result("group") == {"n": 1}
    assert (await play.context())["ok"] == "yes"


@pytest.mark.parametrize(("way", "end"), [("", "failed"), (", on_exhaust: last", "succeeded")])
async def test_a_group_that_never_gets_there(store: Store, way: str, end: str) -> None:
    """It runs `max` times."""
    play = await (await Play.of(store, GROUP % way, {"work": Done('{"ok": "no"}')})).go()
    assert play.started.count("work") == 3
    assert play.end.startswith(end)


async def test_a_repetition_that_failed_is_followed_by_another(store: Store) -> None:
    """`until` is asked after each, whatever it came to."""
    steps = GROUP.replace("ctx.ok == 'yes'", "outcome == 'success'") % ""
    script = {"work": Done('{"ok": "-"}'), "check": [Failed("command_failed", "red"), Done("green")]}
    play = await (await Play.of(store, steps, script)).go()
    assert play.end == "succeeded"
    assert play.started == ["work", "check", "work", "check", "after"]


async def test_a_branch_within_an_element_within_a_group(store: Store) -> None:
    """Frames nest, and names stay apart."""
    steps = """
- id: outer
  steps:
    - id: many
      each: {over: [x, y]}
      steps:
        - id: fan
          parallel: {branches: {p: [{id: deep, run: d, env: {I: "${{ item }}"}}], q: [{id: deeper, run: d}]}}
"""
    play = await (await Play.of(store, steps)).go()
    assert play.end == "succeeded"
    assert play.most == 4
    assert await play.result("outer") == {
        "0": {"p": "did deep[0.p]", "q": "did deeper[0.q]"},
        "1": {"p": "did deep[1.p]", "q": "did deeper[1.q]"},
    }


async def test_elements_that_wait_for_people_come_one_after_the_other(store: Store) -> None:
    """Also where the question is in a group: the second is asked when the first is answered."""
    steps = """
- id: fix
  each: {over: [a, b]}
  steps:
    - {id: ok, ask: "Fix ${{ item }}?", options: {go: work, no: end}}
    - {id: work, run: fix}
"""
    play = await (await Play.of(store, steps)).go()
    for element in ("a", "b"):
        open_now = [gate.question for gate in (await play.case.rows()).gates if gate.state is GateState.OPEN]
        assert open_now == [f"Fix {element}?"]
        await play.answer(answer="go")
    assert play.end == "succeeded"


async def test_a_command_that_is_skipped_leaves_the_output_of_the_one_before(store: Store) -> None:
    """Nothing was captured, so nothing is written."""
    steps = """
- {id: one, run: x}
- {id: two, run: x, when: "outcome == 'fail'"}
"""
    play = await (await Play.of(store, steps, {"one": Done("said", stdout="said", stderr="warned")})).go()
    context = await play.context()
    assert (context["tool_stdout"], context["tool_stderr"], context["outcome"]) == ("said", "warned", "skipped")


async def test_the_budget_of_a_group_bounds_what_one_step_in_it_may_spend(store: Store) -> None:
    """Not only whether it may start: what is left of every group around is the most."""
    steps = """
- id: outer
  budget: {usd: 1, tokens: 900}
  steps:
    - {id: one, agent: writer}
    - id: inner
      budget: {usd: 0.5}
      steps: [{id: two, agent: writer}]
"""
    found: dict[str, Budget] = {}

    def spends(begun: Begun) -> Done:
        found[begun.step.id] = allowance(begun.level, begun.attempt)
        return Done("said", usage=Usage(100, 50, 1, 0.2))

    play = await (await Play.of(store, steps, {"one": spends, "two": spends})).go()
    assert play.end == "succeeded"
    assert found == {"one": Budget(usd=1, tokens=900), "two": Budget(usd=0.5, tokens=750)}


async def test_the_minutes_of_a_groups_budget(store: Store) -> None:
    """Over, nothing more starts in it; what starts before has what is left of them."""
    steps = "- id: all\n  budget: {minutes: 1}\n  steps: [{id: one, run: x}, {id: two, run: x}]"
    play = await Play.of(store, steps)
    await play.more()
    assert [begun.seconds for begun in play.begun] == [60.0]
    play.now += timedelta(seconds=60)
    await play.go()
    assert await play.error("all") == "timeout: it did not end within 60 s"


async def test_elements_are_posted_once(store: Store) -> None:
    """With `publish: true` as the output of their step, not each for itself besides."""
    steps = "- {id: one, run: x, publish: true, format: markdown, each: {over: [a, b]}}"
    play = await (await Play.of(store, steps)).go()
    assert play.case.outputs == ["one: ### 0\n\ndid one[0]\n\n### 1\n\ndid one[1]"]


async def test_a_spent_budget_keeps_nobody_from_the_end(store: Store) -> None:
    """What is skipped, switches or ends costs nothing; anything else does not start."""
    steps = """
- {id: one, agent: writer}
- {id: two, run: x, when: "outcome == 'fail'"}
- {id: three, switch: [{when: "'%s' == 'end'", to: all}, {to: more}]}
- {id: more, run: x}
- {id: all, end: {message: done}}
"""
    spends = {"one": Done("said", usage=Usage(100, 50, 1, 2.0))}
    for way, end in (("end", "succeeded"), ("on", "budget_exceeded its budget of $2 is spent ($2.00)")):
        play = await Play.of(store, steps % way, spends, guid=way, budget=Budget(usd=2))
        assert (await play.go()).end == end


async def test_a_long_key_makes_no_long_path(store: Store) -> None:
    """Every comment bears the path of its frame; alike beginnings stay apart, and the result has the whole key."""
    names = [f"{'☃' * 5_000}{end}" for end in "ab"]
    found = Done(result={"files": [{"name": name} for name in names]})
    play = await (await Play.of(store, EACH % "", {"find": found})).go()
    paths = [frame.path for frame in (await play.case.rows()).frames if frame.key is not None]
    assert len(set(paths)) == 2
    assert max(map(len, paths)) < 550
    assert list(await play.result("fix")) == names


async def test_lists_within_lists_have_a_bound(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step that would open too many frames fails and says so."""
    monkeypatch.setattr("bot.engine.opening.FRAMES_MAX", 13)
    steps = """
- id: outer
  each: {over: [a, b, c], concurrency: 1}
  steps:
    - {id: inner, each: {over: [1, 2, 3]}, run: x}
"""
    play = await (await Play.of(store, steps)).go()
    assert play.end.startswith("failed outer failed: element_failed")
    failed = [each for each in (await play.case.rows()).attempts if each.error.get("code") == "too_many_frames"]
    assert {each.step for each in failed} == {"outer", "inner"}  # the group tells it as its own


@pytest.mark.parametrize(("way", "state", "then"), [("last", "success", "after"), ("mend", "fail", "mend")])
async def test_the_ways_out_of_a_group_whose_last_repetition_failed(
    store: Store, way: str, state: str, then: str
) -> None:
    """`last` goes on with what there is; a step's id leads there, and the record says that the group failed."""
    mend = "- {id: mend, run: mend}" if way == "mend" else ""
    steps = f"""
- id: group
  loop: {{max: 2, until: "outcome == 'success'", on_exhaust: {way}}}
  steps: [{{id: work, run: work}}, {{id: check, run: check}}]
- {{id: after, run: echo, next: end}}
{mend}
"""
    play = await (await Play.of(store, steps, {"check": Failed("command_failed", "red")})).go()
    assert play.end == "succeeded"
    assert play.started == ["work", "check", "work", "check", then]
    assert f"/group {state}" in await play.ledger()
