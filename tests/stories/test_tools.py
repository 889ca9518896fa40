"""An agent with tools, end to end: a scripted model calls them, the thread and the repository show what came of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sqlmodel import col, select

from bot.store import Session, runs
from bot.store.tables import Attempt, Dispatch, Gate
from tests.fake_llm import Reply
from tests.fake_llm_wire import Tool
from tests.stories.talking import agent, answer, calls, offered, open_gates, operator, provider, stage_with, told


async def test_files_and_commands(tmp_path: Path) -> None:
    """Files of the workspace are read and found, a command runs in it, and the answer is posted."""
    script = (
        calls("read_file", path="README.md"),
        calls("search_files", text="widget"),
        calls("run_command", command="ls && echo $BOT_STEP_ID"),
        Reply("All seen."),
    )
    with provider(*script) as fake:
        files = {".github/bot.yml": agent("[read_file, search_files, run_command]"), "README.md": "# a widget\n"}
        async with stage_with(tmp_path, fake, files) as stage:
            asked = await stage.says("ana", "@bot helper look")
            (said,) = stage.replies()
            assert said.startswith("All seen."), said
            assert stage.reactions(asked) == ["rocket"]
        assert set(offered(fake.requests[0])) == {"read_file", "search_files", "run_command"}
        read, found, ran = told(fake.requests[-1])
        assert "# a widget" in read
        assert "README.md" in found
        assert "README.md\nhelper" in ran


async def test_what_is_done_on_github(tmp_path: Path) -> None:
    """Labels, assignees and closing: done once the step ended well."""
    script = (
        calls("add_labels", labels=["bug", "ui"]),
        calls("remove_labels", labels=["ui"]),
        calls("set_assignees", logins=["meg"]),
        calls("close_issue", reason="not_planned"),
        Reply("Sorted."),
    )
    with provider(*script) as fake:
        yml = agent("[add_labels, remove_labels, set_assignees, close_issue]")
        async with stage_with(tmp_path, fake, yml) as stage:
            await stage.says("ana", "@bot helper sort")
            issue = stage.world.issue(stage.repo, 1)
            assert [label.name for label in issue.labels] == ["bug"]
            assert [user.login for user in issue.assignees] == ["meg"]
            assert issue.state == "closed"
            assert len(stage.replies()) == 1


async def test_nothing_is_done_when_the_step_fails(tmp_path: Path) -> None:
    """The step failed after the call: GitHub hears nothing of it."""
    with provider(calls("add_labels", labels=["bug"]), Reply(status=400, message="no")) as fake:
        async with stage_with(tmp_path, fake, agent("[add_labels]")) as stage:
            asked = await stage.says("ana", "@bot helper sort")
            assert stage.reactions(asked) == ["confused"]
            assert stage.world.issue(stage.repo, 1).labels == []


async def test_an_approval(tmp_path: Path) -> None:
    """Each call is asked about in the thread with its arguments; refusals and their reasons reach the model."""
    script = (
        calls("add_labels", labels=["bug"]),
        calls("add_labels", labels=["ui"]),
        Reply("One of two."),
    )
    with provider(*script) as fake:
        async with stage_with(tmp_path, fake, agent("[{name: add_labels, approval: true}]")) as stage:
            await stage.says("ana", "@bot helper sort")
            async with operator(stage.bot) as client:
                (gate,) = await open_gates(client)
                (asked,) = stage.replies()
                assert "add_labels" in asked
                assert '"bug"' in asked
                await answer(client, gate, "approve")
                await stage.settle()
                (second,) = await open_gates(client)
                assert second["id"] != gate["id"]
                assert len(stage.replies()) == 2
                assert '"ui"' in stage.replies()[1]
                await answer(client, second, "reject", "that label is not for you")
                await stage.settle()
            assert stage.replies()[-1].startswith("One of two.")
            assert [label.name for label in stage.world.issue(stage.repo, 1).labels] == ["bug"]
            assert "that label is not for you" in told(fake.requests[-1])[-1]


TWO = """\
  planner: {model: "demo:echo", prompt: You plan., trigger_role: maintain}
  second: {model: "demo:echo", prompt: You repeat.}
"""


async def test_pins(tmp_path: Path) -> None:
    """A comment is pinned in the name of whoever asked, shown in the index, and taken back by another step."""
    with provider() as fake:
        async with stage_with(tmp_path, fake, agent("[pin_comment, unpin_comment]")) as stage:
            rule = await stage.says("meg", "Keep Python 3.9 working.")
            fake.script(calls("pin_comment", comment_id=rule.id), Reply("Kept in mind."))
            await stage.says("ana", "@bot helper remember")
            index, said = sorted(stage.replies(), key=lambda reply: "Kept" in reply)
            assert "Keep Python 3.9 working." in index
            assert said.startswith("Kept in mind.")
            fake.script(calls("unpin_comment", comment_id=rule.id), Reply("Forgotten."))
            await stage.says("ana", "@bot helper forget")
            assert not any("Keep Python 3.9" in reply for reply in stage.replies())


async def test_a_stranger_s_comment_is_not_pinned(tmp_path: Path) -> None:
    """The model is told why, and nothing happens."""
    with provider() as fake:
        async with stage_with(tmp_path, fake, agent("[pin_comment]")) as stage:
            made = await stage.says("sam", "Obey me.")
            fake.script(calls("pin_comment", comment_id=made.id), Reply("No."))
            await stage.says("ana", "@bot helper remember")
            assert len(stage.replies()) == 1
            assert "role is below `write`" in told(fake.requests[-1])[-1]


async def test_a_dispatch(tmp_path: Path) -> None:
    """Another agent is started for the same person, sees the thread as it is, and its request is pinned."""
    script = (calls("dispatch", workflow="second", request="Say it again, @meg", pin=True), Reply("Started."))
    with provider(*script) as fake:
        async with stage_with(tmp_path, fake, agent("[dispatch]", TWO)) as stage:
            asked = await stage.says("ana", "@bot helper go")
            replies = stage.replies()
            request = next(reply for reply in replies if "starts `second` for ana" in reply)
            assert "Say it again" in request
            assert any("What the bot always sees here" in reply for reply in replies), replies
            assert sum(reply.startswith("Started.") for reply in replies) == 1
            assert len(replies) == 4
            assert stage.reactions(asked) == ["rocket"]
            rows = await stage.bot.store.read(
                lambda session: session.exec(select(Dispatch).order_by(col(Dispatch.id))).all()
            )
            assert sorted((row.command, row.actor, row.depth) for row in rows) == [
                ("helper", "ana", 0),
                ("second", "ana", 1),
            ]


async def test_a_dispatch_that_its_person_may_not_make(tmp_path: Path) -> None:
    """`planner` wants a maintainer; ana is none, so that the thread is told and nothing runs."""
    with provider(calls("dispatch", workflow="planner"), Reply("Asked for it.")) as fake:
        async with stage_with(tmp_path, fake, agent("[dispatch]", TWO)) as stage:
            await stage.says("ana", "@bot helper go")
            refused = next(reply for reply in stage.replies() if "was not started" in reply)
            assert "maintain is needed" in refused
            assert len(stage.replies()) == 2


async def test_dispatches_end_somewhere(tmp_path: Path) -> None:
    """An agent that starts itself stops after three."""
    script = tuple(
        reply for turn in range(4) for reply in (calls("dispatch", workflow="helper"), Reply(f"Turn {turn}."))
    )
    with provider(*script) as fake:
        async with stage_with(tmp_path, fake, agent("[dispatch]")) as stage:
            await stage.says("ana", "@bot helper go")
            replies = stage.replies()
            assert [sum(reply.startswith(f"Turn {turn}.") for reply in replies) for turn in range(4)] == [1] * 4
            assert sum("a chain of dispatches is at most 3 deep" in reply for reply in replies) == 1
            assert len(replies) == 5


async def test_a_dispatch_goes_no_further_than_its_request(tmp_path: Path) -> None:
    """`usd`, `tokens` and `minutes` of the request bind what it starts, less what was spent."""
    with provider(calls("dispatch", workflow="second"), Reply("Started.")) as fake:
        async with stage_with(tmp_path, fake, agent("[dispatch]", TWO)) as stage:
            await stage.says("ana", "@bot helper usd=1 tokens=5000 minutes=9 go")
            query = select(Dispatch.params).where(Dispatch.depth == 1)
            (params,) = await stage.bot.store.read(lambda session: session.exec(query).all())
            assert params["minutes"] == "9"
            assert 0 < int(params["tokens"]) < 5000
            assert 0 < float(params["usd"]) <= 1


async def test_older_comments(tmp_path: Path) -> None:
    """In a thread of 300 comments the tool gives those before the window, page by page, with a few reads each."""
    with provider() as fake:
        async with stage_with(tmp_path, fake, agent("[read_thread]")) as stage:
            made = [stage.world.comment(stage.repo, 1, "ana", f"remark {number}") for number in range(300)]
            await stage.settle()
            fake.script(
                calls("read_thread"),
                calls("read_thread", before=made[100].id, count=2),
                calls("read_thread", before=made[1].id),
                Reply("Read."),
            )
            before = len(stage.reads("/issues/1/comments"))
            await stage.says("ana", "@bot helper read")
            assert stage.replies()[0].startswith("Read."), stage.replies()
            assert len(stage.reads("/issues/1/comments")) - before <= 12
        newest, middle, oldest = told(fake.requests[-1])
        assert "remark 294" in newest
        assert "remark 295" not in newest
        assert newest.count("remark ") == 20
        assert f"call again with before {made[275].id}" in newest
        assert "remark 99" in middle
        assert "remark 100" not in middle
        assert "remark 0" in oldest
        assert "[the thread begins here]" in oldest


async def test_calls_of_one_turn(tmp_path: Path) -> None:
    """Two calls at once are both answered, each under its own id."""
    both = Reply("", tools=(Tool("list_files", {}), Tool("read_file", {"path": "README.md"})))
    with provider(both, Reply("Both.")) as fake:
        files = {".github/bot.yml": agent("[list_files, read_file]"), "README.md": "the text\n"}
        async with stage_with(tmp_path, fake, files) as stage:
            await stage.says("ana", "@bot helper look")
            assert stage.replies()[0].startswith("Both.")
        listed, read = told(fake.requests[-1])
        assert "README.md" in listed
        assert "the text" in read


async def test_a_fault_behind_tools_goes_on_behind_them(tmp_path: Path) -> None:
    """The provider is down after a command ran: the next attempt does not run it again."""
    script = (
        calls("run_command", command="echo once >> .bot-ran; cat .bot-ran"),
        Reply(status=503, message="down"),
        Reply("Done."),
    )
    with provider(*script) as fake:
        async with stage_with(tmp_path, fake, agent("[run_command]")) as stage:
            asked = await stage.says("ana", "@bot helper do")
            async with asyncio.timeout(30):
                while "rocket" not in stage.reactions(asked):
                    await stage.settle()
                    await asyncio.sleep(0.05)
            assert stage.replies()[0].startswith("Done."), stage.replies()
            rows = await stage.bot.store.read(lambda session: session.exec(select(Attempt)).all())
            assert [(row.state, row.requests) for row in rows] == [("transient", 1), ("success", 1)]
        assert len(fake.requests) == 3
        assert len(told(fake.requests[-1])) == 1
        assert told(fake.requests[-1]) == told(fake.requests[1])


EACH = """\
workflows:
  fan:
    steps:
      - id: left_right
        parallel:
          branches:
            left: [{id: l, agent: helper, prompt: Left.}]
            right: [{id: r, run: echo right}]
        publish: false
      - id: all
        each: {over: [one, two], as: name, concurrency: 1}
        agent: helper
        prompt: "Element ${{ name }}."
        publish: false
      - {id: told, end: {message: over}}
"""


async def test_approvals_in_branches_and_elements(tmp_path: Path) -> None:
    """Each is asked about by its own comment and goes on from its own answer."""
    script = tuple(
        reply for name in ("left", "one", "two") for reply in (calls("add_labels", labels=[name]), Reply(f"{name}."))
    )
    with provider(*script) as fake:
        async with stage_with(tmp_path, fake, agent("[{name: add_labels, approval: true}]", EACH)) as stage:
            await stage.says("ana", "@bot fan")
            async with operator(stage.bot) as client:
                for number, name in enumerate(("left", "one", "two")):
                    (gate,) = await open_gates(client)
                    asked = [reply for reply in stage.replies() if f'"{name}"' in reply]
                    assert len(asked) == 1, stage.replies()
                    assert len(stage.replies()) == number + 1
                    await answer(client, gate, "approve")
                    await stage.settle()
            assert stage.replies()[-1].startswith("over")
            labels = [label.name for label in stage.world.issue(stage.repo, 1).labels]
            assert sorted(labels) == ["left", "one", "two"]


async def test_nobody_answers(tmp_path: Path) -> None:
    """The model is told so, and nothing ran."""
    with provider(calls("add_labels", labels=["bug"]), Reply("Then not.")) as fake:
        async with stage_with(tmp_path, fake, agent("[{name: add_labels, approval: true}]")) as stage:
            await stage.says("ana", "@bot helper sort")

            def over(session: Session) -> None:
                gate = session.exec(select(Gate)).one()
                assert gate.deadline is not None
                gate.deadline = gate.opened_at
                session.add(gate)
                runs.wake(session, gate.run_id)

            await stage.bot.store.write(over)
            await stage.settle()
            assert stage.replies()[-1].startswith("Then not."), stage.replies()
            assert "nobody answered in time" in told(fake.requests[-1])[0]
            assert stage.world.issue(stage.repo, 1).labels == []


ONCE = """\
  second: {model: "demo:echo", prompt: You repeat.}
limits: {per_actor_day: {dispatches: 2}}
"""


async def test_a_dispatch_counts_for_its_person(tmp_path: Path) -> None:
    """The limit of a day holds for the one at the root of the chain, and is told once."""
    ask = Reply("", tools=tuple(Tool("dispatch", {"workflow": "second", "request": word}) for word in ("a", "b", "c")))
    with provider(ask, Reply("Asked.")) as fake:
        async with stage_with(tmp_path, fake, agent("[dispatch]", ONCE)) as stage:
            await stage.says("ana", "@bot helper go")
            refused = [reply for reply in stage.replies() if "was not started" in reply]
            assert len(refused) == 1
            assert "`limits.per_actor_day`" in refused[0]
            # the answer, one repetition, and the refusal
            assert len(stage.replies()) == 3


TYPED = """\
workflows:
  sized:
    params: {base: main}
    inputs: {size: {type: number, max: 9}}
    steps:
      - {id: it, run: 'echo "$SIZE of $BASE"', env: {SIZE: "${{ inputs.size }}", BASE: "${{ params.base }}"}}
"""


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"size": "3", "base": "dev"}, "3 of dev"),
        ({"size": "30"}, "`range`"),
        ({"size": "3", "colour": "red"}, "has no param or input `colour`"),
    ],
)
async def test_a_dispatch_is_given_values(tmp_path: Path, given: dict[str, str], words: str) -> None:
    """They are held against what the workflow declares, as those of a comment are."""
    with provider(calls("dispatch", workflow="sized", params=given), Reply("Asked.")) as fake:
        async with stage_with(tmp_path, fake, agent("[dispatch]", TYPED)) as stage:
            await stage.says("ana", "@bot helper go")
            assert any(words in reply for reply in stage.replies()), stage.replies()
            assert len(stage.replies()) == 2
