"""Where a webhook goes: what the run's own configuration says, with secrets read at that moment."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlmodel import select

from bot.engine.hooks import HookTargets
from bot.errors import UserError
from bot.publish import Act, Target
from bot.store import Session, Store, open_store
from bot.store.tables import Outbox, Run
from bot.workflows import Memo, builtin_files
from bot.workspace import Reach, Secrets
from tests import rows
from tests.databases import DATABASES

YML = """\
version: 1
resources:
  chat: {webhook: "https://chat.test/in", headers: {Authorization: "Bearer ${{ secrets.TOKEN }}", X-Of: bot}}
  odd: {webhook: "http://chat.test:8080/in"}
  server: {url: "https://mcp.test/"}
agents:
  ask: {model: "demo:helper", prompt: x}
"""


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = open_store(DATABASES.of_folder(tmp_path))
    yield opened
    await opened.close()


async def act(store: Store) -> Act:
    """A row of a run whose configuration is this."""

    def work(session: Session) -> Act:
        run = session.exec(select(Run)).first() or rows.run(session, guid="g", files={".github/bot.yml": YML})
        row = Outbox(
            slot="s", thread_id=run.thread_id, run_id=run.id, action="webhook", purpose="action", body="{}",
            digest="d", created_at=rows.NOW,
        )  # fmt: skip
        return Act(row, rows.thread(session))

    return await store.write(work)


def targets(store: Store, tmp_path: Path, *, hosts: tuple[str, ...] = ("chat.test",)) -> HookTargets:
    folder = tmp_path / "secrets"
    own = folder / str(rows.REPOSITORY.id)
    own.mkdir(parents=True, mode=0o700)
    folder.chmod(0o700)
    (own / "TOKEN").write_text("canary-of-the-tests")
    (own / "TOKEN").chmod(0o600)
    return HookTargets(store, Memo(builtin_files()), Secrets(folder, lambda _value: None), Reach.of(hosts))


async def test_address_and_headers(store: Store, tmp_path: Path) -> None:
    """Secrets in their places."""
    target = await targets(store, tmp_path)(await act(store), "chat")
    assert target == Target("https://chat.test/in", {"Authorization": "Bearer canary-of-the-tests", "X-Of": "bot"})
    assert "canary" not in repr(target)


@pytest.mark.parametrize(
    ("resource", "message"),
    [
        ("gone", "`gone` is no webhook of this configuration"),
        ("server", "`server` is no webhook of this configuration"),
        ("odd", "the resource `odd` cannot be used: the operator has not opened `chat.test`"),
    ],
)
async def test_what_cannot_be_reached(store: Store, tmp_path: Path, resource: str, message: str) -> None:
    """Not configured, something else, or on a port that the operator has not opened."""
    find = targets(store, tmp_path, hosts=("chat.test:443",))
    assert (await find(await act(store), "chat")).url == "https://chat.test/in"
    with pytest.raises(UserError) as caught:
        await find(await act(store), resource)
    assert (caught.value.code, caught.value.message) == ("resource_unavailable", message)


async def test_a_secret_that_is_not_there(store: Store, tmp_path: Path) -> None:
    """Named; the operator mends it."""
    find = HookTargets(store, Memo(builtin_files()), Secrets(None, lambda _value: None), Reach.of(["*"]))
    with pytest.raises(UserError) as caught:
        await find(await act(store), "chat")
    assert caught.value.code == "resource_unavailable"
    assert "TOKEN" in caught.value.message


async def test_a_row_of_no_run(store: Store, tmp_path: Path) -> None:
    """There is no configuration to look in."""
    found = await act(store)
    found.row.run_id = None
    with pytest.raises(UserError, match="no webhook"):
        await targets(store, tmp_path)(found, "chat")
