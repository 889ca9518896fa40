"""What was taken out of a text, counted by name."""

from __future__ import annotations


class Tally:
    """Counts removals by what was removed; `lines` is what the manifest keeps, in the order of first sight."""

    def __init__(self) -> None:
        self._counts: dict[str, tuple[int, int]] = {}

    def add(self, name: str, text: str) -> None:
        """`name` is the singular: `HTML comment`. `text` is what went."""
        count, size = self._counts.get(name, (0, 0))
        self._counts[name] = (count + 1, size + len(text.encode("utf-8", "surrogatepass")))

    def lines(self) -> tuple[str, ...]:
        """For example `2 HTML comments (57 bytes)`."""
        return tuple(
            f"{count} {name}{'' if count == 1 else 's'} ({size} byte{'' if size == 1 else 's'})"
            for name, (count, size) in self._counts.items()
        )
