"""What the engine works with, given once by `app`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bot.github import GitHub, RepositoryClient
from bot.model.clock import Clock
from bot.model.thread import Account, Comment, Repository
from bot.publish import Marker, Speaker
from bot.runners import Runners
from bot.store import Session, Store, clones, snapshots
from bot.store.runs import RunRows
from bot.store.tables import Thread
from bot.workflows import Memo
from bot.workspace import Kept, Origin, Reach, Sandbox, Secrets, Workspace, WorkspaceMode, Workspaces


@dataclass(frozen=True, slots=True)
class Tools:
    """Everything outside the rows.

    `nonce_key` makes the nonces of prompt blocks; `secrets` are the operator's, `reach` the hosts that are open;
    `environ` is the engine's own environment. `handle` is how people call the bot, `mine` whether a comment is the
    App's, `command_only` whether a text is built-in commands and no more.
    """

    store: Store
    github: GitHub
    sandbox: Sandbox
    workspaces: Workspaces
    runners: Runners
    memo: Memo
    speaker: Speaker
    marker: Marker
    clock: Clock
    nonce_key: bytes
    redact: Callable[[str], str]
    secrets: Secrets
    reach: Reach
    handle: Callable[[], str]
    mine: Callable[[Comment], bool]
    command_only: Callable[[str, Collection[str]], bool]
    max_usd_day: float
    max_run_usd: float
    result_max_bytes: int
    export_env: Collection[str]
    environ: Mapping[str, str]
    #: whether processes on other machines may go on with a run: then what its steps leave in a clone is kept in rows
    shared: bool = False


def repository_of(thread: Thread) -> Repository:
    """The repository as the thread's row knows it."""
    owner = Account(thread.owner_id, thread.owner, "Organization")
    return Repository(thread.repository_id, owner, thread.name, thread.default_branch, thread.private)


@asynccontextmanager
async def workspace_of(
    tools: Tools, rows: RunRows, client: RepositoryClient, mode: WorkspaceMode
) -> AsyncIterator[Workspace]:
    """A folder for work of a run, at the head of its pull request or on the default branch; see `Workspaces.open`.

    Where the run may go on elsewhere, its commit is noted, and one that comes from elsewhere has its files again.
    """
    thread = rows.thread
    url = (await client.clone_access()).url if mode != "none" else ""

    async def token(refused: str) -> str:
        return (await client.clone_access(refused=refused)).token

    async def renamed() -> str:
        present = await tools.github.numbered(thread.installation_id, thread.repository_id)
        return (await present.clone_access()).url

    ref = f"refs/pull/{thread.number}/head" if thread.is_pull_request else thread.default_branch
    run_id, repository_id = rows.run.id, thread.repository_id
    shared = tools.shared and mode != "none"
    kept = await tools.store.read(lambda session: _kept(session, tools.store, run_id)) if shared else None
    async with tools.workspaces.open(
        mode, run_id=run_id, repository_id=repository_id, origin=Origin(url, token, renamed), ref=ref, kept=kept
    ) as workspace:
        commit = workspace.commit
        if shared and kept is None and commit is not None:
            noted = commit
            await tools.store.write(lambda session: clones.begin(session, run_id, repository_id, ref, noted))
        yield workspace


def _kept(session: Session, store: Store, run_id: str) -> Kept | None:
    row = clones.find(session, run_id)
    if row is None:
        return None
    digest = row.blob

    async def fetch() -> bytes:
        return await store.read(lambda again: snapshots.get_blob(again, digest or ""))

    return Kept(row.commit, row.mark, fetch if digest is not None else None)
