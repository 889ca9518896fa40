"""The identity of one thing said on GitHub: whatever is retried, a slot is said once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Slot:
    """`scope` is `run/<id>`, `dispatch/<id>` or `thread/<id>`; `frame` the frame path, `/` for the root."""

    scope: str
    purpose: str
    frame: str = "/"
    step: str = ""
    iteration: int = 0
    part: int = 0

    def __str__(self) -> str:
        return f"{self.scope}|{self.frame}|{self.step}|{self.iteration}|{self.purpose}|{self.part}"

    @classmethod
    def parse(cls, text: str) -> Slot:
        """The inverse of `str`. Raises ValueError on anything else."""
        scope, frame, step, iteration, purpose, part = text.split("|")
        return cls(scope, purpose, frame, step, int(iteration), int(part))
