"""A fault found in the repository's configuration, with the place and what to do about it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One fault. `line` and `column` count from 1; `code` is stable and documented; order is by place."""

    file: str
    line: int
    column: int
    severity: Literal["error", "warning"]
    code: str
    message: str
    hint: str = ""

    def as_json(self) -> dict[str, Any]:
        """The `json` format of `threadsmith validate`."""
        keys = ("severity", "code", "file", "line", "column", "message", "hint")
        values = asdict(self)
        return {key: values[key] for key in keys}
