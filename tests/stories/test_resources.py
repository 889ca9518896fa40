"""Resources, secrets and what travels to processes: what reaches which of them, and that it is seen nowhere else."""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
from sqlmodel import col, select

from bot.store import Session
from bot.store.tables import Attempt, Blob, Outbox
from bot.workspace import interpreter
from tests.fake_llm import Reply
from tests.servers.started import PROGRAM, TOKEN, VARIABLES, on_loopback
from tests.stage import Stage, open_stage
from tests.stories.talking import agent, calls, offered, provider, stage_with, told

SECRET = "canary/of the+operator=42"
HEAD = "version: 1\nworkflows:\n  go:\n    steps:\n"


def keep_secret(folder: Path, binding: str, name: str, value: str = SECRET) -> Path:
    """A secret in the operator's folder."""
    home = folder / "secrets" / binding
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(0o700)
    (home / name).write_text(value)
    (home / name).chmod(0o600)
    return folder / "secrets"


async def everything(stage: Stage) -> str:
    """All that the database and the thread hold, as text."""

    def rows(session: Session) -> list[str]:
        blobs = [blob.data.decode("utf-8", "replace") for blob in session.exec(select(Blob))]
        texts = [f"{row.output}{row.error}{row.result}" for row in session.exec(select(Attempt))]
        return [*blobs, *texts, *(row.body for row in session.exec(select(Outbox)))]

    return "\n".join([*await stage.bot.store.read(rows), *stage.replies()])


def forms(value: str) -> list[str]:
    return [value, base64.b64encode(value.encode()).decode(), quote(value, safe="")]


async def test_a_secret_reaches_one_process_and_no_text(tmp_path: Path) -> None:
    """It is in the step's environment, not in the next step's; printed in three ways, it is redacted in all."""
    text = f"""{HEAD}
      - id: use
        run: |
          test "$(printf %s "$TOKEN" | wc -c)" = {len(SECRET)} && echo "the size fits"
          printf '%s\\n' "$TOKEN"
          printf %s "$TOKEN" | base64 -w0; echo
          echo "{quote(SECRET, safe="")}"
          echo "$TOKEN" >&2
        env: {{TOKEN: "${{{{ secrets.TOKEN }}}}"}}
        publish: true
      - {{id: other, run: 'echo "other: $TOKEN."'}}
"""
    folder = keep_secret(tmp_path, "owner-1", "TOKEN")
    async with open_stage(tmp_path, {".github/bot.yml": text}, secrets_dir=folder) as stage:
        (folder / "owner-1").rename(folder / f"owner-{stage.repo.owner.id}")
        asked = await stage.says("ana", "@bot go with ${{ secrets.TOKEN }}")
        assert stage.reactions(asked) == ["rocket"], stage.replies()
        used, other = stage.replies()
        assert "the size fits" in used
        assert "other: ." in other
        seen = await everything(stage)
        assert not [form for form in forms(SECRET) if form in seen]


async def test_missing_and_foreign_secrets_are_told_alike(tmp_path: Path) -> None:
    """One is kept for another repository, one is nowhere: nobody can tell which."""
    text = f"""{HEAD}
      - {{id: use, run: "true", env: {{A: "${{{{ secrets.NAME }}}}"}}}}
"""
    said = []
    for binding in ("999999", "nowhere"):
        folder = keep_secret(tmp_path / binding, binding, "NAME" if binding != "nowhere" else "OTHER")
        async with open_stage(tmp_path / binding, {".github/bot.yml": text}, secrets_dir=folder) as stage:
            await stage.says("ana", "@bot go")
            (reply,) = stage.replies()
            # each world has an address and commits of its own
            said.append(re.sub(r"\(http[^)]*\)", "()", reply.partition("<sub>")[0]))
    assert said[0] == said[1]
    assert "secret_unavailable" in said[0]


async def test_a_fork_s_head_gets_no_secrets(tmp_path: Path) -> None:
    """The step whose checkout is a stranger's gets none; one without a checkout does."""
    text = f"""{HEAD}
      - {{id: use, run: 'echo "got $TOKEN"', env: {{TOKEN: "${{{{ secrets.TOKEN }}}}"}}, workspace: read}}
  none:
    steps:
      - {{id: use, run: 'test -n "$TOKEN" && echo fine', env: {{TOKEN: "${{{{ secrets.TOKEN }}}}"}}, workspace: none}}
"""
    folder = keep_secret(tmp_path, "owner-1", "TOKEN")
    async with open_stage(tmp_path, {".github/bot.yml": text}, secrets_dir=folder) as stage:
        (folder / "owner-1").rename(folder / f"owner-{stage.repo.owner.id}")
        fork = stage.world.fork(stage.repo, "sam")
        stage.world.write_file(fork, "x.txt", "1\n", "sam", branch="fix")
        pull = stage.world.open_pull(stage.repo, "sam", "Mend it", head="sam:fix")
        await stage.says("ana", "@bot go", pull.number)
        await stage.says("ana", "@bot none", pull.number)
        refused, fine = stage.replies(pull.number)
        assert "secret_unavailable" in refused
        assert "fine" in fine


async def test_a_fork_s_head_gets_nothing_of_the_engine(tmp_path: Path) -> None:
    """Neither a variable that the operator exports nor a resource that the operator has opened."""
    text = """\
version: 1
resources: {far: {url: "http://127.0.0.1:9/mcp"}}
workflows:
  variable:
    steps:
      - {id: use, run: 'echo "got $PROXY"', env: {PROXY: null}, workspace: read}
  resource:
    steps:
      - {id: use, connector: {resource: far, tool: add}, inputs: {a: 1}, workspace: read}
"""
    settings = {"environ": {"PROXY": "of the engine"}, "export_env": ("PROXY",), "network": ("127.0.0.1",)}
    async with open_stage(tmp_path, {".github/bot.yml": text}, **settings) as stage:  # type: ignore[arg-type]  # as named
        await stage.says("ana", "@bot variable")
        assert "got of the engine" in stage.replies()[0] or "got [redacted]" in stage.replies()[0]
        fork = stage.world.fork(stage.repo, "sam")
        stage.world.write_file(fork, "x.txt", "1\n", "sam", branch="fix")
        pull = stage.world.open_pull(stage.repo, "sam", "Mend it", head="sam:fix")
        await stage.says("ana", "@bot variable", pull.number)
        await stage.says("ana", "@bot resource", pull.number)
        variable, resource = stage.replies(pull.number)
        assert "env_not_exported" in variable
        assert "the operator has not opened" in resource


async def test_values_that_are_too_large_for_a_variable(tmp_path: Path) -> None:
    """They stand in files that are gone afterwards: of `env`, of inputs, of exec inputs and of bodies."""
    text = f"""{HEAD}
      - {{id: make, run: "head -c 200000 /dev/zero | tr '\\\\0' x > big.txt; head -c 200000 big.txt", publish: false}}
      - id: use
        run: |
          test -z "$BIG$big" && cat "$BIG_FILE" | wc -c && cat "$big_FILE" | wc -c && echo "$small" && echo "$BIG_FILE"
        env: {{BIG: "${{{{ steps.make.output }}}}${{{{ steps.make.output }}}}"}}
        inputs:
          big: {{exec: "head -c 150000 /dev/zero | tr '\\\\0' y", max_bytes: 160000}}
          small: [1, "${{{{ issue.number }}}}"]
        publish: true
      - id: body
        code: |
          import os
          print(len(open(os.environ["BIG_FILE"]).read()), counted["n"], kept, told.strip(), missing)
        env: {{BIG: "${{{{ steps.make.output }}}}${{{{ steps.make.output }}}}"}}
        inputs:
          counted: {{n: "${{{{ issue.number }}}}"}}
          kept: {{file: README.md}}
          told: {{exec: "echo from $WHERE", env: {{WHERE: here}}}}
          missing: {{file: nowhere.md, required: false}}
"""
    async with open_stage(tmp_path, {".github/bot.yml": text, "README.md": "hello"}) as stage:
        await stage.says("ana", "@bot go")
        used, body = stage.replies()
        lines = used.split("\n")
        sizes = [line for line in lines if line.isdigit()]
        assert sizes == [str(2 * 65536 + 2 * len(" […]")), "150000"] or sizes[1] == "150000", used
        assert int(sizes[0]) > 100 * 1024
        assert "[1,1]" in lines
        path = Path(next(line for line in lines if line.endswith("/BIG")))
        assert not path.parent.exists()
        assert " 1 hello from here None" in body
        found = await stage.bot.store.read(
            lambda session: session.exec(select(Attempt).order_by(col(Attempt.id))).all()
        )
        recorded = {row.step: [one["name"] for one in (row.manifest or {}).get("inputs", [])] for row in found}
        assert recorded == {"make": [], "use": ["big", "small"], "body": ["counted", "kept", "told", "missing"]}


async def test_a_required_input_fails_before_the_command(tmp_path: Path) -> None:
    """The command never runs, and the reader is told which input it was."""
    text = f"""{HEAD}
      - {{id: use, run: "touch ran; echo ran", inputs: {{list: {{exec: "echo broken >&2; exit 3"}}}}}}
"""
    async with open_stage(tmp_path, {".github/bot.yml": text}) as stage:
        await stage.says("ana", "@bot go")
        (said,) = stage.replies()
        assert "`input_failed` `list` exited with 3" in said
        assert "the command did not run" in said
        assert "broken" in said


@contextmanager
def listener(status: int = 200) -> Iterator[tuple[int, list[tuple[dict[str, str], bytes]]]]:
    """A server on loopback that takes webhooks: its port, and what came."""
    came: list[tuple[dict[str, str], bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            came.append(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1], came
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def hook(port: int) -> str:
    return f"""version: 1
resources:
  chat:
    webhook: http://127.0.0.1:{port}/in
    headers: {{Authorization: "Bearer ${{{{ secrets.TOKEN }}}}"}}
    public: {{room: tools}}
workflows:
  go:
    steps:
      - {{id: leak, run: 'echo "$TOKEN"', env: {{TOKEN: "${{{{ secrets.TOKEN }}}}"}}, publish: false}}
      - id: tell
        notify:
          comment: "Told ${{{{ resources.chat.room }}}}."
          webhook:
            resource: chat
            body:
              room: "${{{{ resources.chat.room }}}}"
              said: "${{{{ steps.leak.output }}}}"
              n: "${{{{ issue.number }}}}"
      - {{id: after, run: 'echo "$ROOM"', env: {{ROOM: "${{{{ resources.chat.room }}}}"}}}}
"""


async def test_a_webhook(tmp_path: Path) -> None:
    """It is sent once with its secret header, its body redacted; the resource's public keys read everywhere."""
    folder = keep_secret(tmp_path, "owner-1", "TOKEN")
    with listener() as (port, came):
        async with open_stage(
            tmp_path, {".github/bot.yml": hook(port)}, secrets_dir=folder, network=("127.0.0.1",)
        ) as stage:
            (folder / "owner-1").rename(folder / f"owner-{stage.repo.owner.id}")
            asked = await stage.says("ana", "@bot go")
            assert stage.reactions(asked) == ["rocket"], stage.replies()
            assert "Told tools." in stage.replies()[0]
            assert "tools" in stage.replies()[1]
            ((headers, body),) = came
            assert headers["authorization"] == f"Bearer {SECRET}"
            sent = json.loads(body)
            assert (sent["room"], sent["n"]) == ("tools", "1")
            assert SECRET not in sent["said"]
            assert SECRET not in await everything(stage)


async def test_a_webhook_outside_the_ceiling(tmp_path: Path) -> None:
    """What the operator has not opened is not reached, and the step says so."""
    folder = keep_secret(tmp_path, "owner-1", "TOKEN")
    with listener() as (port, came):
        async with open_stage(tmp_path, {".github/bot.yml": hook(port)}, secrets_dir=folder) as stage:
            (folder / "owner-1").rename(folder / f"owner-{stage.repo.owner.id}")
            await stage.says("ana", "@bot go")
            assert not came
            assert "the operator has not opened `127.0.0.1`" in stage.replies()[-1]


def served(port: int, steps: str, tools: str = "") -> str:
    resources = f"""resources:
  far: {{url: "http://127.0.0.1:{port}/mcp", headers: {{Authorization: "Bearer ${{{{ secrets.TOKEN }}}}"}}}}
  near: {{command: [nothing-like-this], env: {{A: b}}}}
workflows:
  go:
    steps:
{steps}
"""
    return agent(tools or "[]", resources)


async def test_a_connector(tmp_path: Path) -> None:
    """The engine calls the tool with typed values; its structured content is the result."""
    steps = """\
      - {id: sum, connector: {resource: far, tool: add}, inputs: {a: "${{ issue.number }}", b: 41}}
      - {id: told, end: {message: "${{ steps.sum.result.result }}"}}
"""
    folder = keep_secret(tmp_path, "owner-1", "TOKEN", TOKEN)
    with on_loopback("http") as server, provider() as fake:
        files = served(server.port, steps)
        async with stage_with(tmp_path, fake, files, secrets_dir=folder, network=("127.0.0.1",)) as stage:
            (folder / "owner-1").rename(folder / f"owner-{stage.repo.owner.id}")
            await stage.says("ana", "@bot go")
            assert stage.replies()[0].startswith("42"), stage.replies()


async def test_a_resource_that_cannot_be_opened(tmp_path: Path) -> None:
    """A program that is not there: the step fails and names the resource."""
    steps = """\
      - {id: sum, connector: {resource: near, tool: add}, inputs: {a: 1, b: 2}}
"""
    with provider() as fake:
        async with stage_with(tmp_path, fake, served(9, steps)) as stage:
            await stage.says("ana", "@bot go")
            (said,) = stage.replies()
            assert "`near`" in said
            assert "(step `sum`, " in said


async def test_a_server_that_is_a_process(tmp_path: Path) -> None:
    """A command on stdio: its variables reach it, secrets among them, and what it tells of them is redacted."""
    environ = ", ".join(f"{name}: {json.dumps(value)}" for name, value in VARIABLES.items())
    command = json.dumps([str(interpreter().program), str(PROGRAM), "stdio"])
    resources = f"""resources:
  near: {{command: {command}, env: {{{environ}, TOKEN: "${{{{ secrets.TOKEN }}}}"}}}}
"""
    folder = keep_secret(tmp_path, "owner-1", "TOKEN")
    script = (calls("environment"), calls("echo", value=3), Reply("Told."))
    with provider(*script) as fake:
        tools = "[{name: environment, from: near}, {name: echo, from: near}]"
        async with stage_with(tmp_path, fake, agent(tools, resources), secrets_dir=folder, sandbox="off") as stage:
            (folder / "owner-1").rename(folder / f"owner-{stage.repo.owner.id}")
            await stage.says("ana", "@bot helper look")
            assert stage.replies()[0].startswith("Told."), stage.replies()
            assert SECRET not in await everything(stage)
        variables, echoed = told(fake.requests[-1])
        assert json.loads(variables)["GIVEN"] == "x y"
        assert json.loads(variables)["TOKEN"] == "[redacted]"
        assert json.loads(echoed) == {"value": 3, "kind": "int"}


@pytest.mark.parametrize("value", ["41", "null"])
async def test_tools_of_a_resource(tmp_path: Path, value: str) -> None:
    """A bound argument is hidden and set over what the model sends; without a value the step fails by its name."""
    steps = f"""\
      - {{id: find, code: 'return {{"b": {"None" if value == "null" else value}}}', publish: false}}
      - {{id: sum, agent: helper}}
"""
    tools = "[{name: add, from: far, budget: 1, bound_args: {b: steps.find.result.b}}]"
    folder = keep_secret(tmp_path, "owner-1", "TOKEN", TOKEN)
    step_tools = steps.replace("agent: helper}", f"agent: helper, tools: {tools}}}")
    script = (calls("add", a=1, b=7), calls("add", a=2), Reply("Done."))
    with on_loopback("http") as server, provider(*script) as fake:
        files = served(server.port, step_tools)
        async with stage_with(tmp_path, fake, files, secrets_dir=folder, network=("127.0.0.1",)) as stage:
            (folder / "owner-1").rename(folder / f"owner-{stage.repo.owner.id}")
            await stage.says("ana", "@bot go")
            (said,) = stage.replies()
            if value == "null":
                assert " failed: `bound_missing`" in said
                assert "steps.find.result.b" in said
                return
            assert said.startswith("Done."), said
            assert "b" not in offered(fake.requests[0])["add"]["properties"]
            assert "42" in told(fake.requests[1])[0]
            # the budget of one is used up: the tool is gone, and an answer is asked for
            assert not offered(fake.requests[1])
