"""`resources:`: what they may hold, what of them is public, and how their secrets are put in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from pydantic import Field

from bot.errors import UserError
from bot.workflows.binding import Binding
from bot.workflows.findings import Findings
from bot.workflows.loader import load
from bot.workflows.node import Name, Node
from bot.workflows.resources import Resource, resolve
from bot.workflows.shape import validate

GOOD = """
resources:
  warehouse:
    description: Where orders are kept.
    command: [warehouse-mcp, --stdio]
    env: {TOKEN: "Bearer ${{ secrets.WAREHOUSE_TOKEN }}", MODE: fast, CORE: }
    hosts: [API.example.org, "*.example.net:8443"]
    timeout: 5m
    public: {project: widgets, shards: 4, live: true}
  tickets:
    url: https://tickets.example.org/mcp
    headers: {Authorization: "Bearer ${{secrets.TICKETS}}", X-Team: core}
  chat:
    webhook: https://chat.example.org/hooks/bot
"""


class File(Node):
    """A file that holds nothing else."""

    NOUN: ClassVar[str] = "the file"

    resources: dict[Name, Resource] = Field(default_factory=dict)


def read(text: str) -> tuple[dict[str, Resource], list[tuple[int, int, str, str]]]:
    findings = Findings()
    document = load("bot.yml", text, findings)
    assert document is not None
    file = validate(File, document, findings)
    if file is not None:
        Binding(document, {}, "", findings).bind(file)
    told = [(one.line, one.column, one.code, one.message) for one in findings.sorted()]
    return (file.resources if file is not None else {}), told


def good() -> dict[str, Resource]:
    resources, told = read(GOOD)
    assert told == []
    return resources


def keep(values: dict[str, str]) -> tuple[Callable[[str], str], list[str]]:
    """A store that remembers what was read."""
    asked: list[str] = []

    def secret(name: str) -> str:
        asked.append(name)
        if name not in values:
            raise UserError("secret_unavailable", f"the secret `{name}` is not available here", "ask")
        return values[name]

    return secret, asked


def test_sorts() -> None:
    """Each has one way to be reached."""
    resources = good()
    assert {name: one.kind for name, one in resources.items()} == {
        "warehouse": "command",
        "tickets": "url",
        "chat": "webhook",
    }
    assert resources["warehouse"].hosts == ("api.example.org", "*.example.net:8443")
    assert (resources["warehouse"].timeout, resources["tickets"].timeout) == (300, 60)
    assert list(resources["warehouse"].secrets()) == ["WAREHOUSE_TOKEN"]
    assert list(resources["chat"].secrets()) == []


def test_what_is_public() -> None:
    """Never a header, a variable or the command."""
    resources = good()
    assert resources["warehouse"].shown == {
        "description": "Where orders are kept.",
        "project": "widgets",
        "shards": 4,
        "live": True,
    }
    assert resources["tickets"].shown == {"url": "https://tickets.example.org/mcp"}
    assert resources["chat"].shown == {"webhook": "https://chat.example.org/hooks/bot"}


def test_secrets_are_put_in_when_it_is_opened() -> None:
    """Only those that it names; a value that looks like a template is only text, and none is shown."""
    resources = good()
    secret, asked = keep({"WAREHOUSE_TOKEN": "t0k ${{ secrets.OTHER }}", "TICKETS": " x-1 "})
    opened = resolve("warehouse", resources["warehouse"], secret)
    assert opened.command == ("warehouse-mcp", "--stdio")
    assert opened.env == {"TOKEN": "Bearer t0k ${{ secrets.OTHER }}", "MODE": "fast", "CORE": None}
    assert (opened.hosts, opened.timeout, opened.headers) == (("api.example.org", "*.example.net:8443"), 300, {})
    assert asked == ["WAREHOUSE_TOKEN"]
    tickets = resolve("tickets", resources["tickets"], secret)
    assert tickets.headers == {"Authorization": "Bearer  x-1", "X-Team": "core"}
    assert tickets.address == "https://tickets.example.org/mcp"
    assert resolve("chat", resources["chat"], secret).address == "https://chat.example.org/hooks/bot"
    assert asked == ["WAREHOUSE_TOKEN", "TICKETS"]
    assert "t0k" not in repr(opened)
    assert "x-1" not in repr(tickets)


def test_a_secret_that_cannot_be_had_is_named() -> None:
    """With its resource; the reason is the store's own."""
    with pytest.raises(UserError) as caught:
        resolve("tickets", good()["tickets"], keep({})[0])
    assert caught.value.code == "resource_unavailable"
    assert caught.value.message == ("the resource `tickets` cannot be used: the secret `TICKETS` is not available here")


@pytest.mark.parametrize("value", ["a\r\nX-Other: b", "a\nb", "a\0b", "ä", "\x7f"])
def test_a_value_that_no_header_holds(value: str) -> None:
    """It is refused without being shown."""
    with pytest.raises(UserError) as caught:
        resolve("tickets", good()["tickets"], keep({"TICKETS": value})[0])
    assert caught.value.code == "resource_unavailable"
    assert value not in str(caught.value)


def test_a_value_that_no_variable_holds() -> None:
    """Lines are fine there."""
    secret, _ = keep({"WAREHOUSE_TOKEN": "a\nb"})
    assert resolve("warehouse", good()["warehouse"], secret).env["TOKEN"] == "Bearer a\nb"
    with pytest.raises(UserError, match="resource_unavailable"):
        resolve("warehouse", good()["warehouse"], keep({"WAREHOUSE_TOKEN": "a\0b"})[0])


def one(text: str) -> list[tuple[int, int, str, str]]:
    return read(f"resources:\n  r:\n    {text}\n")[1]


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("description: x", "one_of", "this one has none"),
        ("{command: [a], url: https://x.example}", "one_of", "`command`, `url`"),
        ("{url: https://x.example, env: {A: b}}", "modifier", "`env` means nothing beside `url`"),
        ("{url: https://x.example, hosts: [a.example]}", "modifier", "`hosts`"),
        ("{command: [a], headers: {A: b}}", "modifier", "`headers` means nothing beside `command`"),
        ("{webhook: https://x.example, env: {A: b}}", "modifier", "`env`"),
        ("url: ftp://x.example", "address", "expected a URL"),
        ("url: https://", "address", "expected a URL"),
        ("url: https://x.example:99999", "address", "expected a URL"),
        ("url: https://x.example/a b", "address", "expected a URL"),
        ("url: https://me:pw@x.example", "address", "cannot hold a name or password"),
        ("url: 5", "address", "expected a URL"),
        ("{command: [a], hosts: [https://x.example]}", "host", "expected a host"),
        ("{command: [a], hosts: ['*']}", "host", "expected a host"),
        ("{command: [a], hosts: [x.example/a]}", "host", "expected a host"),
        ("{url: https://x.example, headers: {'a b': c}}", "name", "no header's name"),
        ("{url: https://x.example, headers: {Host: c}}", "reserved_name", "`Host` is set by the bot"),
        ("{url: https://x.example, headers: {mcp-session-id: c}}", "reserved_name", "is set by the bot"),
        ("{command: [a], env: {PATH: c}}", "reserved_name", "`PATH`"),
        ("{command: []}", "empty", "`command` is empty"),
        ("{command: [a], public: {url: b}}", "reserved_name", "`url` is a key of the resource itself"),
        ("{command: [a], public: {list: [b]}}", "type_mismatch", "got a list"),
        ("{command: ['${{ secrets.A }}']}", "template_slot", "cannot stand in this field"),
        ("{url: 'https://x.example/${{secrets.A}}'}", "template_slot", "cannot stand in this field"),
        ("{command: [a], env: {A: '${{ params.x }}'}}", "namespace", "`params` cannot be used"),
        ("{command: [a], env: {A: '${{ secrets.a }}'}}", "name", "`a` is no name of a secret"),
        ("{command: [a], env: {A: '${{ secrets.A.b }}'}}", "template_depth", "goes too deep"),
        ("{command: [a], enw: {A: b}}", "unknown_key", "`enw` is not a key of a resource"),
    ],
)
def test_faults(text: str, code: str, said: str) -> None:
    """Each is found when the file is loaded, at its place."""
    told = one(text)
    assert [each[2] for each in told] == [code], told
    assert said in told[0][3]
    assert told[0][0] in (2, 3)


def test_values_keep_their_types() -> None:
    """What a template reads is what stands in the file."""
    shown: Any = good()["warehouse"].shown
    assert [type(shown[key]) for key in ("project", "shards", "live")] == [str, int, bool]
