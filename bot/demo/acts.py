"""The conversation as data: who does what, and what the bot must and must not say to it."""

from __future__ import annotations

from dataclasses import dataclass

from bot.demo import repository


@dataclass(frozen=True, slots=True)
class Commit:
    """A new text of the configuration."""

    text: str
    message: str


@dataclass(frozen=True, slots=True)
class Line:
    """Somebody commits, writes, or ticks the box of the bot's newest task list that begins with `ticks`; then the
    bot's turn.

    `answer` holds what its one comment must contain, in this order; without it the bot must say nothing. `reactions`
    are all that it may leave on the comment written here, `settled` what its newest question must contain by then.
    """

    who: str
    says: str = ""
    commits: Commit | None = None
    ticks: str = ""
    answer: tuple[str, ...] = ()
    reactions: tuple[str, ...] = ()
    settled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Act:
    """A few lines that show one thing."""

    title: str
    lines: tuple[Line, ...]


def conversation(decision: str) -> tuple[Act, ...]:
    """The acts; `decision` is the link to the old comment that gets pinned."""
    asked = ("rocket",)
    return (
        Act(
            "A decision from last week is pinned, so that the bot always sees it",
            (
                Line(
                    "meg", f"@bot pin {decision}", answer=("What the bot always sees", "exit code 2"), reactions=("+1",)
                ),
            ),
        ),
        Act(
            "An agent is asked; the engine runs the checks first, isolated if it can",
            (
                Line(
                    "ana",
                    "@bot explain why is an empty size taken for 0?",
                    answer=(
                        "not ok 5 - an empty size: expected exit code 2",
                        "bad input must end with exit code 2",
                        "three teams rely on that",
                        "saw 5 comments, 1 pin, 2 inputs",
                    ),
                    reactions=asked,
                ),
            ),
        ),
        Act(
            "A command needs no model at all",
            (
                Line(
                    "ana",
                    "@bot checks",
                    answer=("ok 1 - plain bytes", "not ok 5 - an empty size", "checks"),
                    reactions=asked,
                ),
            ),
        ),
        Act(
            "A stranger, who may only read, is refused",
            (Line("sam", "@bot explain can you close this for me? I need it today."),),
        ),
        Act(
            "The configuration is broken; whoever asks is told where and how to mend it",
            (
                Line(
                    "meg",
                    commits=Commit(repository.BROKEN_YML, "Try another model"),
                ),
                Line(
                    "ana",
                    "@bot explain what must the fix keep as it is?",
                    answer=(
                        ".github/bot.yml",
                        "cannot be used",
                        f"[{_place()}](",
                        "`unknown_key`",
                        "did you mean `model`?",
                    ),
                    reactions=("confused",),
                ),
                Line(
                    "meg",
                    commits=Commit(repository.BOT_YML, "Mend a typo"),
                ),
                Line(
                    "ana",
                    "@bot explain what must the fix keep as it is?",
                    answer=(
                        "bad input must end with exit code 2",
                        "not ok 5 - an empty size: expected exit code 2",
                        "1 pin, 2 inputs",
                    ),
                    reactions=asked,
                ),
            ),
        ),
        Act(
            "A plan waits for a person, is sent back, and is approved with a tick",
            (
                Line(
                    "ana",
                    "@bot implement refuse a size without a number",
                    answer=("Build this?", "a maintainer can answer", "bad input must end with exit code 2", "approve"),
                    reactions=("eyes",),
                ),
                Line("ana", "@bot status", answer=("r4", "implement", "wait"), reactions=("+1",)),
                Line(
                    "meg",
                    f"@bot answer revise {REVISION}",
                    answer=("Build this?", "not ok 5", "approve"),
                    reactions=("+1",),
                    settled=("Answered by `meg`", "revise", REVISION),
                ),
                Line(
                    "meg",
                    ticks="approve",
                    answer=("ok 5 - an empty size", "all 5 checks passed", "implement"),
                    settled=("Answered by `meg`", "approve"),
                ),
            ),
        ),
    )


#: what meg wants of the plan
REVISION = "smaller, please: one line is enough"


def _place() -> str:
    """Line and column of the misspelt key."""
    for number, line in enumerate(repository.BROKEN_YML.splitlines(), 1):
        if "modle" in line:
            return f"{number}:{line.index('modle') + 1}"
    raise AssertionError("the broken configuration is not broken")
