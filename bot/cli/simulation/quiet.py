"""What is around steps that nobody performs: commands that print nothing, variables and secrets that have no value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager

from bot.errors import OperatorError
from bot.workspace import Command, Completed
from bot.workspace.live import Live


class QuietSandbox:
    """Stands where commands would run: each ends well at once and prints nothing."""

    isolated = True

    def describe(self) -> str:
        return "runs nothing"

    async def run(self, command: Command) -> Completed:
        return Completed(0, "", "", 0.0)

    def open(self, command: Command) -> AbstractAsyncContextManager[Live]:
        raise OperatorError("a walk opens nothing", "")


class AnyName(Mapping[str, str]):
    """A namespace in which every name has a value: whether a secret is there is not told here."""

    def __getitem__(self, name: str) -> str:
        return "(not shown)"

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and "." not in name

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def named_only(names: Mapping[str, str | None]) -> dict[str, str]:
    """Variables as the YAML gives them; those of the engine's own stay out."""
    return {name: value for name, value in names.items() if value is not None}
