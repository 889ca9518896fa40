"""The way out of a sandbox: to the hosts that are opened, and nowhere else."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bot.workspace import Command, Reach, Sandbox, interpreter
from bot.workspace.gateway import HEAD_MAX, opened
from bot.workspace.process import Completed, shell
from bot.workspace.supervised import Supervised
from tests.workspace.test_live import line

FETCH = """
import sys, urllib.request
for url in sys.argv[1:]:
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            print(answer.status, answer.read(100).decode())
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode().strip())
    except OSError as error:
        print("failed", error)
"""
CONNECT = """
import os, socket, sys, urllib.parse
proxy = urllib.parse.urlsplit(os.environ["HTTPS_PROXY"])
for target in sys.argv[1:]:
    with socket.create_connection((proxy.hostname, proxy.port), timeout=20) as talk:
        talk.sendall(f"CONNECT {target} HTTP/1.1\\r\\nHost: {target}\\r\\n\\r\\n".encode())
        print(talk.recv(1000).split(b"\\r\\n")[0].decode())
        talk.sendall(b"GET /inner HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n")
        answer = b""
        while chunk := talk.recv(1000):
            answer += chunk
        print(answer.split(b"\\r\\n\\r\\n")[-1].decode())
"""
RAW = """
import os, socket, sys, urllib.parse
proxy = urllib.parse.urlsplit(os.environ["HTTP_PROXY"])
for text in sys.argv[1:]:
    with socket.create_connection((proxy.hostname, proxy.port), timeout=20) as talk:
        talk.sendall(text.encode())
        talk.shutdown(socket.SHUT_WR)
        print(talk.recv(100).split(b"\\r\\n")[0].decode() or "closed")
"""


class Web:
    """A server on loopback that remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
                body = f"got {self.path}".encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the overridden one
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def web() -> Iterator[Web]:
    server = Web()
    yield server
    server.close()


async def python(sandbox: Sandbox, cwd: Path, text: str, *arguments: str, reach: Reach) -> list[str]:
    argv = interpreter().argv(text, *arguments)
    done = await sandbox.run(Command(argv, cwd, timeout=60, network=reach, readable=interpreter().folders))
    assert isinstance(done, Completed)
    assert done.exit_code == 0, done.stderr
    return done.stdout.splitlines()


async def test_opened_hosts_are_reached(isolated: Sandbox, tmp_path: Path, web: Web) -> None:
    """Plain requests and tunnels; what was meant for the proxy stays with it."""
    reach = Reach.of([f"127.0.0.1:{web.port}"])
    assert await python(isolated, tmp_path, FETCH, f"http://127.0.0.1:{web.port}/a?b=c", reach=reach) == [
        "200 got /a?b=c"
    ]
    path, headers = web.asked[0]
    assert (path, headers["host"], headers["connection"]) == ("/a?b=c", f"127.0.0.1:{web.port}", "close")
    assert await python(isolated, tmp_path, CONNECT, f"127.0.0.1:{web.port}", reach=reach) == [
        "HTTP/1.1 200 Connection established",
        "got /inner",
    ]


async def test_no_other_host_is(isolated: Sandbox, tmp_path: Path, web: Web) -> None:
    """By name, by port, in either way; and past the proxy there is nothing."""
    reach = Reach.of(["api.example.org", f"127.0.0.1:{web.port + 1}"])
    urls = (f"http://127.0.0.1:{web.port}/", f"http://localhost:{web.port}/")
    assert await python(isolated, tmp_path, FETCH, *urls, reach=reach) == [
        f"403 127.0.0.1:{web.port} is not open to this step",
        f"403 localhost:{web.port} is not open to this step",
    ]
    told = await python(isolated, tmp_path, CONNECT, f"localhost:{web.port}", reach=reach)
    assert told[0] == "HTTP/1.1 403 Forbidden"
    past = f"import os\nfor name in list(os.environ):\n    if 'proxy' in name.lower(): del os.environ[name]\n{FETCH}"
    (told_past,) = await python(isolated, tmp_path, past, urls[0], reach=reach)
    assert "refused" in told_past
    assert web.asked == []


async def test_the_operator_s_ceiling_holds(isolated: Sandbox, tmp_path: Path, web: Web) -> None:
    """Whatever the configuration names."""
    url, own = f"http://127.0.0.1:{web.port}/", Reach.of(["127.0.0.1"])
    closed = await python(isolated, tmp_path, FETCH, url, reach=own.under(Reach.of(["api.example.org"])))
    assert closed[0].startswith("403")
    assert await python(isolated, tmp_path, FETCH, url, reach=own.under(own)) == ["200 got /"]
    assert not own.under(Reach())


async def test_what_is_no_proxy_request(isolated: Sandbox, tmp_path: Path, web: Web) -> None:
    """It is refused or dropped; the gateway goes on."""
    texts = (
        "GET / HTTP/1.1\r\n\r\n",
        "GET https://127.0.0.1/ HTTP/1.1\r\n\r\n",
        "nonsense\r\n\r\n",
        "CONNECT 127.0.0.1:99999 HTTP/1.1\r\n\r\n",
        "x" * (2 * HEAD_MAX),
        "",
        "CONNECT 127.0.0.1:9 HTTP/1.1\r\n\r\n",
    )
    told = await python(isolated, tmp_path, RAW, *texts, reach=Reach.of(["127.0.0.1"]))
    assert told == [
        "HTTP/1.1 400 Bad Request",
        "HTTP/1.1 400 Bad Request",
        *["closed"] * 4,
        "HTTP/1.1 502 Bad Gateway",
    ]


async def test_the_command_is_itself(isolated: Sandbox, tmp_path: Path) -> None:
    """Its exit code, its input, its descriptors, its children; a program that is missing is told."""
    reach = Reach.of(["api.example.org"])
    text = "cat; ls /proc/self/fd | wc -l; wait; echo $BASH_SUBSHELL; exit 5"
    done = await isolated.run(Command(shell(text), tmp_path, stdin=b"in\n", network=reach))
    assert (done.exit_code, done.stdout) == (5, "in\n4\n0\n")
    missing = await isolated.run(Command(("no-such-program",), tmp_path, network=reach))
    assert (missing.exit_code, missing.stderr) == (127, "no-such-program: No such file or directory\n")
    async with isolated.open(Command(shell('read -r x; echo "$x $HTTP_PROXY"'), tmp_path, network=reach)) as live:
        await live.write(b"got\n")
        assert (await line(live)).startswith(b"got http://127.0.0.1:")


async def test_nothing_is_left(isolated: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder, no task, also where a connection is open when the command ends."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = asyncio.all_tasks()
    text = 'exec 3<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:}; printf "CONN" >&3; exit 0'
    (tmp_path / "w").mkdir()
    done = await isolated.run(Command(shell(text), tmp_path / "w", network=Reach.of(["api.example.org"])))
    assert done.exit_code == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["w"]
    assert asyncio.all_tasks() == before


async def test_without_hosts_nothing_is_added(tmp_path: Path) -> None:
    """Nor without isolation, where the network is the engine's."""
    command = Command(("true",), tmp_path)
    async with opened(command) as same:
        assert same is command
    done = await Supervised().run(Command(("env",), tmp_path, network=Reach.of(["api.example.org"])))
    assert "PROXY" not in done.stdout
