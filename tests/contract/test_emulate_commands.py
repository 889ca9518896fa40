"""Every command and refusal that an independent GitHub has the endpoints for: the npm package `emulate`.

It serves comments, labels, issues, roles, pull requests, reviews, check runs, and signed deliveries of them. It lacks
reactions and pins (which are dropped with the reason), git over HTTP (so no step has a checkout), and the files of a
pull request (the list is empty). What it tells of a comment does not say whether its thread is a pull request; what it
tells of an edit lacks the text before it: a box that somebody ticks there is put back and counts for nothing, as in any
edit whose old text nobody knows.
"""

from __future__ import annotations

import asyncio
from typing import Any

from sqlmodel import select

from bot.dispatch.builtins import BUILTINS
from bot.model.state import GateState, RunState
from bot.store.tables import Gate, Run
from tests.contract.emulate import OWNER
from tests.contract.test_emulate_stories import Stage
from tests.contract.test_emulate_stories import stage as stage  # the fixture: pytest finds it by this name

BOT_YML = """\
version: 1
agents:
  helper: {model: demo:helper, prompt: You help with issues.}
workflows:
  check: {steps: [{id: check, run: "echo checked", workspace: none}]}
  fails: {steps: [{id: boom, run: "exit 3", workspace: none}]}
  release: {trigger_role: admin, steps: [{id: one, run: "echo released", workspace: none}]}
  ship:
    steps:
      - {id: approve, ask: Ship it?, who: {role: admin}}
      - {id: go, run: "echo shipped", workspace: none}
  wish:
    steps:
      - {id: which, ask: Which colour?, text: true}
      - {id: go, run: "echo chosen", workspace: none}
"""


async def says(stage: Stage, login: str, body: str) -> list[str]:
    """Somebody comments; what the bot says that it had not said before, edits included."""
    before = await stage.replies()
    await stage.says(login, body)
    after = await stage.replies()
    # an answer to a question changes the comment that asks it
    return [text for place, text in enumerate(after) if place >= len(before) or text != before[place]]


async def test_what_the_bot_tells_about_itself(stage: Stage) -> None:
    """`help`, `status`, `config`, `why`: one comment each."""
    await stage.configures(BOT_YML)
    (told,) = await says(stage, "meg", "@bot help")
    assert all(f"@bot {one.usage}".replace("|", "\\|") in told for one in BUILTINS)
    assert await says(stage, "meg", "@bot status") == ["Nothing is under way here."]
    (told,) = await says(stage, "meg", "@bot config")
    assert "`helper`" in told
    await says(stage, "meg", "@bot helper hello")
    (told,) = await says(stage, "meg", "@bot why r1")
    assert told.startswith("**What r1 saw**")
    assert await says(stage, "meg", "@bot why r9") == ["There is no r9 in this thread."]


async def test_pins(stage: Stage) -> None:
    """`pin`, `pins`, `unpin` keep one comment, edited in place; what is not pinned cannot be taken off."""
    (index,) = await says(stage, "meg", "@bot pin Always be kind")
    assert "Always be kind" in index
    (listed,) = await says(stage, "meg", "@bot pins")
    assert "1. [meg," in listed
    (refused,) = await says(stage, "meg", "@bot unpin 7")
    assert refused.startswith("Not done: ")
    changed = await says(stage, "meg", "@bot unpin 1")
    assert any("Nothing is pinned." in one for one in changed)


async def test_ends_and_beginnings(stage: Stage) -> None:
    """`cancel`, `retry`, `stop`, `resume`, with nothing under way and with something."""
    await stage.configures(BOT_YML)
    assert await says(stage, "meg", "@bot cancel r4") == ["r4 is not under way here."]
    (refused,) = await says(stage, "meg", "@bot retry")
    assert refused.startswith("Not done: ")
    (failed,) = await says(stage, "meg", "@bot fails")
    assert "`fails` failed: `command_failed`" in failed
    (again,) = await says(stage, "meg", "@bot retry r1")
    assert "`fails` failed" in again
    (stopped,) = await says(stage, "meg", "@bot stop")
    assert stopped.startswith("Stopped: ")
    (refused,) = await says(stage, "meg", "@bot check")
    assert "stopped me in this thread" in refused
    (resumed,) = await says(stage, "meg", "@bot resume")
    assert resumed.startswith("I take requests in this thread again.")
    (told,) = await says(stage, "meg", "@bot check")
    assert told.startswith("```text\nchecked")


async def test_answers(stage: Stage) -> None:
    """`approve`, `reject`, `answer`: by whom it is for; a cancelled question is asked no more."""
    await stage.configures(BOT_YML)
    assert await says(stage, "ana", "@bot approve") == ["Nothing waits for an answer here."]
    (asked,) = await says(stage, "meg", "@bot ship")
    assert asked.startswith("**Ship it?**")
    (refused,) = await says(stage, "meg", "@bot approve")
    assert "is for an administrator" in refused
    settled, shipped = await says(stage, "ana", "@bot approve")
    assert "✅ Answered by `ana`" in settled
    assert "shipped" in shipped
    await says(stage, "meg", "@bot ship")
    settled, ended = await says(stage, "ana", "@bot reject It is late")
    assert "> It is late" in settled
    assert "r2" in ended
    await says(stage, "meg", "@bot wish")
    settled, chosen = await says(stage, "meg", "@bot answer green")
    assert "> green" in settled
    assert "chosen" in chosen
    await says(stage, "meg", "@bot ship")
    changed = await says(stage, "meg", "@bot cancel r4")
    assert any("`ship` was cancelled by `meg`." in one for one in changed)
    states = await stage.look(lambda session: session.exec(select(Gate.state).order_by(Gate.id)).all())
    assert list(states) == [GateState.ANSWERED, GateState.ANSWERED, GateState.ANSWERED, GateState.CANCELLED]


async def test_a_box_ticked_where_the_text_before_is_not_told(stage: Stage) -> None:
    """Put back, and it counts for nothing: nobody can tell a tick from another text."""
    await stage.configures(BOT_YML)
    await says(stage, "meg", "@bot ship")
    comments = await stage.call("ana", "GET", "/issues/1/comments")
    asks = comments[-1]
    ticked = asks["body"].replace("- [ ] approve", "- [x] approve")
    await stage.call("ana", "PATCH", f"/issues/comments/{asks['id']}", body=ticked)

    async def restored() -> bool:
        await stage.heard(asks["id"])
        return bool((await stage.call("ana", "GET", f"/issues/comments/{asks['id']}"))["body"].find("- [x]") < 0)

    async with asyncio.timeout(30):
        while not await restored():
            await asyncio.sleep(0.02)
    assert await stage.look(lambda session: session.exec(select(Gate.state)).all()) == [GateState.OPEN]
    (settled, _) = await says(stage, "ana", "@bot approve")
    assert "✅ Answered by `ana`" in settled


async def test_who_may_not_gets_nothing_whatever_is_asked(stage: Stage) -> None:
    """Each command, by somebody who is no collaborator; then by one who is one, by whom more is asked."""
    await stage.configures(BOT_YML)
    asked = "\n".join(f"@bot {one.example}" for one in BUILTINS)
    assert await says(stage, "sam", asked) == []
    assert await says(stage, "sam", "@bot check\n@bot helper hello\n@bot what is this?\n@bot chekc it") == []
    assert await says(stage, "meg", "@bot release") == []
    (told,) = await says(stage, "ana", "@bot release")
    assert "released" in told
    assert await stage.look(lambda session: session.exec(select(Run.state)).all()) == [RunState.SUCCEEDED]


async def test_words_that_are_no_command(stage: Stage) -> None:
    """A probable typo is asked about, a built-in with more words is free text."""
    await stage.configures(BOT_YML)
    (told,) = await says(stage, "meg", "@bot chekc it")
    assert "Did you mean `@bot check`" in told
    await says(stage, "meg", "@bot stop using var, please")
    assert await stage.look(lambda session: len(session.exec(select(Run)).all())) == 1


async def pull_with(stage: Stage, body: str) -> dict[str, Any]:
    """A branch with one new file, and a pull request of it by whoever owns the repository."""
    main = await stage.call(OWNER, "GET", "/git/ref/heads/main")
    await stage.call(OWNER, "POST", "/git/refs", ref="refs/heads/topic", sha=main["object"]["sha"])
    await stage.call(OWNER, "PUT", "/contents/x.txt", message="Change", content="eA==", branch="topic")
    made = await stage.call(OWNER, "POST", "/pulls", title="Mend it", head="topic", base="main", body=body)
    return dict(made)


async def checks(stage: Stage, sha: str, count: int) -> list[tuple[str, str, str]]:
    """The ended check runs of a commit, as soon as there are so many."""
    async with asyncio.timeout(30):
        while True:
            found = (await stage.call("meg", "GET", f"/commits/{sha}/check-runs"))["check_runs"]
            ended = [(one["name"], one["status"], one["conclusion"]) for one in found if one["conclusion"]]
            if len(ended) >= count:
                return sorted(ended)
            await asyncio.sleep(0.02)


async def test_a_pull_request_that_asks_gets_a_check(stage: Stage) -> None:
    """What its body asks for is shown as a check run of its head, beside the comment."""
    await stage.configures(BOT_YML)
    pull = await pull_with(stage, "@bot check")
    assert await checks(stage, pull["head"]["sha"], 1) == [("check", "completed", "success")]
    comments = await stage.call("meg", "GET", f"/issues/{pull['number']}/comments")
    assert ["checked" in one["body"] for one in comments] == [True]


async def test_a_label_starts_a_workflow(stage: Stage) -> None:
    """In the name of whoever sets it, and not of who may not."""
    labels = "on: {labeled: [ready]}, trigger_role: admin, steps: [{id: one, run: echo started, workspace: none}]"
    await stage.configures(f"version: 1\nworkflows:\n  labels: {{{labels}}}\n")
    await stage.call("meg", "POST", "/issues/1/labels", labels=["ready"])
    await says(stage, "meg", "@bot status")
    assert await stage.look(lambda session: len(session.exec(select(Run)).all())) == 0
    await stage.call("meg", "DELETE", "/issues/1/labels/ready")
    await stage.call(OWNER, "POST", "/issues/1/labels", labels=["ready"])
    async with asyncio.timeout(30):
        while not any("started" in one for one in await stage.replies()):
            await asyncio.sleep(0.02)
