"""What is around steps that nobody performs: commands that print nothing, a small diff, secrets that are not shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import TypeVar

from bot.cli.local import ThreadFile
from bot.context import Selection, ThreadSnapshot, WindowPolicy, authors_needed, select
from bot.engine.around import Reviewed
from bot.engine.assembly import Bench
from bot.errors import OperatorError, UserError
from bot.model.context import Context
from bot.model.pull import CheckRun, Diff, FailedLog, FailedLogs, Linked, PullFile, ReviewThread
from bot.model.role import Role
from bot.model.thread import Account
from bot.runners import Providers, Runners, Said
from bot.steps.tools import ThreadAccess
from bot.store import Session, Store, snapshots
from bot.workflows import Configuration
from bot.workflows.resources import Opened
from bot.workspace import Command, Completed, Reach
from bot.workspace.live import Live

T = TypeVar("T")

HEAD = "0" * 40
_DIFF = """\
diff --git a/example.py b/example.py
--- a/example.py
+++ b/example.py
@@ -1 +1,2 @@
 first = 1
+second = 2
"""


class QuietSandbox:
    """Stands where commands would run: each ends well at once and prints nothing."""

    isolated = True

    def describe(self) -> str:
        return "runs nothing"

    async def run(self, command: Command) -> Completed:
        return Completed(0, "", "", 0.0)

    def open(self, command: Command) -> AbstractAsyncContextManager[Live]:
        raise OperatorError("a walk opens nothing", "")


class AnyName(Mapping[str, str]):
    """A namespace in which every name has a value: whether a secret is there is not told here."""

    def __getitem__(self, name: str) -> str:
        if name not in self:
            raise KeyError(name)
        return "(not shown)"

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and "." not in name

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


class Quiet:
    """The surroundings of every attempt of a walk; see `bot.engine.around.Surroundings`."""

    def __init__(
        self, configuration: Configuration, file: ThreadFile, thread: ThreadSnapshot, store: Store, handle: str
    ) -> None:
        self._configuration, self._file, self._thread, self._store = configuration, file, thread, store
        sandbox = QuietSandbox()
        self.bench = Bench(sandbox, Runners(Providers(), sandbox), b"a walk", str, handle)
        self.reach = Reach()

    async def role_of(self, account: Account) -> Role:
        return self._file.role(account)

    async def thread(self) -> ThreadSnapshot:
        return self._thread

    async def read(self, work: Callable[[Session], T]) -> T:
        """A look into the walk's own database."""
        return await self._store.read(work)

    async def blob(self, digest: str) -> bytes:
        return await self._store.read(lambda session: snapshots.get_blob(session, digest))

    async def attach(self, begun: object, context: Context) -> None:
        """Nothing is kept: the walk takes the sizes from what it put together itself."""

    def environment(self, names: Mapping[str, str | None]) -> dict[str, str]:
        return {name: value for name, value in names.items() if value is not None}

    def secret(self, name: str) -> str:
        return "(not shown)"

    def sources(self, policy: WindowPolicy) -> QuietSources:
        return QuietSources(self, policy)

    def comments(self, policy: WindowPolicy) -> ThreadAccess:
        raise OperatorError("a walk calls no tools", "")

    def opened(self, resource: str) -> Opened:
        raise OperatorError("a walk opens no resources", "")

    async def reviewed(self) -> Reviewed:
        if not self._file.issue.is_pull_request:
            message = "this thread is an issue, so there is nothing to review"
            raise UserError("review_thread", message, "Use `review` in a workflow for pull requests.")
        return Reviewed(Diff(self._file.issue.number, "main", HEAD, _DIFF), (), "")

    async def happened(self, event: str) -> None:
        """Nothing has happened before a walk."""

    async def listen(self, begun: object, known: Collection[str]) -> Sequence[Said]:
        """Nobody says anything during a walk."""
        return ()

    def now(self) -> datetime:
        return self._file.newest

    async def remote(self) -> QuietRemote:
        return QuietRemote()


class QuietRemote:
    """A repository in which every branch is there and changes one file."""

    async def branch_head(self, name: str) -> str:
        return HEAD

    async def compare(self, base: str, head: str) -> tuple[PullFile, ...]:
        return (PullFile("example.py", "modified", 1, 0),)


class QuietSources:
    """Inputs that only GitHub knows, one small example of each."""

    def __init__(self, around: Quiet, policy: WindowPolicy) -> None:
        self._around, self._policy = around, policy

    async def diff(self) -> Diff:
        return (await self._around.reviewed()).diff

    async def failed_logs(self) -> FailedLogs:
        check = CheckRun(1, "tests", "completed", "failure", job_id=1)
        return FailedLogs(HEAD, (FailedLog(check, "1 failed\n"),))

    async def unresolved_threads(self) -> tuple[ReviewThread, ...]:
        return (ReviewThread("example.py", 2, False, False, ()),)

    async def linked_issues(self) -> tuple[Linked, ...]:
        return ()

    async def comments(self, count: int) -> Selection:
        snapshot = await self._around.thread()
        roles: dict[int, Role] = {}
        while needed := authors_needed(snapshot, self._policy, roles):
            roles |= {account.id: await self._around.role_of(account) for account in needed}
        return select(snapshot, self._policy, roles)
