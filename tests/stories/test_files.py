"""Files and secrets that a run is given: fetched once before any step, there for every step, refused all together."""

from __future__ import annotations

import shutil
from pathlib import Path

from sqlmodel import col, select

from bot.demo.server import LookAlikeServer
from bot.model.state import RunState
from bot.store import Session
from bot.store.tables import Attempt, Dispatch, Frame, Run
from bot.workspace.staging import FILE_BYTES_MAX
from tests.restarts import Scene, at_rest, until
from tests.stage import make_world, open_stage

BOT_YML = """\
version: 1
workflows:
  read:
    inputs:
      spec: {type: file, accept: [.csv, text/markdown]}
      other: {type: file, required: false}
    steps:
      - id: first
        run: stat -c %a .bot/inputs/spec; git status --porcelain; rm -rf .bot; ln -s /etc .bot
        workspace: read
      - id: small
        when: has(inputs.spec) && inputs.spec.size_bytes < 1000
        run: echo it is small
      - id: second
        run: printf '%s|' "$NAME" "$KIND" "$SIZE" "$URL" "$OTHER"; cat "$SPEC"; printf %s "$RAW" | base64 -d
        workspace: read
        env:
          SPEC: "${{ inputs.spec }}"
          NAME: "${{ inputs.spec.original_filename }}"
          KIND: "${{ inputs.spec.mime }}"
          SIZE: "${{ inputs.spec.size_bytes }}"
          URL: "${{ inputs.spec.url ?? 'none' }}"
          OTHER: "${{ inputs.other.path ?? 'none' }}"
          RAW: "${{ inputs.spec.bytes ?? '' }}"
  empty:
    inputs: {spec: {type: file}}
    steps:
      - {id: one, run: 'cat "$SPEC"; ls', workspace: none, env: {SPEC: "${{ inputs.spec.path }}"}}
"""
FILES = {".github/bot.yml": BOT_YML, "docs/a.md": "# A\n", "b.txt": "b\n"}


def attempts(session: Session) -> list[Attempt]:
    return list(session.exec(select(Attempt).order_by(col(Attempt.id))))


async def test_an_attachment_of_the_comment(tmp_path: Path) -> None:
    """Fetched once; every step finds it, whatever one before has done to `.bot`, and git does not see it."""
    async with open_stage(tmp_path, FILES, sandbox="off") as stage:
        url = stage.world.store.attach("sizes.csv", b"a,1\n", "text/csv")
        await stage.says("ana", f"@bot read spec={url}")
        (said,) = stage.replies()
        assert f"sizes.csv|text/csv|4|{url}|none|a,1\na,1\n" in said
        first, small, _ = await stage.bot.store.read(attempts)
        assert ((first.output or "").strip(), (small.output or "").strip()) == ("600", "it is small")


async def test_a_path_of_the_repository(tmp_path: Path) -> None:
    """It has no address; a step without a workspace that names it has it in its empty folder."""
    async with open_stage(tmp_path, FILES, sandbox="off") as stage:
        await stage.says("ana", "@bot read spec=./docs/a.md other=b.txt")
        await stage.says("ana", "@bot empty spec=b.txt")
        read, empty = stage.replies()
        assert "a.md|text/markdown|4|none|.bot/inputs/other|# A\n# A\n" in read
        assert "```text\nb\n```" in empty


async def test_what_is_wrong_is_told_together_and_nothing_runs(tmp_path: Path) -> None:
    """Not accepted, not there: the class, each reason, what to do; too large; a link is not followed."""
    async with open_stage(tmp_path, FILES, sandbox="off") as stage:
        large = stage.world.store.attach("a.csv", b"x" * (FILE_BYTES_MAX + 1), "text/csv")
        asked = await stage.says("ana", "@bot read spec=b.txt other=none.txt")
        await stage.says("ana", f"@bot read spec={large}")
        both, size = stage.replies()
        assert " failed: `file` `spec`: `b.txt` is text/plain; accepted are `.csv`, `text/markdown`; " in both
        assert "`other`: there is no file `none.txt` in the workspace" in both
        assert "Nothing was started." in both
        assert "`spec`: it has 10,485,761 bytes; 10,485,760 are the most" in size
        assert stage.reactions(asked) == ["confused"]
        assert await stage.bot.store.read(attempts) == []
        states = await stage.bot.store.read(lambda s: [run.state for run in s.exec(select(Run))])
        assert states == [RunState.FAILED] * 2


async def test_an_attachment_in_a_private_repository(tmp_path: Path) -> None:
    """Only the signed address of the rendered comment opens it, and it is asked for without credentials."""
    async with open_stage(tmp_path, FILES, sandbox="off") as stage:
        stage.repo.private = True
        url = stage.world.store.attach("sizes.csv", b"a,1\n", "text/csv", signed=True)
        await stage.says("ana", f"@bot empty spec=[sizes.csv]({url})")
        issue = stage.world.open_issue(stage.repo, "ana", "Sizes", f"@bot empty spec=[sizes.csv]({url})")
        await stage.settle()
        assert "a,1\n" in stage.replies()[0]
        assert "a,1\n" in stage.replies(issue.number)[0]


WAITS = """\
version: 1
workflows:
  waits:
    inputs: {spec: {type: file}}
    steps:
      - {id: sure, ask: Sure?, who: {dashboard: true}}
      - {id: read, run: 'cat "$SPEC"', workspace: read, env: {SPEC: "${{ inputs.spec }}"}}
"""


async def test_another_machine_is_given_the_same_bytes(tmp_path: Path) -> None:
    """While it waits the file changes and the disk is lost; what was given stays what it was."""
    world, _, app, _ = make_world(tmp_path / "github", {".github/bot.yml": WAITS, "b.txt": "first\n"})
    async with LookAlikeServer(world):
        here = Scene(world, app, tmp_path)
        async with here.bot() as (bot, _):
            world.comment("acme/widgets", 1, "ana", "@bot waits spec=b.txt")
            await until(lambda: all(made.attempts for made in world.deliveries))
            await at_rest(bot)
        world.write_file("acme/widgets", "b.txt", "second\n", "meg", "Change it")
        shutil.rmtree(tmp_path / "data" / "work" / "runs")
        async with here.bot() as (bot, client):
            (gate,) = (await client.get("/api/gates", params={"state": "open"})).json()["items"]
            answer = {"answer": "approve"}
            assert (await client.post(f"/api/gates/{gate['id']}/answer", json=answer)).status_code == 200
            await at_rest(bot)
            assert "first" in here.replies()[-1]


USES = """\
version: 1
workflows:
  outer:
    inputs: {spec: {type: file}}
    steps:
      - {id: make, run: "echo made > made.txt; echo made.txt", writes: [place], workspace: read}
      - {id: same, uses: inner, inputs: {spec: "${{ inputs.spec }}"}}
      - {id: other, uses: inner, inputs: {spec: "${{ ctx.tool_stdout }}"}}
      - id: own
        run: printf '%s+%s+' "$A" "$B"; cat .bot/inputs/spec
        env: {A: "${{ steps.same.result.said }}", B: "${{ steps.other.result.said }}"}
      - {id: refused, uses: pictures, inputs: {spec: "${{ inputs.spec }}"}}
  inner:
    inputs: {spec: {type: file}}
    export: {from: [one]}
    steps:
      - id: one
        when: inputs.spec.size_bytes > 0
        run: printf '{"said":"%s %s %s"}' "$SPEC" "$NAME" "$(cat "$SPEC")" > "$BOT_RESULT_FILE"
        workspace: read
        env: {SPEC: "${{ inputs.spec }}", NAME: "${{ inputs.spec.original_filename }}"}
        result: {fields: {said: {type: string, required: true}}}
  pictures:
    inputs: {spec: {type: file, accept: [image/*]}}
    export: {from: [one]}
    steps: [{id: one, run: echo never}]
"""


async def test_files_of_workflows_that_are_used(tmp_path: Path) -> None:
    """The caller's own file is handed on as it is; a path is read from what steps made; places do not collide."""
    async with open_stage(tmp_path, {".github/bot.yml": USES, "b.txt": "b\n"}, sandbox="off") as stage:
        await stage.says("ana", "@bot outer spec=b.txt")
        (said,) = stage.replies()
        found = {one.step: one for one in await stage.bot.store.read(attempts)}
        assert (found["own"].output or "") == (
            ".bot/inputs/same#1/spec b.txt b+.bot/inputs/other#1/spec made.txt made+b\n"
        )
        assert "`pictures` cannot start: `spec`: `b.txt` is text/plain; accepted are `image/*`" in said
        assert "`file`" in said


SECRETS = """\
version: 1
workflows:
  deploy:
    inputs: {token: {type: secret, default: DEPLOY_TOKEN}}
    steps:
      - id: inner
        uses: send
        inputs: {key: "${{ inputs.token }}"}
  send:
    inputs: {key: {type: secret}}
    export: {from: [one]}
    steps:
      - id: one
        run: echo "it is $KEY of ${#KEY}"; printf '{"n":1}' > "$BOT_RESULT_FILE"
        env: {KEY: "${{ inputs.key }}"}
        result: {fields: {n: {type: number}}}
        publish: true
"""


async def test_a_secret_is_its_name_until_a_command_gets_it(tmp_path: Path) -> None:
    """Through `uses` too; redacted from what is said, in no row, and never taken from a comment."""
    folder = tmp_path / "secrets"
    async with open_stage(tmp_path, {".github/bot.yml": SECRETS}, sandbox="off", secrets_dir=folder) as stage:
        place = folder / str(stage.repo.id)
        place.mkdir(parents=True, mode=0o700)
        (place / "DEPLOY_TOKEN").write_text("s3cr3t-of-the-story")
        (place / "DEPLOY_TOKEN").chmod(0o600)
        await stage.says("ana", "@bot deploy")
        await stage.says("ana", "@bot deploy token=OTHER")
        said, refused = stage.replies()[0], stage.replies()[-1]
        assert "of 19" in said
        assert "s3cr3t" not in said
        assert "`token` is a secret, which no comment can give" in refused
        dispatches = await stage.bot.store.read(lambda s: [row.inputs for row in s.exec(select(Dispatch))])
        frames = await stage.bot.store.read(lambda s: [row.given for row in s.exec(select(Frame))])
        # what was refused is on record without what it gave
        assert dispatches == [{"token": "DEPLOY_TOKEN"}, {}]
        assert {"inputs": {"key": "DEPLOY_TOKEN"}, "files": {}} in frames
