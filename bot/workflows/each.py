"""`each`: a step that runs once for every element of a list."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from bot.workflows.node import ID, Node, describe, fault
from bot.workflows.slots import NAMESPACES, SEGMENTS_MAX, Slot
from bot.workflows.values import Resolved, fill

#: elements of one list; more is a programming error, and each costs rows
ELEMENTS_MAX = 1000
#: elements under way at once
CONCURRENCY = 4


def _over(value: Any) -> Any:
    if isinstance(value, list) or (isinstance(value, str) and value.strip().startswith("${{")):
        return value
    hint = 'name a list by one template, as in `over: "${{ steps.find.result.files }}"`, or write it here'
    raise fault("type_mismatch", f"expected a list, got {describe(value)}", hint)


def _as(value: Any) -> str:
    if isinstance(value, str) and ID.fullmatch(value) and (value == "item" or value not in NAMESPACES):
        return value
    raise fault("name", f"{describe(value)} cannot name an element", "lower-case letters, digits and `_`; no namespace")


def _key(value: Any) -> str:
    if isinstance(value, str) and value and value.count(".") < SEGMENTS_MAX - 1 and "${{" not in value:
        return value
    raise fault("type_mismatch", f"expected a path in the element, got {describe(value)}", "write it as in `key: name`")


class Each(Node):
    """What a step runs for, and how."""

    NOUN: ClassVar[str] = "`each`"

    over: Annotated[Annotated[Any, BeforeValidator(_over)], Slot.TYPED] = Field(
        description="the list: one template, or written here"
    )
    name: Annotated[str, BeforeValidator(_as), WithJsonSchema({"type": "string", "pattern": f"^{ID.pattern}$"})] = (
        Field("item", alias="as", description="what templates call the element")
    )
    key: Annotated[str, BeforeValidator(_key), WithJsonSchema({"type": "string", "minLength": 1})] | None = Field(
        None, description="path in the element that names it in the result; its index if left out"
    )
    concurrency: int = Field(CONCURRENCY, ge=1, le=32, description="elements under way at once")
    on_error: Literal["fail", "collect"] = Field("fail", description="whether one that failed fails the step")

    def resolved(self, scope: dict[str, Any]) -> Resolved:
        """The list for one attempt. Raises `UserError` (`template_undefined`)."""
        return fill(self, ("over",), self.over, scope)
