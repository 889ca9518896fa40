"""A model provider on loopback: OpenAI's chat-completions and responses protocols and Anthropic's messages.

Tests script its answers and read its journal:

    with FakeLLM() as fake:
        fake.script(Reply("pong"), Reply(status=429, retry_after="7"))
        ...            # point a client at fake.openai_url or fake.anthropic_url
        assert fake.requests[0].prompt == "ping"

Answers are used in order, the last one for ever; a script for one model goes before the common one. Nothing here
sleeps: a reply that hangs waits until the client leaves or the server is closed.
"""

from __future__ import annotations

import gzip
import json
import select
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.fake_llm_wire import Dialect, Tool, as_events, as_json, error_json


@dataclass(frozen=True, slots=True)
class Reply:
    """One scripted answer. With a `status` of 400 or more it is an error; `raw` replaces the body altogether."""

    text: str = "pong"
    tools: tuple[Tool, ...] = ()
    status: int = 200
    #: the error's machine-readable code and type, and its words
    code: str | None = None
    type: str | None = None
    message: str = ""
    retry_after: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    input_tokens: int = 100
    output_tokens: int = 20
    #: leave the counts out, as some compatible servers do
    uncounted: bool = False
    #: why the answer ends, in the words of the chat protocol: stop, length, content_filter, tool_calls
    finish: str = ""
    raw: bytes | None = None
    #: never answer / close the connection without a word
    hang: bool = False
    drop: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any] = field(default_factory=dict)

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def system(self) -> str:
        """The system text, wherever the protocol puts it."""
        if "system" in self.body:
            return _text(self.body["system"])
        if "instructions" in self.body:
            return str(self.body["instructions"])
        return "\n".join(_text(m["content"]) for m in self._messages() if m.get("role") in {"system", "developer"})

    @property
    def prompt(self) -> str:
        """The last text of the user."""
        texts = [_text(m["content"]) for m in self._messages() if m.get("role") == "user"]
        return texts[-1] if texts else ""

    def _messages(self) -> list[dict[str, Any]]:
        found = self.body.get("messages", self.body.get("input", []))
        return [{"role": "user", "content": found}] if isinstance(found, str) else list(found)


class FakeLLM:
    """The server, on a free port of loopback while the context is entered."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._scripts: dict[str, list[Reply]] = {}
        self._requests: list[Request] = []
        self._gone = 0
        self._closed, self._close = socket.socketpair()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._close.close()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._closed.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def openai_url(self) -> str:
        """Base URL for OpenAI's two protocols."""
        return f"{self.url}/v1"

    @property
    def anthropic_url(self) -> str:
        """Base URL for Anthropic's protocol."""
        return self.url

    def script(self, *replies: Reply, model: str = "*") -> None:
        """Set what is answered next, to every model or to one."""
        with self._lock:
            self._scripts[model] = list(replies)

    @property
    def requests(self) -> list[Request]:
        """Everything asked so far, oldest first."""
        with self._lock:
            return list(self._requests)

    def wait_for_requests(self, count: int, timeout: float = 10.0) -> bool:
        """Block until `count` requests have come; False after `timeout` seconds. Call it in a thread."""
        with self._lock:
            return self._lock.wait_for(lambda: len(self._requests) >= count, timeout)

    def wait_for_hang_up(self, timeout: float = 10.0) -> bool:
        """Block until a client has left a hanging reply; False after `timeout` seconds. Call it in a thread."""
        with self._lock:
            return self._lock.wait_for(lambda: self._gone > 0, timeout)

    def take(self, request: Request) -> Reply:
        """Note `request` and return what is answered to it."""
        with self._lock:
            self._requests.append(request)
            self._lock.notify_all()
            replies = self._scripts.get(request.model) or self._scripts.get("*") or [Reply()]
            return replies.pop(0) if len(replies) > 1 else replies[0]

    def hang(self, connection: socket.socket) -> None:
        """Wait until the client hangs up, or until the server is closed."""
        ready, _, _ = select.select([connection, self._closed], [], [])
        if connection in ready:
            with self._lock:
                self._gone += 1
                self._lock.notify_all()


def _handler(fake: FakeLLM) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Say nothing."""

        def do_GET(self) -> None:
            fake.take(Request("GET", self.path, self._lower()))
            self._send(200, {"object": "list", "data": [{"id": "fake", "object": "model"}]})

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            if self.headers.get("content-encoding") == "gzip":
                raw = gzip.decompress(raw)
            path = self.path.partition("?")[0]
            dialect = Dialect.of(path)
            if dialect is None:
                self._send(404, {"error": {"message": f"no such path: {path}"}})
                return
            request = Request("POST", path, self._lower(), json.loads(raw))
            self._answer(fake.take(request), request, dialect)

        def _answer(self, reply: Reply, request: Request, dialect: Dialect) -> None:
            if reply.hang:
                self.close_connection = True
                fake.hang(self.connection)
            elif reply.drop:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
            elif reply.raw is not None:
                self._write(reply.status, reply.raw, "text/html", dict(reply.headers))
            elif reply.status >= 400:
                headers = dict(reply.headers)
                if reply.retry_after is not None:
                    headers["retry-after"] = reply.retry_after
                self._send(
                    reply.status, error_json(dialect, reply.status, reply.code, reply.type, reply.message), headers
                )
            elif request.body.get("stream"):
                self._stream(as_events(dialect, request.model, reply))
            else:
                self._send(200, as_json(dialect, request.model, reply), dict(reply.headers))

        def _lower(self) -> dict[str, str]:
            return {name.lower(): value for name, value in self.headers.items()}

        def _send(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
            self._write(status, json.dumps(body).encode(), "application/json", headers or {})

        def _write(self, status: int, body: bytes, kind: str, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {"content-type": kind, "content-length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def _stream(self, events: Iterator[dict[str, Any] | str]) -> None:
            self.close_connection = True
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            for event in events:
                named = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
                data = event if isinstance(event, str) else json.dumps(event)
                self.wfile.write(f"{named}data: {data}\n\n".encode())

    return Handler


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return ""
