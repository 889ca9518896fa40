"""The wire between a client and PostgreSQL, and what may happen to it at a COMMIT."""

from __future__ import annotations

import select
import socket
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Literal

#: `lost`: the COMMIT never arrives. `unanswered`: it does, and its answer is lost. `late`: the client loses the
#: connection, and the server hears the COMMIT a moment later. `gone`: unanswered, and the server stays out of reach
Cut = Literal["lost", "unanswered", "late", "gone"]
#: Source: https://www.postgresql.org/docs/current/protocol-message-formats.html (Query)
COMMIT = b"Q" + (4 + len(b"COMMIT\0")).to_bytes(4, "big") + b"COMMIT\0"
#: seconds by which a late COMMIT is late
LATE = 0.4


class Wire:
    """A socket that passes everything on to the server's, until `cut` says what the next COMMIT meets."""

    def __init__(self, server: Path) -> None:
        self._server = server
        self.folder = Path(tempfile.mkdtemp(prefix="threadsmith-wire-"))
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self.folder / server.name))
        self._listening.listen()
        self.cut: Cut | None = None
        self._gone = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no further connection."""
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        (self.folder / self._server.name).unlink()
        self.folder.rmdir()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            if self._gone.is_set():
                client.close()
                continue
            server = socket.socket(socket.AF_UNIX)
            server.connect(str(self._server))
            threading.Thread(target=self._pass, args=(client, server), daemon=True).start()

    def _pass(self, client: socket.socket, server: socket.socket) -> None:
        with client, server, suppress(ConnectionError):
            while True:
                for end in select.select([client, server], [], [])[0]:
                    data = end.recv(65536)
                    if not data:
                        return
                    if end is client and data == COMMIT and self.cut is not None:
                        self._at_commit(client, server)
                        return
                    (server if end is client else client).sendall(data)

    def _at_commit(self, client: socket.socket, server: socket.socket) -> None:
        cut, self.cut = self.cut, None
        if cut == "gone":
            self._gone.set()
        if cut == "late":
            client.close()
            threading.Event().wait(LATE)
        if cut != "lost":
            server.sendall(COMMIT)
            server.recv(65536)
