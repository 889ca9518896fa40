"""SQLite's own calls to the disk, recorded.

A VFS of SQLite is a table of C functions. `Recorder` puts itself before the default one (by ctypes, in the library
that this Python's `sqlite3` is linked to), so that every write, truncation, sync and deletion below a folder is written
down as it is done, in order.
Source: https://www.sqlite.org/vfs.html
"""

from __future__ import annotations

import ctypes
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from tests.faults.power import Did

OK = 0
_OPEN_DELETE_ON_CLOSE = 0x08

_Pointer = ctypes.c_void_p
#: a name is passed on as the pointer that it came as: SQLite goes on reading there as long as the file is open
_OPEN = ctypes.CFUNCTYPE(ctypes.c_int, _Pointer, _Pointer, _Pointer, ctypes.c_int, ctypes.POINTER(ctypes.c_int))
_DELETE = ctypes.CFUNCTYPE(ctypes.c_int, _Pointer, ctypes.c_char_p, ctypes.c_int)
_WRITE = ctypes.CFUNCTYPE(ctypes.c_int, _Pointer, _Pointer, ctypes.c_int, ctypes.c_int64)
_TRUNCATE = ctypes.CFUNCTYPE(ctypes.c_int, _Pointer, ctypes.c_int64)
_SYNC = ctypes.CFUNCTYPE(ctypes.c_int, _Pointer, ctypes.c_int)
_CLOSE = ctypes.CFUNCTYPE(ctypes.c_int, _Pointer)


class _Methods(ctypes.Structure):
    """`sqlite3_io_methods` up to version 3; a pointer for each function that is passed through."""

    _fields_ = (
        ("version", ctypes.c_int),
        ("close", _Pointer),
        ("read", _Pointer),
        ("write", _Pointer),
        ("truncate", _Pointer),
        ("sync", _Pointer),
        *((f"other_{number}", _Pointer) for number in range(13)),
    )


class _Vfs(ctypes.Structure):
    """`sqlite3_vfs` up to version 3."""

    _fields_ = (
        ("version", ctypes.c_int),
        ("file_size", ctypes.c_int),
        ("longest_path", ctypes.c_int),
        ("next", _Pointer),
        ("name", ctypes.c_char_p),
        ("data", _Pointer),
        ("open", _Pointer),
        ("delete", _Pointer),
        *((f"other_{number}", _Pointer) for number in range(14)),
    )


def _address(function: Any) -> int:
    return cast("int", ctypes.cast(function, _Pointer).value)


class Recorder:
    """The default VFS of this process, with every change below `folder` recorded while it is `installed`."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        library.sqlite3_vfs_find.restype = ctypes.POINTER(_Vfs)
        library.sqlite3_vfs_find.argtypes = [ctypes.c_char_p]
        self._default = library.sqlite3_vfs_find(None)
        self._own = _Vfs()
        ctypes.memmove(ctypes.byref(self._own), self._default, ctypes.sizeof(_Vfs))
        self._own.name = b"recorded"
        self._own.next = None
        self._turn = threading.RLock()
        self.folder = Path("/nowhere")
        self.events: list[Did] = []
        #: a disk that says it has synced and has not
        self.lies = False
        #: by address of the file as SQLite holds it
        self._names: dict[int, str] = {}
        self._tables: dict[int, _Methods] = {}
        #: C holds their addresses, so they must live as long as this
        self._kept: list[Any] = []
        self._own.open = self._callback(_OPEN, self._opens(_OPEN(self._default.contents.open)))
        self._own.delete = self._callback(_DELETE, self._deletes(_DELETE(self._default.contents.delete)))

    @contextmanager
    def installed(self, folder: Path) -> Iterator[None]:
        """Within, every connection that this process opens goes through here; those below `folder` are recorded."""
        self.folder, self.events, self.lies = folder.resolve(), [], False
        assert self._library.sqlite3_vfs_register(ctypes.byref(self._own), 1) == OK
        synced = os.fsync

        def fsync(fd: Any) -> None:
            synced(fd)
            descriptor = fd if isinstance(fd, int) else fd.fileno()
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                self.note(Did("folder", os.readlink(f"/proc/self/fd/{descriptor}")))

        os.fsync = fsync
        try:
            yield
        finally:
            os.fsync = synced
            assert self._library.sqlite3_vfs_register(self._default, 1) == OK
            assert self._library.sqlite3_vfs_unregister(ctypes.byref(self._own)) == OK

    def note(self, did: Did) -> None:
        with self._turn:
            self.events.append(did)

    def answered(self, name: str) -> None:
        """Somebody was told that this is kept."""
        self.note(Did("answered", name))

    def _callback(self, kind: Any, function: Any) -> int:
        made = kind(function)
        self._kept.append(made)
        return _address(made)

    def _opens(self, open_: Any) -> Any:
        def opened(vfs: int, name: int | None, file: int, flags: int, out: Any) -> int:
            with self._turn:
                path = os.fsdecode(ctypes.string_at(name)) if name is not None else ""
                ours = bool(path) and not flags & _OPEN_DELETE_ON_CLOSE and self.folder in Path(path).parents
                fresh = ours and not os.path.exists(path)
                code = int(open_(vfs, name, file, flags, out))
                if code == OK and ours:
                    self._names[file] = path
                    methods = ctypes.cast(file, ctypes.POINTER(_Pointer))
                    methods[0] = ctypes.addressof(self._table(methods[0]))
                    if fresh:
                        self.events.append(Did("made", path))
                return code

        return opened

    def _deletes(self, delete: Any) -> Any:
        def deleted(vfs: int, name: bytes, folder_too: int) -> int:
            with self._turn:
                path = os.fsdecode(name)
                ours = self.folder in Path(path).parents
                code = int(delete(vfs, name, folder_too))
                if code == OK and ours:
                    self.events.append(Did("delete", path))
                    if folder_too:
                        self.events.append(Did("folder", str(Path(path).parent)))
                return code

        return deleted

    def _table(self, methods: int) -> _Methods:
        """The same functions with ours in their place, made once for each table that SQLite has."""
        if methods not in self._tables:
            original = _Methods.from_address(methods)
            assert original.version == 3, "another layout than this one knows"
            own = _Methods()
            ctypes.memmove(ctypes.byref(own), methods, ctypes.sizeof(_Methods))
            own.write = self._callback(_WRITE, self._writes(_WRITE(original.write)))
            own.truncate = self._callback(_TRUNCATE, self._truncates(_TRUNCATE(original.truncate)))
            own.sync = self._callback(_SYNC, self._syncs(_SYNC(original.sync)))
            own.close = self._callback(_CLOSE, self._closes(_CLOSE(original.close)))
            self._tables[methods] = own
        return self._tables[methods]

    def _writes(self, write: Any) -> Any:
        def written(file: int, data: int, size: int, offset: int) -> int:
            with self._turn:
                code = int(write(file, data, size, offset))
                if code == OK:
                    self.events.append(Did("write", self._names[file], offset, ctypes.string_at(data, size)))
                return code

        return written

    def _truncates(self, truncate: Any) -> Any:
        def truncated(file: int, size: int) -> int:
            with self._turn:
                code = int(truncate(file, size))
                if code == OK:
                    self.events.append(Did("truncate", self._names[file], size))
                return code

        return truncated

    def _syncs(self, sync: Any) -> Any:
        def synced(file: int, flags: int) -> int:
            with self._turn:
                if self.lies:
                    return OK
                code = int(sync(file, flags))
                if code == OK:
                    self.events.append(Did("sync", self._names[file]))
                return code

        return synced

    def _closes(self, close: Any) -> Any:
        def closed(file: int) -> int:
            with self._turn:
                self._names.pop(file, None)
                return int(close(file))

        return closed


def sqlite_library() -> ctypes.CDLL | None:
    """The SQLite that this Python's `sqlite3` uses; None where it shows no functions to take hold of."""
    import _sqlite3

    library = ctypes.CDLL(getattr(_sqlite3, "__file__", None))
    return library if hasattr(library, "sqlite3_vfs_find") else None
