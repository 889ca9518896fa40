"""A thread as GitHub tells it, for runs that ask the demo model."""

from __future__ import annotations

from typing import Any

from bot.model.context import Manifest
from bot.store import snapshots
from tests.engine.scene import Room
from tests.github.fake import answer, comment_json, issue_json

REPO = "/repos/acme/widgets"
SITE = "https://github.test/acme/widgets/issues/1"


def text(step: str = "", agent: str = "", more: str = "") -> str:
    """A file whose workflow `main` asks the demo model, twice where it has two steps."""
    return f"""\
version: 1
{more}
agents:
  helper: {{model: "demo:helper", prompt: "You help ${{{{ trigger.actor }}}}." {agent}}}
workflows:
  main:
    steps:
      - {{id: one, agent: helper, workspace: none {step}}}
      - {{id: two, agent: helper, workspace: none}}
"""


def said(number: int, body: str, login: str = "sam", user: int = 13, **more: Any) -> dict[str, Any]:
    time = f"2026-11-03T11:{number - 400:02}:00Z"
    values: dict[str, Any] = {
        "user": {"id": user, "login": login, "type": "Bot" if login.endswith("[bot]") else "User"},
        "body": body,
        "html_url": f"{SITE}#issuecomment-{number}",
        "created_at": time,
        "updated_at": time,
    }
    return comment_json(number, **(values | more))


ASKING = said(459, "@bot hello", "ana", 11) | {"id": 501}


def thread(room: Room, *comments: dict[str, Any]) -> None:
    """GitHub's answers about issue 1; the asking comment is 501."""
    every = [*comments, ASKING]
    room.server.on("GET", f"{REPO}/issues/1", answer(issue_json(1, comments=len(every))))
    room.server.on("GET", f"{REPO}/issues/1/comments", answer(every))
    for login, role in (("ana", "write"), ("sam", "read")):
        room.server.on("GET", f"{REPO}/collaborators/{login}/permission", answer({"role_name": role}))


async def newest(room: Room) -> tuple[str, Manifest]:
    """What the newest attempt was given."""
    attempt = (await room.case.rows()).attempts[-1]
    assert attempt.prompt_blob is not None
    blob = attempt.prompt_blob
    prompt = await room.tools.store.read(lambda s: snapshots.get_blob(s, blob))
    return prompt.decode(), Manifest.model_validate(attempt.manifest)


def reads(room: Room) -> int:
    return len([r for r in room.server.sent("GET") if "/issues/1" in r.url.path])
