"""What a run does beside talking: a webhook that somebody receives, a review that is not repeated."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.publish.marker import strip
from tests.databases import on_both
from tests.stage import Stage, open_stage

HOOK = """\
version: 1
resources:
  chat: {webhook: "http://127.0.0.1:PORT/in"}
workflows:
  tell:
    steps:
      - id: say
        notify:
          comment: "Told about #${{ issue.number }}."
          webhook: {resource: chat, body: {text: "${{ issue.title }}", who: "${{ trigger.actor }}"}}
          close: not_planned
"""

REVIEW = """\
version: 1
workflows:
  look:
    steps:
      - id: find
        run: cat findings.json > "$BOT_RESULT_FILE"
        result: {fields: {found: {type: json, required: true}}}
        publish: false
      - id: review
        review: {findings: "${{ steps.find.result.found }}", body: "Looked at it."}
"""
FINDINGS = """\
{"found": [
  {"path": "size.py", "line": 1, "body": "Say why.", "suggestion": "pass  # nothing to do"},
  {"path": "README.md", "line": 1, "body": "Old."}
]}
"""


@asynccontextmanager
async def receiver(status: str = "204 No Content") -> AsyncIterator[tuple[int, list[bytes]]]:
    """Somebody's endpoint on loopback: its port, and the bodies that arrived."""
    bodies: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        bodies.append(await reader.readexactly(int(length.split(b":")[1])))
        if status:
            writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1], bodies


@on_both
async def test_everything_that_notify_does(tmp_path: Path) -> None:
    """The comment, the message, the closed issue."""
    async with receiver() as (port, bodies):
        files = {".github/bot.yml": HOOK.replace("PORT", str(port))}
        async with open_stage(tmp_path, files, network=("127.0.0.1",)) as stage:
            asked = await stage.says("ana", "@bot tell")
            assert stage.replies() == ["Told about #1."]
            assert bodies == [b'{"text":"Crash on empty input","who":"ana"}']
            assert stage.world.issue(stage.repo, 1).state_reason == "not_planned"
            assert stage.reactions(asked) == ["rocket"]


async def test_a_webhook_without_an_answer_fails_its_step(tmp_path: Path) -> None:
    """It may have arrived, so it is not sent again, and what was to follow is not lost sight of."""
    async with receiver("") as (port, bodies):
        files = {".github/bot.yml": HOOK.replace("PORT", str(port))}
        async with open_stage(tmp_path, files, network=("127.0.0.1",)) as stage:
            await stage.says("ana", "@bot tell")
            assert len(bodies) == 1
            assert "`unsure`" in stage.replies()[-1]


async def test_a_host_that_is_not_open_gets_nothing(tmp_path: Path) -> None:
    """The operator's ceiling holds for webhooks too."""
    async with receiver() as (port, bodies):
        files = {".github/bot.yml": HOOK.replace("PORT", str(port))}
        async with open_stage(tmp_path, files) as stage:
            await stage.says("ana", "@bot tell")
            assert bodies == []
            assert "the operator has not opened" in stage.replies()[-1]


def pull(stage: Stage) -> int:
    files = {"size.py": "pass\n", "findings.json": FINDINGS}
    stage.world.write_files(stage.repo, files, "meg", "Take nothing for 0", branch="fix")
    return stage.world.open_pull(stage.repo, "meg", "Take nothing for 0", head="fix").number


async def test_a_review_and_the_same_again(tmp_path: Path) -> None:
    """A comment in the diff with its suggestion, the rest in the body; the second time there is nothing new."""
    async with open_stage(tmp_path, {".github/bot.yml": REVIEW, "README.md": "# widgets\n"}) as stage:
        number = pull(stage)
        await stage.says("ana", "@bot look", number)
        (review,) = stage.world.pull(stage.repo, number).reviews
        body = strip(review.body)
        assert body.startswith("Looked at it.\n\n### Outside the diff\n\n**[`README.md:1`](")
        (thread,) = stage.world.pull(stage.repo, number).review_threads
        assert (thread.path, thread.line) == ("size.py", 1)
        assert thread.comments[0].body.startswith("Say why.\n\n```suggestion\npass  # nothing to do\n```")
        assert "1 comment, 1 outside the diff." in stage.replies(number)[-1]
        await stage.says("ana", "@bot look", number)
        assert len(stage.world.pull(stage.repo, number).reviews) == 1
        assert "Nothing new: 2 findings known before." in stage.replies(number)[-1]


WAITING = """\
version: 1
workflows:
  after:
    steps:
      - {id: checks, wait: {event: checks_completed}, timeout: 1h}
      - {id: told, end: {message: "The checks: ${{ steps.checks.result.conclusion }}."}}
  merged:
    steps:
      - {id: merged, wait: {event: merged}, timeout: 1h}
      - {id: told, end: {message: "It is in."}}
"""


async def test_what_has_happened_already_is_not_waited_for(tmp_path: Path) -> None:
    """Checks that are over, a pull request that is merged: GitHub would tell neither again."""
    async with open_stage(tmp_path, {".github/bot.yml": WAITING, "area.py": "x = 1\n"}) as stage:
        number = pull(stage)
        stage.world.add_check(stage.repo, stage.world.pull(stage.repo, number).head_sha, "tests", "failure")
        await stage.says("ana", "@bot after", number)
        assert stage.replies(number)[-1].startswith("The checks: failure.")
        await stage.says("ana", "@bot merged", number)
        assert len(stage.replies(number)) == 1
        await stage.says("ana", "@bot cancel", number)
        stage.world.merge(stage.repo, number, "meg")
        await stage.settle()
        await stage.says("ana", "@bot merged", number)
        assert stage.replies(number)[-1].startswith("It is in.")


FETCHING = """\
version: 1
workspace: {network: [127.0.0.1]}
workflows:
  fetch:
    steps:
      - id: fetch
        workspace: none
        run: |
          python3 -c '
          import os, urllib.error, urllib.request
          try:
              print(urllib.request.urlopen(os.environ["URL"], b"hello", timeout=20).status)
          except urllib.error.HTTPError as error:
              print(error.code)
          '
        env: {URL: "http://127.0.0.1:PORT/"}
"""


@pytest.mark.parametrize(("opened", "status", "arrived"), [(("127.0.0.1",), "204", [b"hello"]), ((), "", [])])
async def test_a_command_reaches_a_host_that_both_open(
    tmp_path: Path, opened: tuple[str, ...], status: str, arrived: list[bytes]
) -> None:
    """The repository names it, the operator opens it; one alone is not enough."""
    async with receiver() as (port, bodies):
        files = {".github/bot.yml": FETCHING.replace("PORT", str(port))}
        async with open_stage(tmp_path, files, network=opened) as stage:
            await stage.says("ana", "@bot fetch")
            assert bodies == arrived, stage.replies()
            assert status in stage.replies()[-1]
