"""Whether a run may start, as far as the App's permissions say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.model.state import RunState
from bot.model.trial import Trial
from bot.store import Store
from tests.engine.scene import open_room
from tests.github.fake import answer

FILE = 'version: 1\nworkflows:\n  main:\n    steps:\n      - {id: one, workspace: none, run: "true"}\n'
ACCOUNT = {"id": 1, "login": "acme", "type": "Organization"}


def installation(number: int, permissions: dict[str, str], **more: Any) -> dict[str, Any]:
    """What GitHub tells of an installation."""
    return {"id": number, "account": ACCOUNT, "permissions": permissions, "events": [], "suspended_at": None, **more}


@pytest.mark.parametrize(
    ("permissions", "more", "reason"),
    [
        ({"issues": "write"}, {}, ""),
        ({"issues": "read"}, {}, "permission_missing: the App has not been granted `issues: write`: what it says"),
        ({"issues": "write"}, {"suspended_at": "2026-11-01T00:00:00Z"}, "app_suspended: the App's installation"),
    ],
)
async def test_what_was_granted(
    store: Store, tmp_path: Path, permissions: dict[str, str], more: dict[str, Any], reason: str
) -> None:
    """Looked at before the first attempt; whatever is missing is looked for once more before it is believed."""
    async with open_room(store, tmp_path, FILE) as room:
        rows = await room.case.rows()
        number = rows.thread.installation_id
        path = f"/app/installations/{number}"
        room.server.on("GET", path, answer(installation(number, permissions, **more)))
        end = await room.desk.admit(rows)
        if not reason:
            assert end is None
        else:
            assert end is not None
            assert end.state is RunState.FAILED
            assert end.reason.startswith(reason)
            assert end.hint
        assert len(room.server.sent("GET", path)) == (2 if reason else 1)


@pytest.mark.parametrize("status", [403, 404, 502])
async def test_github_does_not_tell(store: Store, tmp_path: Path, status: int) -> None:
    """Then whatever cannot be done says so itself."""
    async with open_room(store, tmp_path, FILE) as room:
        rows = await room.case.rows()
        room.server.on("GET", f"/app/installations/{rows.thread.installation_id}", answer({"message": "no"}, status))
        assert await room.desk.admit(rows) is None


async def test_what_has_begun_is_not_asked_again(store: Store, tmp_path: Path) -> None:
    """A run that goes on after a gate or a crash goes on."""
    async with open_room(store, tmp_path, FILE) as room:
        await room.case.begin()
        rows = await room.case.rows()
        number = rows.thread.installation_id
        path = f"/app/installations/{number}"
        room.server.on("GET", path, answer(installation(number, {})))
        assert await room.desk.admit(rows) is None
        assert room.server.sent("GET", path) == []


@pytest.mark.parametrize(("role", "allowed"), [("write", False), ("maintain", True)])
async def test_a_branch_does_not_say_who_may_try_it(store: Store, tmp_path: Path, role: str, allowed: bool) -> None:
    """The role that the default branch asks for is kept with the trial, and looked at again when it starts."""
    async with open_room(store, tmp_path, FILE + "trigger_role: read\n") as room:
        rows = await room.case.rows()
        rows.dispatch.trial = True
        rows.dispatch.trigger = {"trial": Trial("topic", "c" * 40, "maintain").to_row()}
        room.server.clock.advance(60)
        room.server.on("GET", "/repos/acme/widgets/collaborators/ana/permission", answer({"role_name": role}))
        end = await room.desk.admit(rows)
        assert (end is None) is allowed
