"""An agent with tools, end to end: a scripted model calls them, the thread and the repository show what came of it."""

from __future__ import annotations

from pathlib import Path

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
