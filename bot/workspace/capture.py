"""Output of any length in flat memory: the head, the tail, and how much lay between."""

from __future__ import annotations

from bot.model.cut import mark


class Capture:
    """Takes a stream chunk by chunk and keeps at most `limit` bytes of it (up to twice that while it runs)."""

    def __init__(self, limit: int) -> None:
        self._room = limit - limit // 2
        self._keep = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self.size = 0

    def feed(self, chunk: bytes) -> None:
        self.size += len(chunk)
        room = self._room - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if chunk and self._keep:
            self._tail += chunk[-self._keep :]
            if len(self._tail) > 2 * self._keep:
                del self._tail[: -self._keep]

    def raw(self) -> bytes:
        """What was kept, without a mark; the whole stream where `cut` is 0."""
        return bytes(self._head) + self._kept_tail()

    @property
    def cut(self) -> int:
        """Bytes between head and tail that were let go."""
        return self.size - len(self._head) - len(self._kept_tail())

    def _kept_tail(self) -> bytes:
        return bytes(self._tail[-self._keep :]) if self._keep else b""

    def text(self) -> str:
        """What was kept, decoded with replacement; where bytes were let go a line of its own says how many.

        Characters are not halved at the cut: their remaining bytes count as let go.
        """
        if not self.cut:
            return self.raw().decode("utf-8", "replace")
        head, tail = bytes(self._head), self._kept_tail()
        whole_head = head[: len(head) - _unfinished(head)]
        whole_tail = tail[_continuing(tail) :]
        cut = self.size - len(whole_head) - len(whole_tail)
        before = whole_head.decode("utf-8", "replace")
        gap = "" if not before or before.endswith("\n") else "\n"
        return f"{before}{gap}{mark(cut, self.size)}\n{whole_tail.decode('utf-8', 'replace')}"


def _unfinished(data: bytes) -> int:
    """How many bytes at the end begin a UTF-8 character that does not end there (RFC 3629)."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        length = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return back if length > back else 0
    return 0


def _continuing(data: bytes) -> int:
    """How many bytes at the start continue a UTF-8 character that began before."""
    count = 0
    while count < min(3, len(data)) and data[count] & 0xC0 == 0x80:
        count += 1
    return count
