"""A real MCP server, made with the SDK, as a process: `mcp_server.py stdio`, or `mcp_server.py http` on loopback.

Over HTTP it prints its port first, and refuses whoever does not bring the header `Authorization: Bearer $TOKEN`.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, ImageContent, TextContent

server = MCPServer("tests", log_level="CRITICAL")
calls: list[str] = []


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def echo(value: Any) -> dict[str, Any]:
    """Give back what came, with what is known of it."""
    return {"value": value, "kind": type(value).__name__}


@server.tool()
def text(words: list[str]) -> CallToolResult:
    """Text alone, without structure."""
    return CallToolResult(content=[TextContent(type="text", text=word) for word in words])


@server.tool()
def picture() -> CallToolResult:
    """What is no text."""
    return CallToolResult(content=[ImageContent(type="image", data="QUJD", mime_type="image/png")])


@server.tool()
def big(size: int) -> CallToolResult:
    """Text of a size."""
    return CallToolResult(content=[TextContent(type="text", text="x" * size)])


@server.tool()
def refuse(message: str, size: int = 0) -> str:
    """Fail."""
    calls.append(message)
    raise ToolError(message + "x" * size)


@server.tool()
def count() -> int:
    """How often `refuse` was called."""
    return len(calls)


@server.tool()
def environment() -> dict[str, str]:
    """The variables."""
    return dict(os.environ)


@server.tool()
def connect(host: str, port: int) -> str:
    """Whether a host can be reached."""
    with socket.create_connection((host, port), timeout=5):
        return "reached"


@server.tool()
def hang(seconds: str) -> str:
    """Start a process in a session of its own, and do not come back."""
    subprocess.Popen(["sleep", seconds], start_new_session=True)
    time.sleep(float(seconds))
    return "back"


@server.tool()
def die(code: int) -> str:
    """End the whole server."""
    print("last words", file=sys.stderr, flush=True)
    os._exit(code)


Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def guarded(inner: Any) -> Any:
    """The application behind its token; `/elsewhere` and `/away` redirect to the same and to another host."""

    async def app(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            status, more = 0, []
            if scope["path"].startswith("/elsewhere"):
                status, more = 307, [(b"location", b"/mcp")]
            elif scope["path"].startswith("/away"):
                status, more = 307, [(b"location", f"http://{os.environ['AWAY']}/mcp?token=x".encode())]
            elif headers.get(b"authorization") != f"Bearer {os.environ['TOKEN']}".encode():
                status = 401
            if status:
                await send({"type": "http.response.start", "status": status, "headers": more})
                await send({"type": "http.response.body", "body": b""})
                return
        await inner(scope, receive, send)

    return app


def main() -> None:
    """Serve in one of the two ways."""
    if sys.argv[1] == "stdio":
        print("a line that is no message", flush=True)
        server.run("stdio")
        return
    listening = socket.create_server(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    app = guarded(server.streamable_http_app(json_response=sys.argv[1] == "json"))
    uvicorn.Server(uvicorn.Config(app, log_config=None)).run([listening])


if __name__ == "__main__":
    main()
