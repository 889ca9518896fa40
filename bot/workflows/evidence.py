"""What a step leaves as evidence, and what a workflow gives to those who use it."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, PrivateAttr, WithJsonSchema

from bot.workflows.node import Id, Node, describe, fault
from bot.workflows.results import Checker


def _path(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise fault("type_mismatch", f"expected a path, got {describe(value)}", "write it as in `report/summary.md`")
    if value.startswith("/") or "\\" in value or ".." in value.split("/") or "${{" in value:
        raise fault("path_outside", f"`{value}` leads outside the workspace", "paths are relative to the workspace")
    return value


class Produced(Node):
    """A file of the workspace, or the step's output, kept as an artifact after a successful attempt."""

    NOUN: ClassVar[str] = "an entry of `produces`"

    id: Id = Field(description="what templates and exports call it")
    kind: Annotated[str, Field(min_length=1, max_length=60)] = Field(
        description="a word of the author's: `plan`, `log`"
    )
    path: Annotated[str, BeforeValidator(_path), WithJsonSchema({"type": "string"})] | None = Field(
        None, description="a file of the workspace; the step's output if left out"
    )


class Export(Node):
    """A run's published result: of each step named its result, of each artifact named what it is."""

    NOUN: ClassVar[str] = "`export`"

    file: Annotated[str, Field(min_length=1)] | None = Field(
        None, alias="schema", description="a JSON Schema or its short form, below `.github/bot/`"
    )
    sources: Annotated[tuple[Id, ...], Field(min_length=1)] = Field(
        alias="from", description="ids of steps; of one its result, of several an object by id"
    )
    required: bool = Field(True, description="whether a run that ends without it fails")

    _checker: Checker | None = PrivateAttr(default=None)

    @property
    def checker(self) -> Checker | None:
        """What holds the value against the schema; None without one."""
        return self._checker

    def settle(self, checker: Checker) -> None:
        """Give it its checker; once, when the file is bound."""
        self._checker = checker
