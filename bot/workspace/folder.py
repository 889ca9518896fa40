"""Folders that a child may have left in any state: removed whole, and compared without following anything."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
import subprocess
from collections.abc import Collection
from pathlib import Path

from bot.errors import OperatorError
from bot.workspace.process import PATH


async def discard(path: Path) -> None:
    """Remove a file, link or tree, however deep, without following links. Absent is fine.

    `rm` does it: it neither follows links nor recurses on a stack, which a child's ten thousand nested folders would
    exhaust. Raises OperatorError where something stays.
    """
    if not await asyncio.to_thread(_discard, path):
        raise OperatorError(f"cannot remove `{path}`", "see who owns the files in it")


def _discard(path: Path) -> bool:
    if os.path.lexists(path) and _run("rm", "-rf", "--", str(path)):
        # a folder that its own owner may not enter
        _run("chmod", "-R", "u+rwX", "--", str(path))
        _run("rm", "-rf", "--", str(path))
    return not os.path.lexists(path)


def _run(*argv: str) -> int:
    return subprocess.run(argv, env={"PATH": PATH}, capture_output=True, check=False).returncode


def fingerprint(root: Path, *, without: Collection[str] = ()) -> str:
    """A digest over names, kinds, modes and, of files, identity and times: any write changes it (ctime cannot be set).

    Empty where `root` is no folder. `without` names entries of the root to leave out.
    """
    try:
        if not stat.S_ISDIR(os.lstat(root).st_mode):
            return ""
        digest = hashlib.sha256()
        queue = [str(root)]
        while queue:
            place = queue.pop()
            with os.scandir(place) as found:
                entries = sorted(found, key=lambda entry: entry.name)
            for entry in entries:
                if place == str(root) and entry.name in without:
                    continue
                info = entry.stat(follow_symlinks=False)
                facts: tuple[object, ...] = (entry.path, info.st_mode)
                if stat.S_ISDIR(info.st_mode):
                    queue.append(entry.path)
                else:
                    facts += (info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
                digest.update(repr(facts).encode("utf-8", "surrogateescape"))
    except OSError:
        return ""
    return digest.hexdigest()
