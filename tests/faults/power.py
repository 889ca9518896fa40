"""A disk whose power can be cut: what was done to it, and what may be left of that.

`Disk` plays events up to any of them (`tests.faults.recorder` writes them down) and makes what a power loss there may
leave: all that was synced, and of the rest any part, in pieces of a sector.

A name in a folder is as much a write as bytes are: it lasts once the folder was synced. SQLite does that itself for a
new journal or WAL at its first sync (`UNIXFILE_DIRSYNC` in its os_unix.c), and leaves the database's own to its caller.
Source: https://www.sqlite.org/psow.html
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

#: what a disk writes whole
SECTOR = 512


@dataclass(frozen=True, slots=True)
class Did:
    """One thing that was done to the disk, or (`answered`) told to somebody who counts on it."""

    what: Literal["made", "write", "truncate", "sync", "delete", "folder", "answered"]
    name: str
    offset: int = 0
    data: bytes = b""


@dataclass(slots=True)
class _File:
    #: what a power loss leaves in any case
    lasting: bytearray = field(default_factory=bytearray)
    #: what was done since and may be lost
    loose: list[Did] = field(default_factory=list)

    def settle(self) -> None:
        for did in self.loose:
            _apply(self.lasting, did)
        self.loose.clear()


def _apply(content: bytearray, did: Did) -> None:
    if did.what == "truncate":
        del content[did.offset :]
        content.extend(bytes(did.offset - len(content)))
        return
    if len(content) < did.offset:
        content.extend(bytes(did.offset - len(content)))
    content[did.offset : did.offset + len(did.data)] = did.data


class Disk:
    """What lies on the disk after some events; play them in order."""

    def __init__(self) -> None:
        #: names that last, and those that were made or deleted since the folder was synced, in order
        self._names: dict[str, _File] = {}
        self._loose: list[tuple[str, _File | None]] = []
        self._now: dict[str, _File] = {}

    def play(self, did: Did) -> None:
        match did.what:
            case "made":
                self._now[did.name] = _File()
                self._loose.append((did.name, self._now[did.name]))
            case "delete":
                del self._now[did.name]
                self._loose.append((did.name, None))
            case "write" | "truncate":
                self._now[did.name].loose.append(did)
            case "sync":
                self._now[did.name].settle()
                if did.name.endswith(("-wal", "-journal")):
                    self._settle_names(str(Path(did.name).parent))
            case "folder":
                self._settle_names(did.name)
            case "answered":
                pass

    def _settle_names(self, folder: str) -> None:
        kept = []
        for name, file in self._loose:
            if str(Path(name).parent) != folder:
                kept.append((name, file))
            else:
                _rename(self._names, name, file)
        self._loose = kept

    def after_power_loss(self, dice: random.Random) -> dict[str, bytes]:
        """By name, one of the many contents that may be left."""
        names = dict(self._names)
        # a file system keeps the order of what is done to a folder
        for name, file in self._loose[: dice.randint(0, len(self._loose))]:
            _rename(names, name, file)
        likely = dice.choice((0.0, 0.5, 0.9, 1.0))
        return {name: _left(file, likely, dice) for name, file in names.items()}


def _rename(names: dict[str, _File], name: str, file: _File | None) -> None:
    if file is None:
        names.pop(name, None)
    else:
        names[name] = file


def _left(file: _File, likely: float, dice: random.Random) -> bytes:
    content = bytearray(file.lasting)
    for did in file.loose:
        if dice.random() >= likely:
            continue
        if did.what == "truncate" or dice.random() < 0.7:
            _apply(content, did)
            continue
        for start in range(0, len(did.data), SECTOR):  # torn: some sectors came to the disk
            if dice.random() < 0.5:
                _apply(content, Did("write", did.name, did.offset + start, did.data[start : start + SECTOR]))
    return bytes(content)
