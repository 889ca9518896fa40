"""What a run says in its thread: outputs, its end, and the reaction on what asked."""

from __future__ import annotations

from typing import Any

import pytest
from sqlmodel import col, select

from bot.dispatch.mentions import find
from bot.engine import commit
from bot.engine.frames import Level
from bot.engine.graph import End
from bot.engine.report import Reporter
from bot.model.codec import places_to_json
from bot.model.context import Manifest
from bot.model.outcome import Done, Failed, Outcome, Usage
from bot.model.state import AttemptState, RunState
from bot.model.thread import Comment, ReviewPlace
from bot.publish import Redactor, Speaker
from bot.store import Session, Store, runs
from bot.store.runs import RunRows
from bot.store.tables import Attempt, Outbox
from bot.workflows import Step
from tests.engine.scene import Case, open_case
from tests.github.fake import FakeClock
from tests.rows import ANA, NOW

HEAD = "version: 1\nworkflows:\n  main:\n    steps:\n"


def text(*more: str, publish: str = "") -> str:
    """A file with one step for each of `more`, its keys beside `run`."""
    lines = [f'      - {{id: s{n}, run: "true"{extra}}}' for n, extra in enumerate(more, 1)]
    return HEAD + "\n".join(lines) + "\n" + (f"publish: {publish}\n" if publish else "")


class Told:
    """A case whose ends and outputs go through the reporter."""

    def __init__(self, case: Case) -> None:
        self.case = case
        reporter, bot = Reporter(Speaker(Redactor([]), FakeClock(NOW))), case.configuration.bot
        workflow = case.terms.workflow
        steps = {step.id: step for step in workflow.steps}

        def say(session: Session, rows: RunRows, end: End) -> None:
            reporter.end(session, rows, end, steps, bot, "@bot")

        def say_step(session: Session, rows: RunRows, level: Level, step: Step, attempt: Attempt) -> None:
            reporter.output(session, rows, step, attempt, bot)

        self.say = say
        self.terms = commit.Terms(case.configuration, workflow, case.budget, 50, say, say_step)

    async def play(self, *outcomes: Outcome) -> list[str]:
        """Perform the steps with these outcomes; returns the comments."""
        begun = await self.case.begin()
        for outcome in outcomes:
            performed = commit.Performed(outcome)
            following = await self.case.store.write(
                lambda s, b=begun, p=performed: commit.record(s, b, p, self.terms, NOW)  # type: ignore[misc]
            )
            if not following.begun:
                break
            begun = following.begun[0]
        return await self.comments()

    async def end(self, end: End) -> list[str]:
        """End the run in this way; returns the comments."""
        await self.case.store.write(lambda s: commit.finish(s, runs.rows(s, self.case.run_id), end, self.say, NOW))
        return await self.comments()

    async def rows(self, action: str = "comment") -> list[Outbox]:
        query = select(Outbox).where(Outbox.action == action).order_by(col(Outbox.id))
        return await self.case.store.read(lambda s: list(s.exec(query)))

    async def comments(self) -> list[str]:
        return [row.body for row in await self.rows()]


async def told(store: Store, file: str, **more: Any) -> Told:
    return Told(await open_case(store, file, **more))


@pytest.mark.parametrize(
    ("steps", "outputs", "posted"),
    [
        (("", ""), ("one", "two"), ["two"]),
        (("", ""), ("one", ""), ["one"]),
        (("", ""), ("one", "  \n"), ["one"]),
        (("", ", publish: false"), ("one", "two"), ["one"]),
        ((", publish: true", ""), ("one", "two"), ["one", "two"]),
        ((", publish: true", ", publish: true"), ("one", "two"), ["one", "two"]),
        (("", ", publish: true"), ("one", "two"), ["two"]),
        (("", ", publish: true"), ("one", ""), ["one"]),
        ((", publish: true", ", publish: false"), ("one", "two"), ["one"]),
        ((", publish: false", ", publish: false"), ("one", "two"), []),
        (("", ""), ("", ""), []),
    ],
)
async def test_which_output_is_posted(
    store: Store, steps: tuple[str, ...], outputs: tuple[str, ...], posted: list[str]
) -> None:
    """`final`: the run's last; `true`: when the step ends, and never twice; `false`: never; nothing to say: nothing."""
    case = await told(store, text(*steps))
    comments = await case.play(*(Done(output) for output in outputs))
    assert [body.split("\n")[1] for body in comments] == posted
    assert (await case.case.run()).state is RunState.SUCCEEDED
    assert [r.body for r in await case.rows("reaction")] == ["rocket"]


async def test_an_output_is_read_whole_fenced_and_has_its_footer(store: Store) -> None:
    """Not only what the row holds; a command's output in a fence, of the run, in the thread's order."""
    case = await told(store, text("", publish="{max_parts: 10}"))
    long = "\n".join(f"line {number}" for number in range(9_000))
    (only,) = await case.play(Done(long, exit_code=0))
    assert only.startswith("```text\nline 8960\n")
    assert "line 8999\n```\n\n<details>" in only
    assert "more lines before these are left out" in only
    assert only.endswith("<sub>r1 · main · 0 s</sub>")
    rows = await case.rows()
    assert {(r.purpose, r.run_id, r.sequence) for r in rows} == {("output", case.case.run_id, 1)}


async def test_a_long_output_ends_with_a_word(store: Store) -> None:
    """Where the repository posts no more parts of a Markdown result."""
    case = await told(store, text(", format: markdown", publish="{max_parts: 1}"))
    (only,) = await case.play(Done("x\n\n" * 60_000))
    assert "longer than this repository posts" in only


async def test_markdown_is_not_fenced_and_an_answers_footer_says_what_was_seen(store: Store) -> None:
    """Usage of the whole run, the model, the manifest's counts."""
    file = 'version: 1\nagents: {helper: {model: "demo:helper"}}\n'
    case = await told(store, file, workflow="helper")
    begun = await case.case.begin()
    manifest = Manifest().model_dump(mode="json")
    await store.write(lambda s: commit.attach(s, begun.attempt.id, b"p", manifest, NOW))
    await store.write(
        lambda s: commit.record(
            s, begun, commit.Performed(Done("**bold**", usage=Usage(90, 10, 1, 0.5), model="m:x")), case.terms, NOW
        )
    )
    (answer,) = await case.comments()
    assert answer.startswith("**bold**")
    assert answer.endswith("<sub>r1 · helper · m:x · 0 s · 100 tokens · $0.50 · saw 0 comments, 0 pins, 0 inputs</sub>")
    assert (await case.rows())[0].purpose == "result"


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (
            Failed("command_failed", "its command ended with exit code 3", stderr="last words"),
            [
                "**`main` failed: `command_failed` its command ended with exit code 3**",
                "(step `s1`, `.github/bot.yml` line 5).",
                "last words",
                "See its last lines; `@bot retry r1` runs it again.",
            ],
        ),
        (
            Failed("input_failed", "`facts` exited with 2", "Mend the command in `.github/bot.yml` line 5."),
            ["failed: `input_failed` `facts` exited with 2** (step `s1`; required, so the command did not run)."],
        ),
    ],
)
async def test_a_failed_step_is_told_with_what_to_do(store: Store, failure: Failed, words: list[str]) -> None:
    """The step, the code, its last words, the hint; earlier outputs are not posted; 😕."""
    case = await told(store, text("", ""))
    (body,) = await case.play(failure)
    for each in words:
        assert each in body
    assert ("required" in body) == (failure.code == "input_failed")
    assert [r.body for r in await case.rows("reaction")] == ["confused"]
    (row,) = await case.rows()
    assert row.purpose == "error"


@pytest.mark.parametrize(
    ("end", "words", "reaction"),
    [
        (
            End(RunState.BUDGET_EXCEEDED, "s2", "its budget of $1 is spent ($1.50)"),
            ["`main` failed: `budget_exceeded` its budget of $1 is spent", "(step `s2`).", "Raise the limit"],
            "confused",
        ),
        (
            End(RunState.TIMED_OUT, "s2", "its 5 minutes are over"),
            ["`main` failed: `timed_out` its 5 minutes are over", "Raise `minutes`"],
            "confused",
        ),
        (
            End(RunState.SET_ASIDE, "s1", "s1 was interrupted 3 times without progress"),
            ["`main` failed: `set_aside`", "whoever runs the bot"],
            "confused",
        ),
        (
            End(RunState.FAILED, None, "github_unavailable: GitHub did not answer"),
            ["**`main` failed: `github_unavailable` GitHub did not answer**."],
            "confused",
        ),
        (
            End(RunState.CANCELLED, None, "The role of the person who asked changed meanwhile."),
            ["r1 `main` was cancelled.", "The role of the person who asked changed meanwhile."],
            None,
        ),
    ],
)
async def test_every_other_end_is_told_too(store: Store, end: End, words: list[str], reaction: str | None) -> None:
    """Never silence: code, reason and what to do, in one comment."""
    case = await told(store, text("", ""))
    (body,) = await case.end(end)
    for each in words:
        assert each in body
    assert [r.body for r in await case.rows("reaction")] == ([reaction] if reaction else [])


async def test_an_end_that_is_not_the_steps_fault_tells_its_own_reason(store: Store) -> None:
    """Whatever an earlier attempt of that step died of."""
    case = await told(store, text(""))
    begun = await case.case.begin()

    def interrupt(session: Session) -> None:
        row = session.get_one(Attempt, begun.attempt.id)
        row.state, row.error = AttemptState.INTERRUPTED, {"code": "interrupted", "message": "the process ended"}
        session.add(row)

    await store.write(interrupt)
    (body,) = await case.end(End(RunState.SET_ASIDE, "s1", "s1 was interrupted 3 times without progress"))
    assert "`main` failed: `set_aside` s1 was interrupted 3 times" in body
    assert "the process ended" not in body


async def test_a_result_stands_folded_below_the_output(store: Store) -> None:
    """Between the text and the footer."""
    case = await told(store, text(""))
    (body,) = await case.play(Done("fine", result={"risk": "low"}))
    shown, folded, footer = body.partition("<details><summary>Result</summary>\n\n`risk: low`\n\n</details>")
    assert "fine" in shown
    assert folded
    assert "r1" in footer


async def test_a_cancellation_names_who(store: Store) -> None:
    """And not the reason besides, which says the same."""
    case = await told(store, text(""))
    await case.case.change(cancelled_by="meg")
    (body,) = await case.end(End(RunState.CANCELLED, None, "cancelled by meg"))
    assert body.startswith("r1 `main` was cancelled by `meg`.")
    assert body.count("cancelled by") == 1
    assert (await case.rows())[0].purpose == "cancelled"


async def test_no_reaction_where_none_is_wanted(store: Store) -> None:
    """`publish.progress: none`."""
    case = await told(store, text("", publish="{progress: none}"))
    assert len(await case.play(Done("x"))) == 1
    assert await case.rows("reaction") == []


@pytest.mark.parametrize(
    ("publish", "notified"),
    [
        ("{mentions: requester}", {"ana"}),
        ("{mentions: none}", set()),
        ("{mentions: none, allow_mentions: [meg]}", {"meg"}),
        ("{mentions: requester, allow_mentions: [meg]}", {"ana", "meg"}),
        ("{mentions: all}", {"ana", "meg", "sam"}),
    ],
)
async def test_who_may_be_notified(store: Store, publish: str, notified: set[str]) -> None:
    """Others' names stay readable and notify nobody."""
    case = await told(store, text(", format: markdown", publish=publish))
    (body,) = await case.play(Done("see @ana, @meg and @sam"))
    assert {name for name in ("ana", "meg", "sam") if find(body, [name])} == notified
    assert all(name in body for name in ("ana", "meg", "sam"))


async def test_a_step_with_elements_is_told_itself(store: Store) -> None:
    """Not the element that ended last, which may have gone well and bears its id."""
    file = text(", each: {over: [a, b], concurrency: 1, on_error: fail, key: k}").replace("[a, b]", "[{k: a}, {k: b}]")
    case = await told(store, file)
    begun = (await case.case.store.write(lambda s: commit.advance(s, case.case.run_id, case.terms, NOW))).begun
    for outcome in (Done("fine"), Failed("command_failed", "it exited with 2", stderr="no such file")):
        performed, one = commit.Performed(outcome), begun[0]
        begun = (await store.write(lambda s, b=one, p=performed: commit.record(s, b, p, case.terms, NOW))).begun  # type: ignore[misc]
    (comment,) = await case.comments()
    assert "element_failed" in comment
    assert "1 element failed: `b` (s1 failed: command_failed)" in comment
    assert "no such file" in comment


async def test_elements_that_go_well_hide_no_failure(store: Store) -> None:
    """The first failed, the second ended last."""
    case = await told(store, text(", each: {over: [a, b]}"))
    begun = (await case.case.store.write(lambda s: commit.advance(s, case.case.run_id, case.terms, NOW))).begun
    outcomes: tuple[Outcome, ...] = (Failed("command_failed", "it exited with 2"), Done("fine"))
    for one, outcome in zip(begun, outcomes, strict=True):
        performed = commit.Performed(outcome)
        await store.write(lambda s, b=one, p=performed: commit.record(s, b, p, case.terms, NOW))  # type: ignore[misc]
    (comment,) = await case.comments()
    assert "1 element failed: `0` (s1 failed: command_failed)" in comment


async def test_answers_to_a_review(store: Store) -> None:
    """The reaction is on the review; the footer names the threads, unless it stands in the only one."""
    for reply_to, named in ((None, "on [a.py:3](https://x.test/1#discussion_r5)</sub>"), (5, "")):
        case = await told(store, text(""), guid=f"g{reply_to}")

        def of_review(session: Session, run_id: str = case.case.run_id, reply_to: int | None = reply_to) -> None:
            dispatch = runs.rows(session, run_id).dispatch
            dispatch.target_kind, dispatch.comment_id, dispatch.reply_to = "review", 700, reply_to
            place = ReviewPlace("a.py", 3, "RIGHT", "", 5, 700)
            asked = Comment(5, ANA, "x", NOW, NOW, "https://x.test/1#discussion_r5", kind="review_comment", place=place)
            dispatch.trigger = {**dispatch.trigger, **places_to_json([asked])}
            session.add(dispatch)

        await store.write(of_review)
        await case.play(Done("done"))
        row, reaction = (await case.rows())[-1], (await case.rows("reaction"))[-1]
        assert row.body.rstrip().endswith(named or "</sub>")
        assert ("discussion_r5" in row.body) == bool(named)
        assert row.target_id == reply_to
        assert (reaction.body, reaction.target_kind, reaction.target_id) == ("rocket", "review", 700)
