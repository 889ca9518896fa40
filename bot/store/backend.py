"""What a database has to bring for a `Store`: transactions that write and read, and what their failures mean."""

from __future__ import annotations

from collections.abc import Callable, Set
from contextlib import AbstractContextManager
from typing import Protocol

from sqlalchemy import Connection

from bot.errors import Transient
from bot.store.refusing import Refusing

#: connections that read
READERS = 4

#: told the bells that another process rang; None where every bell may have been rung unheard
Heard = Callable[[Set[str] | None], None]


class Backend(Protocol):
    """One database, opened and migrated."""

    def writing(self, bells: Set[str]) -> AbstractContextManager[Connection]:
        """The one write transaction of all processes, committed when this is left without an exception.

        `bells` are those to be rung by then, as they are when it is left: other processes hear them with the commit.
        Raises where nothing of it is kept; where it returns, everything is.
        """
        ...

    def reading(self) -> AbstractContextManager[Connection]:
        """A transaction that shows one consistent view and is refused every write."""
        ...

    def refusal(self, error: BaseException) -> Transient | None:
        """What callers are told of an error that passes; None where their work is at fault, and would meet it again."""
        ...

    def is_broken(self, connection: Connection) -> bool:
        """Whether a statement failed that nobody has undone, so that the server would refuse all that follows."""
        ...

    def has_written(self, connection: Connection) -> bool:
        """Whether this write transaction has anything to commit: only then does its end show that writes are taken."""
        ...

    def ends_all(self, error: BaseException) -> bool:
        """Whether what one work raised has ended the transaction for every other one in it."""
        ...

    def may_look_again(self, error: BaseException) -> bool:
        """Whether a reading failed for the loss of its connection alone."""
        ...

    def listen(self, heard: Heard, refusing: Refusing) -> None:
        """Tell of bells that other processes ring, from a thread of its own, until `stop`.

        `refusing` hears where that is refused.
        """
        ...

    def stop(self) -> None:
        """Wait for nothing that may never come: the store is about to be closed."""
        ...

    def close(self) -> None:
        """Close every connection."""
        ...
