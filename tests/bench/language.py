"""Measures of the workflow language, shared by its benchmark and by the test that guards against a slip."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from bot.workflows import Slot, Template, builtin_files, load
from bot.workflows.conditions import Condition
from tests.bench.figures import Goal, Pace, Row, shown

_STEP = """
  - id: s{0}
    agent: x
    when: "steps.s{1}.outcome == 'success' && ctx.k{1}_{3} != ''"
    prompt: "Look at ${{{{ steps.s{1}.output }}}} and ${{{{ ctx.k{1}_{3} }}}}"
    writes: [k{0}_{3}]
    result: {{fields: {{risk: {{type: enum, options: [low, high]}}}}}}
    next: [{{when: "outcome == 'fail'", to: s{1}}}, {{to: s{2}}}]
    loop: {{max: 3}}"""
_HEAD = (
    "version: 1\nagents: {x: {model: 'demo:x'}}\nworkflows:\n w:\n  steps:\n  - {id: s0, run: date, writes: [k0_%d]}"
)
_NESTED = "\n  - id: g{0}\n    each: {{over: [1, 2]}}\n    steps:{1}"

#: what the design promises
LOAD_MS, SLOT_US, CONDITION_US = 100.0, 50.0, 100.0
STEPS = 200


def flat(number: int) -> dict[str, str]:
    """A workflow of two hundred steps, each with a condition, templates, a result and a route back.

    Another `number` gives other conditions, so that nothing is known from the file before.
    """
    steps = (_STEP.format(i, i - 1, i + 1 if i < STEPS - 1 else 0, number) for i in range(1, STEPS))
    return {".github/bot.yml": _HEAD % number + "".join(steps)}


def nested(number: int) -> dict[str, str]:
    """The same number of steps in groups of ten, each for the elements of a list."""
    rows = []
    for group in range(STEPS // 10):
        inner = "".join(
            f'\n    - {{id: n{group}_{i}, agent: x, prompt: "${{{{ item }}}} ${{{{ steps.s0.output }}}}",'
            f" when: \"ctx.k0_{number} != '{i}'\"}}"
            for i in range(9)
        )
        rows.append(_NESTED.format(group, inner))
    return {".github/bot.yml": _HEAD % number + "".join(rows)}


async def measure(pace: Pace, folder: Path) -> Row:
    """Each by itself, at best."""
    times = pace.of(20, 5)
    row, nest = load_ms(flat, times), load_ms(nested, times)
    slot, condition = slot_us(times), condition_us(times)
    return Row(
        "language",
        "The workflow language",
        "nothing",
        (
            Goal(f"loading and checking {STEPS} steps in a row", row, "at most", LOAD_MS, "ms"),
            Goal(f"loading and checking {STEPS} steps in groups", nest, "at most", LOAD_MS, "ms"),
            Goal("filling a template of a prompt", slot, "at most", SLOT_US, "µs"),
            Goal("a condition", condition, "at most", CONDITION_US, "µs"),
        ),
        ("what", "measured"),
        (
            (f"{STEPS} steps in a row (ms)", shown(row)),
            (f"{STEPS} steps in groups (ms)", shown(nest)),
            ("a template with two values (µs)", shown(slot)),
            ("a condition over two values (µs)", shown(condition)),
        ),
        (f"Processor time, the best of {times}.",),
    )


def load_ms(files: Callable[[int], dict[str, str]], rounds: int) -> float:
    """Milliseconds of processor time that loading and checking takes at best."""
    builtin = builtin_files()
    load(files(0), builtin)  # what is imported late is imported now
    return min(_taken(partial(load, files(number), builtin)) for number in range(1, rounds + 1)) * 1e3


def slot_us(rounds: int) -> float:
    """Microseconds for one template with two values in a prompt."""
    template = Template.parse("Look at ${{ steps.plan.result.risk }} and ${{ ctx.notes }}, please.", Slot.PROMPT)
    scope = {"steps": {"plan": {"result": {"risk": "low"}}}, "ctx": {"notes": "n" * 2000}}
    return _each(lambda: template.render(scope), rounds)


def condition_us(rounds: int) -> float:
    """Microseconds for one condition over two values, in a run with large outputs."""
    condition = Condition.parse("steps.plan.result.risk == 'low' && ctx.notes != ''")
    assert condition is not None
    scope = {"steps": {"plan": {"result": {"risk": "low"}, "output": "o" * 65536}}, "ctx": {"notes": "n" * 2000}}
    assert condition.evaluate(scope)
    return _each(lambda: condition.evaluate(scope), rounds)


def _each(work: Callable[[], object], rounds: int) -> float:
    def many() -> None:
        for _ in range(200):
            work()

    return min(_taken(many) for _ in range(rounds)) / 200 * 1e6


def _taken(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun
