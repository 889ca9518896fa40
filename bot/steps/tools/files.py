"""`read_file`, `write_file`, `edit_file`: one file of the workspace."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from bot.runners import ToolAnswer
from bot.steps.tools.root import Refused, Root, open_file, parts_of, put, shown

#: bytes of a file that one answer holds
READ_MAX = 64 * 1024
#: bytes that are passed over to come to a line
SCAN_MAX = 64 * 1024 * 1024
#: bytes of a file that is written, or edited
WRITE_MAX = 1024 * 1024
#: lines of an answer, unless more or fewer are asked for
LINES = 2000
#: bytes at the beginning in which a NUL means that the file is no text
_SNIFFED = 8192


async def read_file(root: Root, arguments: dict[str, Any]) -> ToolAnswer:
    """The lines asked for as they are, with a mark where more follow. Raises Refused."""
    first, count = arguments.get("first_line", 1), arguments.get("lines", LINES)
    return ToolAnswer(await asyncio.to_thread(_read, root, arguments["path"], int(first), int(count)))


def _read(root: Root, path: str, first: int, count: int) -> str:
    with root.file(parts_of(path)) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as file:
        size = os.fstat(descriptor).st_size
        refuse_binary(file.read(_SNIFFED), path, size)
        file.seek(0)
        line, passed = 1, 0
        while line < first:
            chunk = file.readline(READ_MAX)
            if not chunk:
                raise Refused(f"`{shown(path)}` has no line {first}: it ends with line {line - 1 if passed else 0}")
            passed += len(chunk)
            line += chunk.endswith(b"\n")
            if passed > SCAN_MAX:
                raise Refused(f"line {first} of `{shown(path)}` lies behind the first {SCAN_MAX:,} bytes")
        taken = bytearray()
        mark = ""
        while line < first + count and not mark:
            chunk = file.readline(READ_MAX - len(taken) + 1)
            if len(taken) + len(chunk) > READ_MAX:
                if not taken:
                    taken += chunk[:READ_MAX]
                    mark = (
                        f"[… line {line} is longer than {READ_MAX:,} bytes and cut; go on with first_line {line + 1} …]"
                    )
                else:
                    mark = f"[… more from line {line}; go on with first_line {line} …]"
            elif not chunk:
                break
            else:
                taken += chunk
                line += 1
        if not mark and file.read(1):
            mark = f"[… more from line {line}; go on with first_line {line} …]"
    text = taken.decode("utf-8", "replace")
    if not text and not mark:
        return f"[`{shown(path)}` is empty]" if not size else ""
    return f"{text}{'' if text.endswith(chr(10)) else chr(10)}{mark}" if mark else text


async def write_file(root: Root, arguments: dict[str, Any]) -> ToolAnswer:
    """Write the file whole. Raises Refused."""
    path = arguments["path"]
    content = _bounded(arguments["content"])
    there = await asyncio.to_thread(root.write, parts_of(path), content)
    return ToolAnswer(f"`{shown(path)}` was {'replaced' if there else 'made'}: {len(content):,} bytes")


async def edit_file(root: Root, arguments: dict[str, Any]) -> ToolAnswer:
    """Replace a piece that stands there once, or everywhere with `every`. Raises Refused."""
    path, old, new = arguments["path"], arguments["old"], arguments["new"]
    count = await asyncio.to_thread(_edit, root, path, old, new, bool(arguments.get("every")))
    return ToolAnswer(f"`{shown(path)}` was changed in {count} place{'s' if count > 1 else ''}")


def _edit(root: Root, path: str, old: str, new: str, every: bool) -> int:
    parts = parts_of(path)
    if not parts:
        raise Refused("that is the workspace itself, not a file")
    if old == new:
        raise Refused("`old` and `new` are the same")
    with root.folder(parts[:-1]) as folder:
        with open_file(folder, parts[-1], path) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as file:
            raw = file.read(WRITE_MAX + 1)
        if len(raw) > WRITE_MAX:
            raise Refused(f"`{shown(path)}` is larger than {WRITE_MAX:,} bytes")
        refuse_binary(raw[:_SNIFFED], path, len(raw))
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            raise Refused(f"`{shown(path)}` is no UTF-8 (byte {error.start})") from None
        count = text.count(old)
        if not count:
            lines = " The file's lines end with CRLF." if "\r\n" in text and "\n" in old and "\r\n" not in old else ""
            raise Refused(f"`old` does not stand in `{shown(path)}`; it has to be as it is there.{lines}")
        if count > 1 and not every:
            raise Refused(f"`old` stands {count} times in `{shown(path)}`; give more of what is around it")
        put(folder, parts, _bounded(text.replace(old, new)))
    return count


def _bounded(text: str) -> bytes:
    content = text.encode("utf-8", "replace")
    if len(content) > WRITE_MAX:
        raise Refused(f"{len(content):,} bytes are more than a file may have here ({WRITE_MAX:,})")
    return content


def refuse_binary(head: bytes, path: str, size: int) -> None:
    """Raise Refused for what is no text, as git tells it: a NUL near the beginning."""
    if b"\0" in head:
        raise Refused(f"`{shown(path)}` is a binary file of {size:,} bytes")
