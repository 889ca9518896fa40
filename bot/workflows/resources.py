"""`resources:` of `bot.yml`: MCP servers and webhook targets, configured once and shared by all workflows.

What stands here is public, except what its `headers` and `env` name by `${{ secrets.NAME }}`: those values are put in
when the resource is opened, and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from bot.errors import UserError
from bot.workflows.command import Environment
from bot.workflows.findings import listing
from bot.workflows.node import Duration, Id, Node, describe, fault, scalar
from bot.workflows.slots import Slot

Kind = Literal["command", "url", "webhook"]

#: a name of a header (RFC 9110, 5.6.2, `token`)
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
#: headers that the protocol sets
_OWN_HEADERS = frozenset(
    {"accept", "connection", "content-length", "content-type", "host", "mcp-protocol-version", "mcp-session-id"}
    | {"last-event-id", "mcp-method", "mcp-name", "transfer-encoding", "upgrade"}
)
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = re.compile(rf"(?:\*\.)?{_LABEL}(?:\.{_LABEL})*(?::[0-9]{{1,5}})?")
_ADDRESS = re.compile(r"https?://[^\s\x00-\x20\x7f]+")
#: keys that `resources.<name>.<key>` reads whatever `public` says
_SHOWN = ("description", "url", "webhook")


def _address(value: Any) -> str:
    text = value if isinstance(value, str) else ""
    try:
        parts = urlsplit(text)
        good = _ADDRESS.fullmatch(text) is not None and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise fault("address", f"expected a URL, got {describe(value)}", "it begins with `https://`")
    if parts.username is not None or parts.password is not None:
        hint = "put it into `headers`, as `${{ secrets.NAME }}`"
        raise fault("address", "an address is public and cannot hold a name or password", hint)
    return text


def _host(value: Any) -> str:
    if not isinstance(value, str) or not _HOST.fullmatch(value):
        hint = "a name without scheme and path, as `api.example.org`, `*.example.org` or `api.example.org:8443`"
        raise fault("host", f"expected a host, got {describe(value)}", hint)
    return value.lower()


def _header(value: Any) -> str:
    if not isinstance(value, str) or not _HEADER.fullmatch(value):
        raise fault("name", f"{describe(value)} is no header's name", "letters, digits and `-`")
    if value.lower() in _OWN_HEADERS:
        raise fault("reserved_name", f"the header `{value}` is set by the bot", "remove it")
    return value


Address = Annotated[str, BeforeValidator(_address), WithJsonSchema({"type": "string", "pattern": "^https?://"})]
Host = Annotated[str, BeforeValidator(_host), WithJsonSchema({"type": "string", "pattern": f"^{_HOST.pattern}$"})]
HeaderName = Annotated[str, BeforeValidator(_header), WithJsonSchema({"type": "string", "pattern": "^[A-Za-z0-9-]+$"})]
Public = Annotated[str | int | float | bool, BeforeValidator(scalar)]


class Resource(Node):
    """An MCP server (`command` or `url`), or a webhook target (`webhook`)."""

    NOUN: ClassVar[str] = "a resource"

    description: str = Field("", description="one line; templates read it as `resources.<name>.description`")
    command: Annotated[tuple[str, ...], Field(min_length=1)] | None = Field(
        None, description="an MCP server on stdio: program and arguments, without a shell, in the sandbox"
    )
    url: Address | None = Field(None, description="an MCP server over streamable HTTP")
    webhook: Address | None = Field(None, description="where `notify.webhook` sends its body")
    headers: Annotated[dict[HeaderName, str], Slot.RESOURCE] = Field(
        default_factory=dict, description="sent with every request; values may hold `${{ secrets.NAME }}`"
    )
    env: Annotated[Environment, Slot.RESOURCE] = Field(
        default_factory=dict, description="the command's variables; values may hold `${{ secrets.NAME }}`"
    )
    hosts: tuple[Host, ...] = Field((), description="what the command may reach; nothing without")
    timeout: Duration = Field(60.0, description="longest time for one call (60s)")
    public: dict[Id, Public] = Field(
        default_factory=dict, description="further values that templates read as `resources.<name>.<key>`"
    )

    @model_validator(mode="after")
    def _one_of(self) -> Resource:
        given = [key for key in ("command", "url", "webhook") if getattr(self, key) is not None]
        if len(given) != 1:
            found = f"this one has {listing(given)}" if given else "this one has none"
            message = f"a resource has one of `command`, `url` and `webhook`; {found}"
            raise fault("one_of", message, "make two resources of it" if given else "add `command:` or `url:`")
        useless = [key for key in self._useless() if key in self.model_fields_set]
        if useless:
            means = "they are for a `command`" if self.command is None else "a command takes `env`"
            raise fault("modifier", f"{listing(useless)} means nothing beside `{given[0]}`: {means}", "remove it")
        taken = [key for key in self.public if key in _SHOWN]
        if taken:
            raise fault("reserved_name", f"`{taken[0]}` is a key of the resource itself", "choose another name")
        return self

    def _useless(self) -> tuple[str, ...]:
        return ("headers",) if self.command is not None else ("env", "hosts")

    @property
    def kind(self) -> Kind:
        """Which of the three it is."""
        return "command" if self.command is not None else "url" if self.url is not None else "webhook"

    @property
    def shown(self) -> dict[str, Any]:
        """The namespace `resources.<name>`: what is public of it. Never its headers, variables or command."""
        own = {key: value for key in _SHOWN if (value := getattr(self, key))}
        return {**own, **self.public}

    def secrets(self) -> Iterator[str]:
        """The names of the secrets that it needs, as often as they stand there."""
        for _, template in self.templates():
            yield from (token.path[1] for token in template.references)


@dataclass(frozen=True, slots=True)
class Opened:
    """A resource with its secrets in: to be used at once, never kept or shown.

    `address` is that of a `url` or `webhook`; in `env` None stands for the engine's own variable of that name, where
    the operator exports it. `timeout` is in seconds.
    """

    name: str
    kind: Kind
    command: tuple[str, ...] = ()
    address: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    env: Mapping[str, str | None] = field(default_factory=dict, repr=False)
    hosts: tuple[str, ...] = ()
    timeout: float = 60.0


class _Store(Mapping[str, str]):
    """The namespace `secrets`: each is read when a template names it."""

    def __init__(self, read: Callable[[str], str]) -> None:
        self._read = read

    def __getitem__(self, name: str) -> str:
        return self._read(name)

    def __contains__(self, name: object) -> bool:
        # whether there is one is told by reading alone
        return isinstance(name, str) and "." not in name

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def secret_scope(secret: Callable[[str], str]) -> Mapping[str, str]:
    """The template namespace `secrets` over a function that reads one by its name."""
    return _Store(secret)


def resolve(name: str, resource: Resource, secret: Callable[[str], str]) -> Opened:
    """The resource called `name` with its secrets in; `secret` reads one, and raises UserError where it cannot be had.

    Raises UserError `resource_unavailable`, which names the resource and the reason, never a value.
    """
    values: dict[str, dict[str, str | None]] = {"headers": dict(resource.headers), "env": dict(resource.env)}
    try:
        for path, template in resource.templates():
            if path[0] in values:
                values[path[0]][str(path[1])] = template.render({"secrets": secret_scope(secret)}).text
    except UserError as error:
        message = f"the resource `{name}` cannot be used: {error.message}"
        raise UserError("resource_unavailable", message, error.hint) from error
    headers = {key: _line(name, key, value or "") for key, value in values["headers"].items()}
    for key, value in values["env"].items():
        if value is not None and "\0" in value:
            raise _unusable(name, key)
    return Opened(
        name=name,
        kind=resource.kind,
        command=resource.command or (),
        address=resource.url or resource.webhook or "",
        headers=headers,
        env=values["env"],
        hosts=resource.hosts,
        timeout=resource.timeout,
    )


def _line(resource: str, key: str, value: str) -> str:
    """The value as one header can hold it (RFC 9110, 5.5)."""
    if not value.isascii() or any(character < " " or character == "\x7f" for character in value):
        raise _unusable(resource, key)
    return value.strip(" ")


def _unusable(resource: str, key: str) -> UserError:
    message = f"the resource `{resource}` cannot be used: the value of `{key}` holds characters that cannot be sent"
    return UserError("resource_unavailable", message, "a header is one line of ASCII; a variable has no NUL character")
