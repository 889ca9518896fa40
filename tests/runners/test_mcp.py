"""The MCP client against a real server, as a command in either sandbox and over HTTP on loopback."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.errors import OperatorError, UserError
from bot.publish.redact import Redactor
from bot.runners.mcp import MESSAGE_MAX, Server, open_resource
from bot.runners.mcp_content import VALUE_MAX, TooLarge
from bot.workflows.resources import Opened
from bot.workspace import Sandbox, open_sandbox
from bot.workspace.bubblewrap import Unusable, probe
from bot.workspace.reach import Reach
from bot.workspace.sandbox import Unavailable
from bot.workspace.supervised import Supervised
from tests.servers.started import TOKEN, VARIABLES, OnLoopback, WithPackages, on_loopback, on_stdio
from tests.workspace.test_sandbox import unique, until

LOOPBACK = Reach.of(["127.0.0.1"])


@pytest.fixture(params=["required", "off"])
async def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Each back end that works on this machine; in CI both have to."""
    if request.param == "required" and (found := await probe()):
        message = f"isolation cannot be tested here: {found.reason}. {found.mend}"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return WithPackages(await open_sandbox(request.param))


@pytest.fixture(scope="module")
def http() -> Iterator[OnLoopback]:
    """One server for all tests: what they count they count by name."""
    with on_loopback("http") as server:
        yield server


@pytest.fixture(scope="module")
def json_http() -> Iterator[OnLoopback]:
    """One whose answers are single JSON documents."""
    with on_loopback("json") as server:
        yield server


@asynccontextmanager
async def opened(
    resource: Opened, cwd: Path, sandbox: Sandbox | None = None, redact: Callable[[str], str] = str
) -> AsyncIterator[Server]:
    async with (
        asyncio.timeout(60),
        open_resource(
            resource,
            env=VARIABLES,
            cwd=cwd,
            sandbox=sandbox or WithPackages(Supervised()),
            reach=LOOPBACK,
            redact=redact,
        ) as server,
    ):
        yield server


async def refusal(
    resource: Opened, cwd: Path, tool: str = "add", arguments: dict[str, Any] | None = None, **more: Any
) -> UserError:
    """What a call is refused with."""
    with pytest.raises(UserError) as caught:
        async with opened(resource, cwd, **more) as server:
            await server.call(tool, arguments or {})
    return caught.value


@pytest.fixture(params=["stdio", "http", "json"])
def resource(request: pytest.FixtureRequest) -> Opened:
    """Each way to the same server."""
    if request.param == "stdio":
        return on_stdio()
    server: OnLoopback = request.getfixturevalue("http" if request.param == "http" else "json_http")
    return server.opened()


async def test_it_lists_and_calls(resource: Opened, tmp_path: Path) -> None:
    """Several calls in one conversation; structure, else text, parsed where it is JSON."""
    async with opened(resource, tmp_path) as server:
        tools = {tool.name: tool for tool in await server.tools()}
        assert tools["add"].description == "Add two numbers."
        assert set(tools["add"].schema["properties"]) == {"a", "b"}
        assert await server.call("add", {"a": 1, "b": 2}) == {"result": 3}
        value = {"deep": [{"x": [None, True, 2**60, "é\u2028😀"]}]}
        assert await server.call("echo", {"value": value}) == {"value": value, "kind": "dict"}
        assert await server.call("text", {"words": ['{"a":', "[1]}"]}) == {"a": [1]}
        assert await server.call("text", {"words": ["just", "words"]}) == "just\nwords"
        assert await server.call("text", {"words": ["NaN"]}) == "NaN"
        assert await server.call("picture", {}) == "[image image/png, 3 bytes]"


async def test_a_tool_s_error_is_told(resource: Opened, tmp_path: Path) -> None:
    """With its own words; the conversation goes on, and nothing was called twice."""
    async with opened(resource, tmp_path) as server:
        before = (await server.call("count", {}))["result"]
        with pytest.raises(UserError) as caught:
            await server.call("refuse", {"message": "the ticket is closed"})
        assert caught.value.code == "connector_failed"
        assert caught.value.message == "`refuse` of `tests`: Error executing tool refuse: the ticket is closed"
        assert (await server.call("count", {}))["result"] == before + 1
        with pytest.raises(UserError, match="valid integer"):
            await server.call("add", {"a": "one", "b": 2})
        with pytest.raises(UserError) as caught:
            await server.call("ad", {})
        assert (caught.value.code, caught.value.hint) == ("unknown_tool", "did you mean `add`?")


async def test_an_error_is_bounded_and_redacted(resource: Opened, tmp_path: Path) -> None:
    """In the sentence and below it."""
    error = await refusal(
        resource, tmp_path, "refuse", {"message": "s3cret-value ", "size": 20_000}, redact=Redactor(["s3cret-value"])
    )
    assert "refuse: [redacted] xxx" in error.message
    assert error.message.endswith(" […]")
    assert len(error.message) < 600
    assert "s3cret" not in error.detail
    assert len(error.detail) <= 8_000


async def test_results_are_redacted_at_any_depth(resource: Opened, tmp_path: Path) -> None:
    """A server may well echo what it was given."""
    async with opened(resource, tmp_path, redact=Redactor(["s3cret-value"])) as server:
        found = await server.call("echo", {"value": {"s3cret-value": ["a s3cret-value b"]}})
    assert found["value"] == {"[redacted]": ["a [redacted] b"]}


async def test_arguments_are_bounded(resource: Opened, tmp_path: Path) -> None:
    """What is above is not sent; the conversation goes on."""
    async with opened(resource, tmp_path) as server:
        room = VALUE_MAX - len('{"value":""}')
        with pytest.raises(TooLarge) as caught:
            await server.call("echo", {"value": "x" * (room + 1)})
        assert caught.value.size == VALUE_MAX + 1
        assert len((await server.call("echo", {"value": "x" * 2**20}))["value"]) == 2**20
        assert await server.call("add", {"a": 1, "b": 1}) == {"result": 2}


async def test_what_comes_back_is_bounded(resource: Opened, tmp_path: Path) -> None:
    """Exactly 8 MiB of JSON are passed on, quotes included; error text counts as well."""
    async with opened(resource, tmp_path) as server:
        assert len(await server.call("big", {"size": VALUE_MAX - 2})) == VALUE_MAX - 2
        with pytest.raises(TooLarge) as caught:
            await server.call("big", {"size": VALUE_MAX - 1})
        assert caught.value.size == VALUE_MAX + 1
        assert "8,388,609 bytes; at most 8,388,608" in caught.value.message
        with pytest.raises(TooLarge, match="its error has"):
            await server.call("refuse", {"message": "", "size": VALUE_MAX})


async def test_a_message_is_bounded_while_it_is_read(resource: Opened, tmp_path: Path) -> None:
    """Whatever a server sends, no more than that is held; the size is told."""
    error = await refusal(resource, tmp_path, "big", {"size": MESSAGE_MAX + 1})
    assert isinstance(error, TooLarge)
    assert error.size > MESSAGE_MAX


async def test_a_command_has_its_own_variables_alone(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And runs in its folder."""
    monkeypatch.setenv("CANARY", "canary-value")
    async with opened(on_stdio(), tmp_path, sandbox) as server:
        found = await server.call("environment", {})
    assert set(found) - {"PWD", "LC_CTYPE"} == {"PATH", "LANG", "HOME", *VARIABLES}
    assert found["GIVEN"] == "x y"


async def test_a_command_reaches_nothing(tmp_path: Path, http: OnLoopback) -> None:
    """In isolation it has no network of ours."""
    if await probe() is not None:
        pytest.skip("isolation does not work here; tests of the sandbox say why")
    error = await refusal(
        on_stdio(),
        tmp_path,
        "connect",
        {"host": "127.0.0.1", "port": http.port},
        sandbox=WithPackages(await open_sandbox("required")),
    )
    assert error.code == "connector_failed"


async def test_a_command_reaches_its_own_hosts_as_far_as_they_are_open(tmp_path: Path) -> None:
    """Through the proxy that it finds; without an opened host there is none."""
    if await probe() is not None:
        pytest.skip("isolation does not work here; tests of the sandbox say why")
    sandbox = WithPackages(await open_sandbox("required"))
    for hosts, proxy in ((("127.0.0.1",), True), ((), False)):
        async with opened(replace(on_stdio(), hosts=hosts), tmp_path, sandbox) as server:
            assert ("HTTPS_PROXY" in await server.call("environment", {})) is proxy


async def test_its_tree_dies_with_the_call(sandbox: Sandbox, tmp_path: Path) -> None:
    """Also what it started in a session of its own, when the time is over."""
    n = unique()

    async def talk() -> None:
        async with opened(on_stdio(), tmp_path, sandbox) as server:
            await server.call("hang", {"seconds": n})

    call = asyncio.create_task(talk())
    await asyncio.to_thread(until, lambda: _running(n))
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert not _running(n)


def _running(word: str) -> bool:
    return subprocess.run(["pgrep", "-f", f"sleep {word}"], capture_output=True, check=False).returncode == 0


async def test_one_that_dies_says_why(sandbox: Sandbox, tmp_path: Path) -> None:
    """Its exit code and its last words."""
    error = await refusal(on_stdio(), tmp_path, "die", {"code": 7}, sandbox=sandbox)
    assert error.message == "the resource `tests`: its command ended with exit code 7"
    assert error.detail == "last words"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("no-such-program",), "its program `no-such-program` was not found"),
        (("sh", "-c", "echo words >&2; exit 3"), "its command ended with exit code 3"),
        (("sh", "-c", "echo '{}'; read -r line; exit 0"), "its command ended with exit code 0"),
    ],
)
async def test_commands_that_are_no_servers(sandbox: Sandbox, tmp_path: Path, argv: tuple[str, ...], said: str) -> None:
    """Each says what is wrong with it."""
    error = await refusal(Opened("odd", "command", argv), tmp_path, sandbox=sandbox)
    assert (error.code, error.message) == ("connector_failed", f"the resource `odd`: {said}")


async def test_without_isolation_a_command_is_refused(tmp_path: Path) -> None:
    """As every process is."""
    with pytest.raises(OperatorError, match="isolation is required"):
        async with opened(on_stdio(), tmp_path, Unavailable(Unusable("it is missing", "mend"))):
            pass


async def test_headers_are_sent(http: OnLoopback, tmp_path: Path) -> None:
    """Without the right one the server's refusal is told, without the wrong one."""
    error = await refusal(http.opened(token="wrong-token-value"), tmp_path)
    assert error.message == "the resource `tests`: its server answered with HTTP 401"
    assert TOKEN not in str(error)


async def test_redirects(tmp_path: Path) -> None:
    """On its own host they are followed; to another one nothing is sent, least of all the header."""
    with on_loopback("http") as other, on_loopback("http", away=f"localhost:{other.port}") as server:
        async with opened(server.opened("/elsewhere"), tmp_path) as talking:
            assert await talking.call("add", {"a": 1, "b": 2}) == {"result": 3}
        error = await refusal(server.opened("/away"), tmp_path)
        assert error.message == "the resource `tests`: its server answered with HTTP 307, which leads to localhost"
        async with opened(other.opened(), tmp_path) as talking:
            assert await talking.call("count", {}) == {"result": 0}


async def test_only_hosts_that_the_operator_opened(http: OnLoopback, tmp_path: Path) -> None:
    """By the name that is asked for."""
    error = await refusal(http.opened(host="localhost"), tmp_path)
    assert error.code == "resource_unavailable"
    assert "has not opened `localhost`" in error.message


async def test_a_webhook_is_no_server(tmp_path: Path) -> None:
    """It is told."""
    error = await refusal(Opened("hook", "webhook", address="https://127.0.0.1/x"), tmp_path)
    assert error.code == "resource_unavailable"


async def test_nobody_there(tmp_path: Path) -> None:
    """A closed port is told."""
    error = await refusal(Opened("gone", "url", address="http://127.0.0.1:9/mcp"), tmp_path)
    assert (error.code, "gone" in error.message) == ("connector_failed", True)


async def test_an_error_of_the_caller_is_the_caller_s(resource: Opened, tmp_path: Path) -> None:
    """It comes out as it went in."""
    with pytest.raises(ZeroDivisionError):
        async with opened(resource, tmp_path):
            raise ZeroDivisionError


def test_the_sdk_is_not_loaded_at_the_start() -> None:
    """It costs memory that an instance without resources need not have."""
    text = "import sys, bot.app, bot.steps.connector; print([n for n in sys.modules if n.split('.')[0] == 'mcp'])"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
