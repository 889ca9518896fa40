"""Commands of a thread and their refusals: comment in, comments and reactions out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from sqlmodel import col, select

from bot.model.state import DispatchState, RunState
from bot.store import Session
from bot.store.tables import Attempt, Dispatch, Run
from tests.stage import Stage, open_stage

#: `flaky` fails until somebody puts a file called `mended` into the repository
BOT_YML = """\
version: 1
agents:
  helper: {model: demo:helper, prompt: You help with issues., description: Answers from what it sees.}
workflows:
  flaky:
    description: Fails until it is mended.
    params: {depth: "1"}
    steps:
      - {id: plan, run: "echo planned $(date +%s%N)", publish: true}
      - {id: build, run: "test -f mended && echo built at ${{ params.depth }} after $PLAN", workspace: read,
         env: {PLAN: "${{ steps.plan.output }}"}}
      - {id: test, run: "echo tested $BUILD", env: {BUILD: "${{ steps.build.output }}"}}
  silent:
    steps:
      - {id: plan, run: echo planned, publish: true}
      - {id: check, run: test -f mended, workspace: read}
  open_to_all:
    trigger_role: read
    steps: [{id: only, run: "echo hello $ACTOR", env: {ACTOR: "${{ trigger.actor }}"}}]
  maintained:
    trigger_role: maintain
    steps: [{id: only, run: "echo careful"}]
  slow:
    steps: [{id: slow, run: sleep 60}]
"""


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """acme/widgets with workflows that fail, wait, and are not for everybody."""
    async with open_stage(tmp_path, {".github/bot.yml": BOT_YML, "README.md": "# widgets\n"}) as opened:
        yield opened


async def runs_of(stage: Stage) -> list[tuple[str, str, RunState]]:
    """Every run: number, workflow, state."""

    def read(session: Session) -> list[tuple[str, str, RunState]]:
        found = session.exec(select(Run).order_by(col(Run.id))).all()
        return [(f"r{run.number}", run.workflow, run.state) for run in found]

    return await stage.bot.store.read(read)


async def until(stage: Stage, so: Callable[[Session], bool]) -> None:
    async with asyncio.timeout(30):
        while not await stage.bot.store.read(so):
            await asyncio.sleep(0.01)


async def running(stage: Stage) -> None:
    """Until a step is under way."""
    await until(stage, lambda session: any(not one.state.ended for one in session.exec(select(Attempt))))


async def retries(stage: Stage) -> list[str | None]:
    """What each run repeats, by number."""

    def read(session: Session) -> list[str | None]:
        found = session.exec(select(Run).order_by(col(Run.id))).all()
        names = {run.id: f"r{run.number}" for run in found}
        return [names.get(run.retry_of or "") for run in found]

    return await stage.bot.store.read(read)


# -- retry -------------------------------------------------------------------------------------------------------------


async def test_retry_makes_the_newest_ended_run_once_more(stage: Stage) -> None:
    """The same request with its params, the configuration and repository of now; 👀 at once, 🚀 at the end."""
    await stage.says("ana", "@bot flaky depth=3")
    assert "step `build`" in stage.replies()[-1]
    await stage.configures("yes\n", path="mended")
    asked = await stage.says("meg", "@bot retry")
    assert stage.reactions(asked) == ["rocket"]
    assert "tested built at 3 after planned" in stage.replies()[-1]
    assert "<sub>r2, again r1 · flaky · " in stage.replies()[-1]
    assert await runs_of(stage) == [("r1", "flaky", RunState.FAILED), ("r2", "flaky", RunState.SUCCEEDED)]
    assert await retries(stage) == [None, "r1"]
    assert len([body for body in stage.replies() if "planned" in body and "tested" not in body]) == 2


async def test_retry_sees_what_came_before_it_in_the_comment(stage: Stage) -> None:
    """A run that the same comment cancels is the newest that has ended. No 👀 is left on what was cancelled."""
    asked = await stage.says("ana", "@bot open_to_all\n@bot cancel\n@bot retry")
    assert [state for _, _, state in await runs_of(stage)] == [RunState.CANCELLED, RunState.SUCCEEDED]
    assert await retries(stage) == [None, "r1"]
    assert not any("Not done" in body for body in stage.replies())
    assert "eyes" not in stage.reactions(asked)


async def test_retry_from_a_step_takes_over_what_came_before(stage: Stage) -> None:
    """The first step is neither run nor posted again, and its output is what it was."""
    await stage.says("ana", "@bot flaky")
    (plan,) = [body for body in stage.replies() if "planned" in body]
    await stage.configures("yes\n", path="mended")
    asked = await stage.says("meg", "@bot retry r1 from build")
    assert stage.reactions(asked) == ["rocket"]
    written = plan.split("planned ")[1].split()[0]
    assert f"tested built at 1 after planned {written}" in stage.replies()[-1]
    assert len([body for body in stage.replies() if "planned" in body and "tested" not in body]) == 1


async def test_what_was_posted_is_not_posted_again(stage: Stage) -> None:
    """The result of a retry that has nothing new to say stands in the thread already."""
    await stage.says("ana", "@bot silent")
    said = len(stage.replies())
    await stage.configures("yes\n", path="mended")
    asked = await stage.says("meg", "@bot retry from check")
    assert stage.reactions(asked) == ["rocket"]
    assert len(stage.replies()) == said


@pytest.mark.parametrize(
    ("asks", "told"),
    [
        ("retry r9", "Not done: there is no r9 in this thread (`status` names the newest)."),
        ("retry r1 from tset", "Not done: `flaky` has no step `tset` (its steps are `plan`, `build`, `test`)."),
        (
            "retry r1 from test",
            "Not done: r1 never came to `test`, so nothing before it is known (it came to `plan`, `build`).",
        ),
    ],
)
async def test_retry_refused(stage: Stage, asks: str, told: str) -> None:
    """😕 and one sentence, with what can be done."""
    await stage.says("ana", "@bot flaky")
    asked = await stage.says("ana", f"@bot {asks}")
    assert (stage.replies()[-1], stage.reactions(asked)) == (told, ["confused"])
    assert len(await runs_of(stage)) == 1


async def test_retry_when_nothing_has_ended(stage: Stage) -> None:
    """Told, not silent; free text that begins so is free text."""
    asked = await stage.says("ana", "@bot retry")
    assert stage.replies() == [
        "Not done: nothing has ended here that could be tried again (`help` lists what there is)."
    ]
    assert stage.reactions(asked) == ["confused"]
    await stage.says("ana", "@bot retry the parser with an empty file")
    assert [name for _, name, _ in await runs_of(stage)] == ["ask"]


async def test_retry_is_refused_while_it_is_under_way(stage: Stage) -> None:
    """And so is a second retry of the same run."""
    stage.world.comment(stage.repo, 1, "ana", "@bot slow")
    await running(stage)
    stage.world.comment(stage.repo, 1, "ana", "@bot retry r1")
    async with asyncio.timeout(20):
        while not stage.replies():
            await asyncio.sleep(0.01)
    assert stage.replies() == ["Not done: r1 is still under way (`@bot cancel r1` ends it)."]
    await stage.says("meg", "@bot cancel")
    stage.world.comment(stage.repo, 1, "ana", "@bot retry r1")
    await running(stage)
    before = len(stage.replies())
    stage.world.comment(stage.repo, 1, "meg", "@bot retry r1")
    async with asyncio.timeout(20):
        while len(stage.replies()) == before:
            await asyncio.sleep(0.01)
    assert stage.replies()[-1] == "Not done: r2 is trying r1 again already (`@bot cancel r2` ends that)."
    await stage.says("meg", "@bot cancel")


async def test_retry_asks_for_the_role_that_the_workflow_needs(stage: Stage) -> None:
    """A reader may where the workflow is for readers; a writer may not where it is for maintainers: silence."""
    await stage.says("sam", "@bot open_to_all")
    await stage.says("sam", "@bot retry")
    assert [state for _, _, state in await runs_of(stage)] == [RunState.SUCCEEDED] * 2
    await stage.says("meg", "@bot maintained")
    said = len(stage.replies())
    asked = await stage.says("ana", "@bot retry")
    assert (len(await runs_of(stage)), len(stage.replies()), stage.reactions(asked)) == (3, said, [])
    await stage.says("meg", "@bot retry")
    assert len(await runs_of(stage)) == 4


async def test_a_retry_is_its_askers_and_keeps_the_words(stage: Stage) -> None:
    """Who asks again is the actor; `trigger` is the first request's, with the lesser role of both."""
    await stage.says("sam", "@bot open_to_all")
    await stage.says("meg", "@bot retry")
    assert "hello sam" in stage.replies()[-1]

    def read(session: Session) -> list[tuple[str, str]]:
        found = session.exec(select(Dispatch).order_by(col(Dispatch.sequence))).all()
        return [(one.actor, one.actor_role) for one in found]

    assert await stage.bot.store.read(read) == [("sam", "read"), ("meg", "read")]


async def test_retry_where_the_workflow_is_gone_or_has_changed(stage: Stage) -> None:
    """The configuration of now counts, and says what does not fit."""
    await stage.says("ana", "@bot flaky")
    changed = BOT_YML.replace("echo planned", "echo thought")
    await stage.configures(changed)
    await stage.says("ana", "@bot retry r1 from build")
    assert stage.replies()[-1] == (
        "Not done: `plan`, which comes before `build`, has changed since (`retry r1` begins it anew)."
    )
    await stage.configures(BOT_YML.replace("  flaky:", "  other:"))
    await stage.says("ana", "@bot retry r1")
    assert stage.replies()[-1] == (
        "Not done: `flaky` is not in the configuration any more (`@bot help` lists what is)."
    )
    inputs = "    inputs: {ticket: {type: text, required: true}}\n    steps:\n      - {id: plan"
    await stage.configures(BOT_YML.replace("    steps:\n      - {id: plan", inputs))
    asked = await stage.says("ana", "@bot retry r1")
    assert "what `flaky` was given does not fit" in stage.replies()[-1]
    assert "Write `@bot flaky " in stage.replies()[-1]
    assert "`ticket` is needed" in stage.replies()[-1]
    assert stage.reactions(asked) == ["confused"]
    assert len(await runs_of(stage)) == 1


async def test_retry_of_a_deleted_request(stage: Stage) -> None:
    """Its words are gone, so there is nothing to do again; a retry's copy of them goes too."""
    first = await stage.says("ana", "@bot open_to_all secret-words")
    await stage.says("ana", "@bot retry")
    stage.world.delete_comment(first.id, "ana")
    await stage.settle()
    await stage.says("ana", "@bot retry")
    assert stage.replies()[-1] == "Not done: the comment that asked for r2 was deleted (ask again in a new one)."

    def read(session: Session) -> list[bool]:
        found = session.exec(select(Dispatch)).all()
        return ["secret-words" in f"{one.request} {one.trigger}" for one in found]

    assert await stage.bot.store.read(read) == [False, False]


# -- stop and resume ---------------------------------------------------------------------------------------------------


async def test_stop_ends_everything_and_keeps_the_thread_quiet_until_resume(stage: Stage) -> None:
    """What runs and what waits is cancelled; requests get 😕 and one sentence a pause; built-ins go on."""
    other = stage.world.open_issue(stage.repo, "sam", "another", "body")
    stage.world.comment(stage.repo, 1, "ana", "@bot slow")
    await running(stage)
    stage.world.comment(stage.repo, 1, "ana", "@bot open_to_all")
    await until(stage, lambda session: len(session.exec(select(Run)).all()) == 2)
    stopped = await stage.says("meg", "@bot stop")
    assert stage.reactions(stopped) == ["+1"]
    assert [state for _, _, state in await runs_of(stage)] == [RunState.CANCELLED] * 2
    (told,) = stage.replies()
    assert told == (
        "Stopped: nothing is started in this thread any more; `@bot resume` goes on.\n\n"
        "- r1 `slow`, asked for by @ana, was cancelled\n- r2 `open_to_all`, asked for by @ana, was cancelled"
    )
    said = len(stage.replies())
    refused = [await stage.says("ana", words) for words in ("@bot open_to_all", "@bot hello", "@bot retry r1")]
    assert [stage.reactions(one) for one in refused] == [["confused"]] * 3
    assert stage.replies()[said:] == ["Nothing was started: `meg` stopped me in this thread; `@bot resume` goes on."]
    await stage.says("ana", "@bot status")
    assert "`meg` stopped this thread on " in stage.replies()[-1]
    again = await stage.says("ana", "@bot stop")
    assert stage.reactions(again) == ["confused"]
    assert "`meg` stopped this thread on " in stage.replies()[-1]
    assert "already; `@bot resume` goes on." in stage.replies()[-1]
    await stage.says("ana", "@bot open_to_all", other.number)
    assert "hello ana" in stage.replies(other.number)[-1]
    resumed = await stage.says("sam", "@bot resume")
    assert stage.reactions(resumed) == []
    resumed = await stage.says("ana", "@bot resume")
    assert (stage.reactions(resumed), "I take requests" in stage.replies()[-1]) == (["+1"], True)
    resumed = await stage.says("ana", "@bot resume")
    assert stage.reactions(resumed) == ["confused"]
    assert stage.replies()[-1] == "This thread is not stopped; there is nothing to resume."
    await stage.says("ana", "@bot open_to_all")
    assert "hello ana" in stage.replies()[-1]
    await stage.says("ana", "@bot stop")
    await stage.says("ana", "@bot open_to_all")
    assert stage.replies()[-1].startswith("Nothing was started: `ana` stopped me"), "each pause is told"

    def reasons(session: Session) -> list[str]:
        found = session.exec(select(Dispatch).where(Dispatch.state == DispatchState.REFUSED)).all()
        return [one.reason.partition(":")[0] for one in found]

    assert await stage.bot.store.read(reasons) == ["paused"] * 4


async def test_stop_takes_back_what_was_asked(stage: Stage) -> None:
    """An open gate is cancelled with its run, and its comment says so."""
    await stage.configures("version: 1\nworkflows:\n  ship:\n    steps:\n      - {id: go, ask: Shall we?}\n")
    await stage.says("ana", "@bot ship")
    await stage.says("ana", "@bot status")
    asks = next(one for one in stage.world.comments(stage.repo, 1) if "Shall we?" in one.body)
    link = f"{stage.world.site_url}/acme/widgets/issues/1#issuecomment-{asks.id}"
    status = stage.replies()[-1]
    assert (
        f" `ship` · waits for less than a minute · [`r1.go`]({link}): anybody who can write here can answer until "
        in status
    )
    assert status.endswith(" UTC · asked by `ana`")
    (question,) = [body for body in stage.replies() if "Shall we?" in body]
    await stage.says("meg", "@bot stop")
    assert [state for _, _, state in await runs_of(stage)] == [RunState.CANCELLED]
    (settled,) = [body for body in stage.replies() if "Shall we?" in body]
    assert settled != question


async def test_stop_with_more_behind_it_is_free_text(stage: Stage) -> None:
    """A built-in counts only if its whole line fits."""
    await stage.says("ana", "@bot stop using var")
    await stage.says("ana", "@bot open_to_all")
    assert [name for _, name, _ in await runs_of(stage)] == ["ask", "open_to_all"]


# -- status, config, help, did you mean --------------------------------------------------------------------------------


async def test_status_tells_the_place_in_the_queue(stage: Stage) -> None:
    """👀 as soon as it is accepted, however many are before it."""
    stage.world.comment(stage.repo, 1, "ana", "@bot slow")
    await running(stage)
    asked = [stage.world.comment(stage.repo, 1, "ana", f"@bot slow {n}") for n in (1, 2)]
    await until(stage, lambda session: len(session.exec(select(Run)).all()) == 3)
    stage.world.comment(stage.repo, 1, "meg", "@bot status")
    async with asyncio.timeout(20):
        while not (stage.replies() and all("eyes" in stage.reactions(one) for one in asked)):
            await asyncio.sleep(0.01)
    lines = stage.replies()[-1].splitlines()[2:]
    assert [line.split(" · ")[2] for line in lines] == ["asked by `ana`", "1 before it", "2 before it"]
    begun = asyncio.get_running_loop().time()
    await stage.says("meg", "@bot cancel r1\n@bot cancel r2\n@bot cancel r3")
    assert asyncio.get_running_loop().time() - begun < 20
    assert {state for _, _, state in await runs_of(stage)} == {RunState.CANCELLED}


async def test_config_names_every_limit_and_ceiling(stage: Stage) -> None:
    """Commit, roster, limits of a run and a day, the operator's ceilings."""
    asked = await stage.says("ana", "@bot config")
    told = stage.replies()[-1]
    for row in (
        "| one run may spend | $2, 400,000 tokens, 60 minutes |",
        "| one person in 24 hours | 100 requests, $20 |",
        "| this repository in 24 hours | $100 |",
        "| one thread in 24 hours | no limit here |",
        "| ceilings of whoever runs me | $10 a run, $50 in 24 hours, all repositories together |",
        "| `flaky` | a workflow |",
        "| `helper` | `demo:helper` |",
    ):
        assert row in told
    assert stage.reactions(asked) == ["+1"]


async def test_help_says_who_may(stage: Stage) -> None:
    """Usage, example and who, from the same table that the parser reads."""
    await stage.says("ana", "@bot help")
    told = stage.replies()[-1]
    assert "| `@bot flaky [depth=…] …` | Fails until it is mended. |" in told
    assert "| `@bot retry [run] [from step]` |" in told
    assert "| `@bot retry r3 from build` | whoever may start it |" in told
    assert (
        "| `@bot stop` | end all of this thread, and start nothing in it until `resume` | `@bot stop` | write" in told
    )


async def test_a_typing_error_is_asked_about_only_of_those_who_may(stage: Stage) -> None:
    """Nothing runs; a reader gets nothing."""
    asked = await stage.says("ana", "@bot retyr")
    assert stage.replies()[-1].startswith("Did you mean `@bot retry`?")
    assert stage.reactions(asked) == ["confused"]
    await stage.says("sam", "@bot retyr")
    assert len(stage.replies()) == 1
    assert await runs_of(stage) == []


# -- a broken configuration --------------------------------------------------------------------------------------------


async def test_a_broken_configuration_is_told_once_and_the_built_ins_work(stage: Stage) -> None:
    """One comment per thread and commit; `write` is what it takes; nothing can be tried again meanwhile."""
    await stage.says("ana", "@bot open_to_all")
    await stage.configures(BOT_YML.replace("model: demo", "modle: demo"))
    refused = [await stage.says("ana", words) for words in ("@bot flaky", "@bot retry", "@bot retry r1 from only")]
    assert [stage.reactions(one) for one in refused] == [["confused"]] * 3
    assert len([body for body in stage.replies() if "cannot be used" in body]) == 1
    await stage.says("sam", "@bot open_to_all")
    await stage.says("sam", "@bot stop")
    told = len(stage.replies())
    for command, says in (
        ("help", "only the built-in commands work.\n\n<details><summary>Built-in commands</summary>"),
        ("status", "Nothing is under way here."),
        ("cancel", "Nothing is under way here."),
        ("stop", "Stopped: nothing is started"),
        ("resume", "I take requests in this thread again."),
    ):
        await stage.says("ana", f"@bot {command}")
        assert says in stage.replies()[-1]
    assert len(stage.replies()) == told + 5


# -- a trigger that goes away ------------------------------------------------------------------------------------------


async def test_a_deleted_trigger_cancels_what_has_not_started(stage: Stage) -> None:
    """An edit that takes the request away cancels nothing."""
    stage.world.comment(stage.repo, 1, "ana", "@bot slow")
    await running(stage)
    gone = stage.world.comment(stage.repo, 1, "ana", "@bot slow too")
    edited = stage.world.comment(stage.repo, 1, "ana", "@bot open_to_all")
    await until(stage, lambda session: len(session.exec(select(Run)).all()) == 3)
    stage.world.edit_comment(edited.id, "ana", "never mind")
    stage.world.delete_comment(gone.id, "ana")
    await until(
        stage, lambda session: len([r for r in session.exec(select(Run)) if r.state is RunState.CANCELLED]) == 1
    )
    await stage.says("meg", "@bot cancel r1")
    assert [state for _, _, state in await runs_of(stage)] == [
        RunState.CANCELLED,
        RunState.CANCELLED,
        RunState.SUCCEEDED,
    ]
    told = [body for body in stage.replies() if "r2" in body]
    assert told == ["r2 `slow` was cancelled by the deletion of the comment that asked."]
