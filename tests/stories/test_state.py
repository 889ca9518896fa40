"""What the steps of a run see of the run itself, end to end: `.bot/run.json`, the run folder, produced files."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sqlmodel import col, select

from bot.store import Session, snapshots
from bot.store.tables import Attempt
from tests.stage import open_stage

BOT_YML = """\
version: 1
agents:
  echo: {model: "demo:echo", prompt: You repeat.}
workflows:
  look:
    goal: See it.
    export: {from: [report, count]}
    steps:
      - id: count
        run: |
          echo '{"n": 3}' > "$BOT_RESULT_FILE"; echo counted; mkdir -p .bot/out; ln -sfn /etc .bot/elsewhere
          printf 'all is well' > .bot/out/report.txt
        workspace: read
        produces: [{id: report, kind: log, path: .bot/out/report.txt}]
      - {id: blind, run: "rm .bot/run.json; ln -s /dev/null .bot/run.json", workspace: read}
      - id: see
        run: |
          cat "$BOT_RUN_DIR/count/stdout" "$BOT_RUN_DIR/count/result.json"
          touch "$BOT_RUN_DIR/mine" 2> /dev/null || echo read-only
          python3 -c '
          import json
          run = json.load(open(".bot/run.json"))
          print(run["intent"]["goal"], run["steps"]["count"]["result"], run["export"]["state"], list(run["steps"]))
          '
          echo "$REPORT"; git status --short
        workspace: read
        env: {REPORT: "${{ artifacts.report.content }}"}
      - {id: tell, agent: echo, workspace: read, publish: false}
  gone:
    steps:
      - {id: make, run: "echo x", produces: [{id: report, kind: log, path: out/report.txt}]}
"""


def prompt(session: Session) -> str:
    """What the newest agent was given."""
    row = session.exec(select(Attempt).where(Attempt.kind == "agent").order_by(col(Attempt.id).desc()).limit(1)).one()
    assert row.prompt_blob is not None
    return snapshots.get_blob(session, row.prompt_blob).decode()


async def test_a_step_sees_the_run(tmp_path: Path) -> None:
    """As it stands at the step's start; what a step left in the file's place does not matter."""
    async with open_stage(tmp_path, {".github/bot.yml": BOT_YML, "README.md": "# widgets\n"}) as stage:
        asked = await stage.says("ana", "@bot look")
        (told,) = stage.replies()
        assert stage.reactions(asked) == ["rocket"], told
        lines = told.split("```")[1].removeprefix("text").strip().splitlines()
        assert [line for line in lines if line != "read-only"] == [
            "counted",
            '{"n":3}',
            "See it. {'n': 3} current ['count', 'blind']",
            "all is well",
        ]
        assert '\nrun_file: ".bot/run.json"\n' in await stage.bot.store.read(prompt)
        async with asyncio.timeout(20):  # it is said before it is cleared
            while list(tmp_path.rglob("steps-*")):
                await asyncio.sleep(0.01)


async def test_a_file_that_was_not_made_fails_the_step(tmp_path: Path) -> None:
    """Its path is named."""
    async with open_stage(tmp_path, {".github/bot.yml": BOT_YML, "README.md": "# widgets\n"}) as stage:
        await stage.says("ana", "@bot gone")
        (told,) = stage.replies()
        assert "artifact_missing" in told
        assert "`out/report.txt`" in told
