"""Checked configurations kept by what they were read from: immutable, so they are checked once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock

from bot.finding import Finding
from bot.workflows.configuration import Configuration, check


@dataclass(frozen=True, slots=True)
class Checked:
    """A configuration with its findings; None where an error forbids its use."""

    configuration: Configuration | None
    findings: tuple[Finding, ...]


class Memo:
    """The newest `limit` checked configurations by (repository id, commit). `builtin` are the product's own files.

    Safe in threads: a large file takes long enough to keep the event loop from others, so `check` may run in one.
    """

    def __init__(self, builtin: Mapping[str, str], limit: int = 256) -> None:
        self._builtin = builtin
        self._limit = limit
        self._lock = Lock()
        self._kept: OrderedDict[tuple[int, str], Checked] = OrderedDict()

    def check(self, repository_id: int, commit: str, files: Mapping[str, str]) -> Checked:
        """The checked configuration of `files`, which are those of that commit."""
        found = self.known(repository_id, commit)
        if found is None:
            # not under the lock: whoever asks for another commit need not wait for this one
            found = Checked(*check(files, self._builtin))
            with self._lock:
                self._kept[repository_id, commit] = found
                if len(self._kept) > self._limit:
                    self._kept.popitem(last=False)
        return found

    def known(self, repository_id: int, commit: str) -> Checked | None:
        """What is kept of that commit, without any work; None where nothing is."""
        key = (repository_id, commit)
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def defaults(self) -> Checked:
        """The product's own configuration, as a repository without any file has it."""
        return self.check(0, "", {})
