"""What an instance owes to people it does not know, and to maintainers whose App lacks something."""

from __future__ import annotations

from pathlib import Path

from tests.stage import Stage, open_stage


async def test_an_exported_variable_that_a_step_prints_is_redacted(tmp_path: Path) -> None:
    """It reaches the process that names it and no comment."""
    files = {
        ".github/bot.yml": "version: 1\nworkflows:\n  leak:\n    steps:\n"
        '      - {id: leak, run: "echo value $DEPLOY_KEY", env: {DEPLOY_KEY: }}\n'
    }
    environ = {"DEPLOY_KEY": "hunter2-deploy-Sup3rS3cret"}
    async with open_stage(tmp_path, files, environ=environ, export_env=("DEPLOY_KEY",)) as stage:
        await stage.says("ana", "@bot leak")
        (answer,) = stage.replies()
        assert "hunter2" not in answer
        assert "value [redacted]" in answer


async def test_an_app_that_may_not_read_contents_says_so(stage: Stage) -> None:
    """Once, with what to grant; a reader hears nothing."""
    stage.installation.permissions = {"metadata": "read", "issues": "write"}
    stage.world.tokens.clear()
    await stage.says("sam", "@bot two")
    assert stage.replies() == []
    asked = await stage.says("ana", "@bot two")
    (told,) = stage.replies()
    assert "`not_readable`" in told
    assert "contents: read" in told
    assert stage.reactions(asked) == ["confused"]
