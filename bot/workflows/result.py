"""`result`: what a step must give beside its output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field, PrivateAttr, model_validator

from bot.workflows.findings import listing
from bot.workflows.node import Node, fault
from bot.workflows.result_fields import FieldName, ResultField
from bot.workflows.results import Checker
from bot.workflows.routing import Mismatched


class Result(Node):
    """What a step must give beside its output, and what is done about one that does not fit."""

    NOUN: ClassVar[str] = "`result`"

    file: Annotated[str, Field(min_length=1)] | None = Field(
        None, alias="schema", description="a JSON Schema or its short form, below `.github/bot/`"
    )
    fields: dict[FieldName, ResultField] = Field(default_factory=dict, description="what it holds, instead of a file")
    required: bool = Field(True, description="whether an attempt without a result fails")
    on_mismatch: Mismatched = Field("fail", description="`fail`; `retry`: by the step's `rework`; or a step's id")

    _checker: Checker | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _one_of(self) -> Result:
        given = [key for key, name in (("schema", "file"), ("fields", "fields")) if name in self.model_fields_set]
        if len(given) != 1:
            message = f"a result has one of `schema` and `fields`, this one {listing(given) or 'neither'}"
            raise fault("one_of", message, "add `fields`, or keep one of them")
        return self

    @property
    def checker(self) -> Checker:
        """What holds a value against the declaration. Raises RuntimeError for a file that was not read yet."""
        if self._checker is not None:
            return self._checker
        if self.file is not None:
            raise RuntimeError(f"the schema {self.file} was not read yet")
        return Checker.of_fields(self.fields)

    def settle(self, checker: Checker) -> None:
        """Give it its checker; once, when the file is bound."""
        self._checker = checker

    @property
    def ready(self) -> bool:
        """Whether there is a checker: not for a schema file that is missing or wrong."""
        return self._checker is not None or self.file is None

    @property
    def declared(self) -> Mapping[str, ResultField]:
        """The fields where they are known by name; none for a JSON Schema."""
        return self._checker.fields if self._checker is not None else self.fields
