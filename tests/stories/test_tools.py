"""An agent with tools, end to end: a scripted model calls them, the thread and the repository show what came of it."""

from __future__ import annotations

from pathlib import Path

from sqlmodel import col, select

from bot.store.tables import Dispatch
from tests.fake_llm import Reply
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
            assert stage.reactions(asked) == ["eyes", "rocket"]
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
            assert stage.reactions(asked) == ["confused", "eyes"]
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
            assert stage.reactions(asked) == ["eyes", "rocket"]
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
