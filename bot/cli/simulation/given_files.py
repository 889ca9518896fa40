"""Files that a run would be given: those of the repository where they are there, else made up."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.workflows.signature import Declared
from bot.workspace.files import Unreadable, read_file
from bot.workspace.staging import FILE_BYTES_MAX, StagedFile, media_type

_MADE_UP = b"(made up)\n"


def made_up_files(
    declared: Mapping[str, Declared], bound: Mapping[str, Any], root: Path | None
) -> tuple[StagedFile, ...]:
    """A file for every input of that type which has a value; nothing is fetched and nothing is refused."""
    return tuple(
        _file(name, bound[name], root) for name, one in declared.items() if one.type == "file" and name in bound
    )


def _file(name: str, source: str, root: Path | None) -> StagedFile:
    content = _MADE_UP
    is_path = "://" not in source
    if is_path and root is not None:
        try:
            found = read_file(root, source, FILE_BYTES_MAX)
            content = found.raw() if 0 < found.size <= FILE_BYTES_MAX else _MADE_UP
        except Unreadable:
            content = _MADE_UP
    original = source.rpartition("/")[2] or name
    return StagedFile(name, content, "" if is_path else source, original, media_type(original, content))
