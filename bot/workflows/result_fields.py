"""Fields of a result: as the YAML declares them, and as the short form of a schema file does."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from bot.workflows.node import Node, describe, fault

#: keys that mean something to programs that take JSON for objects of theirs
REFUSED_KEYS = frozenset({"__proto__", "constructor", "prototype"})

FieldType = Literal["string", "number", "boolean", "enum", "array", "object", "json"]


def _name(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise fault("name", f"expected a field's name, got {describe(value)}", "give the field a name")
    if value in REFUSED_KEYS:
        raise fault("reserved_name", f"`{value}` cannot be a field's name", "choose another name")
    return value


FieldName = Annotated[str, BeforeValidator(_name), WithJsonSchema({"type": "string"})]


class _Typed(Node):
    """What a value must be."""

    NOUN: ClassVar[str] = "a field"

    type: FieldType = Field(description="what the value must be")
    options: tuple[Annotated[str, Field(min_length=1)], ...] = Field((), description="values of an `enum`")

    def _fits(self, items: bool, fields: bool) -> None:
        given = {"options": bool(self.options), "items": items, "fields": fields}
        owners = {"options": "enum", "items": "array", "fields": "object"}
        for key, owner in owners.items():
            if key in self.model_fields_set and self.type != owner:
                raise fault(
                    "modifier", f"`{key}` means nothing to a field of type `{self.type}`", f"it is for `{owner}`"
                )
        if self.type == "enum" and not given["options"]:
            raise fault("missing_key", "an `enum` needs `options`", "add `options: [one, two]`")
        if len(set(self.options)) < len(self.options):
            raise fault("option", "an option stands twice", "keep one of them")


class ResultField(_Typed):
    """One value of a result. Objects are open: further keys do no harm."""

    required: bool = Field(False, description="whether a result without it does not fit")
    items: ResultField | None = Field(None, description="what each element of an `array` must be")
    fields: dict[FieldName, ResultField] = Field(default_factory=dict, description="values of an `object`")

    @model_validator(mode="after")
    def _consistent(self) -> ResultField:
        self._fits(self.items is not None, bool(self.fields))
        return self


class NamedField(_Typed):
    """The same in the short form of a schema file, where fields are a list."""

    name: FieldName | None = Field(None, description="the key; needed but in `items`")
    required: bool = Field(False, description="whether a result without it does not fit")
    items: NamedField | None = Field(None, description="what each element of an `array` must be")
    fields: tuple[NamedField, ...] = Field((), description="values of an `object`")

    @model_validator(mode="after")
    def _consistent(self) -> NamedField:
        self._fits(self.items is not None, bool(self.fields))
        by_name(self.fields)
        return self

    def plain(self) -> ResultField:
        """The same as a field of the YAML."""
        given: dict[str, Any] = {"type": self.type, "required": self.required}
        if self.options:
            given["options"] = self.options
        if self.items is not None:
            given["items"] = self.items.plain()
        if self.fields:
            given["fields"] = by_name(self.fields)
        return ResultField(**given)


def by_name(fields: tuple[NamedField, ...]) -> dict[str, ResultField]:
    """The list as a mapping. Raises a fault for a name that is missing or stands twice."""
    found: dict[str, ResultField] = {}
    for field in fields:
        if field.name is None:
            raise fault("missing_key", "a field needs `name`", "add `name`")
        if field.name in found:
            raise fault("duplicate_name", f"two fields have the name `{field.name}`", "rename one of them")
        found[field.name] = field.plain()
    return found


class ShortSchema(Node):
    """The short form of a schema file: `{"schemaVersion": 1, "fields": [{"name": …, "type": …}]}`."""

    NOUN: ClassVar[str] = "a schema"

    schema_version: Literal[1] = Field(alias="schemaVersion", description="of this form")
    fields: tuple[NamedField, ...] = Field(description="what the result holds")

    @model_validator(mode="after")
    def _named(self) -> ShortSchema:
        by_name(self.fields)
        return self
